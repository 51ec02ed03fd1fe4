"""The distribution of a statistic under a null hypothesis, exact or by its moments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chance:
    """The distribution of a statistic under a null hypothesis.

    Attributes:
        mean: Its mean.
        sd: Its standard deviation.
        values: The values it can take, ascending; empty where only moments are known (normal distribution).
        weights: Their probabilities.
    """

    mean: float
    sd: float
    values: Floats
    weights: Floats

    @classmethod
    def exact(cls, values: Floats, weights: Floats) -> Chance:
        """From all values and their probabilities, in any order; equal values are merged."""
        order = np.argsort(values, kind="stable")
        values, weights = values[order], weights[order]
        first = np.flatnonzero(np.append(np.inf, np.diff(values)) > 1e-12)
        values, weights = values[first], np.asarray(np.add.reduceat(weights, first))
        weights = weights / float(weights.sum())
        mean = float(values @ weights)
        variance = float(((values - mean) ** 2) @ weights)
        return cls(mean, float(np.sqrt(max(variance, 0.0))), values, weights)

    @classmethod
    def normal(cls, mean: float, sd: float) -> Chance:
        """From moments."""
        return cls(mean, sd, np.empty(0), np.empty(0))

    def band(self, level: float = 0.95) -> tuple[float, float]:
        """The central values; ends are chosen by mid-p, so that about ``level`` lies between them."""
        from scipy import special

        tail = (1 - level) / 2
        if not self.values.size:
            reach = float(special.ndtri(1 - tail)) * self.sd
            return self.mean - reach, self.mean + reach
        below = np.cumsum(self.weights) - self.weights / 2
        slack = 1e-12
        low = int(np.argmax(below >= tail - slack))
        high = self.values.size - 1 - int(np.argmax((1 - below)[::-1] >= tail - slack))
        return float(self.values[low]), float(self.values[max(high, low)])

    def p_value(self, observed: float) -> float:
        """How likely a value at least as far from the mean is."""
        from scipy import special

        distance = abs(observed - self.mean)
        if not self.values.size:
            return float(2 * special.ndtr(-distance / self.sd)) if self.sd > 0 else float(distance <= 1e-9)
        far = np.abs(self.values - self.mean) >= distance - 1e-9
        return float(min(self.weights[far].sum(), 1.0))
