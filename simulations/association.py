"""Association tests: coverage of the two-way interval and of a reduction, and type I error of p.

Matrices of similarities with a known d: targets differ in their association, attributes in how differently X
and Y stand to them, and both may interact. Every run draws new targets and new attributes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from _common import REPLICATES, Clock, Floats, aimed, arguments, ends, show
from _common import mean as average
from _common import share as percent
from scipy import special

from evenhand.stats.association import associations, effect_size
from evenhand.stats.partitions import permutation_tests
from evenhand.stats.pigeonhole import Sizes, Weights, d_of, jackknife_error, studied
from evenhand.stats.two_way import paired_two_way_interval, two_way_draws, two_way_interval

AIM, ALPHA = 0.93, 0.05
FACTORS = 3  # of the interaction: topics that some targets and some attributes share


@dataclass(frozen=True)
class World:
    """How targets and attributes vary.

    Attributes:
        words: What the tables call it.
        targets: Spread of the targets' associations.
        attributes: Spread of what an attribute adds to the difference of X and Y.
        both: Spread of what a target and an attribute have in common.
        shape: Of the gamma distribution of targets and attributes; 0 for the normal one.
    """

    words: str
    targets: float = 1.0
    attributes: float = 0.0
    both: float = 0.0
    shape: float = 0.0

    def draw(self, rng: np.random.Generator, size: int) -> Floats:
        """Independent numbers of mean 0 and variance 1."""
        if not self.shape:
            return rng.normal(size=size)
        return np.asarray((rng.gamma(self.shape, size=size) - self.shape) / np.sqrt(self.shape))


WORLDS = (
    World("targets vary, normal"),
    World("targets and attributes vary", attributes=2),
    World("and interact", attributes=2, both=3),
    World("nothing but interaction", targets=0.1, both=3),
    World("targets skewed (skewness 1)", attributes=2, shape=4),
    World("targets very skewed (2)", attributes=2, shape=1),
    World("targets very skewed, attributes alike", shape=1),
)


@dataclass(frozen=True)
class Design:
    """Sizes of the four sets."""

    n: int
    m: int
    na: int
    nb: int

    @property
    def sets(self) -> tuple[int, int, int, int]:
        """As the kernels take them."""
        return self.n, self.m, self.na, self.nb

    @property
    def words(self) -> str:
        """As the tables print it."""
        return f"{self.n} v {self.m}, {self.na} + {self.nb}"

    @property
    def mixed(self) -> float:
        """``n m / N^2``."""
        return self.n * self.m / (self.n + self.m) ** 2

    def value(self, gap: float, variance: float) -> float:
        """The d (ddof 1) of populations with these means and this variance within."""
        total = self.n + self.m
        return gap / float(np.sqrt(variance + self.mixed * gap**2)) * float(np.sqrt((total - 1) / total))

    def gap(self, world: World, d: float) -> float:
        """Difference of means that gives attribute sets of these sizes the d."""
        d *= float(np.sqrt((self.n + self.m) / (self.n + self.m - 1)))
        return d * float(np.sqrt(self.within(world) / (1 - self.mixed * d * d)))

    def within(self, world: World) -> float:
        """Variance of associations within X, for attribute sets of these sizes."""
        return world.targets**2 + world.both**2 * (1 / self.na + 1 / self.nb)

    def draw(self, rng: np.random.Generator, world: World, gap: float) -> Floats:
        """One matrix, shape (n + m, na + nb)."""
        side = np.repeat([0.5, -0.5], [self.n, self.m])
        pole = np.repeat([0.5, -0.5], [self.na, self.nb])
        targets = gap * side + world.targets * world.draw(rng, side.size)
        values = np.outer(targets, pole) + np.outer(side, world.attributes * world.draw(rng, pole.size))
        if world.both:
            shared = rng.normal(size=(side.size, FACTORS)) @ rng.normal(size=(FACTORS, pole.size))
            values += world.both * shared / np.sqrt(FACTORS)
        return np.asarray(values)


SMALL = (Design(6, 6, 8, 8), Design(15, 20, 60, 60), Design(20, 20, 60, 60))
LARGE = Design(250, 250, 60, 60)
EFFECTS = (0.0, 0.8, 1.7)
TINY = (Design(3, 3, 2, 2), Design(4, 10, 5, 5), Design(10, 100, 20, 20))


def d_within(values: Floats, design: Design) -> float:
    """The value that the interval is for."""
    n, _, na, nb = design.sets
    phi = associations(values, np.arange(na), np.arange(na, na + nb))
    return effect_size(phi[:n], phi[n:])


def intervals(design: Design, world: World, d: float, runs: int, seed: int) -> Floats:
    """Ends and plain value of every run, shape (runs, 3)."""
    rng = np.random.default_rng([seed, *design.sets, round(100 * d), len(world.words)])
    gap = design.gap(world, d)
    found = []
    for _ in range(runs):
        values = design.draw(rng, world, gap)
        found.append(
            (
                *two_way_interval(values, *design.sets, rng=rng, replicates=REPLICATES),
                d_within(values, design),
            )
        )
    return np.array(found)


def covered(design: Design, world: World, d: float, runs: int, seed: int) -> list[Any]:
    """One line: how often the interval holds d for such attribute sets, and for sets without end."""
    found = intervals(design, world, d, runs, seed)
    endless = design.value(design.gap(world, d), world.targets**2)
    low, high = found[:, 0], found[:, 1]
    missed = f"{100 * np.mean(low > d):.1f} / {100 * np.mean(high < d):.1f}"
    return [
        design.words,
        world.words,
        d,
        aimed((low <= d) & (d <= high), AIM),
        missed,
        f"{endless:.2f}",
        percent((low <= endless) & (endless <= high)),
        average(found[:, 2], 2),
        f"{np.mean(high - low):.2f}",
    ]


def forms(design: Design, world: World, d: float, runs: int, seed: int) -> list[Any]:
    """One line: what other forms of interval would have held, of the same runs each."""
    rng = np.random.default_rng([seed, *design.sets, round(100 * d), len(world.words)])
    gap, sizes = design.gap(world, d), Sizes(*design.sets)
    held: dict[str, list[bool]] = {}
    for _ in range(runs):
        values = design.draw(rng, world, gap)
        draws = two_way_draws(values, *design.sets, replicates=999, rng=rng)["d"]
        value = d_within(values, design)
        low, high = ends(draws[np.isfinite(draws)])
        centre = float(studied(values, sizes, Weights.once(sizes), True)[0][0])
        reach = 1.959964 * jackknife_error(values, sizes)
        made = {
            "percentile": (low, high),
            "basic": (2 * value - high, 2 * value - low),
            "bias-corrected": corrected(draws[np.isfinite(draws)], value),
            "jackknife": tuple(d_of([centre - reach, centre + reach], sizes, 1).tolist()),
            "studentised": two_way_interval(values, *design.sets, rng=rng),
        }
        for name, (start, stop) in made.items():
            held.setdefault(name, []).append(bool(start <= d <= stop))
    return [design.words, world.words, d, *(percent(hits) for hits in held.values())]


def corrected(draws: Floats, value: float) -> tuple[float, float]:
    """Percentiles moved by how far the value is from the median of the draws (BC)."""
    below = np.clip(np.mean(draws < value), 1 / draws.size, 1 - 1 / draws.size)
    shift = 2 * float(special.ndtri(below))
    low, high = np.quantile(draws, special.ndtr([shift - 1.959964, shift + 1.959964]))
    return float(low), float(high)


def reductions(design: Design, world: World, before: float, after: float, runs: int, seed: int) -> list[Any]:
    """One line: how often the interval of a reduction of |d| holds the truth.

    After differs from before by the gap, and by fresh interaction of targets and attributes.
    """
    rng = np.random.default_rng([seed, *design.sets, round(100 * before), round(100 * after) + 1000])
    truth = abs(before) - abs(after)
    found = []
    for _ in range(runs):
        start = design.draw(rng, world, design.gap(world, before))
        side = np.repeat([0.5, -0.5], [design.n, design.m])
        pole = np.repeat([0.5, -0.5], [design.na, design.nb])
        noisy = replace(world, targets=0.0, attributes=0.0, both=0.2)
        change = design.gap(world, after) - design.gap(world, before)
        stop = start + change * np.outer(side, pole) + design.draw(rng, noisy, 0.0)
        found.append(paired_two_way_interval(start, stop, *design.sets, rng=rng, replicates=REPLICATES))
    low, high = np.array(found).T
    missed = f"{100 * np.mean(low > truth):.1f} / {100 * np.mean(high < truth):.1f}"
    held = aimed((low <= truth) & (truth <= high), AIM)
    return [design.words, before, after, held, missed, f"{np.mean(high - low):.2f}"]


def type_one(n: int, m: int, kind: str, runs: int, seed: int) -> list[str]:
    """One line: how often p is at most 5 % (and 1 %) where X and Y come from one population."""
    rng = np.random.default_rng([seed, n, m])
    numbers = rng.normal(size=(runs, n + m)) if kind == "normal" else rng.exponential(size=(runs, n + m))
    tests = permutation_tests(numbers[:, :n], numbers[:, n:], rng=rng, draws=9999)
    cells = [f"{n} v {m}", kind, tests[0].method]
    for name in ("right", "two_sided", "normal_right", "normal_two_sided"):
        p = np.array([getattr(test, name) for test in tests])
        cells.append(f"{percent(p <= ALPHA)} ({100 * np.mean(p <= 0.01):.1f})")
    return cells


def main() -> None:
    """Print all tables."""
    options = arguments(__doc__ or "", 5_000)
    runs, seed = options.simulations, options.seed
    head = [
        "sets",
        "world",
        "d",
        "held, %",
        "missed below / above, %",
        "d, endless",
        "held, %",
        "mean d",
        "width",
    ]
    with Clock():
        for design in SMALL:
            rows = [covered(design, world, d, runs, seed) for world in WORLDS for d in EFFECTS]
            show(f"Two-way interval of d, {design.words}", head, rows)
        rows = [covered(LARGE, world, d, runs // 5, seed) for world in WORLDS for d in EFFECTS]
        show(f"Two-way interval of d, {LARGE.words}", head, rows)
        rows = [covered(design, WORLDS[2], d, runs, seed) for design in TINY for d in (0.0, 1.0)]
        show("Two-way interval of d, small and unequal sets", head, rows)
        few = runs // 5
        kinds = [(world, d) for world in (WORLDS[0], WORLDS[2], WORLDS[5]) for d in (0.0, 1.0, 1.7)]
        rows = [forms(design, world, d, few, seed) for design in (SMALL[0], SMALL[2]) for world, d in kinds]
        names = ["percentile", "basic", "bias-corrected", "jackknife", "studentised"]
        show("Other forms, held, %", ["sets", "world", "d", *names], rows)
        pairs = [(0.0, 0.0), (1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (1.6, 0.4), (0.5, -0.5)]
        rows = [reductions(design, WORLDS[2], *pair, few, seed) for design in SMALL for pair in pairs]
        header = ["sets", "before", "after", "held, %", "missed below / above, %", "width"]
        show("Interval of a reduction of |d|", header, rows)
        sizes = ((6, 6), (8, 15), (12, 12), (40, 60))
        rows = [type_one(n, m, kind, runs, seed) for n, m in sizes for kind in ("normal", "skewed")]
        header = ["sets", "associations", "method", "right", "two-sided"]
        header += ["normal tail, right", "normal tail, two-sided"]
        show("p at most 5 % (1 %) where X and Y are alike", header, rows)


if __name__ == "__main__":
    main()
