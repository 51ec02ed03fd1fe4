"""Maps applied to a table of embeddings, part by part, so that it never has to fit in memory."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import polars as pl

from evenhand.core.errors import InputError
from evenhand.mitigate.maps import Map

_ROWS = 16_384  # of a part that is changed at once, whatever the file is cut into


def transformed(embeddings: pl.LazyFrame, maps: Mapping[str, Map]) -> pl.LazyFrame:
    """Embeddings in the same order after the change of each modality that has a map; lazy and streamable."""
    schema = embeddings.collect_schema()
    for column in ("modality", "vector"):
        if column not in schema:
            raise InputError(
                f"the table has no column {column!r}; give embeddings with sample, modality and vector"
            )
    dtype = schema["vector"]
    if not isinstance(dtype, pl.List | pl.Array) or not dtype.inner.is_float():
        raise InputError(f"column 'vector' holds {dtype}; give lists of Float32 or Float64")
    changing = {modality: change for modality, change in maps.items() if not change.identity}
    if not changing:
        return embeddings
    shorter = any(change.keep is not None for change in changing.values())
    vector = pl.List(dtype.inner) if isinstance(dtype, pl.Array) and shorter else dtype
    change = partial(_changed, maps=changing, vector=vector)
    return embeddings.map_batches(change, schema={**schema, "vector": vector}, streamable=True)


def _changed(table: pl.DataFrame, *, maps: Mapping[str, Map], vector: pl.List | pl.Array) -> pl.DataFrame:
    """A part of the table after the change; at most ``_ROWS`` rows are held twice."""
    modality = table["modality"].cast(pl.String)
    pieces = []
    for start in range(0, max(1, len(table)), _ROWS):
        vectors = table["vector"].slice(start, _ROWS)
        result, here = vectors.cast(pl.List(vector.inner)), modality.slice(start, _ROWS)
        for name, change in maps.items():
            is_selected = ((here == name) & (result.list.len() > 0)).fill_null(False)
            if is_selected.any():
                result = _replaced(result, is_selected, change)
        pieces.append(result.cast(vector))
    return table.with_columns(pl.concat(pieces).alias("vector"))


def _replaced(vectors: pl.Series, is_selected: pl.Series, change: Map) -> pl.Series:
    """The chosen vectors after the change, the others as they are."""
    all_selected = bool(is_selected.all())
    mine = vectors if all_selected else vectors.filter(is_selected)
    after = pl.Series(vectors.name, change.transform(_array(mine, change))).cast(vectors.dtype)
    if all_selected:
        return after
    places = pl.concat([(~is_selected).arg_true(), is_selected.arg_true()])
    return pl.concat([vectors.filter(~is_selected), after]).gather(places.arg_sort())


def _array(vectors: pl.Series, change: Map) -> np.ndarray[tuple[int, int], np.dtype[np.floating]]:
    """Lists of one length as an array, shape (N, D)."""
    lengths = vectors.list.len().unique().sort().to_list()
    wrong = [length for length in lengths if change.dimensions not in (None, length)]
    if wrong:
        raise InputError(
            f"the vectors have {wrong[0]} dimensions, and the mitigation was fitted on "
            f"{change.dimensions}; use the model it was fitted for"
        )
    if len(lengths) > 1:
        raise InputError(f"vectors of {lengths[0]} and of {lengths[-1]} dimensions stand in one table")
    return vectors.explode(empty_as_null=False).to_numpy().reshape(len(vectors), lengths[0])
