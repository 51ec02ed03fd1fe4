"""Recall of one group minus that of another, class by class: blind and planted classifiers."""

from __future__ import annotations

import numpy as np
from scipy import stats
from simulations.battery.accuracy import Model, even, flat
from simulations.battery.design import Case, Design

from evenhand import metrics
from evenhand.core.findings import Finding
from evenhand.evidence.predictions.counts import Counts


def _recall_gap(counts: Counts, seed: int) -> Finding:
    return metrics.recall_gap(counts, by="group", groups=["0", "1"], seed=seed)


def _stratified(counts: Counts) -> float:
    """Mantel and Haenszel's test of group x right within the classes."""
    group, truth = counts.codes_of("group"), counts.codes_of("truth")
    hit = np.where(truth == counts.codes_of("prediction"), counts.n, 0)
    apart, variance = 0.0, 0.0
    for label in np.unique(truth):
        rows = [(truth == label) & (group == code) for code in (0, 1)]
        size = np.array([float(counts.n[mask].sum()) for mask in rows])
        right, total = float(hit[rows[0]].sum()), size.sum()
        hits = right + float(hit[rows[1]].sum())
        if total < 2:
            continue
        apart += right - size[0] * hits / total
        variance += size.prod() * hits * (total - hits) / (total**2 * (total - 1))
    return float(stats.chi2.sf(apart**2 / variance, 1)) if variance else 1.0


def _design(name: str, model: Model) -> Design:
    gap = float((model.right[0] - model.right[1]).mean())
    fair = not np.any(model.right[0] - model.right[1])
    standard = None if fair else _stratified
    case = Case("recall_gap", _recall_gap, gap, fair, standard, "Mantel-Haenszel" if standard else "")
    return Design(f"recall: {name}", "accuracy", model.draw, [case])


_HARD = np.tile(np.linspace(0.95, 0.5, 8), (2, 1))
_MIXES = np.stack([np.linspace(4, 1, 8), np.linspace(1, 4, 8)]) / 20
_LOWER = np.stack([np.full(5, 0.85), np.full(5, 0.71)])

DESIGNS: tuple[Design, ...] = (
    _design("8 classes, unequal groups", Model((400, 100), even(2, 8), _HARD)),
    _design("8 classes, other mixes", Model((300, 200), _MIXES, _HARD)),
    _design("40 sparse classes", Model((200, 60), even(2, 40), flat(2, 40, 0.8))),
    _design("rates near 1", Model((300, 120), even(2, 4), flat(2, 4, 0.985))),
    _design("a group of 12 rows", Model((300, 12), even(2, 3), flat(2, 3, 0.8))),
    _design("20 persons a group x 10", Model((20, 20), even(2, 3), flat(2, 3, 0.8), photos=((10, 10),) * 2)),
    _design("persons of 2 to 40", Model((20, 14), even(2, 3), flat(2, 3, 0.8), photos=((2, 40), (2, 6)))),
    _design("persons in several groups",
            Model((20, 20), even(2, 3), flat(2, 3, 0.8), photos=((4, 12),) * 2, mixed=True)),
    _design("planted", Model((160, 160), even(2, 5), _LOWER)),
    _design("planted in one class", Model((300, 300), even(2, 2), np.array([[0.8, 0.9], [0.8, 0.77]]))),
)  # fmt: skip
