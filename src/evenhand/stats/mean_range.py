"""The mean over labels of ranges between groups, among the means that other populations would give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evenhand.stats.arrays import Floats
from evenhand.stats.confusion import range_over_groups
from evenhand.stats.inverted_families import ALPHA, LEAST, Inverted, Member

Combine = Callable[..., Floats]


def mean_range(
    observed: float,
    away: Sequence[Floats],
    variance: Sequence[Floats],
    noise: Sequence[Floats],
    wider: Sequence[Floats],
    combine: Combine,
) -> Inverted:
    """From one or several rates of each label and group.

    ``away`` are rates of groups less what is expected of them without differences, shape (G, L) each,
    ``noise`` draws of such rates, shape (K, G, L); ``wider`` says by how much the noise of the observed
    differences is wider. ``combine`` goes from the ranges of each of the rates, shape (..., L), to their
    mean.
    """

    def family(shape: Sequence[Floats]) -> Member:
        parts = list(zip(shape, noise, wider, strict=True))
        whole = float(combine(*(range_over_groups(one, 2) for one in shape)))

        def member(s: float) -> tuple[float, Floats]:
            drawn = (range_over_groups(s * a + e * (1 + min(s, 1) * (w - 1)), 2) for a, e, w in parts)
            return min(s * whole, 1.0), combine(*drawn)

        return member

    few = [_significant(one, spread) for one, spread in zip(away, variance, strict=True)]
    return Inverted.along(observed, [family(few), family(away)])


def _significant(away: Floats, variance: Floats) -> Floats:
    """Differences of labels, shape (G, L), of which little is left where noise explains them."""
    from scipy import special

    known = ~np.isnan(away) & (variance > 0)
    square = np.where(known, away**2 / np.where(variance > 0, variance, 1), 0).sum(axis=0)
    p = special.chdtrc(np.maximum(known.sum(axis=0) - 1, 1), square)
    return np.asarray(away * np.where(p <= ALPHA, 1.0, LEAST))
