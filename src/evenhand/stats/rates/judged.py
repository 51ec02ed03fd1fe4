"""Shares of categories that a judge names with errors, corrected by how it does on labelled samples.

With ``M[i, j]`` the probability that the judge names ``j`` where ``i`` is true, the shares that it names are
``q = p M``, so that the true ones are ``p = q M^-1`` (Rogan and Gladen 1978 for two categories; Buonaccorsi
2010 for more). A judge that abstains names no category: rows of M then sum to less than 1, and p is divided
by its sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from evenhand.stats.arrays import Ends, Floats, Integers, Pair, Rng, ratio
from evenhand.stats.rates.clustered import Jackknife

_PRIOR = 0.5  # Jeffreys
_SINGULAR = 1e-9
_DOUBT = 0.025  # share of the draws of a confusion in which the judge may be no better than chance


@dataclass(frozen=True, eq=False)
class Judge:
    """How a judge does on samples whose category is known."""

    counts: Integers  # true x named, the last column abstentions, shape (K, K + 1)

    @property
    def believed(self) -> bool:
        """Whether nothing is known of its errors."""
        return not self.counts.any()

    @cached_property
    def rates(self) -> Floats:
        """``M``, abstentions last, shape (K, K + 1)."""
        if self.believed:
            return np.eye(*self.counts.shape)
        return np.asarray(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1))

    def draws(self, rng: Rng, number: int) -> Floats:
        """Confusions as likely as labelled samples leave them (Jeffreys' prior), shape (draws, K, K + 1)."""
        if self.believed:
            return np.broadcast_to(self.rates, (number, *self.rates.shape))
        abstains = bool(self.counts[:, -1].any())
        columns = self.counts if abstains else self.counts[:, :-1]
        rows = np.stack([rng.dirichlet(row + _PRIOR, number) for row in columns], axis=1)
        return rows if abstains else np.pad(rows, ((0, 0), (0, 0), (0, 1)))

    def invertible(self, draws: Floats) -> bool:
        """Whether the labelled samples leave no doubt that what is named goes with what is true.

        Args:
            draws: As of ``draws``: the determinants of nearly all have to be positive.
        """
        if self.believed:
            return True
        if not self.counts.sum(axis=1).all() or np.linalg.det(self.rates[:, :-1]) < _SINGULAR:
            return False
        return bool((np.linalg.det(draws[..., :-1]) < _SINGULAR).mean() < _DOUBT)


def corrected(shares: Floats, rates: Floats) -> Floats:
    """True shares from named ones, cut to [0, 1] and summing to 1.

    Args:
        shares: Named, shape (..., K); of abstentions nothing is said.
        rates: ``M`` as of ``Judge``, shape (..., K, K + 1), which broadcasts to the shares.
    """
    inverse = np.linalg.inv(rates[..., :-1])
    true = np.maximum(np.einsum("...k,...kj->...j", shares, inverse), 0)
    total = true.sum(axis=-1, keepdims=True)
    return ratio(true, total)


def effective_images(counts: Integers) -> float:
    """How many independent images would say as much of all shares as these of P prompts.

    Prompts are drawn whole: the trace of the variance of the shares by leaving out each prompt, with t of
    P - 1 degrees of freedom in place of z. Images of a single prompt are independent.

    Args:
        counts: Of named categories, shape (P, K); each prompt has some.
    """
    images = counts.sum(axis=1).astype(np.float64)
    if len(counts) < 2:
        return float(images.sum())
    jackknife = Jackknife.of(counts.astype(np.float64), images[:, None], images[:, None])
    spread = float((jackknife.value * (1 - jackknife.value)).sum())
    variance = float(jackknife.variance.sum())
    size = spread / variance if variance > 1e-15 and spread > 0 else jackknife.effective.item()
    wider = stats.norm.ppf(0.975) / stats.t.ppf(0.975, len(counts) - 1)
    return float(min(size, images.sum()) * wider**2)


def share_draws(counts: Integers, confusions: Floats, rng: Rng) -> Floats:
    """True shares over all images as likely as images and labelled samples leave them, shape (draws, K).

    Args:
        counts: Of named categories by prompt, shape (P, K).
        confusions: Draws of ``Judge``.
        rng: Of the draws.
    """
    total = counts.sum(axis=0)
    size = total / max(total.sum(), 1) * effective_images(counts)
    return corrected(rng.dirichlet(size + _PRIOR, len(confusions)), confusions)


def judged_draws(images: Integers, reference: Floats, confusions: Floats, rates: Floats, rng: Rng) -> Ends:
    """Corrected shares of prompts whose images show the reference: of each prompt, and of all images.

    Args:
        images: Of each prompt, abstentions included, shape (P,).
        reference: True shares of each prompt, shape (P, K).
        confusions: Draws of ``Judge``, by which true categories are named.
        rates: ``M`` by which named ones are corrected.
        rng: Of the draws.

    Returns:
        Shapes (draws, P, K), NaN where no image got a name, and (draws, K).
    """
    chances = np.einsum("pk,bkj->bpj", reference, confusions)
    chances /= chances.sum(axis=2, keepdims=True)
    answers = rng.multinomial(images, chances)[..., :-1]
    return corrected(as_shares(answers), rates), corrected(as_shares(answers.sum(axis=1)), rates)


def as_shares(counts: Integers) -> Floats:
    """Counts over their sum, NaN where there is none; shape (..., K)."""
    total = counts.sum(axis=-1, keepdims=True)
    return ratio(counts, total)


def total_variation(shares: Floats, reference: Floats) -> Floats:
    """Half the sum of absolute differences, over the last axis."""
    return np.asarray(np.abs(shares - reference).sum(axis=-1) / 2)


def distance_limits(draws: Floats, shares: Floats, reference: Floats, level: float) -> Pair:
    """Limits of the total variation from a reference.

    The distance cannot change by more than the shares move (triangle inequality): the reach is the level's
    quantile of the distance between draws and shares. It is exact for two categories and errs on the wide
    side for more.
    """
    value = float(total_variation(shares, reference))
    usable = draws[~np.isnan(draws).any(axis=1)]
    reach = float(np.quantile(total_variation(usable, shares), level))
    return max(value - reach, 0.0), min(value + reach, 1.0)
