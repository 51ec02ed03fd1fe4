"""The mean over labels of ranges between groups: what the population's is, though noise alone gives one > 0.

Every range is larger in a sample than in the population, so that the mean of many is never near 0. Its
population value is that of a family of populations, ``lambda`` times differences of an estimated shape: the
limits are those of lambda that make the observed mean a likely one, by draws of the noise (inversion of a
test along a family: DiCiccio and Romano 1990; Hansen 1999). lambda = 0 is the exchange of groups, so that a
lower limit of 0 and its p say the same. How much noise adds depends on the shape, which is not known: the
least mean belongs to the few labels that differ significantly, the largest to all as observed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evenhand.stats.confusion import range_over_groups

Floats = npt.NDArray[np.float64]
Combine = Callable[..., Floats]

_STEPS = 17  # of a family
_LEAST = 0.1  # of a label's differences that always stays
_ALPHA = 0.05  # of a label's test, for those that keep all of theirs
_LOWER, _UPPER = 0.3, 0.2  # of the error: the rest is for shapes, which are estimated
_REACH = 4.0  # standard deviations that the family reaches beyond the observed mean


@dataclass(frozen=True, eq=False)
class MeanRange:
    """A mean of ranges with the means that other populations would give.

    Attributes:
        observed: The mean, in [0, 1].
        population: Means in the populations of both families, ascending from 0, shape (2, S).
        draws: Means of samples from each, shape (2, S, K).
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
        wider: Sequence[Floats],
        combine: Combine,
    ) -> MeanRange:
        """From one or several rates of each label and group.

        Args:
            observed: The mean of the sample.
            away: Rates of groups less what is expected of them without differences, shape (G, L) each.
            variance: Of the rates, the same.
            noise: Draws of such rates without differences, shape (K, G, L) each.
            wider: By how much the noise of the observed differences is wider, shape (G, L) each.
            combine: From the ranges of each of the rates, shape (..., L), to their mean, shape (...,).
        """
        alone = combine(*(range_over_groups(one, 2) for one in noise))
        most = observed + _REACH * float(np.nanstd(alone))
        few = [_significant(one, spread) for one, spread in zip(away, variance, strict=True)]
        population, draws = [], []
        for shape in (few, away):
            parts = list(zip(shape, noise, wider, strict=True))
            whole = float(combine(*(range_over_groups(one, 2) for one in shape)))
            scales = np.linspace(0, most / whole if whole > 0 else 0.0, _STEPS)
            ranges = (
                (range_over_groups(s * a + e * (1 + min(s, 1) * (w - 1)), 2) for a, e, w in parts)
                for s in scales.tolist()
            )
            population.append(scales * whole)
            draws.append([combine(*one) for one in ranges])
        return cls(observed, np.array(population), np.array(draws))

    def limits(self, level: float = 0.95) -> tuple[float, float]:
        """Limits of the population's mean; the lower one is 0 where the test of all the error does not reject."""
        error = 1 - level
        low = self._where(1 - _LOWER * error)[0] or self._where(1 - error)[0]
        high = max(*self._where(_UPPER * error), low, float(np.nanstd(self.draws[0, 0])))
        return low, min(high, 1.0)

    @property
    def corrected(self) -> float:
        """The population's mean that makes the observed one the median, between that of both families."""
        return sum(self._where(0.5)) / 2

    def _where(self, quantile: float) -> list[float]:
        """The populations of which the observed mean is this quantile; 0 where it is less than noise gives."""
        middle = np.maximum.accumulate(np.nanquantile(self.draws, quantile, axis=2), axis=1)
        return [
            float(np.interp(self.observed, drawn, means)) if drawn[-1] > drawn[0] else 0.0
            for drawn, means in zip(middle, self.population, strict=True)
        ]


def _significant(away: Floats, variance: Floats) -> Floats:
    """Differences of labels, shape (G, L), of which hardly any is left where noise explains them."""
    from scipy import special

    known = ~np.isnan(away) & (variance > 0)
    square = np.where(known, away**2 / np.where(variance > 0, variance, 1), 0).sum(axis=0)
    p = special.chdtrc(np.maximum(known.sum(axis=0) - 1, 1), square)
    return np.asarray(away * np.where(p <= _ALPHA, 1.0, _LEAST))
