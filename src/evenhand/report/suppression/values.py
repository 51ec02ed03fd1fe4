"""Values that are hidden because of the small cells they are made of, though they rest on enough rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from evenhand.core.findings import Finding
from evenhand.report.suppression.counts import CellKey, Cells, Group
from evenhand.report.suppression.details import card_of

if TYPE_CHECKING:
    import polars

Shown = Callable[[str, Group, str], bool]
"""Whether a cell of truth, group and prediction is shown; without a prediction, all rows of the two."""

OF_CLASSES = ("effects of classes", "other effects of classes", "effects of ranks")
OF_ANSWERS = "effects of answers"
OF_EFFECTS = ("all effects", "mean effect", "one effect")
OF_CELLS = ("shares", "one table", "one cell")
"""What metrics declare that they are made of."""

_ENOUGH = 200  # hidden effect sizes, each of three tables or more, that a few means of 16 digits leave open


def grouped_cells(table: polars.DataFrame, by: Sequence[str]) -> dict[CellKey, float]:
    """Rows by truth, group and prediction, as text, a group with a value for each attribute.

    Rows without one of them are left out.
    """
    import polars

    values = [polars.col(column).cast(polars.String).alias(f"{index}") for index, column in enumerate(by)]
    text_rows = table.select(
        polars.col("truth").cast(polars.String),
        *values,
        polars.col("prediction").cast(polars.String),
        polars.col("n").cast(polars.Float64),
    ).drop_nulls()
    keys = text_rows.columns[:-1]
    summed = text_rows.group_by(keys).agg(polars.col("n").sum())
    rows = summed.filter(polars.col("n") > 0).sort(keys).iter_rows()
    return {(truth, tuple(group), prediction): n for truth, *group, prediction, n in rows}


class HiddenValues:
    """Which effect sizes and differences of shares would tell of small cells.

    An effect size is a number of so many digits that hardly two tables of whole numbers have the same one: it
    is shown where every cell of its table is. Differences of shares add up to 0 over all answers, and a share
    is a sum over all classes: they are shown where every cell of the grouping is.

    ``cells`` is None where the run does not hold them: then none of these values is shown. ``is_shown`` is
    None where the report shows no cell of this grouping.
    """

    def __init__(self, cells: Cells | None, is_shown: Shown | None, fewest: int) -> None:
        self._fewest = fewest
        self._shown = is_shown
        by_truth: dict[str, dict[tuple[Group, str], float]] = {}
        by_answer: dict[str, dict[tuple[Group, str], float]] = {}
        for (truth, group, answer), n in (cells or {}).items():
            by_truth.setdefault(truth, {})[group, answer] = n
            by_answer.setdefault(answer, {})[group, truth] = n
        self._effects = {truth for truth, counts in by_truth.items() if self._backed(truth, counts)}
        self._sufficiency = {answer for answer, counts in by_answer.items() if self._backward(answer, counts)}
        self._truths, self._answers = set(by_truth), set(by_answer)
        self.mixes = not cells or bool(self._effects or self._sufficiency)

    def part(self, finding: Finding, key: str) -> bool:
        """Whether the value of a class is hidden."""
        made_of = card_of(finding).made_of
        if made_of in OF_CLASSES:
            ranked = made_of == "effects of ranks"  # on counts of their own, which are not read
            return ranked or key in self._effects or key not in self._truths
        if made_of == OF_ANSWERS:
            return key in self._sufficiency or key not in self._answers
        return made_of == "shares" and self.mixes

    def whole(self, finding: Finding) -> bool:
        """Whether a finding's own value is hidden, of those that are made of single cells."""
        of_cells = card_of(finding).made_of in OF_CELLS
        return self.mixes and (of_cells or finding.params.get("groups") == "yz")

    def _is_shown(self, n: float, truth: str, group: Group, answer: str) -> bool:
        return n >= self._fewest and (self._shown is None or self._shown(truth, group, answer))

    def _backed(self, truth: str, counts: Mapping[tuple[Group, str], float]) -> bool:
        """Whether a class has a cell, or all rows of a group in it, that the report hides."""
        rows: dict[Group, float] = {}
        for (group, _), n in counts.items():
            rows[group] = rows.get(group, 0.0) + n
        inner = any(not self._is_shown(n, truth, *cell) for cell, n in counts.items())
        return inner or any(not self._is_shown(n, truth, group, "") for group, n in rows.items())

    def _backward(self, answer: str, counts: Mapping[tuple[Group, str], float]) -> bool:
        return any(not self._is_shown(n, truth, group, answer) for (group, truth), n in counts.items())


def aggregate_hidden(finding: Finding, values: Sequence[float | None], hidden: Sequence[bool]) -> bool:
    """Whether a mean, median, maximum or skewness of classes would tell the values of hidden ones.

    A mean or skewness of few hidden values could be taken apart, as whole numbers of rows leave few sums of
    so many digits. A median or maximum is the value of one class or two.
    """
    gone = sum(lost for value, lost in zip(values, hidden, strict=True) if value is not None)
    return any(hidden) and (gone < _ENOUGH or card_of(finding).made_of == "one effect")
