"""Recipes over several seeds: differences of equal ones and of a better one, means and spreads.

Two recipes are trained with several seeds each, and all runs answer one sample. A run's accuracy is that of
its recipe, and a part of its seed; some samples are hard for every run and some for every run of a recipe,
so that runs err together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from scipy import special, stats
from simulations.battery.design import Case, Design, Line

from evenhand.core.findings import Finding
from evenhand.core.random_streams import stream
from evenhand.evidence.derivation.paired import Aligned
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.metrics.differences.seeds import OverSeeds, SeedGroup
from evenhand.stats.arrays import Rng
from evenhand.stats.contingency import model_summaries

_MEASURES = ("accuracy", "worst_group_accuracy", "accuracy_gap", "cramers_v_mean")
_REPLICATES = 199  # in place of the product's 999
_ACCURACY = 0.7
_TOGETHER = 0.5  # of what makes a sample hard, for seeds of a recipe; half of it is that of both recipes


@dataclass(frozen=True)
class Recipes:
    """What varies.

    Attributes:
        seeds: Of the two recipes.
        spread: Standard deviation of accuracy between seeds.
        rows: Of the sample.
        gain: Of the first recipe in accuracy.
    """

    seeds: tuple[int, int]
    spread: float
    rows: int = 1000
    gain: float = 0.0

    def draw(self, rng: Rng) -> OverSeeds:
        """Answers of all runs to one sample of two classes and two groups."""
        runs = sum(self.seeds)
        recipe = np.repeat([_ACCURACY + self.gain, _ACCURACY], self.seeds)
        accuracy = np.clip(recipe + self.spread * rng.standard_normal(runs), 0.05, 0.95)
        of_all, of_first, of_second = rng.standard_normal((3, self.rows))
        hard = np.repeat([of_all + of_first, of_all + of_second], self.seeds, axis=0) / np.sqrt(2)
        alone = rng.standard_normal((runs, self.rows))
        ease = np.sqrt(_TOGETHER) * hard + np.sqrt(1 - _TOGETHER) * alone
        right = ease < special.ndtri(accuracy)[:, None]
        truth, group = (rng.permutation(np.arange(self.rows) % 2) for _ in range(2))
        said = np.where(right, truth, 1 - truth)
        cells, n = np.unique(np.vstack([truth, group, said]), axis=1, return_counts=True)
        aligned = Aligned(
            ("group",), ("0", "1"), (("0",), ("1",)), cells[0], cells[1], cells[2:], n.astype(float), ()
        )
        compared = ComparedCounts.over(aligned, [str(run) for run in range(runs)])
        draws = model_summaries.replicated(
            compared.classes, compared.sizes, _REPLICATES, partial(stream, int(rng.integers(2**31)))
        )
        return OverSeeds(compared, {name: drawn[:, 0] for name, drawn in compared.observed.items()}, draws)

    def _groups(self, known: bool) -> list[SeedGroup]:
        """The two recipes; by seed if their seeds are known."""
        places = {"a": range(self.seeds[0]), "b": range(self.seeds[0], sum(self.seeds))}
        return [
            SeedGroup(name, tuple(runs), tuple(map(str, range(len(runs)))), known)
            for name, runs in places.items()
        ]

    def difference(self, measure: str, known: bool, found: OverSeeds, _: int) -> Finding:
        """Of the two recipes."""
        return found.difference(measure, *self._groups(known))

    def seed_spread(self, found: OverSeeds, _: int) -> Finding:
        """Of the first recipe."""
        return found.spread("accuracy", self._groups(known=False)[0])

    def mean(self, _: OverSeeds, finding: Finding) -> list[Line]:
        """The mean that stands beside a spread."""
        ends = (finding.details[f"mean{end}"] for end in ("", "_low", "_high"))
        return [Line(*ends, truth=_ACCURACY + self.gain)]


@cache
def expected_spread(recipes: Recipes) -> float:
    """Of seeds on one sample: that of their accuracies, and what samples do to one seed only."""
    p, r = _ACCURACY + recipes.gain, _TOGETHER
    at = float(special.ndtri(p))
    both = stats.multivariate_normal([0, 0], [[1, r], [r, 1]]).cdf([at, at])
    return float(np.sqrt(recipes.spread**2 + (p - both) / recipes.rows))


def _design(recipes: Recipes) -> Design:
    (a, b), cases = recipes.seeds, []
    for known in (False, True)[: 1 + (a == b)]:
        for measure in _MEASURES:
            gain = recipes.gain if measure in _MEASURES[:2] else 0.0
            cases.append(Case(
                f"{measure}_difference, {'by seed' if known else 'of seeds'}",
                partial(recipes.difference, measure, known), gain, not gain, least=0.0 if gain else None,
            ))  # fmt: skip
    if a > 1:
        cases += [
            Case("accuracy_seed_spread", recipes.seed_spread, expected_spread(recipes)),
            Case("accuracy_seed_spread, mean", recipes.seed_spread, lines=recipes.mean),
        ]
    gain = f", {recipes.gain:g} better" if recipes.gain else ""
    name = f"recipes: {a} and {b} seeds, spread {recipes.spread:g}, {recipes.rows:,} rows{gain}"
    return Design(name, "differences", recipes.draw, cases)


DESIGNS: tuple[Design, ...] = (
    *(_design(Recipes((n, n), spread)) for n in (3, 5, 10) for spread in (0.02, 0.005)),
    _design(Recipes((5, 5), 0.0)),
    _design(Recipes((3, 10), 0.02)),
    _design(Recipes((1, 5), 0.02)),
    _design(Recipes((5, 5), 0.02, 200)),
    *(_design(Recipes((n, n), 0.02, gain=gain)) for n in (3, 5, 10) for gain in (0.02, 0.04)),
)
