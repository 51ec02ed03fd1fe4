"""Whether something can be fitted on what was given; if not, one line says what to give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from evenhand.core.errors import InputError, ParameterError, check_choice, check_known
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.arrays import Floats, Integers

_FEWEST = {"targets": 2, "attributes": 1}


def check_choices(method: Any) -> None:
    """Raise unless each option of a method that declares ``choices`` is one of them."""
    for rule in fields(method):
        if "choices" in rule.metadata:
            check_choice(rule.name, getattr(method, rule.name), rule.metadata["choices"])


def check_amount(remove: object, dimensions: int | None = None) -> None:
    """Raise unless ``remove`` is None or a whole number from 0, below ``dimensions`` if these are given."""
    is_integer = isinstance(remove, int) and not isinstance(remove, bool)
    fits = remove is None or (is_integer and remove >= 0)  # type: ignore[operator]
    if not fits:
        raise ParameterError(f"remove={remove!r} is not possible; give 0, 1, 2, ..., or None for the default")
    if isinstance(remove, int) and dimensions is not None and remove >= dimensions:
        raise ParameterError(
            f"remove={remove} is not possible with vectors of {dimensions} dimensions; "
            f"give 0 to {dimensions - 1}"
        )


def check_material(material: TrainingVectors) -> None:
    """Raise unless each set of the tests has enough items, with usable vectors of the same dimensions."""
    if not material.tests:
        raise InputError("there is no association to lower; give at least one test (X, Y, A, B)")
    for x, y, a, b in material.tests:
        if x == y or a == b:
            text = f"a test compares {x!r} with {y!r} by {a!r} and {b!r}"
            raise InputError(f"{text}; give it two different groups and two different sets of attributes")
    check_vectors(material)
    for side, sets, places in (
        ("targets", material.target_sets, (0, 1)),
        ("attributes", material.attribute_sets, (2, 3)),
    ):
        for name in dict.fromkeys(test[index] for test in material.tests for index in places):
            _check_set(side, name, sets, getattr(material, side))


def check_vectors(material: TrainingVectors) -> None:
    """Raise unless targets, attributes and labels fit one another."""
    left, right = material.targets, material.attributes
    if left.ndim != 2 or right.ndim != 2:
        raise InputError(f"vectors have shapes {left.shape} and {right.shape}; give (items, dimensions)")
    if left.shape[1] != right.shape[1]:
        raise InputError(
            f"targets have {left.shape[1]} dimensions and attributes {right.shape[1]}; "
            "embed both with the same model"
        )
    if material.labels is not None and material.labels.shape != (len(left),):
        raise InputError(
            f"there are {len(left)} targets and labels of shape {material.labels.shape}; give one for each"
        )
    labelled = material.labelled
    if labelled is not None and labelled.vectors.shape != (len(labelled.labels), left.shape[1]):
        raise InputError(
            f"labels of {labelled.name!r} belong to vectors of shape {labelled.vectors.shape}, and targets "
            f"have {left.shape[1]} dimensions; give labels of images that the same model embedded"
        )


def _check_set(side: str, name: str, sets: Mapping[str, Integers], vectors: Floats) -> None:
    check_known(f"set of {side}", name, sets)
    rows = sets[name]
    if len(rows) < _FEWEST[side]:
        raise InputError(
            f"the set of {side} {name!r} has {len(rows)} usable items; give at least {_FEWEST[side]}"
        )
    set_vectors = vectors[rows]
    if not np.isfinite(set_vectors).all():
        raise InputError(f"the set of {side} {name!r} has vectors with NaN or infinity; leave them out")
    if not set_vectors.any(axis=1).all():
        raise InputError(f"the set of {side} {name!r} has vectors of length 0; leave them out")
