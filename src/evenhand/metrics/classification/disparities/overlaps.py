"""How many rows two findings share: attributes that go together tell one mistake several times."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import is_beyond
from evenhand.evidence.predictions.counts import Counts
from evenhand.stats.arrays import Floats, Mask

SHARED = "shared with "
"""What the details begin with that count the rows of a line that another one has, too."""
CASES = "n_wrong"
"""The detail that counts the mistakes of the less accurate side, where others share some."""
_MOST = 20  # lines that are compared with each other
_AGREE = 0.5  # of the way from groups that have nothing to do with each other to one inside the other


@dataclass(frozen=True, eq=False)
class _Line:
    """A listed mistake, or the mistakes of the less accurate side of groups that stand apart."""

    finding: int  # its place
    part: Part | None  # None where the whole finding is the line
    name: str  # what it is called beside another one
    universe: Mask  # cells that it compares: those of its class, or all
    side: Mask  # those of its groups
    cases: Mask  # those with its mistakes

    def shares_with(self, other: _Line, n: Floats) -> float:
        """The cases of both, if they are most of either's and their groups go together; else 0.

        Groups go together where the smaller side lies in the other by more than half of the way from what
        its share of all rows leads to expect to all of it.
        """
        both = float(n[self.cases & other.cases].sum())
        if 2 * both <= min(n[self.cases].sum(), n[other.cases].sum()):
            return 0.0
        compared = self.universe & other.universe
        sides = sorted((line.side & compared for line in (self, other)), key=lambda side: n[side].sum())
        inside = n[sides[0] & sides[1]].sum() / max(n[sides[0]].sum(), 1e-300)
        expected = n[sides[1]].sum() / n[compared].sum()
        return both if inside - expected > _AGREE * (1 - expected) else 0.0


def with_overlaps(findings: Sequence[Finding], counts: Counts, alpha: float) -> list[Finding]:
    """The findings, which say how many of their rows those of other groupings share.

    Of each two listed mistakes, or accuracies of groups apart beyond chance, of which more than half of the
    mistakes of either are those of the other, and whose groups go together, both have a detail ``shared with
    METRIC RANK`` (of accuracies ``shared with METRIC``), the number of such rows.

    Args:
        findings: Of one table, by several groupings.
        counts: With all attributes of the groupings.
        alpha: Level of the verdicts.
    """
    shared: dict[tuple[int, int], dict[str, float]] = {}
    for first, second in combinations(_lines(findings, counts, alpha), 2):
        if findings[first.finding].by == findings[second.finding].by:
            continue
        if not (both := first.shares_with(second, counts.n)):
            continue
        for line, other in ((first, second), (second, first)):
            about = shared.setdefault((line.finding, id(line.part)), {})
            about[f"{SHARED}{other.name}"] = both
            if line.part is None:
                about[CASES] = float(counts.n[line.cases].sum())
    return [_with(finding, index, shared) for index, finding in enumerate(findings)]


def _lines(findings: Sequence[Finding], counts: Counts, alpha: float) -> list[_Line]:
    accuracies = [
        _of_accuracy(index, finding, counts)
        for index, finding in enumerate(findings)
        if finding.name == "accuracy_contrast" and finding.parts and is_beyond(finding, alpha)
    ]
    return [*accuracies, *_of_mistakes(findings, counts)][: _MOST + len(accuracies)]


def _of_accuracy(index: int, finding: Finding, counts: Counts) -> _Line:
    named = np.zeros(counts.n.size, dtype=bool)
    for part in finding.parts:
        named |= _of_group(counts, finding.by, [part.key] if isinstance(part.key, str) else part.key)
    side = named if finding.details.get("side") == "worse" else ~named
    for name in finding.by:
        side &= counts.codes_of(name) >= 0
    wrong = ~_same(counts, "truth", "prediction")
    return _Line(index, None, finding.metric, np.ones(side.size, dtype=bool), side, side & wrong)


def _of_mistakes(findings: Sequence[Finding], counts: Counts) -> Iterator[_Line]:
    for index, finding in enumerate(findings):
        for part in finding.parts if finding.name == "disparities" else ():
            if part.kind not in ("mistake", "miss") or part.details.get("direction") != "more":
                continue
            truth, *rest = [part.key] if isinstance(part.key, str) else part.key
            label = _is(counts, "prediction", rest[-1] if part.kind == "mistake" else truth)
            of_class = _is(counts, "truth", truth)
            side = of_class & _of_group(counts, finding.by, rest)
            cases = side & (label if part.kind == "mistake" else ~label)
            rank = float(str(part.details["rank"]))
            yield _Line(index, part, f"{finding.metric} {rank:g}", of_class, side, cases)


def _with(finding: Finding, index: int, shared: dict[tuple[int, int], dict[str, float]]) -> Finding:
    about = {part: of_line for (place, part), of_line in shared.items() if place == index}
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


def _of_group(counts: Counts, by: Sequence[str], values: Sequence[str]) -> Mask:
    """Which cells are of a group."""
    mask = np.ones(counts.n.size, dtype=bool)
    for name, value in zip(by, values, strict=False):
        mask &= _is(counts, name, value)
    return mask


def _same(counts: Counts, first: str, second: str) -> Mask:
    """Which cells have the same value on two axes."""
    places = {str(level): code for code, level in enumerate(counts.axis(first).levels)}
    moved = np.array([places.get(str(level), -2) for level in counts.axis(second).levels])
    return np.asarray(counts.codes_of(first) == moved[counts.codes_of(second)])


def _is(counts: Counts, axis: str, value: str) -> Mask:
    is_level = np.array([str(level) == value for level in counts.axis(axis).levels], dtype=bool)
    codes = counts.codes_of(axis)
    return np.asarray((codes >= 0) & is_level[np.maximum(codes, 0)])
