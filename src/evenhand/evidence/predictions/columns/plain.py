"""Frames of other libraries with columns whose values compare as they are written, and can be counted."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from evenhand.core.errors import InputError, one_line

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]


def plain_frame(frame: Frame) -> Frame:
    """The frame with columns that its library can group by their values.

    A column of DuckDB loses its collation (under ``NOCASE`` Left and left would be one label); sparse columns
    of pandas, and run-end encoded and string-view columns of Arrow, are written out. Others stay as they are.
    """
    library, native = nw.get_native_namespace(frame).__name__, frame.to_native()
    mend = {"duckdb": _without_collation, "pandas": _dense, "pyarrow": _decoded}.get(library)
    plain: Frame = frame if mend is None else nw.from_native(mend(native))
    return plain


def check_name(column: str) -> None:
    """Refuse a name that Polars, which counts, takes for a pattern of several columns."""
    if column == "*" or (column.startswith("^") and column.endswith("$")):
        raise InputError(
            f"a column is called {column!r}, which Polars reads as a pattern for other columns; rename it"
        )


def has_value(column: str, dtype: nw.dtypes.DType) -> nw.Expr:
    """Rows in which a column has a value: NaN is none."""
    valued = ~nw.col(column).is_null()
    return valued & ~nw.col(column).is_nan() if dtype.is_float() else valued


def _without_collation(relation: Any) -> Any:
    """A relation of DuckDB whose texts compare by their bytes."""
    collation = relation.query("_rows", "select current_setting('default_collation')").fetchall()[0][0]
    if collation:
        raise InputError(
            f"this database compares texts by the collation {one_line(collation)!r}, so that labels that "
            "differ would count as one; type: SET default_collation = ''"
        )
    columns = []
    for name, kind in zip(relation.columns, relation.types, strict=True):
        quoted = '"' + name.replace('"', '""') + '"'
        columns.append(f"decode(encode({quoted})) as {quoted}" if str(kind) == "VARCHAR" else quoted)
    return relation.project(", ".join(columns))


def _dense(frame: Any) -> Any:
    """A frame of pandas without sparse, run-end encoded and interval columns; names of columns are texts."""
    names = list(map(str, frame.columns))
    if names != list(frame.columns):
        frame = frame.copy(deep=False)
        frame.columns = names
    dtypes = dict(enumerate(frame.dtypes))
    sparse = [index for index, dtype in dtypes.items() if type(dtype).__name__ == "SparseDtype"]
    encoded = [index for index, dtype in dtypes.items() if "run_end_encoded" in str(dtype)]
    typed = [index for index, dtype in dtypes.items() if _is_typed(dtype)]
    if not sparse and not encoded and not typed:
        return frame
    columns = {index: frame.iloc[:, index] for index in dtypes}
    for index in sparse:
        columns[index] = columns[index].__class__(
            np.asarray(columns[index].array), index=frame.index, name=columns[index].name
        )
    for index in encoded:
        columns[index] = columns[index].__class__(
            columns[index].array.to_numpy(dtype=object), index=frame.index, name=columns[index].name
        )
    for index in typed:
        columns[index] = _plain_categories(columns[index])
    plain = frame.copy(deep=False)
    for index in (*sparse, *encoded, *typed):
        plain[frame.columns[index]] = columns[index]
    return plain


def _is_cut(dtype: Any) -> bool:
    """Whether a column of pandas is of intervals, as ``pandas.cut`` makes them."""
    values = dtype.categories.dtype if type(dtype).__name__ == "CategoricalDtype" else dtype
    return type(values).__name__ == "IntervalDtype"


def _is_typed(dtype: Any) -> bool:
    """Whether a column of pandas is of intervals, or has categories in an order that are no texts."""
    is_ordered = type(dtype).__name__ == "CategoricalDtype" and dtype.ordered
    return _is_cut(dtype) or (is_ordered and not all(isinstance(entry, str) for entry in dtype.categories))


def _plain_categories(column: Any) -> Any:
    """Intervals as texts in their order; values of other kinds as they are, whose order is known."""
    if not _is_cut(column.dtype):
        return column.astype(object)
    return column.astype("category").cat.as_ordered().cat.rename_categories(str)


def _decoded(table: Any) -> Any:
    """A table of Arrow without run-end encoded and string-view columns."""
    import pyarrow as pa
    import pyarrow.compute

    for index, field in enumerate(table.schema):
        column = table.column(index)
        if pa.types.is_run_end_encoded(field.type):
            chunks = [pyarrow.compute.run_end_decode(chunk) for chunk in column.chunks]
            table = table.set_column(index, field.name, pa.chunked_array(chunks, type=field.type.value_type))
        elif pa.types.is_string_view(field.type):
            table = table.set_column(index, field.name, column.cast(pa.large_string()))
    return table
