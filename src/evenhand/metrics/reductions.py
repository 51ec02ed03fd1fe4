"""How much weaker an association is after a mitigation, with an interval over the same items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError
from evenhand.core.results import Finding, Interval
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.association import check_ddof, undefined
from evenhand.metrics.association_findings import Comparison
from evenhand.metrics.building import number
from evenhand.metrics.prepared import LEVEL
from evenhand.metrics.similarity_findings import plain_interval
from evenhand.stats.association import associations, effect_size
from evenhand.stats.two_way import Sizes, reduction_interval

Floats = npt.NDArray[np.float64]


def association_reduction(
    evidence: Similarities,
    *,
    after: Similarities,
    targets: Sequence[str],
    attributes: Sequence[str],
    ddof: int = 1,
    mode: str = "default",
    inference: str = "auto",
    seed: int = 0,
) -> Finding:
    """``|d before| - |d after|`` of the same items; d as in ``association_effect_size``.

    Measure it on items that the mitigation was not fitted on: on others it is larger than it will ever be
    again.

    Args:
        evidence: Similarities of the items as the model gave them.
        after: Similarities of the same items in the same places after the mitigation.
        targets: Names of X and Y.
        attributes: Names of A and B.
        ddof: 1 as in SEAT and iEAT, 0 as in WEFE.
        mode: ``default`` or ``paper``; the same here.
        inference: ``auto``, or ``none``: no interval.
        seed: Without effect: nothing is drawn.

    Returns:
        Positive where the association is weaker afterwards, at most |d before|; negative where it is
        stronger. The interval has other targets and other attributes in mind, the same ones before and after.
        A change of sign is told in ``details``. No value where d is not defined before or after.

    Raises:
        UserError: Not Similarities, other items before than after, or an unknown set.
    """
    check_ddof(ddof)
    options: dict[str, Any] = {"mode": mode, "inference": inference, "seed": seed}
    comparison = Comparison.make("association_reduction", evidence, targets, attributes, **options)
    if not isinstance(after, Similarities) or (evidence.targets, evidence.attributes) != (
        after.targets,
        after.attributes,
    ):
        raise ParameterError(
            "association_reduction compares the same items before and after; give two Similarities of equal "
            "targets and attributes"
        )
    blocks = [_block(one, comparison) for one in (evidence, after)]
    reason = undefined(comparison, ddof)
    d = [_effect_size(block, comparison.sizes, ddof) for block in blocks] if reason is None else [np.nan] * 2
    value = number(abs(d[0]) - abs(d[1]))
    details: dict[str, float | str | None] = {"before": number(d[0]), "after": number(d[1])}
    if value is not None:
        details["sign"] = "changed" if d[0] * d[1] < 0 else "kept"
    fields: dict[str, Any] = {}
    if value is not None and inference == "auto":
        limits = partial(_interval, blocks, comparison, ddof)
        fields = {"interval": limits(LEVEL), "limits": limits}
    reason = reason or "equal_associations"
    return comparison.finding({"ddof": ddof}, value, reason, details=details, **fields)


def _block(evidence: Similarities, comparison: Comparison) -> Floats:
    """Similarities of X, then Y, with A, then B."""
    place = {name: row for row, name in enumerate(evidence.targets)}
    column = {name: at for at, name in enumerate(evidence.attributes)}
    rows = [place[name] for name in comparison.items]
    columns = [column[name] for name in comparison.words]
    return evidence.values[np.ix_(rows, columns)]


def _effect_size(block: Floats, sizes: tuple[int, int, int, int], ddof: int) -> float:
    n, _, na, nb = sizes
    phi = associations(block, np.arange(na), np.arange(na, na + nb))
    return effect_size(phi[:n], phi[n:], ddof)


def _interval(blocks: Sequence[Floats], comparison: Comparison, ddof: int, level: float) -> Interval | None:
    before, after = blocks
    ends = reduction_interval(before, after, Sizes(*comparison.sizes), ddof=ddof, level=level)
    how = "t over targets and attributes, of d before and after on the same items"
    return plain_interval(*ends, how, level)
