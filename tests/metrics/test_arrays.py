"""Metrics of labels in arrays, as scikit-learn and fairlearn take them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from fairlearn.metrics import MetricFrame, demographic_parity_difference, equalized_odds_difference
from sklearn.metrics import accuracy_score, balanced_accuracy_score

import evenhand as eh
from evenhand.evidence.predictions import count as counting

RNG = np.random.default_rng(5)
N = 600
TRUTH = RNG.integers(0, 3, N)
PREDICTION = np.where(RNG.random(N) < 0.7, TRUTH, RNG.integers(0, 3, N))
RACE = RNG.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1])
GENDER = RNG.choice(["f", "m"], N)
BINARY, YES = (TRUTH > 0).astype(int), (PREDICTION > 0).astype(int)


def test_accuracy_is_that_of_scikit_learn() -> None:
    assert eh.metrics.accuracy(TRUTH, PREDICTION).value == accuracy_score(TRUTH, PREDICTION)
    weight = RNG.integers(1, 5, N)
    weighted = eh.metrics.accuracy(TRUTH, PREDICTION, sample_weight=weight)
    assert weighted.value == pytest.approx(accuracy_score(TRUTH, PREDICTION, sample_weight=weight), abs=1e-12)
    by_class = eh.metrics.mean_group_accuracy(TRUTH, PREDICTION, groups=pd.Series(TRUTH, name="class"))
    assert by_class.value == pytest.approx(balanced_accuracy_score(TRUTH, PREDICTION), abs=1e-12)


def test_differences_are_those_of_fairlearn() -> None:
    frame = MetricFrame(metrics=accuracy_score, y_true=TRUTH, y_pred=PREDICTION, sensitive_features=RACE)
    worst = eh.metrics.worst_group_accuracy(TRUTH, PREDICTION, groups=RACE)
    assert worst.value == pytest.approx(frame.group_min(), abs=1e-12)
    assert eh.metrics.accuracy_range(TRUTH, PREDICTION, groups=RACE).value == pytest.approx(
        frame.difference(), abs=1e-12
    )
    parity = eh.metrics.demographic_parity(BINARY, YES, groups=RACE, aggregate="max")
    assert parity.value == pytest.approx(
        demographic_parity_difference(BINARY, YES, sensitive_features=RACE), abs=1e-12
    )
    odds = eh.metrics.equalized_odds(BINARY, YES, groups=RACE, aggregate="max")
    assert odds.value == pytest.approx(
        equalized_odds_difference(BINARY, YES, sensitive_features=RACE), abs=1e-12
    )


@pytest.mark.parametrize(
    "groups",
    [
        {"race": RACE, "gender": GENDER},
        pd.DataFrame({"race": RACE, "gender": GENDER}),
        pl.DataFrame({"race": RACE, "gender": GENDER}),
    ],
    ids=["mapping", "pandas", "polars"],
)
def test_several_attributes_are_crossed_or_chosen_by_name(groups) -> None:
    table = pl.DataFrame({"t": TRUTH, "p": PREDICTION, "race": RACE, "gender": GENDER})
    evidence = eh.Predictions.from_frame(table, truth="t", prediction="p")
    crossed = eh.metrics.accuracy_gap(TRUTH, PREDICTION, groups=groups)
    assert crossed == eh.metrics.accuracy_gap(evidence, by=("race", "gender"))
    assert eh.metrics.accuracy_gap(TRUTH, PREDICTION, groups=groups, by="race").by == ["race"]


def test_lists_series_and_whole_floats_are_labels_too() -> None:
    expected = eh.metrics.accuracy_gap(TRUTH, PREDICTION, groups=RACE)
    assert expected.by == ["group"]
    listed = eh.metrics.accuracy_gap(TRUTH.tolist(), pd.Series(PREDICTION), groups=RACE.tolist())
    assert listed == expected
    assert eh.metrics.accuracy_gap(TRUTH, PREDICTION.astype(float), groups=RACE) == expected
    missing = eh.metrics.accuracy(["a", None, "b", "b"], ["a", "b", float("nan"), "b"])
    assert (missing.value, missing.n, sum(drop.count for drop in missing.dropped)) == (1.0, 2, 2)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1, 0.0, None], [1, 0, None]),
        ([0.0, 1, np.float32(0.5)], [0.0, 1.0, 0.5]),
        ([np.int8(1), 300, np.int64(2)], [1, 300, 2]),
        ([np.bool_(True), None, False], [True, None, False]),
        ([np.bool_(True), np.bool_(False), None], [True, False, None]),
        ([np.str_("a"), "b", float("nan")], ["a", "b", None]),
    ],
)
def test_numbers_of_several_kinds_are_numbers_whatever_comes_first(values, expected) -> None:
    for order in (1, -1):
        evidence = eh.Predictions.from_arrays([1] * 3, [1] * 3, groups=values[::order])
        column = evidence.frame["group"].to_list()
        assert (column, set(map(type, column))) == (expected[::order], set(map(type, expected)))


@pytest.mark.parametrize("values", [[1, "1", 1.0], ["a", 2, "b"], [1, True, 0], [True, "a", None]])
def test_lists_that_mix_types_are_refused_whatever_comes_first(values) -> None:
    for order in (1, -1):
        with pytest.raises(eh.UserError, match="column 'y_pred' mixes types"):
            eh.metrics.accuracy([1, 0, 1], values[::order])
        with pytest.raises(eh.UserError, match="column 'group' mixes types"):
            eh.metrics.accuracy([1, 0, 1], [1, 0, 1], groups=values[::order])


def test_a_cluster_is_what_was_sampled_as_a_whole() -> None:
    person = np.repeat(np.arange(N // 10), 10)
    of_rows = eh.metrics.accuracy(TRUTH, PREDICTION)
    of_persons = eh.metrics.accuracy(TRUTH, PREDICTION, cluster=person)
    assert of_persons.value == of_rows.value
    assert of_persons.interval != of_rows.interval


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: eh.metrics.accuracy_gap(TRUTH, PREDICTION), "type accuracy_gap(y_true, y_pred, groups=...)"),
        (lambda: eh.metrics.accuracy(TRUTH, PREDICTION[1:]), "y_pred has 599 values and y_true 600"),
        (lambda: eh.metrics.accuracy(TRUTH, np.eye(3)[PREDICTION]), "shape (600, 3)"),
        (lambda: eh.metrics.accuracy("aab", "abb"), "y_true is str"),
        (lambda: eh.metrics.accuracy(TRUTH), "metric(y_true, y_pred, groups=...)"),
    ],
    ids=["no groups", "lengths", "scores", "text", "one array"],
)
def test_what_is_no_labels_is_refused_with_what_to_give(call, said) -> None:
    with pytest.raises(eh.UserError) as refused:
        call()
    assert said in str(refused.value)


@pytest.fixture
def scans(monkeypatch) -> list[object]:
    """Every count of a table, as it happens."""
    seen, count = [], counting.count

    def counted(frame, *options):
        seen.append(frame)
        return count(frame, *options)

    monkeypatch.setattr(counting, "count", counted)
    return seen


def test_a_file_is_read_once_until_it_changes(tmp_path, scans) -> None:
    table = pl.DataFrame({"t": TRUTH, "p": PREDICTION, "race": RACE})
    table.write_parquet(tmp_path / "x.parquet")
    evidence = eh.Predictions.read(tmp_path / "x.parquet", truth="t", prediction="p")
    values = [metric(evidence, by="race").value for metric in (eh.metrics.accuracy, eh.metrics.accuracy_gap)]
    assert len(scans) == 1
    table.with_columns(p=pl.col("t")).write_parquet(tmp_path / "x.parquet")
    assert eh.metrics.accuracy(evidence, by="race").value == 1 != values[0]
    assert len(scans) == 2


def test_a_frame_that_may_be_changed_in_place_is_counted_each_time(scans) -> None:
    frame = pd.DataFrame({"t": TRUTH, "p": PREDICTION, "race": RACE})
    evidence = eh.Predictions.from_frame(frame, truth="t", prediction="p")
    assert eh.metrics.accuracy(evidence, by="race").value < 1
    frame["p"] = frame["t"]
    assert eh.metrics.accuracy(evidence, by="race").value == 1
    assert len(scans) == 2
