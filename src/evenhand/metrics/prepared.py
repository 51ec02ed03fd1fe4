"""What metrics of classifiers take: evidence bound to one grouping, with everything that several share.

And how they are declared: for predictions, counts, or labels in arrays as scikit-learn takes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, Self, TypeAlias, overload

from evenhand.core.errors import InputError, ParameterError
from evenhand.core.findings import Finding
from evenhand.core.metric import Metric, metric
from evenhand.evidence.predictions.arrays import named_groups
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.estimates import By, check_seed, get_or_make, names_of
from evenhand.metrics.tables.margin_rates import Margins

P = ParamSpec("P")

Evidence: TypeAlias = "Predictions | Counts | BoundCounts"


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
