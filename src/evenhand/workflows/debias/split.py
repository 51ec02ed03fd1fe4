"""Halves of the items: a mitigation is fitted on one and measured on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.errors import InputError
from evenhand.core.random_streams import lot
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


def split_halves(items: AssociationItems, seed: int) -> tuple[Split, Split]:
    """The fit half and the held-out half, equal in every set but for an odd item.

    Each item has a lot of its id and the seed, and those of a set with the lower lots are fitted: no vector
    decides, so that an item is in the same half whichever model embedded it, with what numbers and where.
    What has the same vector in the same modality goes to one half, and so does an item of several sets: a
    photo under two names, a phrase of two groups, or a word that is target and attribute would else be fitted
    in one half and measured in the other. The groups' phrases are halved only where they are the targets.
    """
    material = items.material
    for name, rows in (*material.target_sets.items(), *material.attribute_sets.items()):
        if len(rows) < LEAST:
            raise InputError(
                f"set {name!r} has {len(rows)} usable items, and a fit half and a held-out half need "
                f"{LEAST}; give it more, or choose other tests with --test X:Y"
            )
    units, sets = _units(items)
    in_fit = _dealt(units, sets, _lots(items, seed), seed)
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


def _units(items: AssociationItems) -> tuple[list[list[int]], list[list[str]]]:
    """Items that must stay together, attributes numbered after the targets; and the sets of each item."""
    material = items.material
    sets: list[list[str]] = [[] for _ in range(len(material.targets) + len(material.attributes))]
    for name, rows in material.target_sets.items():
        for row in rows:
            sets[row].append(f"target {name}")
    for name, rows in material.attribute_sets.items():
        for row in rows:
            sets[len(material.targets) + row].append(f"attribute {name}")
    units: dict[tuple[str, bytes], list[int]] = {}
    for first, vectors, modality in _tables(material):
        for row, vector in enumerate(np.ascontiguousarray(vectors)):
            units.setdefault((modality, vector.tobytes()), []).append(first + row)
    return list(units.values()), sets


def _tables(material: TrainingVectors) -> list[tuple[int, Floats, str]]:
    return [
        (0, material.targets, material.target_modality),
        (len(material.targets), material.attributes, material.attribute_modality),
    ]


def _lots(items: AssociationItems, seed: int) -> list[int]:
    """The lot of each item, attributes after targets: of its modality and id alone."""
    material = items.material
    ids = (
        *((material.target_modality, name) for name in items.targets),
        *((material.attribute_modality, name) for name in items.attributes),
    )
    return [lot(seed, "halves", items.form, modality, name) for modality, name in ids]


def _dealt(
    units: Sequence[Sequence[int]], sets: Sequence[Sequence[str]], lots: Sequence[int], seed: int
) -> np.ndarray:
    """Whether each item is in the fit half.

    Units of several places go first, those of most first, each where its sets are behind; an item that is
    one of one set then fills up what its set still lacks, so that an item more or less moves one other.
    """
    ahead: dict[str, int] = {}
    in_fit = np.zeros(len(sets), dtype=np.bool_)
    singles: dict[str, list[int]] = {}
    ordered = [(min(lots[item] for item in unit), unit) for unit in units]
    places = [(unit_lot, unit, [name for item in unit for name in sets[item]]) for unit_lot, unit in ordered]
    for unit_lot, unit, names in sorted(places, key=lambda entry: (-len(entry[2]), entry[0])):
        if len(names) == 1:
            singles.setdefault(names[0], []).append(unit[0])
            continue
        lead = sum(ahead.get(name, 0) for name in names)
        in_fit[unit] = fit = unit_lot % 2 == 0 if lead == 0 else lead < 0
        for name in names:
            ahead[name] = ahead.get(name, 0) + (1 if fit else -1)
    for name, mine in singles.items():  # in order of their lots
        odd_one = lot(seed, "halves", name) % 2
        lacking = (len(mine) - ahead.get(name, 0) + odd_one) // 2
        in_fit[mine[: max(lacking, 0)]] = True
    return in_fit


def half_of_each(labels: Integers, lots: Integers) -> np.ndarray:
    """Whether each item is in the half of its label with the lower lots; the odd one is."""
    selected = np.zeros(len(labels), dtype=np.bool_)
    for label in np.unique(labels):
        mine = np.flatnonzero(labels == label)
        selected[mine[np.argsort(lots[mine], kind="stable")][: (len(mine) + 1) // 2]] = True
    return selected
