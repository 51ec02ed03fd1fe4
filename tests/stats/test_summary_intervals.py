"""Limits of V and of its mean, median and maximum hold planted truths and agree with their tests."""

import numpy as np
import pytest
from scipy import optimize, stats

from evenhand.stats.contingency.effect_intervals import phi_squared
from evenhand.stats.contingency.null_tables import gamma_null, permutation_moments
from evenhand.stats.contingency.summary_intervals import (
    SUMMARIES,
    Squares,
    _smoothed,
    class_ends,
    combined_p,
    lower_limits,
    squares,
    summary_family,
)
from evenhand.stats.contingency.tables import TableBatch, association


def facts(tables):
    """Squares of tables (T, R, C), and the gamma p of each."""
    batch = TableBatch.from_dense(tables)
    found = association(batch)
    shape, scale = gamma_null(*permutation_moments(batch, found))
    return squares(found, phi_squared(batch, found)), stats.gamma.sf(found.chi2, shape, scale=scale)


def two_by_two(rng, v, n=100):
    """Tables of two equal groups of n rows whose population V are the given ones."""
    right = rng.binomial(n, 0.5 + np.array([[1], [-1]]) * v / 2)
    return np.stack([right, n - right], axis=2).transpose(1, 0, 2)


def family(found, name, p, draws=200):
    scores = np.random.default_rng(8).standard_normal((draws, p.size))
    return summary_family(found, name, scores, p)


SPREADS = {"equal": (2, 9), "even": (9, 40), "rare": (9, 40), "common": (2, 9)}
"""With so many classes each is tried by day, at night with 2, 9 and 40."""


@pytest.mark.parametrize(
    ("spread", "classes"),
    [
        pytest.param(spread, classes, marks=() if classes in by_day else pytest.mark.nightly)
        for spread, by_day in SPREADS.items()
        for classes in (2, 9, 40)
    ],
)
def test_the_limits_hold_the_truth(classes, spread):
    spaces = np.linspace(0, 1, classes)
    v = {"equal": 0 * spaces + 0.3, "even": 0.6 * spaces, "rare": 0.6 * spaces**4,
         "common": 0.6 * (1 - spaces**4)}[spread]  # fmt: skip
    rng, held = np.random.default_rng(classes), []
    for _ in range(40):
        found, p = facts(two_by_two(rng, v))
        every = {name: family(found, name, p) for name in SUMMARIES}
        ends = {name: limits.limits() for name, limits in every.items()}
        assert all(low <= every[name].corrected <= high for name, (low, high) in ends.items())
        held.append([low - 1e-9 <= SUMMARIES[name](v) <= high + 1e-9 for name, (low, high) in ends.items()])
    assert (np.mean(held, axis=0) >= 0.85).all()


def test_the_limits_of_the_mean_close_in_where_classes_are_large():
    v = np.linspace(0.2, 0.4, 100)
    found, p = facts(two_by_two(np.random.default_rng(2), v, n=50_000))
    low, high = family(found, "mean", p).limits()
    assert 0.295 < low < 0.3 < high < 0.305


@pytest.mark.parametrize("name", SUMMARIES)
def test_the_lower_limit_is_above_zero_where_draws_without_effects_are_smaller(name):
    found, p = facts(two_by_two(np.random.default_rng(3), np.full(8, 0.2)))
    assert family(found, name, p).limits()[0] > 0
    found, p = facts(two_by_two(np.random.default_rng(5), np.zeros(8)))
    assert family(found, name, p).limits()[0] == 0


def test_scores_of_draws_give_the_draws_back_without_effects():
    found, _ = facts(two_by_two(np.random.default_rng(3), np.full(4, 0.2)))
    draws = np.random.default_rng(4).gamma(0.5, 0.02, (50, 4))
    np.testing.assert_allclose(found.drawn(np.zeros(4), found.scores(draws)), draws, rtol=1e-6)


@pytest.mark.parametrize("name", SUMMARIES)
def test_noise_of_sparse_classes_is_corrected_to_near_zero(name):
    """The largest of 60 bias-corrected V is .3 where no class has an effect, and their mean .07."""
    rng = np.random.default_rng(6)
    found, p = facts(rng.multinomial(40, [0.7, 0.1, 0.1, 0.05, 0.05], size=(60, 2)))
    limits = family(found, name, p)
    assert limits.corrected < 0.15
    assert limits.limits()[0] < 0.02


def test_classes_limits_are_above_zero_where_p_is_small_and_only_there():
    found, p = facts(two_by_two(np.random.default_rng(4), np.linspace(0, 0.4, 300)))
    low, high = class_ends(found, p)
    assert ((low > 0) == (p <= 0.05)).all()
    assert ((low <= found.corrected) & (found.corrected <= high) & (low < high)).all()


def test_the_lower_limit_inverts_a_noncentral_chi_squared_tail():
    n, degrees, t = 200.0, 4, 0.2
    one, floor = np.array([t]), 4 / n
    known = Squares(
        one, one * 0 + 2 * degrees / n**2, one * 0 + 4 / n, one * 0 + floor, one + floor, one * 0 + 1,
    )  # fmt: skip
    limit = lower_limits(known, 0.001)[0] ** 2
    # a gamma of the same mean and variance has the slightly longer tail: the limit errs to the safe side
    assert 0.0004 < stats.ncx2.sf((t + floor) * n, degrees, limit * n) < 0.001


def test_a_perfect_table_is_not_taken_as_certain():
    found, _ = facts(np.array([[[15, 0], [0, 15]]]))
    assert 0.2 < lower_limits(found, 1e-4)[0] < 0.9


@pytest.mark.parametrize("name", SUMMARIES)
def test_a_class_without_a_table_counts_as_zero_for_certain(name):
    found, p = facts(np.array([[[40, 0], [40, 0]], [[30, 10], [10, 30]], [[30, 10], [10, 30]]]))
    assert not any(np.isnan(array).any() for array in vars(found).values())
    low, high = family(found, name, p).limits()
    others = family(found.each(lambda array: array[1:]), name, p[1:]).limits()
    assert low <= high <= max(others[1], name == "median")
    assert lower_limits(found, 0.1)[0] == 0


def test_phi_is_bounded_by_its_own_largest_value():
    batch = TableBatch.from_dense(np.stack([np.diag([20, 20, 20])] * 4))
    found = association(batch)
    known = squares(found, phi_squared(batch, found), phi=True)
    high = family(known, "mean", np.full(4, 0.001)).limits()[1]
    assert 1.2 < high <= np.sqrt(2) + 1e-12


def test_the_median_shows_an_effect_where_half_of_the_classes_do():
    assert combined_p(np.array([1e-6, 1e-6, 1e-6, 0.02, 0.03])) < 0.001
    assert combined_p(np.array([1e-6, 1e-6, 0.5, 0.9, 0.8])) > 0.3
    assert combined_p(np.array([0.2])) == pytest.approx(0.2)
    one_sided = [combined_p(np.r_[np.zeros(4), p]) for p in np.random.default_rng(0).random((400, 5))]
    assert np.mean(np.array(one_sided) <= 0.05) <= 0.07


@pytest.mark.parametrize("classes", range(1, 8))
def test_the_p_of_a_median_is_fishers_of_the_larger_half(classes):
    p = np.random.default_rng(classes).random(classes)
    largest = sorted(p)[classes // 2 :]  # of an odd number the middle one is among them
    assert combined_p(p) == pytest.approx(stats.combine_pvalues(largest).pvalue)


@pytest.mark.parametrize("classes", [2, 3, 4, 7, 8, 13])
def test_effects_are_smoothed_over_half_of_the_classes_on_both_sides_alike(classes):
    values = np.random.default_rng(classes).random(classes)
    ranked, side = np.sort(values), classes // 4
    padded = [ranked[0]] * side + ranked.tolist() + [ranked[-1]] * side
    means = [np.mean(padded[i : i + 2 * side + 1]) for i in range(classes)]
    expected = [means[ranked.tolist().index(value)] for value in values]
    np.testing.assert_allclose(_smoothed(values), expected)


def ends_of(centre, noise, slope, floor, plain, top, p, level):
    """Both limits of one class, by scipy's gamma law and root finding; see ``class_ends``."""
    error, most_t = 1 - level, min(plain, top)

    def tail(t):
        noisy = floor + (plain - centre - floor) * min(max(t / centre, 0), 1) if centre > 0 else floor
        return stats.gamma(
            (t + noisy) ** 2 / (noise + slope * t), scale=(noise + slope * t) / (t + noisy)
        ).sf(plain)

    scale = np.clip(p / tail(0), 1 / 5, 5)

    def below(share):
        if scale * tail(0) > share:
            return 0.0
        if scale * tail(most_t) < share:
            return np.sqrt(most_t)
        return np.sqrt(optimize.brentq(lambda t: scale * tail(t) - share, 0, most_t))

    low = below(error / 2) or below(error)
    z2, middle = stats.norm.isf(error / 2) ** 2, max(centre, -max(stats.norm.ppf(level), 0) * np.sqrt(noise))
    score = np.sort(np.roots([1, -(2 * middle + z2 * slope), middle**2 - z2 * noise]).real)
    least, most = np.sqrt(np.clip(score, 0, top))
    corrected = np.sqrt(np.clip(centre, 0, top))
    low = 0.0 if p > error else min(low, max(least, 0.1 * low))
    return min(low, corrected), max(most, corrected)


@pytest.mark.parametrize("level", [0.95, 0.75])
def test_limits_of_a_class_are_roots_of_its_tail_and_of_its_score(level):
    found, p = facts(two_by_two(np.random.default_rng(4), np.linspace(0, 0.5, 30), n=40))
    p[p.argmin()] = 1e-12  # further from the gamma's than is believed
    at = np.flatnonzero((found.centre > 0) & (p < 1 - level))[-1]
    p[at] = 1 - level
    low, high = class_ends(found, p, level)
    expected = [ends_of(*(array[k] for array in vars(found).values()), p[k], level) for k in range(30)]
    np.testing.assert_allclose(np.transpose([low, high]), expected, rtol=1e-4, atol=1e-5)
    assert low[at] > 0
