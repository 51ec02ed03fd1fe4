"""Which classes are predicted most differently in two groups, and as what (the paper's figures 1 and 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from evenhand.metrics.classification.class_effects import class_effects
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.prepared import BoundCounts, By, Evidence
from evenhand.stats.arrays import Floats
from evenhand.stats.contingency.resampling import ClassCells

_CANDIDATES = 50  # classes looked at pair by pair, those with the largest accuracy x V
_MOST_GROUPS = 200  # groups compared in pairs, those with the most mistakes
_FEWEST_MISTAKES = 5  # a group with fewer says little about how mistakes fall
_ALIKE = 0.1 + 1e-9  # accuracies that differ by no more are alike

SCHEMA: dict[str, Any] = {
    "by": pl.String, "truth": pl.String, "order": pl.Int32, "group": pl.String, "prediction": pl.String,
    **dict.fromkeys(("n", "share", "class_accuracy", "group_accuracy", "effect_size"), pl.Float64),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Contrast:
    """One class with the pair of its groups that is most worth showing; those of rank 0 come first."""

    rank: int
    score: float
    cells: ClassCells
    pair: tuple[int, int]
    accuracy: float
    effect: float


def prediction_differences(
    evidence: Evidence, *, by: By, classes: int = 12, top: int = 3, seed: int = 0
) -> pl.DataFrame:
    """The classes whose mistakes differ most between two groups, with both groups' top predictions.

    A class ranks by ``accuracy x V x max over pairs of groups (1 - |accuracy difference|) x distance``,
    where distance is half the summed absolute difference between the two groups' distributions of wrong
    predictions: high accuracy, high V, two groups of like accuracy and unlike mistakes. Within a class, pairs
    whose accuracies differ by 0.1 at most come before others. Classes with a pair in which both groups make
    at least five mistakes come before others; last come classes in which only one group makes mistakes, or
    all make the same, such as with two labels: there all predictions are compared.

    Args:
        evidence: Predictions or Counts.
        by: Attribute, or list of attributes to cross.
        classes: How many classes at most.
        top: How many predictions of each of the two groups; a prediction among one group's top is shown for
            both.
        seed: Not used; every metric takes it.

    Returns:
        One row per class, group and prediction: ``by, truth, order`` (0 = most worth reading), ``group,
        prediction, n, share`` (of the group's rows of the class), ``class_accuracy, group_accuracy,
        effect_size``. Empty when no class has an effect size.

    Source: Albuquerque et al. 2024, Figures 1 and 3 (the ranking is ours).
    """
    prepared = BoundCounts.of(evidence, by, seed)
    effects = class_effects(prepared, EffectOptions(inference="none"))
    value_of = dict(zip(effects.labels.tolist(), effects.values.tolist(), strict=True))
    ranked = sorted(
        prepared.classes, key=lambda cells: -np.nan_to_num(_accuracy(cells) * value_of[cells.label])
    )
    some = [(cells, value_of[cells.label]) for cells in ranked[:_CANDIDATES]]
    contrasts = [_contrast(cells, effect) for cells, effect in some if not np.isnan(effect)]
    best = sorted(contrasts, key=lambda contrast: (contrast.rank, -contrast.score))[:classes]
    rows = [row for order, contrast in enumerate(best) for row in _rows(prepared, contrast, order, top)]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _accuracy(cells: ClassCells) -> float:
    return float(cells.n[cells.prediction == cells.label].sum() / cells.n.sum())


def _contrast(cells: ClassCells, effect: float) -> _Contrast:
    """The pair of groups of like accuracy with the most unlike mistakes, or of unlike where none is alike.

    Where fewer than two groups make mistakes, or all make the same, all predictions are compared instead.
    """
    table, groups, labels = cells.dense()
    wrong = table[:, labels != cells.label]
    mistakes = wrong.sum(axis=1)
    trusted = (mistakes >= _FEWEST_MISTAKES).sum() >= 2
    least = _FEWEST_MISTAKES if trusted else 1
    accuracy = 1 - mistakes / table.sum(axis=1)
    pair = _pair(wrong, mistakes, accuracy, least)
    rank = 2 if pair is None else 0 if trusted else 1
    if pair is None:  # a table with an effect size has two groups that differ, or are alike to the last row
        pair = _pair(table, mistakes, np.zeros(len(table)), 1) or (0.0, 0, 1)
    score, first, second = pair
    total = _accuracy(cells)
    return _Contrast(
        rank, score * total * effect, cells, (int(groups[first]), int(groups[second])), total, effect
    )


def _pair(compared: Floats, mistakes: Floats, accuracy: Floats, least: int) -> tuple[float, int, int] | None:
    """How much the two groups differ that differ most, and which they are; None where all are the same."""
    keep = np.flatnonzero(compared.sum(axis=1) >= least)
    keep = np.sort(keep[np.argsort(-mistakes[keep], kind="stable")[:_MOST_GROUPS]])
    if keep.size < 2:
        return None
    shares = compared[keep] / compared[keep].sum(axis=1, keepdims=True)
    apart = np.abs(accuracy[keep, None] - accuracy[keep])
    distance = np.stack([np.abs(shares - row).sum(axis=1) / 2 for row in shares])
    if not distance.any():
        return None
    score = (1 - apart) * distance
    alike = (apart <= _ALIKE) & (distance > 0)
    first, second = sorted(divmod(int(np.argmax(score + 1.0 * alike)), keep.size))
    return float(score[first, second]), int(keep[first]), int(keep[second])


def _rows(prepared: BoundCounts, contrast: _Contrast, order: int, top: int) -> list[tuple[object, ...]]:
    table, groups, labels = contrast.cells.dense()
    picked = [int(np.flatnonzero(groups == group)[0]) for group in contrast.pair]
    columns = sorted(
        {int(column) for row in picked for column in np.argsort(-table[row], kind="stable")[:top]}
    )
    columns.sort(key=lambda column: -table[picked, column].sum())
    hit = labels == contrast.cells.label
    rows: list[tuple[object, ...]] = []
    for row, group in zip(picked, contrast.pair, strict=True):
        total = table[row].sum()
        key = prepared.grouped.group_key(group)
        rows.extend(
            (
                "+".join(prepared.grouped.by),
                prepared.grouped.label_key(contrast.cells.label),
                order,
                key if isinstance(key, str) else " · ".join(key),
                prepared.grouped.label_key(int(labels[column])),
                table[row, column],
                table[row, column] / total,
                contrast.accuracy,
                float(table[row, hit].sum() / total),
                contrast.effect,
            )
            for column in columns
        )
    return rows
