"""What embeddings are still good for: probes, nearest texts, retrieval, and the order of scores."""

from __future__ import annotations

import numpy as np

from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.mitigate.scikit_learn import fitted_classifier
from evenhand.stats.arrays import Floats, Integers

_ITERATIONS = 300
_NOTHING = 1e-12  # a spread of unit vectors below this is rounding


def probe_accuracy(train: Floats, train_labels: Integers, test: Floats, test_labels: Integers) -> float:
    """Share of items that a linear classifier (logistic regression) names rightly.

    Vectors are brought to length 1, centred and scaled by one number, all from the training items, so that a
    rotation of the space changes nothing. The classifier is dropped at once. NaN without test items or with
    fewer than two labels to learn.
    """
    if not len(test) or len(np.unique(train_labels)) < 2:
        return float("nan")
    unit_train, unit_test = normalised(train), normalised(test)
    centre = unit_train.mean(axis=0)
    spread = float((unit_train - centre).std())
    if spread < _NOTHING:
        return chance_level(train_labels, test_labels)
    probe = fitted_classifier(
        (unit_train - centre) / spread, train_labels, penalty=1.0, iterations=_ITERATIONS
    )
    return float(np.mean(probe.predict((unit_test - centre) / spread) == test_labels))


def chance_level(train_labels: Integers, test_labels: Integers) -> float:
    """What naming the most frequent training label always would reach; NaN without items."""
    if not len(train_labels) or not len(test_labels):
        return float("nan")
    return float(np.mean(test_labels == np.bincount(train_labels).argmax()))


def nearest_prototype_accuracy(
    items: Floats, labels: Integers, texts: Floats, text_labels: Integers, groups: int
) -> float:
    """Zero-shot accuracy: share of items nearest (cosine) to the mean text of their own group.

    Labels are groups. NaN without items, or where a group has no text.
    """
    if not len(items) or len(np.unique(text_labels)) < groups:
        return float("nan")
    unit = normalised(texts)
    centres = np.stack([unit[text_labels == group].mean(axis=0) for group in range(groups)])
    return float(np.mean((normalised(items) @ normalised(centres).T).argmax(axis=1) == labels))


def recall_at(items: Floats, labels: Integers, texts: Floats, text_labels: Integers, k: int) -> float:
    """Share of items with a phrase of their own group among the k nearest phrases.

    NaN without items, or with no more than k phrases.
    """
    if not len(items) or len(texts) <= k:
        return float("nan")
    scores = normalised(items) @ normalised(texts).T
    nearest = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    return float(np.mean((text_labels[nearest] == labels[:, None]).any(axis=1)))


def recall_by_chance(labels: Integers, text_labels: Integers, k: int) -> float:
    """What ``recall_at`` is on average when the phrases are in random order; NaN where it is."""
    from scipy.special import gammaln

    if not len(labels) or len(text_labels) <= k:
        return float("nan")
    total = len(text_labels)
    others = total - np.bincount(text_labels, minlength=int(labels.max()) + 1)[labels]
    with np.errstate(all="ignore"):
        log_miss = (
            gammaln(others + 1)
            - gammaln(np.maximum(others - k, 0) + 1)
            - gammaln(total + 1)
            + gammaln(total - k + 1)
        )
    return float(np.mean(np.where(others >= k, 1 - np.exp(log_miss), 1.0)))


def rank_stability(before: Floats, after: Floats) -> float:
    """Mean over items of Spearman's correlation between their scores (items, texts) before and after.

    NaN without items, with fewer than three texts, or where every item's scores are all tied before or after.
    """
    from scipy.stats import rankdata

    if not before.size or before.shape[1] < 3:
        return float("nan")
    first, second = (rankdata(scores, axis=1) for scores in (before, after))
    first -= first.mean(axis=1, keepdims=True)
    second -= second.mean(axis=1, keepdims=True)
    scale = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    usable = scale > 0
    if not usable.any():
        return float("nan")
    return float(np.mean((first * second).sum(axis=1)[usable] / scale[usable]))
