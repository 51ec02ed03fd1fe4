"""Old forms of the methods put back, one at a time: ``python -m simulations.battery.old_forms``.

Each form once said "beyond chance" of models that treat groups alike, or made intervals that miss the truth.
It takes the place of today's method in memory, and the short battery (``short.py``) runs on the families that
it concerns. Exit status 1 if no design of the short battery fails for a form, so that it could
come back unseen.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from unittest.mock import patch

import numpy as np
import numpy.typing as npt
from simulations.battery.short import SHORT, failed

from evenhand.metrics import estimates, group_rates
from evenhand.metrics.group_rates import ComparedRows
from evenhand.metrics.prepared import BoundCounts
from evenhand.metrics.tables.margin_rates import Margins
from evenhand.stats.arrays import Floats, Integers, Rng
from evenhand.stats.exchange.compared_rates import ComparedRates
from evenhand.stats.exchange.rows import UnitRows
from evenhand.stats.rankings.exchange import Means, RankingExchange
from evenhand.stats.rankings.fairness import RankedPools
from evenhand.stats.rankings.neighbour_labels import _Moved
from evenhand.stats.rankings.neighbour_pairs import Marks, NeighbourRows, Precisions
from evenhand.stats.rates.clustered import ClusterMean
from evenhand.stats.rates.confusion import Confusion
from evenhand.stats.rates.rates import Rates

_FEW = 10


@dataclass(frozen=True)
class OldForm:
    """One old form.

    Attributes:
        what: It did.
        families: Of the designs that it concerns.
        patches: What is replaced: a class or module, the name of its member, and the old form.
    """

    what: str
    families: Sequence[str]
    patches: Sequence[tuple[Any, str, Any]]

    def unkept(self) -> Iterator[tuple[str, dict[str, list[str]]]]:
        """The designs that fail with it, and the bounds that they do not keep."""
        for design in (design for design in SHORT if design.family in self.families):
            with ExitStack() as stack:
                for owner, name, form in self.patches:
                    stack.enter_context(patch.object(owner, name, form))
                found = failed(design)
            if found:
                yield design.name, found


_SIZE: Callable[[ClusterMean], float] = ClusterMean.size.fget  # type: ignore[attr-defined]  # a property
_GROUPED, _MEANS = BoundCounts.__init__, Means.of
_LABELS, _RANKINGS, _PRECISIONS = _Moved.draws, RankingExchange.draws, NeighbourRows.precisions


def _size_below_ten(mean: ClusterMean) -> float:
    return mean.rows if mean.clusters < _FEW else _SIZE(mean)


def _size_at_the_edge(mean: ClusterMean) -> float:
    return mean.rows if mean.value in (0, 1) else _SIZE(mean)


def _each_row(rows: UnitRows) -> Integers:
    return np.arange(rows.value.size)


def _p_alone(p_value: float | None, reference: float, limits: object) -> float | None:
    """The p of the exchange, whatever the interval says."""
    return p_value


def _without_units(grouped: BoundCounts, *args: Any, **named: Any) -> None:
    _GROUPED(grouped, *args, **named)
    object.__setattr__(grouped, "units", None)


def _within_the_truth(margins: Margins) -> Iterator[tuple[Confusion, dict[str, ComparedRates]]]:
    for confusion in margins._row_chunks(margins._replicates):
        yield confusion, {"predicted": ComparedRates.of_rows(*confusion.sums("predicted"))}


def _queries_only(moved: _Moved, *args: Any) -> Iterator[Marks]:
    start = moved.marks[moved.labels.label]
    asked, labels = start[: moved.queries, 0], start[moved.queries :, 2]
    for marks in _LABELS(moved, *args):
        yield Marks(
            np.tile(asked, (len(marks.query_labels), 1)),
            marks.group,
            np.tile(labels, (len(marks.query_labels), 1)),
        )


def _one_chance(rows: NeighbourRows, marks: Marks) -> Precisions:
    """Chance is that of all queries, as if exchanged queries were all that could make a gap."""
    found = _PRECISIONS(rows, marks)
    return replace(found, chance=np.broadcast_to(found.total_chance[:, None], found.chance.shape))


def _each_query_alone(exchange: RankingExchange, rng: Rng) -> Iterator[RankedPools]:
    rows, width = exchange.order.shape
    alone = [
        _RANKINGS(replace(exchange, order=exchange.order[[row]], ranked=_only(exchange.ranked, row)), rng)
        for row in range(rows)
    ]
    for pieces in zip(*alone, strict=True):
        codes = np.stack([piece.codes for piece in pieces], axis=1).reshape(-1, width)
        draws = len(codes) // rows
        starts, stops = (np.tile(one, (draws, 1)) for one in (exchange.ranked.starts, exchange.ranked.stops))
        yield RankedPools(codes, starts, stops, exchange.ranked.n_groups)


def _only(ranked: RankedPools, row: int) -> RankedPools:
    return RankedPools(ranked.codes[[row]], ranked.starts[[row]], ranked.stops[[row]], ranked.n_groups)


def _nothing_common(values: Floats, draws: Floats, **named: Any) -> Means:
    return _MEANS(values, draws, **named | {"shared": False})


def _hull(rates: Rates, quantile: npt.ArrayLike) -> tuple[Floats, Floats]:
    """What resamples of each group reach: nothing but 0 or 1 where all its rows are alike."""
    reach = np.asarray(quantile) * np.sqrt(rates.value * (1 - rates.value) / np.maximum(rates.size, 1))
    return np.clip(rates.value - reach, 0, 1), np.clip(rates.value + reach, 0, 1)


def _cached(form: Callable[[Any], Any], name: str) -> cached_property[Any]:
    found = cached_property(form)
    found.attrname = name
    return found


OLD_FORMS = (
    OldForm("took clusters for independent rows below ten of them", ("labels", "choices", "households"),
            [(ClusterMean, "size", property(_size_below_ten))]),
    OldForm("took clusters for independent rows at rates of 0 and 1", ("labels",),
            [(ClusterMean, "size", property(_size_at_the_edge))]),
    OldForm("did not heed clusters in tables", ("accuracy", "effects"),
            [(BoundCounts, "__init__", _without_units)]),
    OldForm("exchanged rows, not clusters, in gaps of pronouns", ("choices",),
            [(UnitRows, "units", _cached(_each_row, "units")), (estimates, "joint_p", _p_alone)]),
    OldForm("exchanged groups within the truth for demographic parity", ("accuracy",),
            [(Margins, "_predicted", _within_the_truth)]),
    OldForm("took what concepts make of households for what income does", ("households",),
            [(ComparedRows, "_within", _cached(lambda compared: compared.rows, "_within"))]),
    OldForm("held the database fixed in the exchange of precision_gap", ("neighbours",),
            [(_Moved, "draws", _queries_only), (NeighbourRows, "precisions", _one_chance)]),
    OldForm("exchanged groups of one pool for each query by itself", ("rankings",),
            [(RankingExchange, "draws", _each_query_alone), (Means, "of", _nothing_common)]),
    OldForm("made intervals of resampled groups, of no width where a tiny group is all right", ("accuracy",),
            [(Rates, "limits", _hull)]),
    OldForm("called a range of means beyond chance whose interval holds 0", ("numbers",),
            [(module, "p_of_both", _p_alone) for module in (estimates, group_rates)]),
)  # fmt: skip
"""Those that the short battery is tried for."""


def main() -> int:
    """Run the short battery with each old form and print the designs that fail."""
    unnoticed = 0
    for form in OLD_FORMS:
        print(form.what, flush=True)
        designs = list(form.unkept())
        for name, found in designs:
            told = [f"{metric}: {', '.join(missed)}" for metric, missed in found.items()]
            print(f"  {name}: {'; '.join(told)}")
        if not designs:
            print("  NO DESIGN FAILS")
            unnoticed += 1
    print(f"{len(OLD_FORMS) - unnoticed} of {len(OLD_FORMS)} old forms make a short design fail")
    return 1 if unnoticed else 0


if __name__ == "__main__":
    sys.exit(main())
