"""Households: rates and gap of 38,000 images of 300 households beside a loop over a pandas frame."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest

from evenhand import metrics
from evenhand.evidence.household_hits import HouseholdHits

IMAGES, HOUSEHOLDS, RESAMPLES = 38_000, 300, 20
INCOMES = ("low", "medium", "high")


def _frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    household = np.sort(rng.integers(0, HOUSEHOLDS, IMAGES))
    rate = np.clip(rng.normal(0.7, 0.15, HOUSEHOLDS), 0, 1)
    return pl.DataFrame(
        {
            "sample": np.arange(IMAGES).astype(str),
            "household": household.astype(str),
            "income_bucket": np.array(INCOMES)[household % 3],
            "hit": (rng.random(IMAGES) < rate[household]).astype(np.float64),
        }
    )


def _seconds(call: Callable[[], object]) -> float:
    found = []
    for _ in range(2):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def test_rates_and_interval_beside_a_loop_over_households() -> None:
    pandas = pytest.importorskip("pandas")
    table = _frame()
    frame = pandas.DataFrame(table.to_dict(as_series=False))

    def naive() -> dict[str, float]:
        """Mean over households, household by household, and so in each resample of households."""
        rng = np.random.default_rng(1)
        rates: dict[str, float] = {}
        for income in INCOMES:
            homes = frame[frame.income_bucket == income]
            names = homes.household.unique()
            rates[income] = float(np.mean([homes[homes.household == name].hit.mean() for name in names]))
            for _ in range(RESAMPLES):
                drawn = rng.choice(names, names.size)
                np.mean([homes[homes.household == name].hit.mean() for name in drawn])
        return rates

    def ours() -> dict[str, float]:
        hits = HouseholdHits.from_hits(table)  # nothing is remembered from the call before
        finding = metrics.household_hit_rate(hits, by="income_bucket", inference="none")
        gap = metrics.household_hit_gap(hits)
        assert gap.interval is not None
        assert gap.p_value is not None
        return {str(part.key): float(part.value or 0) for part in finding.parts}

    assert ours() == pytest.approx(naive())
    mine, loop = _seconds(ours), _seconds(naive)
    print(
        f"{IMAGES:,} images of {HOUSEHOLDS} households: evenhand {mine:.3f} s with 9,999 exchanges, a loop "
        f"with {RESAMPLES} resamples {loop:.3f} s, ratio {loop / mine:.1f}"
    )
    assert mine < loop
