"""Limits of a summary along families of populations: against quantiles of draws, family by family."""

import numpy as np
import pytest

from evenhand.stats.inverted_families import Inverted

STEPS, DRAWS = 9, 60


def where(inverted, quantile):
    """The population of which the observed value is this quantile, in each family."""
    places = []
    for means, draws in zip(inverted.population, inverted.draws, strict=True):
        curve = [np.nanquantile(one, quantile) for one in draws]
        curve = [max(curve[: step + 1]) for step in range(len(curve))]
        places.append(np.interp(inverted.observed, curve, means) if curve[-1] > curve[0] else 0.0)
    return places


def inverted_of(observed, seed, lost=0):
    rng = np.random.default_rng(seed)
    population = np.linspace(0, 1, STEPS) * np.array([[1.0], [1.3]])
    draws = population[:, :, None] + rng.gamma(2.0, np.array([0.1, 0.05])[:, None, None], (2, STEPS, DRAWS))
    draws[:, ::2, :lost] = np.nan
    return Inverted(observed, population, draws)


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("lost", [0, 7])
@pytest.mark.parametrize("observed", [0.001, 0.2, 0.3, 0.45, 0.5, 0.55, 0.9])
def test_limits_are_populations_that_make_the_observed_value_likely(observed, lost, level):
    found, error = inverted_of(observed, 1, lost), 1 - level
    low = min(where(found, 1 - 0.3 * error))
    if low == 0:
        low = min(where(found, 1 - error))
    high = max(*where(found, 0.2 * error), low, np.nanstd(found.draws[0, 0]))
    assert found.limits(level) == pytest.approx((low, high))
    assert found.corrected == pytest.approx(np.mean(where(found, 0.5)))


def test_a_lower_limit_is_above_zero_as_soon_as_all_of_the_error_is_on_its_side():
    both = []
    for observed in np.linspace(0.2, 0.7, 101):
        found = inverted_of(observed, 1)
        strict, plain = min(where(found, 1 - 0.3 * 0.05)), where(found, 0.95)
        both += [plain] if strict == 0 < min(plain) else []
        assert found.limits()[0] == pytest.approx(strict or min(plain))
    assert both
    assert all(first != second for first, second in both)


def test_draws_that_never_vary_rule_nothing_out():
    still = Inverted(0.5, np.tile(np.linspace(0, 1, STEPS), (2, 1)), np.full((2, STEPS, DRAWS), 0.5))
    assert still.limits() == (0.0, 1.0)
    assert still.corrected == 0.0
