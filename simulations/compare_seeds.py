"""Comparing recipes over several seeds: false alarms, coverage of differences, of means and of spreads.

Two recipes are trained with several seeds each, and all runs answer one sample. A run's accuracy is that of
its recipe, and a part of its seed; some samples are hard for every run and some for every run of a recipe,
so that runs err together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt
from _common import REPLICATES, Clock, arguments, show
from scipy import special, stats

from evenhand.core.random_streams import stream
from evenhand.evidence.derivation.paired import Aligned
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.metrics.differences.seeds import OverSeeds, SeedGroup
from evenhand.stats.contingency import model_summaries
from evenhand.stats.paired import seeds as between_seeds

Floats = npt.NDArray[np.float64]

MEASURES = ("accuracy", "worst_group_accuracy", "accuracy_gap", "cramers_v_mean")
TITLES = ("accuracy", "WG", "gap", "mean V")
WAYS = ("Welch", "seeds alone", "by seed", "one run each")


@dataclass(frozen=True)
class Design:
    """What varies.

    Attributes:
        seeds: Of the two recipes.
        spread: Standard deviation of accuracy between seeds.
        rows: Of the sample.
        gain: Of the first recipe in accuracy.
        together: Share of what makes a sample hard that seeds of a recipe have in common; half of it is
            that of both recipes.
    """

    seeds: tuple[int, int]
    spread: float
    rows: int = 1000
    gain: float = 0.0
    together: float = 0.5

    @property
    def table_cells(self) -> list[str]:
        """For a line of a table."""
        return [
            f"{self.seeds[0]} and {self.seeds[1]}",
            f"{self.spread:g}",
            f"{self.rows:,}",
            f"{self.gain:g}",
        ]


@dataclass
class Hits:
    """What was counted, by measure."""

    held: dict[str, list[bool]] = field(default_factory=dict)

    def add(self, key: str, hit: bool | None) -> None:
        """Count once; nothing where there is no answer."""
        if hit is not None:
            self.held.setdefault(key, []).append(hit)

    def share(self, key: str) -> str:
        """In percent with its Monte-Carlo standard error."""
        hits = np.asarray(self.held.get(key, []), dtype=float)
        if not hits.size:
            return ""
        return f"{100 * hits.mean():.1f} ± {100 * np.sqrt(hits.mean() * (1 - hits.mean()) / hits.size):.1f}"


def answered(rng: np.random.Generator, design: Design) -> tuple[ComparedCounts, Floats]:
    """Answers of all runs to one sample of two classes and two groups, and each run's true accuracy."""
    runs = sum(design.seeds)
    recipe = np.r_[np.full(design.seeds[0], 0.7 + design.gain), np.full(design.seeds[1], 0.7)]
    accuracy = np.clip(recipe + design.spread * rng.standard_normal(runs), 0.05, 0.95)
    of_all, of_first, of_second = rng.standard_normal((3, design.rows))
    hard = np.repeat([of_all + of_first, of_all + of_second], design.seeds, axis=0) / np.sqrt(2)
    own = rng.standard_normal((runs, design.rows))
    ease = np.sqrt(design.together) * hard + np.sqrt(1 - design.together) * own
    right = ease < special.ndtri(accuracy)[:, None]
    truth, group = (rng.permutation(np.arange(design.rows) % 2) for _ in range(2))
    said = np.where(right, truth, 1 - truth)
    cells, n = np.unique(np.vstack([truth, group, said]), axis=1, return_counts=True)
    aligned = Aligned(
        ("group",), ("0", "1"), (("0",), ("1",)), cells[0], cells[1], cells[2:], n.astype(float), ()
    )
    return ComparedCounts.over(aligned, [str(run) for run in range(runs)]), accuracy


def over_seeds(compared: ComparedCounts, seed: int, run: int) -> OverSeeds:
    """As a comparison makes it, with fewer replicates."""
    draws = model_summaries.replicated(
        compared.classes, compared.sizes, REPLICATES,
        lambda place, start: stream(seed, "seeds", run, place, start),
    )  # fmt: skip
    values = {metric: drawn[:, 0] for metric, drawn in compared.observed.items()}
    return OverSeeds(compared, values, draws)


def groups_of(design: Design, *, told: bool) -> tuple[SeedGroup, SeedGroup]:
    """The two recipes; by seed if their seeds are told."""
    a, b = design.seeds
    names = tuple(map(str, range(max(a, b))))
    return (
        SeedGroup("a", tuple(range(a)), names[:a], told),
        SeedGroup("b", tuple(range(a, a + b)), names[:b], told),
    )


def simulated(design: Design, simulations: int, seed: int) -> tuple[Hits, Hits, Hits]:
    """Called different; intervals that hold the planted difference; means and spreads that are held."""
    called, covered, single = Hits(), Hits(), Hits()
    for run in range(simulations):
        compared, _ = answered(stream(seed, "answers", str(design), run), design)
        found = over_seeds(compared, seed, run)
        for metric in MEASURES:
            truth = {"accuracy": design.gain, "worst_group_accuracy": design.gain}.get(metric, 0.0)
            for told in (False, True):
                first, second = groups_of(design, told=told)
                one = found.difference(metric, first, second)
                way = "by seed" if told and one.details.get("paired_by") else "Welch"
                if one.p_value is not None and one.interval is not None and (way == "by seed") == told:
                    called.add(f"{metric} {way}", one.p_value <= 0.05)
                    covered.add(f"{metric} {way}", one.interval.low <= truth <= one.interval.high)
            alone(called, found, metric, design)
        first, _ = groups_of(design, told=False)
        if first.several:
            middle = found.mean("accuracy", first)
            single.add("mean", middle.low <= 0.7 + design.gain <= middle.high)
            values = found.values["accuracy"][list(first.places)]
            spread = between_seeds.spread(values)
            single.add("spread", spread.low <= expected_spread(design) <= spread.high)
    return called, covered, single


@cache
def expected_spread(design: Design) -> float:
    """Of seeds on one sample: that of their accuracies, and what samples do to one seed only."""
    p = 0.7 + design.gain
    at = float(special.ndtri(p))
    both = stats.multivariate_normal([0, 0], [[1, design.together], [design.together, 1]]).cdf([at, at])
    return float(np.sqrt(design.spread**2 + (p - both) / design.rows))


def alone(called: Hits, found: OverSeeds, metric: str, design: Design) -> None:
    """The seeds' t without what samples do to all, and one run of each recipe, tested by samples only."""
    a, b = design.seeds
    values, draws = found.values[metric], found.draws[metric]
    if min(a, b) > 1:
        p = stats.ttest_ind(values[:a], values[a:], equal_var=False).pvalue
        called.add(f"{metric} seeds alone", bool(p <= 0.05))
    error = float(np.nanstd(draws[0] - draws[a], ddof=1))
    called.add(f"{metric} one run each", bool(abs(values[0] - values[a]) > 1.96 * error))


def false_alarms(simulations: int, seed: int) -> None:
    """Recipes that are equal."""
    designs = [
        Design((n, n), spread, rows) for n in (3, 5, 10) for spread, rows in ((0.02, 1000), (0.005, 1000))
    ] + [Design((5, 5), 0.0), Design((3, 10), 0.02), Design((1, 5), 0.02), Design((5, 5), 0.02, 200)]
    rows: list[Sequence[str]] = []
    other: list[Sequence[str]] = []
    for design in designs:
        called, covered, single = simulated(design, simulations, seed)
        for way in WAYS:
            told = [called.share(f"{metric} {way}") for metric in MEASURES]
            if any(told):
                rows.append([*design.table_cells[:3], way, *told])
        other.append(
            [
                *design.table_cells[:3],
                *(covered.share(f"{metric} Welch") for metric in MEASURES),
                single.share("mean"),
                single.share("spread"),
            ]
        )
    header = ["seeds", "spread", "rows"]
    show(f"Called different at .05, percent, {simulations:,} simulations", [*header, "by", *TITLES], rows)
    show(
        f"Intervals that hold the truth, percent, {simulations:,} simulations",
        [*header, *(f"difference of {title}" for title in TITLES), "mean of accuracy", "spread of accuracy"],
        other,
    )


def power(simulations: int, seed: int) -> None:
    """A recipe that is right more often."""
    rows: list[Sequence[str]] = []
    for n in (3, 5, 10):
        for gain in (0.02, 0.04):
            design = Design((n, n), 0.02, gain=gain)
            called, covered, _ = simulated(design, simulations, seed)
            told = [called.share(f"accuracy {way}") for way in WAYS]
            rows.append([*design.table_cells, *told, covered.share("accuracy Welch")])
    header = ["seeds", "spread", "rows", "planted", *WAYS, "interval holds"]
    show(f"Accuracy, called different, percent, {simulations:,} simulations", header, rows)


if __name__ == "__main__":
    given = arguments(__doc__ or "", 2000)
    with Clock():
        false_alarms(given.simulations, given.seed)
        power(given.simulations, given.seed)
