"""The effect size of every class, with interval, null band and p: what SkewSize and its kin summarise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.core.findings import Interval
from evenhand.metrics.classification.effect_options import EffectOptions, Form
from evenhand.metrics.classification.null_effects import NullChi2, NullEffects, null_chi2, null_of_units
from evenhand.metrics.estimates import LEVEL, REPLICATES, get_or_make
from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.tables.grouping import Grouped
from evenhand.stats.arrays import Codes, Ends, Floats, central, ratio
from evenhand.stats.contingency import resampling
from evenhand.stats.contingency.effect_intervals import (
    PhiSquared,
    minimum_detectable_v,
    phi_squared,
    score_draws,
)
from evenhand.stats.contingency.summary_intervals import Squares, class_ends, squares, summary_family
from evenhand.stats.contingency.tables import Association, TableBatch, association, filter_by_expected
from evenhand.stats.exchange.unit_tables import UnitTables
from evenhand.stats.inverted_families import Inverted
from evenhand.stats.multiplicity import adjust

_SCORES, _SCORED = 60_000, (60, 400)  # classes x draws of a summary, and the least and most of these
SCORE_METHOD = "score interval of the bias-corrected value, test inversion below"
_SUMMARY_METHOD = "inverted test along the significant and along all of the estimated effects"


@dataclass(frozen=True, eq=False)
class ClassTables:
    """The tables of one form and filter, with what every statistic on them shares."""

    prepared: BoundCounts  # the evidence
    form: Form  # as in EffectOptions
    labels: Codes  # label code of each table
    whole: TableBatch  # the tables before filtering; ``batch``: after
    batch: TableBatch
    # what clusters or weighted rows add to their cells; None where rows count alike, one by one
    units: UnitTables | None

    @classmethod
    def of(cls, prepared: BoundCounts, options: EffectOptions) -> ClassTables:
        """Made once for equal form and filter."""
        key = ("tables", options.form, options.mev, options.mev_rule, options.rare)
        return get_or_make(prepared.memo, key, cls._build, prepared, options)

    @classmethod
    def _build(cls, prepared: BoundCounts, options: EffectOptions) -> ClassTables:
        unfiltered: TableBatch = getattr(prepared, options.form)
        labels = np.zeros(1, dtype=np.int64)
        if options.form != "independence":
            separate = options.form == "separation"
            labels = np.sort(prepared.classes) if separate else np.unique(prepared.prediction)
            unfiltered = unfiltered.select(labels)
        batch, pooled = unfiltered, None
        if options.mev > 0:
            pool = options.rare == "pool"
            batch = filter_by_expected(unfiltered, options.mev, options.mev_rule, pool=pool)
            pooled = int(unfiltered.column.max()) + 1 if pool else None
        units = _unit_tables(prepared, options.form, batch, labels, pooled)
        return cls(prepared, options.form, labels, unfiltered, batch, units)

    @cached_property
    def association(self) -> Association:
        """Chi-squared and shapes."""
        return association(self.batch)

    @cached_property
    def null(self) -> NullChi2:
        """The null of chi-squared, from which that of every statistic and mode follows."""
        if self.units is not None:
            return null_of_units(self.units, self.association, self.prepared.stream("null", self.form))
        return null_chi2(
            self.batch,
            self.association,
            lambda table: self.prepared.stream("null", self.form, self.key(table)),
        )

    @cached_property
    def phi2(self) -> PhiSquared:
        """Bias-corrected phi-squared; of clusters by the null's draws."""
        if self.units is None:
            return phi_squared(self.batch, self.association)
        return self.units.phi_squared(self.association, self.null.draws)

    def key(self, table: int) -> str:
        """What a table is called: its label, or nothing for the only one."""
        return "" if self.form == "independence" else self.prepared.label_key(int(self.labels[table]))

    def scale(self, kind: str) -> Floats:
        """What V is multiplied by to give a statistic."""
        dof = np.maximum(self.association.dof, 0).astype(np.float64)
        return np.sqrt(dof) if kind == "phi" else np.ones(dof.shape)

    def resampled(self, kind: str) -> tuple[Floats, str]:
        """A statistic of rows resampled within class and group, or drawn where that would take too long."""
        if self.units is None and self.batch.table.size * REPLICATES <= resampling.CELL_BUDGET:
            return self._bootstrap(kind)
        rng = self.prepared.stream("effect draws", self.form)
        noise = rng.standard_normal((REPLICATES, self.labels.size))
        draws = score_draws(self.association, self.phi2, noise) * self.scale(kind)
        return draws, "each class from a normal distribution around its estimate"

    def _bootstrap(self, kind: str) -> tuple[Floats, str]:
        batch, tables = self.batch, self.association
        replicates = resampling.enough(batch.table.size, REPLICATES)
        chi2 = np.full((replicates, self.labels.size), np.nan)
        for table in np.flatnonzero(tables.dof > 0).tolist():
            cells = resampling.cells_of(batch, table)
            rng = self.prepared.stream("effect bootstrap", self.form, self.key(table))
            resamples = resampling.bootstrap_cells(rng, cells, replicates)
            values, columns = resampling.bootstrap_chi2(cells, resamples)
            dof = np.minimum(tables.n_rows[table], columns) - 1
            usable = dof > 0
            # a replicate may lose columns: rescale so that the observed divisor of V gives the replicate's V
            scale = tables.dof[table] / dof[usable] if kind.startswith("cramers_v") else 1.0
            chi2[usable, table] = values[usable] * scale
        return tables.statistic(kind, chi2), "stratified bootstrap within class and group"


@dataclass(frozen=True, eq=False)
class ClassEffects:
    """Effect sizes of k tables; arrays have shape (k,) and hold NaN where undefined."""

    prepared: BoundCounts  # the evidence
    options: EffectOptions  # how effect sizes are measured
    labels: Codes  # label code of each table
    tables: Association  # chi-squared and shapes of the tables after filtering
    values: Floats  # the effect sizes
    reasons: list[str | None]  # a reason code where a value is undefined, else None
    n: Floats  # rows of each table before filtering
    null: NullEffects | None  # null band and p, None without inference
    # the effect sizes without what noise adds to them (``corrected``), and interval ends of these, shape
    # (3, k)
    limits: Floats
    mde: Floats  # minimum detectable effects

    @cached_property
    def p_adjusted(self) -> Floats:
        """P over the family of classes."""
        p = self.mde if self.null is None else self.null.p
        return adjust(p, self.options.adjustment)

    @property
    def shared(self) -> ClassTables:
        """The tables with what other statistics use, too."""
        return ClassTables.of(self.prepared, self.options)

    @cached_property
    def squares(self) -> Squares:
        """Squared effect sizes without noise, on the scale of the statistic."""
        return squares(self.tables, self.shared.phi2, phi=self.options.statistic == "phi")


def class_effects(prepared: BoundCounts, options: EffectOptions) -> ClassEffects:
    """Effect sizes of every class, computed once for equal options."""

    def make() -> ClassEffects:
        shared = ClassTables.of(prepared, options)
        plain = plain_effects(prepared, options, shared.labels, shared.association, shared.whole)
        return plain if options.inference == "none" else _with_inference(plain)

    return get_or_make(prepared.memo, ("effects", options), make)


def plain_effects(
    prepared: BoundCounts, options: EffectOptions, labels: Codes, tables: Association, unfiltered: TableBatch
) -> ClassEffects:
    """Effect sizes without inference; ``unfiltered``: the tables before filtering."""
    values = np.where(tables.dof > 0, tables.statistic(options.kind), np.nan)
    why = np.select(
        [~np.isnan(values), unfiltered.total == 0, unfiltered.n_rows < 2, unfiltered.n_columns < 2],
        ["", "empty", "single_group", "constant"],
        "below_minimum_expected" if options.mev > 0 else "undefined",
    )
    reasons = [reason or None for reason in why.tolist()]
    undefined = np.full((4, values.size), np.nan)
    return ClassEffects(
        prepared,
        options,
        labels,
        tables,
        values,
        reasons,
        unfiltered.total,
        None,
        undefined[:3],
        undefined[3],
    )


def _unit_tables(
    grouped: Grouped, form: Form, batch: TableBatch, labels: Codes, pooled: int | None
) -> UnitTables | None:
    """What clusters or weighted rows add to the cells; ``pooled``: the column of all rare ones together."""
    cells = grouped if grouped.units is None else grouped.units
    if grouped.units is None and grouped.moments is None:
        return None
    table, column = {
        "separation": (cells.truth, cells.prediction),
        "sufficiency": (cells.prediction, cells.truth),
        "independence": (np.zeros_like(cells.truth), cells.prediction),
    }[form]
    where = table if form == "independence" else np.searchsorted(labels, table)
    cell = batch.places(where, cells.group, column)
    if pooled is not None:
        cell = np.where(cell < 0, batch.places(where, cells.group, np.full(column.shape, pooled)), cell)
    selected = np.flatnonzero(cell >= 0)
    n = cells.n.astype(np.float64)[selected]
    if grouped.units is not None:
        return UnitTables.of_clusters(batch, cell[selected], grouped.units.unit[selected], n)
    return UnitTables(batch, cell[selected], selected, n, np.asarray(grouped.moments)[1][selected])


def _with_inference(plain: ClassEffects) -> ClassEffects:
    options, shared = plain.options, plain.shared
    null = shared.null.of(plain.tables, options.kind)
    is_estimable = plain.tables.dof > 0
    corrected = plain.squares.corrected
    low, high = _interval(plain, null.p)
    limits = np.stack([corrected, np.minimum(low, corrected), np.maximum(high, corrected)])
    mde = minimum_detectable_v(replace(plain.tables, n=shared.phi2.size), alpha=options.alpha)
    return replace(
        plain, null=null, limits=np.where(is_estimable, limits, np.nan), mde=mde * shared.scale(options.kind)
    )


def pooled_squares(effects: ClassEffects) -> Squares:
    """What is known about the squared V of all usable classes together, shape (1,).

    Chi-squared of independent classes adds up: so do its means and variances.
    """
    squared, some = effects.squares, effects.tables.dof > 0
    weight = np.where(some, effects.tables.n * effects.tables.dof, 0.0)
    weight /= weight.sum()
    centres = np.maximum(squared.centre, 1e-300)
    draws = effects.null.draws[:, some] ** 2 @ weight[some] if effects.null is not None else np.zeros(1)
    sums = {name: np.array([weight @ getattr(squared, name)]) for name in ("centre", "floor", "plain")}
    noise = weight**2 @ squared.noise if effects.shared.units is None else draws.var()
    slope = weight**2 @ (squared.slope * centres) / (weight @ centres)
    return Squares(noise=np.array([noise]), slope=np.array([slope]), top=np.ones(1), **sums)


def _interval(effects: ClassEffects, p: Floats) -> Ends:
    """Interval ends on the scale of the statistic."""
    if effects.options.interval == "score":
        return class_ends(effects.squares, p, LEVEL)
    draws = effect_bootstrap(effects)[0]
    ends = np.full((2, draws.shape[1]), np.nan)
    has_draws = ~np.isnan(draws).all(axis=0)
    ends[:, has_draws] = np.nanquantile(draws[:, has_draws], central(LEVEL), axis=0)
    return ends[0], ends[1]


def effect_bootstrap(effects: ClassEffects) -> tuple[Floats, str]:
    """Replicates of the effect sizes, shape (replicates, k), and how they were made.

    Rows are resampled within class and group. Where that would take too long, or rows come in clusters or
    have weights, phi-squared is drawn from a normal distribution with its standard error instead. Replicates
    contain the noise of the sample once more, so they serve the shape of the distribution (SkewSize), not
    its location.
    """
    shared, kind = effects.shared, effects.options.kind
    return get_or_make(effects.prepared.memo, (shared, kind), shared.resampled, kind)


def limits_of_one(squared: Squares, p: float, method: str = SCORE_METHOD) -> Callable[[float], Interval]:
    """From a level to the score interval of a single effect size, ``p`` that of its test."""

    def limits(level: float) -> Interval:
        (low,), (high,) = class_ends(squared, np.array([p]), level)
        return Interval(low=low, high=high, level=level, method=method)

    return limits


def summary_limits(
    effects: ClassEffects, summary: str, p: float | None = None
) -> tuple[float, Callable[[float], Interval]]:
    """The mean, median or largest effect size of the population over usable classes, and its limits.

    A single class has its own interval, whatever the summary. ``p``: of the summary's test; None: limits are
    as the draws say.
    """
    used = np.flatnonzero(~np.isnan(effects.values))
    squared = effects.squares.each(lambda array: array[used])
    classes_p = np.full(used.size, np.nan) if effects.null is None else effects.null.p[used]
    if used.size == 1:
        return float(squared.corrected[0]), limits_of_one(squared, classes_p[0], "interval of the one class")
    options = effects.options
    shared = replace(options, statistic="phi" if options.statistic == "phi" else "cramers_v")
    key = ("summary", shared, effects.null is None, summary)

    def make() -> Inverted:
        return summary_family(squared, summary, _scores(effects, squared, used), classes_p)

    family = get_or_make(effects.prepared.memo, key, make)
    corrected = family.corrected

    def limits(level: float) -> Interval:
        low, high = family.limits(level)
        if p is not None:
            low = 0.0 if p > 1 - level else max(low, family.least)
        low, high = min(low, corrected), max(high, corrected)
        return Interval(low=low, high=high, level=level, method=_SUMMARY_METHOD)

    return corrected, limits


def _scores(effects: ClassEffects, squared: Squares, used: Codes) -> Floats:
    """Normal scores of draws without effects, shape (R, classes); of normal numbers where none are drawn."""
    size = int(np.clip(_SCORES // used.size, *_SCORED))
    if effects.null is None or np.isnan(effects.null.p[used]).all():
        rng = effects.prepared.stream("effect scores", effects.options.form)
        return rng.standard_normal((size, used.size))
    chi2, observed = effects.shared.null.draws[:size, used], effects.tables.chi2[used]
    scale = ratio(squared.plain, observed, 0.0)
    return squared.scores(chi2 * scale)
