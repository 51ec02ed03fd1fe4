"""Counting a table in one pass, where the table lives, by row or by cluster; weights, and headers as rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.columns.to_polars import present, to_polars
from evenhand.evidence.predictions.counts import LABEL_AXES, Counts
from evenhand.evidence.predictions.levels import (
    CLUSTER,
    DENSE_CELLS,
    MOMENTS,
    WEIGHT,
    Encoder,
    pack,
    refuse_mixed_types,
    unpack,
)
from evenhand.files.tables.scan import reading_cause

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
_ENGINES = ("dask", "duckdb", "narwhals", "pandas", "polars", "pyarrow")
_LARGEST = 1e60  # so that sums of squared squares are numbers


@contextmanager
def engine_errors(what: str) -> Iterator[None]:
    """Turn what a library of the user's frame raises into one line about ``what``."""
    try:
        yield
    except InputError:
        raise
    except Exception as problem:
        if isinstance(problem, UnicodeError):
            raise InputError(f"{what} cannot be read: {reading_cause(problem)}") from None
        if type(problem).__module__.partition(".")[0] not in _ENGINES:
            raise
        cause = f"{type(problem).__name__}: {one_line(problem, 200)}"
        raise InputError(
            f"{what} cannot be read: {cause}; give it as a frame of Polars or pandas"
        ) from problem


def count(frame: Frame, columns: dict[str, str], weight: str | None = None) -> Counts:
    """Counts of a frame.

    Polars tables stream through one dense array where the combinations of levels are few enough for that;
    every other engine does its own group-by and only the groups come home.

    ``columns`` maps each axis to its column, in the order of the axes.
    """
    # weights are a level like others until they are here: sums of floats depend on their order
    axes = columns if weight is None else {**columns, WEIGHT: weight}
    renamed = frame.select([nw.col(column).alias(name) for name, column in axes.items()])
    kinds = renamed.collect_schema()
    if isinstance(renamed, nw.DataFrame) and nw.Object in kinds.values():
        renamed = nw.from_native(_inferred(renamed, axes))
    native = renamed.to_native()
    if isinstance(native, pl.DataFrame | pl.LazyFrame):
        table = native.lazy()
        if weight is None and (counts := _stream(table, columns)) is not None:
            return counts
        cells = table.group_by(*axes).agg(n=pl.len()).collect(engine="streaming")
    else:
        cells = to_polars(renamed.group_by(*axes).agg(nw.len().alias("n")))
        enums = {name: pl.Enum(kind.categories) for name, kind in kinds.items() if isinstance(kind, nw.Enum)}
        cells = cells.cast(enums)  # type: ignore[arg-type]  # names to types
    return Counts.from_table(cells if weight is None else weighed(cells, weight), columns)


def _stream(table: pl.LazyFrame, columns: dict[str, str]) -> Counts | None:
    """Counts by one dense array; None where there are too many combinations of levels for that."""
    distinct = pl.collect_all([table.select(pl.col(name).unique()) for name in columns], engine="streaming")
    encoders = [
        Encoder.fit(values.to_series(), name, column, labels=name in LABEL_AXES)
        for values, (name, column) in zip(distinct, columns.items(), strict=True)
    ]
    sizes = [len(encoder.levels) + 1 for encoder in encoders]
    if prod(sizes) > DENSE_CELLS:
        return None
    text = [encoder for encoder in encoders if encoder.levels.dtype == pl.String]
    coded = table.with_columns([encoder.text_codes(pl.col(encoder.axis.name)) for encoder in text])
    dense = np.zeros(prod(sizes), dtype=np.int64)
    for batch in coded.collect_batches(maintain_order=False):
        series = [(encoder, batch[encoder.axis.name]) for encoder in encoders]
        codes = [s.to_numpy() if encoder in text else encoder.codes(s) for encoder, s in series]
        np.add.at(dense, pack(codes, sizes), 1)
    keys = np.flatnonzero(dense)
    return Counts(tuple([encoder.axis for encoder in encoders]), unpack(keys, sizes), dense[keys])


def _inferred(frame: nw.DataFrame[Any], columns: dict[str, str]) -> pl.DataFrame:
    """A frame whose object columns (what pandas makes of booleans with a gap) get their values' one kind."""
    series = {}
    for name, column in columns.items():
        values = present(frame[name].to_list())
        if len({type(value) for value in values if value is not None}) > 1:
            refuse_mixed_types(column)
        series[name] = pl.Series(values)
    return pl.DataFrame(series)


def check_one_header(counts: Counts, columns: Mapping[str, str], names: Collection[str], what: str) -> None:
    """Refuse rows that hold the names of columns, which would become labels and a group.

    Counts are those before any rule; ``columns`` maps each axis to its column.
    """
    roles, names = {columns["truth"], columns["prediction"]}, set(names)
    rows = np.ones(counts.n.size, dtype=bool)
    level_texts: list[list[str]] = []
    for axis in counts.axes:
        if names.isdisjoint(axis.levels):
            return
        codes = [index for index, level in enumerate(axis.levels) if level in names]
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


def weighed(cells: pl.DataFrame, column: str) -> pl.DataFrame:
    """Cells by weight as rows of ``Counts.from_table``.

    ``n``, the rows of each combination of values and weight, becomes their weight. Cells are sorted by
    weight, so that sums do not depend on the order of rows.
    """
    if cells.is_empty():
        return cells.with_columns(pl.lit(0.0).alias(name) for name in ("n", *MOMENTS))
    numbers = weight_numbers(cells[WEIGHT], column)
    weight, rows = pl.col(WEIGHT), pl.col("n")
    counting = pl.when(weight > 0).then(rows).otherwise(0)
    moments = dict(zip(MOMENTS, (counting, rows * weight**2, rows - counting), strict=True))
    return cells.with_columns(numbers).sort(WEIGHT).with_columns(n=rows * weight, **moments).drop(WEIGHT)


def weight_numbers(values: pl.Series, column: str) -> pl.Series:
    """Weights as floats of 0 or more."""
    if not (values.dtype.is_numeric() or values.dtype in (pl.String, pl.Null)):
        raise InputError(
            f"weight column {column!r} holds {one_line(values.dtype)} values; weights are numbers, 0 or more"
        )
    numbers = values.cast(pl.Float64, strict=False)
    wrong = values.filter(~(numbers.is_finite() & (numbers >= 0)).fill_null(False))
    extreme = numbers.filter((numbers > 0) & ~numbers.is_between(1 / _LARGEST, _LARGEST))
    if wrong.is_empty() and not extreme.is_empty():
        raise InputError(
            f"weight column {column!r} has rows with the weight {extreme[0]:g}; weights are 0, or from "
            f"{1 / _LARGEST:g} to {_LARGEST:g}: divide all by their mean"
        )
    if not wrong.is_empty():
        example = "no weight" if wrong[0] is None else one_line(repr(wrong[0]), 60)
        raise InputError(
            f"weight column {column!r} has rows with {example}; weights are numbers, 0 or more: mend them, "
            "or give these rows the weight 0, which leaves them out and counts them"
        )
    return numbers
