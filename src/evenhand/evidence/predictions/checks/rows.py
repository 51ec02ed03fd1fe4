"""What is suspicious about the rows and columns of a table: repetitions, contradictions, unused weights."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.core.findings import TableWarning
from evenhand.evidence.predictions.checks.labels import counted, listed
from evenhand.evidence.predictions.columns.plain import has_value
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import CLUSTER
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.files.tables import scan as sources

WEIGHTS = ("weight", "weights", "sample_weight", "sample_weights", "survey_weight", "row_weight")
IDS = (
    *("id", "image", "image_id", "image_path", "img", "img_id", "img_path", "file", "file_id", "file_name"),
    *("file_path", "filename", "filepath", "path", "sample", "sample_id", "uuid"),
)
UNITS = re.compile(
    r"(person|subject|patient|participant|user|speaker|identity|household|family|video|scene|session)s?"
    r"([ _-]?(id|key|name|no|nr|number))?",
    re.IGNORECASE,
)
"""Columns of what is often sampled as a whole."""
MOST_ROWS = 2_000_000  # rows beyond which only a column of ids that the user named is searched
_FEWEST_UNITS = 10
_KEPT = 100  # ids in a warning
_UNEVEN = 10  # rows of the largest cluster over those of the median one, beyond which it is said
_OFTEN = 50  # rows of a value from which it is hardly the id of a sample


def check_rows(predictions: Predictions, counts: Counts) -> tuple[list[TableWarning], int | None]:
    """Warnings about columns that are not used, and about rows that stand several times.

    Ids are those of the column that the user named; the number is that of rows that repeat one. Without such
    a column it is None, and a column with the name of an id is taken, else all columns, where a table has
    more than those used: of tables on this machine, up to ``MOST_ROWS`` rows. Ranked predictions repeat their
    ids.
    """
    role_columns = (predictions.truth, predictions.prediction, predictions.weight, predictions.cluster)
    used = {*counts.attributes, *(column for column in role_columns if column is not None)}
    warnings = [*_unused_weights(predictions, used), *_uneven_clusters(predictions, counts)]
    repeated: int | None = None
    if predictions.rank is not None:
        return warnings, None
    with sources.reading(what="the table"):
        if predictions.id is not None:
            repeated = predictions.repeated_values(predictions.id)
            warnings += _repeated_ids(predictions, predictions.id, repeated, counts.n_total)
            used.add(predictions.id)
        if is_small(predictions, counts):
            if predictions.id is None:
                warnings += _repetitions(predictions, used, counts.n_total)
            warnings += _unused_clusters(predictions, used, counts.n_total)
    return warnings, repeated


def _unused_weights(predictions: Predictions, used: set[str]) -> Iterable[TableWarning]:
    for column in predictions.columns if predictions.weight is None else ():
        if column.casefold() in WEIGHTS and column not in used:
            yield TableWarning(
                code="unused_weight",
                columns=[column],
                message=f"a column called {column!r} is not used; if rows stand for different numbers, type "
                f"--weight {column}: mistakes by class are then not tested",
                option=f"--weight {column}",
            )


def _uneven_clusters(predictions: Predictions, counts: Counts) -> Iterable[TableWarning]:
    """Clusters of which one has far more rows than most."""
    if counts.cluster is None or predictions.cluster_weights == "equal":
        return
    unit = counts.codes_of(CLUSTER + counts.cluster)
    sizes = np.bincount(unit[unit >= 0], counts.rows[unit >= 0])
    sizes = sizes[sizes > 0]
    middle = float(np.median(sizes)) if sizes.size else 0.0
    if sizes.size >= _FEWEST_UNITS and sizes.max() > _UNEVEN * middle:
        yield TableWarning(
            code="uneven_clusters",
            columns=[counts.cluster],
            message=(
                f"the largest value of {counts.cluster!r} has {int(sizes.max()):,} rows, half at most "
                f"{int(middle):,}: a few decide. If each is to count once, type: --cluster-weights equal"
            ),
            option="--cluster-weights equal",
        )


def _unused_clusters(predictions: Predictions, used: set[str], rows: int) -> Iterable[TableWarning]:
    """A column of persons and their like that have several rows, or of ids that are no ids of samples."""
    for column in predictions.columns if predictions.cluster is None else ():
        is_unit = UNITS.fullmatch(column) is not None
        if column in used or not (is_unit or column.casefold() in IDS):
            continue
        repeated = predictions.repeated_values(column)
        several = rows - repeated
        if several < _FEWEST_UNITS:  # a kind, such as an identity
            continue
        if repeated if is_unit else 2 * several <= rows < _OFTEN * several:
            yield TableWarning(
                code="unused_cluster",
                columns=[column],
                message=(
                    f"{repeated:,} of {rows:,} rows have the {column!r} of an earlier row, and intervals and "
                    "p take each row as a sample of its own. If rows of one value belong together, such as "
                    f"pictures of a person, type: --cluster {column}"
                ),
                option=f"--cluster {column}",
            )


def is_small(predictions: Predictions, counts: Counts) -> bool:
    """Whether reading the table once more costs little."""
    native = predictions.frame.to_native()
    far = isinstance(predictions.frame, nw.LazyFrame) and not isinstance(native, pl.LazyFrame)
    cloud = predictions.origin is not None and not predictions.origin.files
    return counts.n_total <= MOST_ROWS and not far and not cloud


def _repetitions(predictions: Predictions, used: set[str], rows: int) -> Iterable[TableWarning]:
    key = next((column for column in predictions.columns if column.casefold() in IDS), None)
    if key is None:
        if set(predictions.columns) > used:
            yield from _equal_rows(predictions, rows)
    elif key not in used:
        repeated = predictions.repeated_values(key)
        if rows - repeated > repeated:  # else it is no id, such as the file that a row was read from
            yield from _repeated_ids(predictions, key, repeated, rows)


def _repeated_ids(predictions: Predictions, key: str, repeated: int, rows: int) -> Iterable[TableWarning]:
    """Ids of several rows, and among them those whose truths differ."""
    if not repeated:
        return
    hint = f". If that column is the id of a sample, type: --id {key}"
    if predictions.id:
        hint = "" if predictions.cluster else f". If rows of one value belong together, type: --cluster {key}"
    several = rows - repeated
    is_id = rows < _OFTEN * several
    if predictions.id and not is_id:
        hint = (
            f". With {several:,} values in all {key!r} is hardly the id of a sample; leave --id out, or name "
            "the column of ids"
        )
    yield TableWarning(
        code="repeated_ids",
        columns=[key],
        message=(
            f"{repeated:,} of {rows:,} rows repeat the {key!r} of an earlier row; every row counts, like one "
            f"of another sample{hint}"
        ),
        option=f"--{'cluster' if predictions.id else 'id'} {key}" if "--" in hint and is_id else None,
    )
    if not is_id:
        return
    table = predictions.frame.select(nw.col(key).alias("id"), nw.col(predictions.truth).alias("truth"))
    schema = table.collect_schema()
    grouped = table.filter(*(has_value(name, schema[name]) for name in ("id", "truth"))).group_by("id")
    of_ids = grouped.agg(nw.len().alias("rows"), nw.col("truth").n_unique().alias("truths"))
    unlike = to_polars(of_ids.filter(nw.col("truths") > 1))
    if unlike.height:
        sizes = {str(value): float(n) for value, n in unlike.select("id", "rows").iter_rows()}
        values = counted(sizes, sizes)
        many = "1 value" if len(values) == 1 else f"{len(values):,} values"
        have = "has" if len(values) == 1 else "have"
        yield TableWarning(
            code="contradictory_truths",
            columns=[key, predictions.truth],
            message=(
                f"{many} of {key!r} {have} rows with different truths: {listed(values)}. At most one truth "
                f"of each is right; mend the column {predictions.truth!r}"
            ),
            values=values[:_KEPT],
        )


def _equal_rows(predictions: Predictions, rows: int) -> Iterable[TableWarning]:
    """Rows that repeat another in every column, where most rows are unlike any other."""
    columns = predictions.columns
    keys = map(nw.col, columns)  # a column may have the empty text as its name
    groups = predictions.frame.group_by(*keys).agg(nw.len().alias(_free_name(columns)))
    repeated = rows - int(to_polars(groups.select(nw.len().alias("rows")))["rows"][0])
    if 0 < repeated < rows - repeated:
        yield TableWarning(
            code="repeated_rows",
            message=(
                f"{repeated:,} of {rows:,} rows repeat an earlier row in every column; every row counts. If "
                "a part of the table was added twice, take it out"
            ),
        )


def _free_name(columns: Sequence[str]) -> str:
    name = "n"
    while name in columns:
        name += "_"
    return name
