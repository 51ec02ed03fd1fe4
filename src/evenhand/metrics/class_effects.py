"""The effect size of every class, with interval, null band and p: what SkewSize and its kin summarise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import ParameterError, UnknownName, check_choice
from evenhand.metrics.null_effects import NullChi2, NullEffects, null_chi2
from evenhand.metrics.prepared import LEVEL, REPLICATES, Prepared, check_common
from evenhand.stats import resampling
from evenhand.stats.contingency import Association, TableBatch, association, filter_by_expected
from evenhand.stats.effect_intervals import (
    PhiSquared,
    delta_interval,
    noncentral_interval,
    phi_squared,
    score_draws,
    score_interval,
)
from evenhand.stats.multiplicity import adjust
from evenhand.stats.power import minimum_detectable_v
from evenhand.stats.summary_intervals import largest_ends, mean_ends, median_ends, squares

Floats = npt.NDArray[np.float64]


class EffectKeywords(TypedDict, total=False):
    """The keyword options of every effect-size metric; see EffectOptions for their meaning."""

    statistic: str
    mev: float
    mev_rule: str
    rare: str
    constant: str
    interval: str
    alpha: float
    adjustment: str
    mode: str
    inference: str


@dataclass(frozen=True)
class EffectOptions:
    """How effect sizes are measured.

    Attributes:
        form: ``separation`` (group x prediction given truth), ``sufficiency`` (group x truth given
            prediction) or ``independence`` (group x prediction, one table).
        statistic: ``cramers_v``, ``phi`` or ``bergsma``.
        mev: Minimum expected value a column must reach to stay (Appendix D.3); 0 keeps all.
        mev_rule: Which of a column's expected values counts: ``min``, ``mean`` or ``max`` over groups.
        rare: What happens to rarer columns: ``drop`` or ``pool`` into one.
        constant: What a class with a single predicted label is: ``drop`` (undefined) or ``zero``.
        interval: ``score``, ``delta``, ``noncentral`` or ``bootstrap``.
        alpha: Level of the tests.
        adjustment: ``holm``, ``bh`` or ``none``, over classes.
        mode: ``paper`` applies Yates' correction to 2x2 tables, as the listing in Appendix G.2 does.
        inference: ``auto``, or ``none`` for values only.
    """

    form: str = "separation"
    statistic: str = "cramers_v"
    mev: float = 0.0
    mev_rule: str = "min"
    rare: str = "drop"
    constant: str = "drop"
    interval: str = "score"
    alpha: float = 0.05
    adjustment: str = "holm"
    mode: str = "default"
    inference: str = "auto"

    @classmethod
    def make(cls, form: str, keywords: Mapping[str, Any]) -> EffectOptions:
        """Options from keywords, checked.

        Raises:
            UnknownName: A keyword that does not exist.
            ParameterError: A value outside what is possible.
        """
        known = [field.name for field in fields(cls) if field.name != "form"]
        for name in keywords:
            if name not in known:
                raise UnknownName("option", name, known)
        options = cls(form, **keywords)
        check_common(options.mode, options.inference)
        for name, possible in _CHOICES.items():
            check_choice(name, getattr(options, name), possible)
        if not 0 < options.alpha < 1:
            raise ParameterError(f"alpha={options.alpha} is not possible; choose a level between 0 and 1")
        if not 0 <= options.mev < math.inf:
            raise ParameterError(f"mev={options.mev} is not possible; choose 0 (keep all columns) or more")
        return options

    @property
    def kind(self) -> str:
        """The statistic's kernel name."""
        yates = self.mode == "paper" and self.statistic == "cramers_v"
        return "cramers_v_yates" if yates else self.statistic

    @property
    def changed(self) -> dict[str, Any]:
        """The options that change a value and are not at their default."""
        names = ["mode", "statistic", "mev", "constant"] + (["mev_rule", "rare"] if self.mev else [])
        default = EffectOptions()
        return {n: getattr(self, n) for n in sorted(names) if getattr(self, n) != getattr(default, n)}


_CHOICES = {
    "statistic": ("cramers_v", "phi", "bergsma"),
    "mev_rule": ("min", "mean", "max"),
    "rare": ("drop", "pool"),
    "constant": ("drop", "zero"),
    "interval": ("score", "delta", "noncentral", "bootstrap"),
    "adjustment": ("holm", "bh", "none"),
}


@dataclass(frozen=True, eq=False)
class ClassEffects:
    """Effect sizes of k tables; arrays have shape (k,) and hold NaN where undefined.

    Attributes:
        labels: Label code of each table.
        batch: The tables after filtering.
        tables: Their chi-squared and shapes.
        values: The effect sizes.
        reasons: A reason code where a value is undefined, else None.
        n: Rows of each table before filtering.
        low: Lower interval ends.
        high: Upper interval ends.
        null: Null band and p, None without inference.
        p_adjusted: p over the family of classes.
        mde: Minimum detectable effects.
    """

    labels: npt.NDArray[np.integer]
    batch: TableBatch
    tables: Association
    values: Floats
    reasons: list[str | None]
    n: Floats
    low: Floats
    high: Floats
    null: NullEffects | None
    p_adjusted: Floats
    mde: Floats


def class_effects(prepared: Prepared, options: EffectOptions) -> ClassEffects:
    """Effect sizes of every class, computed once for equal options."""
    key = ("effects", options)
    if key not in prepared.memo:
        prepared.memo[key] = _compute(prepared, options)
    effects: ClassEffects = prepared.memo[key]
    return effects


@dataclass(frozen=True, eq=False)
class _Tables:
    """The tables of one form and filter, with what every statistic on them shares."""

    whole: TableBatch
    batch: TableBatch
    labels: npt.NDArray[np.integer]

    @cached_property
    def association(self) -> Association:
        return association(self.batch)

    @cached_property
    def phi2(self) -> PhiSquared:
        return phi_squared(self.batch, self.association)


def _tables(prepared: Prepared, options: EffectOptions) -> _Tables:
    key = ("tables", options.form, options.mev, options.mev_rule, options.rare)
    if key not in prepared.memo:
        whole, labels = _whole(prepared, options.form)
        batch = whole
        if options.mev > 0:
            batch = filter_by_expected(whole, options.mev, options.mev_rule, pool=options.rare == "pool")
        prepared.memo[key] = _Tables(whole, batch, labels)
    tables: _Tables = prepared.memo[key]
    return tables


def _whole(prepared: Prepared, form: str) -> tuple[TableBatch, npt.NDArray[np.integer]]:
    grouped = prepared.grouped
    if form == "independence":
        return prepared.independence, np.zeros(1, dtype=np.int64)
    whole = prepared.separation if form == "separation" else prepared.sufficiency
    labels = np.sort(grouped.classes) if form == "separation" else np.unique(grouped.prediction)
    return whole.select(labels), labels


def _compute(prepared: Prepared, options: EffectOptions) -> ClassEffects:
    shared = _tables(prepared, options)
    whole, tables = shared.whole, shared.association
    values = np.where(tables.dof > 0, tables.statistic(options.kind), np.nan)
    reasons = [
        reason_of(*facts, filtered=options.mev > 0)
        for facts in zip(whole.total, whole.n_rows, whole.n_columns, values, strict=True)
    ]
    if options.constant == "zero":
        flat = np.array([reason == "constant" for reason in reasons])
        values, reasons = np.where(flat, 0.0, values), [None if r == "constant" else r for r in reasons]
    nothing = np.full(values.shape, np.nan)
    plain = ClassEffects(
        shared.labels,
        shared.batch,
        tables,
        values,
        reasons,
        whole.total,
        nothing,
        nothing,
        None,
        nothing,
        nothing,
    )
    return plain if options.inference == "none" else _with_inference(prepared, options, plain)


def reason_of(n: float, rows: int, columns: int, value: float, *, filtered: bool) -> str | None:
    """Why a table has no value; None where it has one."""
    if not np.isnan(value):
        return None
    if n == 0:
        return "empty"
    if rows < 2:
        return "single_group"
    if columns < 2:
        return "constant"
    return "below_minimum_expected" if filtered else "undefined"


def _with_inference(prepared: Prepared, options: EffectOptions, plain: ClassEffects) -> ClassEffects:
    null = _null(prepared, options, plain).of(plain.tables, options.kind)
    low, high = _interval(prepared, options, plain)
    mde = minimum_detectable_v(plain.tables, alpha=options.alpha)
    if options.statistic == "phi":
        mde = mde * np.sqrt(np.maximum(plain.tables.dof, 0))
    return replace(
        plain, low=low, high=high, null=null, p_adjusted=adjust(null.p, options.adjustment), mde=mde
    )


def _null(prepared: Prepared, options: EffectOptions, plain: ClassEffects) -> NullChi2:
    """The null of chi-squared, shared by every statistic and mode on the same tables."""
    key = ("null", options.form, options.mev, options.mev_rule, options.rare, options.alpha)
    if key not in prepared.memo:
        prepared.memo[key] = null_chi2(
            plain.batch,
            plain.tables,
            options.alpha,
            lambda table: prepared.stream("null", options.form, _key(prepared, options, plain, table)),
        )
    null: NullChi2 = prepared.memo[key]
    return null


def _key(prepared: Prepared, options: EffectOptions, effects: ClassEffects, table: int) -> str:
    return "" if options.form == "independence" else prepared.grouped.label_key(int(effects.labels[table]))


def _interval(prepared: Prepared, options: EffectOptions, plain: ClassEffects) -> tuple[Floats, Floats]:
    """Interval ends on the scale of the statistic."""
    if options.interval == "bootstrap":
        draws = effect_bootstrap(prepared, options, plain)[0]
        ends = np.full((2, draws.shape[1]), np.nan)
        drawn = ~np.isnan(draws).all(axis=0)
        ends[:, drawn] = np.nanquantile(draws[:, drawn], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return ends[0], ends[1]
    if options.interval == "score":
        low, high = score_interval(plain.tables, _tables(prepared, options).phi2, LEVEL)
    elif options.interval == "delta":
        low, high = delta_interval(plain.batch, plain.tables, LEVEL)
    else:
        low, high = noncentral_interval(plain.tables, LEVEL)
    scale = _scale(options, plain)
    return low * scale, high * scale


def effect_bootstrap(prepared: Prepared, options: EffectOptions, effects: ClassEffects) -> tuple[Floats, str]:
    """Replicates of the effect sizes, shape (replicates, k), and how they were made.

    Rows are resampled within class and group. Where that would take too long, phi-squared is drawn from a
    normal distribution with its standard error instead. Replicates contain the noise of the sample once
    more, so they serve the shape of the distribution (SkewSize), not its location.
    """
    key = ("effect bootstrap", options.form, options.kind, options.mev, options.mev_rule, options.rare)
    if key not in prepared.memo:
        if effects.batch.table.size * REPLICATES <= resampling.CELL_BUDGET:
            prepared.memo[key] = _resampled(prepared, options, effects)
        else:
            draws = _normal_draws(prepared, options, effects)
            prepared.memo[key] = draws, "each class from a normal distribution around its estimate"
    draws_and_method: tuple[Floats, str] = prepared.memo[key]
    return draws_and_method


def _normal_draws(prepared: Prepared, options: EffectOptions, effects: ClassEffects) -> Floats:
    """Effect sizes drawn from the normal distribution around each class's value, shape (replicates, k)."""
    rng = prepared.stream("effect draws", options.form)
    noise = rng.standard_normal((REPLICATES, effects.values.size))
    draws = score_draws(effects.tables, _tables(prepared, options).phi2, noise)
    return draws * _scale(options, effects)


def summary_ends(
    prepared: Prepared, options: EffectOptions, effects: ClassEffects, summary: str, level: float = LEVEL
) -> tuple[float, float, str]:
    """Bounds of the mean, median or largest effect size of the population over usable classes.

    A single class has its own score interval, whatever the summary.

    Args:
        prepared: The evidence.
        options: How effect sizes are measured.
        effects: The classes, at least one of them usable.
        summary: ``mean``, ``median`` or ``largest``.
        level: Of the bounds.

    Returns:
        Low end, high end, and how they were made.
    """
    used = np.flatnonzero(~np.isnan(effects.values))
    phi2 = _tables(prepared, options).phi2
    if used.size == 1:
        scale = _scale(options, effects)[used[0]]
        # a class that counts as 0 although it has no table (constant="zero") is 0 for certain
        low, high = (
            float(np.nan_to_num(end[used[0]]) * scale) for end in score_interval(effects.tables, phi2, level)
        )
        return low, high, "score interval of the one class"
    found = squares(effects.tables, phi2, phi=options.statistic == "phi").each(lambda array: array[used])
    ends, method = _SUMMARY_ENDS[summary]
    low, high = map(float, ends(found, level))
    return low, high, method


def _scale(options: EffectOptions, effects: ClassEffects) -> Floats:
    """What V is multiplied by to give the statistic."""
    dof = np.maximum(effects.tables.dof, 0).astype(np.float64)
    return np.sqrt(dof) if options.statistic == "phi" else np.ones(dof.shape)


_SUMMARY_ENDS = {
    "mean": (mean_ends, "moment bounds, conservative (Jensen, Hoelder, smoothed root)"),
    "median": (median_ends, "order statistics of the classes' limits, conservative"),
    "largest": (largest_ends, "largest of the classes' limits, conservative"),
}


def _resampled(prepared: Prepared, options: EffectOptions, effects: ClassEffects) -> tuple[Floats, str]:
    batch, tables = effects.batch, effects.tables
    chi2 = np.full((REPLICATES, effects.values.size), np.nan)
    starts = np.searchsorted(batch.table, np.arange(batch.n_tables + 1))
    for table in np.flatnonzero(tables.dof > 0).tolist():
        cut = slice(starts[table], starts[table + 1])
        cells = resampling.ClassCells(table, batch.row[cut], batch.column[cut], batch.n[cut])
        rng = prepared.stream("effect bootstrap", options.form, _key(prepared, options, effects, table))
        values, columns = resampling.bootstrap_chi2(cells, resampling.bootstrap_cells(rng, cells, REPLICATES))
        dof = np.minimum(tables.n_rows[table], columns) - 1
        usable = dof > 0
        # a replicate may lose columns: rescale so that the observed divisor of V gives the replicate's V
        scale = tables.dof[table] / dof[usable] if options.statistic == "cramers_v" else 1.0
        chi2[usable, table] = values[usable] * scale
    return tables.statistic(options.kind, chi2), "stratified bootstrap within class and group"
