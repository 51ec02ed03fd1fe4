"""LabelMatches bound to one grouping: which samples are in it, and to which group each belongs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, ParameterError, check_choice
from evenhand.core.results import Dropped, GroupSize, Key
from evenhand.evidence.label_matches import UNKNOWN, LabelMatches
from evenhand.metrics.prepared import By, names_of

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

ALL = "all"
"""The group of a table without a grouping."""


@dataclass(frozen=True, eq=False)
class LabelGroups:
    """Samples by group.

    Attributes:
        matches: The evidence.
        by: Attributes crossed.
        chosen: Which samples are in it, shape (N,).
        groups: The groups that occur, sorted: one value per attribute of ``by``.
        group: Group of each sample in it.
        known: Groups whose annotators could tell every attribute, shape (groups,).
        dropped: Samples left out, by reason.
    """

    matches: LabelMatches
    by: tuple[str, ...]
    chosen: Mask
    groups: list[tuple[str, ...]]
    group: Integers
    known: Mask
    dropped: list[Dropped]
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, evidence: Any, by: By, unknown: str = "keep") -> LabelGroups:
        """Bind evidence to a grouping.

        Args:
            evidence: LabelMatches.
            by: Attribute, or list of attributes to cross.
            unknown: ``keep`` or ``exclude`` samples whose annotators could not tell (counted).

        Raises:
            InputError: The evidence is not LabelMatches.
            UnknownName: An attribute that does not exist.
        """
        check_choice("unknown", unknown, ("keep", "exclude"))
        if not isinstance(evidence, LabelMatches):
            given = type(evidence).__name__
            raise InputError(
                f"this metric takes LabelMatches, not {given}; make them with LabelMatches.from_predictions"
            )
        names = names_of(by)
        for name in names:
            evidence.check_attribute(name)
        key = ("groups", names, unknown)
        if key not in evidence.memo:
            evidence.memo[key] = cls._bound(evidence, names, unknown)
        bound: LabelGroups = evidence.memo[key]
        return bound

    @classmethod
    def _bound(cls, evidence: LabelMatches, names: tuple[str, ...], unknown: str) -> LabelGroups:
        counts = dict(evidence.dropped)
        chosen = np.ones(evidence.table.height, dtype=bool)
        columns = [evidence.table[name].cast(pl.String) for name in names]
        for name, column in zip(names, columns, strict=True):
            left_out = {f"missing {name}": column.is_null()}
            if unknown == "exclude":
                left_out[f"unknown {name}"] = column.str.to_lowercase().is_in(list(UNKNOWN)).fill_null(False)
            for reason, where in left_out.items():
                gone = chosen & where.to_numpy()
                if gone.any():
                    counts[reason] = int(gone.sum())
                    chosen &= ~gone
        keys = list(zip(*(column.to_numpy()[chosen].tolist() for column in columns), strict=True))
        groups: list[tuple[str, ...]] = sorted(set(keys)) if names else [()]
        position = {key: index for index, key in enumerate(groups)}
        codes = [position[key] for key in keys] if names else np.zeros(int(chosen.sum()))
        known = np.array([not any(value.lower() in UNKNOWN for value in key) for key in groups], dtype=bool)
        dropped = [Dropped(reason=reason, count=count) for reason, count in sorted(counts.items())]
        return cls(evidence, names, chosen, groups, np.asarray(codes, dtype=np.int64), known, dropped)

    @property
    def n(self) -> int:
        """Samples in it."""
        return int(self.chosen.sum())

    @cached_property
    def sizes(self) -> Integers:
        """Samples of each group, shape (groups,)."""
        return np.bincount(self.group, minlength=len(self.groups))

    @cached_property
    def cluster(self) -> Integers | None:
        """Cluster of each sample; None where each sample is its own.

        A sample without one is a cluster of its own.
        """
        name = self.matches.cluster
        if name is None:
            return None
        texts = self.matches.table.filter(pl.Series(self.chosen, dtype=pl.Boolean))
        own = pl.concat_str(pl.lit("\x1f"), pl.col("sample"))
        codes = texts.select(pl.coalesce(pl.col(name).cast(pl.String), own).rank("dense")).to_series()
        found = codes.to_numpy().astype(np.int64) - 1
        return found if np.unique(found).size < found.size else None

    def scores(self, association: str) -> Floats:
        """Highest confidence of an association, shape (n,)."""
        return self.matches.scores_of(association)[self.chosen]

    @property
    def best(self) -> Floats:
        """Confidence of the first prediction, shape (n,)."""
        return self.matches.best[self.chosen]

    def key(self, code: int) -> Key:
        """A group as findings write it."""
        values = list(self.groups[code])
        return values[0] if len(values) == 1 else values

    def text(self, code: int) -> str:
        """A group as tables write it: ``female*darker``, or ``all`` without a grouping."""
        return "*".join(self.groups[code]) if self.by else ALL

    def group_sizes(self) -> list[GroupSize]:
        """Samples of each group; nothing without a grouping."""
        sizes = self.sizes.tolist()
        return [GroupSize(key=self.key(code), n=n) for code, n in enumerate(sizes) if self.by]


def check_threshold(value: float) -> float:
    """A threshold of confidences as a float.

    Raises:
        ParameterError: It is no number in [0, 1].
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ParameterError(
            f"threshold={value!r} is not possible; choose a confidence in [0, 1], such as 0.1"
        )
    return float(value)
