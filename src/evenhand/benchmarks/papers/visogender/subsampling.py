"""What keeping only a few images of every cell does to accuracies and gaps: closed form, and by drawing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.stats.arrays import Ends, Floats, Rng, pieces

_HELD = 5_000_000  # numbers drawn at once


@dataclass(frozen=True, eq=False)
class CellCount:
    """Samples that are alike in all that the data are balanced by."""

    values: Floats  # what is averaged, such as whether a sample was right; shape (n,), n at least 1
    second: bool  # whether they belong to the second of the two genders


@dataclass(frozen=True, eq=False)
class SubsampleSpread:
    """Mean and standard deviation of both figures."""

    average: float  # of the mean of both genders' rates
    average_sd: float  # its standard deviation
    gap: float  # of the first gender's rate minus the second's
    gap_sd: float  # its standard deviation


def kept_spread(cells: Sequence[CellCount], k: int) -> SubsampleSpread:
    """Exact mean and standard deviation when k samples of every cell are kept, drawn without return.

    A gender's rate is pooled over its kept samples; a cell with fewer than k keeps all. With C cells of 5
    binary values the variance of the average is ``sum_c p_c (1 - p_c) (5 - k) / (4 k) / C**2``, and that of
    the gap four times as much. NaN where one gender has no sample.
    """
    mean, variance, sizes = np.zeros((3, 2))
    for cell in cells:
        n, m, side = cell.values.size, min(k, cell.values.size), int(cell.second)
        sizes[side] += m
        mean[side] += m * cell.values.mean()
        if n > m:
            variance[side] += m * m * cell.values.var(ddof=1) * (1 / m - 1 / n)
    with np.errstate(invalid="ignore"):
        rate, spread = mean / sizes, variance / sizes**2
    sd = np.sqrt(spread.sum())
    return SubsampleSpread(rate.mean(), sd / 2, rate[0] - rate[1], sd)


def kept_draws(cells: Sequence[CellCount], k: int, trials: int, rng: Rng) -> Ends:
    """The same by drawing."""
    rates, sizes = np.zeros((2, trials)), np.zeros((2, 1))
    for cell in cells:
        m, side = min(k, cell.values.size), int(cell.second)
        sizes[side] += m
        for some in pieces(trials, _HELD, cell.values.size):
            indices = np.argsort(rng.random((some.stop - some.start, cell.values.size)), axis=1)[:, :m]
            rates[side, some] += cell.values[indices].sum(axis=1)
    with np.errstate(invalid="ignore"):
        rates /= sizes
    return rates.mean(axis=0), rates[0] - rates[1]
