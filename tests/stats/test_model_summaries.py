"""Summaries of two models and their resamples: those of the metrics, margins kept, zero from equals."""

import numpy as np
import pytest

from evenhand.stats.contingency.model_summaries import (
    SUMMARIES,
    JointClass,
    SeparateClass,
    observed,
    replicated,
)
from evenhand.stats.contingency.tables import TableBatch, association
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


def test_a_model_against_itself_differs_by_nothing():
    classes = []
    for label in range(4):
        joint = random_joint(label, 2, 60)
        classes.append(JointClass(label, joint.group, joint.predictions[[0, 0]], joint.n))
    sizes = sizes_of(classes, 2)
    kept = np.empty((2, 4, 99))
    drawn = replicated(classes, sizes, 99, streams, kept)
    for name in SUMMARIES:
        difference = drawn[name][0] - drawn[name][1]
        assert (difference[~np.isnan(difference)] == 0).all()
    assert np.array_equal(kept[0], kept[1], equal_nan=True)
    assert kept[0].mean(axis=0) == pytest.approx(drawn["cramers_v_mean"][0], nan_ok=True)


def test_memory_is_bounded_by_chunks(monkeypatch):
    """Fewer replicates at a time give other streams, but the same number and the same kind of replicates."""
    from evenhand.stats.contingency import model_summaries

    classes = [random_joint(label, 2, 60) for label in range(3)]
    sizes = sizes_of(classes, 2)
    whole = replicated(classes, sizes, 300, streams)["cramers_v_mean"]
    monkeypatch.setattr(model_summaries, "_CHUNK", 1000)
    parts = replicated(classes, sizes, 300, streams)["cramers_v_mean"]
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
    for table in weighted.resampled(np.random.default_rng(1), 50):
        for group in range(2):
            inside = one.group == group
            assert table[inside].sum(axis=0) == pytest.approx(weighted.target[inside][0])


def test_a_label_of_little_weight_still_counts_whole():
    """Columns that weights bring below one row are divided by what they are."""
    n = np.array([[3.0, 1.0, 2.0, 4.0], [3.0, 1.0, 2.0, 4.0]])
    group, said = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    small = SeparateClass(0, group, said, n, target=np.full(4, 0.05))
    large = SeparateClass(0, group, said, n, target=np.full(4, 5.0))
    assert small.cells.effect(small.observed()[0], 0) == pytest.approx(
        large.cells.effect(large.observed()[0], 0)
    )
