"""Differences of two models' means: beside t tests, mirrored, and as often wrong as they may be."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.paired.means import ComparedMeans, ModelRows

FIGURES = ("mean", "worst", "gap", "range", 0, 1, 2)
RNG = np.random.default_rng(0)


def rows_of(value, group, unit=None, **more):
    return ModelRows(np.asarray(value, float), group, int(group.max()) + 1, unit, **more)


def compared(first, second, *, sign=1, paired=True, figures=FIGURES):
    return ComparedMeans(first, second, figures, sign, first.less(second) if paired else None)


def two_models(rng, rows=96, shift=0.0, noise=0.7):
    """Two models on rows of three groups; the second is lower in the last group."""
    group = np.arange(rows) % 3
    base = rng.standard_normal(rows)
    first, second = (base + noise * rng.standard_normal(rows) for _ in range(2))
    return group, first, second - shift * (group == 2)


def limits(models, figure, level=0.95):
    return models.limits(list(models.figures).index(figure), np.random.default_rng(0))(level)


def test_values_are_those_of_numpy():
    group, first, second = two_models(RNG)
    observed = compared(rows_of(first, group), rows_of(second, group)).observed()
    for model, value in enumerate((first, second)):
        means = [value[group == code].mean() for code in range(3)]
        expected = [value.mean(), min(means), value.mean() - min(means), np.ptp(means), *means]
        assert observed[model] == pytest.approx(expected, rel=1e-12)


def test_means_of_symmetric_differences_are_beside_a_paired_t_test():
    half = np.abs(RNG.standard_normal(60))
    apart = np.concatenate([half, -half]) + 0.1  # without skewness limits are those of t
    first, group = RNG.standard_normal(120), np.zeros(120, dtype=np.int64)
    models = compared(rows_of(first + apart, group), rows_of(first, group), figures=("mean", 0))
    interval = stats.ttest_1samp(apart, 0).confidence_interval()
    for figure in ("mean", 0):
        assert limits(models, figure) == pytest.approx((interval.low, interval.high), rel=1e-3)


def test_clusters_of_one_size_are_beside_a_t_test_of_their_means():
    unit = np.repeat(np.arange(40), 5)
    half = np.repeat(np.abs(RNG.standard_normal(20)), 5)
    apart = np.concatenate([half, -half]) + 0.2
    group, first = np.zeros(200, dtype=np.int64), RNG.standard_normal(200)
    models = compared(rows_of(first + apart, group, unit), rows_of(first, group, unit), figures=("mean",))
    interval = stats.ttest_1samp(apart.reshape(40, 5).mean(axis=1), 0).confidence_interval()
    assert limits(models, "mean") == pytest.approx((interval.low, interval.high), rel=1e-3)
    assert models.count == 40


def test_signs_of_few_units_are_all_enumerated():
    unit = np.array([0, 0, 1, 1, 2, 2, 3, 4, 5])
    apart = np.array([1, 2, 3, -1, 2, 2, 1, -2, 4.0])
    group = np.zeros(9, dtype=np.int64)
    models = compared(rows_of(apart, group, unit), rows_of(0 * apart, group, unit), figures=("mean",))
    sums = np.bincount(unit, apart)
    flipped = [abs(np.dot(signs, sums)) for signs in itertools.product((1, -1), repeat=6)]
    expected = np.mean(np.array(flipped) >= abs(sums.sum()) - 1e-9)
    assert models.p_value(0, np.random.default_rng(0)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("paired", [True, False])
def test_swapped_models_and_turned_signs_mirror_the_limits(figure, paired):
    group, first, second = two_models(RNG, shift=0.4)
    models = [rows_of(value, group) for value in (first, second)]
    low, high = limits(compared(*models, paired=paired), figure)
    swapped = limits(compared(*models[::-1], paired=paired), figure)
    assert swapped == pytest.approx((-high, -low))
    turned = limits(
        compared(*(rows_of(-value, group) for value in (first, second)), sign=-1, paired=paired), figure
    )
    spread = figure in ("gap", "range")
    assert turned == pytest.approx((low, high) if spread else (-high, -low))


def test_a_known_range_and_other_units_of_measurement_change_nothing_else():
    group, first, second = two_models(RNG, shift=0.3)
    first, second = (1 / (1 + np.exp(-value)) for value in (first, second))
    plain = compared(*(rows_of(value, group, ends=(0.0, 1.0)) for value in (first, second)))
    percent = compared(*(rows_of(100 * value, group, ends=(0.0, 100.0)) for value in (first, second)))
    free = compared(*(rows_of(value, group) for value in (first, second)))
    for figure in FIGURES:
        wanted = limits(plain, figure)
        assert limits(percent, figure) == pytest.approx([100 * end for end in wanted])
        assert limits(free, figure) == pytest.approx(wanted, abs=0.05)


def test_weights_are_as_rows_that_come_twice_but_no_surer():
    group, first, second = two_models(RNG)
    weight = 1.0 + (np.arange(96) % 2)
    weighted = compared(*(rows_of(value, group, weight=weight) for value in (first, second)))
    twice = np.repeat(np.arange(96), weight.astype(int))
    repeated = compared(*(rows_of(value[twice], group[twice]) for value in (first, second)))
    assert weighted.observed() == pytest.approx(repeated.observed())
    for figure in ("mean", 0, "gap"):
        (low, high), (low_2, high_2) = limits(weighted, figure), limits(repeated, figure)
        assert high - low > high_2 - low_2


def test_models_that_are_alike_have_no_limits_of_means():
    group, first, _ = two_models(RNG)
    models = compared(rows_of(first, group), rows_of(first, group))
    assert np.isnan(limits(models, "mean")).all()
    assert models.p_value(0, np.random.default_rng(0)) == 1
    low, high = limits(models, "gap")
    assert low < 0 < high


@pytest.mark.parametrize("paired", [True, False])
def test_false_alarms_and_power(paired):
    rng, draws = np.random.default_rng(4), 150
    rates = {}
    for shift in (0.0, 0.9):
        hits = np.zeros(4)
        for _ in range(draws):
            group, first, second = two_models(rng, shift=shift)
            second = second - 2.0 * (group == 2)  # the last group is worst with both
            models = [rows_of(first - 2.0 * (group == 2), group), rows_of(second, group)]
            both = compared(*models, paired=paired)
            ends = [limits(both, figure) for figure in FIGURES[:4]]
            hits += [not low <= 0 <= high for low, high in ends]
        rates[shift] = hits / draws
    assert rates[0.0].max() <= 0.09
    if paired:
        assert rates[0.9][1:3].min() >= 0.8
        assert rates[0.9].min() >= 0.5


@pytest.mark.parametrize("figure", ["worst", "gap"])
def test_the_worst_groups_rows_correlate_as_their_deviations_do(figure):
    group, first, second = two_models(np.random.default_rng(7), shift=2.0)
    first = first - 2.0 * (group == 2)  # the last group is the worst of both models
    models = compared(rows_of(first, group), rows_of(second, group))
    is_worst = group == 2
    weight = is_worst / 32 if figure == "worst" else 1 / 96 - is_worst / 32
    means = (np.array([value[group == code].mean() for code in range(3)])[group] for value in (first, second))
    a, b = (weight * (value - mean) for value, mean in zip((first, second), means, strict=True))
    expected = a @ b / np.sqrt((a @ a) * (b @ b)) * 96 / 98
    assert models._correlation(figure) == pytest.approx(expected)
