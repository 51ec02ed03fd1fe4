"""One classifier against another: differences of SkewSize, effect sizes and accuracy, with their limits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from evenhand.core.errors import check_known
from evenhand.core.findings import Finding, Interval, Key, Part, key_of
from evenhand.core.random_streams import stream
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.catalogue import card_of
from evenhand.metrics.classification.class_effects import ClassEffects, class_effects, summary_limits
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.differences.counts import (
    Both,
    ComparedCounts,
    changed,
    compared_rows,
    flips_of,
    shares_of,
)
from evenhand.metrics.differences.inference import both_values, difference_of, inferred, null_around
from evenhand.metrics.differences.units import UnitAnswers, UnitChanges
from evenhand.metrics.estimates import agreeing, as_finding, number
from evenhand.metrics.prepared import LEVEL, BoundCounts, By
from evenhand.stats.arrays import Codes, Ends, Floats, Pair
from evenhand.stats.contingency.model_changes import Flips, Shares
from evenhand.stats.contingency.model_summaries import SUMMARIES
from evenhand.stats.contingency.summary_intervals import Squares, class_ends
from evenhand.stats.multiplicity import adjust
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.rates.differences import Figure, gap_limits, inverted_p, mover, worst_limits

PAIRED = "adjusted Wald, paired (Bonett and Price)"
APART = "Newcombe, in one mix"
OF_EFFECTS = "of the corrected difference, from the limits of both models (MOVER, Zou and Donner)"
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
    metrics: Sequence[str] = SUMMARIES,
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
            these are the units, and clusters of one name move both models together.
        by: Attribute, or list of attributes to cross.
        names: What the two models are called.
        metrics: Some of ``SUMMARIES``.
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
    check_known("metric to compare", metrics, SUMMARIES)
    work = _work(evidence, ComparedCounts.of(evidence, by, names, seed), clusters)
    return [work.finding(metric, alpha / family) for metric in metrics]


def _work(evidence: Both, compared: ComparedCounts, clusters: Sequence[str]) -> _Differences:
    all_counts = (evidence,) if isinstance(evidence, Counts) else evidence
    columns = [*clusters, *(counts.cluster for counts in all_counts if counts.cluster is not None)]
    units = UnitAnswers.of(all_counts, compared.aligned.by) if columns else None
    units = units and units.weighted(compared.entry_weights(units.keys))
    return _Differences(compared, ", ".join(dict.fromkeys(columns)), units)


@dataclass(frozen=True, eq=False)
class _Differences:
    """The findings of two models, metric by metric."""

    compared: ComparedCounts
    clusters: str  # columns that rows were sampled by as wholes
    units: UnitAnswers | None = None  # right answers by these, where the counts hold them

    def finding(self, metric: str, alpha: float) -> Finding:
        """One metric of the first model minus that of the second."""
        compared, aligned, (first, second) = self.compared, self.compared.aligned, self.compared.names
        values = compared.observed[metric][:, 0]
        value, fields = difference_of(values, compared.names)
        if value is None:
            pass
        elif metric == "skewsize":
            fields["notes"] = [SIDE_BY_SIDE]
        elif self.clusters and self.units is None:
            fields["notes"] = [NO_CLUSTERS.format(self.clusters)]
        elif self.units is not None and self.units.units < FEWEST:
            fields["notes"] = [FEW_CLUSTERS.format(self.clusters)]
        else:
            fields = (
                self._accuracy(value, alpha) if metric == "accuracy" else self._mover(metric, value, alpha)
            )
        parts = self._parts(metric)
        if self.clusters and (self.units is None or self.units.units < FEWEST):
            parts = [part.model_copy(update=_WITHOUT) for part in parts]
        details = {"compared": "same samples" if aligned.joined else "not paired", **both_values(values)}
        if self.units is not None:
            details["units"] = float(self.units.units)
        if compared.standardised:  # what was done about other mixes of classes and groups
            own_values = both_values(compared.own[metric][:, 0])
            details |= {
                "weights": WEIGHTS, "mix_distance": compared.unlike, "first_own_mix": own_values["first"],
                "second_own_mix": own_values["second"], "second_rows": float(aligned.sizes[1].sum()),
            }  # fmt: skip
        return as_finding(
            f"{metric}_difference", aligned.by, {"model": first, "reference": second},
            card=card_of(f"{metric}_difference"), model=first,
            reference=second, value=value, parts=parts, details=details, **compared_rows(aligned, 0),
            **fields,
        )  # fmt: skip

    def _mover(self, metric: str, value: float, alpha: float) -> dict[str, Any]:
        """From the limits of both models and the correlation of their figures."""
        of = self._effects if metric in _OF_EFFECTS else self._groups
        first, second = of(metric, 0), of(metric, 1)
        correlation = self.compared.correlation(metric) if self.units is None else 0.0  # 0 is wider

        def limits(level: float) -> Pair:
            low, high = mover(first(level), second(level), correlation)
            return max(float(low), -1.0), min(float(high), 1.0)

        if metric not in _OF_EFFECTS:
            return inferred(limits, value, value, _OF_GROUPS, alpha)
        middle = float(first(LEVEL)[1] - second(LEVEL)[1])
        return inferred(limits, value, middle, OF_EFFECTS, alpha) | {"corrected": middle}

    def _accuracy(self, value: float, alpha: float) -> dict[str, Any]:
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

    def _stream(self, kind: str) -> np.random.Generator:
        compared = self.compared
        return stream(compared.seed, "models", "signs", "+".join(compared.aligned.by), *compared.names, kind)

    def _effects(self, metric: str, model: int) -> Callable[[float], Figure]:
        """Limits of a model's mean, median or largest effect size, around the corrected one."""
        _, effects, _ = effects_of(self.compared, model)
        summary, factor = _OF_EFFECTS[metric], self.compared.factor(metric, model)
        corrected, ends = summary_limits(effects, summary)

        def limits(level: float) -> Figure:
            low, high, _ = ends(level, float("nan"))
            lowest, middle, highest = np.multiply(factor, [[low], [corrected], [high]])
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
            return accuracy_changes(compared, by_units, BY_UNITS.format(self.clusters) if by_units else "")
        if metric == "cramers_v_mean":
            plain = np.zeros(len(compared.classes)) if self.clusters else compared.class_correlation()
            return effect_size_changes(compared, plain)
        return []


def effects_of(pair: ComparedCounts, model: int) -> tuple[BoundCounts, ClassEffects, Squares]:
    """A model's effect sizes by class, and what is known about their squares."""
    prepared = BoundCounts.of(pair.singles[model], pair.aligned.by, pair.seed)
    options = EffectOptions.make("separation", {"inference": "none"})
    effects = class_effects(prepared, options)
    return prepared, effects, effects.squares


def accuracy_changes(
    pair: ComparedCounts, by_units: Mapping[str, UnitChanges] | None = None, method: str = ""
) -> list[Part]:
    """Accuracy of the first model minus that of the second, in [-1, 1], for each class and each group.

    Test: where both answered the same samples, McNemar's exact test over the samples on which one is right
    and the other wrong; details hold how many went either way (``n_gained``: only the first is right;
    ``n_lost``: only the second). Elsewhere the right answers of each class and group are dealt to the models
    again. ``p_adjusted``: Holm over the classes, and over the groups, of this pair; ``q_value`` in details is
    Benjamini and Hochberg's. Parts of kind ``class`` in the order of labels, then of kind ``group``.

    Source: McNemar 1947; Mantel and Haenszel 1959; Bonett and Price 2012 and Newcombe 1998 for intervals.
    """
    a = pair.aligned
    labels = [compared.cells.label for compared in pair.classes]
    class_index = np.full(len(a.labels), -1)
    class_index[labels] = np.arange(len(labels))
    kinds = {
        "class": (list[Key](pair.labels), class_index[a.truth]),
        "group": ([key_of(key) for key in a.groups], a.group),
    }
    parts = []
    for kind, (keys, unit) in kinds.items():
        changes = changed(a, unit, len(keys)) if by_units is None else by_units[kind]
        parts += _accuracies(pair, kind, keys, unit, changes, method)
    return parts


def effect_size_changes(pair: ComparedCounts, correlation: Floats) -> list[Part]:
    """Cramér's V of the first model minus that of the second, in [-1, 1], for each class.

    ``corrected``: of the bias-corrected values. Its interval is made of the limits of both models (MOVER),
    with the correlation of the two where they answered the same samples; p is that of the level at which it
    leaves 0 out. ``p_adjusted``: Holm over the classes of this pair; ``q_value`` in details is Benjamini and
    Hochberg's. Parts are in the order of labels; None, with a reason, where V is undefined for a model.

    Source: Albuquerque et al. 2024, eq. 2; Bergsma 2013; Zou and Donner 2008.
    """
    values, own_effects, reasons = _classes_of(pair)
    # by how much effect sizes are larger in the common mix than in the model's own
    factors = [
        np.divide(common, effects, out=np.ones(effects.size), where=effects > 0)
        for common, (effects, _) in zip(values, own_effects, strict=True)
    ]

    def limits(level: Floats | float) -> Ends:
        ends = []
        for factor, (effects, squared) in zip(factors, own_effects, strict=True):
            low, high = class_ends(squared, np.full(effects.size, np.nan), level)
            ends.append((factor * low, factor * squared.corrected, factor * high))
        low, high = mover(ends[0], ends[1], correlation)
        return np.maximum(low, -1.0), np.minimum(high, 1.0)

    value = values[0] - values[1]
    middle = factors[0] * own_effects[0][1].corrected - factors[1] * own_effects[1][1].corrected
    p = np.where(np.isnan(value), np.nan, inverted_p(limits, value.size))
    a = pair.aligned
    rows = np.bincount(a.truth, a.n if a.joined else a.n[0], len(a.labels))
    rows = rows[[compared.cells.label for compared in pair.classes]]
    more = [
        {"details": both_values(column)} | ({"reason": reason} if reason else {"corrected": float(centre)})
        for column, reason, centre in zip(values.T, reasons, middle, strict=True)
    ]
    return _parts("class", pair.labels, rows, value, middle, limits(LEVEL), p, method=OF_EFFECTS, more=more)


def _classes_of(
    pair: ComparedCounts,
) -> tuple[Floats, list[tuple[Floats, Squares]], list[str | None]]:
    """V of both models by class, shape (2, k), in the common mix; that in their own, its squares; reasons."""
    observed_tables = [compared.observed() for compared in pair.classes]
    reasons: list[str | None] = [None] * len(pair.labels)
    values, own_effects = [], []
    for model in (0, 1):
        class_tables = zip(pair.classes, observed_tables, strict=True)
        values.append(
            np.array([compared.cells.effect(tables[model], model)[0] for compared, tables in class_tables])
        )
        prepared, effects, squared = effects_of(pair, model)
        codes = {prepared.grouped.label_key(int(code)): index for index, code in enumerate(effects.labels)}
        positions = np.array([codes[label] for label in pair.labels])
        own_effects.append((effects.values[positions], squared.each(partial(np.take, indices=positions))))
        reasons = [reason or effects.reasons[index] for reason, index in zip(reasons, positions, strict=True)]
    return np.stack(values), own_effects, reasons


def _accuracies(
    pair: ComparedCounts,
    kind: str,
    keys: Sequence[Key],
    unit: Codes,
    changes: Flips | Shares | UnitChanges,
    method: str,
) -> list[Part]:
    a = pair.aligned
    values = np.array([rates.value for rates in shares_of(a, unit, len(keys)).rates()])
    rows = np.bincount(unit, a.n if a.joined else a.n[0], len(keys)).astype(np.float64)
    p, value = changes.p, values[0] - values[1]
    low, high = changes.interval(LEVEL)
    holds_zero = p > 1 - LEVEL  # limits hold 0 where the test of the same level does not reject it
    ends = np.where(holds_zero, np.minimum(low, 0), low), np.where(holds_zero, np.maximum(high, 0), high)
    details = [both_values(column) for column in values.T]
    if a.joined:
        flips = flips_of(a, unit, len(keys))
        for detail, gained, lost in zip(details, flips.gained.tolist(), flips.lost.tolist(), strict=True):
            detail |= {"n_gained": gained, "n_lost": lost}
    more = [{"details": detail} for detail in details]
    return _parts(
        kind, keys, rows, value, value, ends, p, method=method or (PAIRED if a.joined else APART), more=more
    )


def _parts(
    kind: str, keys: Sequence[Key], rows: Floats | Codes, value: Floats, middle: Floats, ends: Ends,
    p: Floats, *, method: str, more: Sequence[dict[str, Any]],
) -> list[Part]:  # fmt: skip
    """A part for each of k classes or groups, with p corrected over them; ``more`` are further fields."""
    adjusted, rates = adjust(p, "holm"), adjust(p, "bh")
    parts = []
    for i, key in enumerate(keys):
        fields: dict[str, Any] = {}
        if not np.isnan([value[i], ends[0][i], ends[1][i], p[i]]).any():
            low, high = float(ends[0][i]), float(ends[1][i])
            interval = Interval(low=low, high=high, level=LEVEL, method=method)
            more[i]["details"]["q_value"] = number(rates[i])
            fields = {
                "interval": interval, "null": null_around(float(value[i]), float(middle[i]), interval),
                "p_value": float(p[i]), "p_adjusted": number(adjusted[i]),
            }  # fmt: skip
        part_value = number(value[i])
        parts.append(
            Part(kind=kind, key=key, value=part_value, n=float(rows[i]), chance_at=0.0, **fields, **more[i])
        )
    return parts
