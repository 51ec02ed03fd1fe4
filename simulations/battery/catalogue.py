"""All designs of the battery, by family."""

from __future__ import annotations

from simulations.battery import audits, choices, labels, neighbours
from simulations.battery.design import Design

DESIGNS: tuple[Design, ...] = (
    *choices.DESIGNS,
    *labels.DESIGNS,
    *neighbours.DESIGNS,
    *audits.DESIGNS,
)

FAMILIES = (
    "accuracy", "effects", "choices", "labels", "households", "rankings", "neighbours", "associations",
    "differences", "audits",
)  # fmt: skip
