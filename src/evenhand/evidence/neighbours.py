"""Neighbours: the nearest samples of a database to each query, with what is annotated on both sides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_choice, check_known
from evenhand.evidence.derivation.vector_search import (
    Blocks,
    NearestSearch,
    unit_rows,
    vectors_of_array,
    vectors_of_table,
)
from evenhand.evidence.predictions.columns.annotated import Facts, Remembering, check_k
from evenhand.evidence.predictions.columns.arrays import Mask, unmasked
from evenhand.evidence.ranked_labels import annotated_samples

Floats: TypeAlias = npt.NDArray[np.float32]
Integers: TypeAlias = npt.NDArray[np.int64]

SPARE = 14
"""Neighbours kept beyond K, so that samples as near as the last one that counts are known."""

CONTENT = "content"
"""Column with a hash of each image, if there is one; no attribute."""

_NO_ANSWER, _NOT_ANNOTATED, _SHARED = "no answer", "not annotated", "also a query"
_ALIKE = 1e-6  # cosines so near to 1 are those of one vector


@dataclass(frozen=True, eq=False)
class Neighbours(Remembering):
    """The nearest database samples of each query by cosine; exact, found with faiss.

    Make one with ``from_embeddings`` or ``from_vectors``. No sample is in both: database samples that are
    queries too are left out, or refused.

    Attributes:
        queries: The usable queries: ``sample`` and attributes, sorted by sample.
        database: The usable database: ``sample`` and attributes, in its own order.
        ids: Rows of ``database``, nearest first, shape (N, at most k + SPARE).
        cosines: Their cosines, float32, same shape.
        k: How many count at most.
        cluster: Attribute of the queries whose values belong together, such as the subject.
        facts: What else tells this evidence from others; stands in the parameters of findings.
        dropped: Queries left out, by reason.
        left_out: Database samples left out, by reason.
        notes: What to know about the evidence.
    """

    queries: pl.DataFrame
    database: pl.DataFrame
    ids: Integers
    cosines: Floats
    k: int
    cluster: str | None = None
    facts: Facts = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def from_embeddings(
        cls,
        queries: pl.LazyFrame,
        database: pl.LazyFrame,
        query_annotations: pl.DataFrame,
        database_annotations: pl.DataFrame,
        *,
        k: int = 50,
        cluster: str | None = None,
        overlap: str = "exclude",
        facts: Facts | None = None,
    ) -> Neighbours:
        """Search a table of embeddings for the nearest of each query; the database is read in blocks.

        Samples without a usable vector, and vectors without annotations, are dropped and counted.

        Args:
            queries: Embeddings(sample, modality, vector); held in memory.
            database: Embeddings, of which one block is held at a time.
            query_annotations: One row a sample: ``sample``, attributes, and possibly ``content``, a hash of
                the image.
            database_annotations: The same of the database.
            k: How many neighbours count at most.
            cluster: Attribute of the queries whose values belong together.
            overlap: What becomes of database samples that are queries too, by ``content`` where both have
                one, else by ``sample``: ``exclude`` (counted) or ``refuse``.
            facts: What else tells this evidence from others.

        Raises:
            UnknownName: A column that does not exist.
            InputError: A sample twice, vectors of different dimensions, an empty database, or one with
                queries in it that is refused.
            ParameterError: ``k`` below 1, or another ``overlap``.
        """
        embeddings = (vectors_of_table(queries), vectors_of_table(database))
        return cls._searched(
            embeddings, (query_annotations, database_annotations), k, cluster, overlap, facts or {}
        )

    @classmethod
    def from_vectors(
        cls,
        queries: npt.ArrayLike,
        database: npt.ArrayLike,
        query_annotations: pl.DataFrame,
        database_annotations: pl.DataFrame,
        *,
        k: int = 50,
        cluster: str | None = None,
        overlap: str = "exclude",
        facts: Facts | None = None,
    ) -> Neighbours:
        """The same from arrays; each row belongs to the row of annotations in its place.

        Args:
            queries: Shape (N, D).
            database: Shape (M, D); read in blocks, so a memory map will do.
            query_annotations: N rows, as in ``from_embeddings``, and so are all further arguments and errors.
            database_annotations: M rows.
            k: How many neighbours count at most.
            cluster: Attribute of the queries whose values belong together.
            overlap: ``exclude`` or ``refuse`` database samples that are queries too.
            facts: What else tells this evidence from others.

        Raises:
            InputError: Vectors and annotations of different number.
        """
        annotations = (query_annotations, database_annotations)
        embeddings = []
        for what, vectors, table in zip(
            ("queries", "the database"), (queries, database), annotations, strict=True
        ):
            array = np.asarray(unmasked(vectors, f"vectors of {what}"))
            if array.ndim != 2 or len(array) != table.height:
                raise InputError(
                    f"vectors of {what} have shape {array.shape}; give one row for each of "
                    f"{table.height} rows of annotations"
                )
            check_known("column of annotations", "sample", table.columns)
            embeddings.append(vectors_of_array(table["sample"].cast(pl.String), array))
        return cls._searched((embeddings[0], embeddings[1]), annotations, k, cluster, overlap, facts or {})

    @classmethod
    def _searched(
        cls,
        embeddings: tuple[Blocks, Blocks],
        annotations: tuple[pl.DataFrame, pl.DataFrame],
        k: int,
        cluster: str | None,
        overlap: str,
        facts: Facts,
    ) -> Neighbours:
        check_k(k)
        check_choice("overlap", overlap, ("exclude", "refuse"))
        queries, searched = (
            annotated_samples(annotations[0], cluster),
            annotated_samples(annotations[1], None),
        )
        shared = _shared(queries, searched)
        if overlap == "refuse" and shared.any():
            name = searched["sample"].filter(shared)[0]
            raise InputError(
                f"{int(shared.sum())} samples of the database are queries too, such as {name!r}; give other "
                "samples, or leave them out with overlap='exclude'"
            )
        left, right = _SearchSide.of(queries), _SearchSide.of(searched, shared)
        blocks = list(left.unit(embeddings[0]))
        vectors = np.concatenate(blocks) if blocks else np.zeros((0, 0), dtype=np.float32)
        order = np.argsort(left.placed, kind="stable")
        search = NearestSearch(vectors[order], k + SPARE)
        del blocks, vectors
        for unit in right.unit(embeddings[1]):
            if left.width is not None and left.width != right.width:
                raise InputError(
                    f"queries have {left.width} dimensions and the database {right.width}; embed both with "
                    "the same model"
                )
            search.add(unit)
        if not search.added:
            lost = ", ".join(f"{count} with {reason}" for reason, count in right.lost().items())
            raise InputError(
                f"no usable sample is left in the database ({lost or 'it has no row'}); give one of other "
                "samples"
            )
        ids, cosines = search.nearest()
        return cls(
            _attributes(queries[left.placed[order].tolist()]),
            _attributes(searched[right.placed.tolist()]),
            ids,
            cosines,
            int(k),
            cluster,
            dict(facts),
            left.lost(),
            right.lost(),
            tuple(_copies(cosines)),
        )

    @property
    def depth(self) -> int:
        """How many neighbours of each query are known."""
        return int(self.ids.shape[1])

    def check_attribute(self, *names: str, both: bool = False) -> None:
        """Raise UnknownName, with the closest names, unless the queries (or both sides) have it."""
        possible = [column for column in self.queries.columns if column != "sample"]
        if both:
            possible = [column for column in possible if column in self.database.columns]
        check_known(f"attribute of {'both sides' if both else 'the queries'}", names, possible)

    def to_frame(self, k: int | None = None) -> pl.DataFrame:
        """Rankings(query, rank, sample, score): the nearest samples of each query, best first.

        Args:
            k: How many of each query; None: all that count.
        """
        width = min(self.k if k is None else k, self.depth)
        count = self.queries.height
        return pl.DataFrame(
            {
                "query": self.queries["sample"].gather(np.repeat(np.arange(count), width)),
                "rank": np.tile(np.arange(1, width + 1, dtype=np.int32), count),
                "sample": self.database["sample"].gather(self.ids[:, :width].ravel()),
                "score": self.cosines[:, :width].ravel().astype(np.float64),
            }
        )


@dataclass(eq=False)
class _SearchSide:
    """One side of the search: which of its samples have a usable vector."""

    samples: pl.DataFrame  # the annotations, sorted by sample
    shut: Mask  # samples that are left out
    seen: Mask  # samples that have a vector
    counts: dict[str, int] = field(default_factory=dict)  # what was left out, by reason
    rows: list[Integers] = field(default_factory=list)  # of samples with a usable vector, an array a block
    width: int | None = None  # dimensions of the vectors

    @classmethod
    def of(cls, samples: pl.DataFrame, shut: pl.Series | None = None) -> _SearchSide:
        """A side with some samples left out."""
        none = np.zeros(samples.height, dtype=bool)
        return cls(samples, none if shut is None else shut.to_numpy(), none.copy())

    def unit(self, blocks: Blocks) -> Any:
        """The usable vectors of each block at length 1; notes whose they are."""
        numbered = self.samples.select("sample").with_row_index("row")
        for names, matrix in blocks:
            self.width = matrix.shape[1]
            rows = names.alias("sample").to_frame().join(
                numbered, on="sample", how="left", maintain_order="left"
            )["row"]  # fmt: skip
            there = rows.is_not_null().to_numpy()
            self._count(_NOT_ANNOTATED, int((~there).sum()))
            indices = rows.drop_nulls().to_numpy().astype(np.int64)
            self._mark(indices)
            shut = self.shut[indices]
            self._count(_SHARED, int(shut.sum()))
            there[there] = ~shut
            unit, usable, lost = unit_rows(matrix if there.all() else matrix[there])
            for reason, count in lost.items():
                self._count(reason, count)
            self.rows.append(indices[~shut][usable])
            yield unit

    def _mark(self, rows: Integers) -> None:
        again = self.seen[rows]
        if not again.any() and np.unique(rows).size < rows.size:
            values, counts = np.unique(rows, return_counts=True)
            again, rows = np.ones(1, dtype=bool), values[counts > 1][:1]
        if again.any():
            name = self.samples["sample"][int(rows[again][0])]
            raise InputError(f"sample {name!r} has several vectors; give each sample one")
        self.seen[rows] = True

    def _count(self, reason: str, count: int) -> None:
        self.counts[reason] = self.counts.get(reason, 0) + count

    @property
    def placed(self) -> Integers:
        """Rows of ``samples`` in the order in which their vectors came."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.rows])

    def lost(self) -> dict[str, int]:
        """Samples left out, by reason."""
        silent = int((~self.seen).sum())
        return {
            reason: count for reason, count in sorted({**self.counts, _NO_ANSWER: silent}.items()) if count
        }


def _shared(queries: pl.DataFrame, database: pl.DataFrame) -> pl.Series:
    """Which database samples are queries too: of equal content, or of equal id where one has no content."""
    same_id = database["sample"].is_in(queries["sample"].to_list())
    if CONTENT not in queries.columns or CONTENT not in database.columns:
        return same_id
    with_content = queries.filter(pl.col(CONTENT).is_not_null())
    hashes = database[CONTENT].cast(pl.String)
    hashed = hashes.is_not_null()
    equal = hashes.is_in(with_content[CONTENT].cast(pl.String).to_list()).fill_null(False)
    doubtful = same_id & ~(hashed & database["sample"].is_in(with_content["sample"].to_list()))
    return equal | doubtful


def _attributes(table: pl.DataFrame) -> pl.DataFrame:
    return table.drop(CONTENT, strict=False)


def _copies(cosines: Floats) -> list[str]:
    alike = int((cosines[:, :1] >= 1 - _ALIKE).sum())
    if not alike:
        return []
    return [f"{alike} queries have a database sample with the same vector; is it the same image?"]
