"""LabelMatches bound to one grouping: which samples are in it, and to which group each belongs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import ParameterError, check_choice
from evenhand.core.results import Dropped
from evenhand.evidence.label_matches import UNKNOWN, LabelMatches
from evenhand.metrics.named_groups import (
    NamedGroups,
    check_kind,
    coded,
    dropped_of,
    left_out,
    missing,
    texts,
    unknown_in,
)
from evenhand.metrics.prepared import By, names_of

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class LabelGroups(NamedGroups):
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
        check_kind(evidence, LabelMatches, "LabelMatches.from_predictions")
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
        columns = texts(evidence.table, names)
        for name, column in columns.items():
            reasons = missing({name: column})
            if unknown == "exclude":
                reasons |= unknown_in({name: column}, UNKNOWN)
            chosen = left_out(chosen, reasons, counts)
        groups, codes = coded(columns, chosen)
        known = np.array([not any(value.lower() in UNKNOWN for value in key) for key in groups], dtype=bool)
        return cls(evidence, names, chosen, groups, codes, known, dropped_of(counts))

    @property
    def n(self) -> int:
        """Samples in it."""
        return int(self.chosen.sum())

    @cached_property
    def cluster(self) -> Integers | None:
        """Cluster of each sample; None where each sample is its own.

        A sample without one is a cluster of its own.
        """
        name = self.matches.cluster
        if name is None:
            return None
        samples = self.matches.table.filter(pl.Series(self.chosen, dtype=pl.Boolean))
        own = pl.concat_str(pl.lit("\x1f"), pl.col("sample"))
        codes = samples.select(pl.coalesce(pl.col(name).cast(pl.String), own).rank("dense")).to_series()
        found = codes.to_numpy().astype(np.int64) - 1
        return found if np.unique(found).size < found.size else None

    def scores(self, association: str) -> Floats:
        """Highest confidence of an association, shape (n,)."""
        return self.matches.scores_of(association)[self.chosen]

    @property
    def best(self) -> Floats:
        """Confidence of the first prediction, shape (n,)."""
        return self.matches.best[self.chosen]


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
