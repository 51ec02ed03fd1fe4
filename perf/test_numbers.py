"""A million rows by six groups: numbers and labels beside what they are made of, and clusters beside none."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from measuring import seconds, show

from evenhand import Predictions, metrics
from evenhand.evidence.label_matches import LabelMatches
from evenhand.evidence.numbers import Numbers

ROWS, GROUPS, CLUSTERS = 1_000_000, 6, 100_000
KINDS = {"human": ["person"], "non_human": ["dog"]}


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    hit = rng.random(ROWS) < 0.2
    return pl.DataFrame(
        {
            "sample": np.arange(ROWS).astype(str),
            "group": rng.integers(GROUPS, size=ROWS).astype(str),
            "truth": np.where(hit, "dog", "person"),
            "prediction": np.full(ROWS, "person"),
            "stars": rng.integers(100, size=ROWS) / 100,
            "error": rng.lognormal(size=ROWS),
        }
    )


@pytest.fixture(scope="module")
def of_accuracy(rows: pl.DataFrame) -> float:
    """Seconds of ``accuracy_gap`` from a frame."""

    def gap() -> None:
        metrics.accuracy_gap(Predictions.from_frame(rows, truth="truth", prediction="prediction"), by="group")

    return seconds(gap, 3)[0]


def test_numbers_of_100_values_take_the_time_of_accuracies(rows: pl.DataFrame, of_accuracy: float) -> None:
    def gap() -> None:
        metrics.mean_gap(Numbers.from_frame(rows, value="stars"), by="group", better="high")

    ours = seconds(gap, 3)[0]
    show("mean_gap of 100 values, 1M rows", ours, of_accuracy, "accuracy_gap", "3x its time")
    assert ours <= 3 * of_accuracy


def test_label_gaps_take_the_time_of_accuracies(rows: pl.DataFrame, of_accuracy: float) -> None:
    sure = np.where(rows["truth"].to_numpy()[:, None] == "dog", [0.1, 0.9], [0.9, 0.05])
    matches = LabelMatches.from_confidences(
        sure, rows["sample"].to_list(), rows.select("sample", "group"), KINDS, ["person", "dog"]
    )
    ours, _ = seconds(
        lambda: metrics.label_association_gap(matches, association="non_human", by="group", threshold=0.5)
    )
    show("label_association_gap, 1M rows", ours, of_accuracy, "accuracy_gap", "3x its time")
    assert ours <= 3 * of_accuracy


def test_real_numbers_take_60_means_by_group(rows: pl.DataFrame) -> None:
    code, error = rows["group"].cast(pl.Int64).to_numpy(), rows["error"].to_numpy()
    reference, _ = seconds(lambda: np.bincount(code, error) / np.bincount(code), 5)
    ours, _ = seconds(
        lambda: metrics.mean_gap(Numbers.from_frame(rows, value="error"), by="group", better="low"), 3
    )
    show("mean_gap of real numbers, 1M rows", ours, reference, "numpy.bincount of means by group", "60x")
    assert ours <= 60 * reference


@pytest.mark.parametrize("mixed", [False, True])
def test_100_000_clusters_take_30_times_none(rows: pl.DataFrame, of_accuracy: float, mixed: bool) -> None:
    rng = np.random.default_rng(1)
    person = rng.integers(CLUSTERS, size=ROWS)
    group = rows["group"] if mixed else pl.Series((person % GROUPS).astype(str))
    frame = rows.with_columns(group.alias("group"), pl.Series("person", person.astype(str)))
    predictions = Predictions.from_frame(frame, truth="truth", prediction="prediction", cluster="person")
    ours, _ = seconds(lambda: metrics.accuracy_gap(predictions, by="group"))
    which = "mixed" if mixed else "nested"
    show(f"accuracy_gap of 100,000 {which} clusters", ours, of_accuracy, "without clusters", "30x its time")
    assert ours <= 30 * of_accuracy
