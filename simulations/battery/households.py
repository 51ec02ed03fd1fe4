"""Households: hit rates by income, of which some is what they own, and countries beside their income."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats
from simulations.battery import standards
from simulations.battery.design import Case, Design, called
from simulations.battery.persons import alike, units

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.stats.arrays import Rng

BUCKETS = ("low", "medium", "high")


@dataclass(frozen=True)
class Homes:
    """How households are drawn.

    Attributes:
        counts: Households of each income.
        sizes: Lowest and highest number of images, by income.
        rates: Hit rate by income, less what topics make of it.
        icc: How alike images of a household are.
        toys: Share of images that show toys, by income; the rest shows stoves.
        topic: Hit rate of stoves minus that of toys.
        mixed: Whether each image has an income of its own, so that households lie in several groups.
    """

    counts: tuple[int, ...]
    sizes: tuple[tuple[int, int], ...]
    rates: tuple[float, ...]
    icc: float = 0.1
    toys: tuple[float, ...] = (0.0, 0.0, 0.0)
    topic: float = 0.0
    mixed: bool = False

    def draw(self, rng: Rng) -> HouseholdHits:
        """Images of households."""
        income, home = units(rng, self.counts, self.sizes)
        own = alike(rng, np.array(self.rates)[income], self.icc)[home]
        toy = rng.random(home.size) < np.array(self.toys)[income][home]
        hit = rng.random(home.size) < np.clip(own - self.topic * (toy - 0.5), 0, 1)
        group = rng.permuted(income[home]) if self.mixed else income[home]
        return HouseholdHits.from_hits(pl.DataFrame({
            "sample": [f"{number:06d}" for number in range(home.size)],
            "household": home.astype(str),
            "income_bucket": np.array(BUCKETS)[group],
            "concept": np.where(toy, "toys", "stoves"),
            "hit": hit.astype(float),
        }))  # fmt: skip


def welch(hits: HouseholdHits) -> float:
    """Welch's t test of the shares of households with high and low income."""
    ends = hits.table.filter(pl.col("income_bucket") != "medium")
    return standards.welch(*ends.select("hit", "household", "income_bucket"))


_METRICS = {
    "household_hit_gap": called("household_hit_gap"),
    "household_hit_gap[groups=extremes]": called("household_hit_gap", groups="extremes"),
    "worst_household_hit_rate": called("worst_household_hit_rate"),
    "household_hit_rate": called("household_hit_rate"),
}


def design(
    name: str,
    homes: Homes,
    truths: Sequence[float | None],
    *,
    planted: bool = False,
) -> Design:
    """All metrics of income on one way to draw households; truths in the order of the metrics."""
    cases = [
        Case(
            metric, call, truth=truth, fair=not planted and metric != "household_hit_rate",
            standard=welch if planted and "gap" in metric else None, standard_name="Welch's t test of homes",
        )
        for (metric, call), truth in zip(_METRICS.items(), truths, strict=True)
    ]  # fmt: skip
    return Design(f"households: {name}", "households", homes.draw, cases)


@dataclass(frozen=True)
class Countries:
    """Countries of different income, whose hit rates do not depend on it or rise with it.

    Attributes:
        count: How many.
        slope: Of the rate with the logarithm of income, in its standard deviations.
        few: Whether poor and rich countries have few images.
    """

    count: int
    slope: float = 0.0
    few: bool = True

    def draw(self, rng: Rng) -> HouseholdHits:
        """One household a country."""
        x = rng.normal(size=self.count)
        n = np.where((np.abs(x) > 1) & self.few, 6, 80)
        rate = np.clip(0.6 + self.slope * x + rng.normal(0, 0.04, self.count), 0.02, 0.98)
        country = np.repeat(np.arange(self.count), n)
        hit = rng.random(country.size) < rate[country]
        return HouseholdHits.from_hits(pl.DataFrame({
            "sample": [f"{number:05d}" for number in range(country.size)],
            "household": country.astype(str),
            "country": [f"country {code:02d}" for code in country.tolist()],
            "income": np.exp(6 + x)[country],
            "hit": hit.astype(float),
        }))  # fmt: skip


def _student(hits: HouseholdHits) -> float:
    table = hits.table.group_by("country").agg(pl.col("hit").mean(), pl.col("income").mean())
    return float(stats.pearsonr(table["income"].log().to_numpy(), table["hit"].to_numpy()).pvalue)


def countries(name: str, drawn: Countries) -> Design:
    """Both coefficients on one way to draw countries."""
    fair = drawn.slope == 0
    cases = [
        Case(
            f"country_income_correlation[method={method}]",
            called("country_income_correlation", method=method),
            truth=0.0 if fair else None, fair=fair,
            standard=None if fair else _student, standard_name="Student's t test of r, equal spread",
        )
        for method in ("pearson", "spearman")
    ]  # fmt: skip
    return Design(f"households: {name}", "households", drawn.draw, cases)


def improvement(name: str, gain: float) -> Design:
    """A second model on the same images."""

    def draw(rng: Rng) -> tuple[HouseholdHits, HouseholdHits]:
        first = Homes((20, 15, 10), ((2, 15),) * 3, (0.5,) * 3, 0.2).draw(rng)
        again = rng.random(first.table.height) < 0.5 + gain
        other = np.where(rng.random(again.size) < 0.5, first.table["hit"].to_numpy(), again)
        table = first.table.with_columns(hit=pl.Series(other).cast(pl.Float64))
        return HouseholdHits.from_hits(table), first

    def call(data: tuple[HouseholdHits, HouseholdHits], seed: int) -> Finding:
        return metrics.household_hit_improvement(data[0], reference=data[1], seed=seed)

    case = Case("household_hit_improvement", call, truth=gain, fair=gain == 0)
    return Design(f"households: {name}", "households", draw, [case])


FAIR = (0.0, 0.0, 0.6, 0.6)
"""Population values where incomes are treated alike at a rate of .6."""

DESIGNS: tuple[Design, ...] = (
    design("3 incomes, unequal homes", Homes((40, 25, 12), ((1, 20),) * 3, (0.6,) * 3), FAIR),
    design(
        "poor homes have fewer images",
        Homes((30, 20, 20), ((1, 4), (5, 20), (15, 40)), (0.6,) * 3, 0.3),
        FAIR,
    ),
    design("9 homes of 40 images", Homes((4, 3, 2), ((40, 40),) * 3, (0.6,) * 3, 0.2), FAIR),
    design("homes of several incomes", Homes((15, 10, 8), ((6, 12),) * 3, (0.6,) * 3, 0.3, mixed=True), FAIR),
    design(
        "topics differ by income, the model by topic",
        Homes((40, 25, 30), ((3, 15),) * 3, (0.6,) * 3, 0.1, (0.8, 0.5, 0.2), 0.5),
        (0.3, 0.3, 0.45, None),
    ),
    design("rate .98", Homes((40, 25, 12), ((1, 20),) * 3, (0.98,) * 3, 0.3), (0.0, 0.0, 0.98, 0.98)),
    design(
        "planted .50 / .68",
        Homes((30, 20, 30), ((2, 12),) * 3, (0.5, 0.59, 0.68), 0.1),
        (0.18, 0.18, 0.5, None),
        planted=True,
    ),
    countries("12 countries, noisier at both ends", Countries(12)),
    countries("40 countries, noisier at both ends", Countries(40)),
    countries("planted: 25 countries", Countries(25, slope=0.045, few=False)),
    improvement("equal models", 0.0),
)
