"""Ages in years as the groups that the paper and its released code speak of."""

from __future__ import annotations

from bisect import bisect_right

CC_AGES: tuple[str, ...] = ("<18", "18-30", "30-45", "45-70", "70+")
"""Groups of Casual Conversations; the lower edge belongs to the group, the upper one does not."""

UTK_AGES: tuple[str, ...] = ("< 13", "13-30", "30-45", "45+")
"""Groups that the released code gives UTKFace, spelled as there; no number of the paper rests on them."""

FAIRFACE_AGES: tuple[str, ...] = (
    "0-2", "3-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70+",
)  # fmt: skip
"""Groups of FairFace, in which ages are annotated at once."""

_CC_EDGES = (18, 30, 45, 70)
_UTK_EDGES = (13, 30, 45)


def cc_age(years: str | None, *, unknown: str = "unknown") -> str | None:
    """The age group of Casual Conversations, as the released code makes it; None where nothing is annotated.

    Anything but whole years, such as ``N/A`` or ``30.5``, is ``unknown``, which the released code calls
    ``unknown`` in label association and ``-1`` in retrieval.
    """
    if years is None:
        return None
    age = whole_years(years)
    return unknown if age is None else CC_AGES[bisect_right(_CC_EDGES, age)]


def utk_age(years: int) -> str:
    """The age group that the released code gives an image of UTKFace: one of ``UTK_AGES``."""
    return UTK_AGES[bisect_right(_UTK_EDGES, years)]


def fairface_age(text: str) -> str:
    """An age group of FairFace in one spelling: the table says ``more than 70``, its models ``70+``."""
    return "70+" if text == "more than 70" else text


def whole_years(text: str) -> int | None:
    """An age as a whole number, None where it is none."""
    try:
        return int(text)
    except ValueError:
        return None
