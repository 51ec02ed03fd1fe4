"""Accuracy gap and range, demographic parity, equalized odds: null band, p, interval and mde.

Everything through the public functions on tables of truth x group x prediction. A fair model answers every
group alike; a planted gap turns a share of one group's right answers into the first label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from _common import Clock, Floats, Ints, arguments, prepared, sample, show, unwrap
from _common import mean as average
from _common import share as percent

from evenhand import metrics
from evenhand.core.results import Finding
from evenhand.stats.confusion import Confusion, summaries

NAMES = ("accuracy_gap", "accuracy_range", "demographic_parity", "equalized_odds")
KEYS = ("accuracy_gap", "accuracy_range", "demographic_parity/max", "equalized_odds/max/max")
ALPHA = 0.05


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
        return {name: float(values[key]) for name, key in zip(NAMES, KEYS, strict=True)}

    def draw(self, rng: np.random.Generator, gap: float = 0.0) -> Ints:
        """Tables of one model, shape (classes, groups, labels)."""
        sizes = np.full(self.groups, self.cells)
        return np.concatenate([sample(rng, answers, sizes, 1) for answers in self.population(gap)])


DESIGNS = (Design(2, 2, 400), Design(2, 10, 2000), Design(6, 5, 3000))


def findings(
    design: Design, gap: float, seed: int, index: int, names: tuple[str, ...] = NAMES
) -> dict[str, Finding]:
    """Metrics of one sampled model."""
    rng = np.random.default_rng([seed, design.groups, design.classes, round(1e6 * gap), index])
    evidence = prepared(design.draw(rng, gap), seed + index)
    return {name: getattr(metrics, name)(evidence, by="group", seed=seed + index) for name in names}


def inside(finding: Finding) -> bool:
    """Whether the value lies in its null band."""
    null = finding.null
    return null is not None and null.low - 1e-12 <= unwrap(finding.value) <= null.high + 1e-12


def holds(finding: Finding, truth: float) -> bool:
    """Whether the interval holds the truth."""
    interval = finding.interval
    return interval is not None and interval.low - 1e-12 <= truth <= interval.high + 1e-12


def rejected(finding: Finding) -> bool:
    """Whether p is at most .05."""
    return finding.p_value is not None and finding.p_value <= ALPHA


def fair(design: Design, models: int, seed: int) -> tuple[list[list[str]], dict[str, float]]:
    """Null band, p and mde of fair models, and the mean mde of each metric."""
    found = [findings(design, 0.0, seed, index) for index in range(models)]
    lines, detectable = [], {}
    for name in NAMES:
        ours = [entry[name] for entry in found]
        values = average([unwrap(finding.value) for finding in ours])
        detectable[name] = float(np.mean([unwrap(finding.mde) for finding in ours]))
        shares = [percent([test(finding) for finding in ours]) for test in (inside, rejected)]
        lines.append([design.words, name, values, *shares, f"{detectable[name]:.3f}"])
    return lines, detectable


def planted(design: Design, gap: float, models: int, seed: int) -> list[list[str]]:
    """Value, coverage and rejection where one group is less accurate."""
    truths = design.truths(gap)
    found = [findings(design, gap, seed, index) for index in range(models)]
    lines = []
    for name in NAMES:
        ours = [entry[name] for entry in found]
        values = average([unwrap(finding.value) for finding in ours])
        held = percent([holds(finding, truths[name]) for finding in ours])
        lines.append(
            [design.words, name, f"{truths[name]:.3f}", values, held, percent(list(map(rejected, ours)))]
        )
    return lines


def gap_for(design: Design, name: str, value: float) -> float:
    """The planted gap that gives a metric the value, by bisection."""
    low, high = 0.0, design.accuracy
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if design.truths(middle)[name] < value else (low, middle)
    return low


def power(design: Design, detectable: dict[str, float], models: int, seed: int) -> list[list[str]]:
    """How often a true value equal to the mde is found."""
    lines = []
    for name, value in detectable.items():
        gap = gap_for(design, name, value)
        found = [findings(design, gap, seed + 1, index, (name,))[name] for index in range(models)]
        lines.append([design.words, name, f"{value:.3f}", f"{gap:.3f}", percent(list(map(rejected, found)))])
    return lines


def main() -> None:
    """Print the three tables."""
    options = arguments(__doc__ or "", 300)
    models, seed, fewer = options.simulations, options.seed, max(2, options.simulations // 4)
    fair_lines, planted_lines, power_lines = [], [], []
    with Clock():
        for design in DESIGNS:
            lines, detectable = fair(design, models, seed)
            fair_lines += lines
            for gap in (0.05, 0.15):
                planted_lines += planted(design, gap, fewer, seed)
            power_lines += power(design, detectable, fewer, seed)
        header = ["model", "metric", "mean value", "inside the null band, %", "p <= .05, %", "mean mde"]
        show(f"Fair models, {models:,} of each", header, fair_lines)
        header = ["model", "metric", "true value", "mean value", "interval holds it, %", "p <= .05, %"]
        show(f"Planted gaps of .05 and .15, {fewer:,} models of each", header, planted_lines)
        header = ["model", "metric", "true value = mde", "planted gap", "found, % (aim 80)"]
        show(f"Power at the mde, {fewer:,} models of each", header, power_lines)


if __name__ == "__main__":
    main()
