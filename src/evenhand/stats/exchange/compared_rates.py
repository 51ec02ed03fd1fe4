"""Rates of groups compared as observed and in draws whose units changed places, in standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Floats, Pair, nan_without_warning
from evenhand.stats.exchange.relabelling import each_exceeded, exceeded, on_scale_of


@dataclass(frozen=True, eq=False)
class ComparedRates:
    """Rates of groups with the covariance that their units show, in R draws or, R = 1, as observed."""

    rates: Floats  # shape (R, G)
    variance: Floats  # shape (R, G)
    # shape (R, G, G), zero on the diagonal; None where no unit lies in several groups
    covariance: Floats | None

    def t(self, contrast: Floats) -> Floats:
        """Contrasts of the rates in their standard errors, shape (R, K).

        ``contrast`` holds weights of the rates, shape (K, G), each adding up to 0.
        """
        square = contrast_variance(self.variance, self.covariance, contrast)
        with nan_without_warning():
            t = (self.rates @ contrast.T) / np.sqrt(square)
        return np.where(square > 0, t, 0.0)


@dataclass(frozen=True, eq=False)
class ExchangedRates:
    """A comparison as observed, and in every draw."""

    observed: ComparedRates  # R = 1
    drawn: ComparedRates  # R draws
    share: Floats  # of the weight in each group, shape (G,)
    rescaled: bool  # whether draws have units of other sizes than the groups, so that bands are rescaled
    ends: Pair = (0.0, 1.0)  # least and largest rate that is possible

    @property
    def replicates(self) -> int:
        """How many draws there are."""
        return len(self.drawn.rates)

    @cached_property
    def rates(self) -> Floats:
        """Rates that groups of these units would have by chance, shape (R, G).

        Where units differ in size a drawn rate has the spread of the units that came, not that of the group;
        it is put on the group's own scale.
        """
        if not self.rescaled:
            return self.drawn.rates
        middle = float(self.observed.rates[0] @ self.share)
        drawn_variance = np.where(self.drawn.variance > 0, self.drawn.variance, np.nan)
        moved = np.nan_to_num((self.drawn.rates - middle) * np.sqrt(self.observed.variance / drawn_variance))
        return np.clip(middle + moved, *self.ends)

    def p_largest(self) -> float:
        """The p of the largest difference of two groups, whichever they are: max-t by exchange."""
        return exceeded(self._most, self.largest)

    def p_either(self) -> float:
        """The same: differences count in either direction."""
        return self.p_largest()

    def gaps(self, value: float, chance_at: float = 0.0) -> Floats:
        """What a gap would be at the largest differences of the draws, shape (R,), from 0.

        The statistic is that of ``p_largest``: small groups, whose rates vary most, do not widen its band.
        ``chance_at`` is the gap that is expected without differences.
        """
        above = on_scale_of(value - chance_at, self._most, self.largest)
        return np.clip(chance_at + above, 0, self.ends[1] - self.ends[0])

    @cached_property
    def _most(self) -> float:
        return float(np.abs(self.observed.t(pairs_of(self.drawn.rates.shape[1]))).max())

    def p_below_rest(self, sign: int = 1) -> float:
        """The p of the worst group, whose rate is lower than that of all the others; -1: higher."""
        return exceeded(*self._below_rest(sign))

    def below_rest(self, value: float, sign: int = 1) -> Floats:
        """How far the worst group would be from all rows at the statistics of the draws, shape (R,)."""
        return np.clip(on_scale_of(value, *self._below_rest(sign)), 0, self.ends[1] - self.ends[0])

    def _below_rest(self, sign: int) -> tuple[float, Floats]:
        contrast = -sign * against_rest(self.share)
        return float(self.observed.t(contrast).max()), self.drawn.t(contrast).max(axis=1)

    def p_each(self) -> Floats:
        """The two-sided p of each group against the others, shape (G,)."""
        contrast = against_rest(self.share)
        return each_exceeded(np.abs(self.observed.t(contrast)[0]), np.abs(self.drawn.t(contrast)))

    def quantile_largest(self, level: float = 0.95) -> float:
        """The quantile of the largest difference of two groups in standard errors: max-t by exchange."""
        return float(np.quantile(self.largest, level, method="higher"))

    @cached_property
    def largest(self) -> Floats:
        """The largest difference of two groups in standard errors, in each draw."""
        return np.asarray(np.abs(self.drawn.t(pairs_of(self.drawn.rates.shape[1]))).max(axis=1))


def contrast_variance(variance: Floats, covariance: Floats | None, contrast: Floats) -> Floats:
    """Variance of contrasts, shape (R, K).

    ``contrast`` holds weights of the rates, shape (K, G); the covariance is zero on the diagonal.
    """
    own_variance = variance @ (contrast**2).T
    if covariance is None:
        return np.asarray(own_variance)
    together = np.einsum("rgh,kg,kh->rk", covariance, contrast, contrast, optimize=True)
    # a covariance may eat up what little variance there is; a tenth of it always stays
    return np.asarray(np.maximum(own_variance + together, 0.1 * own_variance))


def pairs_of(groups: int) -> Floats:
    """The contrast of each two groups, shape (G (G - 1) / 2, G)."""
    first, second = np.triu_indices(groups, 1)
    unit = np.eye(groups)
    return unit[first] - unit[second]


def against_rest(share: Floats) -> Floats:
    """The contrast of each group with all the others together, shape (G, G)."""
    rest = 1 - share
    others = np.tile(share, (share.size, 1)) * (1 - np.eye(share.size))
    return np.eye(share.size) - others / np.where(rest > 0, rest, 1)[:, None]
