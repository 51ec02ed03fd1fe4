"""Values that are hidden because of the small cells they are made of, though they rest on enough rows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from evenhand.core.results import Finding
from evenhand.report.formats import key_text

if TYPE_CHECKING:
    import polars

    from evenhand.report.small_cells import Cells

Shown = Callable[[str, str, str], bool]
"""Whether a cell of truth, group and prediction is shown; without a prediction, all rows of the two."""

EFFECTS = ("skewsize", "skewsize_topk", "skewsize_softmax", "cramers_v_corrected", "phi")
"""Findings whose parts are effect sizes of classes."""

OF_EFFECTS = ("cramers_v_mean", "cramers_v_median", "cramers_v_max")
SUFFICIENCY = "skewsize_sufficiency"
SHARES = ("demographic_parity", "equalized_odds")
WHOLE_TABLE = "cramers_v"
_WORST = "worst_class_group_accuracy"
_ENOUGH = 5  # unknown effect sizes that no mean, median, maximum and skewness together give away
_FREE = 2


def grouped_cells(table: polars.DataFrame, by: Sequence[str]) -> dict[tuple[str, str, str], float]:
    """Rows by truth, group and prediction, as text; rows without one of them are left out.

    Args:
        table: Counts with ``truth``, ``prediction``, ``n`` and a column for each attribute.
        by: The attributes that make the groups.
    """
    import polars

    parts = [polars.col(column).cast(polars.String) for column in by]
    named = table.select(
        polars.col("truth").cast(polars.String),
        polars.concat_str(parts, separator=key_text(["", ""])).alias("group"),
        polars.col("prediction").cast(polars.String),
        polars.col("n").cast(polars.Float64),
    ).drop_nulls()
    summed = named.group_by("truth", "group", "prediction").agg(polars.col("n").sum())
    rows = summed.filter(polars.col("n") > 0).sort("truth", "group", "prediction").iter_rows()
    return {(truth, group, prediction): n for truth, group, prediction, n in rows}


class HiddenValues:
    """Which effect sizes and differences of shares would tell of small cells.

    An effect size is one number of a whole table, so it is shown where all rows of each group in it are
    shown, and where at least two of the hidden cells in it could still be chosen freely, whatever the sums of
    rows and columns. A difference of shares is one of few cells: it is shown where none of them is small.

    Args:
        cells: Of one grouping; None where the run does not hold them: then none of these values is shown.
        shown: Whether the report shows a cell; None where it shows none of this grouping.
        fewest: Rows that a cell needs.
    """

    def __init__(self, cells: Cells | None, shown: Shown | None, fewest: int) -> None:
        self._fewest = fewest
        self._shown = shown
        self._known = cells is not None
        by_truth: dict[str, dict[tuple[str, str], float]] = {}
        by_answer: dict[str, dict[tuple[str, str], float]] = {}
        whole: dict[tuple[str, str], float] = {}
        for (truth, group, answer), n in (cells or {}).items():
            by_truth.setdefault(truth, {})[group, answer] = n
            by_answer.setdefault(answer, {})[group, truth] = n
            whole[group, answer] = whole.get((group, answer), 0.0) + n
        self.effects = {truth for truth, own in by_truth.items() if self._effect(truth, own)}
        self.sufficiency = {answer for answer, own in by_answer.items() if self._backward(answer, own)}
        self.shares = {answer for answer, own in by_answer.items() if self._few(own, answer)}
        self.small_groups = {truth for truth, own in by_truth.items() if min(_sums(own).values()) < fewest}
        self.hides_cells = any(not self._is_shown(*cell) for cell in cells or {})
        self.whole_table = not whole or self._tells(whole, whole if min(whole.values()) < fewest else [])
        self._truths, self._answers = set(by_truth), set(by_answer)

    def part(self, finding: Finding, key: str) -> bool:
        """Whether the value of a class is hidden."""
        if finding.name in EFFECTS:
            return key in self.effects or key not in self._truths
        if finding.name == SUFFICIENCY:
            return key in self.sufficiency or key not in self._answers
        if finding.name in SHARES:
            odds = finding.name == "equalized_odds"
            return not self._known or key in self.shares or (odds and key in self.small_groups)
        return False

    def whole(self, finding: Finding) -> bool:
        """Whether a finding's own value is hidden, of those that are made of single cells."""
        cells = finding.name == _WORST or finding.params.get("groups") == "yz"
        if cells:
            return self.mixes
        return finding.name == WHOLE_TABLE and self.whole_table

    @property
    def mixes(self) -> bool:
        """Whether the mix of classes in each group is hidden, and so what chance gives a group."""
        return self.hides_cells or bool(self.small_groups) or not self._known

    def _is_shown(self, truth: str, group: str, answer: str) -> bool:
        return self._shown is None or self._shown(truth, group, answer)

    def _effect(self, truth: str, own: Mapping[tuple[str, str], float]) -> bool:
        hidden = self._unseen((cell, n, (truth, *cell)) for cell, n in own.items())
        groups = {group for group, _ in own}
        return self._tells(own, hidden) or any(not self._is_shown(truth, group, "") for group in groups)

    def _backward(self, answer: str, own: Mapping[tuple[str, str], float]) -> bool:
        cells = ((cell, n, (cell[1], cell[0], answer)) for cell, n in own.items())
        return self._tells(own, self._unseen(cells))

    def _unseen(
        self, cells: Iterable[tuple[tuple[str, str], float, tuple[str, str, str]]]
    ) -> list[tuple[str, str]]:
        """Hidden cells; all of them where none of this grouping is shown and one of them is small."""
        own = list(cells)
        if self._shown is None:
            small = any(n < self._fewest for _, n, _ in own)
            return [place for place, _, _ in own] if small else []
        return [place for place, _, cell in own if not self._is_shown(*cell)]

    def _tells(self, own: Mapping[tuple[str, str], float], hidden: Collection[tuple[str, str]]) -> bool:
        """Whether one number of a table of groups would tell of the cells in it that are hidden."""
        return min(_sums(own).values()) < self._fewest or bool(hidden and _free(hidden) < _FREE)

    def _few(self, own: Mapping[tuple[str, str], float], answer: str) -> bool:
        hidden = any(not self._is_shown(truth, group, answer) for group, truth in own)
        return hidden or min(own.values()) < self._fewest


def aggregate_hidden(finding: Finding, values: Sequence[float | None], hidden: Sequence[bool]) -> bool:
    """Whether a mean, median, maximum or skewness of classes would tell the values of hidden ones.

    Fewer than five hidden values could be worked out from several such numbers together. A maximum is hidden
    as well where the class that has it is.

    Args:
        finding: The aggregate.
        values: Of all classes.
        hidden: For each, whether its value is hidden.
    """
    if not any(hidden):
        return False
    whose = {value for value, gone in zip(values, hidden, strict=True) if gone and value is not None}
    return sum(hidden) < _ENOUGH or finding.value in whose


def _sums(own: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Rows by group."""
    found: dict[str, float] = {}
    for (group, _), n in own.items():
        found[group] = found.get(group, 0.0) + n
    return found


def _free(cells: Iterable[tuple[str, str]]) -> int:
    """Cells that can be chosen freely though all sums of rows and columns are known: E - V + components."""
    above: dict[tuple[int, str], tuple[int, str]] = {}

    def root(node: tuple[int, str]) -> tuple[int, str]:
        while above.setdefault(node, node) != node:
            above[node] = node = above.setdefault(above[node], above[node])
        return node

    free = 0
    for row, column in cells:
        first, second = root((0, row)), root((1, column))
        free += first == second
        above[first] = second
    return free
