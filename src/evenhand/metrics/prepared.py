"""What metrics of classifiers take: evidence bound to one grouping, with everything that several share.

And how they are declared: for predictions, counts, or labels in arrays as scikit-learn takes them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, ParamSpec, Self, TypeAlias, TypeVar, get_args, overload

import numpy as np

from evenhand.core.errors import InputError, ParameterError, check_choice
from evenhand.core.findings import Finding
from evenhand.core.metric import Metric, metric
from evenhand.core.random_streams import stream
from evenhand.evidence.grouping import Grouped
from evenhand.evidence.predictions.annotated import Remembering, Texts
from evenhand.evidence.predictions.arrays import named_groups
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.stats.arrays import Codes, Floats, Mask, Rng, keys_and_codes, sum_by
from evenhand.stats.contingency.resampling import CELL_BUDGET, ClassCells, runs
from evenhand.stats.contingency.tables import TableBatch
from evenhand.stats.rates.confusion import Confusion

P = ParamSpec("P")
T = TypeVar("T")

Mode = Literal["default", "paper"]
"""``paper`` gives the published values, rounding and ties included; docstrings say where the two differ."""
Inference = Literal["auto", "none"]
"""``none``: values without intervals and tests, faster."""
Unknown = Literal["keep", "exclude"]
"""What becomes of people whom annotators could not place."""
Weighting = Literal["household", "image"]
"""What counts once."""
Aggregate = Literal["max", "mean"]
"""How values of labels become one."""
EqualizedOdds = Literal["max", "avg", "full"]
Alternative = Literal["two_sided", "greater", "less"]

Evidence: TypeAlias = "Predictions | Counts | BoundCounts"
By: TypeAlias = str | Sequence[str]
Fields: TypeAlias = dict[str, Any]
"""Fields of a finding or a part, by name."""

REPLICATES = 999
LEVEL = 0.95
Z_LEVEL, Z_POWER = 1.959963984540054, 0.8416212335729143
"""The .975 quantile of the normal distribution, and its .8 quantile for a power of .8."""
_MOST_CELLS = 1_000_000
MOST_ROWS = 100_000_000
"""Rows of a table up to which it is drawn: scipy's sampler fails on far larger ones."""


def get_or_make(memo: dict[Any, Any], key: Any, make: Callable[P, T], *args: P.args, **more: P.kwargs) -> T:
    """What evidence remembers under a key; it is made once, of these arguments."""
    if key not in memo:
        memo[key] = make(*args, **more)
    remembered: T = memo[key]
    return remembered


def names_of(by: By) -> Texts:
    """A grouping as a tuple of attribute names; a text is one name."""
    names = (by,) if isinstance(by, str) else tuple(by)
    if len(set(names)) != len(names):
        raise ParameterError(f"by={list(names)!r} names an attribute twice; name each once")
    return names


@dataclass(frozen=True, eq=False)
class BoundCounts(Grouped, Remembering):
    """Counts bound to a grouping, with tables and margins on demand."""

    seed: int = 0  # the user's one seed

    @classmethod
    def of(cls, evidence: Evidence, by: By, seed: int = 0) -> BoundCounts:
        """Bind evidence to a grouping; evidence that is already bound passes through."""
        names = names_of(by)
        if isinstance(evidence, BoundCounts):
            if evidence.by != names or evidence.seed != seed:
                raise ParameterError(f"evidence bound to {evidence.by} cannot be used by {names}")
            return evidence
        check_seed(seed)
        counts = _counted(evidence, names)
        return get_or_make(counts.memo, (names, seed), cls.bind, counts, names, seed=seed)

    @property
    def grouped(self) -> Self:
        """The usable rows, as earlier versions name them."""
        return self

    def stream(self, *purpose: object) -> Rng:
        """The random stream for one purpose under this grouping."""
        return stream(self.seed, "+".join(self.by), *purpose)

    @cached_property
    def weights(self) -> Floats:
        """Rows of each cell as floats, shape (K,)."""
        return self.n.astype(np.float64)

    @cached_property
    def separation(self) -> TableBatch:
        """One group x prediction table per label, holding the rows whose truth it is."""
        # cells are sorted by truth, group, prediction already
        return TableBatch(self.truth, self.group, self.prediction, self.weights, len(self.labels))

    @cached_property
    def sufficiency(self) -> TableBatch:
        """One group x truth table per label, holding the rows predicted as it."""
        return TableBatch.from_cells(self.prediction, self.group, self.truth, self.n, len(self.labels))

    @cached_property
    def independence(self) -> TableBatch:
        """The one group x prediction table of all rows."""
        width = len(self.labels)
        totals = sum_by(self.group.astype(np.int64) * width + self.prediction, self.weights)
        keys = np.flatnonzero(totals)
        zeros = np.zeros(keys.size, dtype=np.int64)
        return TableBatch(zeros, keys // width, keys % width, totals[keys], 1)

    @cached_property
    def confusion(self) -> Confusion:
        """Support, hits and predictions by group and label."""
        return self.added_up(self.weights)

    def added_up(self, values: Floats) -> Confusion:
        """A number of each cell (rows, weights, their squares) added up by group and label."""
        shape = len(self.groups), self.n_used

        def by(label: Codes, some: Floats) -> Floats:
            cell = self.group.astype(np.int64) * shape[1] + label
            return sum_by(cell, some, shape[0] * shape[1]).reshape(shape)

        return Confusion(
            by(self.truth, values), by(self.truth, values * self.right), by(self.prediction, values)
        )

    @cached_property
    def right(self) -> Mask:
        """Which cells are right answers, shape (K,)."""
        return np.asarray(self.truth == self.prediction)

    @cached_property
    def class_cells(self) -> list[ClassCells]:
        """The cells of each true class."""
        return [
            ClassCells(
                int(self.truth[some.start]), self.group[some], self.prediction[some], self.weights[some]
            )
            for some in runs(self.truth)
        ]

    def cellwise(self, replicates: int) -> bool:
        """Whether replicates are drawn cell by cell (exact) or from the margins (very large tables)."""
        groups, occupied = self.confusion.support.shape[0], self.truth.size
        if self.n_rows > MOST_ROWS or occupied >= _MOST_CELLS:
            return False
        # a null table can fill every cell of its class's groups x labels
        dense = sum(np.unique(cells.prediction).size for cells in self.class_cells) * groups
        return bool(max(occupied, dense) * replicates <= CELL_BUDGET)

    def expected_wrong(self) -> Floats:
        """Errors by (group, label) if each class's errors fell to groups by their share of the class."""
        support, width = self.confusion.support, len(self.labels)
        wrong = ~self.right
        keys, where = keys_and_codes(self.truth[wrong].astype(np.int64) * width + self.prediction[wrong])
        errors = sum_by(where, self.weights[wrong])
        truth, label = keys // width, keys % width
        share = support / np.maximum(support.sum(axis=0), 1)
        return np.stack(
            [sum_by(label, errors * group_share[truth], support.shape[1]) for group_share in share]
        )


def check_common(mode: Mode, inference: Inference, seed: int = 0) -> None:
    """Refuse an unknown mode or inference, and a seed below 0."""
    check_choice("mode", mode, get_args(Mode))
    check_choice("inference", inference, get_args(Inference))
    check_seed(seed)


def check_seed(seed: int) -> None:
    """Refuse a seed below 0."""
    if seed < 0:
        raise ParameterError(f"seed={seed} is not possible; choose 0 or more")


def _counted(evidence: Any, names: Texts) -> Counts:
    if isinstance(evidence, Predictions):
        return evidence.count(names)
    if isinstance(evidence, Counts):
        return evidence
    class_name = type(evidence).__name__
    raise InputError(
        f"a metric takes Predictions or Counts, not {class_name}; make one with Predictions.read, or give "
        "labels: metric(y_true, y_pred, groups=...)"
    )


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
