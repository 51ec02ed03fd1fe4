"""All designs of the battery, by family."""

from __future__ import annotations

from simulations.battery import effects
from simulations.battery.design import Design

DESIGNS: tuple[Design, ...] = (*effects.DESIGNS,)

FAMILIES = (
    "accuracy", "effects", "choices", "labels", "households", "rankings", "neighbours", "associations",
    "differences", "audits",
)  # fmt: skip
