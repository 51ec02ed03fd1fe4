"""How many rows two listed mistakes share: attributes that go together tell one mistake several times."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from evenhand.core.findings import Finding, Part
from evenhand.evidence.predictions.counts import Counts

SHARED = "shared with "
"""What the details begin with that count the rows of a line that another one has, too."""
OF_SEARCH = "subgroup of a class"
"""Parts of a search that are mistakes of one class, whatever they are called."""
_MOST = 20  # lines that are compared with each other

Line = tuple[int, float, Part]  # the place of its finding, its rank, and the line


def line_name(finding: Finding, rank: float) -> str:
    """What a listed line of a finding is called beside another one."""
    return f"{finding.metric} {rank:g}"


def with_overlaps(findings: Sequence[Finding], counts: Counts) -> list[Finding]:
    """The findings, whose listed mistakes say how many of their rows those of other groupings share.

    Each of two mistakes of which more than half of the rows of either are rows of the other has a detail
    ``shared with METRIC RANK``, the number of such rows.

    Args:
        findings: Of one table, by several groupings.
        counts: With all attributes of the groupings.
    """
    lines = [line for index, finding in enumerate(findings) for line in _listed(index, finding)][:_MOST]
    masks = {id(part): _rows_of(findings[index], part, counts) for index, _, part in lines}
    shared: dict[int, dict[str, float]] = {}
    for first, second in combinations(lines, 2):
        if first[0] == second[0]:
            continue
        (_, _, a), (_, _, b) = first, second
        n_shared = float(counts.n[masks[id(a)] & masks[id(b)]].sum())
        if 2 * n_shared > min(_hits(a), _hits(b)):
            for (_, _, line), (of, rank, _) in ((first, second), (second, first)):
                shared.setdefault(id(line), {})[f"{SHARED}{line_name(findings[of], rank)}"] = n_shared
    if not shared:
        return list(findings)
    return [_with(finding, shared) for finding in findings]


def _listed(index: int, finding: Finding) -> list[Line]:
    """The lines of a finding that say "more", with their ranks; of a search those of a class."""
    if finding.name == "subgroups":
        parts = enumerate(finding.parts, 1)
        return [(index, float(rank), part) for rank, part in parts if part.kind == OF_SEARCH]
    if finding.name != "disparities":
        return []
    parts_of = [part for part in finding.parts if part.kind in ("mistake", "miss")]
    return [
        (index, float(str(part.details["rank"])), part)
        for part in parts_of
        if part.details.get("direction") == "more"
    ]


def _with(finding: Finding, shared: dict[int, dict[str, float]]) -> Finding:
    if not any(id(part) in shared for part in finding.parts):
        return finding
    parts = [
        part.model_copy(update={"details": {**part.details, **shared[id(part)]}})
        if id(part) in shared
        else part
        for part in finding.parts
    ]
    return finding.model_copy(update={"parts": parts})


def _hits(part: Part) -> float:
    return float(str(part.details["mistakes" if part.kind == OF_SEARCH else "a"]))


def _rows_of(finding: Finding, part: Part, counts: Counts) -> npt.NDArray[np.bool_]:
    """Which cells of the counts hold the rows with a mistake."""
    truth, *rest = [part.key] if isinstance(part.key, str) else part.key
    values = dict(zip(finding.by, rest, strict=False))
    if part.kind == OF_SEARCH:
        values = {
            name: key[len(name) + 3 :] for key in rest for name in finding.by if key.startswith(f"{name} = ")
        }
    is_answer = (
        _is(counts, "prediction", rest[-1]) if part.kind == "mistake" else ~_is(counts, "prediction", truth)
    )
    mask = _is(counts, "truth", truth) & is_answer
    for name, value in values.items():
        mask &= _is(counts, name, value)
    return mask


def _is(counts: Counts, axis: str, value: str) -> npt.NDArray[np.bool_]:
    is_level = np.array([str(level) == value for level in counts.axis(axis).levels], dtype=bool)
    codes = counts.codes_of(axis)
    return np.asarray((codes >= 0) & is_level[np.maximum(codes, 0)])
