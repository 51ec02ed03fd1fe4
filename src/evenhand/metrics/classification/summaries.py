"""Findings from class effects: SkewSize, summaries over classes, a single table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.core.findings import Band, Contrast, Dropped, Finding, Interval, NewDetails, Null, Part
from evenhand.display.text.reasons import explain
from evenhand.metrics.classification.class_effects import (
    SCORE_METHOD,
    ClassEffects,
    ClassTables,
    class_effects,
    effect_bootstrap,
    limits_of_one,
    pooled_squares,
    summary_limits,
)
from evenhand.metrics.estimates import (
    LEVEL,
    REPLICATES,
    Fields,
    Mode,
    build,
    few_decide,
    null_band,
    number,
    part,
    percentile_interval,
    resampled_p,
)
from evenhand.metrics.prepared import BoundCounts, deciding
from evenhand.stats.arrays import Floats, ratio
from evenhand.stats.contingency.standing_apart import standing_apart
from evenhand.stats.contingency.summary_intervals import SUMMARIES, combined_p
from evenhand.stats.skewness import skewness, skewness_bound

_SPREAD = "spread over resamples ({}); no confidence interval"
_DRAWN = "each class from its null distribution"
_INTERVALS = {
    "score": SCORE_METHOD,
    "bootstrap": "stratified bootstrap within class and group",
}
_SUMMARY_OF = {"cramers_v_median": "median", "cramers_v_max": "largest"}
_BANDS: tuple[tuple[float, Band], ...] = ((0.1, "negligible"), (0.3, "small"), (0.5, "medium"))


def skewness_finding(
    effects: ClassEffects,
    name: str,
    bootstrap: Callable[[ClassEffects], tuple[Floats, str]] = effect_bootstrap,
    **more: Any,
) -> Finding:
    """SkewSize over class effects, whose bootstrap replicates are made only when needed.

    ``more``: ``params`` and ``dropped`` where the effects are not those of first predictions.
    """
    options, seed = effects.options, effects.prepared.seed
    value, reason = _skewness_of(effects.values, options.mode)
    used = int((~np.isnan(effects.values)).sum())
    most = f"|SkewSize| of so many values is at most {skewness_bound(used):.3f}"
    contrasts = [] if more else _contrasts(effects, value)
    fields: Fields = {"params": options.changed, "contrasts": contrasts, "dropped": [], **more}
    is_fixed = effects.null is not None and bool(np.isnan(effects.null.p).all())  # no draw changes anything
    if effects.null is not None and value is not None and reason is None and not is_fixed:
        draws, method = bootstrap(effects)
        fields["interval"] = _spread(skewness(draws), value, method, seed)
        fields["null"] = null_band(skewness(effects.null.draws), method=_DRAWN, seed=seed)
    notes = [f"{used} of {effects.values.size} classes used; {most}"] * (used > 2)
    for field, text in (("interval", "spread over resamples"), ("null", "null")):
        if fields.get(field, True) is None:
            notes.append(f"no {text}: replicates do not spread, or a tenth of them has no value")
    return build(
        effects.prepared,
        name,
        fields.pop("params"),
        value,
        reason=reason,
        parts=class_parts(effects),
        adjustment=options.adjustment if effects.null is not None else None,
        dropped=fields.pop("dropped") + _dropped_classes(effects),
        notes=notes,
        **fields,
    )


def _spread(draws: Floats, value: float, method: str, seed: int) -> Interval | None:
    """The central part of resampled values, and the value itself; None where they do not spread.

    Resamples contain the noise of the sample once more: this says how much the value moves, not where that of
    the population lies.
    """
    interval = percentile_interval(draws, method=_SPREAD.format(method), seed=seed)
    if interval is None or max(interval.high, value) - min(interval.low, value) <= 1e-12:
        return None
    return interval.model_copy(update={"low": min(interval.low, value), "high": max(interval.high, value)})


def summary_finding(effects: ClassEffects, name: str) -> Finding:
    """Mean, median or largest effect size over classes; the interval is of the corrected one."""
    summary = _SUMMARY_OF.get(name, "mean")
    usable = ~np.isnan(effects.values)
    value = number(float(SUMMARIES[summary](effects.values[usable]))) if usable.any() else None
    fields: Fields = {}
    if effects.null is not None and value is not None:
        fields = _summary_test(effects, summary, value)
        fields["corrected"], limits = summary_limits(effects, summary, fields["p_value"])
        untested = fields["p_value"] is None and fields["null"] is None
        fields |= {"notes": [explain("one_cluster")]} if untested else {"limits": limits}
    with_parts = name in ("cramers_v_corrected", "phi")
    return build(
        effects.prepared,
        name,
        {key: v for key, v in effects.options.changed.items() if key != "statistic" or not with_parts},
        value,
        reason=None if value is not None else "no_usable_class",
        parts=class_parts(effects) if with_parts else [],
        band=band_of(value) if name != "phi" else None,
        dropped=_dropped_classes(effects),
        **fields,
    )


def _summary_test(effects: ClassEffects, summary: str, value: float) -> Fields:
    """The null band and p of a summary; neither where a class has none."""
    if effects.null is None or np.isnan(effects.null.p[effects.tables.dof > 0]).any():
        return {"null": None, "p_value": None}
    usable = np.flatnonzero(~np.isnan(effects.values))
    fields = _against_null(effects.prepared, SUMMARIES[summary](effects.null.draws[:, usable]), value)
    classes_p = effects.null.p[usable]
    if usable.size == 1:
        fields["p_value"] = float(classes_p[0])
    elif summary == "median" and fields["p_value"] is not None:
        # the larger counts: exchange says whether any class shows an effect, the classes whether half of
        # them do
        fields["p_value"] = max(fields["p_value"], combined_p(classes_p))
    return fields


def pooled_finding(effects: ClassEffects, name: str) -> Finding:
    """V over all classes together: chi-squared and its largest possible value, both summed over classes."""
    prepared, used = effects.prepared, np.flatnonzero(effects.tables.dof > 0)
    value: float | None = None
    fields: Fields = {"reason": "no_usable_class"}
    if used.size:
        most = (effects.tables.n * effects.tables.dof)[used]
        value = float(np.sqrt(effects.tables.chi2[used].sum() / most.sum()))
        every = deciding(prepared, range(len(prepared.groups)))
        fields = {"notes": few_decide(every.items(), prepared.unit)}
        if effects.null is not None:
            draws = np.sqrt(effects.null.draws[:, used] ** 2 @ most / most.sum())
            fields = _pooled_inference(effects, draws, value, effects.null.total, fields["notes"])
        fields["details"] = _apart(effects)
    return build(
        prepared, name, effects.options.changed, value, band=band_of(value),
        dropped=_dropped_classes(effects), **fields,
    )  # fmt: skip


def _apart(effects: ClassEffects) -> NewDetails:
    """The group whose answers depart most from the others' within the classes, and by how many rows."""
    apart = standing_apart(ClassTables.of(effects.prepared, effects.options).batch)
    if apart is None:
        return {}
    group = effects.prepared.group_text(apart.row)
    numbers = {"apart_n": apart.n, "apart_moved": apart.moved, "apart_by_chance": apart.by_chance}
    return {"apart": group, **{name: number(value) for name, value in numbers.items()}}


def _pooled_inference(
    effects: ClassEffects, draws: Floats, value: float, p: float, notes: list[str]
) -> Fields:
    squared = pooled_squares(effects)
    fields: Fields = {"corrected": float(squared.corrected[0])}
    if np.isnan(p):
        return {**fields, "notes": [explain("one_cluster"), *notes]}
    fields |= _against_null(effects.prepared, draws, value)
    return {**fields, "p_value": p, "limits": limits_of_one(squared, p), "notes": notes}


def single_table(effects: ClassEffects, name: str) -> Finding:
    """The effect size of one table."""
    part = class_parts(effects)[0]
    fields = ("corrected", "reason", "interval", "null", "p_value", "mde", "band")
    p = part.p_value if effects.options.interval == "score" else None
    return build(
        effects.prepared,
        name,
        effects.options.changed,
        part.value,
        limits=None if p is None else limits_of_one(effects.squares, p),
        notes=[explain("one_cluster")] if part.corrected is not None and part.p_value is None else [],
        **{field: getattr(part, field) for field in fields},
    )


def _skewness_of(values: Floats, mode: Mode) -> tuple[float | None, str | None]:
    """The skewness with the reason why it is missing or says nothing."""
    usable = values[~np.isnan(values)]
    if usable.size < 2:
        return None, ("no_usable_class", "one_usable_class")[usable.size]
    value = number(float(skewness(usable)))
    if usable.size == 2:
        return (value if mode == "paper" else None), "uninformative"
    return value, None if value is not None else "no_spread"


def _against_null(prepared: BoundCounts, null: Floats, value: float) -> Fields:
    """Null band, from the least to the 95 % point, and p of a summary over classes."""
    band = null_band(null, method=_DRAWN, seed=prepared.seed, side="high")
    return {"null": band, "p_value": None if band is None else resampled_p(null, value, "high")}


def class_parts(effects: ClassEffects) -> list[Part]:
    """One part per table, with everything known about it."""
    options = effects.options
    accuracy = _class_accuracy(effects.prepared, options.mode) if options.form == "separation" else None
    return [_part(effects, table, accuracy) for table in range(effects.values.size)]


def _part(effects: ClassEffects, table: int, accuracy: Floats | None) -> Part:
    value, label, options = number(effects.values[table]), int(effects.labels[table]), effects.options
    details: NewDetails = {}
    if accuracy is not None and label < accuracy.shape[1]:
        if effects.tables.n[table] != effects.n[table]:
            details["n_used"] = effects.tables.n[table]
        details |= {"accuracy": accuracy[0, label], "accuracy_gap": accuracy[1, label]}
    return part(
        "class",
        "all" if options.form == "independence" else effects.prepared.label_key(label),
        value,
        chance_at=0.0,
        band=band_of(value) if options.statistic != "phi" else None,
        n=effects.n[table],
        reason=effects.reasons[table],
        details=details,
        **({} if value is None else _part_inference(effects, table)),
    )


def _part_inference(effects: ClassEffects, table: int) -> Fields:
    null = effects.null
    if null is None:
        return {}
    corrected, low, high = map(number, effects.limits[:, table])
    p, interval, band = number(null.p[table]), None, None
    if low is not None and high is not None and p is not None:
        interval = Interval(low=low, high=high, level=LEVEL, method=_INTERVALS[effects.options.interval])
    ends = {"mean": null.mean[table], "low": null.low[table], "high": null.high[table]}
    if np.isfinite(list(ends.values())).all():
        is_permuted = null.method[table].startswith("permutation")
        draws = {"replicates": REPLICATES, "seed": effects.prepared.seed} if is_permuted else {}
        band = Null(**ends, level=LEVEL, method=null.method[table], **draws)
    return {
        "corrected": corrected, "interval": interval, "null": band, "p_value": p,
        "p_adjusted": number(effects.p_adjusted[table]), "mde": number(effects.mde[table]),
    }  # fmt: skip


def _class_accuracy(prepared: BoundCounts, mode: Mode) -> Floats:
    """Accuracy of each label, and that accuracy minus its worst group's (Table 3), shape (2, labels).

    The second is NaN where one group alone has rows; in paper mode it is 0 there.
    """
    confusion = prepared.confusion
    support = confusion.support.sum(axis=0)
    accuracy = ratio(confusion.correct.sum(axis=0), support)
    worst = np.fmin.reduce(confusion.rates("true"), axis=0)
    fewest = 1 if mode == "paper" else 2
    compared = (confusion.support > 0).sum(axis=0) >= fewest
    return np.stack([accuracy, np.where(compared, accuracy - worst, np.nan)])


def _dropped_classes(effects: ClassEffects) -> list[Dropped]:
    """Rows whose prediction was too rare to stay, and classes that could not be estimated, by reason."""
    reasons = sorted({reason for reason in effects.reasons if reason})
    classes = [Dropped(reason=f"class: {name}", count=effects.reasons.count(name)) for name in reasons]
    rare = float(effects.n.sum() - effects.tables.n.sum())
    return [Dropped(reason="prediction below minimum expected value", count=rare)] * (rare > 0) + classes


def _contrasts(effects: ClassEffects, value: float | None) -> list[Contrast]:
    """The other mode's SkewSize where it differs, and why."""
    options = effects.options
    if options.statistic != "cramers_v":
        return []
    other = replace(options, mode="default" if options.mode == "paper" else "paper", inference="none")
    other_value, _ = _skewness_of(class_effects(effects.prepared, other).values, other.mode)
    if other_value == value or (
        other_value is not None and value is not None and abs(other_value - value) < 1e-12
    ):
        return []
    square = int((~np.isnan(effects.tables.yates_scale)).sum())
    used = int((~np.isnan(effects.values)).sum())
    have = "classes has a 2x2 table" if square == 1 else "classes have 2x2 tables"
    if used == 2:
        why = "two classes can be used, and the paper's listing gives 0 for any two values: it says nothing."
        return [Contrast(label=f"{other.mode} mode", value=other_value, reason=why)]
    why = (
        f"{square} of {used} {have} (two groups, two predicted labels). There the paper's "
        "listing applies Yates' continuity correction, which shrinks V, most of all in small classes; the "
        "default does not, so that tables of different shape are measured alike."
    )
    return [Contrast(label=f"{other.mode} mode", value=other_value, reason=why)]


def band_of(value: float | None) -> Band | None:
    """The effect-size band of a V: [0, .1) negligible, [.1, .3) small, [.3, .5) medium, [.5, 1] large.

    Source: Albuquerque et al. 2024, Figure 4 (which leaves the edges open).
    """
    if value is None:
        return None
    return next((name for edge, name in _BANDS if value < edge), "large")
