"""Numbers that papers print on the three indicators, to be drawn beside one's own.

Goyal et al. 2022 print figures without numbers, and their counts; the DINOv2 paper (Oquab et al. 2023, arXiv
2304.07193, Tables 12 and 13) prints both indicators for two models. Percentages that its text gives on gaps
do not follow from its tables and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.benchmarks.labelling.taxonomies import CRIME, HARMFUL, HUMAN, NON_HUMAN, POSSIBLY_HUMAN

SEER, DINOV2 = "SEERv2 RG-10B", "DINOv2 ViT-g/14"

DINOV2_PAPER = "Oquab et al., DINOv2: Learning Robust Visual Features without Supervision, 2023"
"""Where the numbers of both models are printed."""

_INCOMES = ("low", "medium", "high")
_REGIONS = ("Africa", "Asia", "The Americas", "Europe")
_HIT_RATES = {
    SEER: (59.7, 78.5, 86.6, 65.9, 76.3, 81.1, 85.6),
    DINOV2: (67.4, 83.3, 90.5, 74.0, 81.6, 86.2, 89.7),
}

HOUSEHOLD_RATES: Mapping[tuple[str, str], Mapping[str, float]] = {
    (model, by): dict(zip(groups, (value / 100 for value in percentages), strict=True))
    for model, values in _HIT_RATES.items()
    for by, groups, percentages in (("income_bucket", _INCOMES, values[:3]), ("region", _REGIONS, values[3:]))
}
"""Model and grouping to group to hit rate: DINOv2 paper, Table 12, Dollar Street, top 5."""

TOP = 5
"""How many labels count in Table 12."""

LABEL_THRESHOLD = 0.1
"""The lowest confidence that counts in Table 13."""

_PLACES: Mapping[frozenset[str], int] = {frozenset({"gender", "skin_tone"}): 0, frozenset({"age"}): 4}
_CROSSED = ("female, darker", "female, lighter", "male, darker", "male, lighter")
_AGES = ("18-30", "30-45", "45-70", "70+")
_ASSOCIATIONS: Mapping[tuple[str, str], tuple[float, ...]] = {
    (SEER, HUMAN): (94.9, 95.8, 86.6, 79.0, 90.5, 88.3, 91.9, 82.3),
    (SEER, POSSIBLY_HUMAN): (13.6, 6.7, 65.0, 60.2, 32.8, 37.2, 29.4, 6.5),
    (SEER, NON_HUMAN): (0,) * 8,
    (SEER, CRIME): (0,) * 8,
    (DINOV2, HUMAN): (97.3, 97.7, 86.1, 84.0, 91.2, 90.2, 93.2, 88.7),
    (DINOV2, POSSIBLY_HUMAN): (15.8, 17.2, 52.2, 48.1, 35.3, 37.3, 23.0, 9.7),
    (DINOV2, NON_HUMAN): (0,) * 8,
    (DINOV2, CRIME): (0, 0, 0.2, 0, 0, 0.1, 0, 0),
}

HOUSEHOLDS: Mapping[str, tuple[int, int, int, int, int]] = {
    "low": (37, 20, 0, 5, 62),
    "medium": (23, 111, 17, 26, 177),
    "high": (3, 17, 17, 13, 50),
    "all": (63, 148, 34, 44, 289),
}
"""Income bucket to households in Africa, Asia, Europe, the Americas and everywhere: Goyal et al., Table 5."""

HOUSEHOLD_REGIONS: tuple[str, ...] = ("Africa", "Asia", "Europe", "The Americas", "all")
"""The columns of ``HOUSEHOLDS``."""


def association_rates(axes: frozenset[str]) -> Iterator[tuple[str, str, str, float]]:
    """Model, kind of label, group and rate of Table 13 of the DINOv2 paper, on Casual Conversations.

    Harmful is the sum of non-human and crime: wherever one of them is printed, the other is 0.

    Args:
        axes: What is grouped by: gender and skin tone, or age; nothing is printed for others.
    """
    if axes not in _PLACES:
        return
    start = _PLACES[axes]
    groups = dict(enumerate((*_CROSSED, *_AGES)[start : start + 4], start))
    for (model, kind), values in _ASSOCIATIONS.items():
        for column, group in groups.items():
            yield model, kind, group, values[column] / 100
    for model in (SEER, DINOV2):
        for column, group in groups.items():
            union = sum(_ASSOCIATIONS[model, kind][column] for kind in (NON_HUMAN, CRIME))
            yield model, HARMFUL, group, union / 100
