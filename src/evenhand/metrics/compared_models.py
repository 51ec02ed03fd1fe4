"""One classifier against another: differences of SkewSize, effect sizes and accuracy, with their limits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.errors import UnknownName
from evenhand.core.results import Finding, Part
from evenhand.evidence.counts import Counts
from evenhand.metrics.building import agreeing, as_finding
from evenhand.metrics.class_effects import summary_limits
from evenhand.metrics.compared_counts import Both, Compared, compared_rows
from evenhand.metrics.compared_inference import both_values, difference_of, inferred
from evenhand.metrics.compared_parts import (
    APART,
    OF_EFFECTS,
    PAIRED,
    accuracy_changes,
    changed,
    effect_size_changes,
    effects_of,
    shares_of,
)
from evenhand.metrics.effect_options import EffectOptions
from evenhand.metrics.prepared import LEVEL, By
from evenhand.stats.arrays import Pair
from evenhand.stats.differences import Figure, gap_limits, mover, worst_limits
from evenhand.stats.model_summaries import SUMMARIES

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
    # columns that rows were sampled by as wholes
    both = (evidence,) if isinstance(evidence, Counts) else evidence
    clusters = dict.fromkeys(one.cluster for one in both if one.cluster is not None)
    work = _Differences(compared, ", ".join(clusters))
    return [work.finding(metric, alpha / family) for metric in metrics]


@dataclass(frozen=True, eq=False)
class _Differences:
    """The findings of two models, metric by metric."""

    compared: Compared
    clusters: str

    def finding(self, metric: str, alpha: float) -> Finding:
        """One metric of the first model minus that of the second."""
        compared, aligned, (first, second) = self.compared, self.compared.aligned, self.compared.names
        values = compared.observed[metric][:, 0]
        value, fields = difference_of(values, compared.names)
        if value is None:
            pass
        elif metric == "skewsize":
            fields["notes"] = [SIDE_BY_SIDE]
        elif self.clusters:
            fields["notes"] = [NO_CLUSTERS.format(self.clusters)]
        else:
            fields = (
                self._accuracy(value, alpha) if metric == "accuracy" else self._mover(metric, value, alpha)
            )
        parts = self._parts(metric)
        if self.clusters:
            parts = [part.model_copy(update=_WITHOUT) for part in parts]
        details = {"compared": "same samples" if aligned.joined else "not paired", **both_values(values)}
        if compared.standardised:  # what was done about other mixes of classes and groups
            own = both_values(compared.own[metric][:, 0])
            details |= {
                "weights": WEIGHTS, "mix_distance": compared.unlike, "first_own_mix": own["first"],
                "second_own_mix": own["second"], "second_rows": float(aligned.sizes[1].sum()),
            }  # fmt: skip
        return as_finding(
            f"{metric}_difference", aligned.by, {"model": first, "reference": second}, model=first,
            reference=second, value=value, parts=parts, details=details, **compared_rows(aligned, 0),
            **fields,
        )  # fmt: skip

    def _mover(self, metric: str, value: float, alpha: float) -> dict[str, Any]:
        """From the limits of both models and the correlation of their figures."""
        of = self._effects if metric in _OF_EFFECTS else self._groups
        first, second = of(metric, 0), of(metric, 1)
        correlation = self.compared.correlation(metric)

        def limits(level: float) -> Pair:
            low, high = mover(first(level), second(level), correlation)
            return max(float(low), -1.0), min(float(high), 1.0)

        if metric not in _OF_EFFECTS:
            return inferred(limits, value, value, _OF_GROUPS, alpha)
        middle = float(first(LEVEL)[1] - second(LEVEL)[1])
        return inferred(limits, value, middle, OF_EFFECTS, alpha) | {"corrected": middle}

    def _accuracy(self, value: float, alpha: float) -> dict[str, Any]:
        aligned = self.compared.aligned
        found = changed(aligned, np.zeros_like(aligned.truth), 1)
        p = float(found.p[0])

        def limits(level: float) -> Pair:
            low, high = (float(end[0]) for end in found.interval(level))
            low, high = agreeing((low, high), p, 0.0, level)
            return min(low, value), max(high, value)

        return inferred(limits, value, value, PAIRED if aligned.joined else APART, alpha, p)

    def _effects(self, metric: str, place: int) -> Callable[[float], Figure]:
        """Limits of a model's mean, median or largest effect size, around the corrected one."""
        prepared, effects, _ = effects_of(self.compared, place)
        summary, factor = _OF_EFFECTS[metric], self.compared.factor(metric, place)
        options = EffectOptions.make("separation", {"inference": "none"})
        corrected, ends = summary_limits(prepared, options, effects, summary)

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

    def _parts(self, metric: str) -> list[Part]:
        """What a difference is made of: classes for effect sizes, classes and groups for accuracy."""
        if metric == "accuracy":
            return accuracy_changes(self.compared)
        if metric == "cramers_v_mean":
            return effect_size_changes(self.compared, self.compared.class_correlation())
        return []
