"""HouseholdHits bound to one grouping: households, the groups they lie in, and what each adds to them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import check_choice
from evenhand.core.results import Dropped
from evenhand.evidence.household_hits import BUCKETS, OUTSIDE, HouseholdHits
from evenhand.metrics.named_groups import Groups, NamedGroups, check_kind, coded, dropped_of, kept
from evenhand.metrics.prepared import By, names_of
from evenhand.stats.arrays import Floats, Integers
from evenhand.stats.clustered import Cells, ClusterMean
from evenhand.stats.differences import MOST_PAIRED
from evenhand.stats.exchange import Exchange, UnitRows, exchange

WEIGHTINGS = ("household", "image")
_CONCEPT = "concept"
_RELEASED = ("household", "country", "region", "income")  # what the released code calls a household


def check_hits(evidence: Any) -> None:
    """Refuse other evidence than HouseholdHits.

    Raises:
        InputError: It is something else.
    """
    check_kind(evidence, HouseholdHits, "HouseholdHits.from_predictions")


@dataclass(frozen=True, eq=False)
class HouseholdGroups(NamedGroups):
    """Images (or pairs of image and concept, in paper mode) by household and group."""

    hits: HouseholdHits
    by: tuple[str, ...]
    weighting: str  # ``household`` or ``image``
    rows: pl.DataFrame  # the usable images or pairs, with the code of their ``_household``
    pooled: pl.DataFrame  # for the whole: one row an image that stands under several concepts in ``rows``
    groups: Groups  # income buckets by income
    group: Integers
    dropped: list[Dropped]

    @classmethod
    def of(
        cls, evidence: Any, by: By, *, weighting: str = "household", mode: str = "default"
    ) -> HouseholdGroups:
        """Bind evidence to a grouping.

        Args:
            evidence: HouseholdHits.
            by: Attribute, or list of attributes to cross.
            weighting: ``household``: each counts once; ``image``: each image does.
            mode: ``paper`` has pairs of image and concept for rows, and a household with two incomes twice.

        Raises:
            InputError: The evidence is not HouseholdHits.
            UnknownName: An attribute that does not exist.
            ParameterError: No such weighting.
        """
        check_choice("weighting", weighting, WEIGHTINGS)
        check_hits(evidence)
        names = names_of(by)
        for name in names:
            evidence.check_attribute(name)
        key = ("groups", names, weighting, mode)
        return kept(evidence.memo, key, lambda: cls._bound(evidence, names, weighting, mode))

    @classmethod
    def _bound(
        cls, evidence: HouseholdHits, names: tuple[str, ...], weighting: str, mode: str
    ) -> HouseholdGroups:
        paper, counts = mode == "paper", dict(evidence.dropped)
        table = evidence.table if paper or _CONCEPT in names else evidence.images
        for name in ("household", *names):
            if name == "income_bucket" and "income" in table.columns:
                outside = table[name].is_null() & table["income"].is_not_null()
                counts[OUTSIDE] = counts.get(OUTSIDE, 0) + int(outside.sum())
                table = table.filter(~outside)
            lost = table.filter(pl.col(name).is_null())
            many = lost.height if paper else lost.select("household", "image").n_unique()
            counts[f"missing {name}"] = counts.get(f"missing {name}", 0) + many
            table = table.filter(pl.col(name).is_not_null())
        present = [name for name in _RELEASED if paper and name in table.columns]
        household = pl.struct(present or ["household"]).rank("dense") if table.height else pl.lit(1)
        rows = pooled = table.with_columns(_household=household.cast(pl.Int64) - 1)
        if not paper and _CONCEPT in names:  # an image is hit where any of its concepts is
            images = rows.group_by("_household", "image").agg(pl.col("hit", "covered").max())
            pooled = images.sort("_household", "image")
        texts = {name: pl.Series(list(map(str, rows[name])), dtype=pl.String) for name in names}
        found, code = coded(texts, np.ones(rows.height, dtype=bool))
        groups = sorted(found, key=lambda key: _order(key, names))
        place = np.array([groups.index(key) for key in found], dtype=np.int64)
        dropped = dropped_of({reason: count for reason, count in counts.items() if count})
        return cls(evidence, names, weighting, rows, pooled, groups, place[code], dropped)

    @property
    def n(self) -> int:
        """Images, or pairs in paper mode."""
        return self.pooled.height

    @cached_property
    def whole(self) -> Cells:
        """The cells without a grouping."""
        return self._cells()

    @cached_property
    def cells(self) -> Cells:
        """What each household adds to each group."""
        return self._cells(grouped=True)

    @cached_property
    def covered(self) -> list[float]:
        """Share that any prediction is sure of, in each group; weighted as hits are."""
        return [mean.value for mean in self._cells("covered", grouped=True).means()]

    @cached_property
    def coverage(self) -> float | None:
        """The same over all groups."""
        return self._cells("covered").means()[0].value if self.n else None

    def _cells(self, column: str = "hit", *, grouped: bool = False) -> Cells:
        rows = self.rows.with_columns(_group=self.group) if grouped else self.pooled.with_columns(_group=0)
        found = (
            rows.group_by("_household", "_group")
            .agg(pl.col(column).sum().alias("sum"), pl.len().alias("size"))
            .sort("_household", "_group")
        )
        size = found["size"].to_numpy().astype(np.float64)
        weight = np.ones(size.size) if self.weighting == "household" else size
        codes = found["_household"].to_numpy(), found["_group"].to_numpy()
        count = len(self.groups) if grouped else 1
        return Cells(found["sum"].to_numpy() / size * weight, weight, size, *codes, count)

    @cached_property
    def means(self) -> list[ClusterMean]:
        """The mean of each group."""
        return self.cells.means()

    @cached_property
    def rates(self) -> Floats:
        """The value of each, shape (groups,)."""
        return np.array([mean.value for mean in self.means])

    def units(self, codes: Integers, rng: np.random.Generator) -> HouseholdUnits:
        """Rows of some groups, numbered anew in the order of ``codes``, by household and what they show."""
        place = np.full(len(self.groups), -1, dtype=np.int64)
        place[codes] = np.arange(codes.size)
        here = place[self.group] >= 0
        rows, group = self.rows.filter(pl.Series(here, dtype=pl.Boolean)), place[self.group[here]]
        household, weight = rows["_household"].to_numpy(), np.ones(rows.height)
        if self.weighting == "household":
            size = rows.select("_household", _group=group).select(pl.len().over("_household", "_group"))
            weight = 1 / size.to_series().to_numpy()
        found = UnitRows(rows["hit"].to_numpy(), group, codes.size, household, weight)
        column = "_topic" if "_topic" in rows.columns else _CONCEPT
        topic = rows[column] if _CONCEPT not in self.by and column in rows.columns else None
        if topic is None or topic.n_unique() < 2:
            return HouseholdUnits(found, None, rng)
        return HouseholdUnits(found, topic.rank("dense").fill_null(0).to_numpy().astype(np.int64), rng)


@dataclass(frozen=True, eq=False)
class HouseholdUnits:
    """Rows of groups by household, and what they show where households change places."""

    rows: UnitRows  # hits
    topic: Integers | None  # code of what each row shows; None where all show the same or groups are concepts
    rng: np.random.Generator  # source of the draws

    @cached_property
    def adjusted(self) -> UnitRows:
        """Hits without what concepts make of them."""
        return self.rows if self.topic is None else self.rows.within(self.topic)

    @cached_property
    def expected(self) -> Floats:
        """Rate of each group that its concepts alone lead to expect, shape (G,)."""
        rows = self.rows
        left = rows.value - self.adjusted.value + rows.mean
        total = np.bincount(rows.group, rows.weights * left, rows.groups)
        return np.asarray(total / np.bincount(rows.group, rows.weights, rows.groups))

    @cached_property
    def exchange(self) -> Exchange | None:
        """Of adjusted hits; None where nothing can change places, or households lie in many groups each."""
        rows = self.rows
        few = rows.groups <= MOST_PAIRED or not rows.mixed.any()
        return exchange(self.adjusted, self.rng) if rows.groups > 1 and not rows.fixed and few else None

    @cached_property
    def nulls(self) -> Floats:
        """Rates that groups of these concepts have by chance, shape (R, G)."""
        drawn = np.zeros((0, self.rows.groups)) if self.exchange is None else self.exchange.rates
        return np.asarray(np.clip(self.expected + drawn - self.rows.mean, 0, 1))


def _order(key: tuple[str, ...], names: tuple[str, ...]) -> list[tuple[int, str]]:
    """Income buckets from low to high, everything else by name."""
    return [
        (BUCKETS.index(value), "") if name == "income_bucket" and value in BUCKETS else (len(BUCKETS), value)
        for name, value in zip(names, key, strict=True)
    ]
