"""The trade-off curve: association and utility against how much is removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.random_streams import stream
from evenhand.mitigate.mitigation import Fitter, Mitigation
from evenhand.mitigate.training_vectors import LabelledVectors
from evenhand.stats.arrays import Floats
from evenhand.workflows.debias.items import AssociationItems, Test
from evenhand.workflows.debias.measures import (
    Removal,
    compared_in,
    cosines,
    effect_sizes,
    random_effect_sizes,
)
from evenhand.workflows.debias.split import Split, part_of
from evenhand.workflows.debias.utility import GROUPS, GroupViews, UtilityImages

POINTS = 20
USUAL_SHARE = 0.105  # of the dimensions: 54 of 512, as in the paper
HALVES = ("fit", "held_out")
SCHEMA = {
    "mitigation": pl.String,
    "amount": pl.Int64,
    "measure": pl.String,
    "test": pl.String,
    "on": pl.String,
    "half": pl.String,
    "series": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}


@dataclass(frozen=True, eq=False)
class Curve:
    """What the points of a curve are measured on."""

    items: AssociationItems
    fit: Split  # mitigations are fitted on it
    held_out: Split  # everything is measured on both halves, utility on this one
    tests: tuple[Test, ...]  # whose association is shown
    labelled: UtilityImages | None  # of a classification run, measured beside; None: no such run
    seed: int  # of random sets
    filtered: LabelledVectors | None = None  # what the filter keeps recognisable

    def table(self, name: str, fitter: Fitter, fitted: Mitigation) -> pl.DataFrame:
        """One row for each amount, measure, half and series; the amount of ``fitted`` is one of the points.

        ``amount`` is in the unit of ``remove``: dimensions, directions, or rounds. ``absolute_effect_size``
        is the mean of |d| over the tests, ``association_effect_size`` d of one test. Series: ``mitigation``,
        and ``random`` (as many dimensions or directions drawn at random: mean, lowest and highest of 20).
        """
        rows: list[dict[str, Any]] = []
        for amount, mitigation in self._points(fitter, fitted):
            rows += self._association(amount, mitigation)
            rows += self._utility(amount, mitigation)
        nothing = {"test": "", "on": GROUPS, "low": None, "high": None}
        full_rows = [{"mitigation": name, **nothing, **row} for row in rows]
        return pl.DataFrame(full_rows, schema=SCHEMA).with_columns(
            pl.col("value", "low", "high").fill_nan(None)
        )

    def _points(self, fitter: Fitter, fitted: Mitigation) -> Iterator[tuple[int, Mitigation]]:
        """Amounts with what is fitted for each; a method whose lists are nested is fitted once."""
        of_tests = dataclasses.replace(self.items.material, tests=self.tests, labelled=self.filtered)
        material = part_of(of_tests, self.fit)
        fields = {field.name for field in dataclasses.fields(fitter)}  # type: ignore[arg-type]
        removed = amount_of(fitted)
        if "remove" not in fields:
            yield 0, Mitigation(fitted.name, fitted.params, {}, {"removed": 0})
            yield removed, fitted
            return
        most = self._most(fitter, fitted, removed)
        full_fitter: Any = dataclasses.replace(fitter, remove=most)  # type: ignore[type-var]
        if "stop_at_zero" in fields:
            # the curve shows what lies beyond
            full_fitter = dataclasses.replace(full_fitter, stop_at_zero=False)
        nested = full_fitter.order(material, seed=self.seed) if hasattr(full_fitter, "order") else None
        if nested is not None:
            most = min(most, len(nested.dimensions))
        last = -1
        even = np.linspace(0, most, min(most, POINTS) + 1).round().astype(int)
        for amount in np.union1d(even, [min(removed, most)]).tolist():
            if amount == removed:
                mitigation = fitted
            elif nested is not None:
                mitigation = full_fitter.cut(nested, amount)
            else:
                mitigation = dataclasses.replace(full_fitter, remove=amount).fit(material, seed=self.seed)
            if amount_of(mitigation, amount) > last:  # asked for more, the same may be all there is
                last = amount_of(mitigation, amount)
                yield last, mitigation

    def _most(self, fitter: Any, fitted: Mitigation, removed: int) -> int:
        dimensions = self.items.material.dimensions
        requested = fitter.remove
        if requested is None and "dimensions" in fitted.facts:
            requested = round(USUAL_SHARE * dimensions)
        return min(max(removed, requested or 0), dimensions - 1)

    def _association(self, amount: int, mitigation: Mitigation) -> Iterator[dict[str, Any]]:
        material, halves = self.items.material, (self.fit, self.held_out)
        values = cosines(material, mitigation)
        rng = stream(self.seed, "curve", amount)
        random_sizes = random_effect_sizes(self.items, Removal.of(mitigation), halves, self.tests, rng)
        for index, half in enumerate(HALVES):
            d = effect_sizes(values, compared_in(self.items, halves[index], self.tests))
            at = {"amount": amount, "half": half}
            yield {
                **at,
                "measure": "absolute_effect_size",
                "series": "mitigation",
                "value": float(np.abs(d).mean()),
            }
            yield {
                **at,
                "measure": "absolute_effect_size",
                "series": "random",
                **_spread(np.abs(random_sizes[:, index]).mean(axis=1)),
            }
            for test, size, random_values in zip(self.tests, d, random_sizes[:, index].T, strict=True):
                row = {**at, "measure": "association_effect_size", "test": name_of_test(test)}
                yield {**row, "series": "mitigation", "value": float(size)}
                yield {**row, "series": "random", **_spread(random_values)}

    def _utility(self, amount: int, mitigation: Mitigation) -> Iterator[dict[str, Any]]:
        views = GroupViews.make(self.items, self.fit, self.held_out, mitigation)
        utility_measures = {GROUPS: views.measures()}
        if self.labelled is not None:
            utility_measures[self.labelled.name] = self.labelled.measures(mitigation)
        for on, measures in utility_measures.items():
            for measure, value in measures.items():
                yield {
                    "amount": amount,
                    "half": "held_out",
                    "series": "mitigation",
                    "measure": measure,
                    "on": on,
                    "value": value,
                }


def amount_of(mitigation: Mitigation, otherwise: int = 0) -> int:
    """How much was removed, in the unit of ``remove``: a round may remove several directions."""
    facts = mitigation.facts
    return int(facts.get("rounds", facts.get("removed", otherwise)))


def name_of_test(test: Test) -> str:
    """``X--Y``; files of several mitigations are called so."""
    return "--".join(test[:2])


def names_of_tests(tests: Sequence[Test]) -> dict[Test, str]:
    """A name for each test that a file can have: ``X--Y``; longer where that is not unique."""
    names_by_test: dict[Test, str] = {}
    for test in tests:
        options = [test[:2], test, *((*test, str(number)) for number in range(2, len(tests) + 2))]
        names = ("--".join(map(_plain_name, option)) for option in options)
        names_by_test[test] = next(name for name in names if name not in names_by_test.values())
    return names_by_test


def _plain_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_. " else "_" for letter in name)


def _spread(values: Floats) -> dict[str, float]:
    return {"value": float(values.mean()), "low": float(values.min()), "high": float(values.max())}
