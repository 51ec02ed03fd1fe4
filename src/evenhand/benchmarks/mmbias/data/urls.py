"""The URL list of MMBias: the page and the owner of each photo."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import polars as pl

from evenhand.benchmarks.mmbias.data.groups import names_by_alias, plain
from evenhand.benchmarks.mmbias.data.irregularities import QUOTES, SHARED_PHOTO, DataIrregularity
from evenhand.benchmarks.mmbias.data.phrases import read_json
from evenhand.core.errors import InputError

NAMES = frozenset({"urls.txt", "urls.json"})
"""What the file is called, in lower case."""

_SCHEMA = {"sample": pl.String, "set": pl.String, "url": pl.String, "owner": pl.String}


@dataclass(frozen=True, eq=False)
class Photos:
    """Where photos come from."""

    frame: pl.DataFrame  # a row a photo: sample (``muslim/12``), set, url (a page, not an image file), owner
    traps: tuple[DataIrregularity, ...]  # photos in two sets, and quotes that were taken off


NO_PHOTOS = Photos(pl.DataFrame(schema=_SCHEMA), ())
"""Where there is no list."""


def read_urls(path: Path) -> Photos:
    """Read a URL list: group -> number of the photo, taken for its file's name -> ``URL`` and ``Owner``."""
    content = read_json(path)
    if not isinstance(content, dict) or not all(isinstance(photos, dict) for photos in content.values()):
        raise InputError(f"{str(path)!r} is not a URL list: group -> number -> {{'URL': ..., 'Owner': ...}}")
    set_names, rows, quoted = names_by_alias(), [], 0
    for key, photos in content.items():
        name = set_names.get(plain(key)) or str(key)
        for number, photo in photos.items():
            if not isinstance(photo, dict) or not isinstance(photo.get("URL"), str):
                raise InputError(f"photo {number!r} of {key!r} in {str(path)!r} has no text 'URL'")
            url, owner = photo["URL"], str(photo.get("Owner", ""))
            quoted += '"' in url or '"' in owner
            rows.append((f"{name}/{number}", name, _bare(url), _bare(owner)))
    traps = _shared(rows)
    if quoted:
        traps.append(
            DataIrregularity(QUOTES, "", path.name, "", f"{quoted} photos; the quotes were taken off")
        )
    return Photos(pl.DataFrame(rows, schema=_SCHEMA, orient="row"), tuple(traps))


def _bare(text: str) -> str:
    return text.strip().strip('"').strip()


def _shared(rows: list[tuple[str, str, str, str]]) -> list[DataIrregularity]:
    """Photos that two sets have, by their URL."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for sample, name, url, _ in rows:
        places[url].append((name, sample))
    return [
        DataIrregularity(
            SHARED_PHOTO, first_set, item, other, f"{url}; left out where the two sets are compared"
        )
        for url, alike in places.items()
        for (first_set, item), (second_set, other) in combinations(alike, 2)
        if first_set != second_set
    ]
