"""A user's own table of images from households."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.indicators.households.dollar_street import read_list
from evenhand.benchmarks.indicators.households.samples import HouseholdImage, Households, households_of
from evenhand.benchmarks.indicators.people.table import IMAGES
from evenhand.benchmarks.indicators.people.videos import as_word
from evenhand.core.errors import InputError, one_line
from evenhand.files.tables import scan as sources

NAME = "table"
LAYOUT = (
    "a table (CSV, TSV, JSONL, Parquet) with a row for each image and the columns image, household, concept "
    "and maybe country, region, income, imagenet_classes"
)

COLUMNS: dict[str, tuple[str, ...]] = {
    "image": (*IMAGES, "imagerelpath"),
    "household": ("household", "household_id", "place", "home"),
    "concepts": ("concepts", "concept", "label", "labels", "topics", "topic"),
    "country": ("country", "country.name"),
    "region": ("region", "region.id", "continent"),
    "income": ("income", "monthly_income"),
    "imagenet": ("imagenet_classes", "imagenet_sysnet_id"),
    "checksum": ("checksum", "sha256", "md5"),
}
"""What a column may be called, the likeliest first."""

_NEEDED = ("image", "household", "concepts")
_NO_LIST = "cell that is no list"


def read_households_table(listing: Listing, table: str, *, duplicates: str = "paper") -> Households:
    """The images of a table.

    ``concepts`` and ``imagenet_classes`` hold one thing, or a list (as JSON or Python writes it). Images are
    equal where their checksums are, or their content. An image that is not at its path is the only one of its
    file name, if there is one.
    """
    path = listing.folder / table
    with sources.reading(path):
        lazy = sources.scan(path)[0]
        names = {name.strip().lower(): name for name in reversed(lazy.collect_schema().names())}
        columns = {
            what: next((names[name] for name in possible if name in names), "")
            for what, possible in COLUMNS.items()
        }
        _require(columns, path, Path(table), list(names.values()))
        frame = lazy.select({name for name in columns.values() if name}).collect()
    dropped: Counter[str] = Counter()
    rows = [row for row in (_row(record, columns, dropped) for record in frame.iter_rows(named=True)) if row]
    return households_of(NAME, rows, listing, duplicates=duplicates, dropped=dropped, by_name=True)


def _require(columns: Mapping[str, str], path: Path, table: Path, names: Sequence[str]) -> None:
    absent = next((what for what in _NEEDED if not columns[what]), "")
    if absent:
        raise InputError(
            f"{str(path)!r} has no column for the {absent} (looked for {', '.join(COLUMNS[absent])}; "
            f"it has {one_line(', '.join(names[:12]))}); rename one of them"
        )


def _row(row: Mapping[str, Any], columns: Mapping[str, str], dropped: Counter[str]) -> HouseholdImage | None:
    def cell(what: str) -> object:
        return row[columns[what]] if columns[what] else None

    concepts, classes = _listed(cell("concepts")), _listed(cell("imagenet"))
    numbers = [str(number).strip() for number in classes or ()]
    if concepts is None or classes is None or not all(number.isdecimal() for number in numbers):
        dropped[_NO_LIST] += 1
        return None
    return HouseholdImage(
        image=as_word(cell("image")) or "",
        household=as_word(cell("household")) or "",
        country=as_word(cell("country")),
        region=as_word(cell("region")),
        income=cell("income"),
        concepts=tuple(word for word in map(as_word, concepts) if word),
        imagenet=tuple(map(int, numbers)) if columns["imagenet"] else None,
        checksum=as_word(cell("checksum")) or "",
    )


def _listed(value: object) -> list[Any] | None:
    """One thing or a list of things as a list; None for a list that is broken."""
    if isinstance(value, list):
        return value
    if value is None or value == "":
        return []
    text = str(value).strip()
    if text.startswith("["):
        return read_list(text)
    return [text]
