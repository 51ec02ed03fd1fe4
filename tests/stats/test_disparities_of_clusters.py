"""Disparities of rows in clusters: scores, exchange and sizes against a plain reference."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats
from simulations.battery.disparities import Persons, Tables

from evenhand import Predictions, metrics
from evenhand.stats.disparities.candidates import Candidates, Mistakes
from evenhand.stats.disparities.clusters import ClusterRows, clustered_lines
from evenhand.stats.rates.clustered import ClusterMean


def people(seed, n=60, photos=12, classes=3, groups=3, hurt=0.0, alike=True, several=False):
    """Photos of people who each have their own error rates; ``several``: a person is in several groups."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n), photos)
    group = rng.integers(groups, size=person.size) if several else rng.integers(groups, size=n)[person]
    truth = rng.integers(classes, size=person.size)
    rate = (rng.beta(0.4, 3, (n, classes)) if alike else np.full((n, classes), 0.12))[person, truth]
    is_hurt = (group == 0) & (truth == 0) & (rng.random(person.size) < hurt)
    wrong = (truth + rng.integers(1, classes, person.size)) % classes
    prediction = np.where(is_hurt, 1, np.where(rng.random(person.size) < rate, wrong, truth))
    return np.stack([truth, group, prediction, person])


PLANTED = (pl.col("truth") == "c0") & (pl.col("group") == "g0") & (pl.col("prediction") == "c1")


def evidence_of(codes, cluster):
    names = [[f"{letter}{code}" for code in row] for letter, row in zip("cgcp", codes.tolist(), strict=True)]
    table = pl.DataFrame(dict(zip(("truth", "group", "prediction", "person"), names, strict=True)))
    return Predictions.from_frame(table, truth="truth", prediction="prediction", cluster=cluster)


def disparities_of(codes, cluster="person"):
    return metrics.disparities(evidence_of(codes, cluster), by="group")


def lines_of(codes, groups, replicates=99):
    cells, n = np.unique(codes[:3], axis=1, return_counts=True)
    mistakes = Mistakes.of_cells(*cells, n, n, groups)
    return clustered_lines(
        Candidates.of(mistakes, 5), ClusterRows(*codes), np.random.default_rng(0), 0.05, replicates
    )


@pytest.mark.parametrize("several", [False, True])
def test_sizes_are_those_of_leaving_out_each_cluster(several):
    codes = people(3, several=several)
    lines = lines_of(codes, 3)
    truth, group, prediction, person = codes
    for index in range(0, len(lines), 5):
        for side, inside in enumerate((group == lines.group[index], group != lines.group[index])):
            some = inside & (truth == lines.truth[index])
            label = lines.label[index]
            hit = (prediction != truth) if label < 0 else prediction == label
            clusters, local = np.unique(person[some], return_inverse=True)
            w = np.bincount(local).astype(float)
            s = np.bincount(local, hit[some])
            mean = ClusterMean.of(s, w, w, clusters, 60)
            assert lines.spread.sizes[side][index] == pytest.approx(mean.size, rel=1e-9)
            assert lines.spread.freedom[side][index] == pytest.approx(max(mean.effective - 1, 1))
    assert (lines.spread.correlation is not None) == several


def test_q_is_that_of_the_largest_score_of_those_left():
    lines = lines_of(people(4, hurt=0.4), 3, replicates=199)
    order = np.argsort(-np.abs(lines.score), kind="stable")
    exchanged = order[lines.p_of_limits[order] <= 1e-3]  # whose limits do not raise it
    assert (np.diff(lines.q[exchanged]) >= 0).all()
    assert (lines.q >= lines.p - 1e-12).all()
    assert lines.p.min() == lines.q.min() == 1 / 200


def test_the_p_of_limits_is_where_they_reach_0():
    lines = lines_of(people(4, hurt=0.4), 3, replicates=199)
    some = np.flatnonzero(lines.p_of_limits < 1)
    assert some.size
    for index in some:
        for factor, leaves_out in ((0.99, False), (1.01, True)):
            line = replace(lines.take(np.array([index])), level=1 - factor * lines.p_of_limits[index])
            assert (line.near[0] > 0) == leaves_out


@pytest.mark.parametrize(
    "tables",
    [
        Tables(3, 2, persons=Persons((20, 20), [(2, 6), (20, 40)])),  # groups are alike
        Tables(5, 3, persons=Persons((30, 20, 10), [(2, 40)] * 3), plants=1, added=(0.4, 0.4)),
    ],
    ids=["alike", "planted"],
)
def test_what_is_listed_has_limits_that_leave_out_0(tables):
    shown = []
    for seed in range(25):
        counts = tables.draw(np.random.default_rng([7, seed])).counts
        finding = metrics.disparities(counts, by="group", seed=seed)
        ends = [part.interval for part in finding.parts if part.kind in ("mistake", "miss")]
        assert bool(ends) == (finding.p_value <= 0.05)
        shown += [end.low > 0 or end.high < 0 for end in ends]
    assert all(shown)
    assert len(shown) <= 2 if tables.plants == 0 else len(shown) > 10


def test_a_planted_mistake_is_listed_and_people_who_differ_are_not():
    """30 tables of 60 people x 12 photos whose errors are alike, 3 classes x 3 groups; 15 with a mistake."""
    fair = [disparities_of(people(seed)).value > 0 for seed in range(30)]
    alone = [disparities_of(people(seed), None).value > 0 for seed in range(30)]
    assert sum(fair) <= 5  # .08 of 30 in the mean; more in one of 30 such tests
    assert sum(alone) > sum(fair)
    firsts = [disparities_of(people(seed, hurt=0.5)).parts[0].key for seed in range(15)]
    assert firsts.count(["c0", "g0", "c1"]) >= 12


def test_groups_of_one_person_have_no_p():
    codes = people(1, n=3)
    codes[1] = codes[3]
    finding = disparities_of(codes)
    assert (finding.value, finding.reason, finding.p_value) == (None, "one_cluster", None)


def test_clusters_of_one_row_have_the_intervals_of_rows():
    codes = people(2, n=500, photos=1, alike=False, hurt=0.4)
    lines = [metrics.disparity_lines(evidence_of(codes, cluster), by="group") for cluster in ("person", None)]
    mine, plain = (table.row(by_predicate=PLANTED, named=True) for table in lines)
    for end in ("low", "high"):
        assert mine[end] == pytest.approx(plain[end], abs=0.01)


def test_p_of_other_tables_is_that_of_a_score_at_the_sizes_of_the_line():
    line = lines_of(people(3), 3).take(np.array([0]))
    (mine,), (elsewhere,) = line.spread.sizes
    count, size, total, hits = (np.array([number]) for number in (9.0, 40.0, 120.0, 15.0))
    pooled, first, second = 15 / 120, 40 * mine / line.n[0], 80 * elsewhere / line.m[0]
    score = (9 / 40 - 6 / 80) / np.sqrt(pooled * (1 - pooled) * (1 / first + 1 / second))
    assert line.p_of(count, size, total, hits) == pytest.approx(2 * stats.norm.sf(score))


def test_the_band_of_a_listed_line_does_not_hold_its_value():
    """The test of a line is studentised and stepped down, its band is of plain shares."""
    for seed in range(105, 125):
        found = disparities_of(people(seed, n=40, photos=12, classes=2, groups=2, hurt=0.2)).parts
        listed = {part.details["rank"]: part for part in found if part.kind in ("mistake", "miss")}
        shown = [part for part in found if part.kind == "share" and part.details["line"] in listed]
        for part in shown:
            line = listed[part.details["line"]]
            if part.key[:2] == line.key[:2]:
                assert not part.null.low <= part.value <= part.null.high
