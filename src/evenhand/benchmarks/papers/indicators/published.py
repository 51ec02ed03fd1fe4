"""Numbers that papers print on the three indicators, to be drawn beside one's own.

Goyal et al. 2022 print figures without numbers, and their counts; the DINOv2 paper (Oquab et al. 2023, arXiv
2304.07193, Tables 12 and 13) prints both indicators for two models. Percentages that its text gives on gaps
do not follow from its tables and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import add

from evenhand.benchmarks.indicators.households.dollar_street import REGIONS
from evenhand.benchmarks.labelling.taxonomies import CRIME, HARMFUL, NON_HUMAN
from evenhand.benchmarks.papers.printed import printed
from evenhand.evidence.household_hits import BUCKETS

SEER, DINOV2 = "SEERv2 RG-10B", "DINOv2 ViT-g/14"

DINOV2_PAPER = "Oquab et al., DINOv2: Learning Robust Visual Features without Supervision, 2023"
"""Where the numbers of both models are printed."""

HOUSEHOLD_RATES = {
    (model, by): {group: value / 100 for group, value in zip(groups, values, strict=True)}
    for model, percentages in printed(__file__, "dinov2_table12").items()
    for by, groups, values in (
        ("income_bucket", BUCKETS, percentages[:3]), ("region", REGIONS, percentages[3:])
    )
}  # fmt: skip
"""Model and grouping to group to hit rate: DINOv2 paper, Table 12, Dollar Street, top 5."""

TOP = 5
"""How many labels count in Table 12."""

LABEL_THRESHOLD = 0.1
"""The lowest confidence that counts in Table 13."""

_GROUPS = {
    frozenset({"gender", "skin_tone"}): {
        "female, darker": 0, "female, lighter": 1, "male, darker": 2, "male, lighter": 3,
    },
    frozenset({"age"}): {"18-30": 4, "30-45": 5, "45-70": 6, "70+": 7},
}  # fmt: skip
"""What Table 13 is by, to its groups and their columns."""
_ASSOCIATIONS = printed(__file__, "dinov2_table13", keys=2)
_HARMFUL = {
    (model, HARMFUL): tuple(map(add, _ASSOCIATIONS[model, NON_HUMAN], _ASSOCIATIONS[model, CRIME]))
    for model in (SEER, DINOV2)
}
"""The sum of non-human and crime: wherever one of them is printed, the other is 0."""

HOUSEHOLDS = printed(__file__, "table5")
"""Income bucket to households in Africa, Asia, Europe, the Americas and everywhere: Goyal et al., Table 5."""

HOUSEHOLD_REGIONS = ("Africa", "Asia", "Europe", "The Americas", "all")
"""The columns of ``HOUSEHOLDS``."""


def association_rates(axes: frozenset[str]) -> Iterator[tuple[str, str, str, float]]:
    """Model, kind of label, group and rate of Table 13 of the DINOv2 paper, on Casual Conversations.

    Rates are printed by gender and skin tone, and by age; there are none for other ``axes``.
    """
    for (model, kind), values in {**_ASSOCIATIONS, **_HARMFUL}.items():
        for group, column in _GROUPS.get(axes, {}).items():
            yield model, kind, group, values[column] / 100
