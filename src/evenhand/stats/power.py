"""What could have been found: the minimum detectable effect."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from evenhand.stats.contingency import Association

Floats = npt.NDArray[np.float64]


def minimum_detectable_v(tables: Association, *, alpha: float = 0.05, power: float = 0.8) -> Floats:
    r"""The smallest Cramér's V that a chi-squared test on these tables finds with the given power.

    The noncentrality that shifts chi-squared with (r-1)(c-1) degrees of freedom beyond its critical value
    with probability ``power`` is ``n phi^2``; so ``V = sqrt(noncentrality / (n min(r-1, c-1)))``
    (Cohen 1988, section 7.2).

    Returns:
        Shape (T,), in [0, 1] where attainable; NaN where a table has one row or column, or where even
        V = 1 would not be found.
    """
    from scipy import special

    degrees = ((tables.n_rows - 1) * (tables.n_columns - 1)).astype(np.float64)
    degrees[degrees <= 0] = np.nan
    unique, where = np.unique(degrees, return_inverse=True)
    critical = special.chdtri(unique, alpha)
    needed = special.chndtrinc(critical, unique, 1 - power)[where]
    dof = np.where(tables.dof > 0, tables.dof, np.nan)
    effect = np.sqrt(needed / (tables.n * dof))
    return np.where(effect <= 1, effect, np.nan)
