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
from evenhand.benchmarks.mmbias.data.families import families_of
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
    """Sets and tests."""

    target_phrases: Sets  # set -> phrases, each once; no set without phrases
    attribute_phrases: Sets  # of MMBias ``unpleasant``, then ``pleasant``
    target_images: Sets  # set -> ids such as ``muslim/12``; no set without images
    attribute_images: Sets
    image_ids: tuple[str, ...]  # in the order of ``images``
    images: ImageSource
    pairs: tuple[Test, ...]  # the tests asked for; their sets may have phrases, images, or both
    names: Mapping[str, str]  # set -> name for people, of MMBias as in Table 2
    traps: pl.DataFrame  # what is unusual: kind, set, item, other, detail
    dropped: Mapping[str, int] = field(default_factory=dict)  # what became no item, by reason
    notes: Mapping[str, int] = field(default_factory=dict)  # what else was met, with how many
    photos: pl.DataFrame = field(default_factory=lambda: NO_PHOTOS.frame)  # sample, set, url, owner
    path: Path = Path()
    layout: FolderLayout | None = None  # where images of MMBias were looked for
    families: Mapping[str, str] = field(default_factory=dict)  # phrase -> family: the file's, else by root

    def require_images(self, names: Sequence[str]) -> None:
        """Refuse to go on if sets have no images."""
        missing = [name for name in names if name not in {**self.target_images, **self.attribute_images}]
        if missing and self.layout is not None:
            raise no_images(self.path, missing, self.layout)
        if missing:
            raise InputError(
                f"the sets {', '.join(missing)} in {str(self.path)!r} have no images; give them "
                '{"images": FOLDER}'
            )


def read_association_data(
    data: Path | None, *, pairs: str = "paper", drop_overlap: bool = False
) -> AssociationData:
    """Read MMBias, or a user's own tests.

    ``data`` is a folder or zip file of MMBias in any layout, its phrase file, or a user's tests (``.json`` or
    ``.jsonl``). What a folder of MMBias lacks, and all if ``data`` is None, is taken from where ``evenhand
    data fetch mmbias`` puts it. ``drop_overlap`` leaves words of the attributes out of the targets.
    """
    path = (data or default_folder("mmbias")).expanduser()
    if not path.exists():
        raise InputError(
            f"there is no {str(path)!r}; type: evenhand data fetch mmbias, or give --data FOLDER with "
            "MMBias, or a .json or .jsonl file with tests of your own"
        )
    return _assemble(_gather(path), path, pairs, drop_overlap)


def _gather(path: Path) -> CollectedSets:
    if path.is_dir() or path.name.casefold().endswith(".zip"):
        return gather_release(path)
    content = read_json(path)
    if isinstance(content, dict) and "category_phrases" in content:
        return gather_release(path, parse_phrases(content, path))
    return parse_tests(content, path)


def _assemble(collected: CollectedSets, path: Path, pairs: str, drop_overlap: bool) -> AssociationData:
    """Look across the sets, number the images, choose the tests."""
    if collected.tests is None and not (collected.targets and collected.attributes):
        there = ", ".join((*collected.targets, *collected.attributes))
        raise InputError(
            f"{str(path)!r} has {there}, but no phrases (textual_phrases.txt), and groups or words are "
            "missing without them; type: evenhand data fetch mmbias, or put the file into the folder"
        )
    tests = choose_tests(pairs, collected.targets, collected.attributes, collected.tests)
    met = {(target, word) for test in tests for target in (test.x, test.y) for word in (test.a, test.b)}
    overlap_traps = overlaps(
        collected.target_phrases,
        collected.attribute_phrases,
        dropped=drop_overlap,
        tested=None if collected.tests is None else met,
    )
    targets = dict(collected.target_phrases)
    if drop_overlap:
        targets = _without(targets, {(trap.set, trap.item) for trap in overlap_traps}, path)
    target_ids = {name: tuple(image_ids(name, files)) for name, files in collected.target_images.items()}
    attribute_ids = {
        name: tuple(image_ids(name, files)) for name, files in collected.attribute_images.items()
    }
    files = _numbered(collected, target_ids, attribute_ids, path)
    ids, images = tuple(files), image_source(list(files.values()))
    alike = same_images({**target_ids, **attribute_ids}, _digests(images, ids))
    traps = [*collected.traps, *shared_phrases(targets), *overlap_traps, *alike]
    dropped = collected.dropped + Counter(trap.kind for trap in collected.traps if trap.kind == REPEATED)
    if drop_overlap:
        dropped[OVERLAP] += len({(trap.set, trap.item) for trap in overlap_traps})
    sets = (*collected.targets, *collected.attributes)
    return AssociationData(
        target_phrases=targets,
        attribute_phrases=collected.attribute_phrases,
        target_images=target_ids,
        attribute_images=attribute_ids,
        image_ids=ids,
        images=images,
        pairs=tests,
        names={name: name if collected.tests is not None else NAMES.get(name, name) for name in sets},
        traps=trap_table(traps),
        dropped=+dropped,
        notes=collected.notes,
        photos=collected.photos.frame,
        path=path,
        layout=collected.layout,
        families=_families(collected, targets),
    )


def _families(collected: CollectedSets, targets: Sets) -> dict[str, str]:
    """The user's; else words of one root within a set: those of other sets say nothing of them."""
    if collected.families is not None:
        return collected.families
    families: dict[str, str] = {}
    for words in (*targets.values(), *collected.attribute_phrases.values()):
        for family in families_of(words):
            first = next((families[word] for word in family if word in families), family[0])
            families |= dict.fromkeys(family, first)  # a word of two sets has one family
    return families


def _numbered(collected: CollectedSets, targets: Sets, attributes: Sets, path: Path) -> dict[str, ImageFile]:
    """The file of each image id; a set that is both target and attribute has its images once."""
    numbered: dict[str, ImageFile] = {}
    for ids, groups in ((targets, collected.target_images), (attributes, collected.attribute_images)):
        for name, files in groups.items():
            pairs = dict(zip(ids[name], files, strict=True))
            if any(numbered.get(id_, file) != file for id_, file in pairs.items()):
                raise InputError(
                    f"the set {name!r} in {str(path)!r} has other images as attributes than as targets; "
                    "call one of the two otherwise"
                )
            numbered |= pairs
    return numbered


def _without(
    sets: Mapping[str, tuple[str, ...]], left_out: set[tuple[str, str]], path: Path
) -> dict[str, tuple[str, ...]]:
    remaining = {
        name: tuple(phrase for phrase in phrases if (name, phrase) not in left_out)
        for name, phrases in sets.items()
    }
    for name, phrases in remaining.items():
        if not phrases:
            raise InputError(
                f"every phrase of the set {name!r} in {str(path)!r} is a word of the attributes too; run "
                "without drop_overlap, or give the set other phrases"
            )
    return remaining


def _digests(images: Any, ids: Sequence[str]) -> dict[str, str]:
    """The sha256 of each image that can be read."""
    digests_by_id: dict[str, str] = {}
    for start in range(0, len(ids), _AT_ONCE):
        stop = min(start + _AT_ONCE, len(ids))
        digests = zip(ids[start:stop], images.digests(start, stop), strict=True)
        digests_by_id |= {id_: digest for id_, digest in digests if not isinstance(digest, UnreadableImage)}
    return digests_by_id
