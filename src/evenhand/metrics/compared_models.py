"""One classifier against another: differences of SkewSize, effect sizes and accuracy, tested by exchange."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.bound import BoundMetric
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.core.results import Dropped, Finding, GroupSize, Interval, Param
from evenhand.core.seeds import stream
from evenhand.evidence.counts import PREDICTIONS, Counts
from evenhand.evidence.paired_predictions import Aligned
from evenhand.metrics.building import null_band, number, percentile_interval
from evenhand.metrics.class_effects import EffectOptions, class_effects, summary_ends
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.metrics.prepared import LEVEL, REPLICATES, By, Prepared, names_of
from evenhand.stats import exchanged
from evenhand.stats.exchanged import SUMMARIES, ComparedClass, Drawn, JointClass, SeparateClass

Floats = npt.NDArray[np.float64]
Both = Counts | tuple[Counts, Counts]

_TWO_SIDED = 1.959963984540054  # standard errors of a 95 % interval
POWER = 0.8  # of the minimum detectable difference
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
        singles: Counts of each model over the same rows.
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
            aligned = Aligned.of_joined(table, groups, PREDICTIONS)
            joined = _counts(table.drop_nulls(), groups, PREDICTIONS)
            return cls(aligned, (joined.of_first(), joined.of_second()), tuple(names), seed)
        singles = tuple(one.project(groups) for one in evidence)
        tables = [one.table() for one in singles]
        return cls(Aligned.of_separate(tables, groups, names), singles, tuple(names), seed)

    @property
    def joined(self) -> bool:
        """Whether every sample was answered by all models."""
        return self.aligned.joined

    @cached_property
    def classes(self) -> list[ComparedClass]:
        """The true classes that have rows."""
        a = self.aligned
        starts = np.flatnonzero(np.r_[True, np.diff(a.truth) != 0])
        cuts = [slice(*ends) for ends in zip(starts, np.append(starts[1:], a.truth.size), strict=True)]
        if a.joined:
            return [JointClass(int(a.truth[c.start]), a.group[c], a.answers[:, c], a.n[c]) for c in cuts]
        return [SeparateClass(int(a.truth[c.start]), a.group[c], a.answers[0, c], a.n[:, c]) for c in cuts]

    @cached_property
    def observed(self) -> Drawn:
        """Every summary of each model, shape (M, 1)."""
        return exchanged.observed(self.classes, self.aligned.sizes)

    def drawn(self, how: str, replicates: int) -> Drawn:
        """Replicates of every summary of each model, shape (M, replicates)."""
        labels = [str(self.aligned.labels[one.cells.label]) for one in self.classes]
        by = "+".join(self.aligned.by)

        def streams(place: int, start: int) -> np.random.Generator:
            return stream(self.seed, "models", how, by, labels[place], start)

        return exchanged.replicated(self.classes, self.aligned.sizes, how, replicates, streams)


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
    metric, if the two models' answers are alike in distribution. p is ``(1 + b) / (1 + B)``, B from
    ``exchanges_for``. Interval: see each finding's method; that of SkewSize is descriptive, those of effect
    sizes are conservative. ``mde`` is the difference that is found with power .8:
    ``(z_{1 - alpha/2} + z_{.8})`` standard deviations of the null.

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
        value for one of them. Details hold the two models' values on the rows compared.

    Raises:
        UserError: Unknown attributes or metrics, or no usable row.

    Source: permutation of pairs, Good 2005, chapter 3; Zou and Donner 2008 for intervals of effect sizes.
    """
    for metric in metrics:
        if metric not in SUMMARIES:
            raise UnknownName("metric to compare", metric, SUMMARIES)
    compared = Compared.of(evidence, by, names, seed)
    exchanges = exchanges_for(family, alpha)
    null, again = compared.drawn("exchanged", exchanges), compared.drawn("resampled", REPLICATES)
    return [_finding(compared, metric, null[metric], again[metric], alpha) for metric in metrics]


def _finding(compared: Compared, metric: str, null: Floats, again: Floats, alpha: float) -> Finding:
    from scipy import special

    aligned, first, second = compared.aligned, *compared.names
    values = compared.observed[metric][:, 0]
    value = number(float(values[0] - values[1]))
    fields: dict[str, Any] = {}
    if value is None:
        lacking = [name for name, one in zip(compared.names, values, strict=True) if not np.isfinite(one)]
        fields["reason"] = f"no value for {' and '.join(lacking)}"
    else:
        draws = null[0] - null[1]
        spread = float(np.nanstd(draws)) if np.isfinite(draws).any() else 0.0
        how = "answers of each sample exchanged" if aligned.joined else "rows dealt again within class, group"
        fields = {
            "interval": _interval(compared, metric, value, again),
            "null": null_band(draws, level=LEVEL, method=how, seed=compared.seed),
            "p_value": exchanged.exchange_p(draws, value, symmetric=exchanged.symmetric(compared.classes)),
            "mde": number(spread * float(special.ndtri(1 - alpha / 2) + special.ndtri(POWER))) or None,
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
        groups=[GroupSize(key=_key(key), n=n) for key, n in zip(aligned.groups, sizes[0], strict=True)],
        dropped=[Dropped(reason=reason, count=count) for reason, count in aligned.dropped],
        direction=definition.direction,
        fair_at=definition.fair_at,
        source=definition.source,
        details={
            "compared": "same samples" if aligned.joined else "not paired",
            "first": number(float(values[0])),
            "second": number(float(values[1])),
        },
        **fields,
    )


def _interval(compared: Compared, metric: str, value: float, again: Floats) -> Interval | None:
    """Bounds of effect sizes put together; else from rows drawn again within class and group."""
    if metric in _OF_EFFECTS:
        return _of_ends(compared, metric)
    paired = "paired bootstrap" if compared.joined else "bootstrap of each model"
    draws = again[0] - again[1]
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
    ends = []
    for counts in compared.singles:
        prepared = Prepared.of(counts, compared.aligned.by, compared.seed)
        low, high, _ = summary_ends(prepared, plain, class_effects(prepared, plain), summary, level)
        values = class_effects(prepared, without_noise).values
        known = values[~np.isnan(values)]
        if not known.size:
            return None
        middle = float(summarise(known))
        ends.append((low, min(max(middle, low), high), high))
    (a_low, a, a_high), (b_low, b, b_high) = ends
    return Interval(
        low=a - b - math.hypot(a - a_low, b_high - b),
        high=a - b + math.hypot(a_high - a, b - b_low),
        level=LEVEL,
        method="from the bounds of both models without noise (Zou and Donner), conservative",
    )


def _key(group: Sequence[object]) -> str | list[str]:
    texts = [str(value) for value in group]
    return texts[0] if len(texts) == 1 else texts


def _counts(table: pl.DataFrame, by: Sequence[str], columns: Sequence[str]) -> Counts:
    return Counts.from_table(table, {name: name for name in ("truth", *by, *columns)})
