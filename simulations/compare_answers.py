"""False alarms, power and coverage of differences between two models in answers that are not predictions.

Two models answer the same samples. They share what makes a sample hard, so that their answers are correlated,
as those of real models are. ``alike``: both have one distribution. ``other level``: the second is better
everywhere by as much, so that a gap between groups is the same although answers are not exchangeable.
``planted``: the gap, rate or effect size differs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _common import REPLICATES, Clock, Floats, arguments, ends, share, show
from scipy import special

from evenhand.core.seeds import stream
from evenhand.stats.exchanged import exchange_p
from evenhand.stats.paired_sums import PairedEffects, PairedSums, Summary, strata_of

Drawn = tuple[PairedSums | PairedEffects, Floats]
Draw = Callable[[np.random.Generator, float, float], Drawn]

SHARED = 0.7  # correlation of what the two models find hard


@dataclass(frozen=True)
class Design:
    """What is drawn: a kernel with the names of its numbers, and true differences for a planted change."""

    title: str
    names: tuple[str, ...]
    draw: Draw
    planted: float
    level: float = 0.0


def pair(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Standard normal hardness for two models, correlated."""
    common = rng.standard_normal(shape)
    own = [rng.standard_normal(shape) for _ in range(2)]
    first, second = (np.sqrt(SHARED) * common + np.sqrt(1 - SHARED) * one for one in own)
    return first, second


def right(hardness: Floats, rate: Floats) -> Floats:
    """Answers that are right at a rate, as 0 and 1."""
    return np.asarray(hardness < special.ndtri(rate), dtype=np.float64)


def grouped(sizes: tuple[int, ...], base: tuple[float, ...]) -> Draw:
    """Samples of some groups: overall rate and largest minus smallest rate."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    members = (group[:, None] == np.arange(len(sizes))).astype(np.float64)
    size = np.concatenate([np.ones((group.size, 1)), members], axis=1)
    columns = tuple(range(1, len(sizes) + 1))
    summaries = (Summary("weights", (0,), (1.0,)), Summary("range", columns))
    shares = np.array(sizes) / sum(sizes)

    def draw(rng: np.random.Generator, planted: float, level: float) -> Drawn:
        rates = np.array([base, base])
        rates[0, 0] += planted
        rates[0] += level
        answers = [right(one, mine[group]) for one, mine in zip(pair(rng, group.shape), rates, strict=True)]
        first, second = (one[:, None] * size for one in answers)
        kernel = PairedSums.of(first, second, size, strata_of(size), summaries)
        means, gaps = rates @ shares, np.ptp(rates, axis=1)
        return kernel, np.array([means[0] - means[1], gaps[0] - gaps[1]])

    return draw


def clustered(groups: int, units: int, rows: int, alike: float) -> Draw:
    """Households of some regions with a few images each, whose answers are alike; each counts once."""
    group = np.repeat(np.arange(groups), units)
    members = (group[:, None] == np.arange(groups)).astype(np.float64)
    size = np.concatenate([np.ones((group.size, 1)), members], axis=1)
    summaries = (Summary("weights", (0,), (1.0,)), Summary("range", tuple(range(1, groups + 1))))

    def draw(rng: np.random.Generator, planted: float, level: float) -> Drawn:
        rates = np.tile(0.75 - 0.1 * np.arange(groups) / max(groups - 1, 1), (2, 1))
        rates[0, 0] += planted
        rates[0] += level
        home, image = pair(rng, group.shape), pair(rng, (group.size, rows))
        both = [
            right(np.sqrt(alike) * home[m][:, None] + np.sqrt(1 - alike) * image[m], rates[m][group][:, None])
            for m in range(2)
        ]
        first, second = (one.mean(axis=1)[:, None] * size for one in both)
        kernel = PairedSums.of(first, second, size, strata_of(size), summaries)
        gaps = np.ptp(rates, axis=1)
        return kernel, np.array([rates[0].mean() - rates[1].mean(), gaps[0] - gaps[1]])

    return draw


def resolution(occupations: int, rows: int) -> Draw:
    """Occupations whose samples lean one way: accuracy and gap of two genders, occupations as a whole."""
    size = np.full((occupations, 2), float(rows))
    summaries = (Summary("weights", (0, 1), (0.5, 0.5)), Summary("weights", (0, 1), (1.0, -1.0)))

    def draw(rng: np.random.Generator, planted: float, level: float) -> Drawn:
        lean = np.array(pair(rng, (occupations,)))
        sums = []
        for model in range(2):
            side = np.array([1.0, -1.0]) * (lean[model][:, None] * 0.8 + (planted if model == 0 else 0))
            chance = 1 / (1 + np.exp(-(0.5 + side + (level if model == 0 else 0))))
            sums.append(rng.binomial(rows, chance).astype(np.float64))
        kernel = PairedSums.of(*sums, size, np.zeros(occupations, dtype=np.int64), summaries)
        return kernel, np.full(2, np.nan)

    return draw


def rankings(queries: int) -> Draw:
    """A figure of each query with a long tail, such as MaxSkew@K: its mean."""
    size, summaries = np.ones((queries, 1)), (Summary("weights", (0,), (1.0,)),)

    def draw(rng: np.random.Generator, planted: float, level: float) -> Drawn:
        figures = [np.exp(0.6 * one)[:, None] for one in pair(rng, (queries,))]
        figures[0] += planted
        kernel = PairedSums.of(*figures, size, np.zeros(queries, dtype=np.int64), summaries)
        return kernel, np.array([planted])

    return draw


def effects(items: int, base: float) -> Draw:
    """Associations of two sets of items, on scales of which one is three times the other: d."""
    in_x = np.arange(2 * items) < items

    def draw(rng: np.random.Generator, planted: float, level: float) -> Drawn:
        first, second = pair(rng, (2 * items,))
        first, second = first + in_x * (base + planted), 0.3 * second + 0.2 + 0.3 * in_x * base
        true = [one / np.sqrt(1 + one**2 / 4) for one in (base + planted, base)]
        return PairedEffects(first, second, in_x), np.array([true[0] - true[1]])

    return draw


def matches(images: int) -> Draw:
    """Associations by match probability of two sets of images, on one scale: difference of means."""
    size = np.repeat(np.eye(2), images, axis=0)
    summaries = (Summary("weights", (0, 1), (1.0, -1.0)),)

    def draw(rng: np.random.Generator, planted: float, level: float) -> Drawn:
        shift = [planted * size[:, 0], np.zeros(2 * images)]
        both = [
            (one + more)[:, None] * size for one, more in zip(pair(rng, (2 * images,)), shift, strict=True)
        ]
        kernel = PairedSums.of(*both, size, strata_of(size), summaries)
        return kernel, np.array([planted])

    return draw


DESIGNS = (
    Design("labels: 3 groups of 60", ("rate", "gap"), grouped((60, 60, 60), (0.3, 0.3, 0.3)), 0.2, 0.2),
    Design("labels: 400, 150, 50", ("rate", "gap"), grouped((400, 150, 50), (0.1, 0.06, 0.08)), 0.1, 0.1),
    Design("24 households of 3 in each of 4 regions", ("rate", "gap"), clustered(4, 24, 3, 0.4), 0.2, 0.15),
    Design("200 households of 3 in each of 3", ("rate", "gap"), clustered(3, 200, 3, 0.4), 0.1, 0.15),
    Design("23 occupations of 2 x 15", ("accuracy (not planted)", "gap"), resolution(23, 15), 0.4, 0.5),
    Design("23 rankings", ("mean",), rankings(23), 0.4),
    Design("match of 2 x 15 images", ("difference",), matches(15), 0.7),
    Design("d of 2 x 8 items, both 0", ("d",), effects(8, 0.0), 0.8),
    Design("d of 2 x 8 items, both 1", ("d",), effects(8, 1.15), 1.0),
    Design("d of 2 x 40 items, both 1", ("d",), effects(40, 1.15), 0.5),
)


def main() -> None:
    """Print the tables."""
    given = arguments(__doc__ or "", 2_000)
    with Clock():
        rows = []
        for design in DESIGNS:
            rows += measured(design, given.simulations, given.seed)
        header = (
            "design",
            "measure",
            "alike",
            "other level",
            "planted",
            "coverage alike",
            "coverage planted",
        )
        show(f"Called different at .05, in % ({given.simulations:,} pairs of models)", header, rows)


def measured(design: Design, simulations: int, seed: int) -> list[tuple[str, ...]]:
    """A row for each number of a design."""
    hits, covered = {}, {}
    for how, change in (
        ("alike", (0.0, 0.0)),
        ("level", (0.0, design.level)),
        ("planted", (design.planted, 0.0)),
    ):
        if how == "level" and not design.level:
            continue
        rng = stream(seed, "compare answers", design.title, how)
        found = [_once(rng, design.draw, change) for _ in range(simulations)]
        hits[how] = np.array([one[0] for one in found])
        covered[how] = np.array([one[1] for one in found])
    rows = []
    for at, name in enumerate(design.names):
        told = {how: share(one[:, at]) for how, one in hits.items()}
        inside = {
            how: "" if np.isnan(one[:, at]).any() else share(one[:, at]) for how, one in covered.items()
        }
        level = told.get("level", "") if name == "gap" else ""
        row = (design.title, name, told["alike"], level, told["planted"])
        rows.append((*row, inside["alike"], inside["planted"]))
    return rows


def _once(
    rng: np.random.Generator, draw: Draw, change: tuple[float, float]
) -> tuple[list[float], list[float]]:
    kernel, truth = draw(rng, *change)
    value = np.subtract(*kernel.observed())
    null = np.subtract(*kernel.exchanged(rng, REPLICATES))
    again = np.subtract(*kernel.resampled(rng, REPLICATES))
    hit, inside = [], []
    for at in range(value.size):
        p = exchange_p(null[:, at], float(value[at]), symmetric=True)
        low, high = ends(again[:, at])
        if not isinstance(kernel, PairedSums) or kernel.summaries[at].how != "weights":  # as the product does
            low, high = min(low, 2 * value[at] - high), max(high, 2 * value[at] - low)
        hit.append(float(p is not None and p <= 0.05))
        inside.append(float(low <= truth[at] <= high) if np.isfinite(truth[at]) else np.nan)
    return hit, inside


if __name__ == "__main__":
    main()
