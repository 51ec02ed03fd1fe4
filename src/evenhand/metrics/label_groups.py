"""LabelMatches bound to one grouping: which samples are in it, and to which group each belongs."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import ParameterError, check_choice
from evenhand.core.results import Dropped
from evenhand.evidence.label_matches import LabelMatches
from evenhand.metrics import named_groups as named
from evenhand.metrics.named_groups import Groups, NamedGroups, check_kind
from evenhand.metrics.prepared import By, names_of
from evenhand.stats.arrays import Floats, Integers, Mask


@dataclass(frozen=True, eq=False)
class LabelGroups(NamedGroups):
    """Samples by group."""

    matches: LabelMatches
    by: tuple[str, ...]
    chosen: Mask  # which samples of the evidence are in it, shape (N,)
    groups: Groups
    group: Integers
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
        return named.kept(evidence.memo, key, lambda: cls._bound(evidence, names, unknown))

    @classmethod
    def _bound(cls, evidence: LabelMatches, names: tuple[str, ...], unknown: str) -> LabelGroups:
        counts, reasons = dict(evidence.dropped), dict[str, pl.Series]()
        columns = named.texts(evidence.table, names)
        for name, column in columns.items():
            reasons |= named.missing({name: column})
            if unknown == "exclude":
                reasons |= named.unknown_in({name: column})
        chosen = named.left_out(np.ones(evidence.table.height, dtype=bool), reasons, counts)
        return cls(evidence, names, chosen, *named.coded(columns, chosen), named.dropped_of(counts))

    @cached_property
    def cluster(self) -> Integers | None:
        """Cluster of each sample; None where each sample is its own."""
        if self.matches.cluster is None:
            return None
        samples = self.matches.table.filter(pl.Series(self.chosen, dtype=pl.Boolean))
        return named.shared(named.units_of({"": samples}, self.matches.cluster))

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
