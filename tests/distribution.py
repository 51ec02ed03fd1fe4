"""Which tests one worker runs, and in which order: those of a file, and of files that share what is dear.

xdist's own ``loadgroup`` does not work with pytest 9.2 (pytest-xdist issue 1386).
"""

from __future__ import annotations

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

SHARED = {
    "demo": (
        "gallery/test_gallery",
        "gallery/test_gallery_checked",
        "gallery/test_gallery_headlines",
        "gallery/test_gallery_reports",
        "report/test_drill_down",
        "runner/test_compare_answers",
    ),
    "browser": (
        "report/test_figures_browser",
        "report/test_first_screen_browser",
        "report/test_figures_layout",
        "report/test_report_access",
        "report/test_report_browser",
        "report/test_report_changes_browser",
        "report/test_report_downloads",
        "report/test_report_files",
        "report/test_report_reading",
        "report/test_report_summary",
        "report/test_suite_page",
    ),
    "kinds": (
        "report/test_export_kinds",
        "report/test_export_suppressed",
        "report/test_export_trackers",
        "report/test_report_attacked",
    ),
    "pipelines": (
        "benchmarks/test_skewsize_studies",
        "cli/test_generate",
        "cli/test_study_sequence",
        "models/api/test_addresses",
        "models/api/test_answers",
        "models/api/test_faults",
        "models/api/test_scores",
        "models/api/test_transformers_serve",
        "models/test_generating_pipelines",
    ),
    "faces": (
        "examples/test_mobilenet",
        "papers/test_indicators_faces",
        "papers/test_real_models",
        "papers/test_skewsize_real_images",
    ),
    "house": ("architecture/test_house", "architecture/test_imports", "report/test_language"),
    "hub": (
        "examples/test_albef",
        "models/hub/test_full_size",
        "models/hub/test_layouts",
        "models/hub/test_other_libraries",
        "models/hub/test_typed",
        "models/test_openclip",
        "models/test_timm",
        "runner/test_adapt_timm",
    ),
    "spark": ("runner/test_audit_engines", "evidence/test_predictions", "evidence/test_messy_spark"),
}
"""Files of tests that use one demo, one Chromium, one run of each kind and MLflow, diffusers and a server,
answers about the same faces, one tree of the source, one hub with timm and open_clip, one session of Spark:
what is slow to import is imported once, too.
"""

LONGEST = (
    "demo", "browser", "runner/test_engine_ray", "faces", "runner/test_engine_crash",
    "properties/test_battery", "documents/test_docs_commands", "kinds",
    "benchmarks/test_visogender_artifacts",
    "benchmarks/test_visogender", "benchmarks/test_skewsize_artifacts", "models/test_chat_models",
    "hub", "pipelines", "properties/test_chance", "runner/test_engine_processes", "spark",
)  # fmt: skip
"""Groups that begin first, so that no long one comes last."""

_GROUP_OF_FILE = {file: name for name, files in SHARED.items() for file in files}
_PLACE = {name: place for place, name in enumerate(LONGEST)}
_NEEDS = {
    "demo_folder": ("demo",),
    "browser": ("browser", "demo"),
    "run_of_kind": ("kinds",),
    "recorded": ("hub",),
    "spark": ("spark",),
}


def group_of(nodeid: str) -> str:
    """The group of a test: the name of what its file shares, or of its file."""
    file = nodeid.split("::", maxsplit=1)[0].removeprefix("tests/").removesuffix(".py")
    return _GROUP_OF_FILE.get(file, file)


def arrange(items: list[pytest.Item]) -> None:
    """Groups together, the longest first.

    Raises:
        UsageError: A file uses something shared and is in no group that has it.
    """
    for item in items:
        for fixture, groups in _NEEDS.items():
            if fixture in getattr(item, "fixturenames", ()) and group_of(item.nodeid) not in groups:
                raise pytest.UsageError(f"{item.nodeid} uses {fixture}: name its file in {__name__}.SHARED")
    first = {group: place for place, group in reversed(list(enumerate(map(_group, items))))}
    items.sort(key=lambda item: (_PLACE.get(_group(item), len(_PLACE)), first[_group(item)]))


def _group(item: pytest.Item) -> str:
    return group_of(item.nodeid)


class Groups(LoadScopeScheduling):  # type: ignore[misc]
    """Gives a group of tests to one worker, in the order of ``arrange``."""

    def __init__(self, config: pytest.Config, log: object = None) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)

    def remove_node(self, node: WorkerController) -> str | None:
        """What follows a test that ended its worker goes to another one; xdist would run that test again."""
        units = self.assigned_work.pop(node).items()
        left = {scope: unit for scope, unit in units if self._pending_of({scope: unit})}
        if not left:
            return None
        unit = next(iter(left.values()))
        ended: str = next(test for test, is_done in unit.items() if not is_done)
        unit[ended] = True
        self.workqueue.update(
            {scope: unit for scope, unit in left.items() if self._pending_of({scope: unit})}
        )
        for other in self.assigned_work:
            self._reschedule(other)
        return ended

    def _reschedule(self, node: WorkerController) -> None:
        """A worker that replaces one takes tests once it has collected them."""
        if node in self.registered_collections:
            super()._reschedule(node)
