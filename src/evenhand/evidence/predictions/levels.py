"""From the values of a column to levels and codes, and from the codes of cells to whole numbers and back.

Kinds and missing values, what is refused, and the order of labels: of their numbers where they are numbers or
ranges of numbers, else of the alphabet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from math import prod
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.columns.arrays import Codes, Integers, Mask

Label = str | int | bool | float
Kind = Literal["text", "integer", "boolean", "number", "missing"]

MOST_LEVELS = 100_000
MISSING = -1
CLUSTER = "cluster:"  # before the column's name in that of the axis: attributes are called by their columns
ATTRIBUTE = "attribute:"  # before the names of attributes in saved tables
LARGEST_KEY = np.iinfo(np.int64).max // 2  # combinations of levels beyond this are sorted column by column
DENSE_CELLS = 1 << 26  # the largest dense array of cells (512 MiB) used for counting and sorting
WEIGHT = "weight:"  # what the column of weights is called while rows are counted
MOMENTS = ("weight:rows", "weight:squares", "weight:zeros")
_DIGITS = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_BELOW = r"<=?|≤|under|below|less than|up to|at most|younger than"
_ABOVE = r">=?|≥|over|above|more than|at least|from|older than"
_UP = r"\+|or more|and more|or over|and over|or older|and older|or above|and above|plus"
_DOWN = r"or less|and less|or under|and under|or younger|and younger|or below|and below"
_RANGE = re.compile(
    rf"(?:(?P<below>{_BELOW})|(?P<above>{_ABOVE}))?\s*(?P<low>{_DIGITS})"
    rf"\s*(?:(?:-|–|—|_|to|\.\.)\s*(?P<high>{_DIGITS})|(?P<up>{_UP})|(?P<down>{_DOWN}))?"
    r"\s*(?:years?|yrs?)?",
    re.IGNORECASE,
)
_OPEN = ("prediction", "prediction_b")  # with clusters, what may have any number of values


@dataclass(frozen=True)
class Axis:
    """One axis of Counts; a missing value has the code -1 and is no level.

    Numbers ascend, texts stand in their natural order (``ordered``), categories of an ordered type in theirs.
    """

    name: str  # truth, prediction, prediction_b, rank, cluster:COLUMN, or the name of an attribute
    kind: Kind
    levels: tuple[Label, ...]  # distinct


def kind_of(levels: Sequence[Label]) -> Kind:
    """The kind of labels that are all of one type."""
    kinds: dict[type, Kind] = {str: "text", bool: "boolean", int: "integer", float: "number"}
    return kinds[type(levels[0])] if levels else "missing"


@dataclass(frozen=True, eq=False)
class Encoder:
    """The levels of one column, and how its values become codes."""

    axis: Axis
    levels: pl.Series

    @classmethod
    def fit(cls, values: pl.Series, name: str, column: str, *, labels: bool) -> Encoder:
        """Learn the levels of a column, from it or from its distinct values.

        Integral floats are integers (frames make them from integers with a gap), NaN and null are missing. Of
        truth and predictions (``labels``) fractional numbers are refused.
        """
        plain, kind = _plain(values, column, labels=labels)
        levels = plain.unique().drop_nulls().sort()
        if kind == "text":
            texts = levels.to_list()
            if not isinstance(values.dtype, pl.Enum):
                texts = ordered(texts)
            else:  # of an attribute all categories are levels, so that parts of a table add up
                occurring = set(texts)
                texts = [t for t in values.dtype.categories.to_list() if not labels or t in occurring]
            levels = pl.Series(texts, dtype=pl.String)
        if name not in _OPEN and not name.startswith(CLUSTER) and len(levels) > MOST_LEVELS:
            what = "classes" if name == "truth" else "groups"
            raise InputError(
                f"column {column!r} has {len(levels):,} distinct values, more than the {MOST_LEVELS:,} "
                f"{what} an audit can compare; is it an id or a score? name another column"
            )
        return cls(Axis(name, kind, tuple(levels.to_list())), levels)

    def text_codes(self, column: pl.Expr) -> pl.Expr:
        """The codes of a text column as an expression, so that a scan can compute them in parallel."""
        coded = column.cast(pl.String).cast(pl.Enum(self.levels)).to_physical()
        return coded.cast(pl.Int32).fill_null(MISSING)

    def codes(self, values: pl.Series) -> Codes:
        """The position of each value among the levels, -1 where it is missing; shape of ``values``."""
        if self.levels.dtype == pl.String:
            return values.to_frame("v").select(self.text_codes(pl.col("v"))).to_series().to_numpy()
        plain = values.fill_nan(None) if values.dtype.is_float() else values
        filled = plain.cast(self.levels.dtype).fill_null(self.levels[0] if len(self.levels) else 0)
        codes = _positions(filled.to_numpy(), self.levels.to_numpy())
        if plain.null_count():
            codes = np.where(plain.is_null().to_numpy(), MISSING, codes)
        return codes.astype(np.int32, copy=False)


def _plain(values: pl.Series, column: str, *, labels: bool) -> tuple[pl.Series, Kind]:
    """The column as text, integers, booleans or numbers, NaN made missing."""
    dtype = values.dtype
    if dtype == pl.Null:
        return values.cast(pl.String), "missing"
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        return values.cast(pl.String), "text"
    if dtype == pl.Boolean:
        return values, "boolean"
    if dtype.is_integer():
        return values, "integer"
    if dtype.is_float():
        return _numbers(values.fill_nan(None), column, labels=labels)
    has_text = dtype.is_temporal() or dtype.is_decimal()
    if has_text and dtype != pl.Duration:  # Polars casts no duration to text
        return values.cast(pl.String), "text"
    raise InputError(
        f"column {column!r} holds {one_line(dtype)} values; labels and attributes are text, integers or "
        "booleans, one kind in a column: convert it first"
    )


def refuse_mixed_types(column: str) -> NoReturn:
    """Refuse a column of several kinds of values."""
    raise InputError(
        f"column {column!r} mixes types; labels and attributes are text, integers or booleans, one kind in a "
        "column: convert it first"
    )


def _numbers(values: pl.Series, column: str, *, labels: bool) -> tuple[pl.Series, Kind]:
    fractional = values.filter((values != values.round()) | values.is_infinite())
    if not len(fractional):
        return values.cast(pl.Int64), "integer"
    if labels:
        raise InputError(
            f"column {column!r} holds fractional numbers such as {fractional[0]}; labels are text, integers "
            "or booleans: name the column of labels, or turn scores into labels first"
        )
    return values.cast(pl.Float64), "number"


def _positions(values: npt.NDArray[np.generic], levels: npt.NDArray[np.generic]) -> Integers:
    """Where each value stands among the sorted levels; by a table where integers are close together."""
    if not levels.size:
        return np.zeros(values.size, dtype=np.int64)
    if np.issubdtype(levels.dtype, np.integer):
        low, high = int(levels[0]), int(levels[-1])
        if high - low < 10 * MOST_LEVELS and high < np.iinfo(np.int64).max:
            table = np.zeros(high - low + 1, dtype=np.int64)
            table[levels.astype(np.int64) - low] = np.arange(levels.size)
            return table[values.astype(np.int64) - low]
    return np.searchsorted(levels, values)


_INTEGRAL = re.compile(r"-?\d+(\.0+)?")
_NUMBER = re.compile(r"-?\d*\.?\d+([eE][-+]?\d+)?")


def plain_numbers(axis: Axis, column: str) -> Axis:
    """A text axis whose labels are all integers written as 97.0, written as 97."""
    texts = [str(level) for level in axis.levels]
    if not texts or not all(_NUMBER.fullmatch(text) for text in texts):
        return axis
    fractional = next((text for text in texts if not _INTEGRAL.fullmatch(text)), None)
    if fractional is not None:
        raise InputError(
            f"column {column!r} holds fractional numbers such as {fractional}; labels are text, integers or "
            "booleans: name the column of labels, or turn scores into labels first"
        )
    if not all("." in text for text in texts):
        return axis
    return replace(axis, levels=tuple(text.partition(".")[0] for text in texts))


def check_same_words(truth: Axis, prediction: Axis, truth_column: str, prediction_column: str) -> None:
    """Refuse numbers on one side and words on the other side of a text table."""
    axes = (truth, prediction)
    kinds = [{bool(_NUMBER.fullmatch(str(level))) for level in axis.levels} for axis in axes]
    if kinds in ([{True}, {False}], [{False}, {True}]):
        raise InputError(
            f"truth column {truth_column!r} holds labels such as {_example(truth)}, prediction column "
            f"{prediction_column!r} labels such as {_example(prediction)}: numbers and words never agree; "
            "map one to the other"
        )


def check_same_kind(truth: Axis, prediction: Axis, truth_column: str, prediction_column: str) -> None:
    """Refuse truth and prediction of different kinds: no label could ever be right."""
    kinds = {truth.kind, prediction.kind} - {"missing"}
    if len(kinds) > 1:
        raise InputError(
            f"truth column {truth_column!r} holds {truth.kind} labels such as {_example(truth)}, prediction "
            f"column {prediction_column!r} holds {prediction.kind} labels such as {_example(prediction)}; "
            "no prediction could be right: convert one of them"
        )


def _example(axis: Axis) -> str:
    return one_line(repr(axis.levels[0]), 60)


def sum_sorted(codes: Codes, numbers: npt.NDArray[Any]) -> tuple[Codes, npt.NDArray[Any]]:
    """Distinct columns of sorted codes, and the sums of their numbers (along the last axis)."""
    first = np.r_[True, (np.diff(codes, axis=1) != 0).any(axis=0)][: codes.shape[1]]
    if not first.size:
        return codes, numbers
    return codes[:, first], np.add.reduceat(numbers, np.flatnonzero(first), axis=-1)


def pack(codes: Sequence[Codes], sizes: Sequence[int]) -> Integers:
    """One key per row from its codes (-1 included), ordered as the codes are."""
    keys = np.zeros(codes[0].size, dtype=np.int64)
    for size, code in zip(sizes, codes, strict=True):
        keys *= size
        keys += code
        keys += 1
    return keys


def sum_keys(keys: Integers, n: Integers, space: int) -> tuple[Integers, Integers]:
    """Distinct keys, ascending, and the sums of their n; ``space``: keys lie below it."""
    if space <= min(DENSE_CELLS, 16 * keys.size):
        dense = np.zeros(space, dtype=np.int64)
        np.add.at(dense, keys, n)
        unique = np.flatnonzero(dense)
        return unique, dense[unique]
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    start = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]][: keys.size])
    return ordered[start], np.add.reduceat(n[order], start) if keys.size else n


def unpack(keys: npt.NDArray[np.integer], sizes: Sequence[int]) -> Codes:
    """The codes that ``pack`` made keys of, shape (axes, K)."""
    codes = np.empty((len(sizes), keys.size), dtype=np.int32)
    if prod(sizes) < np.iinfo(np.uint32).max:
        keys = keys.astype(np.uint32)  # divides several times faster
    for position in range(len(sizes) - 1, -1, -1):
        quotient = keys // sizes[position]
        codes[position] = (keys - quotient * sizes[position]).astype(np.int32) - 1
        keys = quotient
    return codes


def ordered(labels: Iterable[Any]) -> list[Any]:
    """Distinct labels in their natural order: ``3-9, 20-29, more than 70``, and ``9, 10`` also of a text.

    Of texts that are not all numbers or ranges, such as ``class 10``, that of the alphabet.
    """
    distinct = sorted(set(labels))
    if all(isinstance(label, str) and label.isdecimal() for label in distinct):
        return sorted(distinct, key=float)
    places = dict[Any, tuple[float, int]]()
    for label in distinct:
        start = _place(label) if isinstance(label, str) else None
        if start is None:
            return distinct
        places[label] = start
    return sorted(distinct, key=places.__getitem__)


def _place(label: str) -> tuple[float, int] | None:
    """Where a range begins, and whether it lies below (-1) or above (1) that; None of another text."""
    match = _RANGE.fullmatch(label.strip())
    if match is None:
        return None
    side = 1 if match["above"] or match["up"] else 0
    return float(match["low"]), -1 if match["below"] or match["down"] else side


def merged(*orders: Sequence[Any]) -> list[Any]:
    """The labels of all, in an order that keeps each of theirs; where they contradict, the natural one."""
    if orders.count(orders[0]) == len(orders):
        return list(orders[0])
    natural = ordered(chain(*orders))
    if all(_keeps(natural, labels) for labels in orders):
        return natural
    after: dict[Any, dict[Any, None]] = {label: {} for label in ordered(chain(*orders))}
    for labels in orders:
        for first, second in pairwise(labels):
            after[second][first] = None
    try:
        return list(TopologicalSorter(after).static_order())
    except CycleError:
        return list(after)


def _keeps(order: Sequence[Any], labels: Sequence[Any]) -> bool:
    """Whether labels stand in an order as they stand by themselves."""
    some = set(labels)
    return list(labels) == [label for label in order if label in some]


def relabelled(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The order of new labels, one for each old one: that of the old where it was declared, else natural."""
    labels = [label for label in new if label is not None]
    return ordered(labels) if list(old) == ordered(old) else list(dict.fromkeys(labels))


def crossed_codes(
    axes: Sequence[Axis], codes: Sequence[Codes], rows: int
) -> tuple[Integers, tuple[tuple[Label, ...], ...]]:
    """One code per row for the crossed attributes, numbered over the groups that occur."""
    group = np.zeros(rows, dtype=np.int64)
    groups: list[tuple[Label, ...]] = [()]
    for axis, code in zip(axes, codes, strict=True):
        levels = axis.levels
        # compacted after each attribute, so that many attributes cannot overflow
        present, group = _compact(group * len(levels) + code)
        groups = [(*groups[key // len(levels)], levels[key % len(levels)]) for key in present.tolist()]
        if len(groups) > MOST_LEVELS:
            names = "+".join(axis.name for axis in axes)
            raise InputError(f"{names!r} gives more than {MOST_LEVELS:,} groups; cross fewer attributes")
    return group, tuple(groups)


def _compact(codes: Integers) -> tuple[Integers, Integers]:
    """Distinct codes and the position of each among them; by a table where codes are small."""
    if int(codes.max()) > 10_000_000:
        present, position = np.unique(codes, return_inverse=True)
        return present, np.asarray(position)
    seen = np.zeros(int(codes.max()) + 1, dtype=bool)
    seen[codes] = True
    return np.flatnonzero(seen), codes if seen.all() else (np.cumsum(seen) - 1)[codes]


def check_usable(usable: Mask, dropped: Sequence[tuple[str, int]], by: Sequence[str]) -> None:
    """Refuse a table of which no row is left, and say why."""
    if not usable.any():
        reasons = ", ".join(f"{count} with {reason}" for reason, count in dropped) or "the table has no row"
        raise InputError(f"no usable row by {'+'.join(by) or 'nothing'}: {reasons}")
