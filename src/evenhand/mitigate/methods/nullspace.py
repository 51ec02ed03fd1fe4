"""Iterative nullspace projection: what linear classifiers use is removed, round after round."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand.core.errors import InputError, ParameterError
from evenhand.mitigate.mitigation import Mitigation
from evenhand.mitigate.scikit_learn import fitted_classifier
from evenhand.mitigate.subspaces import away_from, span, without
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.mitigate.validation import check_amount, check_material
from evenhand.stats.arrays import Floats, Integers, Mask

MOST_ROUNDS = 100
FIVE_PERCENT = 1.645
"""Standard errors above chance that one held-in quarter in twenty shows where groups do not differ."""
NEGLIGIBLE = 1e-6
"""A classifier whose coefficients are all smaller, for vectors of spread 1, uses no direction."""
_SMALLEST = 4  # items of a group, of which one is held in


@dataclass(frozen=True)
class INLP:
    """Iterative nullspace projection: fit a linear classifier for the group, remove its directions, again.

    Every round fits a logistic regression on three quarters of the fit half, measures its accuracy on the
    held-in quarter, and projects onto the nullspace of the rows of all rounds so far, for images and texts
    alike. It stops when the accuracy is no longer above chance (the share of the largest group) by more than
    1.645 standard errors, so that, nineteen times in twenty, nothing is removed where no linear
    classifier separates the groups. The classifiers themselves are not kept.

    Vectors are brought to length 1, centred and divided by one number to fit; the projection is linear and
    takes vectors of any length.

    Source: Ravfogel et al. 2020, arXiv 2004.07667, algorithm 1.

    Attributes:
        remove: Rounds, each of which removes one direction of two groups, k - 1 of k; None: until chance, at
            most ``MOST_ROUNDS``; 0: nothing.
        penalty: Inverse strength of the classifier's L2 penalty, above 0.
    """

    name: ClassVar[str] = "inlp"
    remove: int | None = field(
        default=None, metadata={"help": "rounds; none: until no linear classifier separates the groups"}
    )
    penalty: float = field(default=1.0, metadata={"help": "inverse strength of the classifier's L2 penalty"})

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Fit on the targets of the fit half.

        Args:
            material: The fit half.
            seed: Chooses the held-in quarter.

        Raises:
            InputError: Fewer than two groups, a group of fewer than 4 items, vectors of length 0 or not
                finite.
            ParameterError: ``remove`` below 0, or ``penalty`` not above 0.
            MissingExtra: scikit-learn is not installed.
        """
        check_amount(self.remove)
        if not (np.isfinite(self.penalty) and self.penalty > 0):
            raise ParameterError(
                f"penalty={self.penalty!r} is not possible; give a number above 0, such as 1"
            )
        check_material(material)
        vectors, codes, _ = material.directions()
        if (smallest := int(np.bincount(codes).min())) < _SMALLEST:
            raise InputError(f"a group has {smallest} items, and inlp needs {_SMALLEST} of each or more")
        order = sorted(range(len(vectors)), key=lambda row: (vectors[row].tobytes(), codes[row]))
        vectors, codes = (
            vectors[order] - vectors.mean(axis=0),
            codes[order],
        )  # any order of rows, the same fit
        vectors = vectors / (np.sqrt(np.square(vectors).mean()) or 1.0)
        held_in = _a_quarter(codes, np.random.default_rng(seed))
        chance = float(np.bincount(codes[held_in]).max() / held_in.sum())
        enough = chance + FIVE_PERCENT * float(np.sqrt(chance * (1 - chance) / held_in.sum()))
        basis, accuracies = np.zeros((0, material.dimensions)), []
        while True:
            rows, accuracy = self._classifier(vectors @ away_from(basis), codes, held_in)
            accuracies.append(accuracy)
            rounds = len(accuracies) - 1
            at_chance = self.remove is None and accuracy <= enough
            most = MOST_ROUNDS if self.remove is None else self.remove
            nothing_left = not 0 < len(rows) < material.dimensions - len(basis)
            if at_chance or rounds == most or nothing_left:
                break
            basis = span(np.concatenate([basis, rows @ away_from(basis)]), len(basis) + len(rows))
        facts: dict[str, Any] = {
            "removed": len(basis),
            "rank": len(basis),
            "rounds": rounds,
            "accuracies": accuracies,
            "chance": chance,
            "stopped_because": _why(at_chance, rounds == most),
        }
        return without(basis, self, material, facts)

    def _classifier(self, vectors: Floats, codes: Integers, held_in: Mask) -> tuple[Floats, float]:
        """Orthonormal rows that a classifier uses, and its accuracy on the held-in quarter."""
        classifier = fitted_classifier(
            vectors[~held_in], codes[~held_in], penalty=self.penalty, iterations=1000
        )
        rows = np.asarray(classifier.coef_, dtype=np.float64)
        if len(rows) > 1:  # of k classes only differences matter
            rows = rows - rows.mean(axis=0)
        rows = rows[:0] if np.abs(rows).max() < NEGLIGIBLE else rows
        accuracy = float((classifier.predict(vectors[held_in]) == codes[held_in]).mean())
        directions = span(rows, max(1, len(rows) - 1)) if len(rows) else rows
        return directions, accuracy


def _a_quarter(codes: Integers, rng: np.random.Generator) -> Mask:
    """A quarter of each group, one item at least."""
    is_selected = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        members = np.flatnonzero(codes == code)
        is_selected[rng.permutation(members)[: max(1, len(members) // 4)]] = True
    return is_selected


def _why(at_chance: bool, all_rounds: bool) -> str:
    if at_chance:
        return "no linear classifier separates the groups any more"
    return "all rounds were done" if all_rounds else "no further direction could be removed"
