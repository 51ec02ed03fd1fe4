"""LabelMatches bound to a grouping, and tables of them: rates at thresholds, how sure a model is, labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import polars as pl

from evenhand.core.errors import ParameterError, check_choice
from evenhand.evidence.label_matches import LabelMatches
from evenhand.evidence.predictions.columns.annotated import Remembering, check_threshold
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import LEVEL, By, Unknown
from evenhand.stats.arrays import Ends, Floats, Integers, Mask, keys_and_codes, ratio
from evenhand.stats.rates.rates import normal_quantile
from evenhand.stats.rates.thresholds import reached, reached_rates

THRESHOLDS = tuple(number / 100 for number in range(101))
"""Where a curve is drawn by default."""

CONFIDENCES = {
    "association": pl.String, "group": pl.String, "mean_confidence": pl.Float64, "labels": pl.Int64,
    "first_confidence": pl.Float64, "n": pl.Int64,
}  # fmt: skip
MATCHED = {"sample": pl.String, "association": pl.String, "confidence": pl.Float64}


def association_curve(
    matches: LabelMatches,
    by: By = (),
    thresholds: Sequence[float] = THRESHOLDS,
    *,
    associations: Sequence[str] | None = None,
    unknown: Unknown = "keep",
) -> pl.DataFrame:
    """``label_association_rate`` at many thresholds, from one pass over the confidences.

    Args:
        matches: The evidence.
        by: Attribute, or list of attributes to cross.
        thresholds: In [0, 1], in any order; equal ones count once.
        associations: Which associations and unions; all by default.
        unknown: ``keep`` or ``exclude`` samples whose annotators could not tell.

    Returns:
        ``association``, ``group`` (``female*darker``; ``all`` without a grouping), ``threshold`` ascending,
        ``rate`` with ``low`` and ``high`` (null where the model has no such label), ``coverage`` and ``n``.

    Raises:
        UnknownName: An attribute or association that does not exist.
        ParameterError: No threshold, or one outside [0, 1].
    """
    bound = BoundMatches.of(matches, by, unknown)
    cuts = np.unique([check_threshold(float(value)) for value in thresholds])
    if not cuts.size:
        raise ParameterError("thresholds=[] is not possible; give one at least, such as [0.1]")
    names = list(associations if associations is not None else matches.names)
    covered = reached(bound.best, bound.group, len(bound.groups), cuts).ravel()
    return pl.concat(_curve(bound, name, cuts, covered) for name in names)


def _curve(bound: BoundMatches, name: str, cuts: Floats, covered: Integers) -> pl.DataFrame:
    """The rows of one association."""
    count, width = len(bound.groups), cuts.size
    rate = low = high = np.full(count * width, np.nan)
    if bound.matches.labels_of(name):
        rates = reached_rates(bound.scores(name), bound.group, count, bound.cluster, cuts)
        ends = (rates.value, *rates.limits(normal_quantile(LEVEL)))
        rate, low, high = (column.T.ravel() for column in ends)
    n = np.repeat(bound.sizes, width)
    columns = {
        "association": [name] * (count * width), "group": _texts(bound, width),
        "threshold": np.tile(cuts, count), "rate": rate, "low": low, "high": high,
        "coverage": ratio(covered, n), "n": n,
    }  # fmt: skip
    return pl.DataFrame(columns, schema_overrides={"association": pl.String}).with_columns(
        pl.col("rate", "low", "high", "coverage").fill_nan(None)
    )


def association_confidences(
    matches: LabelMatches, by: By = (), threshold: float = 0.1, *, unknown: Unknown = "keep"
) -> pl.DataFrame:
    """How sure a model is of the labels of each association, and of its first prediction.

    ``mean_confidence`` is over the ``labels`` predictions of the association that reach the threshold (null
    where there is none), ``first_confidence`` over all ``n`` samples of the group.

    Source: the released code of Goyal et al. 2022 (rounded there to 5 and 4 digits).
    """
    bound = BoundMatches.of(matches, by, unknown)
    counts, groups = _counted(bound, threshold), len(bound.groups)
    first, rows = _mean(bound.best, bound.group, groups), []
    for name in matches.names:
        member = np.append(matches.members(name), False)
        inside = member[matches.predicted[bound.chosen, : matches.top]] & counts
        group = np.broadcast_to(bound.group[:, None], inside.shape)[inside]
        mean = _mean(matches.confidence[bound.chosen, : matches.top][inside], group, groups)
        labels = np.bincount(group, minlength=groups)
        for code in range(groups):
            sizes = int(labels[code]), first[code], int(bound.sizes[code])
            rows.append((name, bound.text(code), mean[code], *sizes))
    frame = pl.DataFrame(rows, schema=CONFIDENCES, orient="row")
    return frame.with_columns(pl.col("mean_confidence", "first_confidence").fill_nan(None))


def label_rates(
    matches: LabelMatches,
    by: By,
    threshold: float = 0.1,
    *,
    disparate: float = 0.002,  # larger is disparate; released code: .002 (Casual Conversations), .005 (MIAP)
    unknown: Unknown = "keep",
) -> pl.DataFrame:
    """How often each label is predicted for each group, and how far from the other groups that is.

    ``samples`` is a share of the group's samples, ``rate`` of its predictions that count (null where it has
    none), ``difference`` the rate minus the mean rate of the other groups; the largest come first in a group.

    Source: the released code of Goyal et al. 2022 (in %).
    """
    bound = BoundMatches.of(matches, by, unknown)
    labels, table = _predictions(bound, _counted(bound, threshold))
    rate, rest = _beside_others(table)
    names = pl.Series(matches.vocabulary, dtype=pl.String)
    frame = pl.DataFrame(
        {
            "group": _texts(bound, labels.size),
            "label": names.gather(np.tile(labels, len(bound.groups))),
            "count": table.ravel().astype(np.int64),
            "samples": (table / np.maximum(bound.sizes, 1)[:, None]).ravel(),
            "rate": rate.ravel(),
            "difference": (rate - rest).ravel(),
        }
    ).with_columns(pl.col("rate", "difference").fill_nan(None))
    return frame.with_columns(disparate=pl.col("difference") > disparate).sort(
        "group", "difference", "label", descending=[False, True, False], nulls_last=True, maintain_order=True
    )


def matched_labels(matches: LabelMatches) -> pl.DataFrame:
    """The surest label of each kind that counts for a sample, by which runs are compared sample by sample.

    Unions are associations; ``confidence`` is null where no label of the kind is among the first ``top``.
    """
    parts = []
    for name in matches.names:
        score = matches.scores_of(name)
        confidence = pl.Series(np.where(np.isfinite(score), score, np.nan)).fill_nan(None)
        parts.append(matches.table.select("sample", association=pl.lit(name), confidence=confidence))
    return pl.concat(parts) if parts else pl.DataFrame(schema=MATCHED)


def _texts(bound: BoundMatches, times: int) -> pl.Series:
    """The groups as tables write them, each so many times."""
    texts = pl.Series(bound.texts, dtype=pl.String)
    return texts.gather(np.repeat(np.arange(len(bound.groups)), times))


def _predictions(bound: BoundMatches, counts: Mask) -> tuple[Integers, Floats]:
    """Labels that any group got, and how often each group got each, shape (groups, labels)."""
    matches, width = bound.matches, len(bound.matches.vocabulary)
    codes = matches.predicted[bound.chosen, : matches.top].astype(np.int64) + bound.group[:, None] * width
    cells, where = keys_and_codes(codes[counts])
    labels, column = keys_and_codes(cells % width)
    table = np.zeros((len(bound.groups), labels.size))
    table[cells // width, column] = np.bincount(where, minlength=cells.size)
    return labels, table


def _beside_others(table: Floats) -> Ends:
    """Rate of each label in each group, and the mean rate of the other groups that have predictions."""
    total = table.sum(axis=1, keepdims=True)
    there = (total > 0).astype(np.float64)
    plain = table / np.where(total > 0, total, 1)
    return ratio(table, total), ratio(plain.sum(axis=0) - plain, there.sum() - there)


def _counted(bound: BoundMatches, threshold: float) -> Mask:
    """Which of the first predictions count, shape (n, at most top)."""
    matches = bound.matches
    sure = matches.confidence[bound.chosen, : matches.top] >= check_threshold(threshold)
    return sure & (matches.predicted[bound.chosen, : matches.top] >= 0)


def _mean(values: Floats, group: Integers, groups: int) -> Floats:
    """Mean by group, NaN for a group without values."""
    return ratio(np.bincount(group, values, groups), np.bincount(group, minlength=groups))


@dataclass(frozen=True, eq=False)
class BoundMatches(named.ChosenRows, Remembering):
    """Samples by group."""

    matches: LabelMatches

    @classmethod
    def of(cls, evidence: Any, by: By, unknown: Unknown = "keep") -> BoundMatches:
        """Bind LabelMatches to a grouping; ``exclude`` leaves samples out whose annotators could not tell."""
        check_choice("unknown", unknown, get_args(Unknown))
        names = named.bound_names(evidence, LabelMatches, "LabelMatches.from_predictions", by)
        key = ("groups", names, unknown)
        if key not in evidence.memo:
            fields = named.bound(evidence.table, names, evidence.dropped, unknown=unknown)
            evidence.memo[key] = cls(**fields, matches=evidence)
        remembered: BoundMatches = evidence.memo[key]
        return remembered

    @cached_property
    def cluster(self) -> Integers | None:
        """Cluster of each sample; None where each sample is its own."""
        if self.matches.cluster is None:
            return None
        samples = self.matches.table.filter(pl.Series(self.chosen, dtype=pl.Boolean))
        return named.shared(named.units_of({"": samples}, self.matches.cluster))

    def scores(self, association: str) -> Floats:
        """Highest confidence of an association, shape (n,)."""
        return self.matches.scores_of(association)[self.chosen]

    @property
    def best(self) -> Floats:
        """Confidence of the first prediction, shape (n,)."""
        return self.matches.best[self.chosen]
