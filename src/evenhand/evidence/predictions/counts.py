"""Counts: truth x attributes x prediction -> n, the sufficient statistic of the classification metrics.

Optionally by what was sampled as a whole (a cluster: person, household, video), and of rows with weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, UnknownName, one_line
from evenhand.display.html import number, table
from evenhand.evidence.predictions.columns.annotated import Remembering
from evenhand.evidence.predictions.columns.arrays import Codes, Floats, Mask
from evenhand.evidence.predictions.levels import (
    ATTRIBUTE,
    CLUSTER,
    LARGEST_KEY,
    MISSING,
    MOMENTS,
    WEIGHT,
    Axis,
    Encoder,
    Label,
    check_same_words,
    kind_of,
    merged,
    ordered,
    pack,
    plain_numbers,
    relabelled,
    sum_keys,
    sum_sorted,
    unpack,
)
from evenhand.evidence.predictions.metric_frame import cells_of_frame
from evenhand.files.atomic import atomic_path

PREDICTIONS = ("prediction", "prediction_b")
LABEL_AXES = ("truth", *PREDICTIONS)
PLAIN_AXES = ("truth", "rank", *PREDICTIONS)  # with the axis of clusters; every other is an attribute


@dataclass(frozen=True, eq=False)
class Counts(Remembering):
    """How often each combination of truth, attributes and prediction occurs.

    Counts of shards, files or machines add with ``+`` to the counts of the whole.

    Attributes:
        axes: ``truth``, one axis per attribute, optionally ``rank``, ``prediction``, and, where two models
            answered the same samples, ``prediction_b``, in this order; last, where clusters were declared,
            ``cluster:COLUMN``.
        codes: Level of each occupied cell on each axis, shape (axes, K); -1 is "missing". Sorted, unique.
        n: Rows in each cell, int64, shape (K,); with weights their sum, float64.
        memo: What metrics computed from these counts and may share; not part of their value.
        moments: With weights, of each cell: how many rows it has, the sum of their squared weights, and how
            many rows more have the weight 0, shape (3, K); None where all rows count alike.
    """

    axes: tuple[Axis, ...]
    codes: Codes
    n: npt.NDArray[np.int64] | Floats
    moments: Floats | None = None

    @classmethod
    def from_table(cls, table: pl.DataFrame, columns: dict[str, str]) -> Counts:
        """Counts of a table with one row per combination and its number in column ``n``.

        Args:
            table: Columns named as the axes, and ``n``; with weights also ``MOMENTS``.
            columns: Axis name to the user's column name, in the order of the axes.

        Raises:
            InputError: A column whose values cannot be labels.
        """
        encoders = [
            Encoder.fit(table[name], name, column, labels=name in LABEL_AXES)
            for name, column in columns.items()
        ]
        codes = [encoder.codes(table[encoder.axis.name]) for encoder in encoders]
        axes = tuple(encoder.axis for encoder in encoders)
        if MOMENTS[0] not in table.columns:
            return _canonical(axes, codes, table["n"].cast(pl.Int64).to_numpy())
        moments = table.select(pl.col(MOMENTS).cast(pl.Float64)).to_numpy().T
        return _canonical(axes, codes, table["n"].cast(pl.Float64).to_numpy(), moments)

    @classmethod
    def from_metric_frame(cls, frame: Any, *, labels: Sequence[Any]) -> Counts:
        """Counts of a MetricFrame of fairlearn that has confusion matrices, over its features.

        Args:
            frame: The MetricFrame; ``metrics`` holds ``confusion_matrix`` of scikit-learn with these labels.
            labels: The labels of the matrices, in their order.

        Raises:
            InputError: No MetricFrame, or no matrices of counts in it: says what to give.
            ParameterError: Another number of labels.
        """
        table, axes = cells_of_frame(frame, labels)
        return cls.from_table(table, {axis: axis for axis in axes})

    @property
    def attributes(self) -> tuple[str, ...]:
        """Names of the attributes."""
        return tuple(name for name in self._positions if not _is_plain(name))

    @property
    def cluster(self) -> str | None:
        """The column of clusters; None where rows were sampled one by one."""
        last = self.axes[-1].name
        return last.removeprefix(CLUSTER) if last.startswith(CLUSTER) else None

    @property
    def weighted(self) -> bool:
        """Whether rows have weights."""
        return self.moments is not None

    @property
    def rows(self) -> npt.NDArray[np.int64] | Floats:
        """Rows in each cell, those of weight 0 left out, shape (K,)."""
        return self.n if self.moments is None else self.moments[0]

    @property
    def n_total(self) -> int:
        """All rows, those with something missing or with the weight 0 included."""
        return int(self.n.sum() if self.moments is None else self.moments[0].sum() + self.moments[2].sum())

    def axis(self, name: str) -> Axis:
        """The axis of this name."""
        return self.axes[self._position(name)]

    def codes_of(self, name: str) -> Codes:
        """The codes along one axis, shape (K,)."""
        return np.asarray(self.codes[self._position(name)])

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {axis.name: position for position, axis in enumerate(self.axes)}

    def _position(self, name: str) -> int:
        if name not in self._positions:
            raise UnknownName("attribute in these counts", name, self.attributes)
        return self._positions[name]

    def project(self, attributes: Sequence[str]) -> Counts:
        """Counts over fewer attributes, in the order given."""
        return self._over(["truth", *attributes, *filter(_is_plain, list(self._positions)[1:])])

    def unclustered(self) -> Counts:
        """The same rows without their clusters."""
        return self._over([name for name in self._positions if not name.startswith(CLUSTER)])

    def _over(self, keep: list[str]) -> Counts:
        if keep == list(self._positions):
            return self
        codes = [self.codes_of(name) for name in keep]
        return _canonical(tuple(self.axis(name) for name in keep), codes, self.n, self.moments)

    def only(self, keep: Mask) -> Counts:
        """Some of the cells."""
        moments = None if self.moments is None else self.moments[:, keep]
        return replace(self, codes=self.codes[:, keep], n=self.n[keep], moments=moments, memo={})

    @property
    def paired(self) -> bool:
        """Whether these are counts of two models on the same samples."""
        return "prediction_b" in self._positions

    def of_first(self) -> Counts:
        """The first model's counts where these are of two; else these counts."""
        return self._of_one("prediction") if "prediction_b" in self._positions else self

    def of_second(self) -> Counts:
        """The second model's counts.

        Raises:
            InputError: These are counts of one model.
        """
        if not self.paired:
            raise InputError("these are counts of one model; join two with evidence.paired_predictions.match")
        return self._of_one("prediction_b")

    def _of_one(self, which: str) -> Counts:
        selected = [axis for axis in self.axes if axis.name == which or axis.name not in PREDICTIONS]
        axes = tuple(replace(axis, name="prediction") if axis.name == which else axis for axis in selected)
        return _canonical(axes, [self.codes_of(axis.name) for axis in selected], self.n, self.moments)

    def where(self, name: str, level: object) -> Counts:
        """Only the rows with one value on one axis, the axis removed.

        Raises:
            UnknownName: The axis has no such value.
        """
        levels = self.axis(name).levels
        if level not in levels:
            raise UnknownName(f"value of {name!r}", str(level), map(str, levels))
        selected = self.only(self.codes_of(name) == levels.index(level))
        return selected.project([a for a in self.attributes if a != name])

    def with_plain_numbers(self, truth: str, prediction: str) -> Counts:
        """Labels of a text file that are numbers: 97.0 becomes 97, as frames write integers with a gap.

        Args:
            truth: Column of truths, for messages.
            prediction: Column of predictions.

        Raises:
            InputError: Fractional numbers, or numbers on one side and words on the other.
        """
        columns = {"truth": truth, "prediction": prediction}
        plain = {name: plain_numbers(self.axis(name), column) for name, column in columns.items()}
        check_same_words(plain["truth"], plain["prediction"], truth, prediction)
        return self.relabelled({name: axis.levels for name, axis in plain.items()})

    def relabelled(self, levels: Mapping[str, Sequence[Label | None]]) -> Counts:
        """The same rows under other labels: cells whose labels became one add up.

        Args:
            levels: For some axes a label in place of each level, of one kind; None makes it missing.
        """
        axes, codes, is_same = list(self.axes), list(self.codes), True
        for position, axis in enumerate(self.axes):
            new = tuple(levels.get(axis.name, axis.levels))
            if new == axis.levels:
                continue
            is_same = False  # even where the axis will be as before: labels that changed places
            labels = tuple(relabelled(axis.levels, new))
            code_of = {label: code for code, label in enumerate(labels)} | {None: MISSING}
            table = np.array([*(code_of[label] for label in new), MISSING], dtype=np.int32)
            axes[position] = Axis(axis.name, kind_of(labels), labels)
            codes[position] = table[self.codes[position]]
        return self if is_same else _canonical(tuple(axes), codes, self.n, self.moments)

    def level_counts(self, name: str) -> npt.NDArray[np.number]:
        """Rows with each level of one axis, in the order of its levels."""
        codes, size = self.codes_of(name), len(self.axis(name).levels)
        rows = np.zeros(size + 1, dtype=self.n.dtype)
        np.add.at(rows, codes, self.n)  # MISSING takes the last entry
        return rows[:size]

    def __add__(self, other: Counts) -> Counts:
        """The counts of both; axes must have the same names and kinds.

        Raises:
            InputError: Different attributes or kinds of labels, or only one of the two has weights.
        """
        if self.weighted != other.weighted:
            raise InputError("counts with weights and without do not add; count both alike")
        merged = [_union(mine, other) for mine in self.axes]
        if len(self.axes) != len(other.axes):
            raise InputError(f"counts over {self.attributes} and {other.attributes} do not add; count alike")
        codes = [
            np.concatenate(
                [
                    _recode(self.axis(a.name), a, self.codes_of(a.name)),
                    _recode(other.axis(a.name), a, other.codes_of(a.name)),
                ]
            )
            for a in merged
        ]
        moments = None
        if self.moments is not None and other.moments is not None:
            moments = np.concatenate([self.moments, other.moments], axis=1)
        return _canonical(tuple(merged), codes, np.concatenate([self.n, other.n]), moments)

    def __radd__(self, other: int | Counts) -> Counts:
        """So that ``sum(shards)`` works, which starts from 0."""
        return self if other == 0 else NotImplemented

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Counts)
            and self.axes == other.axes
            and np.array_equal(self.codes, other.codes)
            and _same_numbers(self, other)
        )

    __hash__: ClassVar[None] = None  # type: ignore[assignment]  # arrays inside: equal by value, not hashable

    def _repr_html_(self) -> str:
        cells = self.table()
        rows = [[number(cell) for cell in row] for row in cells.iter_rows()]
        return table(f"Counts: {self.n_total:,} rows in {cells.height:,} cells", cells.columns, rows, [])

    def to_frame(self) -> pl.DataFrame:
        """One row per occupied cell: the axes' values (null where missing) and ``n``."""
        columns = {}
        for axis, codes in zip(self.axes, self.codes, strict=True):
            index = pl.Series(codes).replace(MISSING, None)
            columns[_stored_name(axis)] = pl.Series(list(axis.levels) or [None]).gather(index)
        numbers = {"n": self.n}
        if self.moments is not None:
            numbers |= dict(zip(MOMENTS, self.moments, strict=True))
        return pl.DataFrame(columns).with_columns(pl.Series(name, row) for name, row in numbers.items())

    def table(self) -> pl.DataFrame:
        """Values and ``n``, the columns named as the axes; without clusters, who are no result."""
        counts = self.unclustered()
        renamed = counts.to_frame().rename({_stored_name(axis): axis.name for axis in counts.axes})
        return renamed.drop(MOMENTS, strict=False)

    def save(self, path: str | Path) -> None:
        """Write as Parquet, whole or not at all."""
        declared = [axis for axis in self.axes if list(axis.levels) != ordered(axis.levels)]
        enums = {_stored_name(axis): pl.Enum(list(map(str, axis.levels))) for axis in declared}
        with atomic_path(Path(path)) as temporary:
            self.to_frame().cast(enums).write_parquet(temporary)  # type: ignore[arg-type]  # names to types

    @classmethod
    def load(cls, path: str | Path) -> Counts:
        """Read what ``save`` wrote.

        Raises:
            InputError: The file is missing or does not hold Counts.
        """
        try:
            table = pl.read_parquet(path)
        except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
            raise InputError(f"{str(path)!r} cannot be read as saved Counts: {one_line(problem)}") from None
        if not {"truth", "prediction", "n"} <= set(table.columns):
            raise InputError(f"{str(path)!r} holds no Counts; give a file that Counts.save wrote")
        numbers = ("n", *MOMENTS)
        names = {column: column.removeprefix(ATTRIBUTE) for column in table.columns if column not in numbers}
        return cls.from_table(table.rename(names), {name: name for name in names.values()})


def is_reserved(name: str) -> bool:
    """Whether counts call something else so, so that no attribute can be."""
    return name == "n" or _is_plain(name) or name.startswith(WEIGHT)


def _is_plain(name: str) -> bool:
    return name in PLAIN_AXES or name.startswith(CLUSTER)


def _stored_name(axis: Axis) -> str:
    return axis.name if _is_plain(axis.name) else ATTRIBUTE + axis.name


def _same_numbers(first: Counts, second: Counts) -> bool:
    """Whether the cells hold the same; sums of weights up to rounding, which depends on the order."""
    if first.moments is None or second.moments is None:
        return first.weighted == second.weighted and np.array_equal(first.n, second.n)
    pairs = ((first.n, second.n), (first.moments, second.moments))
    return all(np.allclose(left, right, rtol=1e-12, atol=0) for left, right in pairs)


def _union(mine: Axis, other: Counts) -> Axis:
    other_axis = next((axis for axis in other.axes if axis.name == mine.name), None)
    if other_axis is None:
        raise InputError(f"the other counts lack {mine.name!r}; count both over the same attributes")
    kinds = {mine.kind, other_axis.kind} - {"missing"}
    if len(kinds) > 1:
        raise InputError(
            f"{mine.name!r} is {mine.kind} in one and {other_axis.kind} in the other; convert one"
        )
    levels = merged(mine.levels, other_axis.levels)
    return Axis(mine.name, kinds.pop() if kinds else "missing", tuple(levels))


def _recode(old: Axis, new: Axis, codes: Codes) -> Codes:
    position = {level: index for index, level in enumerate(new.levels)}
    table = np.array([*(position[level] for level in old.levels), MISSING], dtype=np.int32)
    return table[codes]  # code -1 takes the last entry, MISSING


def _canonical(
    axes: tuple[Axis, ...],
    codes: Sequence[Codes],
    n: npt.NDArray[Any],
    moments: Floats | None = None,
) -> Counts:
    """Sort cells by their codes and add up equal ones, so that equal data gives equal Counts."""
    sizes = [len(axis.levels) + 1 for axis in axes]
    space = prod(sizes)
    if moments is not None:
        order = np.lexsort(tuple(reversed(list(codes))))  # stable: sums depend on the data alone
        unique, totals = sum_sorted(np.stack(codes)[:, order], np.vstack([n, moments])[:, order])
        return Counts(axes, unique, totals[0], moments=totals[1:])
    if space < LARGEST_KEY:
        keys, sums = sum_keys(pack(codes, sizes), n.astype(np.int64, copy=False), space)
        return Counts(axes, unpack(keys, sizes), sums)
    order = np.lexsort(tuple(reversed(list(codes))))
    return Counts(axes, *sum_sorted(np.stack(codes)[:, order], n[order]))
