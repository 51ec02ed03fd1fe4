"""Labels of neighbours exchanged, and the dyadic variance of precision: against loops over pairs."""

from itertools import permutations

import numpy as np
import pytest

from evenhand.stats.rankings.neighbour_labels import _Moved, relabel
from evenhand.stats.rankings.neighbour_pairs import Marks, NeighbourRows
from evenhand.stats.rates.differences import normal_quantile


def rows(seed=0, n=12, m=15, k=3, *, groups=2, unit=None, item_unit=None):
    """Random neighbours; labels and groups are the same thing."""
    rng = np.random.default_rng(seed)
    items = np.array([rng.choice(m, k, replace=False) for _ in range(n)])
    asked = np.arange(n) % groups
    labels = rng.integers(0, groups, m)
    unit = np.arange(n) if unit is None else unit
    item_unit = 1000 + np.arange(m) if item_unit is None else item_unit
    return NeighbourRows(
        items, np.ones((n, k)), k, Marks(asked, asked.copy(), labels), groups, unit, item_unit
    )


def drawn_alone(found, replicates):
    """The marks of each draw."""
    draws = _Moved.of(found).draws(np.random.default_rng(0), replicates)
    return [one_draw(some, number) for some in draws for number in range(len(some.query_labels))]


def one_draw(marks, number):
    return Marks(marks.query_labels[number], marks.group[number], marks.labels[number])


def test_precision_is_the_mean_of_queries():
    found = rows()
    precision = found.precision(found.marks)
    each = (found.marks.labels[found.items] == found.marks.query_labels[:, None]).mean(axis=1)
    assert precision.total == pytest.approx(each.mean())
    share = np.bincount(found.marks.labels) / 15
    for group in (0, 1):
        assert precision.value[group] == pytest.approx(each[found.marks.group == group].mean())
        assert precision.chance[group] == pytest.approx(share[group])


@pytest.mark.parametrize("clusters", [False, True], ids=["single", "persons on both sides"])
def test_the_covariance_is_that_of_pairs_that_share_a_unit(clusters):
    """``sum over pairs (q, j), (q', j') that share a unit of e e'``, items less the mean of their label."""
    unit, item_unit = (np.arange(12) // 3, np.arange(15) // 3) if clusters else (None, None)
    found = rows(3, unit=unit, item_unit=item_unit)
    marks, k = found.marks, found.k
    n = np.bincount(marks.group)
    value = found.precision(marks).value
    away = (marks.labels[found.items] == marks.query_labels[:, None]) - value[marks.group][:, None]
    away = away / (n[marks.group][:, None] * k)
    total = np.zeros((40, 2))
    item = np.zeros((15, 2))
    cell = {}
    for q in range(12):
        for place in range(k):
            j, g, e = found.items[q, place], marks.group[q], away[q, place]
            ends = (found.unit[q], found.item_unit[j] % 1000 + (0 if clusters else 20))
            total[ends[0], g] += e
            item[j, g] += e
            cell.setdefault(ends, np.zeros(2))[g] += e
    for label in (0, 1):
        some = marks.labels == label
        item[some & np.isin(np.arange(15), found.items)] -= item[some].sum(axis=0) / some.sum()
    for j in range(15):
        total[found.item_unit[j] % 1000 + (0 if clusters else 20)] += item[j]
    for (first, second), e in cell.items():
        if first == second:
            total[first] -= e
    pairs = np.array(list(cell.values()))
    expected = total.T @ total - pairs.T @ pairs
    nothing_left_out = np.zeros((2, 1, found.pairs.units, 2))
    measured = found.pairs.covariance(away[None], marks.once, 2, nothing_left_out)[0]
    assert measured[0, 1] == pytest.approx(expected[0, 1])
    assert (np.diagonal(measured) >= np.diagonal(expected) - 1e-12).all()


def test_draws_held_together_are_what_each_is_alone():
    for unit, item_unit in ((None, None), (np.arange(12) // 3, np.arange(15) // 3)):
        found = rows(5, groups=3, unit=unit, item_unit=item_unit)
        (draws,) = _Moved.of(found).draws(np.random.default_rng(2), 7)
        together = found.precisions(draws)
        for number in range(7):
            alone, one = found.precision(one_draw(draws, number)), together.at(number)
            for name in ("value", "chance", "covariance", "total", "total_chance"):
                np.testing.assert_allclose(getattr(one, name), getattr(alone, name), atol=1e-14)


def test_draws_are_those_of_all_orders():
    """Four queries and five items: mean and spread of precision over all orders of the labels."""
    items = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    marks = Marks(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1, 1]))
    found = NeighbourRows(items, np.ones((4, 2)), 2, marks, 2, np.arange(4), 10 + np.arange(5))
    totals = []
    for asked in permutations(marks.query_labels):
        for labels in permutations(marks.labels):
            same = np.array(labels)[items] == np.array(asked)[:, None]
            totals.append(same.mean())
    drawn = relabel(found, np.random.default_rng(0))
    assert drawn.totals.mean() == pytest.approx(np.mean(totals), abs=0.02)
    assert drawn.totals.std() == pytest.approx(np.std(totals), rel=0.08)
    assert drawn.expected_total == pytest.approx(np.mean(totals))


def test_units_keep_their_labels_together_on_both_sides():
    unit, item_unit = np.repeat(np.arange(4), 3), np.repeat(np.arange(5), 3)
    asked = np.repeat([0, 0, 1, 1], 3)
    labels = np.repeat([0, 0, 1, 1, 1], 3)
    start = rows(unit=unit, item_unit=item_unit)
    found = NeighbourRows(start.items, start.weight, 3, Marks(asked, asked, labels), 2, unit, item_unit)
    seen = set()
    for marks in drawn_alone(found, 40):
        assert marks.query_labels.tolist() == marks.group.tolist() == marks.labels[:12].tolist()
        assert np.ptp(marks.query_labels.reshape(4, 3), axis=1).max() == 0
        assert np.bincount(marks.query_labels).tolist() == [6, 6]
        assert marks.labels[12:].tolist() == [1] * 3  # alone on its side
        seen.add(tuple(marks.query_labels))
    assert len(seen) == 6


def test_labels_of_a_unit_that_has_several_change_places_inside():
    unit = np.array([0, 0, 0, 1, 2, 3])
    asked = np.array([0, 1, 1, 0, 0, 0])
    start = rows(n=6)
    marks = Marks(asked, asked, start.marks.labels)
    found = NeighbourRows(start.items, start.weight, 3, marks, 2, unit, start.item_unit)
    drawn = [marks.query_labels for marks in drawn_alone(found, 40)]
    assert {one[:3].sum() for one in drawn} == {2}
    assert len({tuple(one[:3]) for one in drawn}) == 3
    assert all(one[3:].sum() == 0 for one in drawn)


def test_limits_of_one_person_are_0_and_1_and_hubs_widen_them():
    one = rows(unit=np.zeros(12, dtype=np.int64)).whole().rates
    assert [float(end[0]) for end in one.limits(normal_quantile(0.95))] == [0, 1]
    n, labels = 200, np.arange(40) % 2
    asked = np.arange(n) % 2
    rng = np.random.default_rng(0)
    widths = []
    for items in (
        np.tile(np.arange(6), (n, 1)),
        np.array([rng.choice(40, 6, replace=False) for _ in range(n)]),
    ):
        marks = Marks(asked, asked, labels)
        found = NeighbourRows(items, np.ones(items.shape), 6, marks, 2, np.arange(n), 1000 + np.arange(40))
        low, high = found.rates.limits(normal_quantile(0.95))
        widths.append(high - low)
    assert (widths[0] > 1.5 * widths[1]).all()
