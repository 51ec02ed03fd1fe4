"""All designs of the battery, by family."""

from __future__ import annotations

from simulations.battery import (
    accuracy,
    answer_differences,
    associations,
    audits,
    choices,
    compared_persons,
    differences,
    disparities,
    effects,
    effects_of_persons,
    households,
    items,
    labels,
    neighbours,
    numbers,
    rankings,
    recall,
    role_answers,
    shared_units,
    suites,
)
from simulations.battery.design import Design

DESIGNS: tuple[Design, ...] = (
    *accuracy.DESIGNS,
    *effects.DESIGNS,
    *effects_of_persons.DESIGNS,
    *choices.DESIGNS,
    *labels.DESIGNS,
    *households.DESIGNS,
    *rankings.DESIGNS,
    *neighbours.DESIGNS,
    *associations.DESIGNS,
    *differences.DESIGNS,
    *compared_persons.DESIGNS,
    *answer_differences.DESIGNS,
    *disparities.DESIGNS,
    *audits.DESIGNS,
    *suites.DESIGNS,
    *recall.DESIGNS,
    *role_answers.DESIGNS,
    *items.DESIGNS,
    *shared_units.DESIGNS,
    *numbers.DESIGNS,
)

FAMILIES = (
    "accuracy", "effects", "choices", "labels", "households", "rankings", "neighbours", "associations",
    "differences", "disparities", "audits", "sets", "ambiguity", "items", "numbers",
)  # fmt: skip
