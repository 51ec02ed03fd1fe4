"""Regions, their scores and p, and which explain others: against the vectors, loops and exchanges by hand."""

import json
from itertools import combinations

import numpy as np
import pytest

from evenhand.stats.disparities.redundancy import not_redundant
from evenhand.stats.disparities.search import ClusterExchange, Clusters, RowExchange, step_down
from evenhand.stats.disparities.subgroups import ALL, Cells, Regions, Subgroups
from tests.conftest import SHARED


def choices(attributes, depth=3):
    return [some for size in range(1, depth + 1) for some in combinations(range(attributes), size)]


def cells_of(levels, rows, wrong):
    """From groups' values and tables of class x group; groups without rows are left out."""
    rows, wrong = np.array(rows, dtype=float), np.array(wrong, dtype=float)
    truth, group = np.nonzero(rows)
    return Cells(truth, group, rows[truth, group], wrong[truth, group], np.array(levels))


def regions_of(cells, depth=3):
    subgroups = Subgroups.of(cells, choices(cells.levels.shape[1], depth))
    return subgroups, Regions.of(cells, subgroups)


def names(subgroups, regions):
    """What each region is: attributes with their values, and its class."""
    values = subgroups.levels[regions.subgroup].tolist()
    return [
        (tuple((at, value) for at, value in enumerate(row) if value != ALL), truth)
        for row, truth in zip(values, regions.truth.tolist(), strict=True)
    ]


def drawn_table(seed, rows=900, shape=(2, 3, 2), classes=4):
    rng = np.random.default_rng(seed)
    levels = np.stack([code.ravel() for code in np.indices(shape)], axis=1)
    group, truth = rng.integers(len(levels), size=rows), rng.integers(classes, size=rows)
    wrong = rng.random(rows) < 0.15
    table, mistakes = np.zeros((2, classes, len(levels)))
    np.add.at(table, (truth, group), 1)
    np.add.at(mistakes, (truth, group), wrong)
    return cells_of(levels, table, mistakes), (levels, group, truth, wrong)


@pytest.fixture(scope="module")
def vector():
    path = SHARED / "vectors" / "disparities" / "kernels.json"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    return json.loads(path.read_text(encoding="utf-8"))["search"]


def key_of(entry):
    values = tuple(sorted((int(at), value) for at, value in entry["subgroup"].items()))
    return values, ALL if entry["truth"] is None else entry["truth"]


def test_scores_p_and_listed_regions_are_those_of_the_vectors(vector):
    cells = cells_of(np.array(vector["attributes"]).T, vector["rows"], vector["mistakes"])
    subgroups, regions = regions_of(cells)
    number = {name: index for index, name in enumerate(names(subgroups, regions))}
    assert set(number) == {key_of(entry) for entry in vector["tests"]}
    for entry in vector["tests"]:
        index = number[key_of(entry)]
        for name in ("rows", "mistakes", "expected", "variance", "z"):
            assert getattr(regions, name)[index] == pytest.approx(entry[name], rel=1e-9, abs=1e-9)
    p = step_down(RowExchange(cells, subgroups, regions), np.random.default_rng(1), 9_999)
    beyond = np.flatnonzero(p <= 0.05)
    assert {key_of(entry) for entry in vector["found"]} == {names(subgroups, regions)[i] for i in beyond}
    is_listed = not_redundant(cells, subgroups, regions.take(beyond), regions.z[beyond])
    for entry in vector["found"]:
        index = number[key_of(entry)]
        assert p[index] == pytest.approx(entry["p"], abs=0.006)
        assert is_listed[beyond == index].item() == entry["told"]


def test_scores_are_mantel_haenszel_sums_over_classes():
    cells, (levels, group, truth, wrong) = drawn_table(1)
    subgroups, regions = regions_of(cells)
    assert len(regions) > 60
    for index, (values, y) in enumerate(names(subgroups, regions)):
        inside = np.all([levels[group, at] == value for at, value in values], axis=0)
        above = variance = 0.0
        for label in range(4) if y == ALL else [y]:
            here = truth == label
            n, rows, mistakes = (here & inside).sum(), here.sum(), wrong[here].sum()
            above += wrong[here & inside].sum() - n * mistakes / rows
            variance += n * (rows - n) * mistakes * (rows - mistakes) / (rows**2 * (rows - 1))
        assert regions.z[index] == pytest.approx(above / variance**0.5, rel=1e-9, abs=1e-12)
        assert regions.rows[index] + regions.rest_rows[index] == (truth == y).sum() or y == ALL


def test_draws_have_the_moments_of_mistakes_that_fall_at_random():
    cells, _ = drawn_table(2)
    subgroups, regions = regions_of(cells)
    draws = RowExchange(cells, subgroups, regions).drawn(np.random.default_rng(0), 4_000)
    assert np.abs(draws.mean(axis=1)).max() < 5 / 4_000**0.5
    assert draws.var(axis=1) == pytest.approx(np.ones(len(regions)), abs=0.15)


def test_rows_that_are_dealt_and_counts_that_are_drawn_are_alike(monkeypatch):
    cells, _ = drawn_table(3)
    exchange = RowExchange(cells, *regions_of(cells))
    quantiles = []
    for most in (0, 20_000_000):
        monkeypatch.setattr("evenhand.stats.disparities.search._MOST_DEALT", most)
        largest = exchange.drawn(np.random.default_rng(4), 4_000).max(axis=0)
        quantiles.append(np.quantile(largest, [0.1, 0.5, 0.9]))
    assert quantiles[0] == pytest.approx(quantiles[1], abs=0.12)


def test_p_counts_the_largest_scores_of_those_not_larger():
    """By loops, over the same draws; in pieces of few draws too."""
    cells, _ = drawn_table(5, rows=400)
    exchange = RowExchange(cells, *regions_of(cells))
    draws, observed = exchange.drawn(np.random.default_rng(7), 99), exchange.observed()
    order, expected, last = np.argsort(-observed, kind="stable"), {}, 0.0
    for place, index in enumerate(order):
        reached = draws[order[place:]].max(axis=0) >= observed[index] - 1e-9
        last = max(last, (1 + reached.sum()) / 100)
        expected[int(index)] = last
    p = step_down(exchange, np.random.default_rng(7), 99)
    assert p.tolist() == [expected[index] for index in range(p.size)]


def test_the_same_rows_are_searched_once():
    """Every Lagos row is of Nigeria; a third attribute has one value."""
    levels = [(0, 0, 0), (1, 1, 0), (2, 1, 0)]
    cells = cells_of(levels, [[60, 50, 40]], [[6, 9, 4]])
    subgroups, regions = regions_of(cells)
    searched = [tuple(row) for row in subgroups.levels.tolist()]
    assert searched == [(0, ALL, ALL), (1, ALL, ALL), (2, ALL, ALL), (ALL, 1, ALL)]
    assert len(regions) == 8  # each also within the class


@pytest.mark.parametrize("rows", [[[3, 4]], [[30, 0]], [[0, 0]]])
def test_tables_that_are_too_small_have_no_region(rows):
    cells = cells_of([(0,), (1,)], rows, np.array(rows) // 3)
    subgroups, regions = regions_of(cells)
    assert len(regions) == 0
    assert step_down(RowExchange(cells, subgroups, regions), np.random.default_rng(0)).size == 0
    assert not_redundant(cells, subgroups, regions, regions.z).size == 0


def listed_of(levels, rows, wrong, depth=2):
    """What is listed where every region with z of 3 or more is beyond chance."""
    cells = cells_of(levels, rows, wrong)
    subgroups, regions = regions_of(cells, depth)
    beyond = regions.take(regions.z >= 3)
    stays = not_redundant(cells, subgroups, beyond, beyond.z)
    return set(names(subgroups, beyond.take(stays))), set(names(subgroups, beyond))


FOUR = [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_wider_subgroup_goes_where_nothing_is_left_of_it():
    listed, beyond = listed_of(FOUR, [[200] * 4], [[70, 20, 20, 20]])
    assert {(((0, 0),), ALL), (((1, 0),), ALL)} < beyond
    assert listed == {(((0, 0), (1, 0)), ALL)}


def test_a_narrower_subgroup_goes_where_it_does_not_stand_out():
    listed, beyond = listed_of(FOUR, [[200] * 4], [[50, 50, 20, 20]])
    assert (((0, 0), (1, 0)), ALL) in beyond
    assert listed == {(((0, 0),), ALL)}


def test_harm_in_one_class_is_listed_there():
    """Class 1 alone; of harm in both classes the subgroup of all is listed."""
    levels = [(0,), (1,)]
    assert listed_of(levels, [[200, 200], [200, 200]], [[20, 20], [70, 20]])[0] == {(((0, 0),), 1)}
    assert listed_of(levels, [[200, 200], [200, 200]], [[60, 20], [60, 20]])[0] == {(((0, 0),), ALL)}


def test_regions_that_explain_each_other_in_a_circle_leave_one():
    from evenhand.stats.disparities.redundancy import _retained_mask

    dropped, by = np.array([0, 1, 2, 3]), np.array([1, 2, 0, 4])
    assert _retained_mask(dropped, by, np.array([1.0, 3.0, 2.0, 9.0, 1.0])).tolist() == [
        False, True, False, False, True,
    ]  # fmt: skip


def clusters_of(unit, truth, wrong, group):
    keys, piece = np.unique(truth * len(group) + unit, return_inverse=True)
    sums = [np.bincount(piece, values).astype(float) for values in (np.ones(unit.size), wrong)]
    return Clusters(keys // len(group), keys % len(group), sums[0], sums[1], group)


def test_clusters_of_one_row_score_as_rows():
    cells, (_, group, truth, wrong) = drawn_table(6)
    subgroups, regions = regions_of(cells)
    unit = np.arange(group.size)
    exchange = ClusterExchange(clusters_of(unit, truth, wrong, group), subgroups, regions)
    assert exchange.enough.all()
    assert exchange.observed() == pytest.approx(regions.z, rel=1e-9, abs=1e-9)
    p = step_down(exchange, np.random.default_rng(0), 999)
    assert p.min() == pytest.approx(step_down(RowExchange(cells, subgroups, regions),
                                              np.random.default_rng(1), 999).min(), abs=0.08)  # fmt: skip


def person_table(seed, people=80):
    """Persons with 8 to 16 rows each in several classes, who are wrong more or less often."""
    rng = np.random.default_rng(seed)
    levels = np.array([(a, b) for a in range(2) for b in range(3)])
    person_group = rng.integers(6, size=people)
    unit = np.repeat(np.arange(people), rng.integers(8, 17, people))
    truth, wrong = rng.integers(3, size=unit.size), rng.random(unit.size) < rng.beta(0.6, 3.4, people)[unit]
    table, mistakes = np.zeros((2, 3, 6))
    np.add.at(table, (truth, person_group[unit]), 1)
    np.add.at(mistakes, (truth, person_group[unit]), wrong)
    return cells_of(levels, table, mistakes), clusters_of(unit, truth, wrong, person_group)


def test_persons_who_change_groups_seldom_look_different():
    """60 tables without a difference: 5 % in the mean; more than 8 of 60 in one of a hundred such tests."""
    by_person = by_row = 0
    for seed in range(60):
        cells, clusters = person_table(seed)
        subgroups, regions = regions_of(cells)
        rng = np.random.default_rng(seed)
        by_person += step_down(ClusterExchange(clusters, subgroups, regions), rng, 99).min() <= 0.05
        by_row += step_down(RowExchange(cells, subgroups, regions), rng, 99).min() <= 0.05
    assert by_person <= 8
    assert by_row > 20  # what it would be if rows of a person were independent


def test_a_region_of_one_cluster_is_not_tested():
    """g0 is one person of 30 rows."""
    group = np.array([0, *[1] * 40])
    unit = np.r_[np.zeros(30, int), np.repeat(np.arange(1, 41), 2)]
    truth, wrong = np.zeros(unit.size, int), np.arange(unit.size) % 5 == 0
    levels = [(0,), (1,)]
    cells = cells_of(levels, [[30, 80]], [[wrong[:30].sum(), wrong[30:].sum()]])
    subgroups, regions = regions_of(cells)
    assert len(regions) == 4
    assert not ClusterExchange(clusters_of(unit, truth, wrong, group), subgroups, regions).enough.any()
