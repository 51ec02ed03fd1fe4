"""What a mitigation is fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import InputError
from evenhand.mitigate.maps import unit
from evenhand.stats.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class LabelledVectors:
    """Vectors whose labels must stay recognisable, of the targets or of other images."""

    vectors: Floats  # float64, shape (N, D)
    labels: Integers  # shape (N,)
    name: str  # what the labels are, for a reader


@dataclass(frozen=True, eq=False)
class TrainingVectors:
    """Vectors of target and attribute items with their sets: the fit half only.

    Attributes:
        targets: float64, shape (N, D), as the model made them.
        target_sets: Name of each set of targets (a group of people) to its rows.
        attributes: float64, shape (M, D).
        attribute_sets: Name of each set of attributes to its rows.
        tests: What the association is measured between: (X, Y, A, B), names of sets.
        target_modality: ``image`` or ``text``.
        attribute_modality: ``image`` or ``text``.
        labels: What must stay recognisable, one integer for each target, shape (N,); None: nothing is given.
        positive_pairs: Rows of two targets that differ in the group alone, shape (P, 2); None: see ``pairs``.
        labelled: Other vectors with labels that must stay recognisable, in place of ``labels``.
    """

    targets: Floats
    target_sets: Mapping[str, Integers]
    attributes: Floats
    attribute_sets: Mapping[str, Integers]
    tests: tuple[tuple[str, str, str, str], ...]
    target_modality: str = "image"
    attribute_modality: str = "text"
    labels: Integers | None = None
    positive_pairs: Integers | None = None
    labelled: LabelledVectors | None = None

    @property
    def dimensions(self) -> int:
        """D."""
        return int(self.targets.shape[1])

    def grouped(self) -> tuple[Floats, Integers, tuple[str, ...]]:
        """Targets that belong to just one set of the tests, their set as a number, and the sets' names."""
        names = tuple(dict.fromkeys(name for x, y, _, _ in self.tests for name in (x, y)))
        memberships = np.zeros(len(self.targets), dtype=np.int64)
        codes = np.full(len(self.targets), -1, dtype=np.int64)
        for code, name in enumerate(names):
            memberships[self.target_sets[name]] += 1
            codes[self.target_sets[name]] = code
        is_single = memberships == 1
        return self.targets[is_single], codes[is_single], names

    def directions(self) -> tuple[Floats, Integers, tuple[str, ...]]:
        """As ``grouped``, checked and at length 1, as cosines see them.

        Raises:
            InputError: Vectors of length 0 or not finite, fewer than two sets, or a set without items of its
                own.
        """
        vectors, codes, names = self.grouped()
        counts = np.bincount(codes, minlength=len(names))
        if len(names) < 2:
            raise InputError(f"there are {len(names)} sets of targets; a mitigation is fitted on two or more")
        if not counts.all():
            empty = names[int(np.argmin(counts))]
            raise InputError(
                f"set {empty!r} has no item that is in no other set; give it some, or leave it out"
            )
        return directions_of(vectors, "targets"), codes, names

    def pairs(self) -> Integers:
        """``positive_pairs``; where there are none, items at the same place of X and Y in every test.

        Returns:
            Rows of ``targets``, shape (P, 2).

        Raises:
            InputError: Rows that do not exist, or sets of different sizes, whose items cannot be matched.
        """
        if self.positive_pairs is not None:
            pairs = np.asarray(self.positive_pairs, dtype=np.int64).reshape(-1, 2)
            if not len(pairs) or pairs.min() < 0 or pairs.max() >= len(self.targets):
                raise InputError(
                    f"positive_pairs must be rows of the {len(self.targets)} targets, shape (P, 2)"
                )
            return pairs
        blocks = []
        for x, y in dict.fromkeys((x, y) for x, y, _, _ in self.tests):
            left, right = self.target_sets[x], self.target_sets[y]
            if len(left) != len(right):
                raise InputError(
                    f"{x!r} has {len(left)} prompts and {y!r} {len(right)}, so they cannot be paired by "
                    "place; give positive_pairs, or sets of the same size"
                )
            blocks.append(np.stack([left, right], axis=1))
        pairs = np.concatenate(blocks) if blocks else np.zeros((0, 2), dtype=np.int64)
        return np.asarray(pairs[pairs[:, 0] != pairs[:, 1]], dtype=np.int64)

    def mean_of(self, modality: str) -> Floats | None:
        """Mean direction of a modality's items, shape (D,): the targets', else the attributes', else None.

        Raises:
            InputError: Vectors of length 0 or not finite.
        """
        if self.target_modality == modality:
            return np.asarray(self.directions()[0].mean(axis=0))
        if self.attribute_modality != modality:
            return None
        used = sorted({name for _, _, a, b in self.tests for name in (a, b)})
        rows = np.unique(np.concatenate([self.attribute_sets[name] for name in used]))
        return directions_of(self.attributes[rows], "attributes").mean(axis=0) if len(rows) else None

    def described(self) -> dict[str, object]:
        """What a card says of it: modality, and how many items each set has."""
        _, codes, names = self.grouped()
        counts = np.bincount(codes, minlength=len(names)).tolist()
        return {"modality": self.target_modality, "items": dict(zip(names, counts, strict=True))}


Material = TrainingVectors
"""The name of ``TrainingVectors`` in 0.1."""


def directions_of(vectors: Floats, what: str) -> Floats:
    """Vectors, shape (n, D), at length 1; refuses those of length 0 or not finite."""
    broken = int((~np.isfinite(vectors).all(axis=1) | ~vectors.any(axis=1)).sum())
    if broken:
        raise InputError(f"{broken} vectors of {what} have length 0 or are not finite; leave these items out")
    return np.asarray(unit(vectors), dtype=np.float64)
