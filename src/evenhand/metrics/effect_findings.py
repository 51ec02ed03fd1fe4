"""Findings from class effects: SkewSize, summaries over classes, a single table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.results import Contrast, Dropped, Finding, Interval, Null, Part
from evenhand.metrics.building import band_of, build, null_band, number, percentile_interval, resampled_p
from evenhand.metrics.class_effects import (
    ClassEffects,
    EffectOptions,
    class_effects,
    effect_bootstrap,
    summary_ends,
)
from evenhand.metrics.prepared import LEVEL, REPLICATES, Prepared
from evenhand.stats.skewness import skewness, skewness_bound

Floats = npt.NDArray[np.float64]

_SLIGHT = 0.005  # a value this close to its interval needs no remark
_INTERVALS = {
    "score": "score interval around the bias-corrected value",
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
        found = percentile_interval(skewness(draws), level=LEVEL, method=method, seed=prepared.seed)
        fields |= {"interval": found} | _against_null(prepared, skewness(effects.null.draws), value, "both")
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


def summary_finding(prepared: Prepared, name: str, options: EffectOptions) -> Finding:
    """Mean, median or largest effect size over classes; the interval is of bounds and conservative."""
    effects = class_effects(prepared, options)
    summary = _SUMMARY_OF.get(name, "mean")
    summarise = _SUMMARIES[summary]
    usable = ~np.isnan(effects.values)
    value = number(float(summarise(effects.values[usable]))) if usable.any() else None
    fields: dict[str, Any] = {}
    if effects.null is not None and value is not None:
        low, high, method = summary_ends(prepared, options, effects, summary)
        # a class counted as 0 although it has no table (constant="zero") is 0 by chance, too
        drawn = np.where(effects.tables.dof > 0, effects.null.draws, 0.0)[:, np.flatnonzero(usable)]
        fields = {"interval": Interval(low=low, high=high, level=LEVEL, method=method)}
        fields |= _against_null(prepared, summarise(drawn), value, "high")
        fields["notes"] = _outside(value, fields["interval"])
    with_parts = name in ("cramers_v_corrected", "phi")
    return build(
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


def single_table(prepared: Prepared, name: str, options: EffectOptions) -> Finding:
    """The effect size of one table."""
    effects = class_effects(prepared, options)
    part = class_parts(prepared, options, effects)[0]
    return build(
        prepared.grouped,
        name,
        options.changed,
        part.value,
        reason=part.reason,
        interval=part.interval,
        null=part.null,
        p_value=part.p_value,
        mde=part.mde,
        band=part.band,
        notes=_outside(part.value, part.interval) if part.value is not None else [],
    )


_SUMMARIES: dict[str, Callable[[Floats], Floats]] = {
    "mean": lambda values: np.asarray(values.mean(axis=-1)),
    "median": lambda values: np.asarray(np.median(values, axis=-1)),
    "largest": lambda values: np.asarray(values.max(axis=-1)),
}
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


def _against_null(prepared: Prepared, null: Floats, value: float, side: str) -> dict[str, Any]:
    """Null band and p of a summary over classes."""
    band = null_band(null, level=LEVEL, method="each class from its null distribution", seed=prepared.seed)
    return {"null": band, "p_value": resampled_p(null, value, side) if band else None}


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
    if low is None or high is None:
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
    missing = [name for name in ("interval", "null") if name in fields and fields[name] is None]
    return [f"no {name}: more than a tenth of its replicates have no spread over classes" for name in missing]


def _outside(value: float, interval: Interval | None) -> list[str]:
    """Say so where a plain value lies outside its bias-corrected interval."""
    if interval is None or interval.low - _SLIGHT <= value <= interval.high + _SLIGHT:
        return []
    return [
        "the value lies outside its interval: it contains the noise floor of small tables, which the "
        "interval leaves out; compare it with the null band"
    ]


def _skewness_notes(used: int, classes: int) -> list[str]:
    bound = skewness_bound(used)
    notes = [f"{used} of {classes} classes used; |SkewSize| of so many values is at most {bound:.3f}"]
    return notes if used > 2 else []
