"""Halves of the items: a mitigation is fitted on one and measured on the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.errors import InputError
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.arrays import Floats, Integers
from evenhand.workflows.debias.items import AssociationItems

LEAST = 4  # items of a set: two in each half, so that each half has a spread


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of the targets, of the attributes and of the groups' phrases, in ascending order."""

    targets: Integers
    attributes: Integers
    phrases: Integers


def split_halves(items: AssociationItems, rng: np.random.Generator) -> tuple[Split, Split]:
    """The fit half and the held-out half, equal in every set but for an odd item.

    What has the same vector in the same modality goes to one half, and so does an item of several sets: a
    photo under two names, a phrase of two groups, or a word that is target and attribute would else be fitted
    in one half and measured in the other. The groups' phrases are halved only where they are the targets.

    Args:
        items: Targets and attributes with their sets.
        rng: Decides which items go where.

    Returns:
        The fit half, the held-out half.

    Raises:
        InputError: A set with fewer than 4 usable items.
    """
    material = items.material
    for name, rows in (*material.target_sets.items(), *material.attribute_sets.items()):
        if len(rows) < LEAST:
            raise InputError(
                f"set {name!r} has {len(rows)} usable items, and a fit half and a held-out half need "
                f"{LEAST}; give it more, or choose other tests with --test X:Y"
            )
    units, sets = _units(items)
    in_fit = _dealt(units, sets, rng)
    target_count = len(material.targets)
    every_phrase = np.arange(len(items.phrases), dtype=np.int64)
    halves = []
    for in_half in (in_fit, ~in_fit):
        targets = np.flatnonzero(in_half[:target_count])
        attributes = np.flatnonzero(in_half[target_count:])
        phrases = targets if items.form == "textual" else every_phrase
        halves.append(Split(targets, attributes, phrases))
    return halves[0], halves[1]


def part_of(material: TrainingVectors, half: Split) -> TrainingVectors:
    """The items of one half, with rows counted anew."""
    return replace(
        material,
        targets=material.targets[half.targets],
        target_sets=_renumbered(material.target_sets, half.targets),
        attributes=material.attributes[half.attributes],
        attribute_sets=_renumbered(material.attribute_sets, half.attributes),
        labels=None if material.labels is None else material.labels[half.targets],
        positive_pairs=_pairs_within(material, half),
    )


def _pairs_within(material: TrainingVectors, half: Split) -> Integers | None:
    """Prompts paired by their place in the whole lists, where both are in the half.

    Within a half items no longer stand where they stood, so pairs must be known before.
    """
    if material.target_modality != "text":
        return None
    try:
        pairs = material.pairs()
    except InputError:
        return np.zeros((0, 2), dtype=np.int64)
    selected = pairs[np.isin(pairs, half.targets).all(axis=1)]
    return np.searchsorted(half.targets, selected).astype(np.int64)


def rows_within(rows: Integers, half_rows: Integers) -> Integers:
    """Places in ``half_rows`` (ascending) of those of ``rows`` that are there."""
    selected = rows[np.isin(rows, half_rows)]
    return np.searchsorted(half_rows, selected).astype(np.int64)


def _renumbered(sets: Mapping[str, Integers], half_rows: Integers) -> dict[str, Integers]:
    return {name: rows_within(rows, half_rows) for name, rows in sets.items()}


def _units(items: AssociationItems) -> tuple[dict[tuple[str, bytes], list[int]], list[set[str]]]:
    """Items that must stay together, attributes numbered after the targets; and the sets of each item."""
    material = items.material
    sets: list[set[str]] = [set() for _ in range(len(material.targets) + len(material.attributes))]
    for name, rows in material.target_sets.items():
        for row in rows:
            sets[row].add(f"target {name}")
    for name, rows in material.attribute_sets.items():
        for row in rows:
            sets[len(material.targets) + row].add(f"attribute {name}")
    units: dict[tuple[str, bytes], list[int]] = {}
    for first, vectors, modality in _tables(material):
        for row, vector in enumerate(np.ascontiguousarray(vectors)):
            units.setdefault((modality, vector.tobytes()), []).append(first + row)
    return units, sets


def _tables(material: TrainingVectors) -> list[tuple[int, Floats, str]]:
    return [
        (0, material.targets, material.target_modality),
        (len(material.targets), material.attributes, material.attribute_modality),
    ]


def _dealt(
    units: Mapping[tuple[str, bytes], list[int]], sets: list[set[str]], rng: np.random.Generator
) -> np.ndarray:
    """Whether each item is in the fit half: those of most sets first, each where its sets are behind."""
    ordered = [units[key] for key in sorted(units)]  # by content: the order of rows does not matter
    shuffled = [ordered[index] for index in rng.permutation(len(ordered))]
    shuffled.sort(key=lambda unit: -sum(len(sets[item]) for item in unit))
    ahead: dict[str, int] = {}
    in_fit = np.zeros(len(sets), dtype=np.bool_)
    for unit, coin in zip(shuffled, rng.random(len(shuffled)) < 0.5, strict=True):
        names = [name for item in unit for name in sets[item]]
        lead = sum(ahead.get(name, 0) for name in names)
        fit = bool(coin) if lead == 0 else lead < 0
        in_fit[unit] = fit
        for name in names:
            ahead[name] = ahead.get(name, 0) + (1 if fit else -1)
    return in_fit
