"""Limits of a summary that noise alone makes larger than 0: what populations make the observed one likely.

The summary is over many parts (ranges of labels, effect sizes of classes) each of which is larger in a sample
than in the population. Its population value is that of a family of populations, ``lambda`` times effects of
an estimated shape: the limits are those of lambda that make the observed summary a likely one, by draws of
the noise (inversion of a test along a family: DiCiccio and Romano 1990; Hansen 1999). lambda = 0 is the
exchange of groups, so that a lower limit of 0 and its p say the same. How much noise adds depends on the
shape, which is not known: the limits hold for two of them, the few parts that differ beyond chance and all
parts as observed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from evenhand.stats.arrays import Floats, Pair

Member = Callable[[float], tuple[float, Floats]]

LEAST = 0.1
"""How much stays of a part that does not differ beyond chance, where the few that do are the shape."""
ALPHA = 0.05
"""Of a part's test."""
_STEPS = 17  # of a family
_LOWER, _UPPER = 0.3, 0.2  # of the error: the rest is for shapes, which are estimated
_REACH = 5  # times that a family is made longer at most
_ROUNDING = 1e-12  # by so little draws differ that are alike: it depends on the processor


@dataclass(frozen=True, eq=False)
class Inverted:
    """A summary with what other populations would give."""

    observed: float  # the summary of the sample
    population: Floats  # summaries of the populations of each family, ascending from 0, shape (F, S)
    draws: Floats  # summaries of samples from each, shape (F, S, K)

    @classmethod
    def along(cls, observed: float, families: Sequence[Member]) -> Inverted:
        """From families: functions from lambda to the summary of the population and those of samples."""
        families = [cache(member) for member in families]  # the ends of a family are wanted twice
        noise = float(np.nanstd(families[0](0.0)[1]))
        grids = []
        for member in families:
            full_summary = member(1.0)[0]
            most = (observed + noise) / full_summary if full_summary > 0 else 0.0
            for _ in range(_REACH):  # until hardly a sample would give so little
                if not np.nanmin(member(most)[1]) < observed:
                    break
                most *= 1.5
            grids.append([member(scale) for scale in np.linspace(0, most, _STEPS).tolist()])
        population = np.array([[summary for summary, _ in family] for family in grids])
        return cls(observed, population, np.array([[draws for _, draws in family] for family in grids]))

    def limits(self, level: float = 0.95) -> Pair:
        """Limits of the population's summary; the lower one is 0 where a test of all the error accepts 0.

        Their width is never 0: where all draws are alike, the upper one is the largest population.
        """
        error = 1 - level
        low = min(self._where(1 - _LOWER * error)) or min(self._where(1 - error))
        high = max(*self._where(_UPPER * error), low, float(np.nanstd(self.draws[0, 0])))
        if high > low + _ROUNDING:
            return low, high
        # every population gives the observed summary, whatever its own is: nothing is ruled out
        return low, float(self.population.max())

    @property
    def corrected(self) -> float:
        """The population's summary that makes the observed one the median; the mean of the families'."""
        return sum(self._where(0.5)) / len(self.draws)

    @property
    def least(self) -> float:
        """A summary near 0, for limits above it."""
        return float(self.population[:, 1].min()) / _STEPS

    @cached_property
    def _ordered(self) -> Floats:
        """Draws in ascending order, NaN last: quantiles are read from them again and again."""
        return np.sort(self.draws, axis=2)

    def _where(self, quantile: float) -> list[float]:
        """The populations of which the observed summary is this quantile; 0 where noise alone gives more."""
        last = np.maximum((~np.isnan(self._ordered)).sum(axis=2) - 1, 0)
        position = quantile * last
        ends = np.floor(position), np.ceil(position)
        low, high = (np.take_along_axis(self._ordered, end[..., None].astype(int), 2)[..., 0] for end in ends)
        middle = np.maximum.accumulate(low + (high - low) * (position - ends[0]), axis=1)
        return [
            float(np.interp(self.observed, draws, means)) if draws[-1] > draws[0] + _ROUNDING else 0.0
            for draws, means in zip(middle, self.population, strict=True)
        ]
