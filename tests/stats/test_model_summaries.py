"""Exchange and resampling of two models: exact where enumeration can say, margins kept, zero from equals."""

from itertools import product

import numpy as np
import pytest
from evenhand.stats.exchanged import (
    SUMMARIES,
    JointClass,
    SeparateClass,
    exchange_p,
    observed,
    replicated,
)

from evenhand.stats.contingency import TableBatch, association
from evenhand.stats.skewness import skewness


def streams(place: int, start: int) -> np.random.Generator:
    return np.random.default_rng([7, place, start])


def random_joint(label: int, groups: int, n: int, labels: int = 6, seed: int = 0) -> JointClass:
    rng = np.random.default_rng([seed, label])
    group = np.sort(rng.integers(0, groups, n))
    said = np.where(rng.random((2, n)) < 0.5, label, rng.integers(0, labels, (2, n)))
    keys, counts = np.unique((group * labels + said[0]) * labels + said[1], return_counts=True)
    pairs = np.stack([keys // labels % labels, keys % labels])
    return JointClass(label, keys // labels**2, pairs, counts.astype(float))


def apart(joint: JointClass) -> SeparateClass:
    cells = joint.cells
    counts = np.concatenate(joint.observed(), axis=1).T
    return SeparateClass(joint.label, cells.group, cells.prediction, counts)


def dense(cells, column, labels=6):
    table = np.zeros((int(cells.group.max()) + 1, labels))
    table[cells.group, cells.prediction] = column
    return table


def sizes_of(classes, groups):
    sizes = np.zeros((2, groups))
    for one in classes:
        for model, table in enumerate(one.observed()):
            np.add.at(sizes[model], one.cells.group, table[:, 0])
    return sizes


@pytest.mark.parametrize("groups", [1, 2, 5])
def test_effects_are_those_of_the_contingency_kernel(groups):
    for seed in range(5):
        one = random_joint(0, groups, 60, seed=seed)
        for model, table in enumerate(one.observed()):
            batch = TableBatch.from_dense(dense(one.cells, table[:, 0]).astype(np.int64)[None])
            tables = association(batch)
            wanted = np.where(tables.dof > 0, tables.statistic("cramers_v"), np.nan)
            assert one.cells.effect(table, model) == pytest.approx(wanted, abs=1e-12, nan_ok=True)


def test_summaries_are_what_they_are_called():
    classes = [random_joint(label, 3, 80) for label in range(4)]
    found = observed(classes, sizes_of(classes, 3))
    effects = np.array([one.cells.effect(one.observed()[0], 0)[0] for one in classes])
    assert found["cramers_v_mean"][0, 0] == pytest.approx(effects.mean())
    assert found["cramers_v_median"][0, 0] == pytest.approx(np.median(effects))
    assert found["cramers_v_max"][0, 0] == effects.max()
    assert found["skewsize"][0, 0] == pytest.approx(float(skewness(effects)))
    right = np.zeros(3)
    for one in classes:
        hit = one.predictions[0] == one.label
        np.add.at(right, one.group[hit], one.n[hit])
    by_group = right / sizes_of(classes, 3)[0]
    assert found["accuracy"][0, 0] == pytest.approx(right.sum() / 320)
    assert found["worst_group_accuracy"][0, 0] == pytest.approx(by_group.min())
    assert found["accuracy_gap"][0, 0] == pytest.approx(right.sum() / 320 - by_group.min())


def test_two_usable_classes_have_no_skewsize():
    classes = [random_joint(label, 2, 50) for label in range(2)]
    assert np.isnan(observed(classes, sizes_of(classes, 2))["skewsize"]).all()


def test_exchange_moves_answers_between_models_only():
    one = random_joint(0, 3, 200)
    first, second = one.observed()
    a, b = one.exchanged(np.random.default_rng(1), 50)
    assert np.array_equal(a + b, np.repeat(first + second, 50, axis=1))
    assert (a >= 0).all()
    assert (b >= 0).all()
    for group in range(3):
        inside = one.cells.group == group
        assert (a[inside].sum(axis=0) == first[inside].sum()).all()
    assert len({column.tobytes() for column in a.T}) > 40


def test_exchange_has_the_distribution_of_enumerated_swaps():
    group, said = np.array([0, 0, 1, 1]), np.array([[0, 1, 0, 2], [1, 1, 2, 0]])
    one = JointClass(0, group, said, np.ones(4))
    classes, sizes = [one], np.full((2, 2), 2.0)
    exact = []
    for swap in product([False, True], repeat=4):
        a = np.where(swap, said[1], said[0])
        b = np.where(swap, said[0], said[1])
        exact.append(((a == 0).sum() - (b == 0).sum()) / 4)
    drawn = replicated(classes, sizes, "exchanged", 20_000, streams)["accuracy"]
    values, shares = np.unique(exact, return_counts=True)
    got = drawn[0] - drawn[1]
    for value, share in zip(values, shares / 16, strict=True):
        assert np.isclose(got, value).mean() == pytest.approx(share, abs=0.015)


def test_repeated_samples_are_exchanged_one_by_one():
    """Five samples with the same two answers: how many change places is binomial, not all or none."""
    one = JointClass(0, np.array([0, 1]), np.array([[0, 0], [1, 1]]), np.array([5.0, 5.0]))
    a, _ = one.exchanged(np.random.default_rng(0), 4000)
    kept = a[(one.cells.group == 0) & (one.cells.prediction == 0)][0]
    assert set(np.unique(kept)) == {0, 1, 2, 3, 4, 5}
    assert kept.mean() == pytest.approx(2.5, abs=0.1)
    assert kept.var() == pytest.approx(1.25, abs=0.15)


@pytest.mark.parametrize("joined", [True, False])
def test_resampling_keeps_groups_and_is_around_the_sample(joined):
    joint = random_joint(0, 3, 150)
    one = joint if joined else apart(joint)
    for table, drawn in zip(one.observed(), one.resampled(np.random.default_rng(3), 400), strict=True):
        for group in range(3):
            inside = one.cells.group == group
            assert (drawn[inside].sum(axis=0) == table[inside].sum()).all()
        assert drawn.mean(axis=1) == pytest.approx(table[:, 0], abs=1.2)


def test_joint_resampling_keeps_what_models_share():
    """Where both say the same, they say the same in every resample."""
    said = np.array([[0, 1, 2, 0], [0, 1, 2, 0]])
    one = JointClass(0, np.array([0, 0, 1, 1]), said, np.array([3.0, 2.0, 4.0, 1.0]))
    a, b = one.resampled(np.random.default_rng(0), 100)
    assert np.array_equal(a, b)


def test_dealing_rows_again_keeps_each_models_rows():
    one = apart(random_joint(0, 3, 150))
    half = SeparateClass(one.label, one.group, one.prediction, np.stack([one.n[0], np.floor(one.n[1] / 2)]))
    a, b = half.exchanged(np.random.default_rng(0), 200)
    assert np.array_equal(a + b, np.repeat(half.n.sum(axis=0)[:, None], 200, axis=1))
    for group in range(3):
        inside = half.group == group
        assert (a[inside].sum(axis=0) == half.n[0, inside].sum()).all()
        share = half.n[0, inside].sum() / half.n[:, inside].sum()
        assert a[inside].mean(axis=1) == pytest.approx(half.n.sum(axis=0)[inside] * share, abs=0.8)


def test_a_model_against_itself_differs_by_nothing():
    classes = []
    for label in range(4):
        joint = random_joint(label, 2, 60)
        classes.append(JointClass(label, joint.group, joint.predictions[[0, 0]], joint.n))
    sizes = sizes_of(classes, 2)
    found = observed(classes, sizes)
    for how in ("exchanged", "resampled"):
        drawn = replicated(classes, sizes, how, 99, streams)
        for name in SUMMARIES:
            difference = drawn[name][0] - drawn[name][1]
            assert (difference[~np.isnan(difference)] == 0).all()
            assert exchange_p(difference, float(found[name][0, 0] - found[name][1, 0]), symmetric=True) == 1


def test_p_counts_what_is_as_extreme():
    draws = np.array([-3.0, -1, 0, 1, 2, np.nan])
    assert exchange_p(draws, 2.0, symmetric=True) == pytest.approx(3 / 6)
    assert exchange_p(draws, -3.0, symmetric=True) == pytest.approx(2 / 6)
    assert exchange_p(draws, 2.0, symmetric=False) == pytest.approx(4 / 6)
    assert exchange_p(draws, 0.0, symmetric=False) == 1
    assert exchange_p(np.array([np.nan]), 1.0, symmetric=True) is None
    assert exchange_p(draws, float("nan"), symmetric=True) is None


def test_memory_is_bounded_by_chunks(monkeypatch):
    """Fewer replicates at a time give other streams, but the same number and the same kind of replicates."""
    from evenhand.stats import exchanged

    classes = [random_joint(label, 2, 60) for label in range(3)]
    sizes = sizes_of(classes, 2)
    whole = replicated(classes, sizes, "exchanged", 300, streams)["cramers_v_mean"]
    monkeypatch.setattr(exchanged, "_CHUNK", 1000)
    parts = replicated(classes, sizes, "exchanged", 300, streams)["cramers_v_mean"]
    assert parts.shape == whole.shape == (2, 300)
    assert parts.mean() == pytest.approx(whole.mean(), abs=0.02)


def test_a_target_counts_groups_as_if_they_had_other_rows():
    """Twice the rows of a group, or each of its rows twice, is one and the same."""
    one = apart(random_joint(0, 2, 150))
    second = one.group == 1
    doubled = SeparateClass(one.label, one.group, one.prediction, np.where(second, 2 * one.n, one.n))
    rows = np.array([one.n[0, one.group == group].sum() for group in one.group])
    weighted = SeparateClass(
        one.label, one.group, one.prediction, one.n, target=np.where(second, 2 * rows, rows)
    )
    for model in range(2):
        assert np.array_equal(weighted.observed()[model], doubled.observed()[model])
        assert np.array_equal(
            weighted.cells.effect(weighted.observed()[model], model),
            doubled.cells.effect(doubled.observed()[model], model),
        )
    for table in weighted.exchanged(np.random.default_rng(1), 50):
        for group in range(2):
            inside = one.group == group
            assert table[inside].sum(axis=0) == pytest.approx(weighted.target[inside][0])
    assert weighted.even


def test_a_label_of_little_weight_still_counts_whole():
    """Columns that weights bring below one row are divided by what they are."""
    n = np.array([[3.0, 1.0, 2.0, 4.0], [3.0, 1.0, 2.0, 4.0]])
    group, said = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    small = SeparateClass(0, group, said, n, target=np.full(4, 0.05))
    large = SeparateClass(0, group, said, n, target=np.full(4, 5.0))
    assert small.cells.effect(small.observed()[0], 0) == pytest.approx(
        large.cells.effect(large.observed()[0], 0)
    )
