"""Geographic diversity of the released code, on its own outputs for synthetic logits; and income buckets."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand import metrics
from evenhand.evidence.household_hits import HouseholdHits, income_buckets
from evenhand.metrics.labels.households.tables import household_rates

FOLDER = Path(__file__).parent / "vectors/indicators"
CASE = json.loads((FOLDER / "geo_diversity.json").read_text())
BUCKETS = json.loads((FOLDER / "income_buckets.json").read_text())
CONCEPTS = CASE["id_to_dollar_street_labels"]
WAYS = {"released_code_no_dedup": "paper", "paper_dedup_by_image": "default"}


def softmax(logits):
    """As the released code: over all logits, float32."""
    shifted = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


def annotations():
    return pl.DataFrame(
        {
            "sample": CASE["image_paths"],
            "image": [row["url"].split("/")[-1].split(".")[0].split("-")[-1] for row in CASE["metadata"]],
            "household": [row["_id"] for row in CASE["metadata"]],
            "concepts": [[row["label"]] for row in CASE["metadata"]],
            **{name: [row[name] for row in CASE["metadata"]] for name in ("country", "region", "income")},
        }
    )


def evidence(threshold):
    confidence = softmax(np.array(CASE["logits"], dtype=np.float32))
    order = np.argsort(-confidence, axis=1, kind="stable")
    n, classes = confidence.shape
    long = pl.LazyFrame(
        {
            "sample": np.repeat(CASE["image_paths"], classes),
            "prediction": order.ravel().astype(str),
            "rank": np.tile(np.arange(1, classes + 1), n),
            "confidence": np.take_along_axis(confidence, order, axis=1).ravel(),
        }
    )
    return HouseholdHits.from_predictions(
        long, annotations(), CONCEPTS, top=CASE["topk"], threshold=threshold, digits=5
    )


def by_group(finding):
    keys = [part.key if isinstance(part.key, str) else "|".join(part.key) for part in finding.parts]
    return dict(zip(keys, [round(part.value, 6) for part in finding.parts], strict=True))


@pytest.mark.parametrize("threshold", ["0.0", "0.2"])
@pytest.mark.parametrize("way", WAYS)
def test_hit_rates_equal_the_released_code(way, threshold):
    expected = CASE["expected"][way][threshold]
    found, mode = evidence(float(threshold)), WAYS[way]
    households = household_rates(found, mode=mode)
    assert (
        dict(households.select("household", pl.col("hit_rate").round(6)).iter_rows())
        == expected["per_household"]
    )
    groupings = {
        "income": "income_bucket",
        "region": "region",
        "income_region": ["income_bucket", "region"],
    }
    for name, by in groupings.items():
        finding = metrics.household_hit_rate(found, by=by, mode=mode)
        assert by_group(finding) == expected[name]
    finding = metrics.household_hit_rate(found, by="income_bucket", mode=mode)
    covered = {part.key: part.details["coverage"] for part in finding.parts}
    assert covered == expected["cover_income"]


@pytest.mark.parametrize("by", ["region", "country", "concept"])
def test_image_hit_rates_equal_the_released_code(by):
    finding = metrics.household_hit_rate(evidence(0.0), by=by, weighting="image", mode="paper")
    expected = CASE["image_level_hit_rate_pct"][by]
    assert {part.key: round(100 * part.value, 3) for part in finding.parts} == {
        key: row["hit_rate"] for key, row in expected.items()
    }
    assert {part.key: part.n for part in finding.parts} == {
        key: row["total"] for key, row in expected.items()
    }


def test_income_buckets_equal_the_released_code():
    found = income_buckets(pl.Series([float(text) for text in BUCKETS])).to_list()
    expected = [None if answer.startswith("KeyError") else answer for answer in BUCKETS.values()]
    assert found == expected


def test_the_edges_of_income_buckets():
    edges = np.exp([1.5, 4.5, 7.5, 10.5])
    below, above = (
        income_buckets(pl.Series(edges * (1 - 1e-9))),
        income_buckets(pl.Series(edges * (1 + 1e-9))),
    )
    assert below.to_list() == [None, "low", "medium", "high"]
    assert above.to_list() == ["low", "medium", "high", None]


def test_the_gap_is_the_difference_of_the_buckets():
    for mode, gap in (("paper", 0.25 - 1 / 3), ("default", 0.25 - 0.35)):
        finding = metrics.household_hit_gap(evidence(0.0), mode=mode)
        assert finding.value == pytest.approx(gap, abs=1e-12)
