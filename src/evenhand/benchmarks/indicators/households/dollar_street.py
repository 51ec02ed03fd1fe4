"""Dollar Street: things at home, photographed in households of all incomes; two forms of its table."""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.indicators.households.samples import HouseholdImage, Households, households_of
from evenhand.benchmarks.indicators.people.videos import as_word
from evenhand.core.errors import InputError, check_known
from evenhand.files.json_file import read_json
from evenhand.files.tables import scan as sources

NAME = "dollar_street"
MLCOMMONS = "dollar_street_mlcommons"
LAYOUT = (
    "metadata_full_dollar_street.json, a list with _id, label, country, region, income and url, and the "
    "images <label>/<_id>.jpg"
)
MLCOMMONS_LAYOUT = (
    "images_v2_imagenet_test.csv (or images_v2.csv, images_v2_imagenet_train.csv) and the images "
    "assets/<id>/<id>.jpg"
)
START = "images_v2"

PAPER_COUNTS = {
    "": {"images": 15_222, "rows with an image": 16_073, "households": 289, "countries": 54, "concepts": 108},
    "income_bucket": {"low": 62, "medium": 177, "high": 50},
}
"""Of the paper: 16,073 pairs of an image and a concept are 15,222 images. The subset that was released is
smaller: 13,565 images of 84 concepts. The paper's 108 concepts and 94 classes are probably swapped."""

TEST_ROWS = 4_308
"""Rows of the test table of MLCommons."""

REGIONS: tuple[str, ...] = ("Africa", "Asia", "The Americas", "Europe")
"""Regions in the order of the released code."""

SPLITS = {"test": "_imagenet_test", "train": "_imagenet_train", "all": ""}
"""Tables of MLCommons by what follows ``images_v2`` in their names."""

_REGION_IDS = {"am": "The Americas", "as": "Asia", "af": "Africa", "eu": "Europe"}
_FIELDS = ("_id", "label", "country", "region", "income")
_COLUMNS = ("id", "country.name", "country.id", "region.id", "place", "income")
_LONGEST = 100_000  # characters of a list in a cell

_BROKEN = "entry that is not as released"
_OTHER = "row of something else than an image"
_NO_LIST = "cell that is no list of Python"


def metadata_file(listing: Listing) -> str:
    """The JSON of a folder that looks like the table of the released code; empty if there is none."""
    tables = [table for table in listing.tables if table.casefold().endswith(".json")]
    metadata_tables = [table for table in tables if "dollar" in table.rpartition("/")[2].casefold()]
    return metadata_tables[0] if metadata_tables else ""


def csv_tables(listing: Listing) -> dict[str, str]:
    """Tables of MLCommons by split."""
    tables = {split_of(table): table for table in reversed(listing.named(START, ending=".csv"))}
    tables.pop("", None)
    return tables


def split_of(table: str) -> str:
    """The split of a table of MLCommons by its name; empty if it has another name than the released ones."""
    name = table.rpartition("/")[2].casefold()
    ends = {f"{START}{end}.csv": split for split, end in SPLITS.items()}
    return ends.get(name, "")


def image_checksum(url: str) -> str:
    """What the released code knows an image by: ``5d4be643`` of a URL ``.../480x480-5d4be643.jpg``."""
    return url.rpartition("/")[2].partition(".")[0].rpartition("-")[2]


def read_dollar_street(listing: Listing, *, duplicates: str = "paper", table: str = "") -> Households:
    """The images of the released code's table.

    ``_id`` is the household: it has one image of each concept. Images are equal where their URLs end alike.
    ``table`` is the JSON, or a table with its fields as columns, where it is not called as the released one.
    """
    table = table or metadata_file(listing)
    if not table:
        raise InputError(f"{str(listing.folder)!r} has no metadata of Dollar Street; it should hold {LAYOUT}")
    dropped: Counter[str] = Counter()
    path = listing.folder / table
    content = (
        read_json(path, "get the file again")
        if path.suffix.casefold() == ".json"
        else _table(path).to_dicts()
    )
    if not isinstance(content, list):
        raise InputError(f"{table!r} is no list; it should be as {LAYOUT}")
    rows = list(_entries(content, dropped))
    if not rows:
        raise InputError(
            f"{table!r} has no entry with {', '.join(_FIELDS)} among {len(content)}; it should be as {LAYOUT}"
        )
    return households_of(
        NAME, rows, listing, duplicates=duplicates, dropped=dropped, paper_counts=PAPER_COUNTS
    )


def _entries(content: list[Any], dropped: Counter[str]) -> Iterator[HouseholdImage]:
    for entry in content:
        if not isinstance(entry, dict) or not all(field in entry for field in _FIELDS):
            dropped[_BROKEN] += 1
            continue
        key = as_word(entry["_id"]) or ""
        labels = entry["label"] if isinstance(entry["label"], list) else [entry["label"]]
        names = tuple(word for word in map(as_word, labels) if word)
        url = as_word(entry.get("url")) or ""
        yield HouseholdImage(
            image=f"{names[0]}/{key}.jpg" if names and key else "",
            household=key,
            country=as_word(entry["country"]),
            region=as_word(entry["region"]),
            income=entry["income"],
            concepts=names,
            checksum=image_checksum(url),
        )


def read_mlcommons(
    listing: Listing, *, duplicates: str = "paper", split: str = "", table: str = ""
) -> Households:
    """The images of a table of MLCommons, with the classes of ImageNet-1k that are right for each.

    A household is a ``place`` in a country. Images are equal where their content is. Without ``split``, the
    first of ``SPLITS`` that is there is read; ``table`` is a CSV that is not called as the released ones.
    """
    table = table or _table_of(listing, split)
    path = listing.folder / table
    frame = _table(path)
    check_known(f"column of {path.name}", _COLUMNS, frame.columns)
    dropped: Counter[str] = Counter()
    names: dict[int, str] = {}
    rows = [row for row in (_row(record, names, dropped) for record in _plain(frame)) if row is not None]
    return households_of(
        MLCOMMONS, rows, listing, duplicates=duplicates, dropped=dropped, imagenet_names=names,
        paper_counts={"": {"rows with an image": TEST_ROWS}} if "imagenet_test" in table.casefold() else {},
    )  # fmt: skip


def _table_of(listing: Listing, split: str) -> str:
    tables = csv_tables(listing)
    if not tables:
        raise InputError(f"{str(listing.folder)!r} has no {START}*.csv; it should hold {MLCOMMONS_LAYOUT}")
    split_name = split or next(name for name in SPLITS if name in tables)
    check_known("table of this split", split_name, sorted(tables))
    return tables[split_name]


def _table(path: Path) -> pl.DataFrame:
    with sources.reading(path):
        return sources.scan(path)[0].collect()


def _plain(frame: pl.DataFrame) -> Iterator[dict[str, str]]:
    """Rows as texts."""
    for row in frame.iter_rows(named=True):
        yield {name: "" if value is None else str(value).strip() for name, value in row.items()}


def _row(row: Mapping[str, str], names: dict[int, str], dropped: Counter[str]) -> HouseholdImage | None:
    if row.get("type", "image") not in ("image", ""):
        dropped[_OTHER] += 1
        return None
    columns = ("topics", "imagenet_synonyms", "imagenet_sysnet_id")
    lists = [read_list(row.get(name, "")) for name in columns]
    topics, synonyms, classes = lists
    if topics is None or synonyms is None or classes is None:
        dropped[_NO_LIST] += 1
        return None
    numbers = tuple(number for number in classes if isinstance(number, int) and not isinstance(number, bool))
    if len(numbers) == len(synonyms):
        names.update(zip(numbers, map(str, synonyms), strict=True))
    id_, country = row["id"], row["country.id"]
    return HouseholdImage(
        image=row.get("imageRelPath") or (f"assets/{id_}/{id_}.jpg" if id_ else ""),
        household=f"{country}/{row['place']}" if row["place"] else "",
        country=row["country.name"] or None,
        region=_REGION_IDS.get(row["region.id"].lower(), row["region.id"] or None),
        income=row["income"],
        concepts=tuple(word for word in map(as_word, topics) if word) or _named_classes(numbers, synonyms),
        imagenet=numbers if "imagenet_sysnet_id" in row else None,
    )


def _named_classes(numbers: tuple[int, ...], synonyms: list[Any]) -> tuple[str, ...]:
    """What an image without topics shows, by the names of its classes."""
    return tuple(word for word in map(as_word, synonyms) if word) if numbers else ()


def read_list(text: str) -> list[Any] | None:
    """A list as Python writes it, such as ``['stove', 'oven']``, not evaluated; None where it is no list."""
    if not text:
        return []
    if len(text) > _LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of Python's about escapes in the text
            value = ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None
    return list(value) if isinstance(value, list | tuple) else None


def form_of(path: Path) -> str:
    """Of which form a table is, by its name or else its columns; empty if of neither."""
    name = path.name.casefold()
    if name.endswith(".json"):
        return NAME
    if name.startswith(START) and name.endswith(".csv"):
        return MLCOMMONS
    with sources.reading(path):
        columns = set(sources.scan(path)[0].collect_schema().names())
    if columns >= {*_COLUMNS, "topics"}:
        return MLCOMMONS
    return NAME if columns >= set(_FIELDS) else ""
