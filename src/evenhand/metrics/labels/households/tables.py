"""HouseholdHits bound to a grouping, and tables of them: households, countries, rates at thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import polars as pl

from evenhand.core.errors import check_choice
from evenhand.core.findings import Dropped
from evenhand.evidence.household_hits import BUCKETS, OUTSIDE, HouseholdHits
from evenhand.metrics.estimates import LEVEL, By, Mode, Weighting, get_or_make
from evenhand.metrics.group_rates import ComparedRows
from evenhand.metrics.named_groups import Groups, NamedGroups, bound_names, check_kind, coded, dropped_of
from evenhand.stats.arrays import Floats, Integers, Rng
from evenhand.stats.exchange.rows import UnitRows
from evenhand.stats.rates.clustered import FEWEST, ClusterMean, GroupCells
from evenhand.stats.rates.rates import Rates, normal_quantile

WEIGHTINGS = get_args(Weighting)
_CONCEPT = "concept"
_RELEASED = ("household", "country", "region", "income")  # what the released code calls a household
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Where a curve is drawn by default."""


def household_rates(hits: HouseholdHits, *, mode: Mode = "default") -> pl.DataFrame:
    """The hit rate and coverage of each household over its ``n`` images, or pairs in ``paper`` mode."""
    bound = BoundHits.of(hits, (), mode=mode)
    names = [name for name in ("country", "region", "income", "income_bucket") if name in bound.rows.columns]
    return (
        bound.rows.group_by("_household", "household")
        .agg(
            *(pl.col(name).sort_by("sample").first() for name in names),
            n=pl.len(),
            hit_rate=pl.col("hit").mean(),
            coverage=pl.col("covered").mean(),
        )
        .sort("household", "_household")
        .drop("_household")
    )


def country_hit_rates(hits: HouseholdHits, *, mode: Mode = "default") -> pl.DataFrame:
    """The hit rate of each country over its images, beside the mean income of its households.

    Rows are sorted by income; ``low`` and ``high`` are by household, null below two.

    Source: De Vries et al., Does object recognition work for everyone?, 2019.
    """
    hits.check_attribute("income")
    return country_points(BoundHits.of(hits, "country", weighting="image", mode=mode))


def country_points(bound: BoundHits) -> pl.DataFrame:
    """As ``country_hit_rates``, from evidence bound by country."""
    region = [name for name in ("region",) if name in bound.rows.columns]
    incomes = (
        bound.rows.unique(["country", "household"], keep="first", maintain_order=True)
        .group_by("country")
        .agg(*(pl.col(name).drop_nulls().first() for name in region), income=pl.col("income").mean())
        .with_columns(pl.col("country").cast(pl.String))
    )
    return _rates(bound).join(incomes, left_on="group", right_on="country", how="left").select(
        pl.col("group").alias("country"), *region, pl.col("income").cast(pl.Float64), "households", "n",
        "hit_rate", "low", "high",
    ).sort("income", "country", nulls_last=True)  # fmt: skip


def hit_curve(
    hits: HouseholdHits,
    by: By = (),
    thresholds: Sequence[float] = THRESHOLDS,
    *,
    weighting: Weighting = "household",
    mode: Mode = "default",
) -> pl.DataFrame:
    """``household_hit_rate`` and coverage at thresholds in [0, 1]; the hits have confidences.

    Without a grouping ``group`` is ``all``.
    """
    parts = []
    for threshold in thresholds:
        bound = BoundHits.of(hits.at(threshold), by, weighting=weighting, mode=mode)
        level = pl.lit(float(threshold)).alias("threshold")
        coverage = pl.Series("coverage", bound.covered, dtype=pl.Float64)
        parts.append(_rates(bound).with_columns(coverage).select(level, pl.all()))
    return pl.concat(parts)


def _rates(bound: BoundHits) -> pl.DataFrame:
    low, high = Rates.of_clusters(bound.means).limits(normal_quantile(LEVEL))
    households = np.array([mean.clusters for mean in bound.means], dtype=np.int64)
    few = pl.col("households") < FEWEST  # these have no limits
    return pl.DataFrame(
        {
            "group": pl.Series(bound.texts, dtype=pl.String),
            "households": households, "n": bound.sizes, "hit_rate": bound.rates, "low": low, "high": high,
        }
    ).with_columns(pl.when(~few).then(pl.col("low", "high")))  # fmt: skip


def check_hits(evidence: Any) -> None:
    """Refuse other evidence than HouseholdHits."""
    check_kind(evidence, HouseholdHits, "HouseholdHits.from_predictions")


@dataclass(frozen=True, eq=False)
class BoundHits(NamedGroups):
    """Images (or pairs of image and concept, in paper mode) by household and group."""

    hits: HouseholdHits
    by: tuple[str, ...]
    weighting: Weighting  # ``household`` or ``image``
    rows: pl.DataFrame  # the usable images or pairs, with the code of their ``_household``
    pooled: pl.DataFrame  # for the whole: one row an image that stands under several concepts in ``rows``
    groups: Groups  # income buckets by income
    group: Integers
    dropped: list[Dropped]

    @classmethod
    def of(
        cls, evidence: Any, by: By, *, weighting: Weighting = "household", mode: Mode = "default"
    ) -> BoundHits:
        """Bind HouseholdHits to a grouping; each ``household`` counts once, or each ``image``.

        ``paper`` mode has pairs of image and concept for rows, and a household with two incomes twice.
        """
        check_choice("weighting", weighting, WEIGHTINGS)
        names = bound_names(evidence, HouseholdHits, "HouseholdHits.from_predictions", by)
        key = ("groups", names, weighting, mode)
        return get_or_make(evidence.memo, key, cls._bound, evidence, names, weighting, mode)

    @classmethod
    def _bound(
        cls, evidence: HouseholdHits, names: tuple[str, ...], weighting: Weighting, mode: Mode
    ) -> BoundHits:
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
        if "income_bucket" in texts:  # from low to high, everything else by name
            bucket = texts["income_bucket"]
            levels = dict.fromkeys([*BUCKETS, *bucket.unique().sort()])
            texts["income_bucket"] = bucket.cast(pl.Enum(list(levels)))
        groups, code = coded(texts, np.ones(rows.height, dtype=bool))
        return cls(evidence, names, weighting, rows, pooled, groups, code, dropped_of(counts))

    @property
    def n(self) -> int:
        """Images, or pairs in paper mode."""
        return self.pooled.height

    @cached_property
    def whole(self) -> GroupCells:
        """The cells without a grouping."""
        return self._cells()

    @cached_property
    def cells(self) -> GroupCells:
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

    def _cells(self, column: str = "hit", *, grouped: bool = False) -> GroupCells:
        rows = self.rows.with_columns(_group=self.group) if grouped else self.pooled.with_columns(_group=0)
        totals = (
            rows.group_by("_household", "_group")
            .agg(pl.col(column).sum().alias("sum"), pl.len().alias("size"))
            .sort("_household", "_group")
        )
        size = totals["size"].to_numpy().astype(np.float64)
        weight = np.ones(size.size) if self.weighting == "household" else size
        codes = totals["_household"].to_numpy(), totals["_group"].to_numpy()
        count = len(self.groups) if grouped else 1
        return GroupCells(totals["sum"].to_numpy() / size * weight, weight, size, *codes, count)

    @cached_property
    def means(self) -> list[ClusterMean]:
        """The mean of each group."""
        return self.cells.means()

    @cached_property
    def rates(self) -> Floats:
        """The value of each, shape (groups,)."""
        return np.array([mean.value for mean in self.means])

    def compared(self, codes: Integers, rng: Rng) -> ComparedRows:
        """Rows of some groups, numbered anew in the order of ``codes``, by household and what they show."""
        code_of = np.full(len(self.groups), -1, dtype=np.int64)
        code_of[codes] = np.arange(codes.size)
        here = code_of[self.group] >= 0
        rows, group = self.rows.filter(pl.Series(here, dtype=pl.Boolean)), code_of[self.group[here]]
        household, weight = rows["_household"].to_numpy(), np.ones(rows.height)
        if self.weighting == "household":
            size = rows.select("_household", _group=group).select(pl.len().over("_household", "_group"))
            weight = 1 / size.to_series().to_numpy()
        unit_rows = UnitRows(rows["hit"].to_numpy(), group, codes.size, household, weight)
        column = "_topic" if "_topic" in rows.columns else _CONCEPT
        topic = rows[column] if _CONCEPT not in self.by and column in rows.columns else None
        if topic is None or topic.n_unique() < 2:  # all show the same, or groups are concepts
            return ComparedRows(unit_rows, None, rng)
        return ComparedRows(unit_rows, topic.rank("dense").fill_null(0).to_numpy().astype(np.int64), rng)
