"""The mean over labels of ranges between groups: what the population's is, though noise alone gives one > 0.

Every range is larger in a sample than in the population, so that the mean of many is never near 0. Its
population value is that of a family of populations, ``lambda`` times the differences that were observed (each
label's shrunk by its own noise): the limits are those of lambda that make the observed mean a likely one, by
draws of the noise (inversion of a test along a family: DiCiccio and Romano 1990; Hansen 1999). lambda = 0 is
the exchange of groups, so that a lower limit of 0 and its p say the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.confusion import range_over_groups

Floats = npt.NDArray[np.float64]
Combine = Callable[..., Floats]

_STEPS = 17  # of the family
_LEAST = 0.1  # of a label's differences that always stays
_REACH = 4.0  # standard deviations that the family reaches beyond the observed mean


@dataclass(frozen=True, eq=False)
class MeanRange:
    """A mean of ranges with the means that other populations would give.

    Attributes:
        observed: The mean, in [0, 1].
        population: Means in the populations of the family, ascending from 0, shape (S,).
        draws: Means of samples from each, shape (S, K).
    """

    observed: float
    population: Floats
    draws: Floats

    @classmethod
    def of(
        cls,
        observed: float,
        away: Sequence[Floats],
        variance: Sequence[Floats],
        noise: Sequence[Floats],
        combine: Combine,
    ) -> MeanRange:
        """From one or several rates of each label and group.

        Args:
            observed: The mean of the sample.
            away: Rates of groups less what is expected of them without differences, shape (G, L) each.
            variance: Of the rates, the same.
            noise: Draws of such rates without differences, shape (K, G, L) each.
            combine: From the ranges of each of the rates, shape (..., L), to their mean, shape (...,).
        """
        shrunk = [_shrunk(one, spread) for one, spread in zip(away, variance, strict=True)]
        whole = float(combine(*(range_over_groups(one, 2) for one in shrunk)))
        alone = combine(*(range_over_groups(one, 2) for one in noise))
        most = (observed + _REACH * float(np.nanstd(alone))) / whole if whole > 0 else 0.0
        scales = np.linspace(0, most, _STEPS)
        draws = np.stack(
            [
                combine(*(range_over_groups(s * one + e, 2) for one, e in zip(shrunk, noise, strict=True)))
                for s in scales
            ]
        )
        return cls(observed, scales * whole, draws)

    def limits(self, level: float = 0.95) -> tuple[float, float]:
        """Limits of the population's mean; the lower one alone has the level, as its test is one-sided."""
        low = self._where(level)
        high = self._where((1 - level) / 2)
        return low, min(max(high, low, float(np.nanstd(self.draws[0]))), 1.0)

    @property
    def corrected(self) -> float:
        """The population's mean that makes the observed one the median."""
        return self._where(0.5)

    def _where(self, quantile: float) -> float:
        """The population of which the observed mean is this quantile; 0 where it is less than noise gives."""
        middle = np.maximum.accumulate(np.nanquantile(self.draws, quantile, axis=1))
        return float(np.interp(self.observed, middle, self.population)) if middle[-1] > middle[0] else 0.0


def _shrunk(away: Floats, variance: Floats) -> Floats:
    """Differences of each label, shape (G, L), shrunk to the spread that noise does not explain."""
    known = ~np.isnan(away) & (variance > 0)
    square = np.where(known, away**2 / np.where(variance > 0, variance, 1), 0).sum(axis=0)
    freedom = np.maximum(known.sum(axis=0) - 1, 0)
    kept = np.sqrt(np.maximum(1 - freedom / np.maximum(square, 1e-300), 0))
    return np.asarray(away * np.maximum(kept, _LEAST))
