"""Same-attribute retrieval of the released code, to the digit, at every K and for every grouping."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand import metrics
from evenhand.benchmarks.indicators.people.ages import cc_age
from evenhand.evidence.neighbours import Neighbours

CASE = json.loads((Path(__file__).parent / "vectors/indicators/similarity_precision_at_k.json").read_text())
GROUPINGS = {
    "gender": "gender",
    "age": "age",
    "skintone": "skintone",
    "gender_skintone": ["gender", "skintone"],
}
QUERIES = pl.DataFrame(
    {
        "sample": [row["img_path"] for row in CASE["query_metadata"]],
        "gender": [row["gender"].lower() for row in CASE["query_metadata"]],
        "age": [cc_age(row["age"], unknown="-1") for row in CASE["query_metadata"]],
        "skintone": ["lighter" if row["skin-type"] in "123" else "darker" for row in CASE["query_metadata"]],
        "subject": [row["subject_id"] for row in CASE["query_metadata"]],
    }
)
DATABASE = pl.DataFrame(
    {"sample": [f"{i:05d}" for i in range(len(CASE["db_gender"]))], "gender": CASE["db_gender"]}
)


def embeddings(samples, vectors):
    schema = {"sample": pl.String, "modality": pl.String, "vector": pl.List(pl.Float32)}
    rows = {"sample": samples, "modality": ["image"] * len(vectors), "vector": vectors}
    return pl.LazyFrame(rows, schema=schema)


def from_arrays():
    queries = np.array(CASE["query_features"], dtype=np.float32)
    database = np.array(CASE["db_features"], dtype=np.float32)
    return Neighbours.from_vectors(queries, database, QUERIES, DATABASE)


def from_tables():
    queries = embeddings(QUERIES["sample"], CASE["query_features"])
    database = embeddings(DATABASE["sample"], CASE["db_features"])
    return Neighbours.from_embeddings(queries, database, QUERIES, DATABASE)


@pytest.fixture(params=[from_arrays, from_tables], ids=["arrays", "tables"], scope="module")
def neighbours(request):
    return request.param()


def parts_of(finding):
    return {part.key if isinstance(part.key, str) else "_".join(part.key): part for part in finding.parts}


@pytest.mark.parametrize("k", CASE["k"])
@pytest.mark.parametrize("grouping", GROUPINGS)
def test_paper_mode_is_the_released_code(neighbours, k, grouping):
    expected = CASE["expected"][f"precision@{k}"]
    finding = metrics.precision_at_k(
        neighbours, match="gender", by=GROUPINGS[grouping], k=k, mode="paper", inference="none"
    )
    assert finding.value == pytest.approx(expected["overall"], abs=1e-12)
    parts = parts_of(finding)
    assert {key: part.n for key, part in parts.items()} == CASE["counts"][grouping]
    assert parts.keys() == expected[grouping].keys()
    for key, value in expected[grouping].items():
        assert parts[key].value == pytest.approx(value, abs=1e-12)


@pytest.mark.parametrize("k", CASE["k"])
def test_by_default_queries_that_cannot_match_stand_apart(neighbours, k):
    expected = CASE["expected"][f"precision@{k}"]
    finding = metrics.precision_at_k(neighbours, match="gender", by="gender", k=k)
    parts = parts_of(finding)
    for gender in ("female", "male"):
        assert parts[gender].value == pytest.approx(expected["gender"][gender], abs=1e-12)
    assert [(key, parts[key].value, parts[key].reason) for key in ("n/a", "other")] == [
        ("n/a", None, "not in the database"), ("other", None, "not in the database"),
    ]  # fmt: skip
    assert {each.reason: each.count for each in finding.dropped} == {
        "gender not in the database": 1, "unknown gender": 1,
    }  # fmt: skip
    both = [expected["gender"][gender] for gender in ("female", "male")]
    assert finding.value == pytest.approx(np.mean(both), abs=1e-12)  # nine queries each
    assert finding.value > expected["overall"]
    assert finding.details["chance"] == pytest.approx(0.5)
