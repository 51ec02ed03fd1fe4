"""Numbers bound to a grouping, and metrics of them: of Numbers, or of arrays as scikit-learn takes them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ParamSpec, overload

import numpy as np
import polars as pl
import polars.selectors as cs

from evenhand.core.errors import ParameterError
from evenhand.core.findings import Dropped, Finding
from evenhand.core.metric import Metric, metric
from evenhand.evidence.numbers import CLUSTER, VALUE, WEIGHT, Numbers
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import By, get_or_make, names_of
from evenhand.metrics.named_groups import Groups, NamedGroups
from evenhand.stats.arrays import Floats, Integers, Mask

P = ParamSpec("P")
_MANY = 20_000  # rows from which on it matters how they are sorted


@dataclass(frozen=True, eq=False)
class BoundNumbers(NamedGroups):
    """Numbers by group."""

    numbers: Numbers
    by: tuple[str, ...]
    rows: pl.DataFrame  # the usable rows
    groups: Groups
    group: Integers
    dropped: list[Dropped]
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, evidence: Any, by: By) -> BoundNumbers:
        """Bind Numbers to a grouping; rows without one of the attributes are left out and counted."""
        named.check_kind(evidence, Numbers, "Numbers.from_frame")
        names = names_of(by)
        evidence.check_attribute(*names)
        return get_or_make(evidence.memo, ("groups", names), cls._bound, evidence, names)

    @classmethod
    def _bound(cls, evidence: Numbers, names: tuple[str, ...]) -> BoundNumbers:
        counts, attributes = dict(evidence.dropped), named.texts(evidence.table, names)
        mask = np.ones(evidence.table.height, dtype=bool)
        mask = named.left_out(mask, named.missing(attributes), counts)
        rows = evidence.table.select(cs.by_name(VALUE, CLUSTER, WEIGHT, require_all=False))
        rows = rows.filter(pl.Series(mask, dtype=pl.Boolean))
        return cls(evidence, names, rows, *named.coded(attributes, mask), named.dropped_of(counts))

    @cached_property
    def in_order(self) -> BoundNumbers:
        """The same in an order that depends on what the rows are alone, as do sums and draws then."""
        keys = [key for key in (self.weight, self.cluster, self.group, self.value) if key is not None]
        if self.n < _MANY or len(keys) > 2:
            order = np.lexsort(keys)
            return replace(self, rows=self.rows[order], group=self.group[order], memo={})
        # numbers alone are sorted sooner, group by group
        value = self.value[np.argsort(self.group.astype(np.min_scalar_type(len(self.groups))), kind="stable")]
        for part in np.split(value, np.cumsum(self.sizes)):
            part.sort()
        group = np.repeat(np.arange(len(self.groups)), self.sizes)
        return replace(self, rows=pl.DataFrame({VALUE: value}), group=group, memo={})

    @cached_property
    def known(self) -> Mask:
        """All groups are compared, as those of predictions are."""
        return np.ones(len(self.groups), dtype=bool)

    @cached_property
    def value(self) -> Floats:
        """The number of each row."""
        return self.rows[VALUE].to_numpy()

    @cached_property
    def weight(self) -> Floats | None:
        """The weight of each row; None where all count alike."""
        return self.rows[WEIGHT].to_numpy() if WEIGHT in self.rows else None

    @cached_property
    def cluster(self) -> Integers | None:
        """Unit of each row; None where each row is its own."""
        if self.numbers.cluster is None:
            return None
        return named.numbered(self.rows[CLUSTER])[1]


class NumberMetric(Metric[P]):
    """A metric of numbers.

    ``metric(evidence, by="skin")`` takes Numbers; ``metric(values, groups=skin)`` takes a list, an array or a
    Series, and ``cluster=``, ``sample_weight=``, ``range=`` and ``unit=`` as ``Numbers.from_arrays`` does.
    Several attributes in ``groups`` are crossed unless ``by`` names some.
    """

    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Finding: ...

    @overload
    def __call__(
        self, values: Any, /, *, groups: Any = ..., cluster: Any = ..., sample_weight: Any = ...,
        range: tuple[float, float] | None = ..., unit: str = ..., **options: Any,
    ) -> Finding: ...  # fmt: skip

    def __call__(self, *args: Any, **options: Any) -> Finding:  # type: ignore[misc]  # of both kinds
        """The finding of some evidence, or of arrays."""
        compute: Callable[..., Finding] = super().__call__
        if len(args) != 1 or isinstance(args[0], Numbers):
            return compute(*args, **options)
        array_options = ("groups", "cluster", "sample_weight", "range", "unit")
        columns = {name: options.pop(name) for name in array_options if name in options}
        evidence = Numbers.from_arrays(*args, **columns)
        options.setdefault("by", tuple(evidence.attributes))
        needed = inspect.signature(self).parameters["by"].default is inspect.Parameter.empty
        if needed and not options["by"]:
            name = self.card.name
            raise ParameterError(f"{name} compares groups; type {name}(values, groups=...)")
        return compute(evidence, **options)


def number_metric(**declaration: Any) -> Callable[[Callable[P, Finding]], NumberMetric[P]]:
    """As ``evenhand.core.metric.metric``, for a function whose first argument is Numbers."""

    def declare(compute: Callable[P, Finding]) -> NumberMetric[P]:
        return NumberMetric(compute, metric(**declaration)(compute).card)

    return declare
