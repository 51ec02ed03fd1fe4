"""Recipes over seeds: how far the seeds of one spread, and whether two differ by more than their seeds do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from evenhand.core.findings import Dropped, Finding, Interval, Param, Part
from evenhand.metrics.catalogue import card_of
from evenhand.metrics.differences.counts import ComparedCounts, compared_rows
from evenhand.metrics.differences.inference import POWER, inferred
from evenhand.metrics.estimates import LEVEL, Fields, as_finding, number, part
from evenhand.stats.arrays import Floats, Pair
from evenhand.stats.paired import seeds as between_seeds
from evenhand.stats.paired.seeds import SeedEstimate

Ends = tuple[float | None, float | None]

SPREAD = "_seed_spread"
UNIT: dict[str, Param] = {"unit": "seed"}
SEEDS_ONLY = "the samples taken as given"
SEEDS_AND_SAMPLES = "seeds and samples counted"
_UNBOUNDED = ("skewsize",)  # every other summary lies in [0, 1]
_MOST_SPREAD = 0.5  # no standard deviation in [0, 1] is larger
NO_SPREAD = "all seeds gave one value, so that there is no spread to measure a difference in"


@dataclass(frozen=True)
class SeedGroup:
    """Runs of one recipe that differ in the seed only; or a single run."""

    name: str  # what they are called together
    places: tuple[int, ...]  # their places among the runs compared
    seeds: tuple[str, ...]  # what the seed of each is
    # whether the runs say their seeds; if not, seeds are numbers of runs, and not paired by them
    seeds_known: bool = True
    own_samples: bool = False  # whether each seed was asked about samples of its own
    by_user: bool = False  # whether the user made the group

    @property
    def several(self) -> bool:
        """Whether there are seeds to speak of."""
        return len(self.places) > 1


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """Values of every run by measure, and replicates of them with samples drawn again."""

    compared: ComparedCounts  # the runs' usable rows
    values: Mapping[str, Floats]  # value of each run, shape (M,), by measure; NaN where there is none
    draws: Mapping[str, Floats]  # replicates of each run's value, shape (M, R), by measure
    dropped: Sequence[Dropped] = ()  # samples left out of all

    @classmethod
    def of(cls, compared: ComparedCounts, dropped: Sequence[Dropped] = ()) -> OverSeeds:
        """All summaries of compared runs."""
        values = {metric: summary[:, 0] for metric, summary in compared.observed.items()}
        return cls(compared, values, compared.resampled, dropped)

    def spread(self, metric: str, group: SeedGroup, ends: Sequence[Ends] = ()) -> Finding:
        """Between-seed standard deviation of one measure, with each seed as a part.

        The standard deviation (``n - 1``) over two or more seeds with its chi-square interval, which holds if
        seeds are normal; ``ends`` are each seed's sampling interval, where there is one. Details: the mean
        over seeds with its interval, and ``sampling_error``, the standard error of one run by its samples.
        None where a seed has no value.
        """
        values = self.values[metric][list(group.places)]
        lacking = lacking_in(group, values)
        parts = self._parts(metric, group, ends)
        name, params = f"{metric}{SPREAD}", dict[str, Param](model=group.name)
        if lacking:
            return self._finding(name, group, params, reason=lacking, parts=parts)
        estimate = between_seeds.spread(values, LEVEL)
        middle = self.mean(metric, group)
        high = estimate.high if metric in _UNBOUNDED else max(estimate.sd, min(estimate.high, _MOST_SPREAD))
        interval = Interval(low=estimate.low, high=high, level=LEVEL, method="chi-square over seeds")
        return self._finding(
            name, group, params, value=estimate.sd, interval=interval if estimate.sd > 0 else None,
            parts=parts,
            details={
                "seeds": len(group.places), "mean": middle.value, "mean_low": middle.low,
                "mean_high": middle.high, "sampling_error": self._sampling_error(metric, group),
            },
        )  # fmt: skip

    def mean(self, metric: str, group: SeedGroup) -> SeedEstimate:
        """The mean over two or more seeds, with an interval that counts seeds and samples.

        The interval ends where the measure does: t of two seeds would put an accuracy above 1.
        """
        values = self.values[metric][list(group.places)]
        shared = self._shared(metric, np.full(values.size, 1 / values.size), [group]) or 0.0
        mean = between_seeds.mean_of(values, shared, LEVEL)
        if metric in _UNBOUNDED:
            return mean
        return replace(mean, low=max(mean.low, 0.0), high=min(mean.high, 1.0))

    def difference(self, metric: str, first: SeedGroup, second: SeedGroup, *, alpha: float = 0.05) -> Finding:
        r"""Mean over the first's seeds minus that over the second's, ``metric_difference``; fair at 0.

        Two or more seeds on both sides: Welch's t with seeds as the unit, or by seed where both have the same
        seeds and runs are paired. The variance also holds what samples do to all seeds alike, from samples
        drawn again (``stats/between_seeds``). One seed on a side: the t of a single further seed, with the
        spread of the other side. None where a seed has no value. p is None where nothing varies. ``alpha`` is
        the level of the test over the number of tests, for ``mde``.

        Source: Welch 1947; Satterthwaite 1946; Fisher 1935.
        """
        name = f"{metric}_difference"
        params: dict[str, Param] = {"model": first.name, "reference": second.name, **UNIT}
        here, there = (self.values[metric][list(group.places)] for group in (first, second))
        lacking = "; ".join(filter(None, (lacking_in(first, here), lacking_in(second, there))))
        if lacking:
            return self._finding(name, first, params, reason=lacking, second=second)
        by_seed = self.paired_by_seed(first, second)
        weights = np.r_[np.full(here.size, 1 / here.size), np.full(there.size, -1 / there.size)]
        shared = self._shared(metric, weights, [first, second], by_seed=by_seed)
        estimate, how = estimated(first, second, here, there, shared or 0.0, by_seed=by_seed)
        sources = SEEDS_ONLY if shared is None else SEEDS_AND_SAMPLES
        ends = (-math.inf, math.inf) if metric in _UNBOUNDED else (-1.0, 1.0)
        fields = uncertain(estimate, f"{how}, {sources}", alpha, ends)
        if metric == "skewsize":  # no direction of it is better, so that nothing is tested
            fields |= {"p_value": None, "mde": None}
        return self._finding(
            name, first, params, second=second, value=estimate.value, **fields,
            details={
                "compared": "same samples" if self.compared.joined else "not paired",
                **({"mix_distance": self.compared.unlike} if self.compared.standardised else {}),
                "first": here.mean(), "second": there.mean(),
                "first_seeds": here.size, "second_seeds": there.size,
                "seed_error": estimate.seed_error,
                "sample_error": None if shared is None else math.sqrt(shared),
                "paired_by": "seed" if by_seed else None, "degrees_of_freedom": estimate.df,
            },
        )  # fmt: skip

    def paired_by_seed(self, first: SeedGroup, second: SeedGroup) -> bool:
        """Whether both have the same seeds, and runs of one seed the same samples."""
        alike = (
            first.several
            and first.seeds_known
            and second.seeds_known
            and set(first.seeds) == set(second.seeds)
        )
        has_own_samples = first.own_samples and second.own_samples
        return alike and (has_own_samples or self.compared.joined)

    def _shared(
        self, metric: str, weights: Floats, groups: Sequence[SeedGroup], *, by_seed: bool = False
    ) -> float | None:
        if all(group.own_samples for group in groups if group.several):
            return 0.0
        draws = self.draws[metric][[run for group in groups for run in group.places]]
        sizes = [len(group.places) for group in groups]
        if by_seed:
            order = [groups[1].seeds.index(seed) for seed in groups[0].seeds]
            draws = draws[: sizes[0]] - draws[sizes[0] :][order]
            weights, sizes = weights[: sizes[0]], sizes[:1]
        ends = np.cumsum([0, *sizes])
        clusters = [range(start, end) for start, end in pairwise(ends.tolist())]
        return between_seeds.shared_variance(draws, weights, clusters)

    def _sampling_error(self, metric: str, group: SeedGroup) -> float | None:
        """Standard error of one run by its samples: the root of the mean variance of its replicates."""
        draws = self.draws[metric][list(group.places)]
        defined = draws[:, np.isfinite(draws).all(axis=0)]
        if defined.shape[1] < max(2, between_seeds.USABLE * draws.shape[1]):
            return None
        return float(np.sqrt(np.var(defined, axis=1, ddof=1).mean()))

    def _parts(self, metric: str, group: SeedGroup, ends: Sequence[Ends]) -> list[Part]:
        rows, names = self.compared.aligned.sizes.sum(axis=1), self.compared.names
        values = self.values[metric]
        intervals = ends or [(None, None)] * len(group.places)
        return [
            seed_part(seed, names[run], number(float(values[run])), ends, float(rows[run]))
            for run, seed, ends in zip(group.places, group.seeds, intervals, strict=True)
        ]

    def _finding(
        self, name: str, first: SeedGroup, params: dict[str, Param], *, second: SeedGroup | None = None,
        value: float | None = None, **fields: Any,
    ) -> Finding:  # fmt: skip
        aligned = self.compared.aligned
        rows = compared_rows(aligned, first.places[0])
        rows["dropped"] = [*self.dropped, *rows["dropped"]]
        against = None if second is None else second.name
        return as_finding(
            name,
            aligned.by,
            params,
            card=card_of(name),
            model=first.name,
            reference=against,
            value=value,
            **rows,
            **fields,
        )


def seed_part(seed: str, run: str, value: float | None, ends: Ends, n: float) -> Part:
    """One seed of a spread."""
    low, high = ends
    interval = None
    if low is not None and high is not None:
        interval = Interval(low=low, high=high, level=LEVEL, method="sampling interval of the run")
    return part(
        "seed", seed, value, interval=interval, n=n, details={"run": run},
        reason="undefined" if value is None else None,
    )  # fmt: skip


def lacking_in(group: SeedGroup, values: Floats) -> str:
    """Which seeds have no value; empty where all have one."""
    lacking = [seed for seed, value in zip(group.seeds, values, strict=True) if not np.isfinite(value)]
    return f"no value for seed {', '.join(lacking)} of {group.name}" if lacking else ""


def estimated(
    first: SeedGroup, second: SeedGroup, here: Floats, there: Floats, shared: float, *, by_seed: bool
) -> tuple[SeedEstimate, str]:
    """Mean over the first's seeds minus that over the second's, and how it was made.

    At least one of the two has several seeds; ``by_seed`` takes differences of equal seeds.
    """
    if by_seed:
        order = [second.seeds.index(seed) for seed in first.seeds]
        return between_seeds.mean_of(here - there[order], shared, LEVEL), "paired t over seeds"
    if first.several and second.several:
        return between_seeds.welch(here, there, shared, LEVEL), "Welch t over seeds"
    how = "t of one further seed"
    if second.several:
        return between_seeds.predicted(float(here[0]), there, shared, LEVEL), how
    turned = between_seeds.predicted(float(there[0]), here, shared, LEVEL)
    return replace(turned, value=-turned.value, low=-turned.high, high=-turned.low), how


def uncertain(estimate: SeedEstimate, how: str, alpha: float, ends: Pair = (-math.inf, math.inf)) -> Fields:
    """Interval, null band, p and smallest detectable difference; a note where nothing varies.

    ``alpha`` is the level of the test over the number of tests; the interval stays between ``ends``.
    """
    if estimate.error == 0:
        return {"notes": [NO_SPREAD]}

    def limits(level: float) -> Pair:
        reach = estimate.quantile((1 + level) / 2) * estimate.error
        return max(estimate.value - reach, ends[0]), min(estimate.value + reach, ends[1])

    return {
        **inferred(limits, estimate.value, estimate.value, how, alpha, estimate.p_value),
        "mde": number((estimate.quantile(1 - alpha / 2) + estimate.quantile(POWER)) * estimate.error),
    }
