"""The rows behind a number: all columns of a table where labels under the user's rules have given values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import narwhals as nw
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.columns.plain import has_value
from evenhand.evidence.predictions.columns.ranks import is_first
from evenhand.evidence.predictions.columns.to_polars import present, to_polars
from evenhand.evidence.predictions.label_rules import NormalizedCounts
from evenhand.evidence.predictions.levels import Axis
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.files.tables import scan as sources


def chosen_rows(
    predictions: Predictions,
    choices: Sequence[Mapping[str, str]],  # column to =label or !label (any other, not missing)
    normalized: NormalizedCounts,  # of the same table, over every column that is chosen by
    *,
    most: int,  # rows of a choice that are returned
) -> list[pl.DataFrame]:
    """The rows of each choice, in the order of the table, where it has one.

    Files and frames of Polars are read once, in parts; of other frames on this machine only the columns of
    labels are converted; another engine filters by itself, once for each choice. Of ranked predictions only
    rows of rank 1 are taken.
    """
    frame = predictions.frame
    schema = frame.collect_schema()
    filters = [_filter(predictions, choice, normalized, schema) for choice in choices]
    native = frame.to_native()
    with reading_again(predictions):
        if isinstance(native, pl.DataFrame | pl.LazyFrame):
            return _streamed(native.lazy(), filters, most)
        if isinstance(frame, nw.DataFrame):
            return _picked(frame, predictions, choices, filters, most)
        return [to_polars(frame.filter(rows).head(most)) for rows in filters]


@contextmanager
def reading_again(predictions: Predictions) -> Iterator[None]:
    """Turn whatever goes wrong with a table that was counted before into one line."""
    try:
        with sources.reading(what=predictions.described()):
            yield
    except InputError:
        raise
    except Exception as problem:  # an engine of the user's, closed since or other than when it was counted
        raise InputError(
            f"the rows of {predictions.described()} cannot be read again ({type(problem).__name__}: "
            f"{one_line(problem, 200)}); audit the table anew"
        ) from problem


def _filter(
    predictions: Predictions,
    choice: Mapping[str, str],
    normalized: NormalizedCounts,
    schema: Mapping[str, Any],
) -> nw.Expr:
    axis_names = {predictions.truth: "truth", predictions.prediction: "prediction"}
    raw = {axis.name: axis for axis in normalized.raw}
    conditions = [
        _condition(column, schema[column], raw[axis_names.get(column, column)], condition, normalized)
        for column, condition in choice.items()
    ]
    if predictions.rank is not None:
        conditions.append(is_first(predictions.frame, predictions.rank))
    if predictions.cluster is not None:
        conditions.append(has_value(predictions.cluster, schema[predictions.cluster]))
    return nw.all_horizontal(*conditions, ignore_nulls=False)


def _condition(column: str, dtype: Any, axis: Axis, condition: str, normalized: NormalizedCounts) -> nw.Expr:
    """Whether a column has, or lacks, the raw values that became a label."""
    is_other, label = condition[0] == "!", condition[1:]
    labels = _labels(axis, normalized)
    values = [
        level
        for level, new in zip(axis.levels, labels, strict=True)
        if new == label or (is_other and new is None)
    ]
    is_text, is_float = (
        axis.kind == "text" and dtype != nw.String,
        axis.kind == "integer" and dtype.is_float(),
    )
    entries = nw.col(column).cast(nw.String) if is_text else nw.col(column)
    members = entries.is_in(list(map(float, values)) if is_float else values) if values else nw.lit(False)
    return ~members & has_value(column, dtype) if is_other else members


def _labels(axis: Axis, normalized: NormalizedCounts) -> list[str | None]:
    """What each raw level of an axis is called under the rules; None is missing."""
    changes = normalized.changes.get(axis.name, {})
    texts = map(str, axis.levels)
    labels = [changes.get(text, text) for text in texts]
    levels = {str(level) for level in normalized.counts.axis(axis.name).levels}
    if levels != set(labels) - {None}:  # texts such as 97.0 are called 97
        labels = [label if label is None else label.partition(".")[0] for label in labels]
    return labels


def _streamed(table: pl.LazyFrame, filters: Sequence[nw.Expr], most: int) -> list[pl.DataFrame]:
    """One pass over the table, which ends where every choice has its rows."""
    columns = table.collect_schema().names()
    marks = [_free(f"choice {index}", columns) for index in range(len(filters))]
    marked = dict(zip(marks, filters, strict=True))
    matching = nw.from_native(table).filter(nw.any_horizontal(*filters, ignore_nulls=True))
    parts: list[list[pl.DataFrame]] = [[] for _ in filters]
    rows = [0] * len(filters)
    for batch in matching.with_columns(**marked).to_native().collect_batches(maintain_order=True):
        for index, mark in enumerate(marks):
            part = batch.filter(pl.col(mark)).select(columns).head(most - rows[index])
            parts[index].append(part)
            rows[index] += part.height
        if all(n >= most for n in rows):
            break
    empty = table.head(0).collect()
    return [pl.concat([empty, *some]) for some in parts]


def _picked(
    frame: nw.DataFrame[Any],
    predictions: Predictions,
    choices: Sequence[Mapping[str, str]],
    filters: Sequence[nw.Expr],
    most: int,
) -> list[pl.DataFrame]:
    """Rows of a frame on this machine, chosen by its columns of labels alone."""
    optional = (predictions.rank, predictions.cluster)
    names = list(dict.fromkeys([*(name for choice in choices for name in choice), *filter(None, optional)]))
    keys = nw.from_native(converted(frame.select(*names)))
    keys = keys.with_row_index(index := _free("row", names))
    return [converted(frame[keys.filter(rows)[index].to_list()[:most]]) for rows in filters]


def converted(frame: nw.DataFrame[Any]) -> pl.DataFrame:
    """A frame of any library as one of Polars; columns of any objects keep what Polars can hold."""
    objects = [name for name, dtype in frame.collect_schema().items() if isinstance(dtype, nw.Object)]
    plain = frame.select(*(name for name in frame.columns if name not in objects))
    series = {name: pl.Series(name, present(frame[name].to_list()), strict=False) for name in objects}
    table = to_polars(plain) if plain.columns else pl.DataFrame()
    return table.with_columns(**series).select(frame.columns)


def _free(name: str, columns: Sequence[str]) -> str:
    while name in columns:
        name += "_"
    return name
