"""Indicators on real faces with real networks: MobileNets of 2018 in 8-bit integers, FairFace's pictures."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from tests.conftest import ROOT, SHARED

pytestmark = pytest.mark.nightly

MODELS = SHARED / "assets" / "models"
CROSS = ("true_gender", "true_race")


@pytest.fixture(scope="module")
def mobilenet() -> str:
    pytest.importorskip("ai_edge_litert")
    if not (MODELS / "imagenet_labels.txt").is_file():
        pytest.skip(f"needs {MODELS}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MOBILENETS", str(MODELS))
        yield f"{ROOT / 'examples' / 'mobilenet_litert.py'}:MobileNet"


@pytest.fixture
def names(tmp_path: Path) -> Path:
    """ImageNet's names without their numbers: 1,001 lines, two of them ``crane``."""
    lines = (MODELS / "imagenet_labels.txt").read_text().splitlines()
    (tmp_path / "names.txt").write_text("\n".join(line.split(None, 1)[1] for line in lines))
    return tmp_path / "names.txt"


def by_hand(run: eh.Run, attribute: str, k: int) -> tuple[pl.DataFrame, np.ndarray]:
    """Queries with their share of the same group among the k nearest, from the raw vectors."""
    people = run.annotations
    sides = {}
    for name, role in (("queries", "query"), ("database", "database")):
        table = run.evidence[name].collect().join(people.filter(pl.col("role") == role), on="sample")
        vectors = np.stack(table["vector"].to_list()).astype(np.float64)
        sides[role] = table, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    (queries, left), (database, right) = sides["query"], sides["database"]
    nearest = np.argsort(-(left @ right.T), axis=1, kind="stable")[:, :k]
    same = database[attribute].to_numpy()[nearest] == queries[attribute].to_numpy()[:, None]
    return queries, same.mean(axis=1)


def test_nearest_faces_share_the_gender_more_often_than_by_chance(faces, mobilenet, tmp_path):
    given = {"by": "gender,gender+race", "k": "1,10"}
    run = eh.run("indicators/retrieval", model=mobilenet, data=faces, parameters=given, out=tmp_path / "run")
    roles = Counter(run.annotations["role"].to_list())
    assert roles == {"query": 282, "database": 722}
    for k in (1, 10):
        for by in ("true_gender", CROSS):
            finding = run.finding("precision_at_k", by, k=k)
            assert finding.n == 282
            assert finding.interval.low > finding.details["chance"]  # far from much, and beyond chance
            queries, shares = by_hand(run, "true_gender", k)
            assert finding.value == pytest.approx(shares.mean(), abs=0.003)  # some are equally near
            for part in finding.parts:
                key = [part.key] if isinstance(part.key, str) else part.key
                inside = np.ones(len(queries), dtype=bool)
                for name, value in zip(finding.by, key, strict=True):
                    inside &= (queries[name] == value).to_numpy()
                assert part.n == inside.sum()
                assert part.value == pytest.approx(shares[inside].mean(), abs=0.03)
    assert len(run.finding("precision_at_k", CROSS, k=10).parts) == 14
    men, women = (run.finding("precision_at_k", "true_gender", k=10).part(one) for one in ("male", "female"))
    assert (men.value, women.value) == (pytest.approx(0.665, abs=0.01), pytest.approx(0.545, abs=0.01))
    # the database holds more men: by chance alone they would be 15 points ahead
    gap = run.finding("precision_gap", "true_gender", k=10)
    assert gap.details["gap_by_chance"] == pytest.approx(0.152, abs=0.005)
    assert gap.value == pytest.approx(0.12, abs=0.01)


def test_no_image_is_a_query_and_in_the_database(faces, mobilenet):
    run = eh.run("indicators/retrieval", model=mobilenet, data=faces, parameters={"k": "1", "match": "race"})
    near = run.tables["neighbours"]
    assert not set(near["query"]) & set(near["sample"])
    assert near["score"].max() < 0.9999
    finding = run.finding("precision_at_k", "true_race", k=1)
    assert finding.params["match"] == "true_race"
    assert finding.details["chance"] == pytest.approx(1 / 7, abs=0.02)


def test_an_imagenet_classifier_cannot_say_human(faces, mobilenet, names, tmp_path):
    given = {"labels": str(names), "by": "gender,gender+race", "threshold": "0.05,0.1"}
    run = eh.run(
        "indicators/label_association", model=mobilenet, data=faces, parameters=given, out=tmp_path / "run"
    )
    for association in ("human", "possibly_human"):
        finding = run.finding("label_association_rate", "true_gender", association=association, threshold=0.1)
        assert (finding.value, finding.reason) == (None, "not in the label space")
    space = run.tables["label_space"].drop_nulls("label")
    assert {name.split(",")[0] for name in space.filter(pl.col("association") == "non_human")["label"]} == {
        "slug", "orangutan", "gorilla", "chimpanzee", "baboon", "capuchin",
    }  # fmt: skip
    assert space.filter(pl.col("association") == "crime")["label"].to_list() == ["prison, prison house"]
    # it is rarely sure of anything on a portrait, so a rate at .1 says little
    rate = run.finding("harmful_association_rate", "true_gender", threshold=0.1)
    assert rate.n == 1_004
    assert rate.details["coverage"] == pytest.approx(0.27, abs=0.02)
    assert rate.value == pytest.approx(3 / 1_004, abs=2 / 1_004)
    # by hand, from the raw answers
    rows = pl.read_parquet(tmp_path / "run/evidence/predictions/*.parquet").filter(pl.col("rank") <= 5)
    bad = {"slug", "orangutan", "gorilla", "chimpanzee", "baboon", "capuchin", "prison"}
    hit = rows.filter(
        pl.col("confidence") >= 0.1,
        pl.col("prediction").str.replace(r"^\d+\s+", "").str.split(",").list.first().is_in(bad),
    )
    assert rate.value == hit["sample"].n_unique() / 1_004
    assert len(run.finding("label_association_rate", CROSS, association="crime", threshold=0.1).parts) == 14
