"""One table of the metrics of predictions, and evidence that any of them can take."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from evenhand import Predictions, metrics
from evenhand.core.findings import Finding
from evenhand.display.text.reasons import REASONS
from evenhand.metrics.catalogue import declared_metrics


@dataclass(frozen=True)
class Case:
    """One metric under one choice of options.

    Attributes:
        name: Which metric.
        options: Its options.
        ranked: Whether it needs ids, ranks and confidences.
        scale_free: Whether the value stays when every row occurs twice.
        null: Whether it has a null band.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    ranked: bool = False
    scale_free: bool = True
    null: bool = True

    def __call__(self, frame: Any, seed: int = 0, **more: Any) -> Finding:
        """The finding on a frame (or on evidence that is bound already)."""
        evidence = self.evidence(frame) if isinstance(frame, pl.DataFrame) else frame
        metric: Callable[..., Finding] = getattr(metrics, self.name)
        return metric(evidence, by="group", seed=seed, **{**self.options, **more})

    def evidence(self, frame: pl.DataFrame) -> Predictions:
        """The predictions that this metric takes."""
        return ranked(frame) if self.ranked else plain(frame)

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{key}={value}" for key, value in self.options.items())])


PAPER = {"mode": "paper"}
CASES = [
    Case("accuracy", null=False),
    Case("mean_group_accuracy"),
    Case("worst_group_accuracy"),
    Case("worst_class_group_accuracy"),
    Case("accuracy_gap"),
    Case("accuracy_gap", {"groups": "yz"}),
    Case("accuracy_range"),
    Case("demographic_parity"),
    Case("demographic_parity", {"aggregate": "mean"}),
    Case("equalized_odds"),
    Case("equalized_odds", {"eo": "avg"}),
    Case("equalized_odds", {"aggregate": "mean"}),
    Case("equalized_odds", {"eo": "full"}, null=False),
    Case("recall_gap"),
    Case("skewsize"),
    Case("skewsize", PAPER, scale_free=False),
    Case("skewsize", {"statistic": "phi"}),
    Case("skewsize", {"statistic": "bergsma"}, scale_free=False, null=False),  # most draws have no spread
    Case("skewsize", {"mev": 2}, scale_free=False),
    Case("skewsize", {"interval": "bootstrap"}),
    Case("skewsize_sufficiency"),
    Case("skewsize_topk", {"k": 2}, ranked=True),
    Case("skewsize_softmax", ranked=True),
    Case("cramers_v"),
    Case("cramers_v", PAPER, scale_free=False),
    Case("cramers_v_pooled"),
    Case("cramers_v_mean"),
    Case("cramers_v_median"),
    Case("cramers_v_max"),
    Case("cramers_v_corrected", scale_free=False),
    Case("phi"),
]
_LISTED = {case.name for case in CASES}
_KINDS = {
    name: str(next(iter(inspect.signature(metric).parameters.values())).annotation)
    for name, metric in declared_metrics().items()
    if metric.__module__.startswith("evenhand.") and name not in _LISTED
}
CASES += [  # a new metric is there by itself; a line above says that it has a null band or keeps its scale
    Case(name, ranked=kind == "Predictions", scale_free=False, null=False)
    for name, kind in _KINDS.items()
    if kind in ("Evidence", "Predictions")
]
COUNTED = [case for case in CASES if not case.ranked]


def frame_of(rows: list[tuple[Any, Any, Any]]) -> pl.DataFrame:
    """(truth, group, prediction) rows with an id and, per row, a second label for ranked metrics."""
    frame = pl.DataFrame(
        rows, schema=dict.fromkeys(("truth", "group", "prediction"), pl.String), orient="row"
    )
    known = sorted({*frame["truth"].drop_nulls(), *frame["prediction"].drop_nulls()})
    following = dict(zip(known, known[1:] + known[:1], strict=True))
    second = [following.get(label) for label in frame["prediction"]]
    return frame.with_columns(
        id=pl.int_range(pl.len()).cast(pl.String), second=pl.Series(second, dtype=pl.String)
    )


def plain(frame: pl.DataFrame) -> Predictions:
    """The first label of every row."""
    return Predictions.from_frame(frame, truth="truth", prediction="prediction")


def ranked(frame: pl.DataFrame) -> Predictions:
    """Both labels of every row, in the row order of the frame."""
    first = frame.with_columns(rank=pl.lit(1), confidence=pl.lit(0.75))
    second = frame.with_columns(prediction=pl.col("second"), rank=pl.lit(2), confidence=pl.lit(0.25))
    return Predictions.from_frame(
        pl.concat([first, second]),
        truth="truth",
        prediction="prediction",
        id="id",
        rank="rank",
        confidence="confidence",
    )


def random_frame(
    seed: int,
    *,
    classes: int = 4,
    n: int = 400,
    minority: float = 0.5,
    accuracy: float = 0.6,
    bias: float = 0.0,
    everywhere: bool = False,
) -> pl.DataFrame:
    """A model whose mistakes depend on the class only.

    ``bias`` sends g0 that often to a label of its own, in class c0 or ``everywhere``.
    """
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(classes, size=n), (rng.random(n) > minority).astype(int)
    wrong = (truth + 1 + rng.integers(classes - 1, size=n)) % classes
    prediction = np.where(rng.random(n) < accuracy, truth, wrong)
    hit = ((truth == 0) | everywhere) & (group == 0) & (rng.random(n) < bias)
    prediction = np.where(hit, classes, prediction)
    return frame_of([(f"c{y}", f"g{z}", f"c{p}") for y, z, p in zip(truth, group, prediction, strict=True)])


def relabel(frame: pl.DataFrame, columns: tuple[str, ...]) -> pl.DataFrame:
    """A bijection of the values of these columns that reverses their sorted order."""
    values = sorted({value for column in columns for value in frame[column].drop_nulls()}, reverse=True)
    new = {value: f"{index:03d} {value}" for index, value in enumerate(values)}
    return frame.with_columns(pl.col(column).replace_strict(new, default=None) for column in columns)


def check_finding(finding: Finding) -> None:
    """Undefined is None with a known reason, JSON has no NaN, and every finding survives its JSON."""
    text = finding.model_dump_json()
    json.loads(text, parse_constant=_refuse)
    assert Finding.model_validate_json(text) == finding
    for piece in (finding, *finding.parts):
        if piece.value is None:
            assert piece.reason in REASONS, piece
            assert piece.p_value is None
            assert piece.interval is None
    for piece in (finding, *finding.parts):
        if piece.interval is not None:
            assert piece.interval.low <= piece.interval.high
        if piece.null is not None:
            assert piece.null.low <= piece.null.high
        for p in (piece.p_value, piece.p_adjusted):
            assert p is None or 0 <= p <= 1
    assert sum(group.n for group in finding.groups) == finding.n
    assert all(dropped.count > 0 for dropped in finding.dropped)


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} in JSON")
