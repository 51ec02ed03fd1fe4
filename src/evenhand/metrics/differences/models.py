"""One classifier against another: differences of SkewSize, effect sizes and accuracy, with their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.cards import MetricCard
from evenhand.core.errors import ParameterError
from evenhand.core.findings import Finding, NewDetails, Part
from evenhand.core.metric import Metric
from evenhand.core.random_streams import stream
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.catalogue import NamedMetric, card_of, chosen_metrics
from evenhand.metrics.classification.class_effects import summary_limits
from evenhand.metrics.differences.counts import (
    Both,
    ComparedCounts,
    changed,
    compared_rows,
    shares_of,
)
from evenhand.metrics.differences.exchanged import exchange_test, values_of_both
from evenhand.metrics.differences.inference import both_values, difference_of, inferred
from evenhand.metrics.differences.parts import (
    APART,
    OF_EFFECTS,
    PAIRED,
    accuracy_changes,
    effect_size_changes,
    effects_of,
)
from evenhand.metrics.differences.units import UnitAnswers, UnitChanges
from evenhand.metrics.estimates import LEVEL, By, Fields, agreeing, as_finding
from evenhand.metrics.prepared import ClassifierMetric
from evenhand.stats.arrays import Codes, Floats, Pair, Rng, pair_of
from evenhand.stats.contingency.model_changes import Flips, Shares
from evenhand.stats.contingency.model_summaries import SUMMARIES
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.rates.rates import Figure, gap_limits, mover, worst_limits

WEIGHTS = "harmonic mean of the models' rows in each class and group"
SIDE_BY_SIDE = "the skewness of two models is shown side by side, without interval and test"
NO_CLUSTERS = (
    "no interval and p: rows were sampled in clusters ({}), which not all of these runs name alike; audit "
    "them again with the same --cluster"
)
FEW_CLUSTERS = "no interval and p: below two clusters ({}) nothing says how others would differ"
BY_UNITS = "Wilson at the effective size by {} of both models (MOVER, Zou and Donner)"
_WITHOUT: dict[str, None] = dict.fromkeys(("interval", "null", "p_value", "p_adjusted", "corrected"))
_OF_EFFECTS = {"cramers_v_mean": "mean", "cramers_v_median": "median", "cramers_v_max": "largest"}
_OF_GROUPS = "from the limits of both models over all groups (MOVER, Zou and Donner)"


def model_differences(
    evidence: Both,
    *,
    by: By,
    names: Sequence[str] = ("first", "second"),
    metrics: Sequence[NamedMetric] = SUMMARIES,
    family: int = 1,
    alpha: float = 0.05,
    seed: int = 0,
    clusters: Sequence[str] = (),
) -> list[Finding]:
    r"""Every summary of one model minus that of another, ``metric_difference``; fair at 0.

    * accuracy: on the same samples McNemar's exact test and Bonett and Price's interval; else right answers
      dealt to the models again within class and group (Cochran, Mantel and Haenszel), Newcombe's interval.
    * worst group, gap: limits of each model's figure over all groups, put together by MOVER.
    * effect sizes: ``corrected`` is the difference of the bias-corrected values, so that the noise of the
      less accurate model does not count; its limits are those of both models, put together by MOVER.
    * SkewSize: the two values side by side, without interval and test.
    * Any other metric of predictions: answers to the same samples are exchanged (``exchange_test``).

    Where MOVER is used, the correlation of the models' figures is that of resamples of the same samples, and
    0 for samples of their own; p is that of the level at which the interval leaves 0 out, so that the two
    cannot contradict each other. The null band is where the interval would hold 0, around what noise alone
    adds to the difference. ``mde`` is an order of magnitude of what the strictest step of Holm
    finds: ``(z_{1 - alpha/(2 family)} + z_{.8})`` standard errors, of which the interval is ``2 z_{.975}``
    wide.

    Mix: models that answered other rows may have other shares of classes and groups. Both are then weighted
    to one mix, ``w = 2 / (1/n_1 + 1/n_2)`` of each class and group (Cochran; Mantel and Haenszel), so that
    value, interval and p all leave the mix out; classes and groups that one has not are dropped.

    Args:
        evidence: Counts with the axis ``prediction_b``, or Counts of each model. Where rows come in clusters
            these are the units, and clusters of one name move both models together.
        by: Attribute, or list of attributes to cross.
        names: What the two models are called.
        metrics: ``SUMMARIES``, or other metrics of predictions.
        family: How many tests of one metric are corrected together.
        alpha: Level of the tests.
        seed: Of every random stream.
        clusters: Columns that rows were sampled by as wholes, where the counts hold them no more.

    Returns:
        One Finding for each metric: first minus second, in the metric's units. None where the metric has no
        value for one of them. Parts of ``accuracy_difference`` are classes and groups, those of
        ``cramers_v_mean_difference`` classes. Details hold the two models' values on
        the rows compared, and where mixes differ by how much (``mix_distance``, the share of rows that would
        have to move) and the values in each model's own mix.

    Raises:
        UserError: Unknown attributes or metrics, or no usable row.

    Source: McNemar 1947; Bonett and Price 2012; Newcombe 1998; Zou and Donner 2008 (MOVER); Mantel and
    Haenszel 1959 for weights.
    """
    work = _work(evidence, ComparedCounts.of(evidence, by, names, seed), clusters, alpha)
    return [work.finding(comparable(metric), alpha / family) for metric in metrics]


def comparable(metric: NamedMetric) -> str | Metric[...]:
    """The name of a summary, or another metric of predictions.

    Raises:
        UnknownName: No such metric.
        ParameterError: One of other evidence, or one that cannot be compared.
    """
    if isinstance(metric, str) and metric in SUMMARIES:
        return metric
    [declared] = chosen_metrics(metric) or []
    card = declared.card
    if not isinstance(declared, ClassifierMetric) and card.compared != "counts":
        raise ParameterError(
            f"{card.name} is not declared as a metric of predictions (evenhand.metrics.prepared."
            f"classifier_metric); these runs compare those that are, such as {', '.join(SUMMARIES)}"
        )
    if card.why_not_compared != MetricCard.model_fields["why_not_compared"].default:
        raise ParameterError(f"{card.name} of two models is not compared: {card.why_not_compared}")
    return card.name if card.name in SUMMARIES and not declared.arguments else declared


def _work(evidence: Both, compared: ComparedCounts, clusters: Sequence[str], alpha: float) -> _Differences:
    all_counts = (evidence,) if isinstance(evidence, Counts) else evidence
    columns = [*clusters, *(counts.cluster for counts in all_counts if counts.cluster is not None)]
    units = UnitAnswers.of(compared.singles, compared.aligned.by, is_joined=compared.joined)
    units = units and units.weighted(compared.entry_weights(units.keys))
    return _Differences(compared, ", ".join(dict.fromkeys(columns)), alpha, units)


@dataclass(frozen=True, eq=False)
class _Differences:
    """The findings of two models, metric by metric."""

    compared: ComparedCounts
    clusters: str  # columns that rows were sampled by as wholes
    alpha: float  # level of the families of parts
    units: UnitAnswers | None = None  # right answers by these, where the counts hold them

    def finding(self, metric: str | Metric[...], alpha: float) -> Finding:
        """One metric of the first model minus that of the second."""
        compared = self.compared
        if isinstance(metric, Metric):
            return self._tested(metric, alpha)
        values = compared.observed[metric][:, 0]
        value, fields = difference_of(values, compared.names)
        if value is None:
            pass
        elif reason := SIDE_BY_SIDE if metric == "skewsize" else self._untested:
            fields["notes"] = [reason]
        else:
            fields = (
                self._accuracy(value, alpha) if metric == "accuracy" else self._mover(metric, value, alpha)
            )
        parts = self._parts(metric)
        if self._untested:
            parts = [part.model_copy(update=_WITHOUT) for part in parts]
        details = NewDetails()
        if compared.standardised:  # what was done about other mixes of classes and groups
            own_values = both_values(compared.own[metric][:, 0])
            details = {
                "weights": WEIGHTS,
                "mix_distance": compared.unlike,
                "first_own_mix": own_values["first"],
                "second_own_mix": own_values["second"],
                "second_rows": compared.aligned.sizes[1].sum(),
            }
        card = card_of(f"{metric}_difference")
        fields |= {"card": card, "value": value, "parts": parts}
        return self._finding(f"{metric}_difference", {}, values, details, **fields)

    def _tested(self, metric: Metric[...], alpha: float) -> Finding:
        """A metric that has no limits of its own here, tested by the exchange of the models' answers."""
        compared, card = self.compared, metric.card.difference()
        compute = metric.taking({"by": compared.aligned.by, "seed": compared.seed, "inference": "none"})
        purpose, values = f"{metric.card.name}{metric.arguments}", values_of_both(compared, compute)
        value, fields = difference_of(values, compared.names)
        if value is not None:
            reason = self._untested
            fields = (
                {"notes": [reason]} if reason else exchange_test(compared, compute, purpose, value, alpha)
            )
        return self._finding(card.name, metric.arguments, values, {}, card=card, value=value, **fields)

    @property
    def _untested(self) -> str:
        """Why nothing says how other units would differ; empty where something does."""
        if self.clusters and self.units is None:
            return NO_CLUSTERS.format(self.clusters)
        few = self.units is not None and self.units.units < FEWEST
        return FEW_CLUSTERS.format(self.clusters) if few else ""

    def _finding(
        self, name: str, params: Mapping[str, Any], values: Floats, more: NewDetails, **fields: Any
    ) -> Finding:
        """A difference with what all have: whose it is, both values, and the rows compared."""
        aligned, (first, second) = self.compared.aligned, self.compared.names
        details = {"compared": "same samples" if aligned.joined else "not paired", **both_values(values)}
        details |= {} if self.units is None else {"units": self.units.units}
        return as_finding(
            name, aligned.by, {"model": first, "reference": second, **params}, model=first, reference=second,
            details={**details, **more}, **compared_rows(aligned, 0), **fields,
        )  # fmt: skip

    def _mover(self, metric: str, value: float, alpha: float) -> Fields:
        """From the limits of both models and the correlation of their figures."""
        of = self._effects if metric in _OF_EFFECTS else self._groups
        first, second = of(metric, 0), of(metric, 1)
        correlation = self.compared.correlation(metric)

        def limits(level: float) -> Pair:
            return pair_of(mover(first(level), second(level), correlation), -1.0, 1.0)

        if metric not in _OF_EFFECTS:
            return inferred(limits, value, value, _OF_GROUPS, alpha)
        middle = float(first(LEVEL)[1] - second(LEVEL)[1])
        return inferred(limits, value, middle, OF_EFFECTS, alpha) | {"corrected": middle}

    def _accuracy(self, value: float, alpha: float) -> Fields:
        aligned = self.compared.aligned
        method = PAIRED if aligned.joined else APART
        if self.units is None:
            changes: Flips | Shares | UnitChanges = changed(aligned, np.zeros_like(aligned.truth), 1)
        else:
            changes = self.units.changes(self._places(self.units, "whole"), 1, self._stream("whole"))
            method = BY_UNITS.format(self.units.name)
        p = float(changes.p[0])
        if np.isnan(p):
            return {"notes": [FEW_CLUSTERS.format(self.clusters)]}

        def limits(level: float) -> Pair:
            low, high = (float(end[0]) for end in changes.interval(level))
            low, high = agreeing((low, high), p, 0.0, level)
            return min(low, value), max(high, value)

        return inferred(limits, value, value, method, alpha, p)

    def _places(self, units: UnitAnswers, kind: str) -> Codes:
        """The class or group of each entry of the units, or 0; -1 where it is not compared."""
        truth, group = self.compared.places(units.keys)
        return {"class": truth, "group": group}.get(kind, np.where(group < 0, -1, 0))

    def _stream(self, kind: str) -> Rng:
        compared = self.compared
        return stream(compared.seed, "models", "signs", "+".join(compared.aligned.by), *compared.names, kind)

    def _effects(self, metric: str, model: int) -> Callable[[float], Figure]:
        """Limits of a model's mean, median or largest effect size, around the corrected one."""
        _, effects, _ = effects_of(self.compared, model)
        summary, factor = _OF_EFFECTS[metric], self.compared.factor(metric, model)
        corrected, interval = summary_limits(effects, summary)

        def limits(level: float) -> Figure:
            ends = interval(level)
            lowest, middle, highest = np.multiply(factor, [[ends.low], [corrected], [ends.high]])
            return lowest[0], middle[0], highest[0]

        return limits

    def _groups(self, metric: str, model: int) -> Callable[[float], Figure]:
        """Limits of a model's worst group, or of how far it is below the whole."""
        aligned = self.compared.aligned
        shares = shares_of(aligned, aligned.group, len(aligned.groups))
        of_models = shares.rates()
        if self.units is not None:
            of_models = self.units.rates(self._places(self.units, "group"), len(aligned.groups))
        rates, share = of_models[model], shares.share
        value = self.compared.observed[metric][model, 0]

        def limits(level: float) -> Figure:
            if metric == "accuracy_gap":
                low, high = gap_limits(rates, share, level)
            else:
                low, high = worst_limits(rates, level)
            return np.minimum(low, value), value, np.maximum(high, value)

        return limits

    def _parts(self, metric: str) -> list[Part]:
        """What a difference is made of: classes for effect sizes, classes and groups for accuracy."""
        compared, by_units = self.compared, None
        if metric == "accuracy":
            if self.units is not None:
                sizes = {"class": len(compared.labels), "group": len(compared.aligned.groups)}
                by_units = {
                    kind: self.units.changes(self._places(self.units, kind), k, self._stream(kind))
                    for kind, k in sizes.items()
                }
            method = BY_UNITS.format(self.clusters) if by_units else ""
            return accuracy_changes(compared, by_units, method, alpha=self.alpha)
        if metric == "cramers_v_mean":
            return effect_size_changes(compared, compared.class_correlation(), alpha=self.alpha)
        return []
