"""Orthogonal projections: what the groups span is taken away."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from evenhand.core.errors import check_choice
from evenhand.mitigate.algebra.subspaces import check_something_left, removal_facts, set_means, span, without
from evenhand.mitigate.mitigation import Mitigation
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.mitigate.validation import check_amount, check_material
from evenhand.stats.arrays import Floats

BASES = ("means", "items")


def group_span(
    material: TrainingVectors, *, remove: int | None, basis: str, centred: bool
) -> tuple[Floats, int]:
    """An orthonormal basis of what the groups span.

    Args:
        material: The fit half.
        remove: Directions at most; None: all.
        basis: ``means``: of the sets' means; ``items``: of the sets' items.
        centred: Whether the mean of the sets' means is subtracted first.

    Returns:
        Shape (r, D), strongest direction first; and how many directions there are.

    Raises:
        InputError: As ``check_material`` and ``TrainingVectors.directions``.
        UnknownName: A test names a set that does not exist.
        ParameterError: An unknown basis, ``remove`` below 0, or nothing of the space would be left.
    """
    check_choice("basis", basis, BASES)
    check_amount(remove)
    check_material(material)
    vectors, codes, names = material.directions()
    means = set_means(vectors, codes, len(names))
    spanning = vectors if basis == "items" else means
    possible = span(spanning - means.mean(axis=0) if centred else spanning)
    directions = possible[:remove]
    check_something_left(len(directions), material.dimensions, basis)
    return directions, len(possible)


@dataclass(frozen=True)
class OrthogonalProjection:
    """Takes away what the groups span: ``P0 = I - B (B^T B)^+ B^T``, for images and texts alike.

    B spans the groups' mean directions, or their items (prompts about the groups, in the paper). The map is
    linear, so it does not matter how long vectors are; results are not brought to length 1, cosines do that.

    Source: Chuang et al. 2023, arXiv 2302.00070, equation 2 and the released code, which takes
    ``basis="items", centred=False`` of prompts; hard debiasing of Bolukbasi et al. 2016 is
    ``basis="items", remove=1`` of two groups.

    Attributes:
        remove: Directions to remove, strongest first; None: all that are spanned; 0: nothing.
        basis: ``means`` (at most one direction fewer than groups) or ``items`` (as many as items).
        centred: Whether the middle of the groups is subtracted first. Without it what all groups share, and
            with images most of every vector, is removed too.
    """

    name: ClassVar[str] = "orthogonal_projection"
    remove: int | None = field(
        default=None, metadata={"help": "directions to remove, strongest first; none: all that are spanned"}
    )
    basis: str = field(default="means", metadata={"help": "what spans the directions", "choices": BASES})
    centred: bool = field(default=True, metadata={"help": "subtract the middle of the groups first"})

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Fit on the targets of the fit half.

        Args:
            material: The fit half; vectors are brought to length 1.
            seed: Not used, nothing is drawn.

        Raises:
            InputError: Fewer than two groups, an empty one, vectors of length 0 or not finite.
            ParameterError: ``remove`` below 0, an unknown ``basis``, or nothing would be left.
        """
        del seed
        basis, possible = group_span(material, remove=self.remove, basis=self.basis, centred=self.centred)
        return without(basis, self, material, removal_facts(len(basis), self.remove, possible))


@dataclass(frozen=True)
class MeanDifference:
    """Takes away the differences of the means of the groups that are tested against each other.

    With X and Y tested, the direction ``mean(X) - mean(Y)`` is removed, for images and texts alike; several
    tests remove the span of their differences, at most one direction fewer than groups. Afterwards the
    groups' means are equal on the fit half, and so are their mean associations, as long as vectors are not
    renormalised.

    Source: the first step of arXiv 2511.18123 and of INLP with a nearest-mean classifier; widely used.

    Attributes:
        remove: Directions to remove, the largest differences first; None: all; 0: nothing.
    """

    name: ClassVar[str] = "mean_difference"
    remove: int | None = field(
        default=None, metadata={"help": "directions to remove, largest differences first; none: all"}
    )

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Fit on the targets of the fit half.

        Args:
            material: The fit half; vectors are brought to length 1.
            seed: Not used, nothing is drawn.

        Raises:
            InputError: Fewer than two groups, an empty one, vectors of length 0 or not finite.
            ParameterError: ``remove`` below 0, or nothing would be left.
        """
        del seed
        check_amount(self.remove)
        check_material(material)
        vectors, codes, names = material.directions()
        means = dict(zip(names, set_means(vectors, codes, len(names)), strict=True))
        tested = dict.fromkeys((x, y) for x, y, _, _ in material.tests)
        possible = span(np.stack([means[x] - means[y] for x, y in tested]))
        basis = possible[: self.remove]
        check_something_left(len(basis), material.dimensions, "differences of means")
        return without(basis, self, material, removal_facts(len(basis), self.remove, len(possible)))
