"""Every number of the MMBias association vectors: d, its bound, exact and normal p, and single targets."""

import json
from math import comb
from pathlib import Path

import numpy as np
import pytest

from evenhand.stats.association.effect_size import associations, effect_bound, effect_size, single_category
from evenhand.stats.association.permutation import permutation_test

FOLDER = Path(__file__).parent / "vectors" / "mmbias"
CASES = {case["name"]: case for case in json.loads((FOLDER / "association.json").read_text())["cases"]}
each_case = pytest.mark.parametrize("name", CASES)


@pytest.fixture(scope="module")
def vectors():
    with np.load(FOLDER / "association.npz") as arrays:
        return dict(arrays)


def cosines(vectors, name):
    x, y, a, b = (
        vectors[f"{name}/{key}"] / np.linalg.norm(vectors[f"{name}/{key}"], axis=1, keepdims=True)
        for key in "XYAB"
    )
    return np.r_[x, y] @ np.r_[a, b].T, np.arange(len(a)), len(a) + np.arange(len(b))


def scores(vectors, name):
    values, a, b = cosines(vectors, name)
    phi = associations(values, a, b)
    return phi[: CASES[name]["n"]], phi[CASES[name]["n"] :]


@each_case
def test_associations_and_their_difference(vectors, name):
    case = CASES[name]
    x, y = scores(vectors, name)
    np.testing.assert_allclose(x, case["s_X"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(y, case["s_Y"], rtol=0, atol=1e-12)
    assert x.mean() - y.mean() == pytest.approx(case["mean_diff"], abs=1e-12)
    assert x.sum() - y.sum() == pytest.approx(case["sum_stat"], abs=1e-11)


@each_case
@pytest.mark.parametrize("ddof", [0, 1])
def test_d_as_published_code_and_brute_force_have_it(vectors, name, ddof):
    case = CASES[name]
    d = effect_size(*scores(vectors, name), ddof)
    assert d == pytest.approx(case[f"effect_size_ddof{ddof}"], abs=1e-12)
    assert abs(d) <= effect_bound(case["n"], case["m"], ddof) + 1e-12
    if ddof:
        for key in ("ieat_effect", "sentbias_effect"):
            assert d == pytest.approx(case.get(key, d), abs=1e-12)
    else:
        assert effect_bound(case["n"], case["m"], 0) == pytest.approx(case["effect_bound_ddof0"], abs=1e-12)


def test_the_bound_is_reached_where_neither_set_varies(vectors):
    x, y = scores(vectors, "sat_ddof0_2")
    for ddof in (0, 1):
        assert effect_size(x, y, ddof) == pytest.approx(effect_bound(6, 6, ddof), abs=1e-12)


@each_case
def test_exact_and_normal_p(vectors, name):
    case = CASES[name]
    found = permutation_test(*scores(vectors, name), rng=np.random.default_rng(0))
    assert (found.method, found.partitions) == ("exact", case["n_partitions"])
    assert found.partitions == comb(case["n"] + case["m"], case["n"])
    assert found.right == pytest.approx(case["p_right_exact"], abs=1e-12)
    assert found.left == pytest.approx(case["p_left_exact"], abs=1e-12)
    assert found.two_sided == pytest.approx(case["p_two_exact"], abs=1e-12)
    assert found.z == pytest.approx(case["z"], abs=1e-12)
    assert found.normal_right == pytest.approx(case["p_right_normal"], abs=1e-12)
    for key in ("ieat_p", "sentbias_p"):
        assert found.right == pytest.approx(case.get(key, found.right), abs=1e-12)


@each_case
def test_single_targets(vectors, name):
    found = single_category(*cosines(vectors, name))
    case = CASES[name]
    expected = [*case["sc_weat_ddof1_X"], *case["sc_weat_ddof1_Y"]]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
