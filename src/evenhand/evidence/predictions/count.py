"""Counting a table in one pass, where the table lives."""

from __future__ import annotations

from math import prod
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.evidence.predictions.cell_keys import DENSE_CELLS, pack
from evenhand.evidence.predictions.columns.to_polars import present, to_polars
from evenhand.evidence.predictions.columns.weights import WEIGHT, weighed
from evenhand.evidence.predictions.counts import LABEL_AXES, Counts
from evenhand.evidence.predictions.levels import Codes, Encoder, refuse_mixed_types

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


def count(frame: Frame, columns: dict[str, str], weight: str | None = None) -> Counts:
    """Counts of a frame.

    Polars tables stream through one dense array where the combinations of levels are few enough for that;
    every other engine does its own group-by and only the groups come home.

    Args:
        frame: The table.
        columns: Axis name to column name, in the order of the axes.
        weight: Column of weights.

    Raises:
        InputError: Weights that are no numbers of 0 or more.
    """
    if weight is None:
        return _counted(frame, columns)
    # weights are a level like others until they are here: sums of floats depend on their order
    cells = _grouped(frame, {**columns, WEIGHT: weight})
    return Counts.from_table(weighed(cells, weight), columns)


def _counted(frame: Frame, columns: dict[str, str]) -> Counts:
    renamed = _renamed(frame, columns)
    native = renamed.to_native()
    if isinstance(native, pl.DataFrame | pl.LazyFrame):
        return _stream(native.lazy(), columns)
    return Counts.from_table(_grouped(frame, columns), columns)


def _grouped(frame: Frame, columns: dict[str, str]) -> pl.DataFrame:
    """One row per combination of values, with its number ``n``, made where the table lives."""
    renamed = _renamed(frame, columns)
    native = renamed.to_native()
    if isinstance(native, pl.DataFrame | pl.LazyFrame):
        return native.lazy().group_by(*columns).agg(n=pl.len()).collect(engine="streaming")
    cells = to_polars(renamed.group_by(*columns).agg(nw.len().alias("n")))
    kinds = renamed.collect_schema().items()
    ordered = {name: pl.Enum(kind.categories) for name, kind in kinds if isinstance(kind, nw.Enum)}
    return cells.cast(ordered)  # type: ignore[arg-type]  # names to types


def _renamed(frame: Frame, columns: dict[str, str]) -> Frame:
    """The columns that are counted, called as their axes."""
    renamed = frame.select(*(nw.col(column).alias(name) for name, column in columns.items()))
    schema = renamed.collect_schema()
    objects = any(isinstance(schema[name], nw.Object) for name in columns)
    if objects and isinstance(renamed, nw.DataFrame):
        return nw.from_native(_inferred(renamed, columns))
    return renamed


def _stream(table: pl.LazyFrame, columns: dict[str, str]) -> Counts:
    distinct = pl.collect_all([table.select(pl.col(name).unique()) for name in columns], engine="streaming")
    encoders = [
        Encoder.fit(values.to_series(), name, column, labels=name in LABEL_AXES)
        for values, (name, column) in zip(distinct, columns.items(), strict=True)
    ]
    sizes = [len(encoder.levels) + 1 for encoder in encoders]
    if prod(sizes) > DENSE_CELLS:
        grouped = table.group_by(*columns).agg(n=pl.len()).collect(engine="streaming")
        return Counts.from_table(grouped, columns)
    text = [encoder for encoder in encoders if encoder.levels.dtype == pl.String]
    coded = table.with_columns(encoder.text_codes(pl.col(encoder.axis.name)) for encoder in text)
    dense = np.zeros(prod(sizes), dtype=np.int64)
    for batch in coded.collect_batches(maintain_order=False):
        np.add.at(dense, pack([_codes(encoder, batch) for encoder in encoders], sizes), 1)
    return Counts.from_dense(tuple(encoder.axis for encoder in encoders), dense)


def _codes(encoder: Encoder, batch: pl.DataFrame) -> Codes:
    """Codes of one column of a batch; text was coded by the scan."""
    values = batch[encoder.axis.name]
    return values.to_numpy() if encoder.levels.dtype == pl.String else encoder.codes(values)


def _inferred(frame: nw.DataFrame[Any], columns: dict[str, str]) -> pl.DataFrame:
    """A frame whose object columns (what pandas makes of booleans with a gap) get their values' one kind.

    Raises:
        InputError: A column that holds several kinds.
    """
    series = {}
    for name, column in columns.items():
        values = present(frame[name].to_list())
        if len({type(value) for value in values if value is not None}) > 1:
            refuse_mixed_types(column)
        series[name] = pl.Series(values)
    return pl.DataFrame(series)
