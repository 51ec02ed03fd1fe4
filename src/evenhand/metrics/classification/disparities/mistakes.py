"""What two groups of a class are taken for, side by side, where a mistake differs most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from evenhand.metrics.classification.class_effects import class_effects
from evenhand.metrics.classification.disparities.comparison import GroupMistakes, Options
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.estimates import By
from evenhand.metrics.prepared import BoundCounts, Evidence
from evenhand.stats.arrays import Integers
from evenhand.stats.contingency.resampling import ClassCells
from evenhand.stats.disparities.candidates import MISS, Candidates
from evenhand.stats.disparities.lines import Lines

SCHEMA: dict[str, Any] = {
    "by": pl.String, "truth": pl.String, "order": pl.Int32, "group": pl.String, "prediction": pl.String,
    **dict.fromkeys(("n", "share", "class_accuracy", "group_accuracy", "effect_size"), pl.Float64),
}  # fmt: skip


def prediction_differences(
    evidence: Evidence, *, by: By, classes: int = 12, top: int = 3, seed: int = 0
) -> pl.DataFrame:
    """The classes in which a group's mistakes differ most from the others', with two groups' top predictions.

    Classes are in the order of their lines as ``disparities`` lists them; then, where chance can explain the
    difference, by the largest score of a mistake: the difference of its two rates in the standard error of
    the pooled rate. The two groups of a class are that of its line, and of the others the one that is
    farthest from it in the share of that mistake.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        classes: How many classes at most.
        top: How many predictions of each of the two groups; a prediction among one group's top is shown for
            both.
        seed: Of the exchange of clusters.

    Returns:
        One row per class, group and prediction: ``by, truth, order`` (0 = first), ``group, prediction, n,
        share`` (of the group's rows of the class), ``class_accuracy, group_accuracy, effect_size`` (V of the
        class; null where it has none). Empty where no mistake differs between groups.

    Source: Albuquerque et al. 2024, Figures 1 and 3, with the order of ``disparities``.
    """
    prepared = BoundCounts.of(evidence, by, seed)
    effects = class_effects(prepared, EffectOptions(inference="none"))
    effect_of = dict(zip(effects.labels.tolist(), effects.values.tolist(), strict=True))
    cells_of = {cells.label: cells for cells in prepared.class_cells}
    lines = _first_of_classes(prepared, classes)
    rows = [
        row
        for order in range(len(lines))
        for row in _rows(prepared, cells_of[int(lines.truth[order])], lines.take(np.array([order])), order,
                         top, effect_of)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SCHEMA, orient="row").with_columns(pl.col("effect_size").fill_nan(None))


def _first_of_classes(prepared: BoundCounts, most: int) -> Lines:
    """The first line of each class: listed ones, then those of the largest scores, tested or not."""
    comparison = GroupMistakes.of(prepared, Options())
    listed = comparison.lines.take(comparison.listed)
    first = listed.take(_first(listed.truth)[:most])
    if len(first) == most or comparison.mistakes.groups < 2:
        return first
    candidates = Candidates.of(comparison.mistakes, min_rows=1)
    missing = np.full(candidates.pair.size, np.nan)
    others = Lines.of(candidates, missing, missing)
    index = np.flatnonzero((others.score != 0) & ~np.isin(others.truth, first.truth))
    others = others.take(index[np.argsort(-np.abs(others.score[index]), kind="stable")])
    return first.followed_by(others.take(_first(others.truth)[: most - len(first)]))


def _first(codes: Integers) -> Integers:
    """Where each code stands first, in the order of the codes."""
    return np.sort(np.unique(codes, return_index=True)[1])


def _rows(
    prepared: BoundCounts, cells: ClassCells, line: Lines, order: int, top: int, effect_of: dict[int, float]
) -> Iterator[tuple[object, ...]]:
    table, groups, labels = cells.dense()
    totals = table.sum(axis=1)
    is_mistake = labels != cells.label if line.label[0] == MISS else labels == line.label[0]
    rate = table[:, is_mistake].sum(axis=1) / totals
    lead = int(np.flatnonzero(groups == line.group[0])[0])
    pair = sorted((lead, int(np.argmax(np.abs(rate - rate[lead])))))
    columns = sorted({int(at) for row in pair for at in np.argsort(-table[row], kind="stable")[:top]})
    columns.sort(key=lambda column: -table[pair, column].sum())
    right = labels == cells.label
    accuracy = float(table[:, right].sum() / totals.sum())
    for row in pair:
        for column in columns:
            yield (
                "+".join(prepared.by),
                prepared.label_key(cells.label),
                order,
                prepared.group_text(int(groups[row])),
                prepared.label_key(int(labels[column])),
                table[row, column],
                table[row, column] / totals[row],
                accuracy,
                float(table[row, right].sum() / totals[row]),
                effect_of[cells.label],
            )
