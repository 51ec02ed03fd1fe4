"""Accuracy and rates by group against scikit-learn, fairlearn and naive loops."""

import numpy as np
import pandas as pd
import pytest
from fairlearn import metrics as fair
from sklearn import metrics as sk

from evenhand import metrics
from evenhand.stats.rates.confusion import SUMMARIES, Confusion, over_classes, range_over_groups
from tests.helpers import predictions, random_rows


@pytest.fixture(params=[(0, 2, 2), (1, 2, 4), (2, 4, 3), (3, 6, 2)], ids=str)
def rows(request):
    seed, classes, groups = request.param
    return random_rows(seed, classes=classes, groups=groups, n=200)


def columns(rows):
    truth, group, prediction = zip(*rows, strict=True)
    return np.array(truth), np.array(prediction), np.array(group)


def value(rows, metric, **options):
    return getattr(metrics, metric)(predictions(rows), by="group", inference="none", **options)


def test_accuracy_equals_scikit_learn(rows):
    truth, prediction, group = columns(rows)
    assert value(rows, "accuracy").value == pytest.approx(sk.accuracy_score(truth, prediction))
    frame = fair.MetricFrame(
        metrics=sk.accuracy_score, y_true=truth, y_pred=prediction, sensitive_features=group
    )
    parts = {part.key: part.value for part in value(rows, "accuracy").parts}
    assert parts == pytest.approx(frame.by_group.to_dict())
    assert value(rows, "accuracy_range").value == pytest.approx(frame.difference())
    assert value(rows, "worst_group_accuracy").value == pytest.approx(frame.group_min())
    assert value(rows, "accuracy_gap").value == pytest.approx(frame.overall - frame.group_min())
    assert value(rows, "mean_group_accuracy").value == pytest.approx(frame.by_group.mean())


def test_cells_equal_the_confusion_matrix(rows):
    truth, prediction, group = columns(rows)
    labels = sorted({*truth, *prediction})
    recalls = {
        (label, z): sk.confusion_matrix(truth[group == z], prediction[group == z], labels=labels)[i, i]
        / (truth[group == z] == label).sum()
        for z in sorted(set(group))
        for i, label in enumerate(labels)
    }
    worst = value(rows, "worst_class_group_accuracy")
    assert worst.value == pytest.approx(min(recalls.values()))
    assert recalls[tuple(worst.parts[0].key)] == pytest.approx(worst.value)


def test_parity_and_odds_of_every_label_equal_fairlearn_one_against_the_rest(rows):
    truth, prediction, group = columns(rows)
    parity = value(rows, "demographic_parity")
    odds = {how: value(rows, "equalized_odds", eo=how) for how in ("max", "avg")}
    for label in sorted(set(truth)):
        frame = fair.MetricFrame(
            metrics={
                "rate": fair.selection_rate,
                "true": fair.true_positive_rate,
                "false": fair.false_positive_rate,
            },
            y_true=(truth == label).astype(int),
            y_pred=(prediction == label).astype(int),
            sensitive_features=group,
        )
        spread = frame.difference()
        assert parity.part(label).value == pytest.approx(spread["rate"])
        assert odds["max"].part(label).value == pytest.approx(max(spread["true"], spread["false"]))
        assert odds["avg"].part(label).value == pytest.approx((spread["true"] + spread["false"]) / 2)
    for finding in (parity, *odds.values()):
        assert finding.value == max(part.value for part in finding.parts)


@pytest.mark.parametrize("seed", range(4))
def test_binary_parity_and_odds_equal_fairlearn(seed):
    rows = random_rows(seed, classes=2, groups=3, n=150)
    truth, prediction, group = columns(rows)
    binary = {"y_true": truth == "c1", "y_pred": prediction == "c1", "sensitive_features": group}
    parity = fair.demographic_parity_difference(**binary)
    assert value(rows, "demographic_parity").value == pytest.approx(parity)
    odds = fair.equalized_odds_difference(**binary)
    assert value(rows, "equalized_odds").value == pytest.approx(odds)


def test_full_odds_equal_a_naive_loop(rows):
    truth, prediction, group = columns(rows)
    frame = pd.DataFrame({"y": truth, "p": prediction, "z": group})
    spread = {}
    for _, one in frame.groupby("y"):
        shares = pd.crosstab(one.z, one.p, normalize="index")
        for label, difference in (shares.max() - shares.min()).items():
            spread[label] = max(spread.get(label, 0), difference)
    finding = value(rows, "equalized_odds", eo="full")
    assert {part.key: part.value for part in finding.parts} == pytest.approx(spread)
    assert finding.value == pytest.approx(max(spread.values()))
    mean = value(rows, "equalized_odds", eo="full", aggregate="mean").value
    assert mean == pytest.approx(np.mean(list(spread.values())))


def confusion(seed=0, groups=3, labels=4):
    rng = np.random.default_rng(seed)
    table = rng.integers(1, 9, (groups, labels, labels)).astype(float)
    correct = np.stack([np.diag(one) for one in table])
    return Confusion(table.sum(axis=2), correct, table.sum(axis=1))


def test_a_stack_of_replicates_gives_what_each_gives():
    one, two = confusion(0), confusion(0)
    other = Confusion(two.support, two.correct - 1, two.predicted - 1)
    both = Confusion(
        one.support, np.stack([one.correct, other.correct]), np.stack([one.predicted, other.predicted])
    )
    for name in SUMMARIES:
        np.testing.assert_array_equal(both.summary(name), [one.summary(name), other.summary(name)])


def test_a_group_without_rows_of_a_class_is_left_out_of_its_range():
    support = np.array([[5.0, 5.0], [0.0, 10.0], [5.0, 5.0]])
    correct = np.array([[5.0, 2.0], [0.0, 4.0], [3.0, 1.0]])
    cells = Confusion(support, correct, support).rates("true")
    assert np.isnan(cells[1, 0])
    np.testing.assert_allclose(range_over_groups(cells, 2), [0.4, 0.2])


def test_a_rate_that_one_group_has_is_no_difference():
    rates = np.array([[0.5, np.nan], [0.7, 0.2]])
    np.testing.assert_allclose(range_over_groups(rates, 2), [0.2, np.nan])
    np.testing.assert_allclose(range_over_groups(rates, 1), [0.2, 0.0])


def test_no_defined_class_is_nan_without_a_warning():
    nothing = np.full((3, 2), np.nan)
    assert np.isnan(over_classes(nothing, "max")).all()
    assert np.isnan(over_classes(nothing, "mean")).all()


def test_odds_of_a_label_that_is_never_true_are_its_false_positive_rate():
    rows = [("a", "g0", "a"), ("a", "g0", "x"), ("a", "g1", "a"), ("a", "g1", "a")]
    for how in ("max", "avg"):
        part = value(rows, "equalized_odds", eo=how).part("x")
        assert part.value == pytest.approx(0.5)


@pytest.mark.parametrize("mode", ["default", "paper"])
def test_a_difference_over_one_group_is_undefined_or_zero_by_mode(mode):
    rows = [("a", "g0", "a"), ("b", "g0", "a")]
    for metric in ("accuracy_gap", "accuracy_range", "demographic_parity", "equalized_odds"):
        finding = value(rows, metric, mode=mode)
        expected = (0.0, None) if mode == "paper" else (None, "single_group")
        assert (finding.value, finding.reason) == expected, metric
