"""What evidence that is bound to a grouping shares: groups named by the values of attributes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Dropped, GroupSize, Key, Part, key_of
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.metrics.estimates import By, Fields, names_of, part
from evenhand.stats.arrays import Integers, Mask, keys_and_codes
from evenhand.stats.multiplicity import adjust

Groups: TypeAlias = list[tuple[str, ...]]
T = TypeVar("T")


class NamedGroups:
    """Rows by group."""

    by: tuple[str, ...]  # attributes crossed
    groups: Groups  # that occur, sorted: one value per attribute of ``by``
    group: Integers  # of each row
    dropped: list[Dropped]  # what was left out, by reason

    @property
    def n(self) -> int:
        """Rows in it."""
        return int(self.group.size)

    @cached_property
    def sizes(self) -> Integers:
        """Rows of each group, shape (groups,)."""
        return np.bincount(self.group, minlength=len(self.groups))

    @cached_property
    def known(self) -> Mask:
        """Groups whose annotators could tell every attribute, shape (groups,)."""
        return np.array([UNKNOWN.isdisjoint(map(str.lower, key)) for key in self.groups], dtype=bool)

    @property
    def cluster(self) -> Integers | None:
        """Unit of each row; None where each row is its own."""
        return None

    def key(self, code: int) -> Key:
        """A group as findings write it."""
        return key_of(self.groups[code])

    def text(self, code: int) -> str:
        """A group as tables write it: ``female*darker``, or ``all`` without a grouping."""
        return "*".join(self.groups[code]) if self.by else "all"

    @property
    def texts(self) -> list[str]:
        """All groups as tables write them."""
        return [self.text(code) for code in range(len(self.groups))]

    def group_sizes(self) -> list[GroupSize]:
        """Rows of each group; nothing without a grouping."""
        sizes = enumerate(self.sizes.tolist() if self.by else ())
        return [GroupSize(key=self.key(code), n=n) for code, n in sizes]

    def parts(self, fields: Callable[[int], Fields]) -> list[Part]:
        """A part for each group with what ``fields`` say of its code, p corrected; none without groups.

        Limits make the interval; parts, which fields of a finding have too, are left out.
        """
        codes, kind = range(len(self.groups) if self.by else 0), "*".join(self.by)
        return corrected([part(kind, self.key(code), n=self.sizes[code], **fields(code)) for code in codes])


@dataclass(frozen=True, eq=False)
class ChosenRows(NamedGroups):
    """Chosen rows of a table, which have a value of every attribute."""

    by: tuple[str, ...]
    chosen: Mask  # which rows these are
    groups: Groups
    group: Integers
    dropped: list[Dropped]

    def inside(self, code: int) -> Self:
        """The rows of one group, without a grouping."""
        mask = self.chosen.copy()
        mask[mask] = self.group == code
        return replace(self, by=(), chosen=mask, groups=[()], group=self.group[self.group == code] * 0)

    def with_parts(self, piece: Callable[..., Fields]) -> Fields:
        """What is said of all rows, and as parts the same of each group, whose values follow its rows."""
        parts = self.parts(lambda code: piece(self.inside(code), *self.groups[code]))
        return piece(self) | ({"parts": parts} if self.by else {})


def corrected(parts: list[Part]) -> list[Part]:
    """Parts with p corrected over them by Holm."""
    p = np.array([np.nan if tested.p_value is None else tested.p_value for tested in parts])
    return [
        tested if np.isnan(q) else tested.model_copy(update={"p_adjusted": float(q)})
        for tested, q in zip(parts, adjust(p, "holm"), strict=True)
    ]


def check_pair(groups: Any, possible: Sequence[str], words: str) -> None:
    """Refuse what does not name two different groups."""
    if isinstance(groups, str) or len(groups) != 2 or groups[0] == groups[1]:
        raise ParameterError(f"groups={groups!r} is not possible; name two of {possible}: [{words}]")


def bound_names(evidence: Any, kind: type, how: str, by: By) -> tuple[str, ...]:
    """Names of the attributes of a grouping, which evidence of a kind has."""
    check_kind(evidence, kind, how)
    names = names_of(by)
    evidence.check_attribute(*names)
    return names


def check_kind(evidence: Any, kind: type, how: str) -> None:
    """Refuse other evidence than a metric takes, and name what makes it: ``Choices.join``."""
    if not isinstance(evidence, kind):
        class_name = type(evidence).__name__
        raise InputError(f"this metric takes {kind.__name__}, not {class_name}; make them with {how}")


def left_out(mask: Mask, reasons: Mapping[str, pl.Series], counts: dict[str, int]) -> Mask:
    """The chosen rows without those that have a reason to be left out, which are counted by the first one."""
    for reason, where in reasons.items():
        gone = mask & where.fill_null(False).to_numpy()
        if gone.any():
            counts[reason] = counts.get(reason, 0) + int(gone.sum())
            mask = mask & ~gone
    return mask


def missing(columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Where attributes have no value, as a reason to leave rows out."""
    return {f"missing {name}": column.is_null() for name, column in columns.items()}


def unknown_in(columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Where attributes have a value that says that annotators could not tell, as such a reason."""
    words = list(UNKNOWN)
    return {f"unknown {name}": column.str.to_lowercase().is_in(words) for name, column in columns.items()}


def texts(table: pl.DataFrame, names: tuple[str, ...]) -> dict[str, pl.Series]:
    """Values of attributes as texts."""
    return {name: table[name].cast(pl.String) for name in names}


def coded(columns: Mapping[str, pl.Series], mask: Mask) -> tuple[Groups, Integers]:
    """The groups that occur among the chosen rows, sorted, and the code of each of these rows."""
    code, values = np.zeros(int(mask.sum()), dtype=np.int64), list[pl.Series]()
    if not columns or not code.size:
        return [] if columns else [()], code
    usable = pl.Series(mask)
    for column in columns.values():
        texts, numbers = numbered(column.filter(usable))
        values.append(texts)
        code = code * len(texts) + numbers
    keys = np.arange(len(values[0]))
    if len(values) > 1:  # of several attributes not every crossing may occur
        keys, code = keys_and_codes(code)
    at = np.unravel_index(keys, tuple(map(len, values)))
    names = [texts.gather(places).to_list() for texts, places in zip(values, at, strict=True)]
    return list(zip(*names, strict=True)), code


def numbered(column: pl.Series) -> tuple[pl.Series, Integers]:
    """The values that occur, sorted, and the number of each row's."""
    values = column.unique().sort().cast(pl.String)
    return values, column.cast(pl.Enum(values)).to_physical().cast(pl.Int64).to_numpy()


def crossed(table: pl.DataFrame, names: Sequence[str]) -> Integers:
    """One code for each row for the crossed columns; a missing value is a value of its own."""
    if not names:
        return np.zeros(table.height, dtype=np.int64)
    values = pl.col(list(names)).cast(pl.String).fill_null("")
    return numbered(table.select(pl.concat_str(values, separator="\x1f")).to_series())[1]


def units_of(tables: Mapping[str, pl.DataFrame], cluster: str | None) -> Integers:
    """Unit of each sample of some tables, which follow each other: its cluster where a table has that column.

    A sample without a cluster is a unit of its own.
    """
    samples = []
    for side, table in tables.items():
        units = table[cluster].cast(pl.String) if cluster in table.columns else None
        if units is None or units.null_count():
            alone = pl.concat_str(pl.lit(f"\x1f{side}\x1f"), pl.col("sample"))
            units = table.select(alone if units is None else pl.coalesce(units, alone)).to_series()
        samples.append(units)
    return numbered(pl.concat(samples))[1]


def shared(units: Integers) -> Integers | None:
    """Units of rows; None where each row is its own."""
    return units if np.unique(units).size < units.size else None


def dropped_of(counts: Mapping[str, int]) -> list[Dropped]:
    """What was left out, by reason."""
    return [Dropped(reason=reason, count=count) for reason, count in sorted(counts.items()) if count]


def bound(
    table: pl.DataFrame,
    names: tuple[str, ...],
    counts: Mapping[str, int],
    mask: Mask | None = None,
    unknown: str = "keep",
) -> Fields:
    """The fields of ``ChosenRows`` for the rows of a table, or some of them.

    ``counts`` are of what was lost before; ``exclude`` leaves rows out whose annotators could not tell.
    """
    columns, reasons, lost = dict[str, pl.Series](), dict[str, pl.Series](), dict(counts)
    for name in names:
        columns[name] = table[name].cast(pl.String)
        reasons[f"missing {name}"] = columns[name].is_null()
        if unknown == "exclude":
            reasons |= unknown_in({name: columns[name]})
    mask = left_out(np.ones(table.height, dtype=bool) if mask is None else mask, reasons, lost)
    groups, group = coded(columns, mask)
    return {"by": names, "chosen": mask, "groups": groups, "group": group, "dropped": dropped_of(lost)}


def listed(value: str | Sequence[str]) -> str:
    """One value, or several of which any may be."""
    return value if isinstance(value, str) else "|".join(value)
