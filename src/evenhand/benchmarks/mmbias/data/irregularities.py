"""What is unusual in the sets: phrases and photos that two of them share, blanks, repetitions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import combinations

import polars as pl

BLANKS = "blanks around a phrase"
REPEATED = "phrase repeated in its set"
SHARED_PHRASE = "phrase in two groups"
OVERLAP = "word in a target and an attribute set"
QUOTES = "stray quote in URLs"
SHARED_PHOTO = "photo in two sets"
SAME_BYTES = "same image in two sets"
TWICE = "same image twice in its set"

COLUMNS = ("kind", "set", "item", "other", "detail")
"""Of the table of traps, all text."""


@dataclass(frozen=True)
class DataIrregularity:
    """One thing that whoever reads the figures should know."""

    kind: str  # one of the names of this module
    set: str  # that has it; empty: no matter of one set
    item: str  # phrase or image id
    other: str = ""  # the other set, or the other image's id
    detail: str = ""  # what was done about it


def trap_table(traps: Iterable[DataIrregularity]) -> pl.DataFrame:
    """Traps as a table with the columns ``kind``, ``set``, ``item``, ``other`` and ``detail``."""
    rows = [astuple(trap) for trap in traps]
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


def shared_phrases(sets: Mapping[str, Sequence[str]]) -> list[DataIrregularity]:
    """Phrases that two sets of targets share, whatever their case; both keep them."""
    irregularities = []
    for names in _shared(sets).values():
        pairs = combinations(names, 2)
        irregularities += [
            DataIrregularity(SHARED_PHRASE, name, names[name], other, "kept in both") for name, other in pairs
        ]
    return sorted(irregularities, key=lambda trap: (trap.set, trap.other, trap.item))


def overlaps(
    targets: Mapping[str, Sequence[str]],  # set -> phrases
    attributes: Mapping[str, Sequence[str]],  # set -> phrases
    *,
    dropped: bool,  # whether the words are left out of the targets, for the detail
    tested: Collection[tuple[str, str]] | None = None,  # targets and attributes that meet; None: all
) -> list[DataIrregularity]:
    """Words that stand in a set of targets and in one of attributes, whatever their case.

    Such a word is compared with itself, or with itself in a sentence: it looks tied to its attribute.
    """
    detail = "left out of the targets" if dropped else "kept; it looks tied to that set (see drop_overlap)"
    words: dict[str, list[str]] = defaultdict(list)
    for name, phrases in attributes.items():
        for phrase in phrases:
            words[phrase.casefold()].append(name)
    return [
        DataIrregularity(OVERLAP, name, phrase, other, detail)
        for name, phrases in targets.items()
        for phrase in phrases
        for other in words.get(phrase.casefold(), ())
        if tested is None or (name, other) in tested
    ]


def same_images(images: Mapping[str, Sequence[str]], digests: Mapping[str, str]) -> list[DataIrregularity]:
    """Images of equal bytes in two sets, or twice in one; an image without a digest is passed over."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for name, ids in images.items():
        for image_id in ids:
            if image_id in digests:
                places[digests[image_id]].append((name, image_id))
    irregularities = []
    for alike in places.values():
        for (first_set, item), (second_set, other) in combinations(alike, 2):
            kind = TWICE if first_set == second_set else SAME_BYTES
            detail = "kept" if first_set == second_set else "left out where the two sets are compared"
            irregularities.append(DataIrregularity(kind, first_set, item, other, detail))
    return irregularities


def _shared(sets: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """Phrase without case -> sets that have it, each with its own spelling."""
    places: dict[str, dict[str, str]] = defaultdict(dict)
    for name, phrases in sets.items():
        for phrase in phrases:
            places[phrase.casefold()].setdefault(name, phrase)
    return {item: names for item, names in places.items() if len(names) > 1}
