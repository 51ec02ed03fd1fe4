"""From similarities to Findings: the pieces that all metrics of associations share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError
from evenhand.core.results import Dropped, Finding, Interval, Null
from evenhand.evidence.similarities import Similarities
from evenhand.metrics.building import as_finding
from evenhand.metrics.prepared import LEVEL, check_common

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Details: TypeAlias = dict[str, float | str | None]

BAND_DRAWS = 9_999
_LISTED = 10_000  # partitions up to which a null band looks at all of them
_FEW = 40  # items beyond which the null of a mean difference is taken as normal


def check_evidence(name: str, evidence: Any, mode: str, inference: str, seed: int) -> None:
    """Refuse what is no Similarities, and unknown options.

    Raises:
        ParameterError: One line that says what to give.
    """
    check_common(mode, inference, seed)
    if not isinstance(evidence, Similarities):
        raise ParameterError(
            f"{name} takes Similarities, not {type(evidence).__name__}; see Similarities.from_embeddings"
        )


def pair_of(what: str, names: Any) -> tuple[str, str]:
    """Two different names.

    Raises:
        ParameterError: Something else was given.
    """
    pair = () if isinstance(names, str) else tuple(names)
    if len(pair) != 2 or pair[0] == pair[1] or not all(isinstance(name, str) for name in pair):
        raise ParameterError(
            f"{what}={names!r} is not possible; name two different sets: {what}=(ONE, OTHER)"
        )
    return pair[0], pair[1]


def finding_of(
    name: str,
    evidence: Similarities,
    params: Mapping[str, Any],
    sets: tuple[Sequence[str], Sequence[str]],
    **fields: Any,
) -> Finding:
    """A Finding on similarities with what the definition says filled in.

    Args:
        name: The metric's stable name.
        evidence: The similarities.
        params: Parameters; those that are None are left out.
        sets: Names of the sets of targets, and of attributes, that it is about.
        fields: Further fields of Finding.
    """
    lost = [Dropped(reason=reason, count=n) for reason, n in evidence.dropped_from(*sets).items()]
    return as_finding(name, (), params, lists="|", dropped=lost, **fields)


def by_name(ids: Sequence[str], places: Ints) -> Ints:
    """Places in the order of their ids."""
    return np.array(sorted(places.tolist(), key=ids.__getitem__), dtype=np.int64)


def by_value(values: Floats, places: Ints) -> Ints:
    """Places in the order of a value; equal ones stay as they are."""
    return places[np.argsort(values, kind="stable")]


def partition_null(
    numbers: Floats, n: int, scale: float, bound: float, rng: np.random.Generator, seed: int, what: str
) -> Null:
    """What exchanging numbers between two sets gives for the difference of their means: its mean is 0.

    The band holds all partitions where they are few, random ones up to 40 numbers, and beyond is normal
    with the exact spread.

    Args:
        numbers: Both sets, shape (N,).
        n: Size of the first.
        scale: What a difference is multiplied by.
        bound: The largest that the result can be.
        rng: Used where partitions are random.
        seed: Where rng comes from.
        what: What is exchanged, in words.
    """
    if numbers.size <= _FEW:
        draws, listed = _differences(numbers, n, rng)
        low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]) * scale
        method = f"{'all' if listed else 'random'} partitions of the {what}"
        told = {} if listed else {"replicates": draws.size, "seed": seed}
        return Null(mean=0, low=float(low), high=float(high), level=LEVEL, method=method, **told)
    half = min(1.959963984540054 * permutation_sd(numbers, n) * scale, bound)
    method = f"partitions of the {what}, normal with their exact spread"
    return Null(mean=0, low=-half, high=half, level=LEVEL, method=method)


def permutation_sd(phi: Floats, n: int) -> float:
    """Spread of the mean difference over all partitions into n and the rest: ``s * sqrt(N / (n m))``."""
    total = phi.size
    return float(phi.std(ddof=1) * np.sqrt(total / (n * (total - n))))


def plain_interval(low: float, high: float, method: str, level: float = LEVEL) -> Interval | None:
    """An interval, or None where an end is no number."""
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    return Interval(low=float(low), high=float(high), level=level, method=method)


def _differences(phi: Floats, n: int, rng: np.random.Generator) -> tuple[Floats, bool]:
    """Mean differences of all partitions, or of random ones; and whether they are all."""
    total = phi.size
    listed = comb(total, n) <= _LISTED
    if listed:
        chosen = np.array(list(combinations(range(total), n)), dtype=np.int64)
    else:
        chosen = np.argpartition(rng.random((BAND_DRAWS, total)), n - 1, axis=1)[:, :n]
    sums = phi[chosen].sum(axis=1)
    return np.asarray(sums / n - (phi.sum() - sums) / (total - n)), listed
