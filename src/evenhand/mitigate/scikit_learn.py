"""What scikit-learn estimates: mutual information by nearest neighbours, and a linear classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from evenhand.core.errors import MissingExtra
from evenhand.stats.arrays import Floats, Integers


def neighbour_information(
    vectors: npt.ArrayLike, labels: npt.ArrayLike, *, neighbours: int = 3, seed: int = 0
) -> Floats:
    """Mutual information (nats, 0 or more) of each column with a label after Ross (2014), by scikit-learn.

    About fifty times slower than counting in bins, and of the same order of dimensions (rank correlation 0.97
    on 3,500 vectors); half of the dimensions that tell nothing get exactly 0. ``seed`` is that of a little
    noise, so that equal values are no neighbours at distance 0.
    """
    try:
        from sklearn.feature_selection import mutual_info_classif
    except ImportError:
        raise MissingExtra("scikit-learn", "debias") from None
    information = mutual_info_classif(
        np.asarray(vectors, dtype=np.float64),
        np.asarray(labels),
        discrete_features=False,
        n_neighbors=neighbours,
        random_state=seed,
    )
    return np.asarray(information, dtype=np.float64)


def fitted_classifier(vectors: Floats, labels: Integers, *, penalty: float, iterations: int) -> Any:
    """Multinomial logistic regression by scikit-learn; ``penalty`` is C, the inverse of the ridge's strength.

    It is fitted in one thread: on problems this small, the pools of numpy and scipy spin against each other
    and take ten times as long.
    """
    try:
        from sklearn.linear_model import LogisticRegression
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise MissingExtra("scikit-learn", "debias") from None
    with threadpool_limits(1):
        return LogisticRegression(C=penalty, max_iter=iterations).fit(vectors, labels)
