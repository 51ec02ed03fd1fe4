"""Exact nearest neighbours by cosine, block by block: no more than one block is held beside the queries."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_known, import_extra

Floats: TypeAlias = npt.NDArray[np.float32]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Blocks: TypeAlias = Iterator[tuple[pl.Series, npt.NDArray[Any]]]

NOT_FINITE = "vector that is not finite"
ZERO = "vector of length 0"

_CELLS = 16_777_216  # numbers of vectors that are looked at at once: 64 MiB of float32


def vectors_of_table(embeddings: pl.LazyFrame) -> Blocks:
    """Samples and their vectors, in blocks; rows without a vector, and vectors of texts, are left out.

    The table must be in a fixed order, best a scan of Parquet files; without ``modality`` all rows are taken.
    """
    schema = embeddings.collect_schema()
    check_known("column of embeddings", ("sample", "vector"), schema.names())
    kind = schema["vector"]
    if not isinstance(kind, pl.List | pl.Array) or not getattr(kind.inner, "is_numeric", bool)():
        raise InputError(f"the column 'vector' holds {kind!s}, not lists of numbers")
    is_image = pl.col("modality") == "image" if "modality" in schema else pl.lit(True)
    first = embeddings.filter(is_image, pl.col("vector").is_not_null()).select("vector").head(1).collect()
    if first.is_empty():
        return
    width = len(first["vector"][0])
    rows = max(1, _CELLS // max(1, width))
    columns = [name for name in ("sample", "modality", "vector") if name in schema]
    start, height = 0, 2 * rows
    while height == 2 * rows:
        # in slices: a stream reads ahead without bound while the search takes its time
        part = embeddings.slice(start, 2 * rows).select(columns).collect()
        start, height = start + part.height, part.height
        for block in part.filter(is_image).drop_nulls(["sample", "vector"]).iter_slices(rows):
            yield block["sample"].cast(pl.String), _matrix(block["vector"], width)


def vectors_of_array(samples: pl.Series, vectors: npt.NDArray[Any]) -> Blocks:
    """Samples and their vectors, in blocks; an array on disk is read one block at a time."""
    rows = max(1, _CELLS // max(1, vectors.shape[1]))
    for start in range(0, len(vectors), rows):
        yield samples[start : start + rows], np.asarray(vectors[start : start + rows])


def unit_rows(block: npt.NDArray[Any]) -> tuple[Floats, Mask, dict[str, int]]:
    """The usable vectors of a block at length 1, which rows they are, and how many are not, by reason."""
    if block.dtype not in (np.float32, np.float64):
        block = block.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        squared = np.einsum("nd,nd->n", block, block, dtype=np.float64)
    finite = np.isfinite(squared)
    usable = np.asarray(finite & (squared > 0))
    lost = {NOT_FINITE: int((~finite).sum()), ZERO: int((finite & (squared == 0)).sum())}
    if not usable.all():
        block, squared = block[usable], squared[usable]
    length = np.sqrt(squared)[:, None]
    if block.dtype == np.float32 and length.size and length.min() > 1e-30 and length.max() < 1e30:
        length = length.astype(np.float32)  # as fast as it goes where nothing can under- or overflow
    return (block / length).astype(np.float32, copy=False), usable, lost


def search_engine() -> Any:
    """faiss, which finds the nearest vectors."""
    return import_extra("faiss", "search")


class NearestSearch:
    """The K nearest of all vectors that were added, for each query.

    Queries are vectors of length 1, shape (N, D). Cosines are products of float32; of equal ones the vector
    that was added first comes first.
    """

    def __init__(self, queries: Floats, k: int) -> None:
        self._faiss = search_engine()
        self.queries = np.ascontiguousarray(queries)
        self.k = k
        self.added = 0
        self._ids = np.zeros((len(queries), 0), dtype=np.int64)
        self._cosines = np.zeros((len(queries), 0), dtype=np.float32)

    def add(self, unit: Floats) -> None:
        """Look at further vectors of length 1, shape (rows, D)."""
        if not len(unit):
            return
        k = min(self.k, len(unit))
        product = self._faiss.METRIC_INNER_PRODUCT
        cosines, ids = self._faiss.knn(self.queries, np.ascontiguousarray(unit), k, product)
        ids += self.added
        self.added += len(unit)
        merged = np.concatenate([self._cosines, cosines], axis=1)
        order = np.argsort(-merged, axis=1, kind="stable")[:, : self.k]
        self._cosines = np.take_along_axis(merged, order, axis=1)
        self._ids = np.take_along_axis(np.concatenate([self._ids, ids], axis=1), order, axis=1)

    def nearest(self) -> tuple[Integers, Floats]:
        """Numbers of the nearest vectors in the order they were added, and cosines in [-1, 1].

        Both have the best first, shape (N, min(K, vectors)).
        """
        order = np.lexsort((self._ids, -self._cosines), axis=-1)
        cosines = np.take_along_axis(self._cosines, order, axis=1)
        return np.take_along_axis(self._ids, order, axis=1), np.clip(cosines, -1, 1)


def _matrix(vectors: pl.Series, width: int) -> npt.NDArray[Any]:
    """Lists of numbers as an array; a number that is missing is NaN."""
    lengths = vectors.arr.len() if isinstance(vectors.dtype, pl.Array) else vectors.list.len()
    if (lengths != width).any():
        other = lengths.filter(lengths != width)[0]
        raise InputError(f"vectors of {width} and of {other} dimensions stand in one table; embed all anew")
    if not width:
        return np.zeros((len(vectors), 0), dtype=np.float32)
    numbers = vectors.explode()
    if numbers.dtype != pl.Float64:
        numbers = numbers.cast(pl.Float32)
    return np.asarray(numbers.to_numpy()).reshape(len(vectors), width)
