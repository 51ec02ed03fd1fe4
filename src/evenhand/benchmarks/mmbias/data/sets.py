"""What an association test is made of: sets of phrases and images, tests, and what is unusual about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.download_source import default_folder
from evenhand.benchmarks.mmbias.data.collected import CollectedSets
from evenhand.benchmarks.mmbias.data.groups import NAMES
from evenhand.benchmarks.mmbias.data.images import FolderLayout, ImageFile, image_ids, image_source, no_images
from evenhand.benchmarks.mmbias.data.irregularities import (
    OVERLAP,
    REPEATED,
    overlaps,
    same_images,
    shared_phrases,
    trap_table,
)
from evenhand.benchmarks.mmbias.data.own_tests import parse_tests
from evenhand.benchmarks.mmbias.data.pairs import Test, choose_tests
from evenhand.benchmarks.mmbias.data.phrases import parse_phrases, read_json
from evenhand.benchmarks.mmbias.data.release import gather_release
from evenhand.benchmarks.mmbias.data.urls import NO_PHOTOS
from evenhand.core.errors import InputError
from evenhand.core.requests import ImageSource, UnreadableImage

__all__ = ["AssociationData", "Test", "read_association_data"]

_AT_ONCE = 512  # images whose digests are asked for at a time
Sets = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class AssociationData:
    """Sets and tests.

    Attributes:
        target_phrases: Set -> phrases, each once. Sets without phrases are not there.
        attribute_phrases: As ``target_phrases``; of MMBias ``unpleasant``, then ``pleasant``.
        target_images: Set -> image ids such as ``muslim/12``. Sets without images are not there.
        attribute_images: As ``target_images``.
        image_ids: All image ids, in the order of ``images``.
        images: All images.
        pairs: The tests that were asked for; their sets may have phrases, images, or both.
        names: Set -> its name for people: of MMBias as Table 2 writes it.
        traps: What is unusual: ``kind``, ``set``, ``item``, ``other``, ``detail``.
        dropped: What became no item, by reason.
        notes: What else was met on the way, with how many.
        photos: Where photos come from: ``sample``, ``set``, ``url``, ``owner``.
        place: Where it was read from.
        layout: Where images of MMBias were looked for.
    """

    target_phrases: Sets
    attribute_phrases: Sets
    target_images: Sets
    attribute_images: Sets
    image_ids: tuple[str, ...]
    images: ImageSource
    pairs: tuple[Test, ...]
    names: Mapping[str, str]
    traps: pl.DataFrame
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    photos: pl.DataFrame = field(default_factory=lambda: NO_PHOTOS.frame)
    place: Path = Path()
    layout: FolderLayout | None = None

    def require_images(self, names: Sequence[str]) -> None:
        """Refuse to go on if sets have no images.

        Args:
            names: Of sets of targets or attributes.

        Raises:
            InputError: Some have none; the message says what was looked for.
        """
        missing = [name for name in names if name not in {**self.target_images, **self.attribute_images}]
        if missing and self.layout is not None:
            raise no_images(self.place, missing, self.layout)
        if missing:
            raise InputError(
                f"the sets {', '.join(missing)} in {str(self.place)!r} have no images; give them "
                '{"images": FOLDER}'
            )


def read_association_data(
    data: Path | None, *, pairs: str = "paper", drop_overlap: bool = False
) -> AssociationData:
    """Read MMBias, or a user's own tests.

    Args:
        data: A folder or zip file with data of MMBias in any layout, its phrase file, or a user's own tests
            (``.json`` or ``.jsonl``). Phrases, URLs and groups of images that are not there are taken from
            where ``evenhand data fetch mmbias`` puts them; not given, everything is.
        pairs: ``paper``, ``all``, or a list such as ``muslim:christian,arab:american``.
        drop_overlap: Leave words that stand in a set of attributes out of the sets of targets.

    Raises:
        InputError: No data, or data that cannot be used.
        ParameterError: ``pairs`` cannot be understood.
        UnknownName: ``pairs`` names a set that is not there.
    """
    place = (data or default_folder("mmbias")).expanduser()
    if not place.exists():
        raise InputError(
            f"there is no {str(place)!r}; type: evenhand data fetch mmbias, or give --data FOLDER with "
            "MMBias, or a .json or .jsonl file with tests of your own"
        )
    return _assemble(_gather(place), place, pairs, drop_overlap)


def _gather(place: Path) -> CollectedSets:
    if place.is_dir() or place.name.casefold().endswith(".zip"):
        return gather_release(place)
    found = read_json(place)
    if isinstance(found, dict) and "category_phrases" in found:
        return gather_release(place, parse_phrases(found, place))
    return parse_tests(found, place)


def _assemble(found: CollectedSets, place: Path, pairs: str, drop_overlap: bool) -> AssociationData:
    """Look across the sets, number the images, choose the tests."""
    if found.tests is None and not (found.targets and found.attributes):
        there = ", ".join((*found.targets, *found.attributes))
        raise InputError(
            f"{str(place)!r} has {there}, but no phrases (textual_phrases.txt), and groups or words are "
            "missing without them; type: evenhand data fetch mmbias, or put the file into the folder"
        )
    tests = choose_tests(pairs, found.targets, found.attributes, found.tests)
    met = {(target, word) for test in tests for target in (test.x, test.y) for word in (test.a, test.b)}
    both = overlaps(
        found.target_phrases,
        found.attribute_phrases,
        dropped=drop_overlap,
        tested=None if found.tests is None else met,
    )
    targets = dict(found.target_phrases)
    if drop_overlap:
        targets = _without(targets, {(trap.set, trap.item) for trap in both}, place)
    target_ids = {name: tuple(image_ids(name, files)) for name, files in found.target_images.items()}
    attribute_ids = {name: tuple(image_ids(name, files)) for name, files in found.attribute_images.items()}
    files = _numbered(found, target_ids, attribute_ids, place)
    ids, images = tuple(files), image_source(list(files.values()))
    alike = same_images({**target_ids, **attribute_ids}, _digests(images, ids))
    traps = [*found.traps, *shared_phrases(targets), *both, *alike]
    dropped = found.dropped + Counter(trap.kind for trap in found.traps if trap.kind == REPEATED)
    if drop_overlap:
        dropped[OVERLAP] += len({(trap.set, trap.item) for trap in both})
    sets = (*found.targets, *found.attributes)
    return AssociationData(
        target_phrases=targets,
        attribute_phrases=found.attribute_phrases,
        target_images=target_ids,
        attribute_images=attribute_ids,
        image_ids=ids,
        images=images,
        pairs=tests,
        names={name: name if found.tests is not None else NAMES.get(name, name) for name in sets},
        traps=trap_table(traps),
        dropped=+dropped,
        notes=found.notes,
        photos=found.photos.frame,
        place=place,
        layout=found.layout,
    )


def _numbered(found: CollectedSets, targets: Sets, attributes: Sets, place: Path) -> dict[str, ImageFile]:
    """The file of each image id; a set that is both target and attribute has its images once."""
    numbered: dict[str, ImageFile] = {}
    for ids, groups in ((targets, found.target_images), (attributes, found.attribute_images)):
        for name, files in groups.items():
            pairs = dict(zip(ids[name], files, strict=True))
            if any(numbered.get(id_, file) != file for id_, file in pairs.items()):
                raise InputError(
                    f"the set {name!r} in {str(place)!r} has other images as attributes than as targets; "
                    "call one of the two otherwise"
                )
            numbered |= pairs
    return numbered


def _without(
    sets: Mapping[str, tuple[str, ...]], left_out: set[tuple[str, str]], place: Path
) -> dict[str, tuple[str, ...]]:
    kept = {
        name: tuple(phrase for phrase in phrases if (name, phrase) not in left_out)
        for name, phrases in sets.items()
    }
    for name, phrases in kept.items():
        if not phrases:
            raise InputError(
                f"every phrase of the set {name!r} in {str(place)!r} is a word of the attributes too; run "
                "without drop_overlap, or give the set other phrases"
            )
    return kept


def _digests(images: Any, ids: Sequence[str]) -> dict[str, str]:
    """The sha256 of each image that can be read."""
    found: dict[str, str] = {}
    for start in range(0, len(ids), _AT_ONCE):
        stop = min(start + _AT_ONCE, len(ids))
        digests = zip(ids[start:stop], images.digests(start, stop), strict=True)
        found |= {id_: digest for id_, digest in digests if not isinstance(digest, UnreadableImage)}
    return found
