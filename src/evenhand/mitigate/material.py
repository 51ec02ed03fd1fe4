"""What a mitigation is fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Material:
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
    """

    targets: Floats
    target_sets: Mapping[str, Ints]
    attributes: Floats
    attribute_sets: Mapping[str, Ints]
    tests: tuple[tuple[str, str, str, str], ...]
    target_modality: str = "image"
    attribute_modality: str = "text"
    labels: Ints | None = None

    @property
    def dimensions(self) -> int:
        """D."""
        return int(self.targets.shape[1])

    def grouped(self) -> tuple[Floats, Ints, tuple[str, ...]]:
        """Targets that belong to just one set of the tests, their set as a number, and the sets' names."""
        names = tuple(dict.fromkeys(name for x, y, _, _ in self.tests for name in (x, y)))
        memberships = np.zeros(len(self.targets), dtype=np.int64)
        codes = np.full(len(self.targets), -1, dtype=np.int64)
        for code, name in enumerate(names):
            memberships[self.target_sets[name]] += 1
            codes[self.target_sets[name]] = code
        kept = memberships == 1
        return self.targets[kept], codes[kept], names
