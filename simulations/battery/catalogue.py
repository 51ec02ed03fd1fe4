"""All designs of the battery, by family."""

from __future__ import annotations

from simulations.battery.design import Design
from simulations.battery.households import DESIGNS as HOUSEHOLDS
from simulations.battery.labels import DESIGNS as LABELS
from simulations.battery.neighbours import DESIGNS as NEIGHBOURS

DESIGNS: tuple[Design, ...] = (*LABELS, *HOUSEHOLDS, *NEIGHBOURS)

FAMILIES = (
    "accuracy", "effects", "choices", "labels", "households", "rankings", "neighbours", "associations",
    "differences", "audits",
)  # fmt: skip
