"""Labels of neighbours exchanged, and the dyadic variance of precision: against loops over pairs."""

from dataclasses import replace
from itertools import combinations, permutations
from math import sqrt

import numpy as np
import pytest

from evenhand.stats import arrays
from evenhand.stats.rankings import neighbour_labels
from evenhand.stats.rankings.neighbour_labels import (
    RelabelledGroups,
    RelabelledPrecision,
    _in_errors,
    _Moved,
    relabel,
)
from evenhand.stats.rankings.neighbour_pairs import FirstItems, Marks, NeighbourRows, Precisions
from evenhand.stats.rates.rates import normal_quantile


def rows(seed=0, n=12, m=15, k=3, *, groups=2, unit=None, item_unit=None):
    """Random neighbours; labels and groups are the same thing."""
    rng = np.random.default_rng(seed)
    items = np.array([rng.choice(m, k, replace=False) for _ in range(n)])
    query_labels = np.arange(n) % groups
    labels = rng.integers(0, groups, m)
    unit = np.arange(n) if unit is None else unit
    item_unit = 1000 + np.arange(m) if item_unit is None else item_unit
    return NeighbourRows(
        items, np.ones((n, k)), k, Marks(query_labels, query_labels.copy(), labels), groups, unit, item_unit
    )


def drawn_alone(neighbours, replicates):
    """The marks of each draw."""
    draws = _Moved.of(neighbours).draws(np.random.default_rng(0), replicates)
    return [one_draw(some, number) for some in draws for number in range(len(some.query_labels))]


def one_draw(marks, number):
    return Marks(marks.query_labels[number], marks.group[number], marks.labels[number])


def test_precision_is_the_mean_of_queries():
    neighbours = rows()
    precision = neighbours.precision(neighbours.marks)
    each = (neighbours.marks.labels[neighbours.items] == neighbours.marks.query_labels[:, None]).mean(axis=1)
    assert precision.total == pytest.approx(each.mean())
    share = np.bincount(neighbours.marks.labels) / 15
    for group in (0, 1):
        assert precision.value[group] == pytest.approx(each[neighbours.marks.group == group].mean())
        assert precision.chance[group] == pytest.approx(share[group])


PERSONS = np.arange(12) // 3, np.arange(15) // 3


@pytest.mark.parametrize("left_out", [False, True], ids=["as they are", "shares left out"])
@pytest.mark.parametrize(
    ("unit", "item_unit"),
    [(None, None), PERSONS, (PERSONS[0], 1000 + PERSONS[1])],
    ids=["single", "persons on both sides", "persons of one side each"],
)
def test_the_covariance_is_that_of_pairs_that_share_a_unit(unit, item_unit, left_out):
    """``sum over pairs (q, j), (q', j') that share a unit of e e'``, items less the mean of their label."""
    neighbours = rows(3, unit=unit, item_unit=item_unit)
    marks, k = neighbours.marks, neighbours.k
    marks.labels[neighbours.items[0, 0]] = -1  # nobody asks for it, and it is the only one
    n = np.bincount(marks.group)
    value = neighbours.precision(marks).value
    away = (marks.labels[neighbours.items] == marks.query_labels[:, None]) - value[marks.group][:, None]
    away = away / (n[marks.group][:, None] * k)
    codes = np.unique(
        np.concatenate([neighbours.unit, neighbours.item_unit[np.unique(neighbours.items)]])
    ).tolist()
    share = np.zeros((2, len(codes), 2))
    if left_out:
        share = np.random.default_rng(1).uniform(0, 0.5, share.shape)
        share[0, 0, 0] = share[1, -1, 1] = 0.99  # a unit left out makes a part 20 times larger at most
    asking, owned, item = np.zeros((len(codes), 2)), np.zeros((len(codes), 2)), np.zeros((15, 2))
    cell = {}
    for q in range(12):
        for place in range(k):
            j, g, e = neighbours.items[q, place], marks.group[q], away[q, place]
            ends = codes.index(neighbours.unit[q]), codes.index(neighbours.item_unit[j])
            asking[ends[0], g] += e
            item[j, g] += e
            cell.setdefault(ends, np.zeros(2))[g] += e
    for label in (-1, 0, 1):
        some = marks.labels == label
        item[some & np.isin(np.arange(15), neighbours.items)] -= item[some].sum(axis=0) / some.sum()
    for j in np.unique(neighbours.items):
        owned[codes.index(neighbours.item_unit[j])] += item[j]
    asking, owned = (
        part / np.maximum(1 - gone, 0.05) for part, gone in ((asking, share[0]), (owned, share[1]))
    )
    total = asking + owned
    for (first, second), e in cell.items():
        if first == second:
            total[first] -= e
    pairs = np.array(list(cell.values()))
    expected = total.T @ total - pairs.T @ pairs
    code = np.arange(2)
    expected[code, code] = np.maximum(expected[code, code], (asking**2).sum(axis=0))
    measured = neighbours.pairs.covariance(away[None], marks.once, 2, share[:, None])[0]
    np.testing.assert_allclose(measured, expected, atol=1e-12)


def test_draws_held_together_are_what_each_is_alone():
    for unit, item_unit in ((None, None), PERSONS, (PERSONS[0], 1000 + PERSONS[1])):
        neighbours = rows(5, groups=3, unit=unit, item_unit=item_unit)
        (draws,) = _Moved.of(neighbours).draws(np.random.default_rng(2), 7)
        together = neighbours.precisions(draws)
        for number in range(7):
            alone, part = neighbours.precision(one_draw(draws, number)), together.at(number)
            for name in ("value", "chance", "covariance", "total", "total_chance"):
                np.testing.assert_allclose(getattr(part, name), getattr(alone, name), atol=1e-14)


def test_draws_are_those_of_all_orders():
    """Four queries and five items: mean and spread of precision over all orders of the labels."""
    items = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    marks = Marks(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1, 1]))
    neighbours = NeighbourRows(items, np.ones((4, 2)), 2, marks, 2, np.arange(4), 10 + np.arange(5))
    totals = []
    for query_labels in permutations(marks.query_labels):
        for labels in permutations(marks.labels):
            same = np.array(labels)[items] == np.array(query_labels)[:, None]
            totals.append(same.mean())
    drawn = relabel(neighbours, np.random.default_rng(0))
    assert drawn.totals.mean() == pytest.approx(np.mean(totals), abs=0.02)
    assert drawn.totals.std() == pytest.approx(np.std(totals), rel=0.08)
    assert drawn.expected_total == pytest.approx(np.mean(totals))


def test_units_keep_their_labels_together_on_both_sides():
    unit, item_unit = np.repeat(np.arange(4), 3), np.repeat(np.arange(5), 3)
    query_labels = np.repeat([0, 0, 1, 1], 3)
    labels = np.repeat([0, 0, 1, 1, 1], 3)
    start = rows(unit=unit, item_unit=item_unit)
    neighbours = NeighbourRows(
        start.items, start.weight, 3, Marks(query_labels, query_labels, labels), 2, unit, item_unit
    )
    seen = set()
    for marks in drawn_alone(neighbours, 40):
        assert marks.query_labels.tolist() == marks.group.tolist() == marks.labels[:12].tolist()
        assert np.ptp(marks.query_labels.reshape(4, 3), axis=1).max() == 0
        assert np.bincount(marks.query_labels).tolist() == [6, 6]
        assert marks.labels[12:].tolist() == [1] * 3  # alone on its side
        seen.add(tuple(marks.query_labels))
    assert len(seen) == 6


def test_units_change_places_with_those_of_the_same_sides():
    """Units 0-2 on both sides, 3-5 only asked about, 6-8 only in the database; groups are not the labels."""
    query_labels, labels = np.array([0, 1, 1, 2, 2, 3]), np.array([0, 1, 1, -1, 4, 4])
    group = np.array([1, 0, 0, 2, 2, 3])
    marks = Marks(query_labels, group, labels)
    unit, item_unit = np.arange(6), np.array([0, 1, 2, 6, 7, 8])
    neighbours = NeighbourRows(np.arange(6)[:, None], np.ones((6, 1)), 1, marks, 4, unit, item_unit)
    group_of = dict(zip(query_labels.tolist(), group.tolist(), strict=True))
    seen = []
    for draw in drawn_alone(neighbours, 60):
        assert [group_of[label] for label in draw.query_labels.tolist()] == draw.group.tolist()
        assert draw.labels[:3].tolist() == draw.query_labels[:3].tolist()
        seen.append((draw.query_labels[:3], draw.query_labels[3:], draw.labels[3:]))
    for kind, start in zip(zip(*seen, strict=True), ([0, 1, 1], [2, 2, 3], [-1, 4, 4]), strict=True):
        assert {tuple(part.tolist()) for part in kind} == set(permutations(start))


def test_a_unit_asked_for_one_label_that_holds_another_keeps_both():
    query_labels, labels = np.array([0, 0, 1, 1]), np.array([1, 0, 1, 1])  # unlike in unit 0
    marks, unit = Marks(query_labels, query_labels, labels), np.arange(4)
    neighbours = NeighbourRows(unit[:, None], np.ones((4, 1)), 1, marks, 2, unit, unit)
    draws = drawn_alone(neighbours, 40)
    assert {(int(draw.query_labels[0]), int(draw.labels[0])) for draw in draws} == {(0, 1)}
    assert {tuple(draw.query_labels[1:].tolist()) for draw in draws} == set(permutations([0, 1, 1]))
    assert all(draw.labels[1:].tolist() == draw.query_labels[1:].tolist() for draw in draws)


def test_draws_are_as_many_as_their_work_allows_and_held_up_to_a_bound(monkeypatch):
    neighbours = rows()  # 12 queries of 3 neighbours, 15 items
    for bound, fewest, most, draws in (
        (51 * 60, 1, 999, 60), (51 * 60 - 1, 1, 999, 59), (51 * 60, 70, 999, 70), (51 * 60, 1, 20, 20),
    ):  # fmt: skip
        for name, number in (("_WORK", bound), ("_FEWEST", fewest), ("_MOST", most)):
            monkeypatch.setattr(neighbour_labels, name, number)
        drawn = relabel(neighbours, np.random.default_rng(0))
        assert drawn.value.shape == (draws, 2)
        assert drawn.totals.shape == (draws,)
    occurring = np.unique(neighbours.items).size
    numbers = 36 + (2 * (12 + occurring) + occurring) * 2  # of pairs; of units asking and owning, and items
    for bound, sizes in ((4 * numbers, [4, 4, 2]), (4 * numbers - 1, [3, 3, 3, 1]), (1, [1] * 10)):
        monkeypatch.setattr(arrays, "_OF_A_BLOCK", bound * neighbour_labels._ARRAYS)
        pieces = _Moved.of(neighbours).draws(np.random.default_rng(0), 10)
        assert [len(piece.query_labels) for piece in pieces] == sizes


def test_precision_above_chance_is_that_of_all_orders():
    """Three queries and four items in two groups of unlike chance."""
    items = np.array([[0, 1], [0, 2], [0, 3]])
    marks = Marks(np.array([0, 0, 1]), np.array([0, 0, 1]), np.array([0, 1, 1, 1]))
    neighbours = NeighbourRows(items, np.ones((3, 2)), 2, marks, 2, np.arange(3), 10 + np.arange(4))
    above = []
    for query_labels in map(np.array, permutations(marks.query_labels)):
        for labels in map(np.array, permutations(marks.labels)):
            same = (labels[items] == query_labels[:, None]).mean(axis=1)
            above.append([same[query_labels == group].mean() - (labels == group).mean() for group in (0, 1)])
    drawn = relabel(neighbours, np.random.default_rng(0))
    assert drawn.value.mean(axis=0) == pytest.approx(np.mean(above, axis=0), abs=0.03)
    assert drawn.value.std(axis=0) == pytest.approx(np.std(above, axis=0), rel=0.1)


def test_labels_of_a_unit_that_has_several_change_places_inside():
    unit = np.array([0, 0, 0, 1, 2, 3])
    query_labels = np.array([0, 1, 1, 0, 0, 0])
    start = rows(n=6)
    marks = Marks(query_labels, query_labels, start.marks.labels)
    neighbours = NeighbourRows(start.items, start.weight, 3, marks, 2, unit, start.item_unit)
    drawn = [marks.query_labels for marks in drawn_alone(neighbours, 40)]
    assert {tuple(codes[:3]) for codes in drawn} == {(0, 1, 1), (1, 0, 0)}  # what is alike stays together
    assert all(codes[3:].sum() == 0 for codes in drawn)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("codes", [[0, 2], [2, 1, 0]])
@pytest.mark.parametrize("observed", [[0.35, 0.6, 0.75], [0.52, 0.5, 0.51]], ids=["far apart", "too near"])
def test_gaps_of_exchanged_labels_are_those_of_a_loop_over_groups(observed, codes, shared):
    rng, chance = np.random.default_rng(6), np.array([0.3, 0.4, 0.55])
    excess = rng.normal(0.05, 0.04, (39, 3))
    excess[0] = -0.7, 0.9, 0.9  # beyond 0 and 1
    roots = rng.normal(0, 0.04, (40, 3, 3))
    covariance = roots @ roots.transpose(0, 2, 1)
    own = Precisions(np.array(observed), chance, covariance[0], np.array(0.52), np.array(0.45))
    exchanged = RelabelledPrecision(own, excess, covariance[1:], excess[:, 0], shared)
    expected = chance + (excess.mean(axis=0) if shared else 0)
    expected_total = 0.45 + (excess[:, 0].mean() if shared else 0)

    def compared(away, matrix):
        """Of each two groups: how far their difference is from what is expected, and its error."""
        for a, b in combinations(codes, 2):
            apart = matrix[a, a] + matrix[b, b]
            error = sqrt(max(apart - 2 * matrix[a, b], 0.1 * apart))
            yield abs(away[a] - away[b]), error

    largest = np.sort(
        [
            max(apart / error for apart, error in compared(chance + row - expected, matrix))
            for row, matrix in zip(excess, covariance[1:], strict=True)
        ]
    )
    by_chance = max(apart for apart, _ in compared(expected, covariance[0]))
    beyond = [(apart, (apart - by_chance) / error) for apart, error in compared(observed, covariance[0])]
    most, widest = max(t for _, t in beyond), abs(max(beyond)[1])
    groups = RelabelledGroups(exchanged, np.array(codes))
    assert np.ptp(groups.expected) == pytest.approx(by_chance)
    assert groups.largest.p_value == (1 + (largest >= most).sum()) / 40
    assert groups.p_either() == (1 + (largest >= widest).sum()) / 40
    assert groups.largest.quantile(0.95) == pytest.approx(largest[37])  # 36.1 of 38
    assert groups.largest.quantile(0.5) == pytest.approx(largest[19])
    moved = np.clip(chance + excess, 0, 1)
    np.testing.assert_allclose(exchanged.rates, moved)
    np.testing.assert_allclose(exchanged.totals, np.clip(0.45 + excess[:, 0], 0, 1))
    far = [(np.abs(moved[:, g] - expected[g]) >= abs(observed[g] - expected[g])).sum() for g in range(3)]
    assert exchanged.p_each().tolist() == [(1 + number) / 40 for number in far]
    far_in_all = np.abs(np.clip(0.45 + excess[:, 0], 0, 1) - expected_total) >= abs(0.52 - expected_total)
    assert exchanged.p_total() == (1 + far_in_all.sum()) / 40


@pytest.mark.parametrize(("excess", "expected"), [(0.3, 1), (-0.95, 0)])
def test_expected_precision_is_a_share(excess, expected):
    own = Precisions(np.zeros(1), np.array([0.9]), np.zeros((1, 1)), np.array(0.0), np.array(0.9))
    exchanged = RelabelledPrecision(
        own, np.full((5, 1), excess), np.zeros((5, 1, 1)), np.full(5, excess), True
    )
    assert exchanged.expected.tolist() == [expected]
    assert exchanged.expected_total == expected


def test_a_difference_without_error_is_beyond_all_unless_it_is_none():
    apart, error = np.array([0.0, 1e-12, 0.1, -0.1, 0.2, -0.3]), np.array([0.0, 0, 0, 0, 0.1, 0.1])
    assert _in_errors(apart, error).tolist() == pytest.approx([0, 0, np.inf, -np.inf, 2, -3])


def test_limits_of_one_person_are_0_and_1_and_hubs_widen_them():
    rates = rows(unit=np.zeros(12, dtype=np.int64)).whole().rates
    assert [float(end[0]) for end in rates.limits(normal_quantile(0.95))] == [0, 1]
    n, labels = 200, np.arange(40) % 2
    query_labels = np.arange(n) % 2
    rng = np.random.default_rng(0)
    widths = []
    for items in (
        np.tile(np.arange(6), (n, 1)),
        np.array([rng.choice(40, 6, replace=False) for _ in range(n)]),
    ):
        marks = Marks(query_labels, query_labels, labels)
        neighbours = NeighbourRows(
            items, np.ones(items.shape), 6, marks, 2, np.arange(n), 1000 + np.arange(40)
        )
        low, high = neighbours.rates.limits(normal_quantile(0.95))
        widths.append(high - low)
    assert (widths[0] > 1.5 * widths[1]).all()


def test_the_share_of_neighbours_that_are_there():
    assert rows(n=1, m=1, k=1, groups=1).fits == 1
    assert replace(rows(n=4, m=9, k=3), k=4).fits == 0.75
    assert FirstItems.in_order((3, 5), 2).tied.shape == (3,)
