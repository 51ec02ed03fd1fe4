"""Models joined sample by sample, and what cannot be joined, counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.columns.arrays import Floats, Integers
from evenhand.evidence.predictions.counts import PREDICTIONS, Counts
from evenhand.evidence.predictions.levels import CLUSTER

Losses = tuple[tuple[str, int], ...]

_SAMPLE = "sample"


@dataclass(frozen=True, eq=False)
class Matched:
    """Samples that every model answered, counted by truth, attributes and all answers."""

    table: pl.DataFrame  # truth, the attributes, one column for each model, and n
    columns: tuple[str, ...]  # those of the models
    dropped: Losses  # samples left out, by reason; a sample counts once

    @property
    def samples(self) -> int:
        """How many samples are common to all models."""
        return int(self.table["n"].sum())

    @property
    def usable(self) -> int:
        """How many of them have nothing missing."""
        return int(self.table.drop_nulls()["n"].sum())

    def counts(self, attributes: Sequence[str]) -> Counts:
        """Counts of two models, with the axes ``prediction`` and ``prediction_b``."""
        table = self.table.rename(dict(zip(self.columns, PREDICTIONS, strict=True)))
        units = [name for name in table.columns if name.startswith(CLUSTER)]
        names = {name: name for name in ("truth", *attributes, *PREDICTIONS, *units)}
        return Counts.from_table(table, names)


def match(rows: Sequence[pl.DataFrame], attributes: Sequence[str], names: Sequence[str]) -> Matched:
    """Join the answers of two or more models to the same samples, whose truth and attributes must agree."""
    columns = [f"model {index}" for index in range(len(rows))]
    shared = [name for name in rows[0].columns if name.startswith(CLUSTER)]
    shared = [name for name in shared if all(name in table.columns for table in rows)]
    facts = ["truth", *attributes, *shared]
    for table, name in zip(rows, names, strict=True):
        if repeated := table.height - table[_SAMPLE].n_unique():
            raise InputError(
                f"{repeated:,} rows of {name} repeat a sample id, so nothing can be paired by it; "
                "give each sample one row and audit again"
            )
    samples = rows[0].select(_SAMPLE, *facts, pl.col("prediction").alias(columns[0]))
    lost: list[tuple[str, int]] = []
    for table, column, name in zip(rows[1:], columns[1:], names[1:], strict=True):
        other = table.select(_SAMPLE, *facts, pl.col("prediction").alias(column))
        pairs = samples.join(other, on=_SAMPLE, how="inner", suffix=" there", maintain_order="left")
        gone, more = samples.height - pairs.height, table.height - pairs.height
        lost += [(f"not among the samples of {name}", gone)] * (gone > 0)
        lost += [(f"only among the samples of {name}", more)] * (more > 0)
        comparable, unknown = agreed(pairs, facts, names[0], name)
        lost += unknown
        samples = comparable.drop(f"{fact} there" for fact in facts)
    for column in shared:
        gone = samples[column].null_count()
        lost += [(f"missing {column.removeprefix(CLUSTER)}", gone)] * (gone > 0)
        samples = samples.drop_nulls(column)
    counts = samples.group_by(*facts, *columns).agg(n=pl.len()).sort(*facts, *columns, nulls_last=True)
    return Matched(counts, tuple(columns), tuple(lost))


def agreed(pairs: pl.DataFrame, facts: Sequence[str], first: str, second: str) -> tuple[pl.DataFrame, Losses]:
    """Samples of which both know a fact, or neither does, and how many others there are, by what is missing.

    ``pairs`` has what the second says of a fact as ``FACT there``.

    Raises:
        InputError: They say different things about one sample.
    """
    unknown = []
    for fact in facts:
        one_sided = pl.col(fact).is_null() != pl.col(f"{fact} there").is_null()
        if gone := pairs.filter(one_sided).height:
            unknown.append((f"missing {fact} in {first} or {second} only", gone))
            pairs = pairs.filter(~one_sided)
    for fact in facts:
        unlike = pairs.filter(pl.col(fact).ne_missing(pl.col(f"{fact} there")))
        if unlike.height:
            sample, here, there = unlike.select(_SAMPLE, fact, f"{fact} there").row(0)
            raise InputError(
                f"{fact!r} differs in {unlike.height:,} of {pairs.height:,} common samples: of "
                f"{one_line(sample)!r} it is {one_line(here)!r} in {first} and {one_line(there)!r} in "
                f"{second}; run both again on the same annotations"
            )
    return pairs, tuple(unknown)


@dataclass(frozen=True, eq=False)
class Aligned:
    """Usable rows of several models over one set of labels and groups, as sorted cells."""

    by: tuple[str, ...]  # the attributes, crossed
    labels: tuple[object, ...]  # every truth and answer that occurs, sorted
    groups: tuple[tuple[object, ...], ...]  # that occur, one value per attribute
    truth: Integers  # class of each cell, shape (K,), sorted
    group: Integers  # of each cell, shape (K,)
    answers: Integers  # label of each cell; (M, K) where samples are joined, (1, K) where they are not
    n: Floats  # rows; (K,) where samples are joined, (M, K) where they are not
    dropped: Losses  # by reason; not joined: also of classes and groups that another model has no row of

    @property
    def joined(self) -> bool:
        """Whether a cell is a combination of all models' answers."""
        return self.n.ndim == 1

    @property
    def sizes(self) -> Floats:
        """Rows of each group for each model, shape (M, Z)."""
        weights = np.tile(self.n, (len(self.answers), 1)) if self.joined else self.n
        return np.stack(
            [np.bincount(self.group, model_weights, len(self.groups)) for model_weights in weights]
        )

    def counts_of(self, model: int) -> Counts:
        """Counts of one of the models over these rows."""
        labels, names = pl.Series(self.labels), ("truth", *self.by, PREDICTIONS[0])
        groups = [pl.Series(values).gather(self.group) for values in zip(*self.groups, strict=True)]
        predictions = labels.gather(self.answers[model if self.joined else 0])
        columns = (labels.gather(self.truth), *groups, predictions)
        n = pl.Series(self.n if self.joined else self.n[model]).cast(pl.Int64)
        table = pl.DataFrame({**dict(zip(names, columns, strict=True)), "n": n}).filter(pl.col("n") > 0)
        return Counts.from_table(table, {name: name for name in names})

    @classmethod
    def of_joined(cls, matched: pl.DataFrame, by: Sequence[str], columns: Sequence[str]) -> Aligned:
        """From a table with one row per combination: truth, attributes, one column a model, and ``n``."""
        usable, dropped = _usable(matched, [*by, *columns])
        table = usable.group_by("truth", *by, *columns).agg(pl.col("n").sum())
        labels = _levels(table, ["truth", *columns])
        groups, coded = _coded(table, by, labels, columns)
        coded = coded.sort("truth", _GROUP, *columns)
        return cls(
            tuple(by),
            tuple(labels),
            groups,
            _codes(coded, "truth")[0],
            _codes(coded, _GROUP)[0],
            _codes(coded, *columns),
            coded["n"].to_numpy().astype(np.float64),
            dropped,
        )

    @classmethod
    def of_separate(cls, tables: Sequence[pl.DataFrame], by: Sequence[str], names: Sequence[str]) -> Aligned:
        """From each model's counts as a table: truth, attributes, ``prediction`` and ``n``.

        Only classes and groups of which every model has rows can be compared; other rows are dropped.
        """
        summaries, dropped = [], []
        for index, (table, name) in enumerate(zip(tables, names, strict=True)):
            usable, lost = _usable(table, [*by, "prediction"])
            dropped += [(f"{reason} in {name}", count) for reason, count in lost]
            summed = usable.group_by("truth", *by, "prediction").agg(pl.col("n").sum())
            summaries.append(summed.filter(pl.col("n") > 0).with_columns(model=pl.lit(index)))
        table, more = _of_shared_cells(pl.concat(summaries), ["truth", *by], names)
        dropped += more
        labels = _levels(table, ["truth", "prediction"])
        groups, coded = _coded(table, by, labels, ["prediction"])
        cells = coded.select("truth", "prediction", _GROUP).unique().sort("truth", "prediction", _GROUP)
        n = np.zeros((len(tables), cells.height))
        numbered = cells.with_row_index("cell").join(coded, on=["truth", "prediction", _GROUP])
        n[numbered["model"].to_numpy(), numbered["cell"].to_numpy()] = numbered["n"].to_numpy()
        return cls(
            tuple(by),
            tuple(labels),
            groups,
            _codes(cells, "truth")[0],
            _codes(cells, _GROUP)[0],
            _codes(cells, "prediction"),
            n,
            tuple(dropped),
        )


_GROUP = "_group"


def _codes(table: pl.DataFrame, *columns: str) -> Integers:
    """Columns of codes as rows of an array, shape (columns, K)."""
    return table.select(columns).to_numpy().T.astype(np.int64)


def _usable(table: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, Losses]:
    """Rows with nothing missing; a row with two reasons counts under the first."""
    table, dropped = without_missing(table, ("truth", *columns))
    if not table.height:
        reasons = ", ".join(f"{count:,} with {reason}" for reason, count in dropped) or "there is no row"
        raise InputError(f"no row can be compared: {reasons}; compare runs with answers and groups")
    return table, dropped


def without_missing(table: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, Losses]:
    """Rows with nothing missing in some columns, and how many others there are, by column."""
    dropped = []
    for column in columns:
        gone = int(table.filter(pl.col(column).is_null())["n"].sum())
        if gone:
            dropped.append((f"missing {column.removeprefix(CLUSTER)}", gone))
            table = table.drop_nulls(column)
    return table, tuple(dropped)


def _of_shared_cells(
    table: pl.DataFrame, cell: Sequence[str], names: Sequence[str]
) -> tuple[pl.DataFrame, list[tuple[str, int]]]:
    """Rows of the classes and groups that every model has; the others, counted for each model."""
    spread = table.group_by(cell).agg(models=pl.col("model").n_unique())
    shared = spread.filter(pl.col("models") == len(names)).select(cell)
    if not shared.height:
        examples = "; ".join(f"{name}: {_some(table, index, cell)}" for index, name in enumerate(names[:3]))
        raise InputError(
            f"the runs share no class and group of {' x '.join(cell[1:])} ({examples}); compare runs of one "
            "benchmark, or tables whose labels and groups are written alike"
        )
    alone = table.join(shared, on=list(cell), how="anti")
    lost = dict(alone.group_by("model").agg(pl.col("n").sum()).iter_rows())
    reasons = [
        (f"of classes and groups that not all models have, in {name}", int(lost[index]))
        for index, name in enumerate(names)
        if index in lost
    ]
    return table.join(shared, on=list(cell), how="semi", maintain_order="left"), reasons


def _some(table: pl.DataFrame, model: int, cell: Sequence[str]) -> str:
    """A model's first classes and groups, for a message."""
    rows = table.filter(pl.col("model") == model).select(cell).unique().sort(cell)
    examples = ", ".join("/".join(one_line(value) for value in row) for row in rows.head(3).iter_rows())
    return examples + (", ..." if rows.height > 3 else "")


def _levels(table: pl.DataFrame, columns: Sequence[str]) -> list[object]:
    """Every label of the columns, sorted."""
    kinds = sorted({str(table[column].dtype) for column in columns})
    if len(kinds) > 1:
        raise InputError(f"labels of the runs are of different kinds ({' and '.join(kinds)}); convert one")
    labels = pl.concat([table[column].unique().alias("label") for column in columns])
    return labels.unique().sort().to_list()


def _coded(
    table: pl.DataFrame, by: Sequence[str], labels: Sequence[object], columns: Sequence[str]
) -> tuple[tuple[tuple[object, ...], ...], pl.DataFrame]:
    """Labels as their places, and groups as the places of those that occur."""
    places = pl.DataFrame(
        {"_label": pl.Series(labels), "_place": pl.Series(range(len(labels)), dtype=pl.Int64)}
    )
    groups = table.select(by).unique().sort(by)
    coded = table.join(groups.with_row_index(_GROUP), on=list(by), how="left")
    for column in ("truth", *columns):
        coded = coded.join(places, left_on=column, right_on="_label", how="left").drop(column)
        coded = coded.rename({"_place": column})
    return tuple(groups.rows()), coded
