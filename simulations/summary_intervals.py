"""How often the intervals of SkewSize and of mean, median and largest V hold the population's values.

In use: for the summaries of V, draws of each class around its bias-corrected value; for SkewSize, the
percentiles of a stratified bootstrap (descriptive). Beside them the alternatives that were rejected.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from _common import Clock, Floats, answers, arguments, biased, cramers_v, group_sizes, prepared, sample, show
from _common import share as percent
from scipy.stats import norm

from evenhand.metrics.class_effects import EffectOptions, class_effects, effect_bootstrap, effect_draws
from evenhand.stats.skewness import skewness

METHODS = ("corrected draws", "percentile", "basic", "bias-corrected bootstrap", "plain draws")
IN_USE = {"SkewSize": "percentile"}
SUMMARIES: dict[str, Callable[[Floats], Floats]] = {
    "mean V": lambda v: np.nanmean(v, axis=-1),
    "median V": lambda v: np.nanmedian(v, axis=-1),
    "largest V": lambda v: np.nanmax(v, axis=-1),
    "SkewSize": skewness,
}


@dataclass(frozen=True)
class Design:
    """Ten classes of groups x labels tables with n rows, their true V evenly from low to high."""

    groups: int
    labels: int
    n: int
    low: float
    high: float
    pattern: str = "one"
    classes: int = 10

    @property
    def effects(self) -> Floats:
        """The true V of each class."""
        return np.linspace(self.low, self.high, self.classes)

    @property
    def words(self) -> str:
        """As the tables print it."""
        shape = f"{self.groups} x {self.labels}, n = {self.n}"
        return f"{shape}, V {self.low:g}" + (f"-{self.high:g}, {self.pattern}" if self.high else "")


DESIGNS = (
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


def intervals(
    value: float, bootstrap: Floats, corrected: Floats, plain: Floats
) -> dict[str, tuple[float, float]]:
    """Ends by each method, from replicates of one summary."""
    ends = {
        name: tuple(np.nanquantile(draws, [0.025, 0.975]))
        for name, draws in (("corrected draws", corrected), ("percentile", bootstrap), ("plain draws", plain))
    }
    low, high = ends["percentile"]
    ends["basic"] = (2 * value - high, 2 * value - low)
    fewest = 1 / bootstrap.size
    shift = norm.ppf(np.clip(np.mean(bootstrap < value), fewest, 1 - fewest))
    ends["bias-corrected bootstrap"] = tuple(
        np.nanquantile(bootstrap, norm.cdf(2 * shift + norm.ppf([0.025, 0.975])))
    )
    return ends


def one_model(
    design: Design, populations: list[Floats], rng: np.random.Generator, seed: int
) -> dict[tuple[str, str], bool]:
    """Which intervals of one sampled model hold the truth."""
    sizes = group_sizes(design.n, design.groups)
    tables = np.concatenate([sample(rng, population, sizes, 1) for population in populations])
    evidence, options = prepared(tables, seed), EffectOptions(inference="none")
    effects = class_effects(evidence, options)
    bootstrap, _ = effect_bootstrap(evidence, options, effects)
    corrected = effect_draws(evidence, options, effects, corrected=True)
    plain = effect_draws(evidence, options, effects, corrected=False)
    equal = np.full(design.groups, 1 / design.groups)
    truth = np.array([cramers_v(population, equal) for population in populations])
    held = {}
    for name, summarise in SUMMARIES.items():
        replicates = (summarise(draws) for draws in (bootstrap, corrected, plain))
        target = float(summarise(truth))
        for method, (low, high) in intervals(float(summarise(effects.values)), *replicates).items():
            held[name, method] = bool(low - 1e-9 <= target <= high + 1e-9)
    return held


def coverage(design: Design, models: int, seed: int) -> list[list[str]]:
    """One line per summary."""
    rng = np.random.default_rng([seed, design.groups, design.labels, design.n, len(design.pattern)])
    populations = [biased(design.groups, design.labels, v, design.pattern) for v in design.effects]
    if design.high == 0:
        populations = [np.tile(answers(design.labels), (design.groups, 1))] * design.classes
    held = [one_model(design, populations, rng, seed + index) for index in range(models)]
    lines = []
    for name in SUMMARIES:
        if name == "SkewSize" and design.high == 0:
            continue  # equal effects have no skewness to be covered
        shares = {method: percent([hits[name, method] for hits in held]) for method in METHODS}
        used = IN_USE.get(name, "corrected draws")
        shares[used] = f"**{shares[used]}**"
        lines.append([design.words, name, *shares.values()])
    return lines


def main() -> None:
    """Print the table."""
    options = arguments(__doc__ or "", 400)
    with Clock():
        rows = [line for design in DESIGNS for line in coverage(design, options.simulations, options.seed)]
        title = f"Coverage of 95 % intervals over ten classes, {options.simulations:,} models; bold: in use"
        show(title, ["classes", "summary", *(f"{method}, %" for method in METHODS)], rows)


if __name__ == "__main__":
    main()
