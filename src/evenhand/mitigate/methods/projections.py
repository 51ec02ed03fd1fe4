"""Orthogonal and calibrated projections: what the groups span is taken away."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand.core.errors import InputError, ParameterError, check_choice
from evenhand.mitigate.mitigation import Map, Mitigation
from evenhand.mitigate.subspaces import (
    away_from,
    check_something_left,
    removal_facts,
    set_means,
    span,
    without,
)
from evenhand.mitigate.training_vectors import TrainingVectors, directions_of
from evenhand.mitigate.validation import check_amount, check_material
from evenhand.stats.arrays import Floats, Integers

BASES = ("means", "items")


def group_span(
    material: TrainingVectors, *, remove: int | None, basis: str, centred: bool
) -> tuple[Floats, int]:
    """An orthonormal basis (r, D) of what the groups span, strongest first; how many directions there are.

    It is that of the sets' ``means`` or ``items``; ``centred`` subtracts the mean of the sets' means first.
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


@dataclass(frozen=True)
class CalibratedProjection:
    """Takes away what the groups span, and pulls pairs of prompts together: ``P = P0 (I + strength * M)^-1``.

    ``P0`` is that of ``OrthogonalProjection``; ``M`` is the mean of ``(z_i - z_j)(z_i - z_j)^T`` over pairs
    of prompts that differ in the group alone, z of length 1. Texts become ``P z``, brought to length 1;
    images stay as they are. The targets must be prompts. Pairs are ``TrainingVectors.positive_pairs``;
    without them the prompts at the same index of X and Y are paired, which is right only where both lists
    were made from one list.

    Where B spans both prompts of every pair, ``P0`` removes all that ``M`` holds, and nothing is calibrated:
    so it is with ``basis="items"`` and all directions. P is no projection: applied twice it shrinks twice.

    Source: Chuang et al. 2023, arXiv 2302.00070, equation 5 and the released code.

    Attributes:
        remove: Directions that ``P0`` removes, strongest first; None: all that are spanned; 0: the identity,
            no calibration either.
        strength: Lambda of the paper, 0 or more; 0 is the orthogonal projection, of texts alone.
        basis: As for ``OrthogonalProjection``.
        centred: As for ``OrthogonalProjection``.
    """

    name: ClassVar[str] = "calibrated_projection"
    remove: int | None = field(
        default=None, metadata={"help": "directions to remove, strongest first; none: all that are spanned"}
    )
    strength: float = field(default=1000.0, metadata={"help": "weight of the pairs, lambda of the paper"})
    basis: str = field(default="means", metadata={"help": "what spans the directions", "choices": BASES})
    centred: bool = field(default=True, metadata={"help": "subtract the middle of the groups first"})

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Fit on the prompts of the fit half.

        Args:
            material: The fit half; its targets are texts.
            seed: Not used, nothing is drawn.

        Raises:
            InputError: Targets that are images, no pairs, or what ``OrthogonalProjection`` raises.
            ParameterError: ``strength`` or ``remove`` below 0, an unknown ``basis``, or nothing would be
                left.
        """
        del seed
        if not (np.isfinite(self.strength) and self.strength >= 0):
            raise ParameterError(f"strength={self.strength!r} is not possible; give 0 or more, such as 1000")
        if material.target_modality != "text":
            raise InputError(
                f"{self.name} needs prompts about the groups, and the targets are of modality "
                f"{material.target_modality!r}; use the textual form, or orthogonal_projection"
            )
        basis, possible = group_span(material, remove=self.remove, basis=self.basis, centred=self.centred)
        pairs = material.pairs()
        if not len(pairs):
            raise InputError(
                f"{self.name} needs pairs of prompts that differ in the group alone, and there are none; "
                "give positive_pairs, or use orthogonal_projection"
            )
        maps = {"text": self._map(material, basis, pairs)} if len(basis) else {}
        facts: dict[str, Any] = {
            **removal_facts(len(basis), self.remove, possible),
            "pairs": len(pairs),
            "paired": "by place" if material.positive_pairs is None else "as given",
            "fitted_on": material.described(),
            "applied_to": "text alone, brought to length 1; images stay as they are",
        }
        return Mitigation(self.name, asdict(self), maps, facts)

    def _map(self, material: TrainingVectors, basis: Floats, pairs: Integers) -> Map:
        left, right = (directions_of(material.targets[ends], "targets") for ends in pairs.T)
        apart = left - right
        together = apart.T @ apart / len(pairs)
        # rows are multiplied from the right, so this is the transpose of P
        matrix = np.linalg.solve(np.eye(len(together)) + self.strength * together, away_from(basis))
        return Map(matrix=matrix.astype(np.float64, copy=False), unit_after=True)
