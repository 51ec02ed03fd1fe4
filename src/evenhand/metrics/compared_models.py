"""One classifier against another: differences of SkewSize, effect sizes and accuracy, with their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import UnknownName
from evenhand.core.results import Finding, Interval
from evenhand.evidence.counts import Counts
from evenhand.metrics.building import as_finding, number
from evenhand.metrics.class_effects import summary_limits
from evenhand.metrics.compared_counts import Both, Compared, compared_rows
from evenhand.metrics.compared_inference import inferred, made_by
from evenhand.metrics.compared_parts import (
    APART,
    OF_EFFECTS,
    PAIRED,
    Accuracies,
    PairOfModels,
    accuracy_changes,
    effect_size_changes,
    shares_of,
)
from evenhand.metrics.prepared import LEVEL, By
from evenhand.stats.differences import gap_limits, worst_limits
from evenhand.stats.model_summaries import SUMMARIES
from evenhand.stats.two_figures import Figure, mover

Floats = npt.NDArray[np.float64]

_BY_CLASS = "cramers_v_mean"  # the summary whose parts are the classes' effect sizes
WEIGHTS = "harmonic mean of the models' rows in each class and group"
SIDE_BY_SIDE = "the skewness of two models is shown side by side, without interval and test"
NO_CLUSTERS = (
    "no interval and p: rows were sampled in clusters ({}), and a comparison takes rows as independent; "
    "audits without --cluster are compared with both"
)
_WITHOUT: dict[str, None] = dict.fromkeys(("interval", "null", "p_value", "p_adjusted", "corrected"))
_OF_EFFECTS = {"cramers_v_mean": "mean", "cramers_v_median": "median", "cramers_v_max": "largest"}
_OF_GROUPS = "from the limits of both models over all groups (MOVER, Zou and Donner)"


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

    * accuracy: on the same samples McNemar's exact test and Bonett and Price's interval; else right answers
      dealt to the models again within class and group (Cochran, Mantel and Haenszel), Newcombe's interval.
    * worst group, gap: limits of each model's figure over all groups, put together by MOVER.
    * effect sizes: ``corrected`` is the difference of the bias-corrected values, so that the noise of the
      less accurate model does not count; its limits are those of both models, put together by MOVER.
    * SkewSize: the two values side by side, without interval and test.

    Where MOVER is used, the correlation of the models' figures is that of resamples of the same samples, and
    0 for samples of their own; p is that of the level at which the interval leaves 0 out, so that the two
    cannot contradict each other. The null band is where the interval would hold 0, around what noise alone
    adds to the difference. ``mde`` is how far from 0 a difference must lie to be found with power .8 by the
    strictest step of Holm: ``(z_{1 - alpha/(2 family)} + z_{.8})`` standard errors, of which the interval is
    ``2 z_{.975}`` wide.

    Mix: models that answered other rows may have other shares of classes and groups. Both are then weighted
    to one mix, ``w = 2 / (1/n_1 + 1/n_2)`` of each class and group (Cochran; Mantel and Haenszel), so that
    value, interval and p all leave the mix out; classes and groups that one has not are dropped.

    Args:
        evidence: Counts with the axis ``prediction_b``, or Counts of each model. Where rows come in clusters
            there are values alone, without interval and p.
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

    Source: McNemar 1947; Bonett and Price 2012; Newcombe 1998; Zou and Donner 2008 (MOVER); Mantel and
    Haenszel 1959 for weights.
    """
    for metric in metrics:
        if metric not in SUMMARIES:
            raise UnknownName("metric to compare", metric, SUMMARIES)
    compared = Compared.of(evidence, by, names, seed)
    pair = PairOfModels(compared.aligned, compared.classes, compared.singles, seed)
    work = _Differences(compared, pair, _clusters(evidence))
    return [work.finding(metric, alpha / family) for metric in metrics]


def _clusters(evidence: Both) -> str:
    """Columns that rows were sampled by as wholes; empty where they were sampled one by one."""
    both = (evidence,) if isinstance(evidence, Counts) else evidence
    return ", ".join(dict.fromkeys(one.cluster for one in both if one.cluster is not None))


@dataclass(frozen=True, eq=False)
class _Inferred:
    """What limits and p of a difference are made of.

    Attributes:
        limits: From a level to the limits; NaN where there are none.
        middle: What they are limits of: the corrected difference, or the value itself.
        method: How they are made.
        p: None: that of the limits.
    """

    limits: Callable[[float], tuple[float, float]]
    middle: float
    method: str
    p: float | None = None


@dataclass(frozen=True, eq=False)
class _Differences:
    """The findings of two models, metric by metric."""

    compared: Compared
    pair: PairOfModels
    clusters: str

    def finding(self, metric: str, alpha: float) -> Finding:
        """One metric of the first model minus that of the second."""
        compared, notes = self.compared, list[str]()
        values = compared.observed[metric][:, 0]
        value = number(float(values[0] - values[1]))
        lacking = [name for name, one in zip(compared.names, values, strict=True) if not np.isfinite(one)]
        fields: dict[str, Any] = {}
        make: Callable[[float], Interval | None] | None = None
        if value is None:
            fields["reason"] = f"no value for {' and '.join(lacking)}"
        elif metric == "skewsize":
            notes = [SIDE_BY_SIDE]
        elif self.clusters:
            notes = [NO_CLUSTERS.format(self.clusters)]
        else:
            known = self._inferred(metric, value)
            make = made_by(known.limits, known.method)
            fields = inferred(known.limits, value, known.middle, known.method, alpha, known.p)
            fields["corrected"] = known.middle if metric in _OF_EFFECTS else None
        parts = self._parts(metric)
        if self.clusters:
            parts = [part.model_copy(update=_WITHOUT) for part in parts]
        return _built(compared, metric, value, values, notes=notes, parts=parts, limits=make, **fields)

    def _inferred(self, metric: str, value: float) -> _Inferred:
        if metric == "accuracy":
            return self._accuracy(value)
        of = self._effects if metric in _OF_EFFECTS else self._groups
        first, second = of(metric, 0), of(metric, 1)
        correlation = self.compared.correlation(metric)
        middle, method = value, _OF_GROUPS
        if metric in _OF_EFFECTS:
            middle, method = float(first(LEVEL)[1] - second(LEVEL)[1]), OF_EFFECTS

        def limits(level: float) -> tuple[float, float]:
            low, high = mover(first(level), second(level), correlation)
            return max(float(low), -1.0), min(float(high), 1.0)

        return _Inferred(limits, middle, method)

    def _accuracy(self, value: float) -> _Inferred:
        aligned = self.compared.aligned
        found = Accuracies(aligned, np.zeros_like(aligned.truth), 1)
        p = found.p

        def limits(level: float) -> tuple[float, float]:
            low, high = found.limits(level, p)
            return min(float(low[0]), value), max(float(high[0]), value)

        return _Inferred(limits, value, PAIRED if aligned.joined else APART, float(p[0]))

    def _effects(self, metric: str, place: int) -> Callable[[float], Figure]:
        """Limits of a model's mean, median or largest effect size, around the corrected one."""
        _, effects, _ = self.pair.effects(place)
        summary, factor = _OF_EFFECTS[metric], self.compared.factor(metric, place)
        corrected, ends = summary_limits(effects, summary)

        def limits(level: float) -> Figure:
            low, high, _ = ends(level, float("nan"))
            lowest, middle, highest = np.multiply(factor, [[low], [corrected], [high]])
            return lowest[0], middle[0], highest[0]

        return limits

    def _groups(self, metric: str, place: int) -> Callable[[float], Figure]:
        """Limits of a model's worst group, or of how far it is below the whole."""
        aligned = self.compared.aligned
        shares = shares_of(aligned, aligned.group, len(aligned.groups))
        rates, share = shares.rates()[place], shares.share
        value = self.compared.observed[metric][place, 0]

        def limits(level: float) -> Figure:
            if metric == "accuracy_gap":
                low, high = gap_limits(rates, share, level)
            else:
                low, high = worst_limits(rates, level)
            return np.minimum(low, value), value, np.maximum(high, value)

        return limits

    def _parts(self, metric: str) -> list[Any]:
        """What a difference is made of: classes for effect sizes, classes and groups for accuracy."""
        if metric == "accuracy":
            return list(accuracy_changes(self.pair))
        if metric == _BY_CLASS:
            return list(effect_size_changes(self.pair, self.compared.class_correlation()))
        return []


def _built(compared: Compared, metric: str, value: float | None, values: Floats, **fields: Any) -> Finding:
    """A Finding with what the rows and the definition say filled in."""
    aligned, first, second = compared.aligned, *compared.names
    return as_finding(
        f"{metric}_difference",
        aligned.by,
        {"model": first, "reference": second},
        model=first,
        reference=second,
        value=value,
        **compared_rows(aligned, 0),
        details={
            "compared": "same samples" if aligned.joined else "not paired",
            "first": number(float(values[0])),
            "second": number(float(values[1])),
            **_mix_told(compared, metric),
        },
        **fields,
    )


def _mix_told(compared: Compared, metric: str) -> dict[str, float | str | None]:
    """What was done about other mixes of classes and groups; nothing where they are alike."""
    if not compared.standardised:
        return {}
    first, second = (number(float(one)) for one in compared.own[metric][:, 0])
    return {
        "weights": WEIGHTS, "mix_distance": compared.unlike, "first_own_mix": first,
        "second_own_mix": second, "second_rows": float(compared.aligned.sizes[1].sum()),
    }  # fmt: skip
