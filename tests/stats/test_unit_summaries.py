"""Summaries with whole units drawn again: a naive loop, groups that keep their rows, pairs that stay."""

import numpy as np
import pytest

from evenhand.stats.contingency.unit_summaries import SamplingUnits, UnitEntries, replicated_by_unit
from tests.stats.test_model_summaries import apart, random_joint, sizes_of

UNITS, GROUPS, LABELS = 12, 2, 6


def streams(start):
    return np.random.default_rng([5, start])


def classes_and_units(count=4, *, other_units=False, alike=False):
    """Classes of two models, each cell's rows dealt to the units of its group."""
    classes = [apart(random_joint(label, GROUPS, 90, seed=3)) for label in range(count)]
    if alike:
        for one in classes:
            one.n[1] = one.n[0]
    rng, rows = np.random.default_rng(1), []
    for model in (0, 1):
        entries = []
        for index, one in enumerate(classes):
            for group, prediction, n in zip(one.group, one.prediction, one.n[model], strict=True):
                dealt = rng.multinomial(int(n), np.full(UNITS // 2, 2 / UNITS))
                first = group * (UNITS // 2) + UNITS * model * other_units
                some = np.flatnonzero(dealt).tolist()
                entries += [(index, group, prediction, first + unit, dealt[unit]) for unit in some]
        rows.append(UnitEntries(*np.array(entries, dtype=np.int64).T))
    rows[1] = rows[0] if alike else rows[1]
    return classes, SamplingUnits(rows, UNITS * (2 if other_units else 1))


def test_tables_are_those_of_a_loop_over_units():
    classes, units = classes_and_units()
    times = np.random.default_rng(2).integers(0, 3, (units.count, 5)).astype(float)
    for index, one in enumerate(units.classes(classes)):
        for model, tables in enumerate(one.resampled(times)):
            rows = units.rows[model]
            for draw in range(5):
                naive = np.zeros((GROUPS, LABELS))
                for label, group, prediction, unit, n in zip(
                    rows.label, rows.group, rows.prediction, rows.unit, rows.n, strict=True
                ):
                    if label == index:
                        naive[group, prediction] += n * times[unit, draw]
                observed = np.zeros((GROUPS, LABELS))
                observed[one.cells.group, one.cells.prediction] = classes[index].n[model]
                naive *= observed.sum(axis=1, keepdims=True) / naive.sum(axis=1, keepdims=True)
                assert tables[:, draw] == pytest.approx(naive[one.cells.group, one.cells.prediction])


def test_a_group_of_which_no_unit_is_drawn_keeps_its_answers():
    classes, units = classes_and_units()
    one = units.classes(classes)[0]
    tables = one.resampled(np.r_[np.zeros(UNITS // 2), np.ones(UNITS // 2)][:, None])
    for drawn, observed in zip(tables, classes[0].observed(), strict=True):
        assert drawn == pytest.approx(observed)


def test_units_are_drawn_among_those_of_their_groups_and_models():
    _, units = classes_and_units(other_units=True)
    assert len(set(units.stratum.tolist())) == 4
    assert not units.shared
    _, units = classes_and_units()
    assert units.stratum.tolist() == [units.stratum[0]] * 6 + [units.stratum[-1]] * 6
    assert units.shared


@pytest.mark.parametrize("alike", [True, False])
def test_spread_is_that_between_units_and_models_stay_together(alike):
    classes, units = classes_and_units(alike=alike)
    sizes = sizes_of(classes, GROUPS)
    kept = np.empty((2, len(classes), 600))
    drawn = replicated_by_unit(units, classes, sizes, 600, streams, kept)
    for metric, values in drawn.items():
        assert values.shape == (2, 600), metric
        assert np.array_equal(values[0], values[1]) == alike, metric
    assert drawn["cramers_v_mean"] == pytest.approx(kept.mean(axis=1))
    rows, right = units.rows[0], []
    for unit in range(UNITS):
        hit = (rows.unit == unit) * rows.n
        right.append((float(hit @ (rows.prediction == rows.label)), float(hit.sum())))
    hits, n = np.array(right).T
    variance = 0.0
    for group in range(GROUPS):
        some = slice(group * UNITS // 2, (group + 1) * UNITS // 2)
        away = hits[some] - n[some] * hits[some].sum() / n[some].sum()
        variance += (away**2).sum() / n.sum() ** 2
    assert drawn["accuracy"][0].std() == pytest.approx(np.sqrt(variance), rel=0.25)


def test_one_unit_says_nothing_of_others():
    classes, units = classes_and_units()
    rows = [UnitEntries(one.label, one.group, one.prediction, 0 * one.unit, one.n) for one in units.rows]
    drawn = replicated_by_unit(SamplingUnits(rows, 1), classes, sizes_of(classes, GROUPS), 20, streams)
    assert all(np.isnan(values).all() for values in drawn.values())
