"""Right answers of two models by what was sampled as a whole, such as persons: limits and tests by these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import CLUSTER
from evenhand.metrics.estimates import joint_p
from evenhand.stats.arrays import Codes, Ends, Floats, Pair, Rng, keys_and_codes, pair_of, sum_by
from evenhand.stats.paired.differences import Paired
from evenhand.stats.rates.clustered import ClusterMean
from evenhand.stats.rates.differences import p_of_limits
from evenhand.stats.rates.rates import Rates, mean_limits

_STORED, _UNIT = "attribute:", "cluster:"


@dataclass(frozen=True, eq=False)
class UnitAnswers:
    """Rows of two models by class, group and sampling unit.

    Units of one name are one, in whichever model's rows they occur: their deviations go together.
    """

    name: str  # the column of units
    keys: pl.DataFrame  # truth and attributes of each entry
    unit: Codes  # from 0, shape (E,)
    right: Floats  # right answers of each model, shape (2, E)
    rows: Floats  # rows of each model, shape (2, E)
    joined: bool  # whether both answered the same rows

    @classmethod
    def of(cls, singles: Sequence[Counts], by: Sequence[str], *, is_joined: bool) -> UnitAnswers | None:
        """From the counts of each model; None where these hold no clusters."""
        name = singles[0].cluster
        if name is None:
            return None
        columns, parts = ["truth", *by, _UNIT], []
        for model, counts in enumerate(singles):
            table = counts.project(list(by)).to_frame()
            table = table.rename({f"{_STORED}{key}": key for key in by} | {CLUSTER + name: _UNIT})
            hits = pl.col("n") * (pl.col("truth") == pl.col("prediction")).cast(pl.Float64)
            totals = table.group_by(columns).agg(right=hits.sum(), rows=pl.col("n").sum())
            parts.append(totals.rename({"right": f"right {model}", "rows": f"rows {model}"}))
        merged = parts[0].join(parts[1], on=columns, how="full", coalesce=True).sort(columns)
        numbers = merged.drop(columns).fill_null(0).cast(pl.Float64)
        unit = merged[_UNIT].rank("dense").cast(pl.Int64).to_numpy() - 1
        right, rows = (
            np.stack([numbers[f"{kind} {model}"].to_numpy() for model in (0, 1)])
            for kind in ("right", "rows")
        )
        return cls(name, merged.select("truth", *by), unit, right, rows, is_joined)

    @property
    def units(self) -> int:
        """How many there are."""
        return int(self.unit.max(initial=-1)) + 1

    def weighted(self, weights: Floats) -> UnitAnswers:
        """The same with each entry counted so often for each model, shape (2, E)."""
        return replace(self, right=self.right * weights, rows=self.rows * weights)

    def _means(self, codes: Codes, k: int) -> list[list[ClusterMean]]:
        """The accuracy of each model in each of k classes or groups; entries of code -1 are in none."""
        width, means = self.units, []
        for right, rows in zip(self.right, self.rows, strict=True):
            model_means = []
            for code in range(k):
                some = np.flatnonzero((codes == code) & (rows > 0))
                there, at = keys_and_codes(self.unit[some])
                sums, sizes = (sum_by(at, numbers[some], there.size) for numbers in (right, rows))
                model_means.append(ClusterMean.of(sums, sizes, sizes, there.astype(np.int64), width))
            means.append(model_means)
        return means

    def rates(self, codes: Codes, k: int) -> list[Rates]:
        """Accuracies of each model, shape (k,)."""
        return [Rates.of_clusters(model_means) for model_means in self._means(codes, k)]

    def changes(self, codes: Codes, k: int, rng: Rng) -> UnitChanges:
        """How far the models differ in each of k classes or groups."""
        merged = []
        for first, second in zip(*self._means(codes, k), strict=True):
            rates = Rates.of_clusters([first, second])
            if rates.covariance is not None:  # as if one more unit had moved each way
                least = min(first.effective, second.effective)
                off = np.where(np.eye(2, dtype=bool), 1.0, least / (least + 2))
                rates = replace(rates, covariance=rates.covariance * off)
            merged.append(rates)
        flips: list[Floats] = []
        if self.joined:
            apart = self.right[0] - self.right[1]
            flips = [
                np.bincount(self.unit[codes == code], apart[codes == code], self.units).astype(np.float64)
                for code in range(k)
            ]
        return UnitChanges(merged, flips, rng)


@dataclass(frozen=True, eq=False)
class UnitChanges:
    """Differences in accuracy of k classes or groups, by units."""

    pairs: Sequence[Rates]  # both models' rate of each
    flips: Sequence[Floats]  # what each unit adds to each difference, where both answered the same rows
    rng: Rng

    def interval(self, level: float | Floats) -> Ends:
        """MOVER limits of each difference, Wilson's of both rates at their effective size, with t."""
        levels = np.broadcast_to(level, len(self.pairs)).tolist()
        ends = [self._limits(code, at) for code, at in enumerate(levels)]
        low, high = np.array(ends).reshape(-1, 2).T
        return low, high

    def _limits(self, code: int, level: float) -> Pair:
        rates = self.pairs[code]
        if np.isnan(rates.value).any() or not (rates.size > 0).all():  # below two units
            return np.nan, np.nan
        return pair_of(mean_limits(rates, np.array([1.0, -1.0]), level, hidden=0.0), -1.0, 1.0)

    @property
    def p(self) -> Floats:
        """Signs of whole units flipped where both answered the same rows; at least as the limits have it."""
        p_values = np.array([self._p(code) for code in range(len(self.pairs))])
        return p_values.reshape(len(self.pairs))

    def _p(self, code: int) -> float:
        def limits(level: float) -> Pair:
            return self._limits(code, level)

        if np.isnan(self._limits(code, 0.95)).any():
            return np.nan
        if not self.flips:
            return p_of_limits(limits)
        return float(joint_p(Paired.of(self.flips[code], self.rng).p_value, 0.0, limits) or np.nan)
