from __future__ import annotations

import shlex
import subprocess
import sys
from datetime import timedelta

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.core.errors import InputError, UnknownName
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions
from tests.conftest import make_frame

COLUMNS = {"truth": "truth", "prediction": "prediction"}


def with_gaps() -> pl.DataFrame:
    return make_frame().with_columns(
        prediction=pl.when(pl.int_range(pl.len()) % 9 == 0).then(None).otherwise(pl.col("prediction")),
        group=pl.when(pl.int_range(pl.len()) % 8 == 0).then(None).otherwise(pl.col("group")),
    )


def test_truth_and_prediction_cannot_be_one_column():
    with pytest.raises(InputError, match="truth and prediction are both column 'truth'"):
        Predictions.from_frame(make_frame(), truth="truth", prediction="truth")


@pytest.fixture
def expected() -> Counts:
    return Predictions.from_frame(with_gaps(), **COLUMNS).count(["group", "other"])


WRITERS = {
    "csv": lambda frame, path: frame.write_csv(path),
    "tsv": lambda frame, path: frame.write_csv(path, separator="\t"),
    "parquet": lambda frame, path: frame.write_parquet(path),
    "jsonl": lambda frame, path: frame.write_ndjson(path),
    "arrow": lambda frame, path: frame.write_ipc(path),
}


@pytest.mark.parametrize("suffix", WRITERS)
def test_every_file_format_gives_the_same_counts(suffix, tmp_path, expected) -> None:
    path = tmp_path / f"table.{suffix}"
    WRITERS[suffix](with_gaps(), path)
    assert Predictions.read(path, **COLUMNS).count(["group", "other"]) == expected


def test_globs_and_folders_are_read_as_one_table(tmp_path, expected) -> None:
    frame = with_gaps()
    for index in range(3):
        frame[index::3].write_parquet(tmp_path / f"part-{index}.parquet")
    assert Predictions.read(tmp_path / "part-*.parquet", **COLUMNS).count(["group", "other"]) == expected
    assert Predictions.read(tmp_path, **COLUMNS).count(["group", "other"]) == expected


FRAMES = {
    "pandas": lambda frame: frame.to_pandas(),
    "pandas objects": lambda frame: pd.DataFrame(frame.to_dict(as_series=False), dtype=object),
    "pandas categories": lambda frame: frame.to_pandas().astype("category"),
    "polars": lambda frame: frame,
    "polars lazy": lambda frame: frame.lazy(),
    "polars categories": lambda frame: frame.with_columns(pl.all().cast(pl.Categorical)),
    "pyarrow": lambda frame: frame.to_arrow(),
    "duckdb": lambda frame: duckdb.from_arrow(frame.to_arrow()),
}


@pytest.mark.parametrize("library", FRAMES)
def test_every_frame_gives_the_same_counts(library, expected) -> None:
    frame = FRAMES[library](with_gaps())
    assert Predictions.from_frame(frame, **COLUMNS).count(["group", "other"]) == expected


def test_dask_counts_where_the_table_lives(expected) -> None:
    dask = pytest.importorskip("dask.dataframe")
    frame = dask.from_pandas(with_gaps().to_pandas(), npartitions=3)
    assert Predictions.from_frame(frame, **COLUMNS).count(["group", "other"]) == expected


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_spark_counts_where_the_table_lives(expected, spark) -> None:
    frame = spark.createDataFrame(with_gaps().rows(), schema=with_gaps().columns)
    assert Predictions.from_frame(frame, **COLUMNS).count(["group", "other"]) == expected


def test_integers_with_a_gap_that_a_frame_turned_into_floats_stay_integers() -> None:
    frame = pd.DataFrame({"truth": [1, 2, 1, 2], "prediction": [1, None, 2, 2], "group": list("abab")})
    assert frame["prediction"].dtype == "float64"
    counts = Predictions.from_frame(frame, **COLUMNS).count(["group"])
    assert counts.axis("prediction").levels == (1, 2)
    assert counts.axis("truth").kind == counts.axis("prediction").kind == "integer"


def test_labels_of_csv_are_text(tmp_path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("truth,prediction,group\n01,1,a\n1,01,b\n")
    counts = Predictions.read(path, **COLUMNS).count(["group"])
    assert counts.axis("truth").levels == ("01", "1")


def test_booleans_are_labels() -> None:
    frame = pl.DataFrame({"truth": [True, False], "prediction": [True, None], "group": ["a", "b"]})
    counts = Predictions.from_frame(frame, **COLUMNS).count(["group"])
    assert counts.axis("truth").levels == (False, True)


def test_only_the_first_rank_counts() -> None:
    frame = pl.DataFrame(
        {
            "image": [1, 1, 2, 2],
            "truth": ["a", "a", "b", "b"],
            "prediction": ["a", "b", "a", "b"],
            "rank": [1, 2, 1, 2],
            "group": ["x", "x", "y", "y"],
        }
    )
    ranked = Predictions.from_frame(frame, **COLUMNS, id="image", rank="rank").count(["group"])
    assert ranked == Predictions.from_frame(frame[::2], **COLUMNS).count(["group"])


REFUSED = {
    "fractional truth": ({"truth": [0.5, 1.0]}, "fractional numbers such as 0.5"),
    "fractional predictions": ({"prediction": [0.25, 0.5], "truth": [0, 1]}, "scores into labels"),
    "kinds that differ": ({"truth": [1, 2]}, "no prediction could be right"),
    "nested labels": ({"truth": [[1], [2]]}, "convert it first"),
    "durations": ({"group": [timedelta(1), None]}, "'group' holds Duration.* convert it first"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_values_that_cannot_be_labels_are_refused(case) -> None:
    columns, message = REFUSED[case]
    frame = pl.DataFrame({"truth": ["a", "b"], "prediction": ["a", "b"], "group": ["x", "y"]} | columns)
    with pytest.raises(InputError, match=message):
        Predictions.from_frame(frame, **COLUMNS).count(["group"])


def test_mixed_types_are_refused() -> None:
    frame = pd.DataFrame({"truth": ["a", 1], "prediction": ["a", "b"], "group": ["x", "y"]})
    with pytest.raises(InputError, match="mixes types"):
        Predictions.from_frame(frame, **COLUMNS).count(["group"])


def test_too_many_classes_are_refused_but_predictions_are_open() -> None:
    n = 100_001
    frame = pl.DataFrame({"truth": [0] * n, "prediction": range(n), "group": ["x", "y"] * (n // 2) + ["x"]})
    assert len(Predictions.from_frame(frame, **COLUMNS).count(["group"]).axis("prediction").levels) == n
    flipped = Predictions.from_frame(frame, truth="prediction", prediction="truth")
    with pytest.raises(InputError, match="100,001 distinct values, more than the 100,000 classes"):
        flipped.count(["group"])


def test_an_unknown_column_names_the_closest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'prediction'"):
        Predictions.from_frame(make_frame(), truth="truth", prediction="predicton")


def test_what_is_not_a_frame_is_refused() -> None:
    with pytest.raises(InputError, match="list is not a frame"):
        Predictions.from_frame([1, 2], **COLUMNS)


def test_origin_holds_size_and_hash(tmp_path) -> None:
    path = tmp_path / "table.parquet"
    make_frame().write_parquet(path)
    origin = Predictions.read(path, **COLUMNS).origin
    assert origin is not None
    assert origin.size == path.stat().st_size
    assert origin.sha256 is not None
    assert len(origin.sha256) == 64


def test_pyarrow_dictionaries_are_text() -> None:
    table = pa.table({name: pa.array(make_frame()[name].to_list()).dictionary_encode() for name in COLUMNS})
    assert Predictions.from_frame(table, **COLUMNS).count([]).axis("truth").kind == "text"


def separated(folder, name, separator):
    path = folder / name
    rows = {"label": ["a", "b", "b"], "pred": ["a", "b", "1,5"], "group": ["x;z", "y\tw", "y"]}
    pl.DataFrame(rows).write_csv(path, separator=separator)
    return path


@pytest.mark.parametrize("name", ["p.csv", "p.tsv", "two words $1.csv"])
def test_a_table_with_semicolons_is_told_what_to_type_and_then_read(tmp_path, name):
    path = separated(tmp_path, name, ";")
    with pytest.raises(InputError, match=r"are separated by ';'.*header: 'label;pred;group'") as problem:
        Predictions.read(path, truth="label", prediction="pred")
    typed, _, given = str(problem.value).partition("type: ")[2].partition(" and give ")
    program, *words = shlex.split(typed)
    assert program == "python"
    subprocess.run([sys.executable, *words], check=True)
    (new,) = shlex.split(given)
    counts = Predictions.read(new, truth="label", prediction="pred").count(["group"])
    assert set(counts.axis("group").levels) == {"x;z", "y\tw", "y"}
    assert "1,5" in counts.axis("prediction").levels


@pytest.mark.parametrize(("name", "separator"), [("p.csv", "\t"), ("p.tsv", ",")])
def test_a_table_with_the_other_separator_is_told_its_name(tmp_path, name, separator):
    path = separated(tmp_path, name, separator)
    with pytest.raises(InputError) as problem:
        Predictions.read(path, truth="label", prediction="pred")
    words = shlex.split(str(problem.value).partition("rename it: ")[2])
    subprocess.run(words, check=True)
    assert Predictions.read(words[-1], truth="label", prediction="pred").columns == ["label", "pred", "group"]


def test_a_header_with_commas_and_semicolons_is_read(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("label;of,pred\na,a\nb,a\n")
    assert Predictions.read(path, truth="label;of", prediction="pred").columns == ["label;of", "pred"]
