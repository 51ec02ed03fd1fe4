"""Whether the groupings of a run, taken together, tell a small count that each of them hides by itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.findings import Finding, Part
from evenhand.report.suppression.counts import MISTAKES, Cells, Group, values_of
from evenhand.report.suppression.details import compared

Grouping = tuple[str, ...]
_Mask = npt.NDArray[np.bool_]
_Floats = npt.NDArray[np.float64]

_MOST_ROWS = 50_000  # occupied cells that can be looked through
_DENSE = 4_000  # unknowns that are solved at once
_FIXED = 1e-6  # a count that moves by less is fixed
_ALIKE = 1e-6
_MISSING = "\0missing"  # no label: what Polars reads as text is never alone a null byte


def told_by(
    findings: Sequence[Finding],  # as they are shown
    cells: Mapping[tuple[str, Grouping], Cells],  # that are shown, by table and grouping
    tables: Mapping[str, pl.DataFrame],  # with ``truth``, attributes, ``prediction`` and ``n``
    rows: float | None,  # that the run says it has; None where it does not
    fewest: int,  # rows that a cell needs to be shown
) -> bool:
    """Whether a count above 0 and below ``fewest`` follows from all that is shown, over all groupings.

    The unknowns are the occupied cells of truth, prediction and every attribute, a missing value being one of
    its own. Each number that is shown is a sum of them: rows, groups, classes, right rows (a rate times its
    rows), rows left out, and cells. A small count of any attributes of two groupings, missing ones included,
    follows where no direction moves it along which all sums hold. That readers know which cells are empty is
    assumed.
    """
    for name, table in tables.items():
        if not {"truth", "prediction", "n"} <= set(table.columns):
            continue
        raw = name.endswith("_raw")
        table_findings = [
            finding
            for finding in findings
            if (finding.params.get("answers") == "raw") == raw
            and not compared(finding)
            and set(finding.by) <= set(table.columns)
        ]
        groupings = list(dict.fromkeys(tuple(finding.by) for finding in table_findings if finding.by))
        if len(groupings) < 2:
            continue  # one grouping is settled by itself
        if table.height > _MOST_ROWS:
            return True  # what cannot be looked through is not shown
        shown_cells = {by: counts for (of, by), counts in cells.items() if of == name}
        if _ShownSums(table, table_findings, shown_cells, rows).tell(groupings, fewest):
            return True
    return False


@dataclass(frozen=True, eq=False)
class _ShownSums:
    """The occupied cells of a table, and which of their sums are shown."""

    table: pl.DataFrame
    findings: Sequence[Finding]
    cells: Mapping[Grouping, Cells]
    rows: float | None

    def tell(self, groupings: Sequence[Grouping], fewest: int) -> bool:
        """Whether a small count of two groupings crossed is fixed by the sums."""
        n = self.table["n"].cast(pl.Float64).to_numpy()
        moved = _direction([np.flatnonzero(mask) for mask in self._shown(n)], len(n))
        for codes in self._partitions(groupings):
            counts = np.bincount(codes, weights=n)
            moves = np.abs(np.bincount(codes, weights=moved))
            small = (counts > _ALIKE) & (counts < fewest - _ALIKE)
            if np.any(small & (moves < _FIXED)):
                return True
        return False

    def _partitions(self, groupings: Sequence[Grouping]) -> Iterator[npt.NDArray[np.int64]]:
        """Cells whose small counts are secrets, as codes of the rows."""
        usable = pl.col("truth").is_not_null() & pl.col("prediction").is_not_null()
        crossed = [dict.fromkeys((*a, *b)) for a, b in combinations_with_replacement(groupings, 2)]
        subsets = dict.fromkeys(
            names
            for union in crossed
            for size in range(1, len(union) + 1)
            for names in combinations(union, size)
        )
        for names in {frozenset(names): names for names in subsets}.values():
            yield self._codes([usable.alias("\0usable"), *map(pl.col, names)])
            yield self._codes(map(pl.col, ("truth", *names)))

    def _codes(self, columns: object) -> npt.NDArray[np.int64]:
        keys = self.table.select(columns)  # type: ignore[arg-type]  # expressions
        return keys.select(pl.struct(pl.all()).rank("dense")).to_series().to_numpy().astype(np.int64) - 1

    def _shown(self, n: _Floats) -> Iterator[_Mask]:
        """The rows of each sum that is shown; a number that is no sum of these rows says nothing of them."""
        everything = np.ones(len(n), dtype=bool)
        if self.rows is not None:
            yield everything
        for finding in self.findings:
            for mask, count in self._of_finding(finding):
                if count >= 0 and abs(float(n[mask].sum()) - count) <= _ALIKE * max(1.0, count):
                    yield mask
        for by, counts in self.cells.items():
            for (truth, group, prediction), count in counts.items():
                if count >= 0:
                    yield (
                        self._of_group(by, group)
                        & self._is("truth", truth)
                        & self._is("prediction", prediction)
                    )

    def _of_finding(self, finding: Finding) -> Iterator[tuple[_Mask, float]]:
        by = tuple(finding.by)
        usable, steps = self._usable(by)
        yield usable, finding.n
        right = self._right()
        if finding.card.made_of == "right rows" and finding.value is not None and finding.n >= 0:
            yield usable & right, finding.value * finding.n
        for group in finding.groups:
            if len(values_of(group.key)) == len(by):
                yield self._of_group(by, values_of(group.key)) & usable, group.n
        for part in finding.parts:
            mask = self._of_part(finding, part)
            if mask is None:
                continue
            yield mask & usable, part.n
            accuracy = part.value if finding.card.made_of == "right rows" else part.details.get("accuracy")
            if isinstance(accuracy, int | float) and part.n >= 0:
                yield mask & usable & right, accuracy * part.n
        for dropped in finding.dropped:
            if dropped.reason in steps:
                yield steps[dropped.reason], dropped.count

    def _of_part(self, finding: Finding, part: Part) -> _Mask | None:
        values, by = values_of(part.key), tuple(finding.by)
        if finding.card.made_of == MISTAKES:
            return None  # shown only where every cell is
        label = "prediction" if finding.card.made_of == "effects of answers" else "truth"
        if part.kind == "group" and len(values) == len(by):
            return self._of_group(by, values)
        if part.kind == "class" and len(values) == 1:
            return self._is(label, values[0])
        if part.kind == "class*group" and len(values) == 1 + len(by):
            return self._is(label, values[0]) & self._of_group(by, values[1:])
        return None

    def _usable(self, by: Grouping) -> tuple[_Mask, dict[str, _Mask]]:
        """Rows that a grouping uses, and those that each reason leaves out of what is left."""
        usable, steps = np.ones(self.table.height, dtype=bool), {}
        for name in ("truth", "prediction", *by):
            gone = self._is(name, _MISSING) & usable
            steps[f"missing {name}"] = gone
            usable = usable & ~gone
        return usable, steps

    def _right(self) -> _Mask:
        texts = self._texts("truth"), self._texts("prediction")
        return np.asarray((texts[0] == texts[1]) & (texts[0] != _MISSING))

    def _of_group(self, by: Grouping, group: Group) -> _Mask:
        mask = np.ones(self.table.height, dtype=bool)
        for name, value in zip(by, group, strict=True):
            mask &= self._is(name, value)
        return mask

    def _is(self, column: str, value: str) -> _Mask:
        return np.asarray(self._texts(column) == value)

    def _texts(self, column: str) -> npt.NDArray[np.object_]:
        texts = self.table[column].cast(pl.String).fill_null(_MISSING)
        return texts.to_numpy().astype(object)


def _direction(sums: Sequence[npt.NDArray[np.int64]], n_cells: int) -> _Floats:
    """A random direction of all cells along which every sum stays.

    Cells that the same sums hold are one unknown: it is solved for them together, and within them any change
    that adds up to it is free.
    """
    from scipy import sparse

    random = np.random.default_rng(0)
    start = random.uniform(1, 2, n_cells) * random.choice([-1.0, 1.0], n_cells)
    if not sums:
        return np.asarray(start)
    indices = np.concatenate(sums)
    ends = np.cumsum([0, *map(len, sums)])
    ties = sparse.csr_array((np.ones(len(indices)), indices, ends), shape=(len(sums), n_cells))
    marks = random.integers(1, 2**40, len(sums)).astype(np.float64)
    _, classes, sizes = np.unique(ties.T @ marks, return_inverse=True, return_counts=True)
    first = np.zeros(len(sizes), dtype=np.int64)
    first[classes[::-1]] = np.arange(n_cells)[::-1]
    reduced = ties[:, first]
    totals = np.asarray(ties @ start)
    if len(sizes) <= _DENSE:
        fixed = np.linalg.lstsq(np.asarray(reduced.toarray()), totals, rcond=None)[0]
    else:
        fixed = sparse.linalg.lsqr(reduced, totals, atol=1e-13, btol=1e-13, iter_lim=20 * len(sizes))[0]
    return np.asarray(start - fixed[classes] / sizes[classes], dtype=np.float64)


def refused(groupings: Sequence[Grouping], is_told: Callable[[Sequence[Grouping]], bool]) -> list[Grouping]:
    """The groupings to leave out, the later first, so that the rest tells no small count (``is_told``)."""
    if len(groupings) < 2 or not is_told(groupings):
        return []
    left: list[Grouping] = []
    for grouping in groupings:
        if not left or not is_told([*left, grouping]):
            left.append(grouping)
    return [grouping for grouping in groupings if grouping not in left]
