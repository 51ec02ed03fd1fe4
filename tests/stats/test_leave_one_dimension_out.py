"""Effect sizes without each dimension against computing every one anew."""

import numpy as np
import pytest

from evenhand.stats.association.without_dimension import RemainingDimensions

TEST = (np.arange(8), np.arange(8, 20), np.arange(5), np.arange(5, 12))


def anew(targets, attributes, test, keep, *, renormalise=True, ddof=1):
    """d on some dimensions, from scratch."""
    x, y, a, b = test
    u = targets / np.linalg.norm(targets, axis=1, keepdims=True)
    w = attributes / np.linalg.norm(attributes, axis=1, keepdims=True)
    u, w = u[:, keep], w[:, keep]
    if renormalise:
        u = u / np.linalg.norm(u, axis=1, keepdims=True)
        w = w / np.linalg.norm(w, axis=1, keepdims=True)
    values = u @ w.T
    phi = values[:, a].mean(axis=1) - values[:, b].mean(axis=1)
    both = np.concatenate([phi[x], phi[y]])
    return (phi[x].mean() - phi[y].mean()) / both.std(ddof=ddof)


def without(dimensions, gone):
    keep = np.ones(dimensions, dtype=bool)
    keep[list(gone)] = False
    return keep


@pytest.fixture
def vectors():
    rng = np.random.default_rng(3)
    return rng.normal(size=(20, 30)) + rng.normal(size=30), rng.normal(size=(12, 30)) + 0.3


@pytest.mark.parametrize("ddof", [0, 1])
@pytest.mark.parametrize("renormalise", [True, False])
def test_equal_to_computing_each_anew(vectors, renormalise, ddof):
    found = RemainingDimensions(*vectors, [TEST], renormalise=renormalise, ddof=ddof).without_each()
    expected = [anew(*vectors, TEST, without(30, [k]), renormalise=renormalise, ddof=ddof) for k in range(30)]
    np.testing.assert_allclose(found[0], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("renormalise", [True, False])
def test_removals_do_not_drift(vectors, renormalise):
    rng = np.random.default_rng(0)
    targets, attributes = rng.normal(size=(20, 200)) + 1, rng.normal(size=(12, 200)) + 1
    state = RemainingDimensions(targets, attributes, [TEST], renormalise=renormalise)
    gone = rng.permutation(200)[:150].tolist()  # past two refreshes
    for dimension in gone:
        state.remove(dimension)
    keep = without(200, gone)
    now = anew(targets, attributes, TEST, keep, renormalise=renormalise)
    assert state.effect_sizes()[0] == pytest.approx(now, abs=1e-12)
    psi = state.without_each()[0]
    for k in np.flatnonzero(keep)[::7]:
        expected = anew(targets, attributes, TEST, without(200, [*gone, k]), renormalise=renormalise)
        assert psi[k] == pytest.approx(expected, abs=1e-11)
    np.testing.assert_allclose(psi[gone], now, rtol=0, atol=1e-12)


def test_tests_that_share_attributes_or_do_not(vectors):
    """Shared sets, other attributes, an item in two sets, a word in both attribute sets: each as if alone."""
    first, second, third = np.arange(8), np.arange(6, 14), np.array([19, 2, 15, 16])
    a, b, c = np.arange(5), np.arange(4, 9), np.array([11, 0, 3])
    tests = [(first, second, a, b), (first, third, a, b), (second, third, b, c), (third, first, a, b)]
    found = RemainingDimensions(*vectors, tests).without_each()
    for row, test in zip(found, tests, strict=True):
        expected = [anew(*vectors, test, without(30, [k])) for k in range(30)]
        np.testing.assert_allclose(row, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], -found[3], rtol=0, atol=1e-13)


def test_blocks_make_no_difference(vectors, monkeypatch):
    whole = RemainingDimensions(*vectors, [TEST]).without_each()
    monkeypatch.setattr("evenhand.stats.association.without_dimension._BLOCK", 90)
    np.testing.assert_allclose(
        RemainingDimensions(*vectors, [TEST]).without_each(), whole, rtol=0, atol=1e-13
    )


def test_float32_has_six_digits_and_the_same_order(vectors):
    double, single = (
        RemainingDimensions(*vectors, [TEST], precision=p).without_each()[0] for p in ("float64", "float32")
    )
    np.testing.assert_allclose(single, double, rtol=0, atol=1e-5)
    assert np.argsort(single)[:10].tolist() == np.argsort(double)[:10].tolist()


def test_the_callers_arrays_stay_as_they_are(vectors):
    before = [array.copy() for array in vectors]
    unit = [array / np.linalg.norm(array, axis=1, keepdims=True) for array in vectors]
    kept = [array.copy() for array in unit]
    for given, copies in ((vectors, before), (unit, kept)):
        state = RemainingDimensions(*given, [TEST])
        state.without_each()
        state.remove(3)
        for array, copy in zip(given, copies, strict=True):
            assert (array == copy).all()


def test_undefined_is_nan(vectors):
    targets, attributes = vectors
    nothing = np.array([], dtype=int)
    tests = [TEST, (nothing, *TEST[1:]), (*TEST[:2], nothing, TEST[3]), (TEST[0], TEST[0][:0], *TEST[2:])]
    found = RemainingDimensions(targets, attributes, tests).without_each()
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1:]).all()
    same = np.tile(targets[:1], (20, 1))
    assert np.isnan(RemainingDimensions(same, attributes, [TEST]).effect_sizes()).all()
    for useless in (0, np.nan, np.inf):
        broken = targets.copy()
        broken[4] = useless
        state = RemainingDimensions(broken, attributes, [TEST, (TEST[0][:4], *TEST[1:])])
        assert np.isnan(state.effect_sizes()).tolist() == [True, False]
        assert np.isnan(state.without_each()).all(axis=1).tolist() == [True, False]


def test_a_dimension_that_is_all_of_an_item_has_no_effect_size_without_it(vectors):
    targets, attributes = (array.copy() for array in vectors)
    targets[2] = 0
    targets[2, 7] = 5
    found = RemainingDimensions(targets, attributes, [TEST]).without_each()[0]
    assert np.flatnonzero(np.isnan(found)).tolist() == [7]
    others = np.delete(np.arange(30), 7)
    expected = [anew(targets, attributes, TEST, without(30, [k])) for k in others]
    np.testing.assert_allclose(found[others], expected, rtol=0, atol=1e-12)
    assert np.isfinite(
        RemainingDimensions(targets, attributes, [TEST], renormalise=False).without_each()
    ).all()


def test_two_dimensions_that_are_all_of_an_item_can_go_singly_only(vectors):
    targets, attributes = (array.copy() for array in vectors)
    attributes[1] = 0
    attributes[1, [4, 9]] = 1
    state = RemainingDimensions(targets, attributes, [TEST])
    assert np.isfinite(state.without_each()).all()
    state.remove(4)
    assert np.flatnonzero(np.isnan(state.without_each()[0])).tolist() == [9]


def test_sets_without_freedom_have_no_effect_size(vectors):
    few = (np.arange(1), np.arange(1, 2), np.arange(5), np.arange(5, 12))
    for ddof, is_defined in ((1, True), (2, False)):
        found = RemainingDimensions(*vectors, [few, TEST], ddof=ddof).effect_sizes()
        assert np.isfinite(found).tolist() == [is_defined, True]
