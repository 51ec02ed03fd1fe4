"""What evidence that is bound to a grouping shares: groups named by the values of attributes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError
from evenhand.core.results import Dropped, GroupSize, Key, key_of

Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

ALL = "all"
"""The group of a table without a grouping."""


class NamedGroups:
    """Rows by group.

    Attributes:
        by: Attributes crossed.
        groups: The groups that occur: one value per attribute of ``by``.
        group: Group of each row.
    """

    by: tuple[str, ...]
    groups: list[tuple[str, ...]]
    group: Integers

    @cached_property
    def sizes(self) -> Integers:
        """Rows of each group, shape (groups,)."""
        return np.bincount(self.group, minlength=len(self.groups))

    def key(self, code: int) -> Key:
        """A group as findings write it."""
        return key_of(self.groups[code])

    def text(self, code: int) -> str:
        """A group as tables write it: ``female*darker``, or ``all`` without a grouping."""
        return "*".join(self.groups[code]) if self.by else ALL

    def group_sizes(self) -> list[GroupSize]:
        """Rows of each group; nothing without a grouping."""
        return [GroupSize(key=self.key(code), n=n) for code, n in enumerate(self.sizes.tolist()) if self.by]


def check_kind(evidence: Any, kind: type, how: str) -> None:
    """Refuse other evidence than a metric takes.

    Args:
        evidence: What was given.
        kind: What it has to be.
        how: What makes such evidence, such as ``LabelMatches.from_predictions``.

    Raises:
        InputError: It is something else.
    """
    if not isinstance(evidence, kind):
        given = type(evidence).__name__
        raise InputError(f"this metric takes {kind.__name__}, not {given}; make them with {how}")


def left_out(chosen: Mask, reasons: Mapping[str, pl.Series], counts: dict[str, int]) -> Mask:
    """The rows that are left without those that have a reason to be left out.

    Args:
        chosen: Rows so far, shape (N,).
        reasons: Where each reason holds; the first that does counts.
        counts: Rows left out by reason; those of this call are added.
    """
    for reason, where in reasons.items():
        gone = chosen & where.fill_null(False).to_numpy()
        if gone.any():
            counts[reason] = counts.get(reason, 0) + int(gone.sum())
            chosen = chosen & ~gone
    return chosen


def missing(columns: Mapping[str, pl.Series]) -> dict[str, pl.Series]:
    """Where attributes have no value, as a reason to leave rows out."""
    return {f"missing {name}": column.is_null() for name, column in columns.items()}


def unknown_in(columns: Mapping[str, pl.Series], words: Collection[str]) -> dict[str, pl.Series]:
    """Where attributes have a value that says that annotators could not tell, as such a reason."""
    return {
        f"unknown {name}": column.str.to_lowercase().is_in(list(words)) for name, column in columns.items()
    }


def texts(table: pl.DataFrame, names: tuple[str, ...]) -> dict[str, pl.Series]:
    """Values of attributes as texts."""
    return {name: table[name].cast(pl.String) for name in names}


def coded(columns: Mapping[str, pl.Series], chosen: Mask) -> tuple[list[tuple[str, ...]], Integers]:
    """The groups that occur among the chosen rows, sorted, and the code of each of these rows."""
    if not columns:
        return [()], np.zeros(int(chosen.sum()), dtype=np.int64)
    keys = list(zip(*(column.to_numpy()[chosen].tolist() for column in columns.values()), strict=True))
    groups: list[tuple[str, ...]] = sorted(set(keys))
    position = {key: code for code, key in enumerate(groups)}
    return groups, np.array([position[key] for key in keys], dtype=np.int64)


def dropped_of(counts: Mapping[str, int]) -> list[Dropped]:
    """What was left out, by reason."""
    return [Dropped(reason=reason, count=count) for reason, count in sorted(counts.items())]
