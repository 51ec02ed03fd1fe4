"""Numbers that papers print on the three indicators, to be drawn beside one's own.

Goyal et al. 2022 print figures without numbers, and their counts; the DINOv2 paper (Oquab et al. 2023, arXiv
2304.07193, Tables 12 and 13) prints both indicators for two models. Percentages that its text gives on gaps
do not follow from its tables and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from evenhand.benchmarks.labelling.taxonomies import CRIME, HARMFUL, NON_HUMAN
from evenhand.benchmarks.papers.printed import printed

SEER, DINOV2 = "SEERv2 RG-10B", "DINOv2 ViT-g/14"

DINOV2_PAPER = "Oquab et al., DINOv2: Learning Robust Visual Features without Supervision, 2023"
"""Where the numbers of both models are printed."""

_INCOMES = ("low", "medium", "high")
_REGIONS = ("Africa", "Asia", "The Americas", "Europe")
_HIT_RATES = printed(__file__, "dinov2_table12")

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
_ASSOCIATIONS: Mapping[tuple[str, str], tuple[float, ...]] = printed(__file__, "dinov2_table13", keys=2)

HOUSEHOLDS: Mapping[str, tuple[int, int, int, int, int]] = printed(__file__, "table5")
"""Income bucket to households in Africa, Asia, Europe, the Americas and everywhere: Goyal et al., Table 5."""

HOUSEHOLD_REGIONS: tuple[str, ...] = ("Africa", "Asia", "Europe", "The Americas", "all")
"""The columns of ``HOUSEHOLDS``."""


def association_rates(axes: frozenset[str]) -> Iterator[tuple[str, str, str, float]]:
    """Model, kind of label, group and rate of Table 13 of the DINOv2 paper, on Casual Conversations.

    Harmful is the sum of non-human and crime: wherever one of them is printed, the other is 0. Rates are
    printed by gender and skin tone, and by age; there are none for other ``axes``.
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
