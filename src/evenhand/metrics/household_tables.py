"""Tables from HouseholdHits: households, countries beside their income, and rates at every threshold."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from evenhand.evidence.household_hits import HouseholdHits
from evenhand.metrics.household_groups import HouseholdGroups
from evenhand.metrics.prepared import LEVEL, By
from evenhand.stats.clustered import FEWEST
from evenhand.stats.differences import normal_quantile
from evenhand.stats.rates import Rates

THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.5, 0.8)
"""Where a curve is drawn by default."""


def household_rates(hits: HouseholdHits, *, mode: str = "default") -> pl.DataFrame:
    """The hit rate of each household.

    Args:
        hits: The evidence.
        mode: ``default`` or ``paper``, as in ``household_hit_rate``.

    Returns:
        ``household``, of ``country``, ``region``, ``income`` and ``income_bucket`` those that the evidence
        has, ``n`` (images), ``hit_rate`` and ``coverage``, sorted by household.
    """
    bound = HouseholdGroups.of(hits, (), mode=mode)
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


def country_hit_rates(hits: HouseholdHits, *, mode: str = "default") -> pl.DataFrame:
    """The hit rate of each country over its images, beside the mean income of its households.

    Args:
        hits: The evidence, with ``country`` and ``income``.
        mode: ``default`` or ``paper``.

    Returns:
        ``country``, ``region`` (where there is one), ``income``, ``households``, ``n``, ``hit_rate`` with
        ``low`` and ``high`` by household (null below two), sorted by income.

    Raises:
        UnknownName: There is no ``country`` or ``income``.

    Source: De Vries et al., Does object recognition work for everyone?, 2019.
    """
    hits.check_attribute("income")
    return country_points(HouseholdGroups.of(hits, "country", weighting="image", mode=mode))


def country_points(bound: HouseholdGroups) -> pl.DataFrame:
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
    weighting: str = "household",
    mode: str = "default",
) -> pl.DataFrame:
    """``household_hit_rate`` at several thresholds.

    Args:
        hits: The evidence, with confidences.
        by: Attribute, or list of attributes to cross.
        thresholds: In [0, 1].
        weighting: ``household`` or ``image``.
        mode: ``default`` or ``paper``.

    Returns:
        ``threshold``, ``group`` (``low*Asia``; ``all`` without a grouping), ``households``, ``n``,
        ``hit_rate`` with ``low`` and ``high``, ``coverage``.

    Raises:
        UserError: An unknown attribute, or a threshold that is not possible.
    """
    parts = []
    for threshold in thresholds:
        bound = HouseholdGroups.of(hits.at(threshold), by, weighting=weighting, mode=mode)
        level = pl.lit(float(threshold)).alias("threshold")
        coverage = pl.Series("coverage", bound.covered, dtype=pl.Float64)
        parts.append(_rates(bound).with_columns(coverage).select(level, pl.all()))
    return pl.concat(parts)


def _rates(bound: HouseholdGroups) -> pl.DataFrame:
    low, high = Rates.of_clusters(bound.means).limits(normal_quantile(LEVEL))
    households = np.array([mean.clusters for mean in bound.means], dtype=np.int64)
    few = pl.col("households") < FEWEST  # these have no limits
    return pl.DataFrame(
        {
            "group": pl.Series([bound.text(code) for code in range(len(bound.groups))], dtype=pl.String),
            "households": households, "n": bound.sizes, "hit_rate": bound.rates, "low": low, "high": high,
        }
    ).with_columns(pl.when(~few).then(pl.col("low", "high")))  # fmt: skip
