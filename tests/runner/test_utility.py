"""What embeddings are still good for, against counting by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate import utility


def clusters(seed: int, groups: int = 3, each: int = 12) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(groups), each)
    return rng.normal(size=(len(labels), 8)) + 3 * np.eye(8)[labels], labels


def test_a_probe_learns_what_is_there_and_nothing_else() -> None:
    vectors, labels = clusters(0)
    train = np.arange(len(labels)) % 2 == 0
    assert utility.probe_accuracy(vectors[train], labels[train], vectors[~train], labels[~train]) > 0.9
    noise = np.random.default_rng(1).normal(size=(400, 8))
    coin = np.random.default_rng(2).integers(0, 2, 400)
    learnt = utility.probe_accuracy(noise[:200], coin[:200], noise[200:], coin[200:])
    assert abs(learnt - 0.5) < 0.12


def test_a_rotation_and_a_scale_change_no_probe() -> None:
    vectors, labels = clusters(3)
    turn, _ = np.linalg.qr(np.random.default_rng(4).normal(size=(8, 8)))
    train = np.arange(len(labels)) % 2 == 0
    one, other = (
        utility.probe_accuracy(given[train], labels[train], given[~train], labels[~train])
        for given in (vectors, 7 * vectors @ turn)
    )
    assert one == other


def test_a_probe_without_spread_or_labels_is_chance_or_undefined() -> None:
    same, labels = np.ones((6, 3)), np.array([0, 0, 0, 0, 1, 1])
    assert utility.probe_accuracy(same, labels, same, labels) == pytest.approx(4 / 6)
    assert np.isnan(utility.probe_accuracy(same, np.zeros(6, dtype=int), same, labels))
    assert np.isnan(utility.probe_accuracy(same, labels, same[:0], labels[:0]))
    assert utility.chance_level(labels, np.array([0, 1])) == 0.5
    rounding = same + 1e-15 * np.arange(6)[:, None] * np.array(
        [1.0, -1.0, 0.5]
    )  # tells the labels, if looked at
    assert utility.probe_accuracy(rounding, labels, rounding, labels) == pytest.approx(4 / 6)


def test_nearest_prototype_and_recall_by_hand() -> None:
    items, labels = clusters(5)
    texts, text_labels = clusters(6, each=4)
    cosines = normalised(items) @ normalised(texts).T
    for k in (1, 5):
        hits = [
            labels[row] in text_labels[np.argsort(-cosines[row], kind="stable")[:k]]
            for row in range(len(items))
        ]
        assert utility.recall_at(items, labels, texts, text_labels, k) == np.mean(hits)
    centres = [normalised(texts)[text_labels == group].mean(axis=0) for group in range(3)]
    nearest = (normalised(items) @ normalised(np.stack(centres)).T).argmax(axis=1)
    found = utility.nearest_prototype_accuracy(items, labels, texts, text_labels, 3)
    assert found == np.mean(nearest == labels)
    assert np.isnan(utility.nearest_prototype_accuracy(items, labels, texts[:4], text_labels[:4], 3))
    assert np.isnan(utility.recall_at(items, labels, texts[:5], text_labels[:5], 5))


def test_recall_by_chance_is_that_of_shuffled_texts() -> None:
    rng = np.random.default_rng(7)
    labels, text_labels = np.repeat([0, 1], [30, 10]), np.repeat([0, 1], [3, 9])
    drawn = [np.mean([label in rng.permutation(text_labels)[:2] for label in labels]) for _ in range(3_000)]
    assert utility.recall_by_chance(labels, text_labels, 2) == pytest.approx(np.mean(drawn), abs=0.01)


def test_rank_stability_is_the_mean_spearman() -> None:
    rng = np.random.default_rng(8)
    before = rng.normal(size=(9, 7))
    after = before + rng.normal(size=(9, 7))
    by_hand = np.mean([spearmanr(*pair).statistic for pair in zip(before, after, strict=True)])
    assert utility.rank_stability(before, after) == pytest.approx(by_hand, abs=1e-12)
    assert utility.rank_stability(before, 2 * before + 1) == pytest.approx(1)
    assert utility.rank_stability(before, -before) == pytest.approx(-1)
    assert np.isnan(utility.rank_stability(before, np.zeros_like(before)))
