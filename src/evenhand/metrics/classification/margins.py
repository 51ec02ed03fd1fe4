"""Findings from the margins of truth x group x prediction: accuracies of groups and their distances.

Value, interval, null band and p; how sure each is, is said here for accuracies, in ``parity`` for labels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy import special

from evenhand.core.findings import Details, Finding, Interval, Part
from evenhand.display.text.reasons import explain
from evenhand.metrics.estimates import (
    LEVEL,
    Fields,
    Inference,
    Mode,
    against_reference,
    build,
    check_common,
    few_decide,
    null_band,
    number,
    part,
)
from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.tables.margin_rates import Margins
from evenhand.stats.arrays import Ends, Floats, Pair
from evenhand.stats.exchange.compared_rates import MaxT, exceeded
from evenhand.stats.rates.confusion import Confusion
from evenhand.stats.rates.rates import (
    MOST_PAIRED,
    Rates,
    gap_limits,
    mean_limits,
    normal_quantile,
    range_limits,
    rate_limits,
    worst_limits,
)

_MOST_GROUPS = 3_000
_ROUNDING = 1e-12  # as far apart as equal means may come
_BY_BONFERRONI = "p by Bonferroni's inequality with linearised variances: weighted rows are not exchanged"
_WORST_OF = "smallest of the {}' limits (Wilson below, Jeffreys above)"
_BY_TUKEY = "p by Tukey and Kramer with linearised variances: weighted rows are not exchanged"
TOO_MANY = "no interval: too many groups and labels to compare a rate of each"


@dataclass(frozen=True)
class MarginInference:
    """What is known of a value beyond itself."""

    ends: Callable[[float], Ends | Pair]  # from a level to the limits
    method: str  # how these are made
    test: MaxT | None = None  # that groups make no difference
    draws: Floats | None = None  # the value with exchanged groups, shape (R,); None: as the test has it
    p_value: float | None = None  # where neither has it
    reference: float | None = None  # where the value stands then; None where nothing says so
    exchanged: str = ""  # what was exchanged
    side: str = "high"  # which side of the draws is unfair: `high` or `low`
    corrected: float | None = None  # the value without what noise adds
    deciding: Mapping[str, int] = field(default_factory=dict)  # units of each group that decides the value
    details: Mapping[str, float | None] = field(default_factory=dict)  # further numbers
    notes: Sequence[str] = ()  # what a reader has to know
    # from the level of a test to details on what it would usually have shown; None: nothing is said of that
    noticed: Callable[[float], Details] | None = None

    def p_and_draws(self, value: float) -> tuple[float | None, Floats | None]:
        """Of the exchange, or of what stands in its place."""
        p, draws, sign = self.p_value, self.draws, 1 if self.side == "high" else -1
        if self.test is not None:
            return self.test.p_value, self.test.scaled(value) if draws is None else draws
        return (p if draws is None else exceeded(sign * value, sign * draws)), draws


def observed(prepared: BoundCounts, mode: Mode) -> Confusion:
    """The margins; in paper mode a difference over a single group is 0, as the formulas give it."""
    return replace(prepared.confusion, fewest=1) if mode == "paper" else prepared.confusion


def margin_finding(
    prepared: BoundCounts,
    name: str,
    infer: Callable[[Margins, float], MarginInference | str],
    *,
    mode: Mode,
    inference: Inference,
    key: str | None = None,
    params: Fields | None = None,
    parts: Sequence[Part] = (),
    value: float | None = None,
    details: Details | None = None,
) -> Finding:
    """A summary of the margins, called ``key`` or as the metric, or else a ``value``, as a Finding.

    ``infer`` gives interval, null and p of margins and value, or why there are none.
    """
    check_common(mode, inference)
    value = number(float(observed(prepared, mode).summary(key or name)) if value is None else value)
    # the differences between modes show on single groups only, so equal values carry one name
    all_params = {**(params or {}), "mode": mode if mode == "paper" else None}
    fields: Fields = {"parts": list(parts), "details": details or {}}
    groups = len(prepared.groups)
    if value is None:
        reason = "single_group" if groups < 2 else "undefined"
        return build(prepared, name, all_params, None, reason=reason, parts=list(parts))
    result = infer(prepared, value) if inference == "auto" else ""
    if isinstance(result, str):
        return build(prepared, name, all_params, value, notes=[result] if result else [], **fields)
    centre = value if result.corrected is None else result.corrected
    inferred = against_reference(
        centre, result.ends, result.method, *result.p_and_draws(value),
        result.exchanged, prepared.seed, reference=result.reference, side=result.side,
    )  # fmt: skip
    notes = [*result.notes, *few_decide(result.deciding.items(), prepared.unit)]
    if prepared.tables is not None and prepared.tables.relabelling.fixed and groups > 1:
        notes.insert(0, explain("one_cluster"))
    noticed = {} if result.noticed is None else result.noticed(1 - LEVEL)
    fields["details"] = {**result.details, **fields["details"], **noticed}
    finding = build(
        prepared, name, all_params, value, corrected=result.corrected,
        chance_at=result.reference or None, notes=notes, **inferred, **fields,
    )  # fmt: skip
    return finding if result.noticed is None else finding.with_power(result.noticed)


def mean_inference(margins: Margins, value: float) -> MarginInference:
    """Of the mean of groups: MOVER over all of them."""
    rates, draws = _groups(margins), None if margins.hits is None else margins.hits.rates.mean(axis=1)
    if draws is not None and np.ptp(draws) <= _ROUNDING:  # of groups of one size: exchange cannot change it
        draws = None
    return MarginInference(
        partial(mean_limits, rates, np.full(rates.value.size, 1 / rates.value.size)),
        "MOVER of Wilson limits", draws=draws, exchanged=f"{margins.exchanged} exchanged", side="low",
    )  # fmt: skip


def worst_inference(margins: Margins, value: float) -> MarginInference:
    """Of the worst group: the smallest of the groups' limits."""
    rates = _groups(margins)
    return MarginInference(
        partial(worst_limits, rates), _WORST_OF.format("groups"), side="low",
        draws=None if margins.hits is None else margins.hits.rates.min(axis=1),
        exchanged=f"{margins.exchanged} exchanged",
        deciding=deciding(margins, [int(np.nanargmin(rates.value))]),
    )  # fmt: skip


def worst_cell_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of the worst (class, group) cell: the smallest of the cells' limits."""
    if not margins.by_label:
        return TOO_MANY
    limits = partial(worst_limits, _cells(margins))
    draws, exchanged = _by_cell(margins, "worst_class_group_accuracy")
    return MarginInference(
        limits, _WORST_OF.format("cells"), draws=draws, exchanged=exchanged, side="low",
        deciding=_worst_cell(margins),
    )  # fmt: skip


def gap_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of accuracy minus that of the worst group: MOVER of each group and the others, at once."""
    rates, size = _groups(margins), margins.confusion.group_size
    if size.size < 2:
        return ""
    share, more = size / size.sum(), Fields()
    if margins.hits is None and margins.tables is None:
        t = -float(margins.compared("hit").from_rest[0, :, 0].min())
        more = {"p_value": min(1.0, share.size * float(special.ndtr(-t))), "notes": [_BY_BONFERRONI]}
    return MarginInference(
        partial(gap_limits, rates, share), "MOVER of each group and the others, at once", reference=0.0,
        test=None if margins.hits is None else margins.hits.below_rest(),
        exchanged=f"{margins.exchanged} exchanged, in standard errors",
        deciding=deciding(margins, [int(np.nanargmin(rates.value))]),
        **more,
    )  # fmt: skip


def cell_gap_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of accuracy minus that of the worst cell: MOVER of both.

    Classes differ in accuracy, so that chance is not at 0 but at the mean of the null.
    """
    if not margins.by_label or len(margins.groups) < 2:
        return TOO_MANY if not margins.by_label else ""
    cells, total = _cells(margins), margins.overall()

    def ends(level: float) -> Pair:
        worst, best = (float(limit) for limit in worst_limits(cells, level))
        low, high = rate_limits(total, level)
        middle = float(total.value[0])
        below = np.hypot(middle - low, best - (middle - value))
        above = np.hypot(high - middle, middle - value - worst)
        return max(value - float(below), 0.0), min(value + float(above), 1.0)

    draws, exchanged = _by_cell(margins, "class_group_accuracy_gap")
    return MarginInference(
        ends, "MOVER of the accuracy and the smallest of the cells", draws=draws, exchanged=exchanged,
        reference=None if draws is None else float(np.nanmean(draws)), deciding=_worst_cell(margins),
    )  # fmt: skip


def range_inference(margins: Margins, value: float) -> MarginInference | str:
    """Of the largest minus the smallest accuracy: MOVER of each two groups, at once."""
    rates, test = _groups(margins), None if margins.hits is None else margins.hits.largest
    groups = rates.value.size
    if not 1 < groups <= _MOST_GROUPS:
        return TOO_MANY if groups > 1 else ""
    extremes = [int(np.nanargmin(rates.value)), int(np.nanargmax(rates.value))]
    return MarginInference(
        lambda level: range_limits(rates, level, quantile=None if test is None else test.quantile(level)),
        together("MOVER of each two groups", groups), reference=0.0, test=test,
        exchanged=f"{margins.exchanged} exchanged, in standard errors",
        deciding=deciding(margins, extremes), **of_weights(margins, ("hit",), groups),
    )  # fmt: skip


def of_weights(margins: Margins, kinds: Sequence[str], groups: int, families: int = 1) -> Fields:
    """P of the largest difference of two groups of weighted rows, by Tukey and Kramer, with a note of it."""
    if margins.testable or margins.tables is not None:
        return {}
    from scipy import stats  # its import takes longer than a small audit, which does not come here

    t = max(float(margins.compared(kind).largest()[0]) for kind in kinds)
    p = families * float(stats.studentized_range.sf(t * np.sqrt(2), groups, np.inf))
    return {"p_value": min(1.0, p), "notes": [_BY_TUKEY]}


def together(method: str, groups: int) -> str:
    """A method with how many groups are compared, where the interval alone decides nothing."""
    return f"{method}, at once over {groups} groups" if groups > MOST_PAIRED else f"{method}, at once"


def deciding(margins: Margins, groups: Sequence[int]) -> dict[str, int]:
    """Units of some groups by their names."""
    sizes = margins.unit_sizes[list(groups)].tolist()
    return dict(zip(map(margins.group_text, groups), sizes, strict=True))


def accuracy_parts(prepared: BoundCounts, inference: Inference) -> list[Part]:
    """Accuracy of every group, with Wilson's interval and what exchanged groups would give."""
    parts: list[Part] = []
    if not prepared.by:
        return parts
    rates, hits = (_groups(prepared), prepared.hits) if inference == "auto" else (None, None)
    low, high = (np.zeros(0),) * 2 if rates is None else rates.limits(normal_quantile(LEVEL))
    accuracies, exchanged = prepared.confusion.accuracy_by_group(), f"{prepared.exchanged} exchanged"
    for z, n in enumerate(prepared.group_sizes.tolist()):
        fields = Fields()
        if rates is not None and rates.size[z] > 0:
            fields["interval"] = Interval(low=low[z], high=high[z], level=LEVEL, method=prepared.wilson)
        elif rates is not None:
            fields["reason"] = "one_cluster"
        if hits is not None:
            fields["null"] = null_band(hits.rates[:, z], method=exchanged, seed=prepared.seed)
        parts.append(part("group", prepared.group_key(z), accuracies[z], n=n, **fields))
    return parts


def _groups(margins: Margins) -> Rates:
    """Accuracies of the groups, shape (G,)."""
    return margins.rates("hit").at(0)


def _cells(margins: Margins) -> Rates:
    """Accuracies of all cells in one line."""
    rates = margins.rates("true")
    return Rates(rates.value.ravel(), rates.size.ravel(), rates.freedom.ravel())


def _by_cell(margins: Margins, key: str) -> tuple[Floats | None, str]:
    """A summary of the cells with exchanged groups, and what was exchanged."""
    chance = margins.within_truth if margins.testable else None
    return (None, "") if chance is None else (chance.values[key], chance.method)


def worst_cell(prepared: Margins) -> tuple[int, int, int]:
    """Group and class of the worst (class, group) cell, and its rows."""
    cells = prepared.confusion.rates("true")
    z, label = divmod(int(np.nanargmin(cells)), cells.shape[1])
    return z, label, int(prepared.rows[(prepared.truth == label) & (prepared.group == z)].sum())


def _worst_cell(margins: Margins) -> dict[str, int]:
    """Rows or clusters of the worst (class, group) cell by its name."""
    tables = margins.tables
    z, label, n = worst_cell(margins)
    if tables is not None:
        n = int(np.unique(tables.unit[(tables.truth == label) & (tables.group == z)]).size)
    return {f"{margins.label_key(label)} of {margins.group_text(z)}": n}
