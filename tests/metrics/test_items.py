"""How much of the variance lies between groups: against sums by hand."""

import numpy as np
import polars as pl
import pytest

from evenhand.evidence.item_scores import ItemScores
from evenhand.metrics import lean_effect, rejected_items
from evenhand.stats.exchange.between import Between


def test_a_group_of_one_image_has_the_variance_of_the_others():
    values, code = np.array([[1.0], [2], [6], [4], [5], [9]]), np.array([0, 0, 0, 1, 2, 2])
    first, last = np.var([1, 2, 6], ddof=1), np.var([5, 9], ddof=1)
    variances, shares = np.array([first, (2 * first + last) / 3, last]), np.array([3, 1, 2]) / 6
    found = Between.of(values, code, 3)
    assert found.noise == pytest.approx((1 - shares) @ variances)
    assert found.within == pytest.approx(shares @ variances)
    assert found.between == pytest.approx([3 * 1.5**2 + 0.5**2 + 2 * 2.5**2])
    numerator = (variances**2).sum() + (shares @ variances) ** 2 - 2 * shares @ variances**2
    assert found.freedom[0] == pytest.approx(((1 - shares) @ variances) ** 2 / numerator)
    spread, sizes = (1 - shares) * variances, np.array([2, 1, 1])
    assert found.freedom[1] == pytest.approx(spread.sum() ** 2 / (spread**2 / sizes).sum())


def test_of_one_wording_any_is_that_one():
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"sample": [f"i{n}" for n in range(60)], "group": ["x", "y", "z"] * 20})
    evidence = ItemScores(table, rng.random((60, 4, 1)), tuple("abcd"), np.array([1.0, 1, -1, -1]))
    finding = lean_effect(evidence, by="group")
    assert 0.01 < finding.details["p_any_wording"] <= finding.p_value


def test_without_an_image_that_is_fully_scored_nothing_is_compared():
    table = pl.DataFrame({"sample": ["a", "b"], "group": ["x", "y"]})
    evidence = ItemScores(table.clear(), np.empty((0, 4, 5)), tuple("abcd"), np.array([1.0, 1, -1, -1]), 2)
    for metric in (lean_effect, rejected_items):
        finding = metric(evidence, by="group")
        assert (finding.value, finding.reason) == (None, "empty")
        assert [(loss.reason, loss.count) for loss in finding.dropped] == [
            ("no score for each item and wording", 2)
        ]
