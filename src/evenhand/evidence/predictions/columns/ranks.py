"""The first prediction of each sample in a table of ranked predictions, and what is left out for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.columns.to_polars import to_polars

Frame = nw.DataFrame[Any] | nw.LazyFrame[Any]
_LARGEST = 2**53  # ranks are exact as floats


@dataclass(frozen=True)
class FirstRanks:
    """The rows of rank 1."""

    frame: Frame  # one row a sample; without rank 1 that of its lowest, its prediction missing
    notes: tuple[str, ...] = ()  # how many rows have no rank, and how many samples no prediction of rank 1


def is_first(frame: Frame, rank: str) -> nw.Expr:
    """Whether a row has the rank 1."""
    return nw.col(rank).is_in(_first_values(_values(frame, rank), rank))


def first_ranks(frame: Frame, rank: str, prediction: str, id: str | None) -> FirstRanks:
    """The first prediction of each sample, with everything that is left out for it counted.

    Rows without a rank are left out. Without ``id`` nothing is known of samples that have no rank 1.
    """
    values = _values(frame, rank)
    first = nw.col(rank).is_in(_first_values(values, rank))
    unranked = int(values.filter(pl.col("rank").is_null())["n"].sum())
    notes = _unranked(unranked, int(values["n"].sum()), rank)
    if id is None:
        return FirstRanks(frame.filter(first), notes)
    names = frame.collect_schema().names()
    number, lowest = (_free(name, names) for name in ("place", "lowest"))
    ranked: Any = frame.select(id, nw.col(rank).cast(nw.Float64).alias(number))
    ranked = ranked.filter(~nw.col(id).is_null(), nw.col(number).is_between(1, _LARGEST))  # no NaN
    lowest_rank: Any = ranked.group_by(id).agg(nw.col(number).min().alias(lowest))
    at_lowest = ranked.join(lowest_rank, on=id, how="inner").filter(nw.col(number) == nw.col(lowest))
    samples = at_lowest.group_by(id).agg(nw.len().alias(number), nw.col(lowest).min())
    _check_one_row(samples.select(nw.col(id).alias("id"), nw.col(number).alias("n"), lowest), id, rank)
    later = samples.filter(nw.col(lowest) > 1)
    without, total = (int(to_polars(rows.select(nw.len().alias("n")))["n"][0]) for rows in (later, samples))
    if not without:
        return FirstRanks(frame.filter(first), notes)
    beside: Any = later.select(id, lowest)
    rows = frame.join(beside, on=id, how="left")
    is_lowest = (nw.col(rank).cast(nw.Float64) == nw.col(lowest)).fill_null(False)
    answer = nw.when(nw.col(lowest).is_null()).then(nw.col(prediction)).alias(prediction)
    firsts = rows.filter(first | is_lowest).with_columns(answer).select(names)
    note = (
        f"{without:,} of {total:,} values of {id!r} have no prediction of rank 1 in column {rank!r}: their "
        "prediction is missing"
    )
    return FirstRanks(firsts, (*notes, note))


def _values(frame: Frame, rank: str) -> pl.DataFrame:
    """The ranks that occur, ``rank``, and their rows, ``n``."""
    renamed = frame.select(nw.col(rank).alias("rank"))
    values = to_polars(renamed.group_by("rank").agg(nw.len().alias("n")))
    ranks = values["rank"]
    return values.with_columns(rank=ranks.fill_nan(None)) if ranks.dtype.is_float() else values


def _first_values(values: pl.DataFrame, rank: str) -> list[Any]:
    """How rank 1 is written: ``1`` and, in a text, also ``1.0``."""
    ranks = values["rank"].drop_nulls()
    is_number = ranks.dtype.is_numeric() or ranks.dtype == pl.String
    numbers = (
        ranks.cast(pl.Float64, strict=False)
        if is_number
        else pl.Series([None] * len(ranks), dtype=pl.Float64)
    )
    wrong = ranks.filter((numbers.is_null() | (numbers % 1 != 0)).fill_null(True))
    if len(wrong):
        raise InputError(
            f"column {rank!r} holds ranks such as {one_line(repr(wrong[0]), 60)}; ranks are whole numbers, "
            "and the best prediction of a sample has 1: number them so"
        )
    if not len(ranks):
        raise InputError(f"column {rank!r} holds no rank; number the best prediction of each sample 1")
    if (lowest := numbers.sort()[0]) != 1:
        raise InputError(f"ranks in column {rank!r} start at {lowest:g}; number the best prediction 1")
    return ranks.filter(numbers == 1).to_list()


def _unranked(rows: int, total: int, rank: str) -> tuple[str, ...]:
    if not rows:
        return ()
    return (f"{rows:,} of {total:,} rows have no rank in column {rank!r}, and are left out",)


def _free(name: str, names: Sequence[str]) -> str:
    while name in names:
        name += "_"
    return name


def _check_one_row(samples: Frame, id: str, rank: str) -> None:
    """Refuse a sample with several predictions of its first rank."""
    example = to_polars(samples.filter(nw.col("n") > 1).head(1))
    if example.height:
        sample, n, lowest = example.row(0)
        raise InputError(
            f"{one_line(sample, 60)!r} of column {id!r} has {n:,} rows of rank {lowest:.0f} in column "
            f"{rank!r}; give each prediction of a sample its own rank"
        )
