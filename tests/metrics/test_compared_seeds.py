"""Recipes over seeds and the order of models, on runs in memory: against scipy and by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.evidence.derivation.paired import Aligned
from evenhand.metrics import skewsize
from evenhand.metrics.differences import ranking as order
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.metrics.differences.seeds import (
    NO_SPREAD,
    SEEDS_AND_SAMPLES,
    SEEDS_ONLY,
    OverSeeds,
    SeedGroup,
    lacking_in,
    seed_part,
)

RUNS = [f"run{i}" for i in range(7)]
ROWS = 240
PLAIN = SeedGroup("plain", (0, 1, 2), ("1", "2", "3"))
BETTER = SeedGroup("better", (3, 4, 5), ("3", "1", "2"))
SINGLE = SeedGroup("single", (6,), ("1",))
VALUES = np.array([0.60, 0.64, 0.59, 0.71, 0.70, 0.78, 0.66])
NORMAL = stats.norm.ppf(0.975)


def table():
    """Truth, group and the answers of seven runs to the same samples."""
    rng = np.random.default_rng(2)
    truth, group = rng.integers(0, 4, ROWS), rng.integers(0, 2, ROWS)
    said = [np.where(rng.random(ROWS) < share, truth, rng.integers(0, 4, ROWS)) for share in VALUES]
    coded = {"truth": truth, **dict(zip(RUNS, said, strict=True))}
    return pl.DataFrame({"group": [f"g{code}" for code in group], **{
        name: [f"c{code}" for code in codes] for name, codes in coded.items()
    }, "n": 1})  # fmt: skip


@pytest.fixture(scope="module")
def compared():
    return ComparedCounts.over(Aligned.of_joined(table(), ["group"], RUNS), RUNS)


@pytest.fixture(scope="module")
def apart():
    tables = [
        table().select("truth", "group", pl.col(name).alias("prediction"), "n")[i:]
        for i, name in enumerate(RUNS)
    ]
    return ComparedCounts.over(Aligned.of_separate(tables, ["group"], RUNS), RUNS)


def over(compared, values=VALUES, noise=0.0, shared=0.0, metric="accuracy"):
    """Seeds with these values, whose replicates vary together and each for itself."""
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(len(values), 1000))
    draws = (draws - draws.mean(axis=1, keepdims=True)) / draws.std(axis=1, ddof=1, keepdims=True)
    together = stats.norm.ppf((np.arange(1000) + 0.5) / 1000)
    values = np.array(values, dtype=float)
    drawn = values[:, None] + noise * draws + shared * together / together.std(ddof=1)
    return OverSeeds(compared, {metric: values}, {metric: drawn})


def ends(found):
    return found.interval.low, found.interval.high


def test_the_spread_is_the_standard_deviation_with_its_chi_square_interval(compared):
    found = over(compared, noise=0.03).spread("accuracy", PLAIN, [(0.5, 0.7), (None, 0.7), (0.5, None)])
    sd = VALUES[:3].std(ddof=1)
    assert found.value == pytest.approx(sd)
    assert ends(found) == pytest.approx([sd * np.sqrt(2 / stats.chi2.ppf(p, 2)) for p in (0.975, 0.025)])
    assert [part.value for part in found.parts] == VALUES[:3].tolist()
    assert [part.interval is None for part in found.parts] == [False, True, True]
    assert (found.parts[0].interval.low, found.parts[0].n) == (0.5, ROWS)
    assert found.details["seeds"] == 3
    assert found.details["mean"] == pytest.approx(VALUES[:3].mean())
    assert found.details["sampling_error"] == pytest.approx(0.03, rel=1e-6)


def test_a_spread_of_shares_is_at_most_one_half_and_that_of_skewsize_is_not(compared):
    wide = [0.1, 0.9, 0.5, *VALUES[3:]]
    assert over(compared, wide).spread("accuracy", PLAIN).interval.high == 0.5
    high = np.std(wide[:3], ddof=1) * np.sqrt(2 / stats.chi2.ppf(0.025, 2))
    skewed = over(compared, wide, metric="skewsize").spread("skewsize", PLAIN)
    assert skewed.interval.high == pytest.approx(high)


def test_a_spread_that_is_0_has_no_interval_and_one_without_a_value_says_which(compared):
    assert over(compared, [0.5] * 7).spread("accuracy", PLAIN).interval is None
    found = over(compared, [0.5, np.nan, 0.6, *VALUES[3:]]).spread("accuracy", PLAIN)
    assert (found.value, found.reason) == (None, "no value for seed 2 of plain")
    assert [part.value for part in found.parts] == [0.5, None, 0.6]
    assert [part.reason for part in found.parts] == [None, "undefined", None]
    assert lacking_in(PLAIN, np.array([0.1, np.inf, np.nan])) == "no value for seed 2, 3 of plain"


def test_few_defined_replicates_give_no_sampling_error(compared):
    seeds = over(compared, noise=0.03)
    for lost, there in ((100, True), (101, False)):
        draws = seeds.draws["accuracy"].copy()
        draws[1, :lost] = np.nan
        found = OverSeeds(compared, seeds.values, {"accuracy": draws}).spread("accuracy", PLAIN)
        assert (found.details["sampling_error"] is not None) == there


def test_the_mean_of_few_seeds_does_not_leave_its_range(compared):
    found = over(compared, [0.95, 1.0, 0.9, 0.05, 0.0, 0.1, 0.5])
    top, bottom = found.mean("accuracy", PLAIN), found.mean("accuracy", BETTER)
    assert (top.high, bottom.low) == (1.0, 0.0)
    low = 0.95 - stats.t.ppf(0.975, 2) * 0.05 / np.sqrt(3)
    assert (top.low, 1 - bottom.high) == pytest.approx((low, low))


def test_equal_seeds_are_paired_in_the_order_of_the_first(compared):
    found = over(compared).difference("accuracy", PLAIN, BETTER)
    told = stats.ttest_rel(VALUES[:3], VALUES[[4, 5, 3]])  # seeds 1, 2 and 3 of both
    assert found.value == pytest.approx(VALUES[:3].mean() - VALUES[3:6].mean())
    assert ends(found) == pytest.approx(tuple(told.confidence_interval(0.95)))
    assert found.p_value == pytest.approx(told.pvalue)
    assert found.details["paired_by"] == "seed"
    assert found.details["degrees_of_freedom"] == pytest.approx(2)
    assert found.interval.method == f"paired t over seeds, {SEEDS_AND_SAMPLES}"
    reach = (found.interval.high - found.interval.low) / 2
    assert (found.null.low, found.null.high) == pytest.approx((-reach, reach))
    error = reach / stats.t.ppf(0.975, 2)
    assert found.mde == pytest.approx(error * (stats.t.ppf(0.975, 2) + stats.t.ppf(0.8, 2)))
    stricter = over(compared).difference("accuracy", PLAIN, BETTER, alpha=0.01)
    assert stricter.mde == pytest.approx(error * (stats.t.ppf(0.995, 2) + stats.t.ppf(0.8, 2)))


@pytest.mark.parametrize("change", [{"seeds_known": False}, {"seeds": ("3", "1", "4")}])
def test_other_seeds_are_two_samples(compared, change):
    other = SeedGroup(**{"name": "better", "places": (3, 4, 5), "seeds": ("3", "1", "2"), **change})
    found = over(compared).difference("accuracy", PLAIN, other)
    told = stats.ttest_ind(VALUES[:3], VALUES[3:6], equal_var=False)
    assert ends(found) == pytest.approx(tuple(told.confidence_interval(0.95)))
    assert (found.p_value, found.details["degrees_of_freedom"]) == pytest.approx((told.pvalue, told.df))
    assert found.details["paired_by"] is None
    assert (found.details["first_seeds"], found.details["second_seeds"]) == (3, 3)


def test_runs_on_samples_of_their_own_are_paired_by_seed_only_where_each_seed_has_them(apart):
    assert over(apart).difference("accuracy", PLAIN, BETTER).details["paired_by"] is None
    own = [SeedGroup(one.name, one.places, one.seeds, own_samples=True) for one in (PLAIN, BETTER)]
    assert over(apart).difference("accuracy", *own).details["paired_by"] == "seed"
    assert over(apart).difference("accuracy", own[0], BETTER).details["paired_by"] is None
    assert over(apart).difference("accuracy", PLAIN, BETTER).details["mix_distance"] > 0


def test_one_run_stands_against_a_further_seed(compared):
    several = VALUES[:3]
    error = several.std(ddof=1) * np.sqrt(1 + 1 / 3)
    reach = stats.t.ppf(0.975, 2) * error
    value = VALUES[6] - several.mean()
    found = over(compared).difference("accuracy", SINGLE, PLAIN)
    assert ends(found) == pytest.approx((value - reach, value + reach))
    back = over(compared).difference("accuracy", PLAIN, SINGLE)
    assert (back.value, *ends(back)) == pytest.approx((-value, -value - reach, -value + reach))
    assert back.p_value == found.p_value == pytest.approx(2 * stats.t.sf(abs(value) / error, 2))


def test_what_samples_do_to_all_seeds_alike_is_counted_once(compared):
    """By seed it cancels; between a run and seeds it does not."""
    seeds = over(compared, shared=0.02)
    assert seeds.difference("accuracy", PLAIN, BETTER).details["sample_error"] == pytest.approx(0, abs=1e-9)
    turned = seeds.draws["accuracy"].copy()
    turned[3:6] = 2 * VALUES[3:6, None] - turned[3:6]
    seeds = OverSeeds(compared, seeds.values, {"accuracy": turned})
    found = seeds.difference("accuracy", PLAIN, BETTER)
    assert found.details["sample_error"] == pytest.approx(0.04, rel=1e-6)
    mean = seeds.mean("accuracy", PLAIN)
    assert mean.error == pytest.approx(np.sqrt(VALUES[:3].var(ddof=1) / 3 + 0.02**2))
    # what samples do to each seed alone is in their spread already
    alone = over(compared, noise=0.02).mean("accuracy", PLAIN)
    assert alone.error == pytest.approx(np.sqrt(VALUES[:3].var(ddof=1) / 3), rel=0.02)


def test_seeds_with_samples_of_their_own_share_nothing(compared):
    own = [SeedGroup(one.name, one.places, one.seeds, own_samples=True) for one in (PLAIN, BETTER)]
    seeds = over(compared, shared=0.02)
    assert seeds.difference("accuracy", own[0], SINGLE).details["sample_error"] == 0
    draws = np.full((7, 1000), np.nan)
    found = OverSeeds(compared, seeds.values, {"accuracy": draws}).difference("accuracy", PLAIN, SINGLE)
    assert found.details["sample_error"] is None
    assert found.interval.method == f"t of one further seed, {SEEDS_ONLY}"


def test_a_difference_without_spread_or_value_says_so(compared):
    found = over(compared, [0.5, 0.5, 0.5, 0.7, 0.7, 0.7, 0.6]).difference("accuracy", PLAIN, BETTER)
    assert found.value == pytest.approx(-0.2)
    assert (found.interval, found.p_value, found.notes) == (None, None, [NO_SPREAD])
    found = over(compared, [np.nan, *VALUES[1:4], np.nan, *VALUES[5:]]).difference("accuracy", PLAIN, BETTER)
    assert found.reason == "no value for seed 1 of plain; no value for seed 1 of better"
    assert found.value is None


def test_a_difference_does_not_leave_its_range_and_skewsize_is_not_tested(compared):
    far = [0.0, 1.0, 0.5, 1.0, 0.0, 0.5, 0.5]
    apart = SeedGroup("better", (3, 4, 5), ("4", "5", "6"))
    found = over(compared, far).difference("accuracy", PLAIN, apart)
    assert ends(found) == (-1.0, 1.0)
    skewed = over(compared, far, metric="skewsize").difference("skewsize", PLAIN, apart)
    assert skewed.interval.low < -1
    assert skewed.interval.high > 1
    assert (skewed.p_value, skewed.mde) == (None, None)


def test_a_part_has_an_interval_only_with_both_ends():
    assert seed_part("1", "run", 0.5, (0.4, 0.6), 3).interval.high == 0.6
    assert seed_part("1", "run", 0.5, (None, 0.6), 3).interval is None
    assert seed_part("1", "run", 0.5, (0.4, None), 3).interval is None


GROUPS = [PLAIN, SINGLE, SeedGroup("other", (3,), ("3",))]


def test_the_order_is_of_means_over_seeds_with_equal_ones_sharing_a_rank(compared):
    rows = [ROWS, ROWS - 1, ROWS, ROWS, ROWS, ROWS, ROWS]  # one seed lost a row: of the first it is said
    notes = [order.RankingNotes(v, v - 0.1, v + 0.1, None, n) for v, n in zip(VALUES, rows, strict=True)]
    notes[3] = order.RankingNotes(0.66, 0.6, 0.7, None, ROWS)
    found = order.ranking(over(compared), GROUPS, {"accuracy": notes})
    assert found["rank"].to_list() == [3, 1, 1]
    assert found["value"].to_list() == pytest.approx([VALUES[:3].mean(), 0.66, 0.66])
    reach = stats.t.ppf(0.975, 2) * VALUES[:3].std(ddof=1) / np.sqrt(3)
    assert found["low"].to_list() == pytest.approx([VALUES[:3].mean() - reach, 0.56, 0.6])
    assert found["high"].to_list() == pytest.approx([VALUES[:3].mean() + reach, 0.76, 0.7])
    assert found["n"].to_list() == [ROWS] * 3
    lower = order.ranking(over(compared, metric="accuracy_gap"), GROUPS, {"accuracy_gap": notes})
    assert lower["rank"].to_list() == [1, 2, 2]
    notes[1] = order.RankingNotes(None, None, None, "undefined", ROWS)
    lacking = order.ranking(over(compared), GROUPS, {"accuracy": notes})
    assert lacking["rank"].to_list() == [None, 1, 1]
    assert lacking["reason"].to_list() == ["no value for seed 2", None, None]


def test_seeds_that_are_all_alike_have_no_interval_in_the_order(compared):
    notes = [order.RankingNotes(0.5, 0.4, 0.6, None, ROWS)] * 7
    found = order.ranking(over(compared, [0.5] * 7), [PLAIN, SINGLE], {"accuracy": notes})
    assert found["low"].to_list() == [None, 0.4]


def test_shares_of_ranks_are_counted_over_replicates(compared, monkeypatch):
    draws = np.array([[0.9, 0.5, 0.3, 0.5], [0.8, 0.5, 0.7, np.nan], [0.7, 0.4, 0.7, 0.5]])
    singles = [SeedGroup(name, (i,), ("1",)) for i, name in enumerate("abc")]
    for metric, expected in {
        # of a: 1, shares 1 and 2, 3; of b: 2, shares, shares 1 and 2; of c: 3, 3, shares
        "accuracy": [1 + 0.5, 0.5, 1, 0.5 + 0.5, 1 + 0.5 + 0.5, 0, 0.5, 0.5, 2],
        # the smallest first: a is 3, shares 2 and 3, 1
        "accuracy_gap": [1, 0.5, 1.5, 0, 1 + 0.5 + 0.5, 0.5 + 0.5, 2, 0.5, 0.5],
    }.items():
        monkeypatch.setattr(ComparedCounts, "resampled", {metric: draws})
        found = order.ranks_over_replicates(compared, singles, [metric])
        assert found["share"].to_list() == pytest.approx(np.array(expected) / 3)
        assert found["rank"].to_list() == [1, 2, 3] * 3
    monkeypatch.setattr(ComparedCounts, "resampled", {"accuracy": draws * np.nan})
    assert order.ranks_over_replicates(compared, singles, ["accuracy"]).height == 0


def test_seeds_are_drawn_again_for_their_mean(compared, monkeypatch):
    """Two seeds at 0 and 1: means of two draws are 0, .5 and 1, in parts of 1, 2 and 1."""
    draws = np.zeros((2, 4000))
    draws[1] = 1
    monkeypatch.setattr(ComparedCounts, "resampled", {"accuracy": np.concatenate([draws, draws[:1] + 0.4])})
    groups = [SeedGroup("two", (0, 1), ("1", "2")), SeedGroup("one", (2,), ("1",))]
    found = order.ranks_over_replicates(compared, groups, ["accuracy"])
    assert found["share"].to_list() == pytest.approx([0.75, 0.25, 0.25, 0.75], abs=0.03)


def test_skewsize_is_ranked_over_minimum_expected_values(compared):
    found = order.ranks_over_mev(compared, GROUPS)
    assert sorted(set(found["mev"])) == [0, 2, 3, 4, 5, 6]
    for mev in (0.0, 4.0):
        each = [skewsize(one, by="group", mev=mev, inference="none").value for one in compared.singles]
        first = None if None in each[:3] else float(np.mean(each[:3]))
        mine = found.filter(mev=mev)
        assert mine["value"].to_list() == pytest.approx([first, each[6], each[3]])
        known = mine.drop_nulls("value")
        assert known["rank"].to_list() == stats.rankdata(-known["value"], method="min").tolist()


@pytest.mark.parametrize("metric", ["accuracy", "cramers_v_mean", "accuracy_gap"])
def test_every_run_is_measured_as_it_is_on_the_same_samples_and_in_the_common_mix_elsewhere(
    compared, apart, metric
):
    for found, single in zip(order.measured(compared, metric), compared.singles, strict=True):
        alone = order.MEASURES[metric](single, by="group", seed=0)
        assert (found.value, found.low, found.high) == (alone.value, *ends(alone))
    assert apart.standardised
    told = order.measured(apart, metric)[6]
    assert told.value == pytest.approx(float(apart.observed[metric][6, 0]))
    alone = order.MEASURES[metric](apart.singles[6], by="group", seed=0)
    if metric.startswith("cramers"):
        factor = apart.factor(metric, 6)
        assert (told.low, told.high) == pytest.approx(
            (factor * alone.interval.low, min(1, factor * alone.interval.high))
        )
    else:
        draws = apart.resampled[metric][6]
        assert (told.low, told.high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=0.02)
        assert (told.low, told.high) != ends(alone)
