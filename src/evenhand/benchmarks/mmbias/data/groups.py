"""The groups of MMBias, what they are called where, and the pairs that the paper compares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """One set of MMBias."""

    name: str
    printed: str  # as the paper's Table 2 writes it
    aliases: tuple[str, ...] = ()  # of phrase file, URL list and folders, and the paper's classes
    images: int = 250  # photos in the release


TARGETS: tuple[Group, ...] = (
    Group("muslim", "Muslim", ("islam",)),
    Group("christian", "Christian", ("christianity",)),
    Group("jewish", "Jewish", ("judaism",)),
    Group("buddhist", "Buddhist", ("buddhism",)),
    Group("hindu", "Hindu", ("hinduism",)),
    Group("american", "American", ("usa",)),
    Group("arab", "Arab"),
    Group("french", "French", images=0),
    Group("italian", "Italian", images=0),
    Group("mexican", "Mexican"),
    Group("chinese", "Chinese"),
    Group("lgbt", "LGBTQ", ("lgbtq", "homosexual", "homosexuality")),
    Group("heterosexual", "Hetero.", ("hetero", "straight", "heterosexuality")),
    Group("physical", "Physical", ("disability", "physical disability", "physically disabled")),
    Group("visual", "Visual", ("visual disability",), images=0),
    Group("hearing", "Hearing", ("hearing disability",), images=0),
    Group("mental", "Mental", ("mental disability", "mentally disabled")),
    Group("non-disabled", "Abled", ("abled", "no disability", "able-bodied")),
)
"""Groups of people, in the order of the phrase file."""

ATTRIBUTES: tuple[Group, ...] = (
    Group("unpleasant", "Unpleasant", ("valence-unpleasant", "unpleasant_phrases"), images=50),
    Group("pleasant", "Pleasant", ("valence-pleasant", "pleasant_phrases"), images=50),
)
"""A is unpleasant and B pleasant, so that a positive d ties X to the unpleasant."""

PAPER_PAIRS: tuple[tuple[str, str], ...] = (
    ("muslim", "christian"),
    ("jewish", "christian"),
    ("muslim", "jewish"),
    ("muslim", "buddhist"),
    ("christian", "buddhist"),
    ("hindu", "buddhist"),
    ("jewish", "buddhist"),
    ("muslim", "hindu"),
    ("arab", "american"),
    ("arab", "french"),
    ("arab", "italian"),
    ("mexican", "arab"),
    ("chinese", "american"),
    ("mexican", "american"),
    ("visual", "non-disabled"),
    ("hearing", "non-disabled"),
    ("mental", "non-disabled"),
    ("physical", "non-disabled"),
    ("lgbt", "heterosexual"),
)
"""X and Y of the 19 rows of Table 2, in its order."""

NAMES: Mapping[str, str] = {group.name: group.printed for group in (*TARGETS, *ATTRIBUTES)}
"""What Table 2 calls each group."""

_JUNK_FOLDERS = frozenset({"__macosx"})


def plain(name: str) -> str:
    """A name without case, blanks and punctuation, by which names are compared."""
    return "".join(character for character in name.casefold() if character.isalnum())


def names_by_alias(extra: Iterable[str] = ()) -> dict[str, str]:
    """The name of a group for each of its plain names; ``extra`` are groups of a user's own phrase file."""
    names = {plain(name): name for name in extra}
    for group in (*TARGETS, *ATTRIBUTES):
        names |= {plain(alias): group.name for alias in (group.name, group.printed, *group.aliases)}
    return names


def looked_for(name: str) -> list[str]:
    """All names under which a group's folder is looked for, in any case and punctuation."""
    for group in (*TARGETS, *ATTRIBUTES):
        if group.name == name:
            return list(dict.fromkeys(alias.casefold() for alias in (name, group.printed, *group.aliases)))
    return [name.casefold()]


def is_junk(part: str) -> bool:
    """Whether a file or folder is what file managers leave behind (``__MACOSX``, ``.DS_Store``, ``._x``)."""
    lower = part.casefold()
    return lower.startswith(".") or lower in _JUNK_FOLDERS or lower in {"thumbs.db", "desktop.ini"}
