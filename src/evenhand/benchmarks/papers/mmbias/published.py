"""The numbers that the MMBias paper prints (Janghorbani and de Melo, EACL 2023), and its classes."""

from __future__ import annotations

from evenhand.benchmarks.mmbias.data.groups import TARGETS
from evenhand.benchmarks.papers.printed import printed

CLASSES = {
    "Religion": ("muslim", "christian", "jewish", "buddhist", "hindu"),
    "Nationality": ("american", "arab", "chinese", "mexican", "french", "italian"),
    "Disability": ("physical", "mental", "visual", "hearing", "non-disabled"),
    "Sexual Orientation": ("lgbt", "heterosexual"),
}
"""Target classes and their groups."""

CLASS_OF = {group: title for title, groups in CLASSES.items() for group in groups}
"""The target class of each group, in the paper's order; a user's own groups have none."""

IMAGES = {group.name: group.images or None for group in TARGETS}
"""Of each group, as section 4 says; None: it has phrases only."""

PHRASES = {**dict.fromkeys(CLASS_OF, 20), "lgbt": 15, "heterosexual": 15}
"""Of each group: the paper says 20 for each, but 350 in all, as the released file has."""

TABLE2 = printed(__file__, "table2", keys=2)
"""Pair to d of CLIP in three forms, and match differences of ALBEF and ViLT. None: no images of one group."""

TABLE3 = printed(__file__, "table3", keys=2)
"""Pair to d before and after 54 of 512 dimensions are removed, and the printed reduction in percent."""

REMOVED = 54

ACCURACY = (
    {"form": "accuracy on MMBias", "lost": 0.011},
    {"form": "accuracy on CIFAR-100", "before": 0.801, "after": 0.788, "lost": 0.013},
)
"""CLIP's before and after, and how much of it is lost: section 6, which does not say of what classifier, nor
after which pair's mitigation."""
