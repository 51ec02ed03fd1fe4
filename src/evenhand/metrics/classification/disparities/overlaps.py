"""How many rows two findings share: attributes that go together tell one mistake several times."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

import numpy as np

from evenhand.core.findings import N_WRONG, SHARED, Finding, Part
from evenhand.core.significance import is_beyond
from evenhand.evidence.predictions.counts import Counts
from evenhand.stats.arrays import Floats, Mask
from evenhand.stats.hypergeometric import unique_rows

OF_SEARCH = "subgroup of a class"
"""Parts of a search that are mistakes of one class, whatever they are called."""
_MOST = 20  # mistakes that are compared with each other
_AGREE = 0.5  # of the way from groups that have nothing to do with each other to one inside the other


@dataclass(frozen=True, eq=False)
class _Line:
    """A listed mistake, or the mistakes of the less accurate side of groups that stand apart."""

    finding: int  # its place
    by: tuple[str, ...]  # its grouping; of a search the attributes that tell its subgroup
    part: Part | None  # None where the whole finding is the line
    name: str  # what it is called beside another one
    universe: Mask  # cells that it compares: those of its class, or all
    side: Mask  # those of its groups; of a group that is spared, those of all others
    cases: Mask  # those with its mistakes

    def shares_with(self, other: _Line, n: Floats) -> float:
        """The cases of both, if they are most of either's and their groups go together; else 0.

        Groups go together where the smaller side lies in the other by more than half of the way from what
        its share of all rows leads to expect to all of it.
        """
        n_shared = float(n[self.cases & other.cases].sum())
        if 2 * n_shared <= min(n[self.cases].sum(), n[other.cases].sum()):
            return 0.0
        compared = self.universe & other.universe
        by_size = sorted((line.side & compared for line in (self, other)), key=lambda side: n[side].sum())
        inside = n[by_size[0] & by_size[1]].sum() / max(n[by_size[0]].sum(), 1e-300)
        expected = n[by_size[1]].sum() / n[compared].sum()
        return n_shared if inside - expected > _AGREE * (1 - expected) else 0.0


def with_overlaps(findings: Sequence[Finding], counts: Counts, alpha: float) -> list[Finding]:
    """The findings of one table, which say how many of their rows those of other groupings share.

    Of each two listed mistakes, or accuracies of groups apart beyond chance, of which more than half of the
    mistakes of either are those of the other, and whose groups go together, both have a detail ``shared with
    METRIC RANK`` (of accuracies ``shared with METRIC``), the number of such rows. ``counts`` hold the
    attributes of all groupings.
    """
    shared: dict[tuple[int, int], dict[str, float]] = {}
    is_row = (counts.codes_of("truth") >= 0) & (counts.codes_of("prediction") >= 0)
    n = np.where(is_row, counts.n, 0.0)
    for first, second in combinations(_lines(findings, counts, alpha), 2):
        if first.finding == second.finding or first.by == second.by:
            continue
        if not (n_shared := first.shares_with(second, n)):
            continue
        for line, other in ((first, second), (second, first)):
            about = shared.setdefault((line.finding, id(line.part)), {})
            about[f"{SHARED}{other.name}"] = n_shared
            if line.part is None:
                about[N_WRONG] = float(n[line.cases].sum())
    return [_with(finding, index, shared) for index, finding in enumerate(findings)]


def _lines(findings: Sequence[Finding], counts: Counts, alpha: float) -> list[_Line]:
    accuracies = [
        _of_accuracy(index, finding, counts)
        for index, finding in enumerate(findings)
        if finding.name == "accuracy_contrast" and finding.parts and is_beyond(finding, alpha)
    ]
    of_parts = {"disparities": _of_mistakes, "subgroups": _of_search}
    mistakes = (
        line
        for index, finding in enumerate(findings)
        if finding.name in of_parts
        for line in of_parts[finding.name](index, finding, counts)
    )
    return [*accuracies, *islice(mistakes, _MOST)]


def _of_accuracy(index: int, finding: Finding, counts: Counts) -> _Line:
    keys = {(part.key,) if isinstance(part.key, str) else tuple(part.key) for part in finding.parts}
    levels = [[str(level) for level in counts.axis(name).levels] for name in finding.by]
    codes = np.stack([counts.codes_of(name) for name in finding.by], axis=1).astype(np.int64)
    groups, of_cell = unique_rows(codes + 1)  # missing is -1
    texts = [tuple(map(list.__getitem__, levels, group)) for group in (groups - 1).tolist()]
    is_in_set = np.array([text in keys for text in texts], dtype=bool)[of_cell]
    side = is_in_set == (finding.details.get("side") == "worse")
    side &= (codes >= 0).all(axis=1)
    wrong = ~_same(counts, "truth", "prediction")
    every = np.ones(side.size, dtype=bool)
    return _Line(index, tuple(finding.by), None, finding.metric, every, side, side & wrong)


def _of_mistakes(index: int, finding: Finding, counts: Counts) -> Iterator[_Line]:
    for part in finding.parts:
        if part.kind not in ("mistake", "miss"):
            continue
        truth, *rest = [part.key] if isinstance(part.key, str) else part.key
        label = _is(counts, "prediction", rest[-1]) if part.kind == "mistake" else None
        rank = float(str(part.details["rank"]))
        yield _line(
            index, finding, part, counts, truth, dict(zip(finding.by, rest, strict=False)), rank, label
        )


def _of_search(index: int, finding: Finding, counts: Counts) -> Iterator[_Line]:
    for rank, part in enumerate(finding.parts, 1):
        if part.kind == OF_SEARCH:
            truth, *rest = [part.key] if isinstance(part.key, str) else part.key
            pairs = ((name, key) for key in rest for name in finding.by if key.startswith(f"{name} = "))
            values = {name: key.removeprefix(f"{name} = ") for name, key in pairs}
            line = _line(index, finding, part, counts, truth, values, rank)
            yield replace(line, by=("", *values))


def _line(
    index: int, finding: Finding, part: Part, counts: Counts, truth: str, values: Mapping[str, str],
    rank: float, label: Mask | None = None,
) -> _Line:  # fmt: skip
    """A part about a class and a group; without a label any wrong one counts."""
    of_class = _is(counts, "truth", truth)
    in_group, is_known = of_class.copy(), of_class.copy()
    for name, value in values.items():
        in_group &= _is(counts, name, value)
        is_known &= counts.codes_of(name) >= 0
    side = is_known & ~in_group if part.details.get("direction") == "less" else in_group
    cases = side & (~_is(counts, "prediction", truth) if label is None else label)
    return _Line(index, tuple(finding.by), part, f"{finding.metric} {rank:g}", of_class, side, cases)


def _with(finding: Finding, index: int, shared: dict[tuple[int, int], dict[str, float]]) -> Finding:
    about = {part: of_line for (of_finding, part), of_line in shared.items() if of_finding == index}
    if not about:
        return finding
    parts = [
        part.model_copy(update={"details": {**part.details, **about[id(part)]}})
        if id(part) in about
        else part
        for part in finding.parts
    ]
    details = {**finding.details, **about.get(id(None), {})}
    return finding.model_copy(update={"parts": parts, "details": details})


def _same(counts: Counts, first: str, second: str) -> Mask:
    """Which cells have the same value on two axes."""
    code_of = {str(level): code for code, level in enumerate(counts.axis(first).levels)}
    moved = np.array([code_of.get(str(level), -2) for level in counts.axis(second).levels])
    return np.asarray(counts.codes_of(first) == moved[counts.codes_of(second)])


def _is(counts: Counts, axis: str, value: str) -> Mask:
    is_level = np.array([str(level) == value for level in counts.axis(axis).levels], dtype=bool)
    codes = counts.codes_of(axis)
    return np.asarray((codes >= 0) & is_level[np.maximum(codes, 0)])
