"""Differences of two models: values, tests, intervals, families and what is undefined."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Finding
from evenhand.core.significance import significance_of
from evenhand.evidence.derivation.paired import match
from evenhand.metrics.classification import accuracy as group_accuracy
from evenhand.metrics.classification import effect_sizes as effect_size
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.metrics.differences.models import NO_CLUSTERS, SIDE_BY_SIDE, model_differences
from evenhand.metrics.differences.ranking import measured, ranks_over_replicates
from evenhand.metrics.differences.seeds import OverSeeds, SeedGroup
from evenhand.stats.contingency.model_summaries import SUMMARIES
from tests.conftest import make_frame


def joined(bias=0.0, other=0.0, n=1500, keep=slice(None), seed=0, classes=5):
    tables = [
        make_frame(seed=seed, n=n, bias=bias, classes=classes),
        make_frame(seed=seed + 50, n=n, bias=other, classes=classes),
    ]
    truth, group = tables[0]["truth"], tables[0]["group"]
    rng = np.random.default_rng(seed + 99)
    codes = np.array([int(label[1:]) for label in truth])
    first = np.array([code == "g0" for code in group])
    made = []
    for share in (bias, other):
        wrong = np.where(first & (rng.random(n) < share), (codes + 1) % classes, rng.integers(0, classes, n))
        said = np.where(rng.random(n) < 0.6, codes, wrong)
        made.append(
            pl.DataFrame(
                {
                    "sample": [str(i) for i in range(n)],
                    "truth": truth,
                    "group": group,
                    "prediction": [f"c{code}" for code in said],
                }
            )[keep]
        )
    return match(made, ["group"], ["a", "b"]).counts(["group"])


METRICS = {
    "skewsize": effect_size.skewsize,
    "cramers_v_mean": effect_size.cramers_v_mean,
    "cramers_v_median": effect_size.cramers_v_median,
    "cramers_v_max": effect_size.cramers_v_max,
    "accuracy": group_accuracy.accuracy,
    "worst_group_accuracy": group_accuracy.worst_group_accuracy,
    "accuracy_gap": group_accuracy.accuracy_gap,
}


def by_name(findings):
    return {one.name.removesuffix("_difference"): one for one in findings}


@pytest.mark.parametrize("paired", [True, False])
def test_values_are_differences_of_the_metrics(paired):
    counts = joined(0.4)
    evidence = counts if paired else (counts.of_first(), counts.of_second())
    found = by_name(model_differences(evidence, by="group"))
    assert list(found) == list(SUMMARIES) == list(METRICS)
    for name, metric in METRICS.items():
        a, b = (metric(one, by="group").value for one in (counts.of_first(), counts.of_second()))
        assert found[name].value == pytest.approx(a - b, abs=1e-9)
        assert found[name].details["first"] == pytest.approx(a)
        assert found[name].fair_at == 0
        assert found[name].details["compared"] == ("same samples" if paired else "not paired")


@pytest.mark.parametrize("paired", [True, False])
def test_a_planted_difference_is_found_and_only_that(paired):
    counts = joined(0.5)
    evidence = counts if paired else (counts.of_first(), counts.of_second())
    found = by_name(model_differences(evidence, by="group", names=("biased", "fair")))
    assert found["cramers_v_mean"].p_value <= 0.005
    assert found["cramers_v_mean"].interval.low <= found["cramers_v_mean"].corrected
    assert found["cramers_v_mean"].mde > 0
    assert found["cramers_v_mean"].interval.low > 0
    assert found["cramers_v_mean"].model == "biased"
    assert found["cramers_v_mean"].reference == "fair"
    assert found["accuracy"].p_value > 0.05
    assert found["accuracy"].interval.low < 0 < found["accuracy"].interval.high


def test_the_other_way_round_the_sign_turns():
    counts = joined(0.3)
    there = by_name(model_differences((counts.of_first(), counts.of_second()), by="group"))
    back = by_name(model_differences((counts.of_second(), counts.of_first()), by="group"))
    for name in SUMMARIES:
        assert there[name].value == -back[name].value


@pytest.mark.parametrize("paired", [True, False])
def test_a_model_against_itself(paired):
    one = joined(0.3).of_first()
    table = one.to_frame().rename({"attribute:group": "group"})
    twice = eh.Counts.from_table(
        table.with_columns(prediction_b=pl.col("prediction")),
        {name: name for name in ("truth", "group", "prediction", "prediction_b")},
    )
    for found in model_differences(twice if paired else (one, one), by="group"):
        assert found.value == 0
        if found.name == "skewsize_difference":
            continue
        assert found.p_value == 1
        assert found.corrected in (None, 0)
        assert found.interval.low < 0 < found.interval.high
        assert (found.null.low, found.null.high) == (-found.interval.high, -found.interval.low)


def test_skewsize_stands_side_by_side():
    found = by_name(model_differences(joined(0.4), by="group"))["skewsize"]
    assert found.value == pytest.approx(found.details["first"] - found.details["second"])
    assert (found.interval, found.null, found.p_value, found.mde) == (None, None, None, None)
    assert found.notes == [SIDE_BY_SIDE]
    assert significance_of(found).side == ""


def answered(truth, group, first, second):
    table = pl.DataFrame({"truth": truth, "group": group, "prediction": first, "prediction_b": second})
    counted = table.group_by(table.columns, maintain_order=True).agg(n=pl.len())
    return eh.Counts.from_table(counted, {name: name for name in table.columns})


def fair_of(shares, seed=0, n=1200, classes=4):
    """Models that treat groups alike, each right with its own share; the others' labels are spread evenly."""
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(0, classes, n), (rng.random(n) < 0.3).astype(int)
    said = [
        np.where(rng.random(n) < share, truth, (truth + rng.integers(1, classes, n)) % classes)
        for share in shares
    ]
    return answered(truth, group, *said)


def test_the_noise_of_a_less_accurate_model_is_no_difference_of_v():
    found = [
        by_name(model_differences(fair_of((0.97, 0.6), seed, classes=10), by="group"))["cramers_v_mean"]
        for seed in range(5)
    ]
    assert np.mean([one.value for one in found]) < -0.02  # the plain values differ by noise alone
    for one in found:
        assert one.p_value > 0.05
        assert one.interval.low < 0 < one.interval.high
        assert one.interval.low <= one.corrected <= one.interval.high
        assert one.null.low < one.value < one.null.high
        assert not significance_of(one).beyond


def test_p_and_interval_are_one_test():
    for seed in range(4):
        for found in model_differences(fair_of((0.9, 0.85), seed, n=300), by="group"):
            if found.p_value is None or found.name == "accuracy_difference":
                continue
            shown = found.value if found.corrected is None else found.corrected
            assert found.interval.low <= shown <= found.interval.high
            assert (found.p_value <= 0.05) == (not found.interval.low <= 0 <= found.interval.high)
            assert (found.p_value <= 0.05) == (not found.null.low <= found.value <= found.null.high)
            at_p = found.interval_at(1 - found.p_value) if found.p_value < 1 else found.interval
            assert min(abs(at_p.low), abs(at_p.high)) < 0.01 or found.p_value in (1e-6, 1)


def test_accuracy_has_mcnemar_and_the_interval_of_bonett_and_price():
    rng = np.random.default_rng(2)
    truth, group = rng.integers(0, 2, 40), rng.integers(0, 2, 40)
    first = np.where(np.arange(40) < 5, 1 - truth, truth)
    second = np.where((np.arange(40) > 2) & (np.arange(40) < 10), 1 - truth, truth)
    found = by_name(model_differences(answered(truth, group, first, second), by="group"))["accuracy"]
    gained, lost, n = 5, 3, 42
    assert found.value == pytest.approx((gained - lost) / 40)
    assert found.p_value == pytest.approx(stats.binomtest(gained, gained + lost).pvalue)
    up, down = (gained + 1) / n, (lost + 1) / n
    half = 1.959964 * np.sqrt((up + down - (up - down) ** 2) / n)
    assert found.interval.low == pytest.approx(up - down - half, abs=1e-6)
    assert found.interval.high == pytest.approx(up - down + half, abs=1e-6)


def test_models_without_a_flip_still_have_an_interval_of_their_accuracies():
    truth = np.arange(40) % 2
    same = answered(truth, np.arange(40) // 20, truth, truth)
    found = by_name(model_differences(same, by="group"))
    for name in ("accuracy", "worst_group_accuracy", "accuracy_gap"):
        assert found[name].p_value == 1
        assert found[name].interval.low < 0 < found[name].interval.high
    assert found["accuracy"].interval.high < 0.1


def test_rows_of_clusters_are_compared_by_cluster():
    rows = pl.DataFrame(
        {
            "y": ["a", "b"] * 20,
            "g": ["f"] * 20 + ["m"] * 20,
            "p": ["a"] * 40,
            "who": [str(i // 4) for i in range(40)],
        }
    )
    with_persons = eh.Predictions.from_frame(rows, truth="y", prediction="p", cluster="who").count("g")
    found = model_differences((with_persons, with_persons), by="g", metrics=["accuracy"])[0]
    assert (found.n, found.value, found.details["units"]) == (40, 0.0, 10)
    assert "by who" in found.interval.method
    assert found.p_value == 1
    without = eh.Predictions.from_frame(rows, truth="y", prediction="p").count("g")
    found = model_differences((with_persons, without), by="g", metrics=["accuracy"])[0]
    assert found.notes == [NO_CLUSTERS.format("who")]
    for one in (found, *found.parts):
        assert (one.interval, one.null, one.p_value, one.p_adjusted) == (None, None, None, None)


@pytest.mark.parametrize("paired", [True, False])
def test_models_that_are_alike_do_not_differ_by_persons(paired):
    """60 persons of 10 rows, ICC .3: as rows of their own 27 % of such comparisons have p <= .05."""
    alarms = held = 0
    for draw in range(40):
        rng = np.random.default_rng(draw)
        person, truth = np.repeat(np.arange(60), 10), rng.integers(0, 2, 600)
        said = [
            np.where(rng.random(600) < rng.beta(1.87, 0.47, 60)[person], truth, 1 - truth) for _ in range(2)
        ]
        columns = {"truth": truth, "group": person % 2, "prediction": said[0], "prediction_b": said[1]}
        rows = pl.DataFrame({**columns, "cluster:person": person})
        tables = [rows] if paired else [rows.drop("prediction_b"), rows.drop("prediction").rename(_OF_B)]
        counts = [
            eh.Counts.from_table(
                table.group_by(table.columns).agg(n=pl.len()), {name: name for name in table.columns}
            )
            for table in tables
        ]
        evidence = counts[0] if paired else tuple(counts)
        found = model_differences(evidence, by="group", metrics=["accuracy"], seed=draw)[0]
        alarms += found.p_value <= 0.05
        held += found.interval.low <= 0 <= found.interval.high
    assert alarms <= 4
    assert held >= 37


_OF_B = {"prediction_b": "prediction"}


def clustered(persons=24, seed=0):
    """Two models' answers to the same rows of persons who are hard for both, or easy, in three groups."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), rng.integers(3, 9, persons))
    hard, truth = rng.random(persons)[person] < 0.5, rng.choice(["a", "b", "c"], person.size)
    said = [
        np.where(
            rng.random(person.size) < np.where(hard, 0.4, 0.95), truth, rng.choice(["a", "b"], person.size)
        )
        for _ in range(2)
    ]
    group = np.array(["x", "y", "z"])[np.minimum(person % 5, 2)]
    columns = {"truth": truth, "group": group, "prediction": said[0], "prediction_b": said[1]}
    return pl.DataFrame({**columns, "cluster:person": [f"p{code}" for code in person]})


def counts_of(table):
    return eh.Counts.from_table(
        table.group_by(table.columns).agg(n=pl.len()), {name: name for name in table.columns}
    )


def test_each_model_keeps_its_clusters():
    both = counts_of(clustered())
    compared = ComparedCounts.of(both, "group", ("a", "b"))
    assert compared.singles == (both.of_first(), both.of_second())
    apart = ComparedCounts.of((both.of_first(), both.of_second()), "group", ("a", "b"))
    assert apart.singles == compared.singles
    assert not apart.joined


@pytest.mark.parametrize("metric", ["accuracy", "worst_group_accuracy", "accuracy_gap", "cramers_v_mean"])
def test_models_go_together_by_cluster(metric):
    """Persons who are hard for both make their figures go together, on other rows of them, too."""
    both = counts_of(clustered(60))
    correlations = [
        ComparedCounts.of(evidence, "group", ("a", "b")).correlation(metric)
        for evidence in (both, (both.of_first(), both.of_second()))
    ]
    assert correlations[0] == pytest.approx(correlations[1], abs=0.05)
    assert 0.1 < correlations[0] < 1
    strangers = clustered(60, seed=1).with_columns(pl.col("cluster:person") + "other").drop("prediction_b")
    apart = ComparedCounts.of((both.of_first(), counts_of(strangers)), "group", ("a", "b"))
    assert apart.correlation(metric) == 0


def test_ranks_and_seeds_draw_whole_clusters_again():
    """Two recipes of three seeds, of which persons decide: their rows alone would say who is first."""
    rng = np.random.default_rng(1)
    person, truth = np.repeat(np.arange(40), 15), rng.integers(0, 2, 600)
    hard = rng.random((2, 40)) < 0.3
    runs = [f"m{run}" for run in range(6)]
    columns = {"truth": truth, "group": person % 2, "cluster:person": person}
    for run, name in enumerate(runs):
        right = rng.random(600) < np.where(hard[run // 3][person], 0.3, 0.95)
        columns[name] = np.where(right, truth, 1 - truth)
    table = pl.DataFrame(columns).with_columns(n=1)
    groups = SeedGroup("A", (0, 1, 2), ("1", "2", "3")), SeedGroup("B", (3, 4, 5), ("1", "2", "3"))
    single = [SeedGroup("A", (0,), ("1",)), SeedGroup("B", (3,), ("1",))]
    error, share, width = [], [], []
    for rows in (table, table.drop("cluster:person")):
        over = OverSeeds.of(ComparedCounts.of_joined(rows, ["group"], runs, runs))
        error.append(over.difference("accuracy", *groups).details["sample_error"])
        share.append(ranks_over_replicates(over.compared, single, ["accuracy"])["share"].max())
        first = measured(over.compared, "accuracy")[0]
        width.append(first.high - first.low)
    assert error[0] > 1.6 * error[1]
    assert share[0] < share[1]
    assert width[0] > 1.6 * width[1]


def test_rows_that_name_no_cluster_are_counted():
    missing = pl.when(pl.int_range(pl.len()) < 4).then(None).otherwise("cluster:person")
    rows = clustered().with_columns(missing.alias("cluster:person"))
    (found,) = model_differences(counts_of(rows), by="group", metrics=["accuracy"])
    assert found.n == rows.height - 4
    assert [(one.reason, one.count) for one in found.dropped] == [("missing person", 4)]


def test_equal_inputs_give_equal_findings():
    counts = joined(0.2, n=400)
    first = [one.model_dump_json() for one in model_differences(counts, by="group", seed=3)]
    assert first == [one.model_dump_json() for one in model_differences(counts, by="group", seed=3)]
    assert first != [one.model_dump_json() for one in model_differences(counts, by="group", seed=4)]


def test_findings_follow_the_schema():
    for one in model_differences(joined(0.2, n=300), by="group", names=("x", "y")):
        assert Finding.model_validate(json.loads(one.model_dump_json())) == one
        assert one.params == {"model": "x", "reference": "y"}
        assert one.metric == f"{one.name}(by=group, model=x, reference=y)"
        assert sum(group.n for group in one.groups) == one.n == 300


def test_two_classes_have_no_skewsize_but_the_rest():
    found = by_name(model_differences(joined(classes=2, n=300), by="group"))
    assert found["skewsize"].value is None
    assert found["skewsize"].reason == "no value for first and second"
    assert found["cramers_v_mean"].value is not None


def test_a_perfect_model_has_no_effect_sizes():
    table = joined(n=300).to_frame().rename({"attribute:group": "group"})
    perfect = table.with_columns(prediction_b=pl.col("truth"))
    counts = eh.Counts.from_table(
        perfect, {name: name for name in ("truth", "group", "prediction", "prediction_b")}
    )
    found = by_name(model_differences(counts, by="group"))
    assert found["cramers_v_mean"].value is None
    assert found["cramers_v_mean"].reason == "no value for second"
    assert found["accuracy"].value < 0
    assert found["accuracy"].p_value <= 0.002


def test_missing_predictions_are_dropped_from_both():
    table = joined(n=300).to_frame().rename({"attribute:group": "group"})
    holes = table.with_row_index().with_columns(
        prediction_b=pl.when(pl.col("index") > 5).then(pl.col("prediction_b"))
    )
    counts = eh.Counts.from_table(
        holes, {name: name for name in ("truth", "group", "prediction", "prediction_b")}
    )
    lost = int(table[:6]["n"].sum())
    found = by_name(model_differences(counts, by="group"))["accuracy"]
    assert found.n == 300 - lost
    assert [(one.reason, one.count) for one in found.dropped] == [("missing prediction_b", lost)]


def test_what_cannot_be_compared_is_refused():
    counts = joined(n=100)
    with pytest.raises(ParameterError, match="counts of one model"):
        model_differences(counts.of_first(), by="group")
    with pytest.raises(ParameterError, match="by="):
        model_differences(counts, by=[])
    with pytest.raises(UnknownName, match="no metric"):
        model_differences(counts, by="group", metrics=["skewsizes"])
    with pytest.raises(UnknownName, match="attribute"):
        model_differences(counts, by="race")
    empty = (
        counts.to_frame()
        .rename({"attribute:group": "group"})
        .with_columns(prediction=pl.lit(None, pl.String))
    )
    nothing = eh.Counts.from_table(
        empty, {name: name for name in ("truth", "group", "prediction", "prediction_b")}
    )
    with pytest.raises(InputError, match="no row can be compared"):
        model_differences(nothing, by="group")


def mixed(seed, shares, n=900, right=(0.95, 0.4, 0.7)):
    """One chance of being right in each class, whatever the rows' shares of classes are."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(3, n, p=shares)
    said = np.where(rng.random(n) < np.array(right)[truth], truth, (truth + 1 + rng.integers(0, 2, n)) % 3)
    table = pl.DataFrame({"truth": truth, "group": rng.integers(0, 2, n), "prediction": said})
    names = ("truth", "group", "prediction")
    return eh.Counts.from_table(table.group_by(names).agg(n=pl.len()), {name: name for name in names})


MIXES = (0.7, 0.1, 0.2), (0.1, 0.7, 0.2)


def test_another_mix_of_classes_is_no_difference():
    both = mixed(1, MIXES[0]), mixed(2, MIXES[1])
    found = by_name(model_differences(both, by="group"))["accuracy"]
    own = [group_accuracy.accuracy(one, by="group").value for one in both]
    assert own[0] - own[1] > 0.25
    assert abs(found.value) < 0.05
    assert found.interval.low < 0 < found.interval.high
    assert found.null.low < found.value < found.null.high
    assert found.p_value > 0.05
    assert found.details["mix_distance"] == pytest.approx(0.6, abs=0.05)
    assert found.details["first_own_mix"] == pytest.approx(own[0])
    assert found.details["second_own_mix"] == pytest.approx(own[1])


def test_values_in_one_mix_are_weighted_by_the_harmonic_mean():
    both = mixed(1, MIXES[0]), mixed(2, MIXES[1])
    found = by_name(model_differences(both, by="group"))["accuracy"]
    tables = [
        one.table()
        .group_by("truth", "group")
        .agg(
            rows=pl.col("n").sum(),
            right=pl.col("n").filter(pl.col("truth") == pl.col("prediction")).sum(),
        )
        for one in both
    ]
    cells = tables[0].join(tables[1], on=["truth", "group"])
    weights = 2 / (1 / cells["rows"] + 1 / cells["rows_right"])
    gain = cells["right"] / cells["rows"] - cells["right_right"] / cells["rows_right"]
    assert found.value == pytest.approx((weights * gain).sum() / weights.sum())


def test_a_difference_within_classes_is_found_in_other_mixes():
    both = mixed(1, MIXES[0], right=(0.95, 0.6, 0.85)), mixed(2, MIXES[1], right=(0.8, 0.4, 0.7))
    found = by_name(model_differences(both, by="group"))["accuracy"]
    assert found.value == pytest.approx(0.17, abs=0.06)
    assert found.interval.low > 0
    assert found.p_value <= 0.002


def test_the_other_way_round_in_other_mixes_the_sign_turns():
    a, b = mixed(1, MIXES[0]), mixed(2, MIXES[1], n=400)
    there, back = (by_name(model_differences(pair, by="group")) for pair in ((a, b), (b, a)))
    for name in SUMMARIES:
        assert there[name].value == pytest.approx(-back[name].value)


def test_mde_is_that_of_the_strictest_step_of_holm():
    counts = joined(0.2, n=400)
    alone, many = (
        by_name(model_differences(counts, by="group", metrics=["accuracy"], family=family))["accuracy"]
        for family in (1, 9)  # 999 exchanges either way
    )
    assert alone.null == many.null
    assert many.mde / alone.mde == pytest.approx((2.7729 + 0.8416) / (1.9600 + 0.8416), rel=1e-3)


def test_mde_is_that_of_the_error_which_the_interval_shows():
    found = by_name(model_differences(joined(0.2, n=400), by="group", metrics=["accuracy"]))["accuracy"]
    z = stats.norm.ppf(0.975)
    error = (found.interval.high - found.interval.low) / (2 * z)
    assert found.mde == pytest.approx((z + stats.norm.ppf(0.8)) * error)
