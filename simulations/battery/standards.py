"""Standard tests of right level, beside which the power of metrics is set."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import stats

from evenhand.evidence.predictions.counts import Counts
from evenhand.stats.arrays import Floats


def unit_means(
    value: npt.ArrayLike, unit: npt.ArrayLike, group: npt.ArrayLike = 0, times: npt.ArrayLike = 1.0
) -> list[Floats]:
    """Means of the units of each group, in order of the units, of rows that stand for so many."""
    value = np.asarray(value, dtype=np.float64)
    group, times = np.broadcast_to(group, value.shape), np.broadcast_to(times, value.shape)
    _, first, code = np.unique(unit, return_index=True, return_inverse=True)
    means = np.bincount(code, value * times) / np.bincount(code, times)
    return [means[group[first] == one] for one in np.unique(group)]


def welch(
    value: npt.ArrayLike, unit: npt.ArrayLike, group: npt.ArrayLike, times: npt.ArrayLike = 1.0
) -> float:
    """Welch's analysis of variance of the means of units; of two groups his t test."""
    return float(stats.f_oneway(*unit_means(value, unit, group, times), equal_var=False).pvalue)


def one_sample(value: npt.ArrayLike, unit: npt.ArrayLike) -> float:
    """Student's t test that the means of units are 0; p is 1 where all of them are alike."""
    (means,) = unit_means(value, unit)
    return float(stats.ttest_1samp(means, 0).pvalue) if np.ptp(means) > 0 else 1.0


def mantel_haenszel(
    hit: npt.ArrayLike, second: npt.ArrayLike, stratum: npt.ArrayLike, times: npt.ArrayLike = 1.0
) -> float:
    """Cochran, Mantel and Haenszel's test of the hits of two groups within strata."""
    _, code = np.unique(stratum, return_inverse=True)
    hit, second, times = (np.broadcast_to(one, code.shape).astype(float) for one in (hit, second, times))
    total, n, hits, both = (np.bincount(code, times * one) for one in (1.0, second, hit, hit * second))
    with np.errstate(invalid="ignore", divide="ignore"):
        variance = n * (total - n) * hits * (total - hits) / (total**2 * (total - 1))
    apart, spread = (both - n * hits / total).sum(), np.nansum(np.where(total > 1, variance, 0))
    return float(stats.chi2.sf(apart**2 / spread, 1)) if spread else 1.0


def welch_of_counts(counts: Counts, unit: str) -> float:
    """Welch's t test of the units' shares of right answers, of two groups."""
    right = counts.codes_of("truth") == counts.codes_of("prediction")
    return welch(right, counts.codes_of(f"cluster:{unit}"), counts.codes_of("group"), counts.n)
