"""The papers' tables and figures that a run fills by itself, and why it cannot fill the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from evenhand.core.errors import InputError, UserError, one_line
from evenhand.core.figure import Figure

if TYPE_CHECKING:
    from pydantic import TypeAdapter

    from evenhand.benchmarks.benchmark import Artifact
    from evenhand.report.content import DrawnTable, NotFilled
    from evenhand.runs.run_folder import RunFolder

RECORD = "artifacts"
"""The table that lists a run's artifacts."""

_SCHEMA: dict[str, Any] = {
    "artifact": pl.String, "title": pl.String, "table": pl.String, "notes": pl.List(pl.String),
    "figures": pl.String, "own": pl.Boolean, "reason": pl.String,
}  # fmt: skip
_KINDS = ("compare", "debias", "run", "score")
_OF_COUNTS = "skewsize"  # what the artifacts are called that any counts of predictions fill
_STUDIES = ("skewsize", "sprites")
_MANY_CLASSES = 3000  # of all runs together; of more, chance is left out of the figure that draws it slowly
_SLOW: Mapping[str, Mapping[str, str]] = {"skewsize/figure6": {"chance": "no"}}


def artifact_tables(
    run: RunFolder, *, data: str | Path | None = None, declared: Sequence[str] = ()
) -> dict[str, pl.DataFrame]:
    """The tables of a run's artifacts, and the table ``artifacts`` that lists them.

    A run that was read from disk and has that table keeps what it has. A comparison's are made from the runs
    that it compared. What the run cannot fill is listed with the reason. An audit of the user's own table has
    none of them by itself: ``evenhand artifact`` makes each. The table ``skewsize-table1`` is the artifact
    ``skewsize/table1``.
    """
    names = [] if RECORD in run.tables else _names(run, declared)
    if not names:
        return {}
    try:
        runs, lacking = _runs(run), ""
    except UserError as problem:
        runs, lacking = [], f"the runs compared cannot be read ({problem})"
    tables: dict[str, pl.DataFrame] = {}
    lines = [_line(name, run, runs, data, lacking, tables) for name in names]
    return {**tables, RECORD: pl.DataFrame(lines, schema=_SCHEMA)}


def drawn_of(tables: Mapping[str, pl.DataFrame]) -> tuple[list[DrawnTable], list[NotFilled]]:
    """What a report shows of a run's artifacts, and what it says of those that the run cannot fill.

    ``artifacts`` lists the tables; those without a line there are drawn as declared.
    """
    from evenhand.report.content import DrawnTable, NotFilled

    drawn_tables: list[DrawnTable] = []
    missing: list[NotFilled] = []
    record = tables.get(RECORD, pl.DataFrame(schema=_SCHEMA))
    for line in record.iter_rows(named=True):
        table = tables.get(line["table"] or "")
        if table is None:
            missing.append(NotFilled(line["artifact"], line["title"], line["reason"] or "its table is gone"))
        else:
            figures = _figures().validate_json(line["figures"])
            fields = {"notes": line["notes"], "own": line["own"]}
            drawn_tables.append(DrawnTable(line["artifact"], line["title"], table, figures, **fields))
    drawn_tables += _unlisted({name: tables[name] for name in tables.keys() - set(record["table"])})
    return drawn_tables, missing


def _unlisted(tables: Mapping[str, pl.DataFrame]) -> list[DrawnTable]:
    """Artifacts of other packages, which a run keeps without a line in the list."""
    if not any("-" in name for name in tables):
        return []
    from evenhand.benchmarks.catalogue import ARTIFACTS
    from evenhand.report.content import DrawnTable

    declared = [ARTIFACTS.get(name) for name in ARTIFACTS.names() if _file(name) in tables]
    return [
        DrawnTable(artifact.name, artifact.title, tables[_file(artifact.name)], artifact.figures)
        for artifact in declared
    ]


def _names(run: RunFolder, declared: Sequence[str]) -> list[str]:
    """The artifacts that a run may fill: those of its paper, of its benchmark, and of other packages."""
    if run.manifest.get("kind") not in _KINDS:
        return []
    from evenhand.benchmarks.catalogue import ARTIFACTS

    family = _family(run)
    installed = ARTIFACTS.names()
    names = sorted((name for name in installed if name.partition("/")[0] == family), key=_artifact_order)
    # the papers may ship apart: a benchmark declares theirs, and runs without them
    return list(dict.fromkeys([*names, *(name for name in declared if name in installed or ":" in name)]))


def _artifact_order(name: str) -> tuple[int, int]:
    """Tables before figures before others, by number."""
    short_name = name.partition("/")[2]
    kind = short_name.rstrip("0123456789")
    return {"table": 0, "figure": 1}.get(kind, 2), int(short_name[len(kind) :] or 0)


def _family(run: RunFolder) -> str:
    family = str(run.manifest.get("benchmark") or "").partition("/")[0]
    if family in ("indicators", "mmbias", "visogender"):
        return family
    compared = run.manifest.get("kind") == "compare" and bool(run.counts)
    return _OF_COUNTS if compared or "predictions" in run.counts else ""


def _runs(run: RunFolder) -> list[RunFolder]:
    """The run itself, or those that a comparison compared."""
    from evenhand.runs.run_folder import RunFolder

    if run.manifest.get("kind") != "compare":
        return [run]
    folders = [entry.get("folder") for entry in run.manifest.get("runs") or [] if isinstance(entry, Mapping)]
    if not folders or not all(folders):
        raise InputError("the comparison does not say where they are")
    return [RunFolder.read(str(folder)) for folder in folders]


def _line(
    name: str,
    run: RunFolder,
    runs: Sequence[RunFolder],
    data: str | Path | None,
    lacking: str,
    tables: dict[str, pl.DataFrame],
) -> dict[str, Any]:
    """A line of the list; the table of an artifact that could be filled is added to ``tables``."""
    from evenhand.benchmarks.catalogue import ARTIFACTS
    from evenhand.workflows.outputs.artifact import artifact

    declared: Artifact = ARTIFACTS.get(name)
    line = {"artifact": declared.name, "title": declared.title, "table": None, "reason": lacking or None}
    try:
        if lacking:
            raise InputError(lacking)
        used_runs = runs if declared.runs else _none_for(declared, run, data)
        parameters = _SLOW.get(name, {}) if _classes(used_runs) > _MANY_CLASSES else {}
        drawn_artifact = artifact(name, used_runs, data=data, parameters=parameters, seed=_seed(run))
    except UserError as problem:
        reason = _without_place(str(problem), runs).removeprefix(f"{declared.name} ").removeprefix("is ")
        return {**line, "reason": reason}
    except Exception as problem:  # a mistake in a figure must not lose a run of many hours
        return {
            **line,
            "reason": f"it could not be made ({type(problem).__name__}: {one_line(str(problem))})",
        }
    tables[_file(declared.name)] = drawn_artifact.table
    figures_json = _figures().dump_json(tuple(drawn_artifact.figures)).decode()
    is_own = bool(declared.runs) and not _of_the_paper(runs)
    return {
        **line,
        "table": _file(declared.name),
        "notes": list(drawn_artifact.notes),
        "figures": figures_json,
        "own": is_own,
    }


def _none_for(declared: Artifact, run: RunFolder, data: str | Path | None) -> list[RunFolder]:
    """No run, for an artifact that describes data or benchmarks."""
    if run.manifest.get("kind") not in ("run", "score") or (declared.data and data is None):
        needed = " --data DIR" if declared.data else ""
        raise InputError(
            f"it describes {'data' if needed else 'the benchmark'} and no run; type: "
            f"evenhand artifact {declared.name}{needed}"
        )
    return []


def _of_the_paper(runs: Sequence[RunFolder]) -> bool:
    """Whether runs are of a paper's own benchmark, beside whose rows the paper's can stand."""
    benchmarks = [str(run.manifest.get("benchmark") or "").partition("/")[0] for run in runs]
    return all(name in (*_STUDIES, "indicators", "mmbias", "visogender") for name in benchmarks)


def _classes(runs: Sequence[RunFolder]) -> int:
    counts = [run.counts["predictions"] for run in runs if "predictions" in run.counts]
    return sum(len(run_counts.axis("truth").levels) for run_counts in counts)


def _seed(run: RunFolder) -> int:
    seed = run.manifest.get("seed")
    return seed if isinstance(seed, int) and seed >= 0 else 0


def _without_place(reason: str, runs: Sequence[RunFolder]) -> str:
    """A reason without the folders of this moment."""
    for run in runs:
        if run.folder is not None:
            reason = reason.replace(repr(str(run.folder)), "this run")
    return reason.replace("the run given", "this run")


def _file(name: str) -> str:
    return name.replace("/", "-").replace(":", "-")


@cache
def _figures() -> TypeAdapter[tuple[Figure, ...]]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[Figure, ...])
