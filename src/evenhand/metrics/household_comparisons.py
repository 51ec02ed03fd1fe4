"""Hit rates beside a reference model, and beside the income of countries."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_choice
from evenhand.core.results import Finding, Interval, Null, Part
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.metrics.building import agreeing, number
from evenhand.metrics.household_findings import HitQuestion
from evenhand.metrics.household_groups import check_hits
from evenhand.metrics.household_tables import country_points
from evenhand.metrics.prepared import LEVEL
from evenhand.stats.clustered import Cells, ratio_interval
from evenhand.stats.correlation import correlation, jackknife_interval
from evenhand.stats.paired import Paired, flip_p_value, paired_difference

Floats = npt.NDArray[np.float64]

_ELSEWHERE = "not in the other evidence"
_FLIPPED = "models exchanged in each household"
_KEYS = ("household", "sample", "concept")


def matched(first: HouseholdHits, second: HouseholdHits) -> tuple[HouseholdHits, HouseholdHits]:
    """Two pieces of evidence on the pairs of image and concept that both have; images lost are counted.

    Raises:
        InputError: Not HouseholdHits, or nothing in common.
    """
    check_hits(first)
    check_hits(second)
    key = ("matched", id(second))
    if key not in first.memo:
        found = _common(first, second), _common(second, first)
        if first.table.height and not found[0].table.height:
            raise InputError("the two models have no image in common; give answers to the same images")
        first.memo[key] = (found, second)  # the other one lives as long as its id is a key
    pair: tuple[HouseholdHits, HouseholdHits] = first.memo[key][0]
    return pair


def _common(here: HouseholdHits, there: HouseholdHits) -> HouseholdHits:
    table = here.table.join(there.table.select(_KEYS), on=_KEYS, how="semi", nulls_equal=True)
    table = table.sort("sample", "concept")
    lost = here.table["sample"].n_unique() - table["sample"].n_unique()
    dropped = {**here.dropped, **({_ELSEWHERE: lost} if lost else {})}
    return replace(here, table=table, dropped=dropped, memo={})


def relative_finding(question: HitQuestion, reference: HitQuestion) -> Finding:
    """How much more is recognised than by the reference, with a part for each group."""
    if question.reason is not None:
        return question.finding(None, reason=question.reason)
    bound, there = question.bound, reference.bound
    whole = _Ratio(question, bound.whole, there.whole, 0)

    def fields(code: int) -> dict[str, Any]:
        ratio = _Ratio(question, bound.cells, there.cells, code)
        details = {**ratio.details, "households": float(ratio.mean.clusters)}
        return {"details": details, **ratio.fields(f"group {code}")}

    return question.finding(parts=bound.parts(fields), details=whole.details, **whole.fields("whole"))


class _Ratio:
    """The hit rate of one group over that of the reference, household by household."""

    def __init__(self, question: HitQuestion, cells: Cells, reference: Cells, code: int) -> None:
        self.question = question
        self.mean, self.reference = cells.means()[code], reference.means()[code]
        some = np.flatnonzero(cells.group == code)
        self.moved = (cells.sums - reference.sums)[some] / cells.weights[some].sum()

    @property
    def details(self) -> dict[str, Any]:
        """Both rates."""
        return {"rate": self.mean.value, "reference_rate": self.reference.value}

    def fields(self, purpose: str) -> dict[str, Any]:
        """Value, interval, null band and p."""
        base = self.reference.value
        if not base > 0:
            return {"value": None, "reason": "undefined"}
        fields: dict[str, Any] = {"value": self.mean.value / base - 1}
        if not self.question.infers:
            return fields
        ends = ratio_interval(self.mean, self.reference, LEVEL)
        if ends is not None:
            method = "log ratio, paired by household"
            fields["interval"] = Interval(low=ends[0] - 1, high=ends[1] - 1, level=LEVEL, method=method)
        if self.moved.size > 1:
            none = np.zeros(self.moved.size, dtype=bool)
            rng = self.question.stream("flip", purpose)
            paired = paired_difference(self.moved * self.moved.size, none, (1.0, 0.0), None, rng, LEVEL)
            fields["null"] = self._null(paired)
            fields["p_value"] = flip_p_value(paired)
        return fields

    def _null(self, paired: Paired) -> Null | None:
        """Improvements where models are exchanged: what one loses the other has, so none is below -1.

        None where the reference may be left with nothing.
        """
        both = self.mean.value + self.reference.value
        low, high = paired.chance.band(LEVEL)
        ends = [2 * moved / (both - moved) if moved < both else np.inf for moved in (low, 0.0, high)]
        if not np.isfinite(ends[2]):
            return None
        return Null(
            mean=ends[1],
            low=min(max(ends[0], -1.0), ends[1]),
            high=max(ends[2], ends[1]),
            level=LEVEL,
            method=_FLIPPED,
            replicates=paired.replicates,
            seed=None if paired.replicates is None else self.question.seed,
        )


def income_finding(question: HitQuestion, method: str, scale: str) -> Finding:
    """The correlation of the hit rate of countries with their mean income."""
    check_choice("method", method, ("pearson", "spearman"))
    check_choice("scale", scale, ("log", "linear"))
    question.bound.hits.check_attribute("income")
    params = {"method": method, **({"scale": scale} if scale != "log" else {})}
    points = country_points(question.bound).drop_nulls("income")
    income, rate = points["income"].to_numpy(), points["hit_rate"].to_numpy()
    given = income if scale == "linear" else np.log(np.where(income > 0, income, np.nan))
    rng = question.stream("orders", method, scale)
    found, x, y = correlation(given, rate, rng, ranks=method == "spearman")
    fields: dict[str, Any] = {"params": params, "details": {"countries": float(found.n)}}
    if question.reason is None:
        fields["parts"] = _countries(question, points)
    if question.reason is not None or found.reason:
        fields["notes"] = [found.reason] if found.reason else []
        return question.finding(None, reason=question.reason or "undefined", **fields)
    if not question.infers:
        return question.finding(found.value, **fields)

    def make(level: float) -> Interval | None:
        ends = jackknife_interval(x, y, level)
        if ends is None:
            return None
        low, high = agreeing(ends, found.p_value, 0.0, level)
        return Interval(low=low, high=high, level=level, method="Fisher's z, jackknife over countries")

    fields |= {"interval": make(LEVEL), "limits": make, "p_value": number(found.p_value)}
    return question.finding(found.value, **fields)


def _countries(question: HitQuestion, points: pl.DataFrame) -> list[Part]:
    bound, income = question.bound, dict(zip(points["country"], points["income"], strict=True))

    def fields(code: int) -> dict[str, Any]:
        mean = bound.means[code]
        details = {"income": income.get(bound.text(code)), "households": float(mean.clusters)}
        interval = question.interval_of(code, mean.value).get("interval") if question.infers else None
        return {"value": mean.value, "interval": interval, "details": details}

    return bound.parts(fields)
