"""Calibrated projection: prompts that differ in the group alone are brought together as well."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand.core.errors import InputError, ParameterError
from evenhand.mitigate.algebra.subspaces import away_from, removal_facts
from evenhand.mitigate.methods.projections import BASES, group_span
from evenhand.mitigate.mitigation import Map, Mitigation
from evenhand.mitigate.training_vectors import TrainingVectors, directions_of
from evenhand.stats.arrays import Floats, Integers


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
