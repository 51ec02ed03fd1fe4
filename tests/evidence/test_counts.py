from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from evenhand.core.errors import InputError, UnknownName
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.tables.grouping import Grouped
from tests.conftest import make_frame


def count(frame: pl.DataFrame, *attributes: str) -> Counts:
    return Predictions.from_frame(frame, truth="truth", prediction="prediction").count(attributes)


def naive(frame: pl.DataFrame, *columns: str) -> dict[tuple[object, ...], int]:
    totals: dict[tuple[object, ...], int] = {}
    for row in frame.select(columns).iter_rows():
        totals[row] = totals.get(row, 0) + 1
    return totals


def as_dict(counts: Counts, *attributes: str) -> dict[tuple[object, ...], int]:
    names = ["truth", *(f"attribute:{name}" for name in attributes), "prediction"]
    frame = counts.to_frame()
    return {row[:-1]: row[-1] for row in frame.select(*names, "n").iter_rows()}


def test_counts_equal_a_naive_loop_with_missing_values() -> None:
    frame = make_frame().with_columns(
        pl.when(pl.int_range(pl.len()) % 7 == 0).then(None).otherwise("group").alias("group"),
        pl.when(pl.int_range(pl.len()) % 11 == 0).then(None).otherwise("prediction").alias("prediction"),
    )
    expected = naive(frame, "truth", "group", "other", "prediction")
    assert as_dict(count(frame, "group", "other"), "group", "other") == expected


def test_counts_of_a_space_too_large_for_a_dense_array_equal_the_naive_loop(monkeypatch) -> None:
    frame = make_frame()
    dense = count(frame, "group", "other")
    monkeypatch.setattr("evenhand.evidence.predictions.count.DENSE_CELLS", 1)
    monkeypatch.setattr("evenhand.evidence.predictions.levels.DENSE_CELLS", 1)
    assert count(frame, "group", "other") == dense


def test_counts_of_a_space_too_large_for_a_packed_key(monkeypatch) -> None:
    frame = make_frame()
    expected = count(frame, "group")
    monkeypatch.setattr("evenhand.evidence.predictions.count.DENSE_CELLS", 1)
    monkeypatch.setattr("evenhand.evidence.predictions.counts.LARGEST_KEY", 1)
    assert count(frame, "group") == expected


def test_shards_add_up_to_the_whole_whatever_their_levels() -> None:
    frame = make_frame(n=500)
    shards = [frame.filter(pl.col("truth") == label) for label in sorted(set(frame["truth"]))]
    assert sum([count(shard, "group", "other") for shard in shards]) == count(frame, "group", "other")


def test_row_order_does_not_matter() -> None:
    frame = make_frame()
    assert count(frame.sample(fraction=1, shuffle=True, seed=3), "group") == count(frame, "group")


def test_projection_equals_counting_fewer_attributes() -> None:
    frame = make_frame()
    assert count(frame, "group", "other").project(["other"]) == count(frame, "other")
    assert count(frame, "group", "other").project(["other", "group"]) == count(frame, "other", "group")


def test_where_equals_filtering_first() -> None:
    frame = make_frame()
    filtered = count(frame.filter(pl.col("other") == "h1"), "group")
    selected = count(frame, "group", "other").where("other", "h1")
    assert as_dict(selected, "group") == as_dict(filtered, "group")


def test_where_names_the_values_that_exist() -> None:
    with pytest.raises(UnknownName, match="'h1'"):
        count(make_frame(), "other").where("other", "h9")


def test_round_trip_through_a_file(tmp_path) -> None:
    frame = make_frame().with_columns(
        group=pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise(pl.col("group"))
    )
    counts = count(frame, "group", "other")
    counts.save(tmp_path / "counts.parquet")
    assert Counts.load(tmp_path / "counts.parquet") == counts


def test_a_file_that_holds_no_counts_is_refused(tmp_path) -> None:
    make_frame().write_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InputError, match="no Counts"):
        Counts.load(tmp_path / "rows.parquet")


def test_counts_over_different_attributes_do_not_add() -> None:
    with pytest.raises(InputError, match="group"):
        count(make_frame(), "group") + count(make_frame(), "other")


def test_counts_of_different_kinds_do_not_add() -> None:
    numbers = make_frame().with_columns(pl.col("truth", "prediction").str.strip_prefix("c").cast(pl.Int64))
    with pytest.raises(InputError, match="convert"):
        count(make_frame(), "group") + count(numbers, "group")


def test_grouping_counts_every_dropped_row_once_by_its_first_reason() -> None:
    frame = pl.DataFrame(
        {
            "truth": ["a", None, "a", "b", None, "b"],
            "prediction": ["a", "a", None, "b", None, "a"],
            "group": ["x", "x", "y", None, None, "y"],
        }
    )
    grouped = Grouped.bind(count(frame, "group"), ["group"])
    assert dict(grouped.dropped) == {"missing truth": 2, "missing prediction": 1, "missing group": 1}
    assert grouped.n_rows + sum(dict(grouped.dropped).values()) == len(frame)


def test_crossing_gives_only_groups_that_occur() -> None:
    frame = make_frame().filter(~((pl.col("group") == "g0") & (pl.col("other") == "h2")))
    grouped = Grouped.bind(count(frame, "group", "other"), ["group", "other"])
    assert ("g0", "h2") not in grouped.groups
    assert len(grouped.groups) == 5
    assert int(grouped.group_sizes.sum()) == len(frame)
    expected = naive(frame, "group", "other")
    assert {key: int(n) for key, n in zip(grouped.groups, grouped.group_sizes, strict=True)} == expected


def test_counts_hold_integers() -> None:
    assert count(make_frame(), "group").n.dtype == np.int64


def test_confusion_matrices_of_groups_are_counts_and_other_numbers_are_refused():
    matrices = {"f": np.array([[3, 1], [0, 2]]), "m": np.array([[5, 0], [0, 0]]), "x": np.nan}
    frame = SimpleNamespace(by_group=pd.Series(matrices, name="confusion").rename_axis("gender"))
    counts = Counts.from_metric_frame(frame, labels=["a", "b"])
    assert (counts.attributes, counts.n_total) == (("gender",), 11)
    for wrong in (np.array([[0.5, 1], [0, 2]]), np.array([[1, 2, 3], [0, 2, 1]])):
        frame.by_group = pd.Series({"f": wrong, "m": wrong}, name="confusion").rename_axis("gender")
        with pytest.raises(InputError, match="are confusion matrices, 1 is needed"):
            Counts.from_metric_frame(frame, labels=["a", "b"])


def test_counts_of_other_numbers_are_not_equal():
    rows = [("a", "a", "x"), ("a", "b", "y")]
    first, second = (
        Predictions.from_frame(
            pl.DataFrame(rows[:1] * times + rows[1:], schema=["t", "p", "g"], orient="row"),
            truth="t",
            prediction="p",
        ).count(["g"])
        for times in (1, 2)
    )
    assert first != second
    assert first + first != second
