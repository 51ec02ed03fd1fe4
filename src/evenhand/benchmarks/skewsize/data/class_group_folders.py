"""A user's own images in folders: a class in a group, or, as ImageNet* is released, a group of classes."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

import polars as pl

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.benchmarks.datasets.listing import Listing, list_files
from evenhand.benchmarks.datasets.samples import filtered
from evenhand.benchmarks.skewsize.data.samples import (
    OUTSIDE_CLASSES,
    OUTSIDE_GROUPS,
    LabelledSamples,
    files_below,
    from_definition,
    in_turn,
)
from evenhand.core.errors import InputError, one_line

LAYOUT = "FOLDER/CLASS/GROUP/*.jpg (or FOLDER/GROUP/CLASS/*.jpg)"
FOLDER_NAMES = "the folders' names"
NO_CELL = "image that lies in no class and group folder"


def read_cells(folder: Path, definition: GenerationDefinition, *, outside: str = "keep") -> LabelledSamples:
    """Images whose class and group are the names of their folders.

    Folders may be called by the definition's names (with ``_`` for a space, in any case) or by WordNet ids.
    Which of the two levels holds the groups is seen from the names. ``outside`` says whether to ``keep`` or
    ``exclude`` images of classes and groups that the definition does not have.
    """
    groups = {plain_name(group.name): group.name for group in definition.groups}
    classes = classes_by_folder(definition)
    listed = unwrapped(list_files(folder), {**groups, **classes})
    dropped = Counter(listed.passed)
    parts = [path.split("/") for path in listed.images]
    deep = [path for path in parts if len(path) > 2]
    dropped[NO_CELL] += len(parts) - len(deep)
    level = _group_level(deep, groups, classes)
    if deep and level is None:
        raise InputError(
            f"no folder in {str(folder)!r}, such as {one_line(deep[0][0])!r}, is called as a class or group "
            f"of {definition.name!r}, such as {definition.classes[0].name!r} or "
            f"{definition.groups[0].name!r}; "
            f"rename them, or give -p definition=FILE.yaml; it should hold {LAYOUT}"
        )
    level = 1 if level is None else level
    table = pl.DataFrame(
        {
            "sample": ["/".join(path) for path in deep],
            "truth": _named([path[1 - level] for path in deep], classes),
            definition.attribute: _named([path[level] for path in deep], groups),
        },
        schema={"sample": pl.String, "truth": pl.String, definition.attribute: pl.String},
    )
    rules = {
        OUTSIDE_GROUPS: pl.col(definition.attribute).is_in(list(groups.values())),
        OUTSIDE_CLASSES: pl.col("truth").is_in(list(classes.values())),
    }
    table, left_out = filtered(table, rules if outside == "exclude" else {}, +dropped)
    if not len(table):
        reasons = ", ".join(f"{reason}: {count}" for reason, count in left_out.items()) or "no image"
        raise InputError(f"no image in {str(folder)!r} can be used ({reasons}); it should hold {LAYOUT}")
    table = in_turn(table, [definition.attribute])
    images = files_below(listed.folder, table["sample"].to_list())
    about = {"layout": "folders", "annotated_by": {definition.attribute: FOLDER_NAMES}}
    return from_definition(definition, table, images, left_out, about=about)


def _group_level(
    places: Sequence[Sequence[str]], groups: Container[str], classes: Container[str]
) -> int | None:
    """Which of two levels of folders is of groups, by the names on both; None where none is known."""
    fits = Counter(
        level
        for path in places
        for level in (0, 1)
        for name, level_names in ((path[level], groups), (path[1 - level], classes))
        if plain_name(name) in level_names
    )
    return None if not fits else 0 if fits[0] > fits[1] else 1


def unwrapped(listed: Listing, names: Container[str]) -> Listing:
    """What lies in a folder, without the folders around everything that archives may unpack to.

    An outer folder is left out only if it has none of the plain ``names``, and two levels in it do.
    """
    folders = [path.split("/")[:-1] for path in listed.images]
    ends = zip(min(folders, default=[]), max(folders, default=[]), strict=False)
    shared = takewhile(lambda pair: pair[0] == pair[1] and plain_name(pair[0]) not in names, ends)
    around = [name for name, _ in shared]
    pairs = [path[len(around) :][:2] for path in folders]
    matching_pairs = [
        pair for pair in pairs if len(pair) == 2 and all(plain_name(name) in names for name in pair)
    ]
    if not around or not matching_pairs:
        return listed
    return list_files(listed.folder.joinpath(*around))


def classes_by_folder(definition: GenerationDefinition) -> dict[str, str]:
    """What folders of a class may be called, plain, and the class."""
    names = {plain_name(klass.name): klass.name for klass in definition.classes}
    texts = {plain_name(klass.text): klass.name for klass in definition.classes}
    ids = {klass.wordnet_id: klass.name for klass in definition.classes if klass.wordnet_id}
    return {**texts, **names, **ids}


def plain_name(name: str) -> str:
    """A folder's name without regard to case, with spaces for ``_``."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().replace("_", " ").split())


def _named(folders: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """As the definition spells them; what it does not have stays as it is."""
    names_by_folder = {folder: names.get(plain_name(folder), folder) for folder in set(folders)}
    return [names_by_folder[folder] for folder in folders]
