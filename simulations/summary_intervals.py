"""How often the intervals of SkewSize and of mean, median and largest V hold the population's values.

In use: for the summaries of V, draws of each class around its bias-corrected value; for SkewSize, the
percentiles of a stratified bootstrap (descriptive). Beside them the alternatives that were rejected.
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
from scipy.stats import norm

from evenhand import metrics
from evenhand.stats.contingency import Association, TableBatch, association
from evenhand.stats.effect_intervals import phi_squared, score_draws
from evenhand.stats.resampling import ClassCells, bootstrap_cells, bootstrap_chi2
from evenhand.stats.skewness import skewness

METHODS = ("corrected draws", "percentile", "basic", "bias-corrected bootstrap", "plain draws")
IN_USE = {"SkewSize": "percentile"}
AIM = 0.93
CHUNK = 2_000  # tables simulated at once
FEW = 100  # models of 150 classes that are resampled; 5,000 would take half an hour


def median(values: Floats) -> Floats:
    """Median over classes; a replicate in which a class became constant lacks that class."""
    whole = np.isnan(values).any()
    return np.asarray(np.nanmedian(values, axis=-1) if whole else np.median(values, axis=-1))


SUMMARIES: dict[str, Callable[[Floats], Floats]] = {
    "mean V": lambda v: np.asarray(np.nanmean(v, axis=-1)),
    "median V": median,
    "largest V": lambda v: np.asarray(np.nanmax(v, axis=-1)),
    "SkewSize": skewness,
}
PUBLIC = {
    "mean V": "cramers_v_mean",
    "median V": "cramers_v_median",
    "largest V": "cramers_v_max",
    "SkewSize": "skewsize",
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

    @property
    def effects(self) -> Floats:
        """The true V of each class."""
        spaces = np.linspace(0, 1, self.classes) ** (3 if self.skewed else 1)
        return np.asarray(self.low + (self.high - self.low) * spaces)

    @property
    def words(self) -> str:
        """As the tables print it."""
        shape = f"{self.groups} x {self.labels}, n = {self.n}"
        spread = f"-{self.high:g}, {self.pattern}" if self.high else ""
        return f"{shape}, V {self.low:g}{spread}" + (", skewed" if self.skewed else "")

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


def intervals(value: Floats, bootstrap: Floats, plain: Floats) -> dict[str, Floats]:
    """Ends by each method but the first, from replicates (replicates, models) of one summary (models,)."""
    low, high = ends(bootstrap, 0)
    return {
        "percentile": np.stack([low, high]),
        "basic": np.stack([2 * value - high, 2 * value - low]),
        "bias-corrected bootstrap": bias_corrected(value, bootstrap),
        "plain draws": ends(plain, 0),
    }


def bias_corrected(value: Floats, bootstrap: Floats) -> Floats:
    """Efron's bias-corrected percentiles, shape (2, models)."""
    replicates = len(bootstrap)
    below = np.clip((bootstrap < value).mean(axis=0), 1 / replicates, 1 - 1 / replicates)
    levels = norm.cdf(2 * norm.ppf(below) + norm.ppf([[0.025], [0.975]]))
    ranks = np.clip(np.rint(levels * (replicates + 1)).astype(np.int64), 1, replicates) - 1
    return np.take_along_axis(np.sort(bootstrap, axis=0), ranks, axis=0)


def simulate(
    design: Design, models: int, rng: np.random.Generator, *, every: bool
) -> dict[tuple[str, str], np.ndarray]:
    """Which intervals of some sampled models hold the truth, by corrected draws or by every method."""
    populations = design.populations()
    equal = np.full(design.groups, 1 / design.groups)
    truth = np.array([cramers_v(population, equal) for population in populations])
    shape = (models, design.classes, design.groups)
    tables = rng.multinomial(group_sizes(design.n, design.groups), populations, size=shape)
    batch = TableBatch.from_dense(tables.reshape(-1, design.groups, design.labels))
    found = association(batch)
    phi2 = phi_squared(batch, found)
    noise = rng.standard_normal((REPLICATES, batch.n_tables))
    draws = [score_draws(found, phi2, noise, corrected=True)]
    if every:
        draws.append(bootstraps(batch, found, REPLICATES, lambda table: rng))
        draws.append(score_draws(found, phi2, noise, corrected=False))
    held = {}
    for name, summarise in SUMMARIES.items():
        value = summarise(found.statistic("cramers_v").reshape(models, -1))
        corrected, *others = (summarise(v.reshape(REPLICATES, models, -1)) for v in draws)
        found_ends = {"corrected draws": ends(corrected, 0)}
        found_ends |= intervals(value, *others) if every else {}
        target = float(summarise(truth))
        for method, (low, high) in found_ends.items():
            held[name, method] = (low - 1e-9 <= target) & (target <= high + 1e-9)
    return held


def coverage(design: Design, models: int, seed: int, *, every: bool) -> list[list[str]]:
    """One line per summary; what is in use and misses the aim is bold."""
    shape = (design.groups, design.labels, design.n, len(design.pattern), design.classes)
    rng = np.random.default_rng([seed, *shape, int(design.skewed)])
    chunks = in_chunks(models, CHUNK // design.classes)
    parts = [simulate(design, size, rng, every=every) for size in chunks]
    lines = []
    for name in SUMMARIES:
        if name == "SkewSize" and design.high == 0:
            continue  # equal effects have no skewness to be covered
        line = [design.words, name]
        for method in METHODS:
            if (name, method) not in parts[0]:
                continue
            hits = np.concatenate([part[name, method] for part in parts])
            line.append(aimed(hits, AIM if method == IN_USE.get(name, "corrected draws") else 0))
        lines.append(line)
    return lines


def check_public(seed: int) -> None:
    """The kernels used here, on the metrics' streams and 999 replicates, give what the metrics report."""
    rng = np.random.default_rng(seed)
    tables = rng.multinomial(group_sizes(TEN[3].n, TEN[3].groups), TEN[3].populations())
    evidence = prepared(tables, seed)
    batch = TableBatch.from_dense(tables)
    found = association(batch)
    noise = evidence.stream("effect draws", "separation").standard_normal((999, len(tables)))
    draws = score_draws(found, phi_squared(batch, found), noise, corrected=True)
    resampled = bootstraps(
        batch, found, 999, lambda table: evidence.stream("effect bootstrap", "separation", f"{table:04d}")
    )
    for name, summarise in SUMMARIES.items():
        finding = getattr(metrics, PUBLIC[name])(evidence, by="group", seed=seed)
        if finding.interval is None:
            raise SystemExit(f"{name} has no interval")
        replicates = summarise(resampled if name in IN_USE else draws)
        ours = [summarise(found.statistic("cramers_v")), *np.quantile(replicates, [0.025, 0.975])]
        reported = [unwrap(finding.value), finding.interval.low, finding.interval.high]
        np.testing.assert_allclose(reported, ours, rtol=0, atol=1e-12)
    print(f"The public metrics and the kernels agree to 1e-12 on {len(tables)} classes.")


def main() -> None:
    """Check, then print both tables."""
    options = arguments(__doc__ or "", 5_000)
    models, seed = options.simulations, options.seed
    with Clock():
        check_public(seed)
        header = ["classes", "summary", *(f"{method}, %" for method in METHODS)]
        rows = [line for design in TEN for line in coverage(design, models, seed, every=True)]
        show(f"Coverage of 95 % intervals over ten classes, {models:,} models", header, rows)
        header = ["classes", "summary", "corrected draws, %"]
        rows = [line for design in MANY for line in coverage(design, models, seed, every=False)]
        show(f"Coverage of 95 % intervals over 150 classes, {models:,} models", header, rows)
        few = min(FEW, models)
        lines = (line for design in MANY for line in coverage(design, few, seed, every=True))
        rows = [[words, percentile] for words, name, _, percentile, *_ in lines if name == "SkewSize"]
        title = f"Coverage of SkewSize's percentile interval over 150 classes, {few} models"
        show(title, ["classes", "percentile, %"], rows)
        print(f"\nBold: in use, and below {100 * AIM:.0f} %.")


if __name__ == "__main__":
    main()
