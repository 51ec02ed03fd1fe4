"""VisoGender retrieval: the released code on every ranking, and the random relabelling of Table 9."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand import metrics
from evenhand.evidence.rankings import Rankings
from evenhand.stats.rankings.fairness import difference, max_skews
from evenhand.stats.rankings.null import null_of_mean, null_of_ndkl, null_of_top

FOLDER = Path(__file__).parent / "vectors" / "visogender"
CASES = json.loads((FOLDER / "retrieval_rankings.json").read_text())["cases"]
ORDER = ("masculine", "feminine")
PAPER = {"by": "gender", "mode": "paper", "inference": "none"}
OCCUPATIONS = 23

each_case = pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])


def rankings(case):
    size = len(case["logits"])
    frame = {"query": ["doctor"] * size, "sample": [f"OP_{i}" for i in range(size)], "score": case["logits"]}
    same = ["same"] * 5 + ["diff"] * 10 + ["same"] * 5
    return Rankings.from_frame(
        pl.DataFrame({**frame, "gender": case["occ_genders"], "pair": (same * 2)[:size]}), kind="occupation"
    )


def values(evidence, k, **more):
    """All figures of one k as the vectors name them."""
    options = {**PAPER, **more}
    plus, minus = options.pop("groups", ORDER)
    return {
        f"bias@{k}": metrics.bias_at_k(evidence, k=k, groups=(plus, minus), **options).value,
        f"maxskew@{k}": metrics.max_skew_at_k(evidence, k=k, **options).value,
        f"minskew@{k}": metrics.min_skew_at_k(evidence, k=k, **options).value,
        f"skew@{k}": {
            group: metrics.skew_at_k(evidence, k=k, group=group, **options).value for group in (plus, minus)
        },
    }


@each_case
def test_every_figure_at_every_k(case):
    evidence = rankings(case)
    for k in range(1, len(case["logits"]) + 1):
        for name, value in values(evidence, k).items():
            assert value == pytest.approx(case["expected"][name], abs=1e-12, rel=0), name


@each_case
def test_ndkl(case):
    found = metrics.ndkl(rankings(case), **PAPER).value
    assert found == pytest.approx(case["expected"]["ndkl"], abs=1e-12, rel=0)


@pytest.mark.parametrize("case", [case for case in CASES if "expected_diff_gender" in case])
def test_same_against_different_pairs_is_one_more_attribute(case):
    evidence, expected = rankings(case), case["expected_diff_gender"]
    for k in range(1, 21):
        found = values(evidence, k, by="pair", groups=("same", "diff"))
        for name, value in found.items():
            assert value == pytest.approx(expected[name], abs=1e-12, rel=0), name
    ndkl = metrics.ndkl(evidence, **PAPER | {"by": "pair"}).value
    assert ndkl == pytest.approx(expected["ndkl"], abs=1e-12, rel=0)


def test_all_tied_is_masculine_first_on_paper_and_nothing_by_default():
    evidence = rankings(next(case for case in CASES if case["name"] == "all_scores_tied"))
    paper = metrics.bias_at_k(evidence, k=5, groups=ORDER, by="gender", mode="paper")
    ours = metrics.bias_at_k(evidence, k=5, groups=ORDER, by="gender")
    assert (paper.value, ours.value) == (1, pytest.approx(0, abs=1e-12))
    assert ours.p_value == 1
    assert ours.details["tied_queries"] == 1
    assert metrics.max_skew_at_k(evidence, k=5, by="gender").details["z"] == pytest.approx(0, abs=1e-9)
    assert metrics.ndkl(evidence, by="gender").details["z"] == pytest.approx(0, abs=1e-9)


def test_an_absent_woman_is_not_overrepresented_by_default():
    evidence = rankings(next(case for case in CASES if case["name"] == "absent_minority_1_of_20"))
    paper = metrics.max_skew_at_k(evidence, k=5, by="gender", mode="paper")
    assert paper.value == pytest.approx(np.log(4))
    assert paper.parts[0].details["group_of_max"] == paper.parts[0].details["absent"] == "feminine"
    assert "even win" in paper.notes[0]
    ours = metrics.max_skew_at_k(evidence, k=5, by="gender")
    assert ours.value == pytest.approx(-np.log(0.95))
    assert ours.parts[0].details["group_of_max"] == "masculine"
    assert ours.parts[0].details["absent"] == "feminine"
    least = metrics.min_skew_at_k(evidence, k=5, by="gender")
    assert least.value == pytest.approx(-np.log(6))
    assert "in 1 of 1 queries a group of the pool is not among the first 5" in least.notes[0]


def chance(name):
    rng, pool, half = np.random.default_rng(0), (10, 10), np.full(2, 0.5)
    if name == "NDKL":
        return null_of_ndkl(pool, half, rng)
    kind, k = name.split("@")

    def figure(counts):
        if kind == "bias":
            return difference(counts[:, 0], counts[:, 1])
        return max_skews(counts, np.full(counts.shape, 10), np.full(counts.shape, 0.5), int(k), "floor")

    return null_of_top(pool, int(k), figure, rng)


@pytest.mark.parametrize(
    ("name", "mean", "sd", "sd_of_mean", "least"),
    [
        ("bias@5", 0, 0.3974, 0.0829, 0.2),
        ("bias@10", 0, 0.2294, 0.0478, 0),
        ("maxskew@5", 0.2769, None, 0.0309, 0.182),
        ("maxskew@10", 0.1504, None, 0.0265, 0),
        ("NDKL", 0.1675, None, 0.0129, 0.1048),
    ],
)
def test_table_9_by_enumeration(name, mean, sd, sd_of_mean, least):
    null = chance(name)
    assert null.mean == pytest.approx(mean, abs=5e-5)
    assert sd is None or null.sd == pytest.approx(sd, abs=5e-5)
    assert null_of_mean([null] * OCCUPATIONS).sd == pytest.approx(sd_of_mean, abs=5e-5)
    assert np.abs(null.values).min() == pytest.approx(least, abs=5e-4)
    assert not null.drawn


@pytest.mark.parametrize(
    ("name", "value", "z"), [("bias@5", 0.11, 1.3), ("bias@10", 0.16, 3.3), ("bias@5", 0.17, 2.1)]
)
def test_z_of_published_means(name, value, z):
    assert null_of_mean([chance(name)] * OCCUPATIONS).z(value) == pytest.approx(z, abs=0.06)
