"""The numbers that the MMBias paper prints (Janghorbani and de Melo, EACL 2023), and its classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from evenhand.benchmarks.papers.printed import printed

Pair: TypeAlias = tuple[str, str]

CLASSES: Mapping[str, tuple[str, ...]] = {
    "Religion": ("muslim", "christian", "jewish", "buddhist", "hindu"),
    "Nationality": ("american", "arab", "chinese", "mexican", "french", "italian"),
    "Disability": ("physical", "mental", "visual", "hearing", "non-disabled"),
    "Sexual Orientation": ("lgbt", "heterosexual"),
}
"""Target classes and their groups; French, Italian, visual and hearing have phrases only."""

IMAGES_OF_A_GROUP = 250
"""As section 4 says."""

PHRASES_OF_A_GROUP: Mapping[str, int] = {"lgbt": 15, "heterosexual": 15}
"""Where it is not ``USUAL_PHRASES``: the paper says 20 for each, but 350 in all, as the released file has."""

USUAL_PHRASES = 20

FORMS = ("cross-modal", "textual", "visual")
"""Of CLIP's columns in Table 2."""

TABLE2: Mapping[Pair, tuple[float | None, ...]] = printed(__file__, "table2", keys=2)
"""d of CLIP in three forms; match differences of ALBEF and ViLT. None: no images of one group."""

TABLE3: Mapping[Pair, tuple[float, float, int]] = printed(__file__, "table3", keys=2)
"""d before and after 54 of 512 dimensions are removed, and the printed reduction in percent."""

REMOVED, DIMENSIONS = 54, 512

MMBIAS, CIFAR100 = "MMBias", "CIFAR-100"

ACCURACY: Mapping[str, tuple[float | None, float | None, float]] = {
    MMBIAS: (None, None, 0.011),
    CIFAR100: (0.801, 0.788, 0.013),
}
"""Data to CLIP's accuracy before and after, and how much of it is lost: section 6, which does not say of what
classifier, nor after which pair's mitigation."""


def class_of(name: str) -> str:
    """The target class of a group; empty for a user's own."""
    return next((title for title, groups in CLASSES.items() if name in groups), "")
