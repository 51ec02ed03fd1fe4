"""Where the phrases, URLs and images of MMBias come from, and what of them is there."""

from __future__ import annotations

from pathlib import Path

from evenhand.benchmarks.datasets.download_source import DataSource, RemoteFile, SourcePart
from evenhand.benchmarks.mmbias.data.collected import CollectedSets
from evenhand.benchmarks.mmbias.data.groups import ATTRIBUTES, TARGETS, looked_for
from evenhand.benchmarks.mmbias.data.images import read_layout
from evenhand.benchmarks.mmbias.data.release import gather_release
from evenhand.files.hashing import sha256_files

_REPOSITORY = "https://raw.githubusercontent.com/sepehrjng92/MMBias"
_NEWEST = "3d6c3d8"  # of which only the short name is known here
_ZIPS = ("Religion.zip", "Nationality.zip", "Disability.zip", "Sexual Orientation.zip")
_PHRASES, _URLS = 350, 3_600


def _file(path: str, commit: str, sha256: str, size: int) -> RemoteFile:
    urls = tuple(f"{_REPOSITORY}/{revision}/{path.replace(' ', '%20')}" for revision in (commit, _NEWEST))
    return RemoteFile(path.rpartition("/")[2], urls, sha256, size)


FILES = (
    _file(
        "data/textual_phrases.txt",
        "306c0219fd8868371437ab12ecd83317c39c6ed5",
        "3e980ebcfa6ff5476eb39c360c3351d0b3bdcd223633a019387dc9e7979846a9",
        6_070,
    ),
    _file(
        "data/URLs.txt",
        "5fb9747ef24b9abb6cd15c325aef78c3f29b3da8",
        "776a858c82c13484e5bcad0aac15ce216790d9defca0f47ec7bc5d896cadbbb4",
        464_090,
    ),
    _file(
        "data/Images/Valence Images.zip",
        "2007bd01ca45b958f328b2c3b927d1a098af85e2",
        "f05213a7568555997c520102ebdad6395da736cfecb5c239e39fe60cc0801462",
        3_032_107,
    ),
)
"""What is pinned; the contents of the four zips of people are not known here."""

BY_HAND = (
    f"the photos of people ({', '.join(_ZIPS)}) are not fetched, as their contents are not known here; "
    "get them from https://github.com/sepehrjng92/MMBias (data/Images) and put them into the folder"
)
"""What a user has to get."""


def parts(folder: Path) -> list[SourcePart]:
    """What of MMBias is in a folder, or else among the fetched data, beside what the paper has."""
    collected = gather_release(folder)
    return [*_texts(collected), *_images(collected)]


def _texts(collected: CollectedSets) -> list[SourcePart]:
    """The phrase file and the URL list, with what is wrong with their content."""
    hashes = {path.name.casefold(): digest for path, digest in sha256_files(collected.files).items()}
    counts = (sum(map(len, collected.target_phrases.values())), collected.photos.frame.height)
    kinds = (("phrases of people", _PHRASES), ("URLs", _URLS))
    rows = []
    for file, (what, expected), count in zip(FILES, kinds, counts, strict=False):
        digest = hashes.get(file.name.casefold())
        note = f"{file.name} is missing; type: evenhand data fetch mmbias" if digest is None else ""
        if digest is not None and digest != file.sha256:
            note = f"another {file.name} than the release's"
        rows.append(SourcePart(what, count, expected, note))
    return rows


def _images(collected: CollectedSets) -> list[SourcePart]:
    there = {**collected.target_images, **collected.attribute_images}
    return [
        SourcePart(
            f"photos of {group.name}" if group in TARGETS else f"{group.name} photos",
            len(there.get(group.name, ())),
            group.images,
            "" if group.name in there else f"looked for folders called {' or '.join(looked_for(group.name))}",
        )
        for group in (*TARGETS, *ATTRIBUTES)
        if group.images or group.name in there
    ]


def own_tables(folder: Path) -> list[str]:
    """Phrase files that a folder has elsewhere than where they are fetched to, as a clone has."""
    return [str(path.relative_to(folder)) for path in read_layout(folder).phrases if path.parent != folder]


SOURCE = DataSource(
    name="mmbias",
    title="MMBias: phrases and photos of groups of people, and unpleasant and pleasant words and photos",
    licence="compilation MIT; each photo under its owner's Creative Commons licence, not to be passed on",
    home="https://github.com/sepehrjng92/MMBias",
    files=FILES,
    size="phrases, URLs and 100 photos 3.5 MB; 3,500 photos of people to be got by hand",
    own_tables=own_tables,
    parts=parts,
    by_hand=BY_HAND,
)
"""What ``evenhand data fetch mmbias`` fetches."""
