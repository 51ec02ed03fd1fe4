"""A mitigation: a fitted change of embeddings, one map for each modality, saved with its card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from evenhand.core.registry import Registry
from evenhand.mitigate.material import Material

Floats = npt.NDArray[np.float64]

MITIGATIONS = Registry(
    "mitigation",
    {
        "pruning": "evenhand.mitigate.dimension_pruning:Pruning",
        "clip_clip": "evenhand.mitigate.dimension_clipping:ClipClip",
        "orthogonal_projection": "evenhand.mitigate.projections:OrthogonalProjection",
        "calibrated_projection": "evenhand.mitigate.calibration:CalibratedProjection",
        "mean_difference": "evenhand.mitigate.projections:MeanDifference",
        "inlp": "evenhand.mitigate.nullspace:INLP",
        "leace": "evenhand.mitigate.erasure:LEACE",
    },
    "evenhand.mitigations",
)
"""Ways to fit a mitigation, by name; entry points ``evenhand.mitigations`` add others."""


@dataclass(frozen=True, eq=False)
class Map:
    """What happens to the vectors of one modality: ``y = unit?((unit?(x) - centre) @ matrix + centre)``.

    Or dimensions are left out. ``Map()`` leaves every bit as it is.

    Attributes:
        keep: Which dimensions stay, bool, shape (D,); None: all.
        matrix: Shape (D, D), applied to rows from the right; None: the identity.
        centre: Subtracted before the matrix and added after it, shape (D,); None: zero.
        unit_before: Whether vectors are brought to length 1 first.
        unit_after: Whether they are brought to length 1 at last.
    """

    keep: npt.NDArray[np.bool_] | None = None
    matrix: Floats | None = None
    centre: Floats | None = None
    unit_before: bool = False
    unit_after: bool = False


class Fitter(Protocol):
    """A way to fit a mitigation: a frozen dataclass whose fields are its parameters.

    Attributes:
        name: As in ``MITIGATIONS``.
    """

    name: str

    def fit(self, material: Material, *, seed: int = 0) -> Mitigation:
        """Fit on the fit half."""
        ...


@dataclass(frozen=True, eq=False)
class Mitigation:
    """A fitted change of embeddings.

    Attributes:
        name: How it was fitted, a name of ``MITIGATIONS``.
        params: With which parameters.
        maps: Modality (``image``, ``text``) to its map; a modality that is not there stays as it is.
        facts: What the card says: what was removed, on what it was fitted.
    """

    name: str
    params: Mapping[str, Any]
    maps: Mapping[str, Map]
    facts: Mapping[str, Any] = field(default_factory=dict)
