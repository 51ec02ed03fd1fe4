"""What metrics of classifiers take: evidence bound to one grouping, with everything that several share.

How they are declared, for predictions, counts, or labels in arrays as scikit-learn takes them; and findings
from the margins of truth x group x prediction, with interval, null band and p: how sure each is, is said
where it is declared.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ParamSpec, Self, TypeAlias, overload

import numpy as np

from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Details, Finding, Interval, Part
from evenhand.core.metric import Metric, metric
from evenhand.display.text.reasons import explain
from evenhand.evidence.predictions.arrays import named_groups
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.estimates import (
    LEVEL,
    By,
    Fields,
    Inference,
    Mode,
    against_reference,
    build,
    check_common,
    check_seed,
    few_decide,
    get_or_make,
    names_of,
    null_band,
    number,
    part,
)
from evenhand.metrics.tables.margin_rates import Margins
from evenhand.stats.arrays import Ends, Floats, Pair
from evenhand.stats.exchange.compared_rates import MaxT, exceeded
from evenhand.stats.rates.confusion import Confusion
from evenhand.stats.rates.rates import MOST_PAIRED, normal_quantile

P = ParamSpec("P")

Evidence: TypeAlias = "Predictions | Counts | BoundCounts"
_BY_TUKEY = "p by Tukey and Kramer with linearised variances: weighted rows are not exchanged"
TOO_MANY = "no interval: too many groups and labels to compare a rate of each"


@dataclass(frozen=True, eq=False)
class BoundCounts(Margins):
    """Counts bound to a grouping, with tables and margins on demand."""

    @classmethod
    def of(cls, evidence: Evidence, by: By, seed: int = 0) -> BoundCounts:
        """Bind evidence to a grouping; evidence that is already bound passes through."""
        names = names_of(by)
        if isinstance(evidence, BoundCounts):
            if evidence.by != names or evidence.seed != seed:
                raise ParameterError(f"evidence bound to {evidence.by} cannot be used by {names}")
            return evidence
        check_seed(seed)
        counts = evidence.count(names) if isinstance(evidence, Predictions) else evidence
        if not isinstance(counts, Counts):
            raise InputError(
                f"a metric takes Predictions or Counts, not {type(evidence).__name__}; make one with "
                "Predictions.read, or give labels: metric(y_true, y_pred, groups=...)"
            )
        return get_or_make(counts.memo, (names, seed), cls.bind, counts, names, seed=seed)

    @property
    def grouped(self) -> Self:
        """The usable rows, as earlier versions name them."""
        return self


class ClassifierMetric(Metric[P]):
    """A metric of true and predicted labels.

    ``metric(evidence, by="gender")`` takes Predictions or Counts; ``metric(y_true, y_pred, groups=gender)``
    takes lists, arrays or Series, and ``cluster=`` and ``sample_weight=`` as ``Predictions.from_arrays`` has
    them. Several attributes in ``groups`` are crossed unless ``by`` names some.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Finding: ...

    @overload
    def __call__(
        self, y_true: Any, y_pred: Any, /, *, groups: Any = ..., cluster: Any = ..., sample_weight: Any = ...,
        **options: Any,
    ) -> Finding: ...  # fmt: skip

    def __call__(self, *args: Any, **options: Any) -> Finding:  # type: ignore[misc]  # of both kinds
        """The finding of some evidence, or of arrays."""
        if len(args) < 2:
            return super().__call__(*args, **options)
        columns = {name: options.pop(name, None) for name in ("groups", "cluster", "sample_weight")}
        evidence = Predictions.from_arrays(*args, **columns)
        options.setdefault("by", tuple(named_groups(columns["groups"])))
        needed = inspect.signature(self).parameters["by"].default is inspect.Parameter.empty
        if needed and not options["by"]:
            name = self.card.name
            raise ParameterError(f"{name} compares groups; type {name}(y_true, y_pred, groups=...)")
        compute: Callable[..., Finding] = super().__call__
        return compute(evidence, **options)


def classifier_metric(**declaration: Any) -> Callable[[Callable[P, Finding]], ClassifierMetric[P]]:
    """As ``evenhand.core.metric.metric``, for a function whose first argument is predictions or counts."""

    def declare(compute: Callable[P, Finding]) -> ClassifierMetric[P]:
        return ClassifierMetric(compute, metric(**declaration)(compute).card)

    return declare


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
    rates, hits = (prepared.accuracies, prepared.hits) if inference == "auto" else (None, None)
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
