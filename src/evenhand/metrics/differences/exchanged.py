"""Any metric of predictions, of two models: what it comes to where their answers change places at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from evenhand.core.findings import Finding
from evenhand.core.random_streams import stream
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.differences.counts import ComparedCounts
from evenhand.metrics.differences.inference import POWER
from evenhand.metrics.estimates import REPLICATES, Fields, null_band, number
from evenhand.stats.arrays import Codes, Floats, Rng, sum_by
from evenhand.stats.exchange.compared_rates import exceeded

NO_INTERVAL = "no interval: the exchange tests whether the models differ, not by how much"
OWN_SAMPLES = "no test: the models answered samples of their own, which cannot change places"
UNDEFINED = "no test: the metric has no value in too many exchanges"


@dataclass(frozen=True, eq=False)
class ExchangedAnswers:
    """Answers of two models to the same samples; what changes places is a unit as a whole, or a sample."""

    counts: Counts  # every truth, group and answer of either model in a cell
    cell: Codes  # of each entry, shape (E,)
    second: Codes  # 1 for what the second model says, shape (E,)
    n: Floats  # rows, shape (E,)
    block: Codes  # a unit; or the samples with this truth, groups and pair of answers; shape (E,)
    unit: str | None  # the column of what changes places as a whole; None: each sample does

    @classmethod
    def of(cls, compared: ComparedCounts) -> ExchangedAnswers:
        """The answers of models that are joined, by the sampling units of their rows if there are some."""
        a, units = compared.aligned, compared.units
        if units is None:
            block = np.tile(np.arange(a.n.size), 2)
            truth, group, n = (np.tile(values, 2) for values in (a.truth, a.group, a.n))
            answer, second = a.answers.ravel(), np.repeat([0, 1], a.n.size)
        else:
            rows = units.rows
            truth = np.unique(a.truth)[np.concatenate([entries.label for entries in rows])]
            group, answer, block, n = (
                np.concatenate([getattr(entries, name) for entries in rows])
                for name in ("group", "prediction", "unit", "n")
            )
            second = np.repeat([0, 1], [entries.n.size for entries in rows])
        keys, cell = np.unique(np.stack([truth, group, answer]), axis=1, return_inverse=True)
        numbered = np.arange(1.0, 1 + keys.shape[1])
        cells = replace(a, truth=keys[0], group=keys[1], answers=keys[2:], n=numbered[None]).counts_of(0)
        position = np.argsort(cells.n)  # of each key among the cells of the counts
        name = None if units is None else compared.singles[0].cluster
        return cls(cells, position[cell.ravel()], second, n.astype(np.float64), block, name)

    def exchanged(self, rng: Rng) -> tuple[Counts, Counts]:
        """Counts of both models after each unit, or each sample, changed places with probability 1/2."""
        if self.unit is None:
            rows = self.n[self.second == 0].astype(np.int64)
            moved = np.tile(rng.binomial(rows, 0.5), 2).astype(np.float64)
        else:
            moved = self.n * rng.integers(0, 2, int(self.block.max()) + 1)[self.block]
        first = np.where(self.second, moved, self.n - moved)
        return self._counted(first), self._counted(self.n - first)

    def _counted(self, rows: Floats) -> Counts:
        n = sum_by(self.cell, rows, self.counts.n.size).astype(np.int64)
        return replace(self.counts, codes=self.counts.codes[:, n > 0], n=n[n > 0], memo={})


def exchange_test(
    compared: ComparedCounts, metric: Callable[[Any], Finding], purpose: str, value: float, alpha: float
) -> Fields:
    """P, null band and smallest detectable difference of a metric of two models, ``value`` apart.

    Under the hypothesis that nothing depends on which model answered, answers change places in every sample,
    or in every sampling unit, with probability 1/2; ``p = (1 + b) / (1 + B)``, where b of B = 999 differences
    are at least as far from 0; those without a value, at most a tenth, are left out. ``alpha`` is the level
    of the strictest test, ``purpose`` tells the draws of metrics apart. Source: Fisher 1935, chapter 3.
    """
    if not compared.joined:
        return {"notes": [OWN_SAMPLES]}
    answers = ExchangedAnswers.of(compared)
    rng = stream(compared.seed, "models", "exchanged", "+".join(compared.aligned.by), purpose)
    draws = np.empty(REPLICATES)
    for draw in range(REPLICATES):
        first, second = (_value(metric(counts)) for counts in answers.exchanged(rng))
        draws[draw] = first - second
    method = f"models exchanged by {answers.unit or 'sample'}"
    null = null_band(draws, method=method, seed=compared.seed, mean=0.0)
    if null is None:
        return {"notes": [UNDEFINED]}
    draws = draws[np.isfinite(draws)]
    quantiles = float(special.ndtri(1 - alpha / 2) + special.ndtri(POWER))
    return {
        "p_value": exceeded(abs(value), np.abs(draws)), "null": null, "notes": [NO_INTERVAL],
        "mde": number(quantiles * float(np.sqrt(np.mean(draws**2)))),
    }  # fmt: skip


def values_of_both(compared: ComparedCounts, metric: Callable[[Any], Finding]) -> Floats:
    """The metric of both models on the rows compared, NaN where it has no value, shape (2,)."""
    return np.array([_value(metric(counts)) for counts in compared.singles])


def _value(finding: Finding) -> float:
    return np.nan if finding.value is None else finding.value
