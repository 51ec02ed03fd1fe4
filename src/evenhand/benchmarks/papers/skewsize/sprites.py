"""Tables 1, 2 and 5 of the SkewSize paper, the paper's rows beside those of our runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.benchmark import Artifact
from evenhand.benchmarks.sprites.factors import SHAPES
from evenhand.core.errors import InputError
from evenhand.runs.run_folder import RunFolder

# removed: accuracy, WG, gap, DP 0-2, EO 0-2, effect size 0-2. The paper's DP and EO columns of classes 0
# and 1 look exchanged in the rows "class 0" and "class 1"; they stand here as printed.
_TABLE1 = {
    "none": (0.998, 0.996, 0.002, 0.004, 0.004, 0.001, 0.001, 0.001, 0.001, 0.006, 0.020, 0.024),
    "class 0": (0.888, 0.666, 0.222, 0.050, 0.315, 0.265, 0.038, 0.483, 0.203, 0.705, 0.012, 0.017),
    "class 1": (0.891, 0.653, 0.238, 0.303, 0.013, 0.289, 0.448, 0.009, 0.220, 0.012, 0.703, 0.011),
    "class 2": (0.888, 0.664, 0.224, 0.278, 0.057, 0.332, 0.208, 0.040, 0.484, 0.032, 0.009, 0.700),
}
_TABLE2 = {
    "none": (0.998, 0.996, 0.006, 0.020, 0.024),
    "mild": (0.977, 0.936, 0.002, 0.253, 0.017),
    "medium": (0.933, 0.806, 0.013, 0.492, 0.032),
    "strong": (0.891, 0.653, 0.012, 0.703, 0.011),
}
_TABLE5 = {
    "none": (0.012, 0.011, 0.019, 0.012, 0.011, 0.027),
    "class 0": (0.670, 0.015, 0.016, 0.948, 0.015, 0.022),
    "class 1": (0.014, 0.683, 0.108, 0.014, 0.966, 0.152),
    "class 2": (0.047, 0.006, 0.696, 0.067, 0.006, 0.985),
}
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
