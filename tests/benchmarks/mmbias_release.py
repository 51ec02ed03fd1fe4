"""A whole release of MMBias in small: phrases, URLs, five zip files of tiny images of known colour."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from evenhand.benchmarks.mmbias.data.sets import AssociationData

ZIPS: Mapping[str, Sequence[str]] = {
    "Religion": ("Muslim", "Christian", "Jewish", "Hindu", "Buddhist"),
    "Nationality": ("American", "Arab", "Mexican", "Chinese"),
    "Disability": ("Physical Disability", "Mental Disability", "Non-Disabled"),
    "Sexual Orientation": ("LGBT", "Heterosexual"),
    "Valence Images": ("Pleasant", "Unpleasant"),
}
"""Folders in each zip file."""

KEYS = (
    "muslim", "christian", "jewish", "buddhist", "hindu", "American", "Arab", "French", "Italian", "Mexican",
    "Chinese", "LGBT", "Heterosexual", "disability", "visual disability", "hearing disability",
    "mental disability", "No disability",
)  # fmt: skip
"""Groups of the phrase file."""

URL_KEYS = (
    "muslim", "christian", "jewish", "buddhist", "hindu", "american", "arab", "mexican", "chinese", "LGBT",
    "heterosexual", "disability", "mental", "non-disabled", "valence-pleasant", "valence-unpleasant",
)  # fmt: skip
"""Groups of the URL list."""


def release(folder: Path, *, phrases: int = 4, words: int = 6, images: int = 3, traps: bool = False) -> Path:
    """Write a release as its repository has it, under ``data/``.

    Args:
        folder: Where to.
        phrases: How many each group has.
        words: How many unpleasant and how many pleasant ones.
        images: How many each group has.
        traps: With one trap of each kind.
    """
    (folder / "data" / "Images").mkdir(parents=True)
    (folder / "data" / "textual_phrases.txt").write_text(json.dumps(phrase_file(phrases, words, traps=traps)))
    (folder / "data" / "URLs.txt").write_text(json.dumps(url_file(images, traps=traps)))
    for number, (name, groups) in enumerate(ZIPS.items()):
        entries = [
            (f"{name}/{group}/{image}.jpg", picture(number, place, 7 if traps and image == 1 else image))
            for place, group in enumerate(groups)
            for image in range(1, images + 1)
        ]
        if traps and name == "Religion":
            same = picture(9, 9, 9)
            entries += [(f"{name}/{group}/{images + 1}.jpg", same) for group in ("Muslim", "Christian")]
        junk = [(f"__MACOSX/{name}/._{groups[0]}", b"x"), (f"{name}/.DS_Store", b"x")]
        write_zip(folder / "data" / "Images" / f"{name}.zip", [*entries, *junk])
    return folder


def phrase_file(phrases: int = 4, words: int = 6, *, traps: bool = False) -> dict[str, object]:
    """What the phrase file holds."""
    groups = {key: [f"{key} phrase {n}" for n in range(phrases)] for key in KEYS}
    pleasant = [f"good {n}" for n in range(words)]
    if traps:
        groups["Heterosexual"][0] += " "
        groups["hindu"][0] = groups["buddhist"][0]
        groups["No disability"][0] = pleasant[0]
        groups["muslim"].append(groups["muslim"][0])
    unpleasant = [f"bad {n}" for n in range(words)]
    return {"unpleasant_phrases": unpleasant, "pleasant_phrases": pleasant, "category_phrases": groups}


def url_file(images: int = 3, *, traps: bool = False) -> dict[str, dict[str, dict[str, str]]]:
    """What the URL list holds; with traps, one photo of Muslims is one of Arabs too."""
    found = {
        key: {
            str(n): {"URL": f'"https://photos.example/{key}/{n}', "Owner": f'"https://photos.example/{key}'}
            for n in range(1, images + 1)
        }
        for key in URL_KEYS
    }
    if traps:
        found["arab"]["2"] = dict(found["muslim"]["1"])
    return found


def picture(red: int, green: int, blue: int, *, size: int = 8) -> bytes:
    """A JPEG of one colour."""
    stream = io.BytesIO()
    Image.new("RGB", (size, size), (40 * red % 256, 50 * green % 256, 30 * blue % 256)).save(stream, "JPEG")
    return stream.getvalue()


def write_zip(path: Path, entries: Iterable[tuple[str | zipfile.ZipInfo, bytes]]) -> Path:
    """A zip file with these members."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content, zipfile.ZIP_DEFLATED)
    return path


def write_zip_of(folder: Path, *groups: str) -> Path:
    """A new folder with a zip file that holds two images of each group."""
    folder.mkdir()
    entries = [
        (f"x/{group}/{n}.jpg", picture(n, number, 1)) for number, group in enumerate(groups) for n in (1, 2)
    ]
    return write_zip(folder / "mine.zip", entries)


def traps_of(data: AssociationData, kind: str) -> list[tuple[str, str, str]]:
    """Set, item and other of each trap of a kind."""
    return data.traps.filter(pl.col("kind") == kind).select("set", "item", "other").rows()


def digests(data: AssociationData) -> dict[str, str]:
    """The digest of each image by its id."""
    return dict(zip(data.image_ids, data.images.digests(0, len(data.images)), strict=True))


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home without fetched data; import it where tests need it."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
