"""Single rows of a table of predictions, with labels as they were counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import narwhals as nw
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.chosen_rows import converted, reading_again
from evenhand.evidence.predictions.columns.ranks import first_ranks
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.count import weight_numbers
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import ATTRIBUTE, CLUSTER, WEIGHT
from evenhand.evidence.predictions.predictions import Predictions

WHOLE = r"^(-?\d+)\.0+$"
"""A whole number as some formats write it."""


def sample_rows(
    predictions: Predictions, attributes: Sequence[str], changes: Mapping[str, Mapping[str, str | None]]
) -> pl.DataFrame:
    """The rows: sample, truth, attributes, prediction, where there are such ``cluster:NAME`` and ``weight:``.

    Labels are texts, under the user's rules (``changes``). Without a column of ids a row of a file is named
    by its number and the file's hash; a row of a frame has no name. Of ranked predictions the first of each
    sample is taken, as it was counted.
    """
    if "sample" in attributes:
        raise InputError("groups of a column 'sample' would be taken for names of samples; rename it")
    names = {"truth": predictions.truth, **{name: name for name in attributes}}
    names["prediction"] = predictions.prediction
    if predictions.cluster is not None:
        names[CLUSTER + predictions.cluster] = predictions.cluster
    extra = [column for column in (predictions.id, predictions.weight) if column is not None]
    with reading_again(predictions):
        frame, origin = predictions.frame, predictions.origin
        if predictions.rank is not None:
            frame = first_ranks(frame, predictions.rank, predictions.prediction, predictions.id).frame
        frame = frame.select(*dict.fromkeys([*names.values(), *extra]))
        table = converted(frame) if isinstance(frame, nw.DataFrame) else to_polars(frame)
        sample = pl.lit(None, pl.String)
        if predictions.id is not None:
            sample = pl.col(predictions.id).cast(pl.String)
        elif origin is not None and origin.sha256:
            sample = pl.int_range(pl.len()).cast(pl.String) + f" of {origin.sha256}"
        columns = [as_text(column, table.schema[column]).alias(name) for name, column in names.items()]
        rows = table.select(sample.alias("sample"), *columns).with_columns(
            pl.col(name).replace(dict(new)) for name, new in changes.items() if name in names
        )
        if predictions.weight is not None:
            weights = weight_numbers(table[predictions.weight], predictions.weight)
            rows = rows.with_columns(weights.alias(WEIGHT))
        if predictions.cluster_weights == "equal":
            rows = rows.with_columns(_once_each(rows, f"{CLUSTER}{predictions.cluster}"))
        return rows


def _once_each(rows: pl.DataFrame, cluster: str) -> pl.Expr:
    """Weights with which each cluster counts once, as of ``once_each`` of counts."""
    usable = pl.col("truth").is_not_null() & pl.col("prediction").is_not_null()
    weight = pl.col(WEIGHT) if WEIGHT in rows.columns else pl.lit(1.0)
    weight = pl.when(usable).then(weight).otherwise(0.0)
    total = weight.sum().over(cluster)
    mean = weight.sum() / pl.col(cluster).filter(usable & pl.col(cluster).is_not_null()).n_unique()
    return pl.when(total > 0).then(weight * mean / total).otherwise(weight).alias(WEIGHT)


def right_answers(rows: pl.DataFrame, attributes: Sequence[str], cluster: str | None) -> pl.DataFrame:
    """Whether the prediction of each row is right, null where one of both is missing."""
    right = (pl.col("truth") == pl.col("prediction")).cast(pl.Float64)
    return rows.select(
        "sample",
        pl.lit("right").alias("outcome"),
        right.alias("value"),
        *(pl.col(name).alias(f"{ATTRIBUTE}{name}") for name in attributes),
        (pl.lit(None, pl.String) if cluster is None else pl.col(CLUSTER + cluster)).alias("unit"),
        (pl.col(WEIGHT) if WEIGHT in rows.columns else pl.lit(1.0)).alias("weight"),
        "truth",
        "prediction",
    )


def as_text(name: str, kind: pl.DataType) -> pl.Expr:
    """A column as the text that findings write: integral floats as integers, booleans as Python's."""
    column = pl.col(name)
    if kind == pl.Boolean:
        return pl.when(column).then(pl.lit("True")).when(~column).then(pl.lit("False")).alias(name)
    if kind.is_float():
        column = column.fill_nan(None)
        return column.cast(pl.String).str.replace(WHOLE, "$1").alias(name)
    return column.cast(pl.String)


def with_text_labels(counts: Counts) -> Counts:
    """Counts whose levels are texts, so that runs of tables of different formats can be put side by side."""
    table = counts.table()
    if counts.cluster is not None:
        table = counts.to_frame().rename({f"{ATTRIBUTE}{name}": name for name in counts.attributes})
    names = [name for name in table.columns if name != "n"]
    texts = table.with_columns(as_text(name, table.schema[name]) for name in names)
    return Counts.from_table(texts, {name: name for name in names})


def fitted(table: pl.DataFrame, counts: Counts) -> pl.DataFrame | str:
    """The rows in the spelling in which counting them gives these counts, or why there is none.

    The counts have texts for labels.
    """
    names = ["truth", *counts.attributes, "prediction"]
    texts = table.with_columns(as_text(name, table.schema[name]) for name in names)
    for spelled in (texts, _whole_numbers(texts, names), _spelled_as(texts, counts)):
        try:
            again = Counts.from_table(spelled.group_by(names).agg(n=pl.len()), {name: name for name in names})
        except InputError as problem:
            return one_line(problem)
        if with_text_labels(again) == counts:
            return spelled
    return "its rows do not give its counts"


def _whole_numbers(texts: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Labels written as 97.0 in a text file, as 97."""
    return texts.with_columns(pl.col(name).str.replace(WHOLE, "$1") for name in names)


def _spelled_as(texts: pl.DataFrame, counts: Counts) -> pl.DataFrame:
    """Predictions in the spelling of the counts, without regard to case."""
    levels = {str(level).casefold(): str(level) for level in counts.axis("prediction").levels}
    labels = texts["prediction"].drop_nulls().unique().to_list()
    mapping = {label: levels.get(label.casefold(), label) for label in labels}
    return texts.with_columns(pl.col("prediction").replace(mapping)) if mapping else texts
