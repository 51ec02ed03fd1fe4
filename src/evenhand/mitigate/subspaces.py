"""Spans of vectors, and projections that take them away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from evenhand.core.errors import ParameterError
from evenhand.mitigate.maps import Map
from evenhand.mitigate.mitigation import MODALITIES, Mitigation
from evenhand.mitigate.training_vectors import TrainingVectors
from evenhand.stats.arrays import Floats, Integers


def span(vectors: Floats, most: int | None = None) -> Floats:
    """An orthonormal basis (rank, D) of what vectors (n, D) span, strongest directions first.

    A singular value below ``max(n, D) * eps`` of the largest is zero, as in ``numpy.linalg.matrix_rank``.
    """
    _, strength, basis = np.linalg.svd(vectors, full_matrices=False)
    zero = strength.max(initial=0) * max(vectors.shape) * np.finfo(float).eps
    rank = int((strength > zero).sum())
    return basis[: rank if most is None else min(rank, most)]


def away_from(basis: Floats) -> Floats:
    """``P0 = I - B (B^T B)^+ B^T`` for orthonormal rows, shape (r, D): symmetric, shape (D, D)."""
    return np.eye(basis.shape[1]) - basis.T @ basis


def set_means(vectors: Floats, codes: Integers, sets: int) -> Floats:
    """Mean of each set, shape (sets, D)."""
    totals = np.zeros((sets, vectors.shape[1]))
    np.add.at(totals, codes, vectors)
    return totals / np.bincount(codes, minlength=sets)[:, None]


def removal_facts(removed: int, requested: int | None, possible: int) -> dict[str, Any]:
    """``removed``, ``rank``, ``possible``, and a note where fewer directions exist than were asked for."""
    facts: dict[str, Any] = {"removed": removed, "rank": removed, "possible": possible}
    if requested is not None and requested > removed:
        facts["note"] = f"{requested} directions were to be removed, and {removed} are there"
    return facts


def check_something_left(removed: int, dimensions: int, what: str) -> None:
    """Refuse to remove the whole space, after which every vector is the same."""
    if removed >= dimensions:
        raise ParameterError(
            f"the {what} span all {dimensions} dimensions and nothing would be left; "
            f"give remove, a number below {dimensions}"
        )


def without(basis: Floats, method: Any, material: TrainingVectors, facts: Mapping[str, Any]) -> Mitigation:
    """The same projection for images and texts, as they share the space; no maps for an empty basis."""
    maps = dict.fromkeys(MODALITIES, Map(matrix=away_from(basis))) if len(basis) else {}
    more = {"fitted_on": material.described(), "applied_to": "image and text, the same matrix"}
    return Mitigation(method.name, asdict(method), maps, {**facts, **more})
