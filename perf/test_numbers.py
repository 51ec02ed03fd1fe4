"""A million rows by six groups: numbers and labels beside what they are made of, and clusters beside none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from measuring import ratio_in_pairs

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
def accuracy(rows: pl.DataFrame) -> Callable[[], Any]:
    """``accuracy_gap`` from a frame."""

    def gap() -> None:
        metrics.accuracy_gap(Predictions.from_frame(rows, truth="truth", prediction="prediction"), by="group")

    return gap


def test_numbers_of_100_values_take_the_time_of_accuracies(
    rows: pl.DataFrame, accuracy: Callable[[], Any]
) -> None:
    def gap() -> None:
        metrics.mean_gap(Numbers.from_frame(rows, value="stars"), by="group", better="high")

    what = "mean_gap of 100 values, 1M rows"
    assert ratio_in_pairs(gap, accuracy, what, "accuracy_gap", "3x its time") <= 3


def test_label_gaps_take_the_time_of_accuracies(rows: pl.DataFrame, accuracy: Callable[[], Any]) -> None:
    sure = np.where(rows["truth"].to_numpy()[:, None] == "dog", [0.1, 0.9], [0.9, 0.05])
    matches = LabelMatches.from_confidences(
        sure, rows["sample"].to_list(), rows.select("sample", "group"), KINDS, ["person", "dog"]
    )

    def gap() -> None:
        fresh = replace(matches, memo={})
        metrics.label_association_gap(fresh, association="non_human", by="group", threshold=0.5)

    what = "label_association_gap, 1M rows"
    assert ratio_in_pairs(gap, accuracy, what, "accuracy_gap", "3x its time") <= 3


def test_real_numbers_take_60_means_by_group(rows: pl.DataFrame) -> None:
    code, error = rows["group"].cast(pl.Int64).to_numpy(), rows["error"].to_numpy()

    def means() -> Any:
        return np.bincount(code, error) / np.bincount(code)

    def gap() -> None:
        metrics.mean_gap(Numbers.from_frame(rows, value="error"), by="group", better="low")

    what = "mean_gap of real numbers, 1M rows"
    assert ratio_in_pairs(gap, means, what, "numpy.bincount of means by group", "60x its time") <= 60


@pytest.mark.parametrize("mixed", [False, True])
def test_100_000_clusters_take_30_times_none(
    rows: pl.DataFrame, accuracy: Callable[[], Any], mixed: bool
) -> None:
    rng = np.random.default_rng(1)
    person = rng.integers(CLUSTERS, size=ROWS)
    group = rows["group"] if mixed else pl.Series((person % GROUPS).astype(str))
    frame = rows.with_columns(group.alias("group"), pl.Series("person", person.astype(str)))

    def gap() -> None:
        predictions = Predictions.from_frame(frame, truth="truth", prediction="prediction", cluster="person")
        metrics.accuracy_gap(predictions, by="group")

    what = f"accuracy_gap of 100,000 {'mixed' if mixed else 'nested'} clusters"
    assert ratio_in_pairs(gap, accuracy, what, "without clusters", "30x its time", 4) <= 30
