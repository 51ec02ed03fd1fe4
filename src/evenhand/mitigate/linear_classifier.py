"""A linear classifier, fitted and handed back; whoever asks reduces it to a number or a projection."""

from __future__ import annotations

from typing import Any

from evenhand.core.errors import MissingExtra
from evenhand.stats.arrays import Floats, Integers


def fitted_classifier(vectors: Floats, labels: Integers, *, penalty: float, iterations: int) -> Any:
    """Multinomial logistic regression by scikit-learn.

    It is fitted in one thread: on problems this small, the pools of numpy and scipy spin against each other
    and take ten times as long.

    Args:
        vectors: Shape (N, D).
        labels: Shape (N,).
        penalty: ``C``, the inverse of the strength of the ridge.
        iterations: At most.

    Raises:
        MissingExtra: scikit-learn is not installed.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingExtra("scikit-learn", "debias") from None
    with threadpool_limits(1):
        return LogisticRegression(C=penalty, max_iter=iterations).fit(vectors, labels)
