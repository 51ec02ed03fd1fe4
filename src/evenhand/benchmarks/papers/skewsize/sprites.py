"""Tables 1, 2 and 5 of the SkewSize paper, the paper's rows beside those of our runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Artifact
from evenhand.benchmarks.papers.printed import printed
from evenhand.benchmarks.sprites.factors import SHAPES
from evenhand.core.errors import InputError
from evenhand.runs.run_folder import RunFolder

# removed: accuracy, WG, gap, DP 0-2, EO 0-2, effect size 0-2. The paper's DP and EO columns of classes 0
# and 1 look exchanged in the rows "class 0" and "class 1"; they stand here as printed.
_TABLE1 = printed(__file__, "table1")
_TABLE2 = printed(__file__, "table2")
_TABLE5 = printed(__file__, "table5")
_ACCURACIES = ("accuracy", "worst_group_accuracy", "accuracy_gap")


def _columns(*prefixes: str) -> list[str]:
    return [f"{prefix} {shape}" for prefix in prefixes for shape in SHAPES]


def _parts(run: RunFolder, name: str, **params: object) -> list[float | None]:
    """The value of each shape; None where it is undefined, such as a shape without any error."""
    values = {str(part.key): part.value for part in run.finding(name, "colour", **params).parts}
    return [values.get(shape) for shape in SHAPES]


def _value(run: RunFolder, name: str) -> float | None:
    return run.finding(name, "colour").value


def _alike(run: RunFolder) -> float | None:
    """Accuracy on a test set biased like the training set: near 1, or the bias was not learned."""
    return run.finding("accuracy", samples="like training").value


def _parameters(run: RunFolder) -> dict[str, Any]:
    if run.manifest.get("benchmark") != "sprites":
        raise InputError(
            f"this table is made from runs of sprites, not of {run.manifest.get('benchmark')!r}; type: "
            "evenhand run sprites --model FILE.py:OBJECT"
        )
    parameters: dict[str, Any] = run.manifest["parameters"]
    return parameters


def _removed(run: RunFolder) -> str:
    removed = str(_parameters(run)["removed"])
    return removed if removed == "none" else f"class {SHAPES.index(removed)} ({removed})"


def _strength(run: RunFolder) -> str:
    parameters = _parameters(run)
    return "none" if parameters["removed"] == "none" else str(parameters["strength"])


def _table(
    runs: Sequence[RunFolder],
    lead: str,
    label: Callable[[RunFolder], str],
    paper: Mapping[str, tuple[float, ...]],
    columns: Sequence[str],
    run_values: Callable[[RunFolder], list[float | None]],
) -> pl.DataFrame:
    """The paper's rows, then ours; columns that only we have are empty in the paper's rows."""
    names = ["source", lead, *columns]
    rows: list[tuple[Any, ...]] = [("paper", row, *values) for row, values in paper.items()]
    rows = [(*row, *[None] * (len(names) - len(row))) for row in rows]
    rows += [("ours", label(run), *run_values(run)) for run in runs]
    types = {name: pl.String if name in ("source", lead) else pl.Float64 for name in names}
    return pl.DataFrame(rows, schema=types, orient="row")


def _table1(runs: Sequence[RunFolder]) -> pl.DataFrame:
    def ours(run: RunFolder) -> list[float | None]:
        return [
            *(_value(run, name) for name in _ACCURACIES),
            *_parts(run, "demographic_parity", aggregate="max"),
            *_parts(run, "equalized_odds", eo="avg", aggregate="max"),
            *_parts(run, "skewsize"),
            _alike(run),
        ]

    columns = [*_ACCURACIES, *_columns("DP", "EO", "V"), "accuracy like training"]
    return _table(runs, "removed", _removed, _TABLE1, columns, ours)


def _table2(runs: Sequence[RunFolder]) -> pl.DataFrame:
    def ours(run: RunFolder) -> list[float | None]:
        return [
            _value(run, "accuracy"),
            _value(run, "worst_group_accuracy"),
            *_parts(run, "skewsize"),
            _alike(run),
        ]

    columns = ["accuracy", "worst_group_accuracy", *_columns("V"), "accuracy like training"]
    return _table(runs, "bias strength", _strength, _TABLE2, columns, ours)


def _table5(runs: Sequence[RunFolder]) -> pl.DataFrame:
    def ours(run: RunFolder) -> list[float | None]:
        return [*_parts(run, "skewsize"), *_parts(run, "phi")]

    return _table(runs, "removed", _removed, _TABLE5, _columns("V", "phi"), ours)


TABLE1 = Artifact(
    "skewsize/table1", "Effect size beside accuracy, DP and EO for a bias planted in one class", _table1
)
TABLE2 = Artifact(
    "skewsize/table2", "Effect size against the strength of the bias (class 1 in the paper)", _table2
)
TABLE5 = Artifact("skewsize/table5", "Cramér's V beside phi", _table5)
