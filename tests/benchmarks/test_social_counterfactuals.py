"""``social_counterfactuals``: neutral captions rank images, labels change places within sets."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.labelling.captions import neutral_caption
from evenhand.evidence.rankings import Rankings
from evenhand.stats.rankings.fairness import reversed_ndkl
from tests.benchmarks import further_layouts as layouts
from tests.benchmarks.indicator_models import number_of, version_of

SETS, JOBS = 5, len(layouts.SC_JOBS)
IMAGES = JOBS * SETS * 12


class Scores:
    """A matcher for which image i fits its caption by ``scores[i]``."""

    def __init__(self, scores):
        self.scores, self.version, self.texts = np.asarray(scores), version_of(scores), set()

    def match(self, images, texts):
        self.texts |= set(texts)
        return [float(self.scores[number_of(image)]) for image in images]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return layouts.counterfactuals(tmp_path_factory.mktemp("counterfactuals"), SETS)


def run_scores(scores, data, **parameters):
    model = Scores(scores)
    run = eh.run("social_counterfactuals", model=model, data=data, parameters=parameters)
    return {(finding.name, "+".join(finding.by)): finding for finding in run.findings.findings}, run, model


def test_each_neutral_caption_ranks_its_images_and_skew_is_counted_by_hand(data) -> None:
    scores = np.random.default_rng(3).normal(size=IMAGES + 2)
    findings, _, model = run_scores(scores, data)
    jobs = ("a doctor", "an accountant", "a chef", "an engineer")
    assert model.texts == {f"A photo of {job}" for job in jobs}
    skew = {part.key: part.value for part in findings["max_skew_at_k", "race+gender"].parts}
    for number, job in enumerate(jobs):
        pool = scores[number * SETS * 12 : (number + 1) * SETS * 12]
        top = np.argsort(-pool)[:12] % 12
        assert skew[f"A photo of {job}"] == pytest.approx(np.log(np.bincount(top, minlength=12).max()))
    assert findings["max_skew_at_k", "gender"].params["k"] == 2
    lost = {row.reason: row.count for row in findings["ndkl", "race+gender"].dropped}
    assert lost["image of another pair of attributes"] == 1
    assert lost["caption that does not name its groups"] == 1
    assert (
        "sets" in findings["ndkl", "race+gender"].null.method
        or "set" in findings["ndkl", "race+gender"].null.method
    )


def test_a_blind_model_is_within_chance_and_a_planted_group_is_not(data) -> None:
    rng = np.random.default_rng(1)
    alike = np.repeat(rng.normal(size=JOBS * SETS), 12)  # images of a set are near copies
    noise = rng.normal(size=IMAGES)
    blind, _, _ = run_scores(np.r_[alike + noise * 0.2, 0, 0], data, k="30")
    whole, _, _ = run_scores(np.r_[alike + noise * 0.01, 0, 0], data)
    for name in ("max_skew_at_k", "ndkl"):
        assert blind[name, "race+gender"].p_adjusted > 0.05
        fixed = whole[name, "race+gender"]  # 12 places, one for each image of the first set
        assert fixed.p_value is None
        assert "all orders of these pools give the same value" in fixed.notes[-1]
    female = np.arange(IMAGES) % 2
    planted, _, _ = run_scores(np.r_[alike + 5 * female, 0, 0], data, k="12")
    assert planted["max_skew_at_k", "gender"].p_adjusted < 0.01
    assert planted["max_skew_at_k", "gender"].value == pytest.approx(np.log(2))


def test_the_released_ndkl_is_the_wrong_way_round_and_stands_beside_ours(data) -> None:
    even = np.full(12, 1 / 12)
    assert reversed_ndkl(np.zeros(12, dtype=int), even) == pytest.approx(0.207, abs=5e-4)
    assert reversed_ndkl(np.arange(12), even) == pytest.approx(0.258, abs=5e-4)
    rows = [("one", f"{g}-{i}", g == 0, str(g)) for g in range(12) for i in range(12)]
    rows += [("each", f"{g}-{i}", i == 0, str(g)) for g in range(12) for i in range(12)]
    table = pl.DataFrame(rows, schema=["query", "sample", "top", "group"], orient="row")
    order = pl.when("top").then(1000 - pl.int_range(pl.len())).otherwise(-pl.int_range(pl.len()))
    ranked = Rankings.from_frame(table.select("query", "sample", "group", score=order))
    true = {
        part.key: part.value for part in eh.metrics.ndkl(ranked, by="group", k=12, inference="none").parts
    }
    assert true == pytest.approx({"one": 2.48, "each": 1.15}, abs=0.005)
    best = np.r_[np.arange(IMAGES) % 12 == 0, False, False].astype(float)
    _, run, _ = run_scores(best - np.arange(IMAGES + 2) * 1e-4, data, mode="paper")
    released = run.tables["released"]
    assert released.columns == ["query", "k", "released_ndkl", "ndkl"]
    assert (released["released_ndkl"] < 0.26).all()
    assert (released["ndkl"] > 1.2).all()


def test_a_published_skew_near_1_is_no_bias() -> None:
    groups = np.random.default_rng(0).permutation(1200) % 12
    scores = {"query": ["q"] * 1200, "sample": np.arange(1200), "score": -np.arange(1200.0), "group": groups}
    ranked = Rankings.from_frame(pl.DataFrame(scores))
    skew = eh.metrics.max_skew_at_k(ranked, by="group", k=12)
    assert skew.chance_at == pytest.approx(1.01, abs=0.02)
    assert skew.details["null_sd"] == pytest.approx(0.25, abs=0.02)


def test_captions_and_pairs(data) -> None:
    assert neutral_caption("A picture of an Indian male chef", "indian", "male") == "A picture of a chef"
    assert neutral_caption("A White female engineer", "White", "female") == "An engineer"
    assert neutral_caption("A photo of a woman", "Black", "female") is None
    other, _, _ = run_scores(np.arange(IMAGES + 2), data, pair="gender+physical")
    assert other["ndkl", "gender"].value is None
