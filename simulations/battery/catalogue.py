"""All designs of the battery, by family."""

from __future__ import annotations

from simulations.battery import (
    accuracy,
    answer_differences,
    associations,
    audits,
    choices,
    differences,
    disparities,
    effects,
    households,
    items,
    labels,
    mitigations,
    neighbours,
    numbers,
    rankings,
    recipes,
    role_answers,
    shared_units,
    subgroups,
)
from simulations.battery.design import Design

_MODULES = (
    accuracy, effects, choices, labels, households, rankings, neighbours, associations,
    differences, answer_differences, disparities, audits, role_answers,
    items, shared_units, numbers, recipes, mitigations, subgroups,
)  # fmt: skip
DESIGNS: tuple[Design, ...] = tuple(design for module in _MODULES for design in module.DESIGNS)

FAMILIES = tuple(dict.fromkeys(design.family for design in DESIGNS))
