"""Bootstrap replicates against fairlearn's MetricFrame."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from fairlearn.metrics import MetricFrame, selection_rate
from measuring import best, seconds, show
from reference import predictions

from evenhand.evidence.grouping import Grouped
from evenhand.evidence.predictions import Predictions
from evenhand.metrics.prepared import Prepared
from evenhand.stats.resampling import cellwise_bootstrap

CLASSES, GROUPS, ROWS, REPLICATES, THEIRS = 10, 14, 100_000, 1000, 3


def hit_rate(y_true: Any, y_pred: Any) -> float:
    return float(np.mean(np.asarray(y_true) == np.asarray(y_pred)))


def true_positive_rate(y_true: Any, y_pred: Any, *, label: int) -> float:
    return float(np.mean(np.asarray(y_pred)[np.asarray(y_true) == label] == label))


def fairlearn_frame(table: Any, replicates: int) -> Any:
    metrics = {"accuracy": hit_rate}
    for label in range(CLASSES):
        metrics[f"rate {label}"] = partial(selection_rate, pos_label=label)
        metrics[f"tpr {label}"] = partial(true_positive_rate, label=label)
    return MetricFrame(
        metrics=metrics,
        y_true=table["label"],
        y_pred=table["pred"],
        sensitive_features=table["group"],
        n_boot=replicates,
        ci_quantiles=[0.025, 0.975],
        random_state=0,
    )


def evenhand_replicates(table: Any) -> tuple[npt.NDArray[np.float64], ...]:
    """Counting included: accuracy (R, Z), prediction rates and true positive rates (R, Z, L)."""
    counts = Predictions.from_frame(table, truth="label", prediction="pred").count(["group"])
    prepared = Prepared(Grouped.bind(counts, ["group"]))
    chunks = list(
        cellwise_bootstrap(prepared.classes, prepared.confusion.support, REPLICATES, prepared.stream)
    )
    return (
        np.concatenate([chunk.accuracy_by_group() for chunk in chunks]),
        np.concatenate([chunk.prediction_rate() for chunk in chunks]),
        np.concatenate([chunk.accuracy_by_cell() for chunk in chunks]),
    )


def test_replicates_1000_times_faster(benchmark: Any) -> None:
    table = predictions(ROWS, CLASSES, GROUPS)
    evenhand_replicates(table)
    accuracy, rates, hits = benchmark.pedantic(evenhand_replicates, (table,), rounds=3)
    without, plain = seconds(lambda: fairlearn_frame(table, 1))
    with_more, _ = seconds(lambda: fairlearn_frame(table, 1 + THEIRS))
    theirs = (with_more - without) / THEIRS  # what one more replicate costs, set-up aside
    ours = best(benchmark) / REPLICATES
    values = plain.by_group.sort_index()
    np.testing.assert_allclose(accuracy.mean(axis=0), values["accuracy"], atol=0.002)
    np.testing.assert_allclose(rates.mean(axis=0)[:, 3], values["rate 3"], atol=0.002)
    np.testing.assert_allclose(hits.mean(axis=0)[:, 3], values["tpr 3"], atol=0.005)
    show(
        "one replicate of accuracy, rates and TPR, 14 groups, 100k rows", ours, theirs, "fairlearn", "1,000x"
    )
    assert theirs / ours >= 1000
