"""Mutual information of each dimension of vectors with a label, in nats, by counting."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Floats, Integers, codes_of, pieces, ratio

_BLOCK = 4_000_000  # numbers of one array of rows and dimensions held at a time


def binned_information(vectors: npt.ArrayLike, labels: npt.ArrayLike, bins: int = 8) -> Floats:
    """Mutual information after cutting each dimension at its own quantiles, corrected for the sample.

    ``I = H(bin) + H(label) - H(bin, label)``, each with the correction of Miller and Madow (1955): half a nat
    for each occupied cell but one, divided by N. Equal values stay in one bin.

    Returns:
        Nats, shape (D,); at most ln of the number of labels or bins, about 0 for a dimension that tells
        nothing, where the correction leaves some a little below 0. NaN without rows.
    """
    values, codes, kinds = _as_arrays(vectors, labels)
    n, dimensions = values.shape
    if n == 0:
        return np.full(dimensions, np.nan)
    information = []
    for some in pieces(dimensions, _BLOCK, n):
        part = values[:, some]
        binned = np.zeros(part.shape, dtype=np.int64)
        for edge in np.quantile(part, np.arange(1, bins) / bins, axis=0):
            binned += part > edge
        counts = _joint(binned, codes, bins, kinds)
        joint, cut, label = _over(counts, lambda cells: cells > 0)
        information.append(_information(counts, n) + (cut + label - joint - 1) / (2 * n))
    return np.concatenate(information)


def smoothed_information(
    vectors: npt.ArrayLike, labels: npt.ArrayLike, cells: int = 64, sigma: float = 1.0
) -> Floats:
    """Mutual information from a smoothed histogram, as the code of CLIP-clip estimates it; NaN without rows.

    Each dimension is cut into ``cells`` parts of equal width from its least to its greatest value, the label
    is placed on as many, and the joint histogram is blurred by a Gaussian (``sigma`` in cells). It is biased
    upwards, more for small samples; what it is for is the order of the dimensions (Wang et al. 2021, section
    3.3).
    """
    from scipy.ndimage import gaussian_filter

    values, codes, kinds = _as_arrays(vectors, labels)
    n, dimensions = values.shape
    if n == 0:
        return np.full(dimensions, np.nan)
    places = np.floor(np.arange(kinds) * cells / max(1, kinds - 1)).astype(np.int64).clip(0, cells - 1)
    result = np.empty(dimensions)
    for some in pieces(dimensions, _BLOCK, n + cells * cells):
        part = values[:, some]
        low = part.min(axis=0)
        width = part.max(axis=0) - low
        scaled = ratio(part - low, width, 0.5)
        binned = np.floor(scaled * cells).astype(np.int64).clip(0, cells - 1)
        counts = _joint(binned, places[codes], cells, cells)
        blurred = gaussian_filter(counts, sigma=(0, sigma, sigma), mode="constant")
        blurred += np.finfo(np.float64).eps
        result[some] = _information(blurred, blurred.sum(axis=(1, 2)))
    return result


def _as_arrays(vectors: npt.ArrayLike, labels: npt.ArrayLike) -> tuple[Floats, Integers, int]:
    codes = codes_of(labels)
    return np.asarray(vectors, dtype=np.float64), codes, int(codes.max(initial=-1)) + 1


def _joint(binned: Integers, codes: Integers, bins: int, kinds: int) -> Floats:
    """How often each bin meets each label, shape (dimensions, bins, kinds)."""
    dimensions = binned.shape[1]
    cell = (np.arange(dimensions) * bins + binned) * kinds + codes[:, None]
    counts = np.bincount(cell.ravel(), minlength=dimensions * bins * kinds)
    return counts.reshape(dimensions, bins, kinds).astype(np.float64)


def _over(counts: Floats, change: Callable[[Floats], npt.NDArray[np.generic]]) -> list[Floats]:
    """Sums of changed counts over all cells of each dimension, over its bins, and over its labels."""
    parts = counts, counts.sum(axis=2), counts.sum(axis=1)
    return [np.asarray(change(part).reshape(len(counts), -1).sum(axis=1)) for part in parts]


def _information(counts: Floats, total: float | Floats) -> Floats:
    joint, bins, kinds = _over(counts, lambda cells: cells * np.log(np.where(cells > 0, cells, 1)))
    return (joint - bins - kinds) / total + np.log(total)
