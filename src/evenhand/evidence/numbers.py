"""Numbers: a number of the user's own for each sample, such as an overlap or an error in years."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.core.errors import InputError, ParameterError, check_known, one_line
from evenhand.evidence.predictions import arrays
from evenhand.evidence.predictions.columns.arrays import Mask
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.count import weight_numbers
from evenhand.evidence.predictions.levels import ATTRIBUTE

VALUE, CLUSTER, WEIGHT, SAMPLE = "value:", "cluster:", "weight:", "sample:"
"""Columns of the table that are no attributes."""
UNNAMED = "values"
"""What arrays without a name are called."""
MOST_SAMPLES = 5_000_000
"""Rows up to which each is kept by itself; of more there are cells of alike ones."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """A number for each sample, with what the sample is; higher or lower is better, as a metric says.

    Make one with ``from_frame`` or ``from_arrays``. The order in which rows came changes no finding.

    Attributes:
        table: The usable rows as they came: the attributes, ``value:`` (float), where there are such
            ``cluster:`` (text), ``weight:`` (float above 0) and ``sample:`` (text).
        name: What the number is called.
        range: Least and largest possible number; infinite where none is known.
        unit: What the number counts, such as ``years``; empty: nothing is said.
        cluster: Name of the column of what was sampled as a whole; None: each row was.
        dropped: Rows left out, by reason.
        derived: Numbers made of these, such as whether they lie beyond a limit, by name; runs keep them.
    """

    table: pl.DataFrame
    name: str
    range: tuple[float, float] = (-np.inf, np.inf)
    unit: str = ""
    cluster: str | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    derived: dict[str, Numbers] = field(default_factory=dict, repr=False)
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        value: str,
        cluster: str | None = None,
        weight: str | None = None,
        id: str | None = None,
        range: tuple[float, float] | None = None,
        unit: str = "",
    ) -> Numbers:
        """From a table with a row for each sample; all its other columns are attributes.

        Rows without a number (missing, NaN, text), with an infinite one, without a cluster where there are
        any, or with the weight 0 are left out and counted.

        Args:
            frame: A frame of Polars, pandas or any other library that narwhals reads.
            value: Column of numbers.
            cluster: Column of what was sampled as a whole, such as the person.
            weight: Column of weights, 0 or more.
            id: Column that names each row once, by which rows of two models are matched.
            range: Least and largest possible number, such as ``(0, 1)`` of an overlap: it makes intervals
                narrower near the ends, and keeps them inside.
            unit: What the number counts, such as ``years``.

        Raises:
            UnknownName: A column that does not exist.
            InputError: A column that holds no numbers, numbers outside the range, weights below 0, or ids
                that several rows have.
            ParameterError: A range without extent.
        """
        table = to_polars(nw.from_native(frame))
        roles = {"value": value, "cluster": cluster, "weight": weight, "id": id}
        names = [name for name in roles.values() if name is not None]
        check_known("column", names, table.columns)
        ends = (-np.inf, np.inf) if range is None else (float(range[0]), float(range[1]))
        if not ends[0] < ends[1]:
            raise ParameterError(f"range={range!r} is not possible; give the least number, then the largest")
        numbers = _numbers(table[value])
        columns = [pl.Series(VALUE, numbers)]
        gone = {"missing value": numbers.is_null(), "infinite value": numbers.is_infinite()}
        if cluster is not None:
            columns.append(table[cluster].cast(pl.String).alias(CLUSTER))
            gone["missing cluster"] = columns[-1].is_null()
        if weight is not None:
            columns.append(weight_numbers(table[weight], weight).alias(WEIGHT))
            gone["weight 0"] = columns[-1] == 0
        if id is not None:
            columns.append(table[id].cast(pl.String).alias(SAMPLE))
            _check_unique(columns[-1], id)
        usable, dropped = _usable(table.height, gone)
        attributes = [
            name for name in table.columns if name not in names and not table[name].dtype.is_nested()
        ]
        rows = table.select(*attributes, *columns)
        rows = rows if not dropped else rows.filter(pl.Series(usable))  # texts are dear to copy
        _check_range(rows[VALUE], ends, value)
        return cls(rows, value, ends, unit, cluster, dropped)

    @classmethod
    def from_arrays(
        cls, values: Any, *, groups: Any = None, cluster: Any = None, sample_weight: Any = None,
        range: tuple[float, float] | None = None, unit: str = "",
    ) -> Numbers:  # fmt: skip
        """From lists, arrays or Series with one number a sample.

        Args:
            values: The numbers.
            groups: The group of each sample; a mapping or a frame holds several attributes.
            cluster: What was sampled as a whole: the person, household or video of each sample.
            sample_weight: The weight of each sample.
            range: As for ``from_frame``.
            unit: As for ``from_frame``.

        Raises:
            InputError: Values that are no list, lists of unlike lengths, or Series with one index in other
                orders.
        """
        name = str(getattr(values, "name", None) or UNNAMED)
        extra = {"cluster": (arrays.CLUSTER, cluster), "weight": (arrays.WEIGHT, sample_weight)}
        roles = {role: column for role, (column, listed) in extra.items() if listed is not None}
        there = {column: listed for column, listed in extra.values() if listed is not None}
        frame = arrays.table_of({name: values, **arrays.named_groups(groups), **there})
        return cls.from_frame(frame, value=name, range=range, unit=unit, **roles)

    def beyond(self, limit: float, *, below: bool = False) -> Numbers:
        """Whether each number is above a limit (or below it): 1 or 0, an outcome of its own.

        Its mean is the share beyond the limit.
        """
        value = pl.col(VALUE)
        is_beyond = value < limit if below else value > limit
        name = f"{self.name}{'<' if below else '>'}{limit:g}"
        return self.turned_into(name, is_beyond.cast(pl.Float64), range=(0.0, 1.0))

    def turned_into(
        self,
        name: str,
        value: pl.Expr | pl.Series,  # of pl.col("value:"), or a number for each row of table
        *,
        range: tuple[float, float] | None = None,  # least and largest possible
        unit: str = "",
    ) -> Numbers:
        """Another number of the same rows."""
        table = self.table.with_columns(value.alias(VALUE))
        ends = (-np.inf, np.inf) if range is None else range
        numbers = replace(self, table=table, name=name, range=ends, unit=unit, derived={}, memo={})
        self.derived[name] = numbers
        return numbers

    @property
    def attributes(self) -> list[str]:
        """What samples can be grouped by."""
        return [name for name in self.table.columns if name not in (VALUE, CLUSTER, WEIGHT, SAMPLE)]

    @cached_property
    def in_order(self) -> pl.DataFrame:
        """The table in the order of what stands in its rows, attributes as texts."""
        roles = [name for name in (CLUSTER, WEIGHT, SAMPLE) if name in self.table.columns]
        texts = self.table.with_columns(pl.col(self.attributes).cast(pl.String))
        return texts.sort(VALUE, *self.attributes, *roles)

    def outcomes(self, attributes: Sequence[str]) -> pl.DataFrame:
        """A row for each sample: sample, outcome, value, ``attribute:NAME``, unit, weight.

        Of more than ``MOST_SAMPLES`` rows, one for all that are alike in these, their number as ``times``;
        samples have no names there.
        """
        there = self.table.columns
        rows = self.in_order.select(
            pl.col(SAMPLE).alias("sample") if SAMPLE in there else pl.lit(None, pl.String).alias("sample"),
            pl.lit(self.name).alias("outcome"),
            pl.col(VALUE).alias("value"),
            *(pl.col(name).alias(f"{ATTRIBUTE}{name}") for name in attributes),
            pl.col(CLUSTER).alias("unit") if CLUSTER in there else pl.lit(None, pl.String).alias("unit"),
            pl.col(WEIGHT).alias("weight") if WEIGHT in there else pl.lit(1.0).alias("weight"),
        )
        if rows.height <= MOST_SAMPLES:
            return rows
        names = rows.columns[1:]
        return rows.group_by(names).agg(times=pl.len()).sort(names)

    def check_attribute(self, *names: str) -> None:
        """Raise UnknownName, with the closest names, unless there are such attributes."""
        check_known("attribute of these samples", names, self.attributes)


def _usable(height: int, gone: Mapping[str, pl.Series]) -> tuple[Mask, dict[str, int]]:
    """Rows without any reason to leave them out, and how many have which one first."""
    usable, dropped = np.ones(height, dtype=bool), dict[str, int]()
    for reason, where in gone.items():
        if not where.any():
            continue
        lost = usable & where.fill_null(False).to_numpy()
        usable &= ~lost
        dropped |= {reason: int(lost.sum())} if lost.any() else {}
    return usable, dropped


def _check_range(numbers: pl.Series, ends: tuple[float, float], name: str) -> None:
    """Refuse numbers that the range says cannot be."""
    inside = numbers.is_between(*ends)
    if not inside.all():
        wrong = numbers.filter(~inside)
        raise InputError(
            f"column {name!r} holds {wrong[0]:.6g}, which is outside {ends[0]:g} to {ends[1]:g}; mend "
            "it, or give the range of these numbers: range=(least, largest)"
        )


def _check_unique(ids: pl.Series, name: str) -> None:
    """Refuse ids of which several rows have one."""
    repeated = ids.filter(ids.is_not_null() & ids.is_duplicated())
    if repeated.len():
        raise InputError(
            f"{repeated.len():,} rows share their id in column {name!r}, such as "
            f"{one_line(repr(repeated[0]), 60)}; name a column that differs from row to row with --id, or "
            "leave it out; what several rows are of (a person, a video) is a --cluster"
        )


def _numbers(column: pl.Series) -> pl.Series:
    """A column as floats, null where it holds none."""
    kind = column.dtype
    if not (kind.is_numeric() or kind in (pl.String, pl.Boolean, pl.Null)):
        raise InputError(f"column {column.name!r} holds {one_line(kind)} values; give numbers")
    numbers = column.cast(pl.Float64, strict=False).fill_nan(None)
    texts = column.filter(numbers.is_null()).drop_nulls() if kind == pl.String else column.clear()
    if texts.len() and numbers.null_count() == numbers.len():
        raise InputError(f"column {column.name!r} holds {one_line(repr(texts[0]), 60)}; give numbers")
    return numbers
