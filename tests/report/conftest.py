"""A run of every kind, made once."""

from __future__ import annotations

from functools import cache

import pytest

from tests.conftest import draw_few


@pytest.fixture(scope="session")
def run_of_kind(tmp_path_factory):
    """From a name of ``export_runs.KINDS`` to the folder of its run, without a page of its own.

    Tests change nothing there.
    """
    from tests.report.export_runs import KINDS

    @cache
    def run_folder(name):
        others = [run_folder("visogender resolution")] if name == "compare without predictions" else []
        with pytest.MonkeyPatch.context() as patch:
            draw_few(patch)
            patch.setattr("evenhand.workflows.outputs.result.Run.report", lambda run, path, **options: path)
            patch.setenv("EVENHAND_HOME", str(tmp_path_factory.mktemp("home")))
            return KINDS[name](tmp_path_factory.mktemp("kind"), *others)

    return run_folder
