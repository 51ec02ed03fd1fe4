"""Confusion matrices of groups, as a MetricFrame of fairlearn holds them, as counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, ParameterError

_AGAIN = (
    "evaluate it again: MetricFrame(metrics={'confusion': functools.partial(sklearn.metrics."
    "confusion_matrix, labels=labels)}, ...), or give what it was made of: "
    "evenhand.Predictions.from_arrays(y_true, y_pred, groups=sensitive_features)"
)


def cells_of_frame(frame: Any, labels: Sequence[Any]) -> tuple[pl.DataFrame, list[str]]:
    """Cells of truth, the frame's features and prediction with their number ``n``, and the axes.

    A MetricFrame keeps no rows (``fairlearn.metrics.MetricFrame.__init__``, version 0.15.0), only the values
    of its metrics; a confusion matrix of each group, truth x prediction in the order of ``labels``, is all
    that metrics of classification need. Each count must be a whole number: matrices of rates are refused;
    sums of weights that are whole numbers look like counts, so evaluate without ``sample_weight``.
    """
    by_group = getattr(frame, "by_group", None)
    if by_group is None:
        raise InputError(f"{type(frame).__name__} is no MetricFrame of fairlearn; {_AGAIN}")
    metrics: Mapping[str, Any] = by_group if by_group.ndim > 1 else {str(by_group.name): by_group}
    matrices = {
        name: metrics[name]
        for name in metrics
        if all(map(_is_matrix, metrics[name]))
        and any(isinstance(value, np.ndarray) for value in metrics[name])
    }
    if len(matrices) != 1:
        names = ", ".join(map(repr, metrics))
        raise InputError(
            f"{len(matrices)} of the frame's metrics ({names}) are confusion matrices, 1 is needed: a "
            f"MetricFrame keeps no rows; {_AGAIN}"
        )
    features = [str(name) for name in by_group.index.names]
    if clashing := {"truth", "prediction", "n"} & set(features):
        raise InputError(f"a feature of the frame is called {min(clashing)!r}; evaluate with another name")
    rows: list[dict[str, Any]] = []
    for key, matrix in next(iter(matrices.values())).items():
        groups = dict(zip(features, key if isinstance(key, tuple) else (key,), strict=True))
        if not isinstance(matrix, np.ndarray):
            continue
        if len(matrix) != len(labels):
            raise ParameterError(
                f"the matrix of {key!r} has {len(matrix)} rows and there are {len(labels)} labels; give "
                "confusion_matrix(..., labels=labels) the same labels as here"
            )
        rows += [
            {"truth": truth, **groups, "prediction": prediction, "n": int(matrix[row, column])}
            for row, truth in enumerate(labels)
            for column, prediction in enumerate(labels)
            if matrix[row, column]
        ]
    return pl.DataFrame(rows), ["truth", *features, "prediction"]


def _is_matrix(value: Any) -> bool:
    """Whether a value is a square matrix of whole numbers; groups without rows have none (NaN)."""
    if isinstance(value, float) and np.isnan(value):
        return True
    if not isinstance(value, np.ndarray) or value.ndim != 2 or value.shape[0] != value.shape[1]:
        return False
    return bool((value == np.round(value)).all() and (value >= 0).all())
