"""Counting a table in one pass, where the table lives, by row or by cluster; and headers among its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from math import prod
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.core.errors import InputError
from evenhand.evidence.predictions.columns.to_polars import present, to_polars
from evenhand.evidence.predictions.counts import LABEL_AXES, Counts
from evenhand.evidence.predictions.levels import (
    CLUSTER,
    DENSE_CELLS,
    WEIGHT,
    Codes,
    Encoder,
    pack,
    refuse_mixed_types,
    weighed,
)

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
        native = _renamed(frame, columns).to_native()
        if isinstance(native, pl.DataFrame | pl.LazyFrame):
            return _stream(native.lazy(), columns)
        return Counts.from_table(_grouped(frame, columns), columns)
    # weights are a level like others until they are here: sums of floats depend on their order
    cells = _grouped(frame, {**columns, WEIGHT: weight})
    return Counts.from_table(weighed(cells, weight), columns)


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


def check_one_header(counts: Counts, columns: Mapping[str, str], names: Collection[str], what: str) -> None:
    """Refuse rows that hold the names of columns, which would become labels and a group.

    Args:
        counts: Of the table, before any rule.
        columns: Axis name to column name.
        names: All columns of the table.
        what: What messages call the table.

    Raises:
        InputError: A row each of whose values is the name of a column, those of truth and prediction among
            them, in this or another order.
    """
    roles, names = {columns["truth"], columns["prediction"]}, set(names)
    rows = np.ones(counts.n.size, dtype=bool)
    level_texts: list[list[str]] = []
    for axis in counts.axes:
        codes = [index for index, level in enumerate(axis.levels) if level in names]
        if not codes:
            return
        rows &= np.isin(counts.codes_of(axis.name), codes)
        level_texts.append([str(level) for level in axis.levels])
    for cell in np.flatnonzero(rows).tolist():
        values = [
            levels[code] for levels, code in zip(level_texts, counts.codes[:, cell].tolist(), strict=True)
        ]
        if len(set(values)) == len(values) and roles & set(values):
            n = int(counts.rows[cell])
            many, are = ("1 row of", "is a header") if n == 1 else (f"{n:,} rows of", "are headers")
            raise InputError(
                f"{many} {what} {are} ({', '.join(map(repr, values))}), "
                "as where files were joined with cat; take it out, or give the files with a glob in quotes"
            )


ClusterWeights = Literal["rows", "equal"]
"""Whether each row of a cluster counts, or each cluster once."""


def said(cluster_weights: str) -> dict[str, str]:
    """What a manifest holds of it; nothing by default."""
    return {} if cluster_weights == "rows" else {"cluster_weights": cluster_weights}


def once_each(counts: Counts) -> Counts:
    """Counts in which each cluster counts once: its rows by their share of it.

    The weight of a row is divided by that of all rows of its cluster that have a truth and a prediction, and
    multiplied by the mean of those, so that all together weigh as before.
    """
    unit = counts.codes_of(f"{CLUSTER}{counts.cluster}")
    usable = (unit >= 0) & (counts.codes_of("truth") >= 0) & (counts.codes_of("prediction") >= 0)
    total = np.bincount(unit[usable], counts.n[usable], minlength=int(unit.max(initial=-1)) + 1)
    weighs = total > 0
    if not weighs.any():
        return counts
    scale = np.divide(total[weighs].mean(), total, out=np.ones(total.size), where=weighs)
    factor = np.where(unit >= 0, scale[unit], 1.0)
    n = counts.n.astype(np.float64)
    moments = np.stack([n, n, np.zeros(n.size)]) if counts.moments is None else counts.moments
    scaled = np.stack([moments[0], moments[1] * factor**2, moments[2]])
    return replace(counts, n=n * factor, moments=scaled, memo={})
