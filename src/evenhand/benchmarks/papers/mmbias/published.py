"""The numbers that the MMBias paper prints (Janghorbani and de Melo, EACL 2023), and its classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

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

_N = None
TABLE2: Mapping[Pair, tuple[float | None, ...]] = {
    ("muslim", "christian"): (1.72, 1.48, 1.61, 0.37, 0.45),
    ("jewish", "christian"): (1.69, 1.24, 1.43, 0.34, 0.51),
    ("muslim", "jewish"): (0.47, 0.41, 0.75, 0.03, -0.04),
    ("muslim", "buddhist"): (1.62, 0.69, 1.53, 0.23, 0.26),
    ("christian", "buddhist"): (-0.75, -0.99, -0.35, -0.14, -0.21),
    ("hindu", "buddhist"): (-0.52, 0.06, -0.11, 0.01, 0.01),
    ("jewish", "buddhist"): (1.61, 0.31, 1.28, 0.20, 0.30),
    ("muslim", "hindu"): (1.65, 0.64, 1.49, 0.24, 0.25),
    ("arab", "american"): (1.28, 1.79, 1.56, 0.11, -0.03),
    ("arab", "french"): (_N, 1.79, _N, _N, _N),
    ("arab", "italian"): (_N, 1.25, _N, _N, _N),
    ("mexican", "arab"): (-0.32, 0.24, -0.92, -0.04, 0.06),
    ("chinese", "american"): (0.89, 1.30, 1.20, 0.03, -0.07),
    ("mexican", "american"): (1.13, 1.75, 1.20, 0.07, 0.03),
    ("visual", "non-disabled"): (_N, 1.25, _N, _N, _N),
    ("hearing", "non-disabled"): (_N, 1.13, _N, _N, _N),
    ("mental", "non-disabled"): (1.48, 1.04, 1.05, 0.37, 0.13),
    ("physical", "non-disabled"): (1.25, 1.03, 1.35, 0.02, -0.01),
    ("lgbt", "heterosexual"): (1.67, 0.93, 1.46, 0.07, 0.10),
}
"""d of CLIP in three forms; match differences of ALBEF and ViLT. None: no images of one group."""

TABLE3: Mapping[Pair, tuple[float, float, int]] = {
    ("muslim", "christian"): (1.72, 0.57, 66),
    ("jewish", "christian"): (1.69, 0.75, 55),
    ("muslim", "buddhist"): (1.62, 0.11, 93),
    ("jewish", "buddhist"): (1.61, 0.30, 82),
    ("muslim", "hindu"): (1.65, 0.71, 57),
    ("arab", "american"): (1.28, 0.33, 74),
    ("mexican", "american"): (1.13, 0.85, 26),
    ("chinese", "american"): (0.89, 0.56, 38),
    ("mental", "non-disabled"): (1.48, 0.49, 66),
    ("lgbt", "heterosexual"): (1.67, 0.92, 45),
}
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
