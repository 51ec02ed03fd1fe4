"""One classifier against another: differences of SkewSize, effect sizes and accuracy, tested by exchange."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.bound import BoundMetric
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.core.results import Dropped, Finding, GroupSize, Interval, Param
from evenhand.core.seeds import stream
from evenhand.evidence.counts import PREDICTIONS, Counts
from evenhand.evidence.paired_predictions import Aligned
from evenhand.metrics.building import null_band, number, percentile_interval
from evenhand.metrics.class_effects import class_effects, summary_ends
from evenhand.metrics.compared_parts import (
    MOST_KEPT,
    PairOfModels,
    accuracy_changes,
    effect_size_changes,
    key_of,
)
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.metrics.effect_options import EffectOptions
from evenhand.metrics.prepared import LEVEL, REPLICATES, By, Prepared, names_of
from evenhand.stats import exchanged
from evenhand.stats.exchanged import SUMMARIES, ComparedClass, Drawn, JointClass, SeparateClass
from evenhand.stats.skewness import p_with_spread

Floats = npt.NDArray[np.float64]
Both = Counts | tuple[Counts, Counts]

_TWO_SIDED = 1.959963984540054  # standard errors of a 95 % interval
POWER = 0.8  # of the minimum detectable difference
_SAME_MIX = 1e-9
_BY_CLASS = "cramers_v_mean"  # the summary whose parts are the classes' effect sizes
WIDENED = "as wide as samples drawn again make the difference"
WEIGHTS = "harmonic mean of the models' rows in each class and group"
_OF_EFFECTS: dict[str, tuple[str, float, Callable[[Floats], np.floating[Any]]]] = {
    "cramers_v_mean": ("mean", 0.9, np.mean),  # its bounds err at a quarter of 1 - level: z = 1.96 at .9
    "cramers_v_median": ("median", LEVEL, np.median),
    "cramers_v_max": ("largest", LEVEL, np.max),
}


@dataclass(frozen=True, eq=False)
class Compared:
    """Two or more models over one grouping, bound to a seed.

    Attributes:
        aligned: Their usable rows.
        singles: Counts of each model over these rows.
        names: What the models are called.
        seed: The user's one seed.
    """

    aligned: Aligned
    singles: tuple[Counts, ...]
    names: tuple[str, ...]
    seed: int = 0

    @classmethod
    def of(cls, evidence: Both, by: By, names: Sequence[str], seed: int = 0) -> Compared:
        """Bind counts of two models: on the same samples (``prediction_b``), or one after the other.

        Raises:
            UserError: Counts of one model only, an unknown attribute, no usable row.
        """
        groups = names_of(by)
        if not groups:
            raise ParameterError("models are compared by groups: name at least one attribute with by=")
        if isinstance(evidence, Counts):
            if not evidence.paired:
                raise ParameterError("counts of one model cannot be compared; give two, or joined ones")
            table = evidence.project(groups).table()
            return cls.over(Aligned.of_joined(table, groups, PREDICTIONS), names, seed)
        tables = [one.project(groups).table() for one in evidence]
        return cls.over(Aligned.of_separate(tables, groups, names), names, seed)

    @classmethod
    def over(cls, aligned: Aligned, names: Sequence[str], seed: int = 0) -> Compared:
        """Models over rows that are aligned."""
        singles = tuple(aligned.counts_of(place) for place in range(len(names)))
        return cls(aligned, singles, tuple(names), seed)

    @property
    def joined(self) -> bool:
        """Whether every sample was answered by all models."""
        return self.aligned.joined

    @cached_property
    def _mix(self) -> tuple[Floats, Floats]:
        """Rows of each cell's class and group, and their weight in the common mix, each counted once."""
        a = self.aligned
        cell, place = np.unique(a.truth * len(a.groups) + a.group, return_inverse=True)
        rows = np.stack([np.bincount(place, n, cell.size) for n in np.atleast_2d(a.n)]).astype(np.float64)
        return rows, (len(rows) / (1 / rows).sum(axis=0))[place]

    @cached_property
    def unlike(self) -> float:
        """The largest share of a model's rows that another has in other classes and groups, in [0, 1]."""
        rows = self._mix[0]
        shares = rows / rows.sum(axis=1, keepdims=True)
        return float(max(0.5 * np.abs(shares - one).sum(axis=1).max() for one in shares))

    @property
    def standardised(self) -> bool:
        """Whether rows are weighted, because models have other mixes of classes and groups."""
        return self.unlike > _SAME_MIX

    @property
    def sizes(self) -> Floats:
        """What each group counts for each model, shape (M, Z): its rows, or its weight in the common mix."""
        a = self.aligned
        if not self.standardised:
            return a.sizes
        first = np.unique(a.truth * len(a.groups) + a.group, return_index=True)[1]
        weights = np.bincount(a.group[first], self._mix[1][first], len(a.groups))
        return np.tile(weights, (len(a.n), 1))

    @cached_property
    def classes(self) -> list[ComparedClass]:
        """The true classes that have rows, in the common mix."""
        return self._classes(self._mix[1] if self.standardised else None)

    def _classes(self, weights: Floats | None) -> list[ComparedClass]:
        a = self.aligned
        starts = np.flatnonzero(np.r_[True, np.diff(a.truth) != 0])
        cuts = [slice(*ends) for ends in zip(starts, np.append(starts[1:], a.truth.size), strict=True)]
        if a.joined:
            return [JointClass(int(a.truth[c.start]), a.group[c], a.answers[:, c], a.n[c]) for c in cuts]
        return [
            SeparateClass(
                int(a.truth[c.start]), a.group[c], a.answers[0, c], a.n[:, c],
                None if weights is None else weights[c],
            )
            for c in cuts
        ]  # fmt: skip

    @cached_property
    def observed(self) -> Drawn:
        """Every summary of each model in the common mix, shape (M, 1)."""
        return exchanged.observed(self.classes, self.sizes)

    @cached_property
    def own(self) -> Drawn:
        """Every summary of each model in its own mix, shape (M, 1)."""
        return exchanged.observed(self._classes(None), self.aligned.sizes)

    @cached_property
    def resampled(self) -> Drawn:
        """Bootstrap replicates of every summary of each model, shape (M, replicates)."""
        return self.drawn("resampled", REPLICATES)

    def factor(self, metric: str, place: int) -> float:
        """An effect size in the common mix over that in a model's own mix."""
        own = float(self.own[metric][place, 0]) if self.standardised else 0.0
        return float(self.observed[metric][place, 0]) / own if own > 0 else 1.0

    def drawn(self, how: str, replicates: int, kept: Floats | None = None) -> Drawn:
        """Replicates of every summary of each model, shape (M, replicates); see ``exchanged.replicated``."""
        labels = [str(self.aligned.labels[one.cells.label]) for one in self.classes]
        by = "+".join(self.aligned.by)

        def streams(place: int, start: int) -> np.random.Generator:
            return stream(self.seed, "models", how, by, labels[place], start)

        return exchanged.replicated(self.classes, self.sizes, how, replicates, streams, kept)


def exchanges_for(family: int, alpha: float) -> int:
    """Exchanges that let the smallest p pass Holm over a family, with as much again: 999 or more."""
    return max(REPLICATES, 100 * math.ceil(2 * family / alpha / 100) - 1)


def model_differences(
    evidence: Both,
    *,
    by: By,
    names: Sequence[str] = ("first", "second"),
    metrics: Sequence[str] = SUMMARIES,
    family: int = 1,
    alpha: float = 0.05,
    seed: int = 0,
) -> list[Finding]:
    r"""Every summary of one model minus that of another, ``metric_difference``; fair at 0.

    Test: where both answered the same samples, the two answers of each sample change places with probability
    1/2; elsewhere the rows of each class and group are dealt to the models again. Either holds whatever the
    metric, if the two models' answers are alike in distribution within class and group. p is
    ``(1 + b) / (1 + B)``, B from ``exchanges_for``. Null band and p of SkewSize are no narrower than its
    difference spreads with samples drawn again (``p_with_spread``). Interval: see each finding's method; that
    of SkewSize is descriptive, those of effect sizes are conservative. ``mde`` is how far from the null's
    mean a difference must lie to be found with power .8 by the strictest step of Holm:
    ``(z_{1 - alpha/(2 family)} + z_{.8})`` standard deviations of the null.

    Mix: models that answered other rows may have other shares of classes and groups. Both are then weighted
    to one mix, ``w = 2 / (1/n_1 + 1/n_2)`` of each class and group (Cochran; Mantel and Haenszel), so that
    value, interval, null and p all leave the mix out; classes and groups that one has not are dropped.

    Args:
        evidence: Counts with the axis ``prediction_b``, or Counts of each model.
        by: Attribute, or list of attributes to cross.
        names: What the two models are called.
        metrics: Some of ``SUMMARIES``.
        family: How many tests of one metric are corrected together.
        alpha: Level of the tests.
        seed: Of every random stream.

    Returns:
        One Finding for each metric: first minus second, in the metric's units. None where the metric has no
        value for one of them. Parts of ``accuracy_difference`` are classes and groups, those of
        ``cramers_v_mean_difference`` classes; see ``compared_parts``. Details hold the two models' values on
        the rows compared, and where mixes differ by how much (``mix_distance``, the share of rows that would
        have to move) and the values in each model's own mix.

    Raises:
        UserError: Unknown attributes or metrics, or no usable row.

    Source: permutation of pairs, Good 2005, chapter 3; Zou and Donner 2008 for intervals of effect sizes;
    Mantel and Haenszel 1959 for weights.
    """
    for metric in metrics:
        if metric not in SUMMARIES:
            raise UnknownName("metric to compare", metric, SUMMARIES)
    compared = Compared.of(evidence, by, names, seed)
    exchanges = exchanges_for(family, alpha)
    size = (len(compared.classes), exchanges)
    kept = np.empty(size) if _BY_CLASS in metrics and math.prod(size) <= MOST_KEPT else None
    null = compared.drawn("exchanged", exchanges, kept)
    found = [_finding(compared, metric, null[metric], alpha / family) for metric in metrics]
    pair = PairOfModels(compared.aligned, compared.classes, compared.singles, alpha, family, seed)
    return [_in_parts(one, pair, kept) for one in found]


def _in_parts(finding: Finding, pair: PairOfModels, kept: Floats | None) -> Finding:
    """A difference with what it is made of: classes for effect sizes, classes and groups for accuracy."""
    if finding.name == "accuracy_difference":
        return finding.model_copy(update={"parts": accuracy_changes(pair)})
    if finding.name != f"{_BY_CLASS}_difference":
        return finding
    if kept is None:
        details = {**finding.details, "classes_without_parts": float(len(pair.classes))}
        return finding.model_copy(update={"details": details})
    return finding.model_copy(update={"parts": effect_size_changes(pair, kept)})


def _finding(compared: Compared, metric: str, null: Floats, alpha: float) -> Finding:
    aligned, first, second = compared.aligned, *compared.names
    values = compared.observed[metric][:, 0]
    value = number(float(values[0] - values[1]))
    if value is None:
        lacking = [name for name, one in zip(compared.names, values, strict=True) if not np.isfinite(one)]
        fields: dict[str, Any] = {"reason": f"no value for {' and '.join(lacking)}"}
    else:
        fields = {
            "interval": _interval(compared, metric, value),
            **_beside_noise(compared, metric, value, null[0] - null[1], alpha),
        }
    name = f"{metric}_difference"
    params: dict[str, Param] = {"model": first, "reference": second}
    definition = DEFINITIONS[name]
    sizes = aligned.sizes
    return Finding(
        metric=str(BoundMetric.make(name, aligned.by, params)),
        name=name,
        params=params,
        model=first,
        reference=second,
        by=list(aligned.by),
        value=value,
        n=float(sizes[0].sum()),
        groups=[GroupSize(key=key_of(key), n=n) for key, n in zip(aligned.groups, sizes[0], strict=True)],
        dropped=[Dropped(reason=reason, count=count) for reason, count in aligned.dropped],
        direction=definition.direction,
        fair_at=definition.fair_at,
        source=definition.source,
        details={
            "compared": "same samples" if aligned.joined else "not paired",
            "first": number(float(values[0])),
            "second": number(float(values[1])),
            **_mix_told(compared, metric),
        },
        **fields,
    )


def _beside_noise(
    compared: Compared, metric: str, value: float, draws: Floats, alpha: float
) -> dict[str, Any]:
    """Null band, p and minimum detectable difference, of differences under exchange.

    SkewSize's are no narrower than samples drawn again make its difference: see ``p_with_spread``.
    """
    from scipy import special

    how = "answers of each sample exchanged" if compared.joined else "rows dealt again within class, group"
    spread = _spread(draws)
    band = null_band(draws, level=LEVEL, method=how, seed=compared.seed)
    p = exchanged.exchange_p(draws, value, symmetric=exchanged.symmetric(compared.classes))
    if metric == "skewsize" and band is not None and p is not None:
        moved = _spread(compared.resampled[metric][0] - compared.resampled[metric][1])
        if moved > spread:
            reach, spread = _TWO_SIDED * moved, moved
            ends = {"low": band.mean - reach, "high": band.mean + reach, "method": f"{how}, {WIDENED}"}
            band, p = band.model_copy(update=ends), p_with_spread(p, value - band.mean, moved)
    mde = spread * float(special.ndtri(1 - alpha / 2) + special.ndtri(POWER))
    return {"null": band, "p_value": p, "mde": number(mde) or None}


def _spread(draws: Floats) -> float:
    return float(np.nanstd(draws)) if np.isfinite(draws).any() else 0.0


def _mix_told(compared: Compared, metric: str) -> dict[str, float | str | None]:
    """What was done about other mixes of classes and groups; nothing where they are alike."""
    if not compared.standardised:
        return {}
    first, second = (number(float(one)) for one in compared.own[metric][:, 0])
    return {
        "weights": WEIGHTS, "mix_distance": compared.unlike, "first_own_mix": first,
        "second_own_mix": second, "second_rows": float(compared.aligned.sizes[1].sum()),
    }  # fmt: skip


def _interval(compared: Compared, metric: str, value: float) -> Interval | None:
    """Bounds of effect sizes put together; else from rows drawn again within class and group."""
    if metric in _OF_EFFECTS:
        return _of_ends(compared, metric)
    paired = "paired bootstrap" if compared.joined else "bootstrap of each model"
    draws = compared.resampled[metric][0] - compared.resampled[metric][1]
    found = percentile_interval(
        draws, level=LEVEL, method=f"{paired} within class and group", seed=compared.seed
    )
    if found is None or metric != "skewsize":
        return found
    reach = _TWO_SIDED * float(np.nanstd(draws))
    update = {"low": value - reach, "high": value + reach, "method": f"{found.method}, descriptive"}
    return found.model_copy(update=update)


def _of_ends(compared: Compared, metric: str) -> Interval | None:
    """Zou and Donner's interval of a difference, from bounds of the two models' population values.

    Models are taken as independent, which widens it where they err on the same samples. None where a model
    has no class whose corrected effect size is defined, such as with one row a group.
    """
    summary, level, summarise = _OF_EFFECTS[metric]
    plain = EffectOptions.make("separation", {"inference": "none"})
    without_noise = EffectOptions.make("separation", {"inference": "none", "statistic": "bergsma"})
    ends: list[tuple[float, float, float]] = []
    for place, counts in enumerate(compared.singles):
        prepared = Prepared.of(counts, compared.aligned.by, compared.seed)
        low, high, _ = summary_ends(prepared, plain, class_effects(prepared, plain), summary, level)
        values = class_effects(prepared, without_noise).values
        known = values[~np.isnan(values)]
        if not known.size:
            return None
        middle = float(summarise(known))
        factor = compared.factor(metric, place)
        ends.append((factor * low, factor * min(max(middle, low), high), factor * high))
    (a_low, a, a_high), (b_low, b, b_high) = ends
    return Interval(
        low=a - b - math.hypot(a - a_low, b_high - b),
        high=a - b + math.hypot(a_high - a, b - b_low),
        level=LEVEL,
        method="from the bounds of both models without noise (Zou and Donner), conservative",
    )
