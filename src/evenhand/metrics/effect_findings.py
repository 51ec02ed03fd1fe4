"""Findings from class effects: SkewSize, summaries over classes, a single table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.reasons import explain
from evenhand.core.results import Contrast, Dropped, Finding, Interval, Null, Part
from evenhand.metrics.building import band_of, build, null_band, number, percentile_interval, resampled_p
from evenhand.metrics.class_effects import (
    ClassEffects,
    class_effects,
    effect_bootstrap,
    effect_squares,
    pooled_squares,
    summary_limits,
)
from evenhand.metrics.effect_options import EffectOptions
from evenhand.metrics.group_accuracy import deciding
from evenhand.metrics.margin_rates import Margins
from evenhand.metrics.null_effects import NullEffects
from evenhand.metrics.prepared import LEVEL, REPLICATES, Prepared
from evenhand.metrics.small_groups import few_decide
from evenhand.stats.skewness import skewness, skewness_bound
from evenhand.stats.summary_intervals import SUMMARIES, class_ends, combined_p

Floats = npt.NDArray[np.float64]

_SPREAD = "spread over resamples ({}); no confidence interval"
_INTERVALS = {
    "score": "score interval of the bias-corrected value, test inversion below",
    "delta": "delta method around the bias-corrected value",
    "noncentral": "inversion of the noncentral chi-squared distribution",
    "bootstrap": "stratified bootstrap within class and group",
}


def skewness_finding(prepared: Prepared, name: str, options: EffectOptions) -> Finding:
    """SkewSize over the class effects of one form."""
    effects = class_effects(prepared, options)

    def bootstrap() -> tuple[Floats, str]:
        return effect_bootstrap(prepared, options, effects)

    return skewness_of(prepared, name, options, effects, bootstrap)


def skewness_of(
    prepared: Prepared,
    name: str,
    options: EffectOptions,
    effects: ClassEffects,
    bootstrap: Callable[[], tuple[Floats, str]],
    **more: Any,
) -> Finding:
    """SkewSize over given class effects, whose bootstrap replicates are made only when needed."""
    value, reason = _skewness_of(effects.values, options.mode)
    used = int((~np.isnan(effects.values)).sum())
    fields: dict[str, Any] = {"params": options.changed, **more}
    if effects.null is not None and value is not None and reason is None:
        draws, method = bootstrap()
        fields["interval"] = _spread(skewness(draws), value, method, prepared.seed)
        method = "each class from its null distribution"
        band = null_band(skewness(effects.null.draws), level=LEVEL, method=method, seed=prepared.seed)
        fields["null"] = band
    return build(
        prepared.grouped,
        name,
        fields.pop("params"),
        value,
        reason=reason,
        parts=class_parts(prepared, options, effects),
        adjustment=options.adjustment if effects.null is not None else None,
        dropped=fields.pop("dropped", []) + _dropped_classes(effects),
        contrasts=[] if more else _contrasts(prepared, options, effects, value),
        notes=_skewness_notes(used, effects.values.size) + _unresampled(fields),
        **fields,
    )


def _spread(draws: Floats, value: float, method: str, seed: int) -> Interval | None:
    """The central part of resampled values, and the value itself; None where they do not spread.

    Resamples contain the noise of the sample once more: this says how much the value moves, not where that of
    the population lies.
    """
    found = percentile_interval(draws, level=LEVEL, method=_SPREAD.format(method), seed=seed)
    if found is None or max(found.high, value) - min(found.low, value) <= 1e-12:
        return None
    return found.model_copy(update={"low": min(found.low, value), "high": max(found.high, value)})


def summary_finding(prepared: Prepared, name: str, options: EffectOptions) -> Finding:
    """Mean, median or largest effect size over classes; the interval is of the corrected one."""
    effects = class_effects(prepared, options)
    summary = _SUMMARY_OF.get(name, "mean")
    usable = ~np.isnan(effects.values)
    value = number(float(SUMMARIES[summary](effects.values[usable]))) if usable.any() else None
    fields: dict[str, Any] = {}
    make: Callable[[float], Interval | None] | None = None
    if effects.null is not None and value is not None:
        fields = _summary_inference(prepared, options, effects, effects.null, summary, value)
        p = fields["p_value"]
        fields["corrected"], ends = summary_limits(prepared, options, effects, summary)

        def make(level: float) -> Interval | None:
            low, high, method = ends(level, float("nan") if p is None else p)
            return Interval(low=low, high=high, level=level, method=method)

        fields |= _one_cluster() if p is None and fields["null"] is None else {"interval": make(LEVEL)}
    with_parts = name in ("cramers_v_corrected", "phi")
    finding = build(
        prepared.grouped,
        name,
        {key: v for key, v in options.changed.items() if key != "statistic" or not with_parts},
        value,
        reason=None if value is not None else "no_usable_class",
        parts=class_parts(prepared, options, effects) if with_parts else [],
        band=band_of(value) if name != "phi" else None,
        dropped=_dropped_classes(effects),
        **fields,
    )
    return finding if make is None or finding.interval is None else finding.with_levels(make)


def _summary_inference(
    prepared: Prepared,
    options: EffectOptions,
    effects: ClassEffects,
    null: NullEffects,
    summary: str,
    value: float,
) -> dict[str, Any]:
    """The null band and p of a summary."""
    usable = np.flatnonzero(~np.isnan(effects.values))
    # a class counted as 0 although it has no table (constant="zero") is 0 by chance, too
    drawn = np.where(effects.tables.dof > 0, null.draws, 0.0)[:, usable]
    fields = _against_null(prepared, SUMMARIES[summary](drawn), value)
    classes_p = null.p[usable]
    if np.isnan(null.p[effects.tables.dof > 0]).any():
        fields = {"null": None, "p_value": None}
    elif usable.size == 1 and effects.tables.dof[usable[0]] > 0:
        fields["p_value"] = float(classes_p[0])
    elif summary == "median":
        # the larger counts: exchange says whether any class shows an effect, the classes whether half of
        # them do
        together = combined_p(np.where(np.isnan(classes_p), 1.0, classes_p))
        fields["p_value"] = None if fields["p_value"] is None else max(fields["p_value"], together)
    return fields


def _one_cluster() -> dict[str, Any]:
    """What is said where each group is one unit."""
    return {"notes": [explain("one_cluster")]}


def pooled_finding(prepared: Prepared, name: str, options: EffectOptions) -> Finding:
    """V over all classes together: chi-squared and its largest possible value, both summed over classes."""
    effects = class_effects(prepared, options)
    used = np.flatnonzero(effects.tables.dof > 0)
    fields: dict[str, Any] = {"value": None, "reason": "no_usable_class"}
    make: Callable[[float], Interval | None] | None = None
    if used.size:
        most = (effects.tables.n * effects.tables.dof)[used]
        fields = {"value": float(np.sqrt(effects.tables.chi2[used].sum() / most.sum()))}
    if used.size and effects.null is not None:
        found = pooled_squares(prepared, options, effects)
        p = effects.null.total
        draws = np.sqrt(effects.null.draws[:, used] ** 2 @ most / most.sum())
        fields["corrected"] = float(found.corrected[0])

        def make(level: float) -> Interval | None:
            low, high = class_ends(found, np.array([p]), level)
            method = _INTERVALS["score"]
            return Interval(low=float(low[0]), high=float(high[0]), level=level, method=method)

        if np.isnan(p):
            fields |= _one_cluster()
        else:
            fields |= _against_null(prepared, draws, fields["value"]) | {
                "p_value": p,
                "interval": make(LEVEL),
            }
    value = fields.pop("value")
    if used.size:
        margins = Margins.of(prepared)
        every = deciding(margins, range(len(prepared.grouped.groups)))
        fields["notes"] = [*fields.get("notes", []), *few_decide(every.items(), margins.unit)]
    finding = build(
        prepared.grouped, name, options.changed, value, band=band_of(value),
        dropped=_dropped_classes(effects), **fields,
    )  # fmt: skip
    return finding if make is None or finding.interval is None else finding.with_levels(make)


def single_table(prepared: Prepared, name: str, options: EffectOptions) -> Finding:
    """The effect size of one table."""
    effects = class_effects(prepared, options)
    part = class_parts(prepared, options, effects)[0]
    finding = build(
        prepared.grouped,
        name,
        options.changed,
        part.value,
        corrected=part.corrected,
        reason=part.reason,
        interval=part.interval,
        null=part.null,
        p_value=part.p_value,
        mde=part.mde,
        band=part.band,
        notes=_one_cluster()["notes"] if part.corrected is not None and part.p_value is None else [],
    )
    if part.interval is None or options.interval != "score" or part.p_value is None:
        return finding
    found, p = effect_squares(prepared, options, effects), np.array([part.p_value])

    def make(level: float) -> Interval | None:
        low, high = class_ends(found, p, level)
        return Interval(low=float(low[0]), high=float(high[0]), level=level, method=_INTERVALS["score"])

    return finding.with_levels(make)


_SUMMARY_OF = {"cramers_v_median": "median", "cramers_v_max": "largest"}


def _skewness_of(values: Floats, mode: str) -> tuple[float | None, str | None]:
    """The skewness with the reason why it is missing or says nothing."""
    usable = values[~np.isnan(values)]
    if usable.size < 2:
        return None, ("no_usable_class", "one_usable_class")[usable.size]
    value = number(float(skewness(usable)))
    if usable.size == 2:
        return (value if mode == "paper" else None), "uninformative"
    return value, None if value is not None else "no_spread"


def _against_null(prepared: Prepared, null: Floats, value: float) -> dict[str, Any]:
    """Null band, from the least to the 95 % point, and p of a summary over classes."""
    draws = null[~np.isnan(null)]
    if draws.size < 0.9 * null.size or not draws.size:
        return {"null": None, "p_value": None}
    band = Null(
        mean=float(draws.mean()),
        low=float(draws.min()),
        high=float(np.quantile(draws, LEVEL)),
        level=LEVEL,
        method="each class from its null distribution",
        replicates=null.size,
        seed=prepared.seed,
    )
    return {"null": band, "p_value": resampled_p(null, value, "high")}


def class_parts(prepared: Prepared, options: EffectOptions, effects: ClassEffects) -> list[Part]:
    """One part per table, with everything known about it."""
    accuracy = _class_accuracy(prepared, options.mode) if options.form == "separation" else None
    return [_part(prepared, options, effects, table, accuracy) for table in range(effects.values.size)]


def _part(
    prepared: Prepared, options: EffectOptions, effects: ClassEffects, table: int, accuracy: Floats | None
) -> Part:
    value = number(effects.values[table])
    label = int(effects.labels[table])
    inferred = effects.null is not None and value is not None
    details: dict[str, float | str | None] = {}
    if accuracy is not None and label < accuracy.shape[1]:
        if effects.tables.n[table] != effects.n[table]:
            details["n_used"] = number(effects.tables.n[table])
        details |= {"accuracy": number(accuracy[0, label]), "accuracy_gap": number(accuracy[1, label])}
    return Part(
        kind="class",
        key="all" if options.form == "independence" else prepared.grouped.label_key(label),
        value=value,
        corrected=number(effects.corrected[table]) if inferred else None,
        chance_at=0.0,
        interval=_part_interval(options, effects, table) if inferred else None,
        null=_part_null(prepared, effects, table) if inferred else None,
        p_value=number(effects.null.p[table]) if inferred and effects.null else None,
        p_adjusted=number(effects.p_adjusted[table]) if inferred else None,
        mde=number(effects.mde[table]) if inferred else None,
        band=band_of(value) if options.statistic != "phi" else None,
        n=effects.n[table],
        reason=effects.reasons[table],
        details=details,
    )


def _part_interval(options: EffectOptions, effects: ClassEffects, table: int) -> Interval | None:
    low, high = number(effects.low[table]), number(effects.high[table])
    if low is None or high is None or effects.null is None or np.isnan(effects.null.p[table]):
        return None
    return Interval(low=low, high=high, level=LEVEL, method=_INTERVALS[options.interval])


def _part_null(prepared: Prepared, effects: ClassEffects, table: int) -> Null | None:
    null = effects.null
    if null is None or not np.isfinite([null.mean[table], null.low[table], null.high[table]]).all():
        return None
    drawn = null.method[table].startswith("permutation")
    return Null(
        mean=null.mean[table],
        low=null.low[table],
        high=null.high[table],
        level=LEVEL,
        method=null.method[table],
        replicates=REPLICATES if drawn else None,
        seed=prepared.seed if drawn else None,
    )


def _class_accuracy(prepared: Prepared, mode: str) -> Floats:
    """Accuracy of each label, and that accuracy minus its worst group's (Table 3), shape (2, labels).

    The second is NaN where one group alone has rows; in paper mode it is 0 there.
    """
    confusion = prepared.confusion
    support = confusion.support.sum(axis=0)
    accuracy = confusion.correct.sum(axis=0) / np.where(support > 0, support, np.nan)
    worst = np.fmin.reduce(confusion.accuracy_by_cell(), axis=0)
    fewest = 1 if mode == "paper" else 2
    compared = (confusion.support > 0).sum(axis=0) >= fewest
    return np.stack([accuracy, np.where(compared, accuracy - worst, np.nan)])


def _dropped_classes(effects: ClassEffects) -> list[Dropped]:
    """Rows whose prediction was too rare to stay, and classes that could not be estimated, by reason."""
    reasons = sorted({reason for reason in effects.reasons if reason})
    classes = [Dropped(reason=f"class: {name}", count=effects.reasons.count(name)) for name in reasons]
    rare = float(effects.n.sum() - effects.tables.n.sum())
    return [Dropped(reason="prediction below minimum expected value", count=rare)] * (rare > 0) + classes


def _contrasts(
    prepared: Prepared, options: EffectOptions, effects: ClassEffects, value: float | None
) -> list[Contrast]:
    """The other mode's SkewSize where it differs, and why."""
    if options.statistic != "cramers_v":
        return []
    other = replace(options, mode="default" if options.mode == "paper" else "paper", inference="none")
    theirs, _ = _skewness_of(class_effects(prepared, other).values, other.mode)
    if theirs == value or (theirs is not None and value is not None and abs(theirs - value) < 1e-12):
        return []
    square = int((~np.isnan(effects.tables.yates_scale)).sum())
    used = int((~np.isnan(effects.values)).sum())
    have = "classes has a 2x2 table" if square == 1 else "classes have 2x2 tables"
    if used == 2:
        why = "two classes can be used, and the paper's listing gives 0 for any two values: it says nothing."
        return [Contrast(label=f"{other.mode} mode", value=theirs, reason=why)]
    why = (
        f"{square} of {used} {have} (two groups, two predicted labels). There the paper's "
        "listing applies Yates' continuity correction, which shrinks V, most of all in small classes; the "
        "default does not, so that tables of different shape are measured alike."
    )
    return [Contrast(label=f"{other.mode} mode", value=theirs, reason=why)]


def _unresampled(fields: dict[str, Any]) -> list[str]:
    """Say so where replicates were made and too many of them have no value."""
    names = {"interval": "spread over resamples", "null": "null"}
    missing = [text for name, text in names.items() if name in fields and fields[name] is None]
    return [f"no {text}: replicates do not spread, or a tenth of them has no value" for text in missing]


def _skewness_notes(used: int, classes: int) -> list[str]:
    bound = skewness_bound(used)
    notes = [f"{used} of {classes} classes used; |SkewSize| of so many values is at most {bound:.3f}"]
    return notes if used > 2 else []
