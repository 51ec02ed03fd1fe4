"""Ranked tables: every row that is not a first prediction of its sample is counted or refused."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from tests.helpers import Later

dask = Later("dask.dataframe")
ROWS = [(n, 1, "a", "a" if n % 3 else "b", "mf"[n % 2]) for n in range(40)]
ROLES = {"truth": "truth", "prediction": "prediction", "rank": "rank"}


def table(*more: tuple[object, ...], **columns: object) -> pl.DataFrame:
    columns_in_order = ["id", "rank", "truth", "prediction", "group"]
    frame = pl.DataFrame([*ROWS, *more], columns_in_order, orient="row", infer_schema_length=None)
    return frame.with_columns(**columns)


def accuracy(frame: object, **roles: str) -> tuple[float, int, list[str]]:
    """Usable rows, rows with the prediction missing, and what is said."""
    run = eh.audit(frame, by="group", inference="none", **ROLES, **roles)
    found = run.finding("accuracy")
    assert all(dropped.reason == "missing prediction" for dropped in found.dropped)
    dropped = sum(int(dropped.count) for dropped in found.dropped)
    return found.n, dropped, [warning.message for warning in run.findings.warnings]


def engines(frame: pl.DataFrame) -> dict[str, object]:
    """The same rows in other libraries."""
    arrow, pandas = frame.to_arrow(), frame.to_pandas()
    database = duckdb.connect()
    database.register("rows", arrow)
    return {
        "polars": frame.lazy(), "pandas": pandas, "arrow": arrow, "duckdb": database.table("rows"),
        "dask": dask.from_pandas(pandas, npartitions=3),
    }  # fmt: skip


def test_rows_without_a_rank_and_samples_without_rank_1_are_counted_and_said():
    frame = table(
        (77, 3, "a", "a", "f"), (77, 2, "a", "b", "f"), (3, None, "a", "b", "m"), (3, 2, "a", "b", "m"),
        (None, 1, "a", "a", "m"),
    )  # fmt: skip
    unranked = "1 of 45 rows have no rank in column 'rank', and are left out"
    later = (
        "1 of 41 values of 'id' have no prediction of rank 1 in column 'rank': their prediction is missing"
    )
    for name, rows in engines(frame).items():
        assert accuracy(rows, id="id") == (41, 1, [unranked, later]), name
        assert accuracy(rows)[:2] == (41, 0), name
        assert unranked in accuracy(rows)[2], name


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (table().with_columns(rank=pl.when(pl.col("id") < 4).then(1.5).otherwise(1.0)), "such as 1.5"),
        (table(rank=pl.when(pl.col("id") < 4).then(pl.lit("one")).otherwise(pl.lit("1"))), "such as 'one'"),
        (table(rank=pl.lit(True)), "such as True"),
        (table(rank=pl.lit(None)), "holds no rank"),
        (table(rank=pl.lit(float("nan"))), "holds no rank"),
        (table(rank=pl.lit(float("inf"))), "such as inf"),
        (table((99, 0, "a", "b", "m")), "start at 0"),
        (table((3, 1, "a", "b", "m")), "'3' of column 'id' has 2 rows of rank 1"),
        (table((77, 2, "a", "b", "m"), (77, 2, "a", "a", "m")), "'77' of column 'id' has 2 rows of rank 2"),
    ],
)
def test_ranks_that_are_no_ranks_are_refused(frame, said):
    for name, rows in engines(frame).items():
        with pytest.raises(InputError, match=said) as refusal:
            accuracy(rows, id="id")
        assert "\n" not in str(refusal.value), name


def test_ranks_of_a_text_may_be_written_in_several_ways(tmp_path):
    path = tmp_path / "t.csv"
    table(rank=pl.Series(["1", "1.0", "01", "+1"] * 10)).write_csv(path)
    assert accuracy(path, id="id") == (40, 0, [])
    path.write_text(path.read_text().replace(",1.0,", ",1.7,"))
    with pytest.raises(InputError, match=r"such as '1\.7'"):
        accuracy(path)
