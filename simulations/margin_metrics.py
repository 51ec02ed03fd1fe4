"""Accuracy gap and range, demographic parity, equalized odds: null band, p, interval and mde.

Tables of truth x group x prediction through the kernels of the public metrics. A fair model answers every
group alike; a planted gap turns a share of one group's right answers into the first label.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from _common import REPLICATES, Clock, Floats, Ints, aimed, arguments, ends, prepared, show, unwrap
from _common import mean as average
from _common import share as percent

from evenhand import metrics
from evenhand.core.results import Finding
from evenhand.metrics.building import hull_interval, resampled_p
from evenhand.metrics.prepared import LEVEL, Prepared
from evenhand.stats.confusion import Confusion, summaries
from evenhand.stats.resampling import Streams, cellwise_bootstrap, cellwise_null

NAMES = ("accuracy_gap", "accuracy_range", "demographic_parity", "equalized_odds")
KEYS = dict(
    zip(
        NAMES,
        ("accuracy_gap", "accuracy_range", "demographic_parity/max", "equalized_odds/max/max"),
        strict=True,
    )
)
ALPHA, AIM = 0.05, 0.93
PUBLIC = 200  # models whose mde is that of the public metric


@dataclass(frozen=True)
class Design:
    """Classes with the same number of rows in every group; labels are the classes."""

    groups: int
    classes: int
    rows: int
    accuracy: float = 0.8

    @property
    def words(self) -> str:
        """As the tables print it."""
        return (
            f"{self.groups} groups, {self.classes} classes, {self.cells * self.groups * self.classes:,} rows"
        )

    @property
    def cells(self) -> int:
        """Rows of one class in one group."""
        return self.rows // (self.groups * self.classes)

    def population(self, gap: float = 0.0) -> Floats:
        """Answers by class, group and label; ``gap`` of the first group's answers become the first label."""
        wrong = (1 - self.accuracy) / (self.classes - 1)
        table = np.full((self.classes, self.groups, self.classes), wrong)
        for label in range(self.classes):
            table[label, :, label] = self.accuracy
            table[label, 0, label] -= gap
            table[label, 0, 0] += gap
        return table

    def truths(self, gap: float) -> dict[str, float]:
        """The metrics of the population."""
        table = self.population(gap).transpose(1, 0, 2)
        hits = np.stack([table[:, label, label] for label in range(self.classes)], axis=1)
        confusion = Confusion(np.ones((self.groups, self.classes)), hits, table.sum(axis=1))
        values = summaries(confusion)
        return {name: float(values[key]) for name, key in KEYS.items()}

    def draw(self, rng: np.random.Generator, gap: float = 0.0) -> Ints:
        """Tables of one model, shape (classes, groups, labels)."""
        return np.asarray(rng.multinomial(self.cells, self.population(gap)), dtype=np.int64)


DESIGNS = (Design(2, 2, 400), Design(2, 10, 2000), Design(6, 5, 3000), Design(14, 3, 4200))
GAPS = (0.05, 0.15)


Scalars = dict[str, Floats]


def collected(chunks: Iterator[Confusion]) -> Scalars:
    """Replicates of every metric, shape (replicates,) each."""
    parts = [summaries(chunk) for chunk in chunks]
    return {name: np.concatenate([part[key] for part in parts]) for name, key in KEYS.items()}


def nulls(evidence: Prepared, replicates: int, streams: Streams) -> Scalars:
    """Replicates with groups exchanged within each class."""
    return collected(cellwise_null(evidence.classes, evidence.confusion.support, replicates, streams))


def bootstraps(evidence: Prepared, replicates: int, streams: Streams) -> Scalars:
    """Replicates with rows resampled within class and group."""
    return collected(cellwise_bootstrap(evidence.classes, evidence.confusion.support, replicates, streams))


def values(evidence: Prepared) -> dict[str, float]:
    """The metrics of one model."""
    found = summaries(evidence.confusion)
    return {name: float(found[key]) for name, key in KEYS.items()}


def hull(draws: Floats, value: float) -> tuple[float, float]:
    """The percentile and the basic interval together, cut to [0, 1], as the metrics report it."""
    low, high = ends(draws)
    return max(0.0, min(low, 2 * value - high)), min(1.0, max(high, 2 * value - low))


@dataclass
class Tally:
    """What was found for one metric, one entry per model."""

    value: list[float]
    inside: list[bool]
    rejected: list[bool]
    held: list[bool]


def simulate(
    design: Design,
    gap: float,
    models: int,
    seed: int,
    *,
    names: tuple[str, ...] = NAMES,
    interval: bool = False,
) -> dict[str, Tally]:
    """Value, null band and p of simulated models, and on request whether the interval holds the truth."""
    rng = np.random.default_rng([seed, design.groups, design.classes, round(1e6 * gap)])
    tallies = {name: Tally([], [], [], []) for name in names}
    truths = design.truths(gap)
    for _ in range(models):
        evidence = prepared(design.draw(rng, gap), seed)
        value = values(evidence)
        null = nulls(evidence, REPLICATES, lambda key: rng)
        boot = bootstraps(evidence, REPLICATES, lambda key: rng) if interval else {}
        for name, tally in tallies.items():
            tally.value.append(value[name])
            low, high = ends(null[name])
            tally.inside.append(bool(low - 1e-12 <= value[name] <= high + 1e-12))
            p = resampled_p(null[name], value[name], "high")
            tally.rejected.append(unwrap(p) <= ALPHA)
            if interval:
                low, high = hull(boot[name], value[name])
                tally.held.append(low - 1e-12 <= truths[name] <= high + 1e-12)
    return tallies


def public(tables: Ints, seed: int) -> dict[str, Finding]:
    """What the public metrics report."""
    evidence = prepared(tables, seed)
    return {name: getattr(metrics, name)(evidence, by="group", seed=seed) for name in NAMES}


def detectable(design: Design, models: int, seed: int) -> dict[str, float]:
    """The mean mde that fair models are given."""
    rng = np.random.default_rng([seed, design.groups, design.classes])
    found = [public(design.draw(rng), seed + index) for index in range(models)]
    return {name: float(np.mean([unwrap(entry[name].mde) for entry in found])) for name in NAMES}


def fair(design: Design, mde: dict[str, float], models: int, seed: int) -> list[list[str]]:
    """Null band and p of fair models."""
    return [
        [
            design.words,
            name,
            average(tally.value),
            percent(tally.inside),
            percent(tally.rejected),
            f"{mde[name]:.3f}",
        ]
        for name, tally in simulate(design, 0.0, models, seed).items()
    ]


def planted(design: Design, gap: float, models: int, seed: int) -> list[list[str]]:
    """Value, coverage and rejection where one group is less accurate."""
    truths = design.truths(gap)
    return [
        [
            design.words,
            name,
            f"{truths[name]:.3f}",
            average(tally.value),
            aimed(tally.held, AIM),
            percent(tally.rejected),
        ]
        for name, tally in simulate(design, gap, models, seed, interval=True).items()
    ]


def gap_for(design: Design, name: str, value: float) -> float:
    """The planted gap that gives a metric the value, by bisection."""
    low, high = 0.0, design.accuracy
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if design.truths(middle)[name] < value else (low, middle)
    return low


def power(design: Design, mde: dict[str, float], models: int, seed: int) -> list[list[str]]:
    """How often a true value equal to the mde is found."""
    lines = []
    for name, value in mde.items():
        gap = gap_for(design, name, value)
        found = simulate(design, gap, models, seed + 1, names=(name,))[name]
        lines.append([design.words, name, f"{value:.3f}", f"{gap:.3f}", percent(found.rejected)])
    return lines


def product_stream(evidence: Prepared, purpose: str, key: Any) -> np.random.Generator:
    """The stream that the metrics use for one class and chunk of replicates."""
    label, chunk = key
    return evidence.stream(purpose, f"{label:04d}/{chunk}")


def check_public(seed: int) -> None:
    """The kernels used here, on the metrics' streams and 999 replicates, give what the metrics report."""
    rng = np.random.default_rng(seed)
    for design in DESIGNS:
        tables = design.draw(rng, GAPS[0])
        findings, evidence = public(tables, seed), prepared(tables, seed)
        value = values(evidence)
        null = nulls(evidence, 999, partial(product_stream, evidence, "null"))
        boot = bootstraps(evidence, 999, partial(product_stream, evidence, "bootstrap"))
        for name, finding in findings.items():
            interval = hull_interval(boot[name], value[name], level=LEVEL, method="", seed=seed)
            if finding.interval is None or finding.null is None or interval is None:
                raise SystemExit(f"{name} has no interval or null band")
            reported = [finding.value, finding.p_value, finding.null.low, finding.null.high]
            reported += [finding.interval.low, finding.interval.high]
            ours = [value[name], resampled_p(null[name], value[name], "high")]
            ours += [*np.quantile(null[name], [0.025, 0.975]), interval.low, interval.high]
            np.testing.assert_allclose(np.array(reported, float), np.array(ours, float), rtol=0, atol=1e-12)
    print(f"The public metrics and the kernels agree to 1e-12 on {len(DESIGNS)} models.")


def main() -> None:
    """Check, then print the three tables."""
    options = arguments(__doc__ or "", 5_000)
    models, seed = options.simulations, options.seed
    fair_lines, planted_lines, power_lines = [], [], []
    with Clock():
        check_public(seed)
        for design in DESIGNS:
            mde = detectable(design, min(PUBLIC, models), seed)
            fair_lines += fair(design, mde, models, seed)
            for gap in GAPS:
                planted_lines += planted(design, gap, models, seed)
            power_lines += power(design, mde, models, seed)
        header = ["model", "metric", "mean value", "inside the null band, %", "p <= .05, %", "mean mde"]
        show(f"Fair models, {models:,} of each", header, fair_lines)
        header = ["model", "metric", "true value", "mean value", "interval holds it, %", "p <= .05, %"]
        show(f"Planted gaps of .05 and .15, {models:,} models of each", header, planted_lines)
        header = ["model", "metric", "true value = mde", "planted gap", "found, % (aim 80)"]
        show(f"Power at the mde, {models:,} models of each", header, power_lines)


if __name__ == "__main__":
    main()
