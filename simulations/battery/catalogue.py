"""All designs of the battery, by family."""

from __future__ import annotations

from simulations.battery import (
    accuracy,
    associations,
    audits,
    choices,
    differences,
    effects,
    households,
    labels,
    neighbours,
    rankings,
)
from simulations.battery.design import Design

DESIGNS: tuple[Design, ...] = (
    *accuracy.DESIGNS,
    *effects.DESIGNS,
    *choices.DESIGNS,
    *labels.DESIGNS,
    *households.DESIGNS,
    *rankings.DESIGNS,
    *neighbours.DESIGNS,
    *associations.DESIGNS,
    *differences.DESIGNS,
    *audits.DESIGNS,
)

FAMILIES = (
    "accuracy", "effects", "choices", "labels", "households", "rankings", "neighbours", "associations",
    "differences", "audits",
)  # fmt: skip
