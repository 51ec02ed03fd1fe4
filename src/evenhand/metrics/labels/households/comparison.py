"""Hit rates beside those of a reference model, and beside the income of countries."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, check_choice
from evenhand.core.findings import Finding, Interval, Null, Part
from evenhand.evidence.derivation.paired import Losses, agreed
from evenhand.evidence.household_hits import HouseholdHits
from evenhand.metrics.estimates import LEVEL, By, Fields, at_levels, get_or_make, names_of, number
from evenhand.metrics.labels.households.estimation import HitRates
from evenhand.metrics.labels.households.tables import check_hits, country_points
from evenhand.stats.correlation import correlation, jackknife_interval
from evenhand.stats.paired.differences import Paired
from evenhand.stats.rates.clustered import ClusterMean, GroupCells, ratio_interval

_ELSEWHERE = "not in the other evidence"
_FLIPPED = "models exchanged in each household"
_KEYS = ("household", "sample", "concept")


def matched(first: HouseholdHits, second: HouseholdHits, by: By) -> tuple[HouseholdHits, HouseholdHits]:
    """Two pieces of evidence on the pairs of image and concept that both have; images lost are counted.

    Raises:
        InputError: They have nothing in common, or say that one image is of different groups.
    """
    check_hits(first)
    check_hits(second)
    attributes = [name for name in names_of(by) if {name} <= {*first.table.columns} & {*second.table.columns}]

    def make() -> tuple[HouseholdHits, HouseholdHits, HouseholdHits]:
        rows = second.table.select(*_KEYS, *attributes)
        common = first.table.join(rows, on=_KEYS, suffix=" there", nulls_equal=True)
        if first.table.height and not common.height:
            raise InputError("the two models have no image in common; give answers to the same images")
        images = common.unique("sample").sort("sample")
        alike, unknown = agreed(images, attributes, "the evidence", "the reference")
        pairs = common.join(alike, on="sample", how="semi")
        restrict = partial(_restricted, pairs=pairs, images=images.height, unknown=unknown)
        return restrict(first), restrict(second), second  # the other one lives as long as its id is a key

    return get_or_make(first.memo, ("matched", id(second), *attributes), make)[:2]


def _restricted(hits: HouseholdHits, pairs: pl.DataFrame, images: int, unknown: Losses) -> HouseholdHits:
    lost = hits.table["sample"].n_unique() - images
    table = hits.table.join(pairs, on=_KEYS, how="semi", nulls_equal=True).sort("sample", "concept")
    dropped = {**hits.dropped, **({_ELSEWHERE: lost} if lost else {}), **dict(unknown)}
    return replace(hits, table=table, dropped=dropped, memo={})


def relative_finding(question: HitRates, reference: HitRates) -> Finding:
    """How much more is recognised than by the reference, with a part for each group."""
    if question.reason is not None:
        return question.finding(None, reason=question.reason)
    bound, there = question.bound, reference.bound

    def fields(code: int) -> Fields:
        means = bound.means[code], there.means[code]
        return _ratio(question, bound.cells, there.cells, code, means, f"group {code}")

    overall_rates = bound.whole.means()[0], there.whole.means()[0]
    ratio = _ratio(question, bound.whole, there.whole, 0, overall_rates, "whole")
    return question.finding(parts=bound.parts(fields), **ratio)


def _ratio(
    question: HitRates,
    cells: GroupCells,
    reference: GroupCells,
    code: int,
    means: tuple[ClusterMean, ClusterMean],
    purpose: str,
) -> Fields:
    """The hit rate of one group over that of the reference, household by household, and what chance gives."""
    rate, base = (mean.value for mean in means)
    details = {"rate": rate, "reference_rate": base, "households": means[0].clusters}
    if not base > 0:
        return {"value": None, "reason": "undefined", "details": details}
    fields: Fields = {"value": rate / base - 1, "details": details}
    if not question.infers:
        return fields
    ends = ratio_interval(*means, LEVEL)
    if ends is not None:
        method = "log ratio, paired by household"
        fields["interval"] = Interval(low=ends[0] - 1, high=ends[1] - 1, level=LEVEL, method=method)
    some = np.flatnonzero(cells.group == code)
    if some.size > 1:
        moved = (cells.sums - reference.sums)[some] / cells.weights[some].sum()
        paired = Paired.of(moved, question.stream("flip", purpose))
        fields |= {
            "null": _exchanged_models(rate + base, paired, question.seed),
            "p_value": paired.p_value,
        }
    return fields


def _exchanged_models(total: float, paired: Paired, seed: int) -> Null | None:
    """Improvements where models are exchanged: what one loses the other has, so none is below -1.

    None where the reference may be left with nothing of what both have in ``total``.
    """
    low, high = paired.band(LEVEL)
    ends = [2 * moved / (total - moved) if moved < total else np.inf for moved in (low, 0.0, high)]
    if not np.isfinite(ends[2]):
        return None
    sampling = {} if paired.replicates is None else {"replicates": paired.replicates, "seed": seed}
    low, high = min(max(ends[0], -1.0), ends[1]), max(ends[2], ends[1])
    return Null(mean=ends[1], low=low, high=high, level=LEVEL, method=_FLIPPED, **sampling)


def income_finding(question: HitRates, method: str, scale: str) -> Finding:
    """The correlation of the hit rate of countries with their mean income."""
    check_choice("method", method, ("pearson", "spearman"))
    check_choice("scale", scale, ("log", "linear"))
    question.bound.hits.check_attribute("income")
    params = {"method": method, **({"scale": scale} if scale != "log" else {})}
    points = country_points(question.bound).drop_nulls("income")
    income, rate = points["income"].to_numpy(), points["hit_rate"].to_numpy()
    scaled_income = income if scale == "linear" else np.log(np.where(income > 0, income, np.nan))
    rng = question.stream("orders", method, scale)
    estimate, x, y = correlation(scaled_income, rate, rng, ranks=method == "spearman")
    fields: Fields = {"params": params, "details": {"countries": estimate.n}}
    if question.reason is None:
        fields["parts"] = _countries(question, points)
    if question.reason is not None or estimate.reason:
        fields["notes"] = [estimate.reason] if estimate.reason else []
        return question.finding(None, reason=question.reason or "undefined", **fields)
    if not question.infers:
        return question.finding(estimate.value, **fields)
    fields["p_value"] = number(estimate.p_value)
    fields["limits"] = at_levels(
        lambda level: jackknife_interval(x, y, level) or (np.nan, np.nan),
        "Fisher's z, jackknife over countries", p_value=fields["p_value"],
    )  # fmt: skip
    return question.finding(estimate.value, **fields)


def _countries(question: HitRates, points: pl.DataFrame) -> list[Part]:
    bound, income = question.bound, dict(zip(points["country"], points["income"], strict=True))

    def fields(code: int) -> Fields:
        mean = bound.means[code]
        details = {"income": income.get(bound.text(code)), "households": mean.clusters}
        interval = question.interval_of(code, mean.value).get("interval") if question.infers else None
        return {"value": mean.value, "interval": interval, "details": details}

    return bound.parts(fields)
