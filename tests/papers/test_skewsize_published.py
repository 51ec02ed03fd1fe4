"""Published figures and closed forms of the SkewSize paper (spec/skewsize.md, sections 2-5, 11-13)."""

import numpy as np
import pytest

from evenhand import metrics
from evenhand.stats.contingency.tables import association, filter_by_expected
from evenhand.stats.skewness import skewness, skewness_bound
from tests.helpers import counts_of, one_table, predictions

SHAPES = ["a", "b", "c"]


def statistic(table, kind="cramers_v"):
    return float(association(one_table(table)).statistic(kind)[0])


def plain(counts, metric, **options):
    return getattr(metrics, metric)(counts, by="group", inference="none", **options)


@pytest.mark.parametrize(
    ("n", "yates"), [(10, 0.125), (20, 0.1875), (50, 0.225), (100, 0.2375), (200, 0.24375), (1000, 0.24875)]
)
def test_yates_shrinks_small_tables_and_plain_v_does_not(n, yates):
    table = [[9 * n // 10, n // 10], [7 * n // 10, 3 * n // 10]]
    assert statistic(table, "cramers_v_yates") == pytest.approx(yates, rel=1e-12)
    assert statistic(table) == pytest.approx(0.25, rel=1e-12)


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_perfect_separation_of_a_2x2_table_is_one_minus_one_over_n_with_yates(n):
    assert statistic([[n, 0], [0, n]], "cramers_v_yates") == pytest.approx(1 - 1 / n, abs=1e-12)
    assert statistic([[n, 0], [0, n]]) == pytest.approx(1, abs=1e-12)


def test_one_stray_label_turns_yates_off():
    assert statistic([[9, 1], [7, 3]], "cramers_v_yates") == pytest.approx(0.125)
    assert statistic([[9, 1, 0], [7, 2, 1]], "cramers_v_yates") == pytest.approx(0.28125, abs=6e-4)
    stray = [[9, 1, 0], [7, 2, 1]]
    assert statistic(stray, "cramers_v_yates") == statistic(stray)


def test_yates_is_clipped_where_the_deviation_is_below_one_half():
    assert statistic([[1573, 3], [4, 0]], "cramers_v_yates") == 0
    assert association(one_table([[1573, 3], [4, 0]])).chi2[0] == pytest.approx(0.0076, abs=5e-5)


def test_one_label_more_lowers_v_of_a_dead_group_from_one_to_the_dsprites_ceiling():
    one_way = [[100, 0, 0], [100, 0, 0], [0, 100, 0]]
    two_ways = [[100, 0, 0], [100, 0, 0], [0, 99, 1]]
    assert statistic(one_way) == pytest.approx(1)
    assert statistic(two_ways) == pytest.approx(np.sqrt(0.5), rel=1e-9)
    assert statistic(one_way, "phi") == pytest.approx(statistic(two_ways, "phi"))


# section 3: degenerate rows, what default mode says and what paper mode gives
SPREAD = {"a": [[9, 1], [5, 5]], "b": [[9, 1], [6, 4]], "c": [[2, 8], [6, 4]]}
DEGENERATE = {
    "perfect model": ({"a": [[9, 0], [8, 0]], "b": [[0, 9], [0, 7]]}, "no_usable_class", None),
    "one group": ({"a": [[9, 3]], "b": [[2, 7]], "c": [[2, 7]]}, "no_usable_class", None),
    "one usable class": ({"a": [[9, 1], [5, 5]], "b": [[0, 9], [0, 7]]}, "one_usable_class", None),
    "two usable classes": ({"a": [[9, 1], [5, 5]], "b": [[3, 9], [5, 7]]}, "uninformative", 0.0),
    "three equal": ({k: [[20, 10], [15, 15]] for k in "abc"}, "no_spread", None),
}


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_sets_are_null_with_a_reason(name):
    tables, reason, listing = DEGENERATE[name]
    counts = counts_of(tables, ["a", "b"])
    finding = plain(counts, "skewsize")
    assert (finding.value, finding.reason) == (None, reason)
    paper = plain(counts, "skewsize", mode="paper")
    assert paper.reason == reason
    assert paper.value == (None if listing is None else pytest.approx(listing, abs=1e-12))


@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_sets_are_null_with_inference_too(name):
    tables, reason, _ = DEGENERATE[name]
    finding = metrics.skewsize(counts_of(tables, ["a", "b"]), by="group")
    assert (finding.value, finding.reason) == (None, reason)
    assert finding.interval is finding.null is finding.p_value is None


@pytest.mark.parametrize("mode", ["default", "paper"])
@pytest.mark.parametrize(
    ("table", "reason"), [([[9, 0], [7, 0]], "constant"), ([[0, 9], [0, 7]], "constant"),
                          ([[9, 3], [0, 0]], "single_group")]
)  # fmt: skip
def test_degenerate_classes_are_null_parts_counted_as_dropped(mode, table, reason):
    finding = plain(counts_of({**SPREAD, "d": table}, ["a", "b"]), "skewsize", mode=mode)
    part = finding.part("d")
    assert (part.value, part.band, part.reason) == (None, None, reason)
    assert [(d.reason, d.count) for d in finding.dropped] == [(f"class: {reason}", 1)]
    assert finding.value == plain(counts_of(SPREAD, ["a", "b"]), "skewsize", mode=mode).value


def test_a_class_whose_rows_all_lack_a_prediction_is_empty():
    rows = [("a", "g0", "a"), ("a", "g1", "b"), ("e", "g0", None), ("e", "g1", None)]
    finding = plain(predictions(rows), "skewsize")
    assert (finding.part("e").value, finding.part("e").reason, finding.part("e").n) == (None, "empty", 0)


# section 4
@pytest.mark.parametrize("n", [3, 10, 148, 1000])
def test_the_code_is_sqrt_n_times_equation_4(n):
    v = np.random.default_rng(n).random(n)
    centred = v - v.mean()
    equation_4 = (centred**3).sum() / (centred**2).sum() ** 1.5  # as printed, without n
    assert skewness(v) == pytest.approx(np.sqrt(n) * equation_4, rel=1e-12)


def test_skewness_is_blind_to_location_and_scale():
    v = np.array([0.07, 0.04, 0.12])
    assert skewness(v) == pytest.approx(0.2948, abs=5e-5)
    assert skewness(5 * v) == pytest.approx(skewness(v), rel=1e-12)
    assert skewness(v + 0.5) == pytest.approx(skewness(v), rel=1e-12)


def test_figure_1_prints_the_negative_skewness():
    assert -skewness(np.array([0.45, 0.45, 0.71])) == pytest.approx(-0.7071, abs=5e-5)
    assert round(-float(skewness(np.array([0.45, 0.45, 0.71]))), 2) == -0.71


@pytest.mark.parametrize(("n", "bound"), [(3, 0.7071), (200, 14.04)])
def test_published_bounds_are_reached_by_one_outlier(n, bound):
    extreme = np.zeros(n)
    extreme[0] = 1.0
    assert skewness_bound(n) == pytest.approx(bound, abs=5e-3)
    assert skewness(extreme) == pytest.approx(skewness_bound(n), rel=1e-9)


# section 5
UNBALANCED = [[900, 60, 30, 10], [90, 1, 8, 1]]


@pytest.mark.parametrize(
    ("rule", "columns", "value"), [("min", 2, 0.0547), ("mean", 4, 0.0985), ("max", 4, 0.0985)]
)
def test_minimum_expected_value_of_an_unbalanced_table(rule, columns, value):
    kept = association(filter_by_expected(one_table(UNBALANCED), 5, rule))
    assert kept.n_columns[0] == columns
    assert kept.statistic("cramers_v_yates")[0] == pytest.approx(value, abs=5e-5)


def test_minimum_expected_value_erases_a_class_and_says_so():
    table = [[97, 3, 0], [97, 0, 3]]
    assert statistic(table) == pytest.approx(0.1732, abs=5e-5)
    finding = plain(counts_of({"a": table, "b": [[30, 60, 30], [10, 70, 40]]}, SHAPES), "skewsize", mev=5)
    assert (finding.part("a").value, finding.part("a").reason) == (None, "below_minimum_expected")
    assert finding.part("a").n == 200
    assert finding.part("b").value is not None
    assert ("class: below_minimum_expected", 1) in [(d.reason, d.count) for d in finding.dropped]


def test_pooling_rare_columns_keeps_every_row():
    pooled = filter_by_expected(one_table(UNBALANCED), 5, "min", pool=True)
    assert pooled.total[0] == np.sum(UNBALANCED)
    dropped = filter_by_expected(one_table(UNBALANCED), 5, "min")
    assert dropped.total[0] < np.sum(UNBALANCED)
    assert pooled.n_columns[0] == dropped.n_columns[0] + 1
    rare = np.outer(np.sum(UNBALANCED, 1), np.sum(UNBALANCED, 0)).min(axis=0) / np.sum(UNBALANCED) < 5
    table = np.column_stack([np.array(UNBALANCED)[:, ~rare], np.array(UNBALANCED)[:, rare].sum(axis=1)])
    assert association(pooled).statistic("cramers_v")[0] == pytest.approx(statistic(table), rel=1e-12)


# sections 11-13
@pytest.mark.parametrize(
    ("accuracy", "worst", "gap"), [(0.888, 0.666, 0.222), (0.888, 0.664, 0.224), (0.998, 0.996, 0.002)]
)
def test_gap_is_accuracy_minus_worst_group(accuracy, worst, gap):
    others = (3 * accuracy - worst) / 2
    rows = [[round(1000 * p), 1000 - round(1000 * p)] for p in (worst, others, others)]
    counts = counts_of({"a": rows}, ["a", "b"])
    assert plain(counts, "accuracy").value == pytest.approx(accuracy, abs=1e-9)
    assert plain(counts, "worst_group_accuracy").value == pytest.approx(worst, abs=1e-9)
    assert plain(counts, "accuracy_gap").value == pytest.approx(gap, abs=1e-9)


def test_worst_group_pools_classes_where_one_cell_is_dead():
    dead = {
        "a": [[0, 50, 50], [100, 0, 0], [100, 0, 0]],
        "b": [[0, 100, 0]] * 3,
        "c": [[0, 0, 100]] * 3,
    }
    counts = counts_of(dead, SHAPES)
    assert plain(counts, "worst_group_accuracy").value == pytest.approx(2 / 3)
    assert plain(counts, "worst_class_group_accuracy").value == 0
    assert plain(counts, "worst_class_group_accuracy").parts[0].key == ["a", "g0"]
    assert plain(counts, "accuracy_gap", groups="yz").value == pytest.approx(8 / 9)
    details = plain(counts, "skewsize").part("a").details
    assert details["accuracy_gap"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(("how", "removed", "absorbing"), [("avg", 1.5, 0.75), ("max", 3.0, 1.5)])
def test_table_1_ratios_of_odds_to_parity(how, removed, absorbing):
    dead = {
        "a": [[0, 50, 50], [100, 0, 0], [100, 0, 0]],
        "b": [[0, 100, 0]] * 3,
        "c": [[0, 0, 100]] * 3,
    }
    counts = counts_of(dead, SHAPES)
    odds, parity = plain(counts, "equalized_odds", eo=how), plain(counts, "demographic_parity")
    ratio = {key: odds.part(key).value / parity.part(key).value for key in SHAPES}
    assert ratio == pytest.approx({"a": removed, "b": absorbing, "c": absorbing}, rel=1e-12)


def test_a_perfect_classifier_has_no_odds_difference():
    perfect = counts_of({"a": [[10, 0], [20, 0]], "b": [[0, 30], [0, 5]]}, ["a", "b"])
    for how in ("max", "avg", "full"):
        assert plain(perfect, "equalized_odds", eo=how).value == 0


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.25, 0.5, 0.75, 1.0])
def test_dsprites_closed_form(fraction):
    n = 400
    wrong = round(fraction * n)
    table = np.array([[n, 0, 0], [n - wrong, wrong // 2, wrong // 2], [n, 0, 0]])
    finding = plain(counts_of({"a": table, "b": [[5, 5, 5], [9, 2, 2], [1, 1, 9]]}, SHAPES), "skewsize")
    if fraction == 0:
        assert finding.part("a").reason == "constant"
        return
    # chi2 = 3n * 2f / (3 - f): V = sqrt(chi2 / (2 * 3n)) = sqrt(f / (3 - f))
    assert finding.part("a").value == pytest.approx(np.sqrt(fraction / (3 - fraction)), rel=1e-12)
    if fraction == 1:
        assert finding.part("a").value == pytest.approx(0.7071, abs=5e-5)
        assert finding.part("a").band == "large"
