"""The effect size of every class, with interval, null band and p: what SkewSize and its kin summarise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from evenhand.evidence.grouping import Grouped
from evenhand.metrics.effect_options import EffectOptions
from evenhand.metrics.null_effects import NullChi2, NullEffects, null_chi2, null_of_units
from evenhand.metrics.prepared import LEVEL, REPLICATES, Prepared
from evenhand.stats import resampling
from evenhand.stats.contingency import Association, TableBatch, association, filter_by_expected
from evenhand.stats.effect_intervals import (
    PhiSquared,
    delta_interval,
    noncentral_interval,
    phi_squared,
    score_draws,
)
from evenhand.stats.inverted_families import Inverted
from evenhand.stats.multiplicity import adjust
from evenhand.stats.power import minimum_detectable_v
from evenhand.stats.summary_intervals import Squares, class_ends, squares, summary_family
from evenhand.stats.unit_tables import UnitTables

Floats = npt.NDArray[np.float64]

SummaryEnds = Callable[[float, float], tuple[float, float, str]]

_SCORES, _SCORED = 60_000, (60, 400)  # classes x draws of a summary, and the least and most of these
_SUMMARY_METHOD = "inverted test along the significant and along all of the estimated effects"


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
        corrected: The effect sizes without what noise adds to them.
        low: Lower interval ends, of ``corrected``.
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
    corrected: Floats
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
    units: UnitTables | None

    @cached_property
    def association(self) -> Association:
        return association(self.batch)

    def phi2(self, null: NullChi2 | None) -> PhiSquared:
        """Bias-corrected phi-squared; of clusters by the null's draws."""
        if self.units is None or null is None:
            return phi_squared(self.batch, self.association)
        return self.units.phi_squared(self.association, null.draws)


def _tables(prepared: Prepared, options: EffectOptions) -> _Tables:
    key = ("tables", options.form, options.mev, options.mev_rule, options.rare)
    if key not in prepared.memo:
        whole, labels = _whole(prepared, options.form)
        batch = whole
        if options.mev > 0:
            batch = filter_by_expected(whole, options.mev, options.mev_rule, pool=options.rare == "pool")
        pooled = int(whole.column.max()) + 1 if options.mev > 0 and options.rare == "pool" else None
        units = unit_tables(prepared.grouped, options.form, batch, labels, pooled)
        prepared.memo[key] = _Tables(whole, batch, labels, units)
    tables: _Tables = prepared.memo[key]
    return tables


def unit_tables(
    grouped: Grouped,
    form: str,
    batch: TableBatch,
    labels: npt.NDArray[np.integer],
    pooled: int | None = None,
) -> UnitTables | None:
    """What clusters or weighted rows add to the cells of tables; None where rows count alike, one by one.

    Args:
        grouped: The usable rows.
        form: Of the tables.
        batch: The tables.
        labels: Label of each table.
        pooled: Column that rare ones were put together in.
    """
    cells = grouped if grouped.units is None else grouped.units
    if grouped.units is None and grouped.moments is None:
        return None
    table, column = {
        "separation": (cells.truth, cells.prediction),
        "sufficiency": (cells.prediction, cells.truth),
        "independence": (np.zeros_like(cells.truth), cells.prediction),
    }[form]
    where = table if form == "independence" else np.searchsorted(labels, table)
    place = batch.places(where, cells.group, column)
    if pooled is not None:
        place = np.where(place < 0, batch.places(where, cells.group, np.full(column.shape, pooled)), place)
    kept = np.flatnonzero(place >= 0)
    n = cells.n.astype(np.float64)[kept]
    if grouped.units is not None:
        return UnitTables.of_clusters(batch, place[kept], grouped.units.unit[kept], n)
    return UnitTables(batch, place[kept], kept, n, np.asarray(grouped.moments)[1][kept])


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
    found = effect_squares(prepared, options, plain)
    known = plain.tables.dof > 0
    low, high = _interval(prepared, options, plain, found, null.p)
    size = replace(plain.tables, n=effect_sizes(prepared, options, plain).size)
    mde = minimum_detectable_v(size, alpha=options.alpha)
    if options.statistic == "phi":
        mde = mde * np.sqrt(np.maximum(plain.tables.dof, 0))
    corrected = np.where(known, found.corrected, np.nan)
    return replace(
        plain, corrected=corrected, low=np.where(known, np.minimum(low, corrected), np.nan),
        high=np.where(known, np.maximum(high, corrected), np.nan), null=null,
        p_adjusted=adjust(null.p, options.adjustment), mde=mde,
    )  # fmt: skip


def _null(prepared: Prepared, options: EffectOptions, plain: ClassEffects) -> NullChi2:
    """The null of chi-squared, shared by every statistic and mode on the same tables."""
    key = ("null", options.form, options.mev, options.mev_rule, options.rare)
    units = _tables(prepared, options).units
    if key not in prepared.memo and units is not None:
        prepared.memo[key] = null_of_units(units, plain.tables, prepared.stream("null", options.form))
    elif key not in prepared.memo:
        prepared.memo[key] = null_chi2(
            plain.batch,
            plain.tables,
            lambda table: prepared.stream("null", options.form, _key(prepared, options, plain, table)),
        )
    null: NullChi2 = prepared.memo[key]
    return null


def _key(prepared: Prepared, options: EffectOptions, effects: ClassEffects, table: int) -> str:
    return "" if options.form == "independence" else prepared.grouped.label_key(int(effects.labels[table]))


def effect_sizes(prepared: Prepared, options: EffectOptions, plain: ClassEffects) -> PhiSquared:
    """Bias-corrected phi-squared of every table."""
    key = ("phi2", options.form, options.mev, options.mev_rule, options.rare)
    if key not in prepared.memo:
        shared = _tables(prepared, options)
        null = None if shared.units is None else _null(prepared, options, plain)
        prepared.memo[key] = shared.phi2(null)
    phi2: PhiSquared = prepared.memo[key]
    return phi2


def effect_squares(prepared: Prepared, options: EffectOptions, plain: ClassEffects) -> Squares:
    """Squared effect sizes without noise, on the scale of the statistic."""
    return squares(plain.tables, effect_sizes(prepared, options, plain), phi=options.statistic == "phi")


def pooled_squares(prepared: Prepared, options: EffectOptions, effects: ClassEffects) -> Squares:
    """What is known about the squared V of all usable classes together, shape (1,).

    Chi-squared of independent classes adds up: so do its means and variances.
    """
    found = effect_squares(prepared, options, effects)
    some = effects.tables.dof > 0
    weight = np.where(some, effects.tables.n * effects.tables.dof, 0.0)
    weight /= weight.sum()
    known = np.maximum(found.centre, 1e-300)
    draws = effects.null.draws[:, some] ** 2 @ weight[some] if effects.null is not None else np.zeros(1)
    units = _tables(prepared, options).units
    sums = {name: np.array([weight @ getattr(found, name)]) for name in ("centre", "floor", "plain")}
    noise = weight**2 @ found.noise if units is None else draws.var()
    slope = weight**2 @ (found.slope * known) / (weight @ known)
    return Squares(noise=np.array([noise]), slope=np.array([slope]), top=np.ones(1), **sums)


def _interval(
    prepared: Prepared, options: EffectOptions, plain: ClassEffects, found: Squares, p: Floats
) -> tuple[Floats, Floats]:
    """Interval ends on the scale of the statistic."""
    if options.interval == "score":
        return class_ends(found, p, LEVEL)
    if options.interval == "bootstrap":
        draws = effect_bootstrap(prepared, options, plain)[0]
        ends = np.full((2, draws.shape[1]), np.nan)
        drawn = ~np.isnan(draws).all(axis=0)
        ends[:, drawn] = np.nanquantile(draws[:, drawn], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
        return ends[0], ends[1]
    if options.interval == "delta":
        low, high = delta_interval(plain.batch, plain.tables, LEVEL)
    else:
        low, high = noncentral_interval(plain.tables, LEVEL)
    scale = _scale(options, plain)
    return low * scale, high * scale


def effect_bootstrap(prepared: Prepared, options: EffectOptions, effects: ClassEffects) -> tuple[Floats, str]:
    """Replicates of the effect sizes, shape (replicates, k), and how they were made.

    Rows are resampled within class and group. Where that would take too long, or rows come in clusters or
    have weights, phi-squared is drawn from a normal distribution with its standard error instead. Replicates
    contain the noise of the sample once more, so they serve the shape of the distribution (SkewSize), not
    its location.
    """
    key = ("effect bootstrap", options.form, options.kind, options.mev, options.mev_rule, options.rare)
    if key not in prepared.memo:
        rows = _tables(prepared, options).units is None
        if rows and effects.batch.table.size * REPLICATES <= resampling.CELL_BUDGET:
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
    draws = score_draws(effects.tables, effect_sizes(prepared, options, effects), noise)
    return draws * _scale(options, effects)


def summary_limits(
    prepared: Prepared, options: EffectOptions, effects: ClassEffects, summary: str
) -> tuple[float, SummaryEnds]:
    """The mean, median or largest effect size of the population over usable classes, and its limits.

    A single class has its own interval, whatever the summary.

    Args:
        prepared: The evidence.
        options: How effect sizes are measured.
        effects: The classes, at least one of them usable.
        summary: ``mean``, ``median`` or ``largest``.

    Returns:
        The corrected summary; from a level and the p of the summary's test (NaN: as the draws say) to the low
        end, the high end and how they were made.
    """
    used = np.flatnonzero(~np.isnan(effects.values))
    found = effect_squares(prepared, options, effects).each(lambda array: array[used])
    classes_p = np.full(used.size, np.nan) if effects.null is None else effects.null.p[used]
    if used.size == 1:

        def of_one(level: float, _: float) -> tuple[float, float, str]:
            low, high = class_ends(found, classes_p, level)
            return float(low[0]), float(high[0]), "interval of the one class"

        return float(found.corrected[0]), of_one
    shared = replace(options, statistic="phi" if options.statistic == "phi" else "cramers_v")
    key = ("summary", shared, effects.null is None, summary)
    if key not in prepared.memo:
        scores = _scores(prepared, options, effects, found, used)
        prepared.memo[key] = summary_family(found, summary, scores, classes_p)
    family: Inverted = prepared.memo[key]
    corrected = family.corrected

    def ends(level: float, p: float) -> tuple[float, float, str]:
        low, high = family.limits(level)
        low = 0.0 if p > 1 - level else max(low, family.least) if p <= 1 - level else low
        return min(low, corrected), max(high, corrected), _SUMMARY_METHOD

    return corrected, ends


def _scores(
    prepared: Prepared,
    options: EffectOptions,
    effects: ClassEffects,
    found: Squares,
    used: npt.NDArray[np.integer],
) -> Floats:
    """Normal scores of draws without effects, shape (R, classes); of normal numbers where none are drawn."""
    size = int(np.clip(_SCORES // used.size, *_SCORED))
    if effects.null is None or np.isnan(effects.null.p[used]).all():
        return prepared.stream("effect scores", options.form).standard_normal((size, used.size))
    chi2, observed = _null(prepared, options, effects).draws[:size, used], effects.tables.chi2[used]
    scale = np.divide(found.plain, observed, out=np.zeros(observed.shape), where=observed > 0)
    return found.scores(chi2 * scale)


def _scale(options: EffectOptions, effects: ClassEffects) -> Floats:
    """What V is multiplied by to give the statistic."""
    dof = np.maximum(effects.tables.dof, 0).astype(np.float64)
    return np.sqrt(dof) if options.statistic == "phi" else np.ones(dof.shape)


def _resampled(prepared: Prepared, options: EffectOptions, effects: ClassEffects) -> tuple[Floats, str]:
    batch, tables = effects.batch, effects.tables
    replicates = resampling.enough(batch.table.size, REPLICATES)
    chi2 = np.full((replicates, effects.values.size), np.nan)
    starts = np.searchsorted(batch.table, np.arange(batch.n_tables + 1))
    for table in np.flatnonzero(tables.dof > 0).tolist():
        cut = slice(starts[table], starts[table + 1])
        cells = resampling.ClassCells(table, batch.row[cut], batch.column[cut], batch.n[cut])
        rng = prepared.stream("effect bootstrap", options.form, _key(prepared, options, effects, table))
        values, columns = resampling.bootstrap_chi2(cells, resampling.bootstrap_cells(rng, cells, replicates))
        dof = np.minimum(tables.n_rows[table], columns) - 1
        usable = dof > 0
        # a replicate may lose columns: rescale so that the observed divisor of V gives the replicate's V
        scale = tables.dof[table] / dof[usable] if options.statistic == "cramers_v" else 1.0
        chi2[usable, table] = values[usable] * scale
    return tables.statistic(options.kind, chi2), "stratified bootstrap within class and group"
