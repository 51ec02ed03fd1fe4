"""All designs of the battery, by family."""

from __future__ import annotations

from simulations.battery import audits, choices, differences, effects, labels, neighbours, rankings
from simulations.battery.design import Design

DESIGNS: tuple[Design, ...] = (
    *effects.DESIGNS,
    *choices.DESIGNS,
    *labels.DESIGNS,
    *rankings.DESIGNS,
    *neighbours.DESIGNS,
    *differences.DESIGNS,
    *audits.DESIGNS,
)

FAMILIES = (
    "accuracy", "effects", "choices", "labels", "households", "rankings", "neighbours", "associations",
    "differences", "audits",
)  # fmt: skip
