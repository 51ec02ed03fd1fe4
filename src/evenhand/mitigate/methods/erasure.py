"""Least-squares concept erasure: no linear classifier can tell the groups apart on the fit half."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np

from evenhand.mitigate.mitigation import MODALITIES, Map, Mitigation
from evenhand.mitigate.subspaces import check_something_left, removal_facts
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.mitigate.validation import check_amount, check_material
from evenhand.stats.arrays import Ends, Floats, ratio

NEGLIGIBLE = 1e-6
"""A direction along which the whitened covariance with the groups is smaller is not removed."""


@dataclass(frozen=True)
class LEACE:
    """The smallest change after which no linear classifier beats chance on the fit half.

    ``r(x) = x - W^+ P_{W Sigma_xz} W (x - mu)``, where ``W = (Sigma_xx^{1/2})^+``, ``Sigma_xz`` is the
    covariance with the groups as one-hot columns, and ``P_A`` projects onto the columns of A. Vectors are
    brought to length 1 first. At most one direction fewer than groups is removed.

    The matrix is the same for both modalities, for they share the space; the centre ``mu`` is each modality's
    own mean on the fit half, so that neither is moved as a whole. A modality without items in the fit half
    has no mean and stays as it is: the groups are erased from the targets alone, which is all that the
    guarantee needs. The guarantee is for the vectors as they come out; cosines bring them to length 1 once
    more, which can bring back a little, and items that were not fitted on are not covered.

    Applied twice it is not the same as once, since vectors are brought to length 1 in between; its affine
    part is.

    Source: Belrose et al. 2023, arXiv 2306.03819, theorem 4.3, with the linear shrinkage of Bodnar et al.
        2014
    (arXiv 1308.2608) for ``Sigma_xx``.

    Attributes:
        remove: Directions to remove, the most telling first; None: all, as the theorem has it; 0: nothing.
        shrinkage: Whether ``Sigma_xx`` is shrunk towards a multiple of the identity. The groups are erased
            from the fit half with and without it; with fewer items than a few times D, directions from an
            unshrunk one mean little for other items.
    """

    name: ClassVar[str] = "leace"
    remove: int | None = field(
        default=None, metadata={"help": "directions to remove, most telling first; none: all, the guarantee"}
    )
    shrinkage: bool = field(default=True, metadata={"help": "shrink the covariance, for few items"})

    def fit(self, material: TrainingVectors, *, seed: int = 0) -> Mitigation:
        """Fit on the targets of the fit half.

        Args:
            material: The fit half.
            seed: Not used, nothing is drawn.

        Raises:
            InputError: Fewer than two groups, an empty one, vectors of length 0 or not finite.
            ParameterError: ``remove`` below 0, or nothing would be left.
        """
        del seed
        check_amount(self.remove)
        check_material(material)
        vectors, codes, names = material.directions()
        onehot = np.eye(len(names))[codes]
        left, right = erasing(vectors, onehot, shrinkage=self.shrinkage)
        removed = left.shape[1] if self.remove is None else min(self.remove, left.shape[1])
        check_something_left(removed, material.dimensions, "groups")
        matrix = (np.eye(material.dimensions) - left[:, :removed] @ right[:removed]).T
        centres = {modality: material.mean_of(modality) for modality in MODALITIES} if removed else {}
        maps = {
            modality: Map(matrix=matrix, centre=centre, unit_before=True)
            for modality, centre in centres.items()
            if centre is not None
        }
        facts: dict[str, Any] = {
            **removal_facts(removed, self.remove, left.shape[1]),
            "fitted_on": material.described(),
            "applied_to": f"{' and '.join(maps) or 'nothing'}, the same matrix, each around its own mean",
        }
        if removed < left.shape[1]:
            facts["cannot_promise"] = "that no linear classifier beats chance: directions were left in"
        return Mitigation(self.name, asdict(self), maps, facts)


def erasing(vectors: Floats, concept: Floats, *, shrinkage: bool) -> Ends:
    """Factors of what LEACE subtracts from x (the vectors, n >= 2): ``r(x) = x - L R (x - mu)``.

    ``L = W^+ U`` has shape (D, r) and ``R = U^T W`` shape (r, D); U are the left singular vectors of
    ``W Sigma_xz``, z being the concept, with a singular value above ``NEGLIGIBLE``, the largest first.
    """
    n, dimensions = vectors.shape
    moved = vectors - vectors.mean(axis=0)
    shared = moved.T @ (concept - concept.mean(axis=0)) / (n - 1)
    covariance = moved.T @ moved
    covariance = _shrunk(covariance / n, n) if shrinkage else covariance / (n - 1)
    strength, axes = np.linalg.eigh((covariance + covariance.T) / 2)
    # eigenvalues are zero by the rule of numpy.linalg.pinv and of torch's
    there = strength > strength[-1] * dimensions * np.finfo(float).eps
    root = np.sqrt(np.where(there, strength, 0))
    inverse = ratio(1, root, 0.0)
    whitened = axes @ (inverse[:, None] * (axes.T @ shared))
    directions, sizes, _ = np.linalg.svd(whitened, full_matrices=False)
    directions = directions[:, sizes > NEGLIGIBLE]
    return (axes * root) @ (axes.T @ directions), (directions.T @ axes * inverse) @ axes.T


def _shrunk(covariance: Floats, n: int) -> Floats:
    """``alpha S + beta I trace(S)/D``, optimal in the Frobenius norm for large n and D (arXiv 1308.2608)."""
    dimensions = len(covariance)
    trace = float(np.trace(covariance))
    level = trace / dimensions  # the target is level * I, its squared norm level^2 D
    target = level * level * dimensions
    spread = float(np.square(covariance).sum()) * target - (level * trace) ** 2
    eps = np.finfo(float).eps
    alpha = min(max(0.0, 1 - (trace * trace * target / n + eps) / (spread + eps)), 1.0)
    beta = (1 - alpha) * (level * trace + eps) / (target + eps)
    return alpha * covariance + beta * level * np.eye(dimensions)
