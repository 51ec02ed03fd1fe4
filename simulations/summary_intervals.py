"""How often the intervals of SkewSize and of mean, median and largest V hold the population's values.

The intervals of the summaries of V are bounds in closed form. That of SkewSize is the percentile interval
of a stratified bootstrap (descriptive).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _common import (
    REPLICATES,
    Clock,
    Floats,
    aimed,
    arguments,
    biased,
    cramers_v,
    ends,
    group_sizes,
    in_chunks,
    prepared,
    show,
    unwrap,
)

from evenhand import metrics
from evenhand.stats.contingency import Association, TableBatch, association
from evenhand.stats.effect_intervals import phi_squared
from evenhand.stats.resampling import ClassCells, bootstrap_cells, bootstrap_chi2
from evenhand.stats.skewness import skewness
from evenhand.stats.summary_intervals import Ends, Squares, largest_ends, mean_ends, median_ends, squares

AIM = 0.95
CHUNK = 300_000  # cells simulated at once
FEW = 100  # models of 150 classes that are resampled; 5,000 would take half an hour

SUMMARIES: dict[str, tuple[str, Callable[[Floats], Floats], Callable[[Squares], Ends]]] = {
    "mean V": ("cramers_v_mean", lambda v: np.asarray(v.mean(axis=-1)), mean_ends),
    "median V": ("cramers_v_median", lambda v: np.asarray(np.median(v, axis=-1)), median_ends),
    "largest V": ("cramers_v_max", lambda v: np.asarray(v.max(axis=-1)), largest_ends),
}


@dataclass(frozen=True)
class Design:
    """Classes of groups x labels tables with n rows, their true V from low to high.

    The V are evenly spaced, or ``skewed``: by the cube of even spaces, so that strong effects are rare.
    """

    groups: int
    labels: int
    n: int
    low: float
    high: float
    pattern: str = "one"
    classes: int = 10
    skewed: bool = False
    shares: tuple[float, ...] = ()

    @property
    def effects(self) -> Floats:
        """The true V of each class."""
        spaces = np.linspace(0, 1, self.classes) ** (3 if self.skewed else 1)
        return np.asarray(self.low + (self.high - self.low) * spaces)

    @property
    def words(self) -> str:
        """As the tables print it."""
        sizes = "".join(f", {share:.0%}" for share in self.shares)
        shape = f"{self.groups} x {self.labels}{sizes}, n = {self.n}"
        spread = f"-{self.high:g}" if self.high > self.low else ""
        pattern = f", {self.pattern}" if self.high else ""
        return f"{shape}, V {self.low:g}{spread}{pattern}" + (", skewed" if self.skewed else "")

    @property
    def truth(self) -> Floats:
        """V of each class's population: as planned, where groups are equal."""
        weights = np.asarray(self.shares or np.full(self.groups, 1 / self.groups))
        return np.array([cramers_v(population, weights) for population in self.populations()])

    def populations(self) -> Floats:
        """Answers by class, group and label."""
        tables = np.stack([biased(self.groups, self.labels, v, self.pattern) for v in self.effects])
        return np.asarray(tables / tables.sum(axis=-1, keepdims=True))


TEN = (
    Design(2, 5, 400, 0.0, 0.0),
    Design(2, 5, 200, 0.06, 0.37),
    Design(2, 5, 200, 0.06, 0.37, "spread"),
    Design(3, 10, 400, 0.0, 0.5),
    Design(3, 10, 400, 0.0, 0.5, "spread"),
    Design(6, 20, 300, 0.1, 0.5),
    Design(6, 20, 300, 0.1, 0.5, "spread"),
    Design(2, 3, 2000, 0.05, 0.4),
    Design(2, 50, 400, 0.1, 0.5, "spread"),
)
MANY = tuple(
    Design(groups, labels, n, low, high, pattern, 150, skewed)
    for groups, labels, n, low, high, pattern in (
        (2, 5, 200, 0.06, 0.37, "one"),
        (3, 10, 400, 0.0, 0.5, "one"),
        (6, 20, 300, 0.1, 0.5, "spread"),
    )
    for skewed in (False, True)
)


HARD = (
    *(Design(2, 2, 100, 0.0, 0.0, classes=classes) for classes in (2, 150)),
    Design(2, 2, 30, 0.0, 0.6, classes=150),
    Design(3, 10, 400, 0.0, 0.0, classes=150),
    *(Design(6, 20, 300, 0.3, 0.3, "spread", classes=classes) for classes in (2, 150)),
    *(Design(2, 20, 300, 0.3, 0.3, classes=classes, shares=(0.9, 0.1)) for classes in (2, 150)),
    Design(6, 20, 60, 0.0, 0.6, "spread", classes=20, shares=(0.5, 0.3, 0.1, 0.05, 0.03, 0.02)),
    Design(2, 50, 400, 0.3, 0.3, "spread", classes=150),
    Design(2, 100, 200, 0.0, 0.0, classes=20),
    Design(2, 100, 200, 0.1, 0.5, "spread", classes=20),
    Design(10, 100, 2000, 0.1, 0.5, "spread", classes=20),
    Design(50, 4, 100, 0.0, 0.4, classes=20),
)


def bootstraps(
    batch: TableBatch, found: Association, replicates: int, streams: Callable[[int], np.random.Generator]
) -> Floats:
    """V of rows resampled within class and group, shape (replicates, tables)."""
    v = np.full((replicates, batch.n_tables), np.nan)
    starts = np.searchsorted(batch.table, np.arange(batch.n_tables + 1))
    for table in range(batch.n_tables):
        cut = slice(starts[table], starts[table + 1])
        cells = ClassCells(table, batch.row[cut], batch.column[cut], batch.n[cut])
        chi2, columns = bootstrap_chi2(cells, bootstrap_cells(streams(table), cells, replicates))
        dof = np.minimum(found.n_rows[table], columns) - 1
        v[:, table] = np.sqrt(chi2 / (found.n[table] * np.where(dof > 0, dof, np.nan)))
    return v


def sample(design: Design, models: int, rng: np.random.Generator) -> TableBatch:
    """The tables of some models, class after class."""
    sizes = group_sizes(design.n, design.groups, design.shares)
    tables = rng.multinomial(sizes, design.populations(), size=(models, design.classes, design.groups))
    return TableBatch.from_dense(tables.reshape(-1, design.groups, design.labels))


def stream_of(design: Design, seed: int) -> np.random.Generator:
    """A random stream of the design's own."""
    shape = (design.groups, design.labels, design.n, len(design.pattern), design.classes)
    return np.random.default_rng([seed, *shape, int(design.skewed), round(100 * design.high)])


def bounds(design: Design, models: int, seed: int) -> list[list[str]]:
    """One line per summary of V; what misses the aim by more than its Monte-Carlo error is bold."""
    rng = stream_of(design, seed)
    parts: dict[str, list[Floats]] = {name: [] for name in SUMMARIES}
    for size in in_chunks(models, max(1, CHUNK // (design.classes * design.groups * design.labels))):
        batch = sample(design, size, rng)
        found = association(batch)
        one = squares(found, phi_squared(batch, found)).each(lambda array: array.reshape(-1, design.classes))
        for name, (_, _, ends_of) in SUMMARIES.items():
            parts[name].append(np.stack(ends_of(one)))
    lines = []
    for name, (_, summarise, _) in SUMMARIES.items():
        low, high = np.concatenate(parts[name], axis=1)
        target = float(summarise(design.truth))
        below, above = low - 1e-9 > target, high + 1e-9 < target
        error = np.sqrt(AIM * (1 - AIM) / models)
        held = aimed(~(below | above), AIM - 2 * error)
        sides = f"{100 * below.mean():.1f} / {100 * above.mean():.1f}"
        mean_of_ends = f"{low.mean():.3f} to {high.mean():.3f}"
        lines.append([design.words, str(design.classes), name, f"{target:.3f}", held, sides, mean_of_ends])
    return lines


def skewsize(design: Design, models: int, seed: int) -> list[str]:
    """How often SkewSize's percentile interval holds the population's."""
    rng, target = stream_of(design, seed), float(skewness(design.truth))
    hits = []
    for size in in_chunks(models, max(1, CHUNK // (design.classes * design.groups * design.labels))):
        batch = sample(design, size, rng)
        draws = bootstraps(batch, association(batch), REPLICATES, lambda table: rng)
        low, high = ends(skewness(draws.reshape(REPLICATES, size, -1)), 0)
        hits.append((low <= target) & (target <= high))
    return [design.words, aimed(np.concatenate(hits), AIM)]


def check_public(seed: int) -> None:
    """The kernels used here, on the metrics' streams and 999 replicates, give what the metrics report."""
    rng = np.random.default_rng(seed)
    tables = rng.multinomial(group_sizes(TEN[3].n, TEN[3].groups), TEN[3].populations())
    evidence = prepared(tables, seed)
    batch = TableBatch.from_dense(tables)
    found = association(batch)
    facts = squares(found, phi_squared(batch, found))
    v = found.statistic("cramers_v")
    resampled = bootstraps(
        batch, found, 999, lambda table: evidence.stream("effect bootstrap", "separation", f"{table:04d}")
    )
    ours = {public: [summarise(v), *ends_of(facts)] for public, summarise, ends_of in SUMMARIES.values()}
    ours["skewsize"] = [skewness(v), *np.quantile(skewness(resampled), [0.025, 0.975])]
    for public, expected in ours.items():
        finding = getattr(metrics, public)(evidence, by="group", seed=seed)
        if finding.interval is None:
            raise SystemExit(f"{public} has no interval")
        reported = [unwrap(finding.value), finding.interval.low, finding.interval.high]
        np.testing.assert_allclose(reported, expected, rtol=0, atol=1e-12)
    print(f"The public metrics and the kernels agree to 1e-12 on {len(tables)} classes.")


def main() -> None:
    """Check, then print the tables."""
    options = arguments(__doc__ or "", 5_000)
    models, seed = options.simulations, options.seed
    with Clock():
        check_public(seed)
        header = ["tables", "classes", "summary", "truth", "held, %", "missed below / above, %", "mean ends"]
        for title, designs in (("ten classes", TEN), ("150 classes", MANY), ("hard cases", HARD)):
            rows = [line for design in designs for line in bounds(design, models, seed)]
            show(f"Coverage of the 95 % bounds, {title}, {models:,} models", header, rows)
        print(f"\nBold: below {100 * AIM:.0f} % by more than two Monte-Carlo standard errors.", flush=True)
        few = min(FEW, models)
        for many, designs, size in (("ten", TEN, models), ("150", MANY, few)):
            rows = [skewsize(design, size, seed) for design in designs if design.high]
            title = f"Coverage of SkewSize's percentile interval over {many} classes, {size:,} models"
            show(title, ["classes", "percentile, %"], rows)


if __name__ == "__main__":
    main()
