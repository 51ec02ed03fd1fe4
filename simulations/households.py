"""Hit rates of households: does the interval hold a planted gap, and what if households are ignored?

Households of Dollar Street: 62 with low, 175 with medium and 50 with high income, each with 1 to 200 images.
Households differ in how often their things are recognised (the intra-household correlation, ICC).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from _common import REPLICATES, Clock, Floats, Ints, arguments, ends, share, show

from evenhand import metrics
from evenhand.core.seeds import stream
from evenhand.evidence.household_hits import BUCKETS, HouseholdHits
from evenhand.stats.clustered import (
    Cells,
    Standing,
    difference_interval,
    exchanged_means,
    ratio_interval,
    resampled_means,
)
from evenhand.stats.correlation import pearson
from evenhand.stats.correlation_intervals import fisher_interval, spearman

LOW, HIGH = 0.93, 0.97
SIZES = (62, 175, 50)
FEW = 200  # findings, which take long
EXCHANGES = 399  # of a fair model, where not the product's 9,999


@dataclass(frozen=True)
class Design:
    """How households are drawn.

    Attributes:
        rates: Mean hit rate of households with low, medium and high income.
        icc: How alike the images of a household are.
        images: How many images households have.
        informative: How much better households with many images are recognised, and others worse.
        sizes: Households of each income.
    """

    rates: tuple[float, float, float] = (0.6, 0.7, 0.8)
    icc: float = 0.1
    images: str = "log-uniform 1-200"
    informative: float = 0.0
    sizes: tuple[int, int, int] = SIZES

    def drawn(self, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
        """Hits, images and income of each household of one sample."""
        group = np.repeat(np.arange(3), self.sizes)
        n, many = COUNTS[self.images](rng, group)
        mean = np.array(self.rates)[group] + np.where(many, self.informative, -self.informative)
        if self.icc:
            scale = 1 / self.icc - 1
            mean = rng.beta(mean * scale, (1 - mean) * scale)
        return rng.binomial(n, mean), n, group

    def image_gap(self, rng: np.random.Generator) -> float:
        """High minus low income where each image counts once."""
        if not self.informative:
            return self.rates[2] - self.rates[0]
        found = []
        for code in (2, 0):
            n, many = COUNTS[self.images](rng, np.full(1_000_000, code))
            mean = self.rates[code] + np.where(many, self.informative, -self.informative)
            found.append(float((n * mean).sum() / n.sum()))
        return found[0] - found[1]


def _log_uniform(rng: np.random.Generator, group: Ints) -> tuple[Ints, np.ndarray]:
    n = np.exp(rng.uniform(0, np.log(201), group.size)).astype(np.int64)
    return np.clip(n, 1, 200), n > 14


def _geometric(rng: np.random.Generator, group: Ints) -> tuple[Ints, np.ndarray]:
    n = np.minimum(rng.geometric(1 / 55, group.size), 200)
    return n, n > 38


def _one(rng: np.random.Generator, group: Ints) -> tuple[Ints, np.ndarray]:
    return np.ones(group.size, dtype=np.int64), rng.random(group.size) < 0.5


def _poor_have_few(rng: np.random.Generator, group: Ints) -> tuple[Ints, np.ndarray]:
    n, many = _log_uniform(rng, group)
    return np.where(group == 0, rng.integers(1, 6, group.size), n), many


COUNTS: dict[str, Callable[[np.random.Generator, Ints], tuple[Ints, np.ndarray]]] = {
    "log-uniform 1-200": _log_uniform,
    "geometric, mean 55": _geometric,
    "one": _one,
    "low 1-5, else log-uniform": _poor_have_few,
}


def cells_of(hits: Ints, n: Ints, group: Ints, weighting: str = "household") -> Cells:
    """As the metrics make them."""
    weights = np.ones(n.size) if weighting == "household" else n.astype(np.float64)
    return Cells(hits / n * weights, weights, n.astype(np.float64), np.arange(n.size), group, 3)


def by_image(hits: Ints, n: Ints, group: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Gaps where images are resampled as if none had a household: of household means, and of images."""
    of_means, of_images = [], []
    for code in (2, 0):
        inside = group == code
        size, total = n[inside], int(n[inside].sum())
        times = rng.multinomial(total, size / total, size=REPLICATES)
        right = rng.binomial(times, hits[inside] / size)
        rates = np.divide(right, times, out=np.full(times.shape, np.nan), where=times > 0)
        of_means.append(np.nanmean(rates, axis=1))
        of_images.append(right.sum(axis=1) / total)
    return of_means[0] - of_means[1], of_images[0] - of_images[1]


def held(interval: tuple[float, float] | Floats | None, truth: float) -> bool:
    """Whether an interval holds the truth."""
    return interval is not None and bool(interval[0] <= truth <= interval[1])


def planted(simulations: int, seed: int) -> None:
    """How often the interval of high minus low income holds a gap of 20 points."""
    designs = [
        *(Design(icc=icc) for icc in (0.0, 0.05, 0.1, 0.3)),
        Design(rates=(0.75, 0.85, 0.95)),
        Design(rates=(0.3, 0.4, 0.5)),
        Design(images="geometric, mean 55"),
        Design(images="one"),
        Design(images="low 1-5, else log-uniform"),
        Design(informative=0.1),
    ]
    rows: list[list[str | int | float]] = []
    for design in designs:
        rng = stream(seed, "planted", design)
        image_truth = design.image_gap(rng)
        found = np.array([_by_household(design, rng, image_truth) for _ in range(simulations)])
        some = [_by_resampling(design, rng, image_truth) for _ in range(max(simulations // 5, FEW))]
        means, pooled = _aimed(found[:, 0]), _aimed(found[:, 1])
        whole, images, naive = map(_aimed, np.array(some).T)
        rates = " / ".join(f"{rate:g}" for rate in (design.rates[0], design.rates[2]))
        told = f"{design.images}{', many are better' if design.informative else ''}"
        rows.append([rates, design.icc, told, means, share(found[:, 2]), whole, images, pooled, naive])
    header = [
        "low / high", "ICC", "images", "by household (product), %", "gap found, %",
        "bootstrap of households, %", "bootstrap of images, %",
        "each image once: by household (product), %", "each image once: bootstrap of images, %",
    ]  # fmt: skip
    title = (
        f"{simulations:,} samples a line (bootstraps: {max(simulations // 5, FEW):,}): interval holds the gap"
    )
    show(f"{title} of 20 points (aim 93-97 %)", header, rows)


def _by_household(design: Design, rng: np.random.Generator, image_truth: float) -> list[bool]:
    truth = design.rates[2] - design.rates[0]
    drawn = design.drawn(rng)
    means, weighted = cells_of(*drawn).means(), cells_of(*drawn, "image").means()
    product = difference_interval(means[2], means[0])
    pooled = difference_interval(weighted[2], weighted[0])
    return [held(product, truth), held(pooled, image_truth), product is not None and product[0] > 0]


def _by_resampling(design: Design, rng: np.random.Generator, image_truth: float) -> list[bool]:
    truth = design.rates[2] - design.rates[0]
    drawn = design.drawn(rng)
    whole = resampled_means(cells_of(*drawn).only(np.array([2, 0])), rng, REPLICATES)
    of_means, of_images = by_image(*drawn, rng)
    intervals = (ends(whole[:, 0] - whole[:, 1]), ends(of_means), ends(of_images))
    truths = (truth, truth, image_truth)
    return [held(interval, value) for interval, value in zip(intervals, truths, strict=True)]


def rates(simulations: int, seed: int) -> None:
    """How often the interval of a group's rate holds it."""
    rows: list[list[str | int | float]] = []
    for images in COUNTS:
        for icc in (0.0, 0.1, 0.3):
            line: list[str | int | float] = [images, icc]
            for levels in ((0.6, 0.7, 0.8), (0.85, 0.9, 0.95)):
                design = Design(rates=levels, icc=icc, images=images)
                rng = stream(seed, "rates", design)
                found = []
                for _ in range(simulations):
                    means = cells_of(*design.drawn(rng)).means()
                    found.append([held(m.interval(), p) for m, p in zip(means, levels, strict=True)])
                line += [_aimed(column) for column in np.array(found).T]
            rows.append(line)
    header = ["images", "ICC", *(f"{p:g}, %" for p in (0.6, 0.7, 0.8, 0.85, 0.9, 0.95))]
    show(f"{simulations:,} samples a line: interval of a rate holds it (aim 93-97 %)", header, rows)


def fair(simulations: int, seed: int) -> None:
    """How often p of a fair model is small, though groups have unlike numbers of images."""
    rows: list[list[str | int | float]] = []
    for images in COUNTS:
        for icc in (0.02, 0.3):
            design = Design(rates=(0.7, 0.7, 0.7), icc=icc, images=images)
            rng = stream(seed, "fair", design)
            found = np.array([_one_fair(design, rng) for _ in range(simulations)])
            rows.append([images, icc, *(share(found[:, column]) for column in range(3))])
    header = [
        "images",
        "ICC",
        "high - low, p <= .05, %",
        "low against the rest, p <= .05, %",
        "extremes, p <= .05, %",
    ]
    show(f"{simulations:,} fair models a line", header, rows)


def _one_fair(design: Design, rng: np.random.Generator) -> list[bool]:
    cells = cells_of(*design.drawn(rng))
    pair = cells.only(np.array([2, 0]))
    draws = exchanged_means(pair, rng, EXCHANGES).apart[:, 0]
    p = (1 + (np.abs(draws) >= abs(Standing.of(pair).t[0])).sum()) / (1 + draws.size)
    moved, standing = exchanged_means(cells, rng, EXCHANGES), Standing.of(cells)
    rest = (1 + (np.abs(moved.apart[:, 0]) >= abs(standing.t[0])).sum()) / (1 + len(moved.apart))
    value = np.ptp([mean.value for mean in cells.means()])
    spread = (1 + (np.ptp(standing.nulls(cells, moved), axis=1) >= value).sum()) / (1 + len(moved.means))
    return [p <= 0.05, rest <= 0.05, spread <= 0.05]


CROSSED = (38, 19, 5, 40, 70, 45, 20, 4, 12, 2, 32)
"""Households by income and region, about as the paper has them; the smallest group has two."""

TINY = (2, 2, 2, 2, 2, 2)


def crossed(simulations: int, seed: int) -> None:
    """How often p is small: p of the gap and of the worst group over many groups, some of two households."""
    uneven = (-0.4, -0.4, 0, 0, 0, 0, 0, 0.1, 0.1, 0.1, 0.1)
    designs = [
        *((CROSSED, level, icc, np.zeros(11)) for level, icc in ((0.7, 0.1), (0.9, 0.02), (0.7, 0.3))),
        (TINY, 0.7, 0.1, np.zeros(6)),
        (TINY, 0.9, 0.02, np.zeros(6)),
        (CROSSED, 0.8, 0.1, np.array(uneven)),
    ]
    rows: list[list[str | int | float]] = []
    for sizes, level, icc, apart in designs:
        rng = stream(seed, "crossed", sizes, level, icc, float(np.ptp(apart)))
        group = np.repeat(np.arange(len(sizes)), sizes)
        found = [_one_crossed(group, level + apart, icc, rng) for _ in range(simulations)]
        column = np.array(found).T
        told = "none" if not apart.any() else "two groups 40 points lower, four 10 higher"
        ends_ = f"{column[3].mean():.2f} ({column[3].max():.2f})"
        kinds = f"{len(sizes)}, of {min(sizes)} to {max(sizes)} households"
        rows.append([kinds, level, icc, told, *(share(part == 1) for part in column[:3]), ends_])
    header = [
        "groups", "rate", "ICC", "difference", "gap p <= .05, %", "worst p <= .05, %",
        "gap, households exchanged plainly, %", "null band of the gap ends at (largest)",
    ]  # fmt: skip
    show(f"{simulations:,} models a line: many groups", header, rows)


def _one_crossed(group: Ints, rates: Floats, icc: float, rng: np.random.Generator) -> list[float]:
    n = np.clip(np.exp(rng.uniform(0, np.log(151), group.size)), 1, 150).astype(np.int64)
    scale = 1 / icc - 1
    hits = rng.binomial(n, rng.beta(rates[group] * scale, (1 - rates[group]) * scale))
    ones = np.ones(n.size)
    cells = Cells(hits / n, ones, n.astype(np.float64), np.arange(n.size), group, int(group.max()) + 1)
    moved, found = exchanged_means(cells, rng, EXCHANGES), np.array([mean.value for mean in cells.means()])
    nulls = Standing.of(cells).nulls(cells, moved)
    gaps = np.ptp(nulls, axis=1)
    above = (gaps >= np.ptp(found) - 1e-9, nulls.min(axis=1) <= found.min() + 1e-9)
    plain = np.ptp(moved.means, axis=1) >= np.ptp(found) - 1e-9
    p_values = [(1 + far.sum()) / (1 + EXCHANGES) for far in (*above, plain)]
    return [*(float(p <= 0.05) for p in p_values), float(np.quantile(gaps, 0.975))]


def evidence_of(hits: Ints, n: Ints, group: Ints) -> HouseholdHits:
    """The same as a user would bring it."""
    household = np.repeat(np.arange(n.size), n)
    place = np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
    table = pl.DataFrame(
        {
            "sample": np.arange(n.sum()).astype(str),
            "household": household.astype(str),
            "hit": (place < np.repeat(hits, n)).astype(np.float64),
            "income_bucket": np.array(BUCKETS)[group][household],
        }
    )
    return HouseholdHits.from_hits(table)


def reported(simulations: int, seed: int) -> None:
    """The findings themselves, as a user gets them, so that kernels and product cannot drift apart."""
    designs = [
        Design(rates=(0.7, 0.7, 0.7)),
        Design(),
        Design(rates=(0.6, 0.8, 0.8), sizes=(20, 20, 20)),
    ]
    rows: list[list[str | int | float]] = []
    for design in designs:
        rng = stream(seed, "reported", design)
        gap, worst = max(design.rates) - min(design.rates), min(design.rates)
        found = []
        for _ in range(simulations):
            hits = evidence_of(*design.drawn(rng))
            findings = [
                metrics.household_hit_gap(hits),
                metrics.household_hit_gap(hits, groups="extremes"),
                metrics.worst_household_hit_rate(hits),
            ]
            spans = [(span.low, span.high) for told in findings if (span := told.interval)]
            truths = (design.rates[2] - design.rates[0], gap, worst)
            line = [held(span, truth) for span, truth in zip(spans, truths, strict=True)]
            found.append(
                [*line, *(finding.p_value is not None and finding.p_value <= 0.05 for finding in findings)]
            )
        columns = np.array(found).T
        told = " / ".join(f"{rate:g}" for rate in design.rates)
        rows.append([told, sum(design.sizes), *map(_aimed, columns[:3]), *map(share, columns[3:])])
    header = [
        "rates", "households", "gap, %", "extremes, %", "worst group, %", "gap p <= .05, %",
        "extremes p <= .05, %", "worst p <= .05, %",
    ]  # fmt: skip
    show(f"{simulations:,} findings a line: interval holds the truth (aim 93-97 %)", header, rows)


def beside_others(simulations: int, seed: int) -> None:
    """Intervals of the relative improvement, and of the correlation over countries."""
    rows: list[list[str | int | float]] = []
    for icc in (0.05, 0.3):
        design = Design(rates=(0.6, 0.7, 0.8), icc=icc)
        rng = stream(seed, "improvement", design)
        found = []
        for _ in range(simulations):
            hits, n, group = design.drawn(rng)
            chance = np.clip(hits / n * 0.8 + 0.05, 0, 1)  # the reference knows much the same households
            reference = rng.binomial(n, chance)
            first, second = cells_of(hits, n, group).means(), cells_of(reference, n, group).means()
            true = np.array(design.rates) / (np.array(design.rates) * 0.8 + 0.05)
            found.append([held(ratio_interval(a, b), t) for a, b, t in zip(first, second, true, strict=True)])
        rows.append([icc, *(_aimed(column) for column in np.array(found).T)])
    title = f"{simulations:,} samples a line: interval of the improvement holds it (aim 93-97 %)"
    show(title, ["ICC", "low, %", "medium, %", "high, %"], rows)
    rows = []
    for countries in (10, 54):
        for rho in (0.0, 0.5, 0.8):
            rng = stream(seed, "countries", countries, rho)
            x = rng.normal(size=(simulations, countries))
            y = rho * x + np.sqrt(1 - rho**2) * rng.normal(size=x.shape)
            ranked = 6 / np.pi * np.arcsin(rho / 2)
            lines = [
                (
                    held(fisher_interval(pearson(a, b).value, countries), rho),
                    held(fisher_interval(spearman(a, b).value, countries, ranks=True), ranked),
                )
                for a, b in zip(x, y, strict=True)
            ]
            rows.append([countries, rho, *(_aimed(column) for column in np.array(lines).T)])
    title = f"{simulations:,} samples a line: interval of the correlation holds it (aim 93-97 %)"
    show(title, ["countries", "true r", "Pearson, %", "Spearman, %"], rows)


def _aimed(hits: np.ndarray) -> str:
    rounded = round(float(np.mean(hits)), 3)
    return share(hits) if LOW <= rounded <= HIGH else f"**{share(hits)}**"


def main() -> None:
    """Print all tables."""
    options = arguments(__doc__ or "", 5_000)
    with Clock():
        planted(options.simulations, options.seed)
        rates(options.simulations, options.seed)
        fair(max(options.simulations // 10, FEW), options.seed)
        crossed(max(options.simulations // 10, FEW), options.seed)
        reported(min(options.simulations, FEW), options.seed)
        beside_others(options.simulations, options.seed)


if __name__ == "__main__":
    main()
