"""Where a metric begins to say something: one unit, one group, one level more."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand import metrics
from evenhand.evidence.derivation.paired import match
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.classification import accuracy, class_effects, summaries
from evenhand.metrics.differences.models import model_differences
from evenhand.metrics.estimates import against_reference, few_decide, percentile_interval
from evenhand.metrics.retrieval import ranking, ranking_figures
from tests.conftest import make_frame
from tests.helpers import predictions
from tests.metrics.resolution_evidence import choices, drawn_scores, people
from tests.metrics.test_precision import listed


@pytest.mark.parametrize(("queries", "reason"), [(1, "one_cluster"), (2, None)])
def test_a_gap_needs_a_group_of_two_queries(queries, reason):
    asked = {"gender": ["f"] * queries + ["m"] * queries}
    found = listed([[i % 4, 3 - i % 4] for i in range(2 * queries)], asked, {"gender": ["f", "f", "m", "m"]})
    gap = metrics.precision_gap(found, match="gender", by="gender", k=1)
    assert gap.reason == reason
    assert (gap.interval is None) == (queries == 1)


@pytest.mark.parametrize("mode", ["default", "paper"])
def test_a_range_of_one_group_has_no_interval_and_not_for_too_many_groups(mode):
    frame = make_frame().with_columns(group=pl.lit("g"))
    evidence = Predictions.from_frame(frame, truth="truth", prediction="prediction")
    found = metrics.accuracy_range(evidence, by="group", mode=mode)
    assert (found.value, found.interval) == (None if mode == "default" else 0.0, None)
    assert found.notes == []


def test_a_range_of_too_many_groups_has_no_interval(monkeypatch):
    monkeypatch.setattr(accuracy, "_MOST_GROUPS", 3)
    for groups, there in ((3, True), (4, False)):
        frame = make_frame(groups=groups)
        evidence = Predictions.from_frame(frame, truth="truth", prediction="prediction")
        found = metrics.accuracy_range(evidence, by="group")
        assert (found.interval is not None) == there
        assert (found.notes == [accuracy.TOO_MANY]) != there


def test_fewer_than_ten_rows_are_few():
    assert few_decide([("a", 9), ("b", 10), ("c", 0)]) == ["fewer than 10 rows decide this: a (9), c (0)"]
    assert few_decide([("a", 10)]) == []
    assert few_decide([("a", 3)], "person") == ["fewer than 10 values of person decide this: a (3)"]


def test_a_percentile_interval_needs_nine_of_ten_draws():
    draws = np.arange(100.0)
    for lost, there in ((10, True), (11, False)):
        draws[:lost] = np.nan
        found = percentile_interval(draws, level=0.9, method="m", seed=3)
        assert (found is not None) == there
        if found is not None:
            assert (found.low, found.high) == tuple(np.quantile(draws[lost:], [0.05, 0.95]))
            assert (found.replicates, found.seed, found.level) == (100, 3, 0.9)


@pytest.mark.parametrize("form", ["separation", "sufficiency"])
def test_effects_of_clusters_do_not_depend_on_where_a_label_without_table_is_sorted(form):
    """A label that is only ever predicted, or only ever true, makes no table of its own."""
    frame = make_frame(n=500).with_columns(person=pl.int_range(500) // 5)
    column = "prediction" if form == "separation" else "truth"
    values = []
    for name in ("a-first", "z-last"):
        changed = frame.with_columns(
            pl.when(pl.int_range(pl.len()) % 9 == 0)
            .then(pl.lit(name))
            .otherwise(pl.col(column))
            .alias(column)
        )
        evidence = Predictions.from_frame(changed, truth="truth", prediction="prediction", cluster="person")
        metric = metrics.cramers_v_mean if form == "separation" else metrics.skewsize_sufficiency
        found = metric(evidence, by="group", inference="auto")
        values.append([found.value, *([found.interval.low, found.interval.high] if found.interval else [])])
        corrected = [part.corrected for part in found.parts if part.corrected is not None]
        values[-1] += corrected
    assert len(values[0]) >= 3
    assert values[0] == pytest.approx(values[1], abs=0.02)


def test_paper_mode_averages_three_contexts_whatever_their_sizes():
    annotations = people().with_columns(
        context=pl.col("occupation").replace_strict({f"o{i:02d}": "aaaabc"[i] for i in range(6)})
    )
    sure = {context: dict.fromkeys(("masculine", "feminine"), p) for context, p in {
        "a": (1, 0, 0), "b": (0, 1, 0), "c": (0.5, 0.3, 0.2),
    }.items()}  # fmt: skip
    scores = [drawn_scores(annotations.filter(context=context), 4, sure[context]) for context in "abc"]
    evidence = choices(annotations, pl.concat(scores))
    each = [
        metrics.resolution_accuracy(evidence, mode="paper", where={"context": one}).value for one in "abc"
    ]
    assert each[:2] == [1, 0]
    found = metrics.resolution_accuracy(evidence, mode="paper")
    assert found.value == float(np.round(sum(each) / 3, 2))


def test_limits_of_a_change_hold_0_where_its_exact_test_does_not_reject_it():
    """Five of five samples gained: p is 1/16, while the adjusted Wald limits alone would leave 0 out."""
    n = 60
    truth = np.where(np.arange(n) < 5, "rare", "b")
    shared = {
        "sample": [str(i) for i in range(n)],
        "truth": truth,
        "group": np.where(np.arange(n) % 2, "x", "y"),
    }
    first = np.where(np.arange(n) < 30, truth, "c")
    second = np.where(np.arange(n) < 5, "c", first)
    tables = [pl.DataFrame({**shared, "prediction": said}) for said in (first, second)]
    found = model_differences(match(tables, ["group"], ["a", "b"]).counts(["group"]), by="group")
    accuracy = next(one for one in found if one.name == "accuracy_difference")
    part = accuracy.part("rare", kind="class")
    assert (part.value, part.p_value) == (1.0, pytest.approx(2 / 32))
    assert (part.interval.low, part.interval.high) == (0.0, 1.0)


def test_variances_of_one_place_are_those_of_its_possible_values(monkeypatch):
    """Of a place that is +1 or -1 by group, and of the logarithm of a share: by the rule for small errors."""
    asked = {}

    def listening(module):
        usual = module.top_statistic

        def top_statistic(bound, k, values_of, side, bounds, spread=None):
            asked[module.__name__.rpartition(".")[2]] = spread
            return usual(bound, k, values_of, side, bounds, spread)

        monkeypatch.setattr(module, "top_statistic", top_statistic)

    listening(ranking)
    listening(ranking_figures)
    rng = np.random.default_rng(0)
    rows = {"query": ["q", "r"] * 20, "sample": [str(i) for i in range(40)], "score": rng.normal(size=40)}
    evidence = Rankings.from_frame(pl.DataFrame({**rows, "gender": ["f", "f", "m", "m"] * 10}))
    metrics.skew_at_k(evidence, by="gender", group="f", k=3)
    metrics.bias_at_k(evidence, by="gender", k=3)
    pools = np.array([[3, 1], [2, 2], [1, 7]])
    share = pools[:, 0] / pools.sum(axis=1)
    assert asked["ranking"](pools) == pytest.approx((1 - share) / share)
    assert asked["ranking_figures"](pools) == pytest.approx(4 * share * (1 - share))


def test_a_spread_of_resamples_holds_the_value_and_is_nothing_where_they_do_not_vary():
    draws = np.linspace(0, 1, 201)
    for value, ends in ((0.5, (0.025, 0.975)), (1.5, (0.025, 1.5)), (-2.0, (-2.0, 0.975))):
        found = summaries._spread(draws, value, "m", 0)
        assert (found.low, found.high) == pytest.approx(ends)
    assert summaries._spread(np.full(9, 0.5), 0.5, "m", 0) is None
    assert summaries._spread(np.full(9, 0.5), 0.6, "m", 0) is not None
    assert summaries._spread(np.where(draws < 0.2, np.nan, draws), 0.5, "m", 0) is None


def test_two_labels_below_the_minimum_are_no_constant_prediction():
    """One class with a table of two labels that the minimum empties, one with one label, one that is left."""
    rows = [
        ("few", "g0", "few", 3), ("few", "g1", "b", 2), ("one", "g0", "one", 30), ("one", "g1", "one", 30),
        ("b", "g0", "b", 40), ("b", "g0", "one", 20), ("b", "g1", "b", 20), ("b", "g1", "one", 40),
    ]  # fmt: skip
    evidence = predictions([row[:3] for row in rows for _ in range(row[3])])
    found = metrics.skewsize(evidence, by="group", mev=5, inference="none")
    reasons = {part.key: (part.value, part.reason) for part in found.parts}
    assert reasons["few"] == (None, "below_minimum_expected")
    assert reasons["one"] == (None, "constant")
    assert reasons["b"][0] == pytest.approx(1 / 3)


def test_the_weaker_of_test_and_interval_counts_where_only_the_test_is_sure():
    value, reference, error = 0.5, 0.2, 0.2  # 1.5 standard errors apart

    def ends(level):
        reach = stats.norm.ppf((1 + level) / 2) * error
        return value - reach, value + reach

    def known(p, chance=reference):
        return against_reference(value, ends, "m", p, None, "", 0, reference=chance)["p_value"]

    assert known(0.01) == pytest.approx(2 * stats.norm.sf(1.5), abs=1e-3)
    assert known(0.06) == 0.06
    assert known(0.01, 0.1) == 0.01  # the interval of 95 % is above .1
    assert known(None) is None
    assert known(0.01, None) == 0.01


def test_intervals_of_the_bootstrap_are_the_central_part_of_its_draws(monkeypatch):
    draws = np.column_stack([np.linspace(0, 1, 401), np.full(401, np.nan), np.linspace(0.2, 0.4, 401)])
    draws[::5, 2] = np.nan
    monkeypatch.setattr(class_effects, "effect_bootstrap", lambda effects: (draws, "m"))
    effects = SimpleNamespace(options=SimpleNamespace(interval="bootstrap"), shared=None)
    low, high = class_effects._interval(effects, np.zeros(3))
    assert low == pytest.approx([0.025, np.nan, 0.205], abs=1e-3, nan_ok=True)
    assert high == pytest.approx([0.975, np.nan, 0.395], abs=1e-3, nan_ok=True)
