"""Tables 1, 2 and 5 of the SkewSize paper, the paper's rows beside those of our runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import polars as pl

from evenhand.benchmarks.benchmark import Artifact
from evenhand.benchmarks.papers.printed import printed
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row
from evenhand.benchmarks.papers.skewsize.views import ACCURACIES
from evenhand.benchmarks.sprites.factors import SHAPES
from evenhand.benchmarks.tidy import parameters_of, table_of
from evenhand.core.errors import InputError
from evenhand.runs.run_folder import RunFolder

_PARTS: dict[str, tuple[str, dict[str, str]]] = {
    "DP": ("demographic_parity", {"aggregate": "max"}),
    "EO": ("equalized_odds", {"eo": "avg", "aggregate": "max"}),
    "V": ("skewsize", {}),
    "phi": ("phi", {}),
}
_ALIKE = "accuracy like training"
"""On a test set biased like the training set: near 1, or the bias was not learned."""


def of_shapes(*measures: str) -> tuple[str, ...]:
    """Columns of measures of each shape."""
    return tuple(f"{measure} {shape}" for measure in measures for shape in SHAPES)


def _value(run: RunFolder, column: str) -> float | None:
    """What a run has in a column; None where it is undefined, such as a shape without any error."""
    if column == _ALIKE:
        return run.finding("accuracy", samples="like training").value
    measure, _, shape = column.partition(" ")
    name, params = _PARTS.get(measure, (measure, {}))
    finding = run.finding(name, "colour", **params)
    return {str(part.key): part.value for part in finding.parts}.get(shape) if shape else finding.value


def _label(run: RunFolder, column: str) -> str:
    """Which colours were removed from training, or how strong the bias is."""
    if run.manifest.get("benchmark") != "sprites":
        raise InputError(
            f"this table is made from runs of sprites, not of {run.manifest.get('benchmark')!r}; type: "
            "evenhand run sprites --model FILE.py:OBJECT"
        )
    parameters = parameters_of(run)
    removed = str(parameters["removed"])
    if removed == "none" or column != "removed":
        return "none" if removed == "none" else str(parameters["strength"])
    return f"class {SHAPES.index(removed)} ({removed})"


def _table(
    paper: Mapping[str, Sequence[float]], label: str, columns: Sequence[str], runs: Sequence[RunFolder]
) -> pl.DataFrame:
    """The paper's rows, then ours; columns that only we have are empty in the paper's rows."""
    rows: list[Row] = [
        {"source": PAPER, label: key, **dict(zip(columns, values, strict=False))}
        for key, values in paper.items()
    ]
    rows += [
        {"source": OURS, label: _label(run, label), **{name: _value(run, name) for name in columns}}
        for run in runs
    ]
    return table_of(rows, ["source", label, *columns], texts=("source", label))


# The paper's DP and EO of classes 0 and 1 look exchanged in the rows "class 0" and "class 1"; they stand as
# printed.
TABLE1_COLUMNS = (*ACCURACIES, *of_shapes("DP", "EO", "V"))
TABLE2_COLUMNS = (*ACCURACIES[:2], *of_shapes("V"))
TABLE5_COLUMNS = of_shapes("V", "phi")
TABLE1 = Artifact(
    "skewsize/table1",
    "Effect size beside accuracy, DP and EO for a bias planted in one class",
    partial(_table, printed(__file__, "table1"), "removed", (*TABLE1_COLUMNS, _ALIKE)),
)
TABLE2 = Artifact(
    "skewsize/table2",
    "Effect size against the strength of the bias (class 1 in the paper)",
    partial(_table, printed(__file__, "table2"), "bias strength", (*TABLE2_COLUMNS, _ALIKE)),
)
TABLE5 = Artifact(
    "skewsize/table5",
    "Cramér's V beside phi",
    partial(_table, printed(__file__, "table5"), "removed", TABLE5_COLUMNS),
)
