"""Rankings: samples in the order of their scores, one ranking for each query, ties kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.core.errors import InputError, check_known, one_line
from evenhand.core.findings import Key, key_of
from evenhand.evidence.predictions.columns.annotated import Lost, Remembering
from evenhand.evidence.predictions.columns.arrays import Codes, Floats, Integers, Mask
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.levels import MISSING, Encoder, Label, check_usable, crossed_codes

COLUMNS = ("query", "sample", "score")


@dataclass(frozen=True, eq=False)
class Pools(Remembering):
    """Usable rows of Rankings by one grouping, as arrays; rows of a query in the order of the table."""

    by: tuple[str, ...]
    groups: tuple[tuple[Label, ...], ...]  # that occur, sorted: one value per attribute of by
    queries: tuple[str, ...]  # R names, sorted
    codes: Codes  # group of each sample, shape (R, N), -1 after the last sample of a smaller pool
    scores: Floats  # shape (R, N), NaN after the last sample
    group_sizes: Integers  # distinct samples of each group, shape (G,)
    dropped: Lost  # distinct samples left out, by reason; one with two reasons counts under the first
    lost: Integers  # rows left out of each query's pool, shape (R,)
    emptied: int  # queries that lost every row
    samples: Integers  # which sample each cell is, numbered from 0, shape (R, N), -1 after the last
    labels: Integers  # group of each of these, shape (S,); a sample that has several groups is several
    units: Integers  # what each was sampled with: its cluster, else itself; shape (S,)
    cluster: str | None  # the column of clusters; None: samples are their own units
    kind: str  # what a query is, as parts of findings call it
    sets: bool = False  # whether clusters are sets inside which groups change places sample by sample

    @property
    def shared(self) -> bool:
        """Whether a sampling unit stands in the pools of several queries."""
        here = self.codes >= 0
        pairs = np.unique(np.stack([self.units[self.samples[here]], np.nonzero(here)[0]]), axis=1)
        return bool(np.unique(pairs[0]).size < pairs.shape[1])

    def group_key(self, code: int) -> Key:
        """A group as findings write it: one text, or a list in the order of ``by``."""
        return key_of(self.groups[code])


@dataclass(frozen=True, eq=False)
class Rankings(Remembering):
    """A table of scores of samples for queries, with the samples' attributes. Higher scores come first.

    Make one with ``from_frame`` or ``from_scores``. The order of rows matters only to ``mode="paper"``, where
    tied samples stay in it.

    Attributes:
        table: ``query``, ``sample`` (text), ``score`` (float64, null where there is none), and attributes.
        kind: What a query is, as parts of findings call it: ``query``, ``occupation``, ...
        cluster: The attribute that names what samples were taken with, such as the person that several
            pictures show; None: each sample was taken by itself.
        sets: Whether clusters are sets of samples that were made alike but for their group
            (counterfactuals): groups change places inside each, sample by sample.
    """

    table: pl.DataFrame
    kind: str = "query"
    cluster: str | None = None
    sets: bool = False

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        query: str = "query",
        sample: str = "sample",
        score: str | None = "score",
        rank: str | None = None,
        kind: str = "query",
        cluster: str | None = None,
        sets: bool = False,
    ) -> Rankings:
        """Take a frame with one row for each query and sample; every further column is an attribute.

        Args:
            frame: Of pandas, Polars, pyarrow, DuckDB, PySpark, Dask or anything narwhals knows.
            query: Column of queries.
            sample: Column of sample ids.
            score: Column of scores, higher first; None where ``rank`` is given.
            rank: Column of ranks instead (1 = first); equal ranks are ties.
            kind: What a query is.
            cluster: Attribute that names what samples were taken with, such as a person; samples without it
                are left out and counted.
            sets: Whether clusters are sets of samples that were made alike but for their group.

        Raises:
            InputError: Not a frame, scores that are no numbers, or a sample twice in a query.
            UnknownName: A column that does not exist, with the closest that do.
        """
        table = _collected(frame)
        order = rank if rank is not None else score
        if order is None:
            raise InputError("neither scores nor ranks are named; give score=COLUMN or rank=COLUMN")
        check_known(
            "column", (query, sample, order, *([cluster] if cluster is not None else [])), table.columns
        )
        if cluster in (query, sample, order):
            raise InputError(f"cluster={cluster!r} is the query, sample or score; name another column")
        if not table[order].dtype.is_numeric():
            raise InputError(f"column {order!r} holds {table[order].dtype}, not numbers; convert it first")
        number = pl.col(order).cast(pl.Float64).fill_nan(None)
        rows = table.select(
            pl.col(query).cast(pl.String).alias("query"),
            pl.col(sample).cast(pl.String).alias("sample"),
            (-number if rank is not None else number).alias("score"),
            *(c for c in table.columns if c not in {query, sample, order, *COLUMNS}),
        )
        _refuse_repeated(rows)
        return cls(rows, kind, cluster, sets)

    @classmethod
    def from_scores(
        cls,
        scores: pl.DataFrame | pl.LazyFrame,
        annotations: pl.DataFrame | pl.LazyFrame,
        *,
        queries: Mapping[str, str] | None = None,
        kind: str = "query",
        cluster: str | None = None,
    ) -> Rankings:
        """Rankings from evidence: each candidate text is a query that ranks the samples scored for it.

        Args:
            scores: Scores(sample, candidate, score).
            annotations: ``sample`` and its attributes; a sample without annotations counts as missing them.
            queries: Name of the query that each candidate stands for; others are left out. None: the text.
            kind: What a query is.
            cluster: Attribute of the annotations, as in ``from_frame``.

        Raises:
            InputError: As in ``from_frame``.
        """
        table = scores.lazy().collect()
        if queries is not None:
            names = pl.Series(list(queries.values()), dtype=pl.String)
            lookup = pl.DataFrame({"candidate": pl.Series(list(queries), dtype=pl.String), "query": names})
            table = table.join(lookup, on="candidate", how="inner", maintain_order="left").drop("candidate")
        else:
            table = table.rename({"candidate": "query"})
        annotated = annotations.lazy().collect()
        annotated = annotated.select("sample", *(c for c in annotated.columns if c not in COLUMNS))
        if annotated["sample"].is_duplicated().any():
            raise InputError("the annotations hold a sample twice; keep one row for each")
        # in the order of the annotations, which is the benchmark's own: paper mode keeps tied samples in it
        positions = annotated.select("sample", pl.int_range(pl.len()).alias("__place"))
        table = table.join(positions, on="sample", how="left").sort(
            "__place", nulls_last=True, maintain_order=True
        )
        return cls.from_frame(
            table.drop("__place").join(annotated, on="sample", how="left", maintain_order="left"),
            kind=kind, cluster=cluster,
        )  # fmt: skip

    def to_frame(self) -> pl.DataFrame:
        """Rankings(query, rank, sample, score): best first; tied samples share the first of their ranks."""
        rank = pl.col("score").rank("min", descending=True).over("query").cast(pl.Int32)
        ranked = self.table.filter(pl.col("score").is_not_null()).with_columns(rank=rank)
        return ranked.select("query", "rank", "sample", "score").sort("query", "rank", "sample")

    def pools(self, by: Sequence[str]) -> Pools:
        """The usable rows by one grouping; made once.

        Raises:
            UnknownName: An attribute that is no column.
            InputError: No usable row is left.
        """
        names = tuple(by)
        if names not in self.memo:
            self.memo[names] = _pools(self, names)
        pools: Pools = self.memo[names]
        return pools


def _collected(frame: Any) -> pl.DataFrame:
    if isinstance(frame, pl.DataFrame | pl.LazyFrame):
        return frame.lazy().collect()
    try:
        wrapped: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(frame)
    except TypeError:
        type_name = f"{type(frame).__module__}.{type(frame).__name__}"
        raise InputError(
            f"{type_name} is not a frame; give one of pandas, Polars, pyarrow, DuckDB, PySpark or Dask"
        ) from None
    return to_polars(wrapped)


def _refuse_repeated(table: pl.DataFrame) -> None:
    rows = table.filter(pl.col("query").is_not_null() & pl.col("sample").is_not_null())
    repeated = rows.filter(pl.struct("query", "sample").is_duplicated())
    if len(repeated):
        query, sample = (one_line(value, 60) for value in repeated.select("query", "sample").row(0))
        raise InputError(f"query {query!r} holds sample {sample!r} twice; keep one row for each")


def _pools(rankings: Rankings, by: tuple[str, ...]) -> Pools:
    table = rankings.table
    attributes = [column for column in table.columns if column not in COLUMNS]
    check_known("column", by, attributes)
    encoders = [Encoder.fit(table[name], name, name, labels=False) for name in by]
    codes = [encoder.codes(table[encoder.axis.name]) for encoder in encoders]
    absent = {f"missing {name}": code == MISSING for name, code in zip(by, codes, strict=True)}
    if rankings.cluster is not None:
        absent[f"missing {rankings.cluster}"] = table[rankings.cluster].is_null().to_numpy()
    usable, dropped = _missing(table, absent)
    check_usable(usable, dropped, by)
    axes = [encoder.axis for encoder in encoders]
    group, groups = crossed_codes(axes, [code[usable] for code in codes], int(usable.sum()))
    usable_rows = table.filter(pl.Series(usable))
    names = tuple(usable_rows["query"].unique().sort().to_list())
    row = _positions(usable_rows["query"], names)
    order = np.argsort(row, kind="stable")  # rows of a query stay in their order
    sizes = np.bincount(row, minlength=len(names))
    column = np.arange(row.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    filled_codes = np.full((len(names), int(sizes.max())), MISSING, dtype=np.int32)
    filled_scores = np.full(filled_codes.shape, np.nan)
    filled_codes[row[order], column] = group[order]
    filled_scores[row[order], column] = usable_rows["score"].to_numpy()[order]
    lost = table.filter(~pl.Series(usable))["query"].drop_nulls()
    ids = usable_rows["sample"].rank("dense").to_numpy().astype(np.int64) - 1
    distinct, sample = np.unique(ids * len(groups) + group, return_inverse=True)
    labels = distinct % len(groups)
    units = distinct // len(groups)
    if rankings.cluster is not None:
        of_row = usable_rows[rankings.cluster].cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
        units = np.zeros(distinct.size, dtype=np.int64)
        units[sample] = of_row
        if (units[sample] != of_row).any():
            sample_id = usable_rows["sample"][int(np.flatnonzero(units[sample] != of_row)[0])]
            raise InputError(
                f"sample {sample_id!r} has two values of {rankings.cluster}; it can have one only"
            )
    filled_samples = np.full(filled_codes.shape, -1, dtype=np.int64)
    filled_samples[row[order], column] = sample[order]
    return Pools(
        by,
        groups,
        names,
        filled_codes,
        filled_scores,
        np.bincount(labels, minlength=len(groups)),
        dropped,
        np.bincount(_positions(lost.filter(lost.is_in(names)), names), minlength=len(names)),
        lost.filter(~lost.is_in(names)).n_unique(),
        filled_samples,
        labels,
        units,
        rankings.cluster,
        rankings.kind,
        rankings.sets,
    )


def _missing(table: pl.DataFrame, absent: Mapping[str, Mask]) -> tuple[Mask, Lost]:
    """Usable rows, and distinct samples left out by the first reason that each has."""
    absent = {f"missing {name}": table[name].is_null().to_numpy() for name in COLUMNS} | dict(absent)
    usable = np.ones(len(table), dtype=bool)
    dropped, gone_before = [], pl.Series("sample", [], dtype=pl.String)
    for reason, gone in absent.items():
        samples = table["sample"].filter(pl.Series(usable & gone))
        usable &= ~gone
        if samples.null_count():  # without an id, a row is all there is to count
            dropped.append((reason, samples.null_count()))
        new = samples.drop_nulls().unique()
        new = new.filter(~new.is_in(gone_before.to_list()))
        gone_before = pl.concat([gone_before, new])
        if len(new):
            dropped.append((reason, len(new)))
    return usable, tuple(dropped)


def _positions(values: pl.Series, names: Sequence[str]) -> Integers:
    """Where each value stands in ``names``."""
    return values.cast(pl.Enum(pl.Series(names))).to_physical().to_numpy().astype(np.int64)
