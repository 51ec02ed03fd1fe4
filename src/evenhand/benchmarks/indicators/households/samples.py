"""Images of households with what they show, and an account of every row that is not there."""

from __future__ import annotations

import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.datasets.readers.rows import unique_ids
from evenhand.benchmarks.indicators.people.samples import Coverage
from evenhand.core.errors import check_choice
from evenhand.evidence.household_hits import OUTSIDE, income_buckets
from evenhand.files.hashing import sha256_each
from evenhand.files.images.sources import ImageFiles

DUPLICATES: tuple[str, ...] = ("paper", "keep")
"""What becomes of an image of a household that stands under several concepts: one sample that shows all of
them, as the paper says, or a sample each, as in the released code."""

NO_IMAGE = "no such image"
NO_CONCEPT = "row without a concept"
NO_HOUSEHOLD = "row without a household"
LISTED_TWICE = "row listed twice"
SAME_FILE = "image file of an earlier row"

SAME_IMAGE = "row with an image that is there under another concept"
SEVERAL_CONCEPTS = "image that shows several concepts"
SHARED = "image that several households have"
SPLIT = "household with several incomes, regions or countries, taken as several"
NO_INCOME = "income that is no number above 0"
BY_NAME = "image found by its file name alone"


@dataclass(frozen=True)
class HouseholdImage:
    """A row of a table: an image, and a thing of a household that it shows."""

    image: str  # path as it stands in the table
    household: str  # its key; empty: none
    country: str | None  # None: nobody says
    region: str | None  # None: nobody says
    income: object  # as it stands in the table
    concepts: tuple[str, ...]
    imagenet: tuple[int, ...] | None = None  # right classes of ImageNet-1k, from 0; None: no such column
    checksum: str = ""  # the same for equal images; empty: their content decides


@dataclass(frozen=True, eq=False)
class Households:
    """Images from households with known incomes.

    ``annotations`` has a row for each sample: ``sample`` (unique), ``image`` (the same for equal images),
    ``household``, ``country``, ``region``, ``income`` (dollars a month, null: unknown), ``income_bucket``,
    ``concepts`` (list) and ``imagenet_classes`` (list of those that are right, null where nobody says).
    """

    name: str
    annotations: pl.DataFrame
    images: ImageFiles  # in the order of the rows
    imagenet_names: Mapping[int, str] = field(default_factory=dict)  # class -> name, where the table has it
    dropped: Mapping[str, int] = field(default_factory=dict)  # rows that became no sample, by reason
    notes: Mapping[str, int] = field(default_factory=dict)  # what else is worth knowing, with how many
    coverage: Sequence[Coverage] = ()
    paper_counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)  # column -> group; "": rest

    def counts(self, column: str) -> dict[str, int]:
        """How many households each group has, those without one left out."""
        table = self.annotations.select("household", column).drop_nulls().unique()
        return dict(sorted(table[column].value_counts(sort=False).rows()))

    @property
    def concepts(self) -> list[str]:
        """All that the images show, sorted."""
        return sorted(self.annotations["concepts"].explode().drop_nulls().unique().to_list())


def households_of(
    name: str,
    rows: Sequence[HouseholdImage],
    listing: Listing,
    *,
    duplicates: str,  # one of ``DUPLICATES``
    dropped: Counter[str],  # rows that fell out before, by reason
    by_name: bool = False,  # whether an image not at its path may be the only one of its file name
    imagenet_names: Mapping[int, str] | None = None,  # class of ImageNet-1k -> name
    paper_counts: Mapping[str, Mapping[str, int]] | None = None,
) -> Households:
    """Make samples of rows.

    Equal images have one checksum; without, one content. A household with several incomes is several
    households, as in the released code, which groups by income too.
    """
    check_choice("duplicates", duplicates, DUPLICATES)
    dropped, notes = Counter(dropped), Counter(listing.passed)
    usable = [row for row in rows if not _fault(row, dropped)]
    incomes = [_income(row.income) for row in usable]
    notes[NO_INCOME] += sum(income is None for income in incomes)
    keys = _household_keys(usable, incomes, notes)
    places = _places(usable, listing, by_name, notes)
    content = _content(usable, places)
    groups = _alike(usable, keys, content, duplicates)
    _repeated(usable, places, groups, dropped)
    first_rows, row_groups = _there(groups, places, dropped, notes)
    table = _table(usable, keys, incomes, first_rows, row_groups, content)
    notes[SEVERAL_CONCEPTS] += int((table["concepts"].list.len() > 1).sum())
    owners = table.group_by("image").agg(pl.col("household").n_unique())
    notes[SHARED] += int((owners["household"] > 1).sum())
    notes[OUTSIDE] += int((table["income"].is_not_null() & table["income_bucket"].is_null()).sum())
    there = sum(map(len, row_groups))
    return Households(
        name=name,
        annotations=table,
        images=ImageFiles([places[index] for index in first_rows]),
        imagenet_names=dict(imagenet_names or {}),
        dropped=dict(+dropped),
        notes=dict(+notes),
        coverage=(Coverage("rows with an image", there, there + dropped[NO_IMAGE]),),
        paper_counts=paper_counts or {},
    )


def _fault(row: HouseholdImage, dropped: Counter[str]) -> bool:
    faults = ((not row.image, NO_IMAGE), (not row.household, NO_HOUSEHOLD), (not row.concepts, NO_CONCEPT))
    reason = next((reason for wrong, reason in faults if wrong), "")
    dropped[reason] += bool(reason)
    return bool(reason)


def _income(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number > 0 else None


def _household_keys(
    rows: Sequence[HouseholdImage], incomes: Sequence[float | None], notes: Counter[str]
) -> list[str]:
    """Keys under which everything about a household is the same; later ones end in ``#2``, ``#3`` ..."""
    kinds: dict[str, dict[tuple[object, ...], str]] = {}
    used_keys = {row.household for row in rows}
    keys = []
    for row, income in zip(rows, incomes, strict=True):
        keys_by_kind = kinds.setdefault(row.household, {})
        kind = (row.country, row.region, income)
        if kind not in keys_by_kind:
            number, key = len(keys_by_kind) + 1, row.household
            while number > 1 and (key := f"{row.household}#{number}") in used_keys:
                number += 1
            used_keys.add(key)
            keys_by_kind[kind] = key
        keys.append(keys_by_kind[kind])
    notes[SPLIT] += sum(len(keys_by_kind) > 1 for keys_by_kind in kinds.values())
    return keys


def _places(
    rows: Sequence[HouseholdImage], listing: Listing, by_name: bool, notes: Counter[str]
) -> list[str]:
    """Where the image of each row lies, whatever the case and the ending; empty where it does not."""
    path_ends = {key: len(key) for key in map(_parts, (row.image for row in rows))}
    depths = sorted(set(path_ends.values()), reverse=True)
    places: dict[tuple[str, ...], str] = {}
    names: dict[str, list[str]] = defaultdict(list)
    for image in listing.images:
        parts = _parts(f"{listing.folder.as_posix()}/{image}")
        for end in (parts[-depth:] for depth in depths):
            if end in path_ends:
                places.setdefault(end, image)
        names[parts[-1]].append(image)
    paths = []
    for row in rows:
        parts = _parts(row.image)
        path, same = places.get(parts), names.get(parts[-1], [])
        if path is None and by_name and len(same) == 1:
            path = same[0]
            notes[BY_NAME] += 1
        paths.append(str(listing.folder / path) if path is not None else "")
    return paths


def _parts(path: str) -> tuple[str, ...]:
    """A path without its ending, in lower case."""
    parts = [part for part in path.casefold().replace("\\", "/").split("/") if part not in ("", ".")]
    return (*parts[:-1], os.path.splitext(parts[-1])[0]) if parts else ("",)


def _content(rows: Sequence[HouseholdImage], places: Sequence[str]) -> list[str]:
    """What tells images without a checksum apart: their sha256 where another file has the same size."""
    paths = sorted({file for row, file in zip(rows, places, strict=True) if file and not row.checksum})
    sizes: dict[int, list[str]] = defaultdict(list)
    for path in paths:
        sizes[os.path.getsize(path) if os.path.isfile(path) else -1].append(path)
    alike = [path for same in sizes.values() if len(same) > 1 for path in same]
    hashes = {path: result[0] for path, result in zip(alike, sha256_each(alike), strict=True)
              if not isinstance(result, OSError)}  # fmt: skip
    return [hashes.get(file, file) for file in places]


def _alike(
    rows: Sequence[HouseholdImage], keys: Sequence[str], content: Sequence[str], duplicates: str
) -> dict[tuple[object, ...], list[int]]:
    """Rows that become one sample, by household and image."""
    groups: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        image = row.checksum or content[index]
        alone = () if duplicates == "paper" and image else (index,)
        groups[keys[index], image, *alone].append(index)
    return groups


def _repeated(
    rows: Sequence[HouseholdImage],
    places: Sequence[str],
    groups: dict[tuple[object, ...], list[int]],
    dropped: Counter[str],
) -> None:
    """Leave out rows that say the same again, and rows that name another row's file as another image."""
    seen_lines: set[tuple[object, ...]] = set()
    of_file: dict[str, tuple[object, ...]] = {}
    for key in list(groups):
        members = []
        for index in groups[key]:
            row, path = rows[index], places[index]
            line = (row.image, key[0], row.checksum, row.concepts, row.imagenet)
            owner = of_file.setdefault(path, (key[0], row.checksum)) if path else (key[0], row.checksum)
            if line in seen_lines:
                dropped[LISTED_TWICE] += 1
            elif owner != (key[0], row.checksum):
                dropped[SAME_FILE] += 1
            else:
                seen_lines.add(line)
                members.append(index)
        groups[key] = members
        if not members:
            del groups[key]


def _there(
    groups: Mapping[tuple[object, ...], list[int]],
    places: Sequence[str],
    dropped: Counter[str],
    notes: Counter[str],
) -> tuple[list[int], list[list[int]]]:
    """The first row of each sample whose image is there, and all of its rows."""
    first_rows, row_groups = [], []
    for members in groups.values():
        first = next((index for index in members if places[index]), None)
        if first is None:
            dropped[NO_IMAGE] += len(members)
            continue
        first_rows.append(first)
        row_groups.append(members)
        notes[SAME_IMAGE] += len(members) - 1
    return first_rows, row_groups


def _table(
    rows: Sequence[HouseholdImage],
    keys: Sequence[str],
    incomes: Sequence[float | None],
    first_rows: Sequence[int],
    row_groups: Sequence[Sequence[int]],
    content: Sequence[str],
) -> pl.DataFrame:
    samples = unique_ids(None, None, [rows[index].image for index in first_rows])[0]
    images = [rows[index].checksum or content[index] for index in first_rows]
    number = {image: str(image_number) for image_number, image in enumerate(dict.fromkeys(images))}
    labels = [_union(rows[index].concepts for index in members) for members in row_groups]
    classes = [
        None if rows[members[0]].imagenet is None else _union(rows[index].imagenet or () for index in members)
        for members in row_groups
    ]
    table = pl.DataFrame(
        {
            "sample": pl.Series(samples, dtype=pl.String),
            "image": pl.Series([number[image] for image in images], dtype=pl.String),
            "household": pl.Series([keys[index] for index in first_rows], dtype=pl.String),
            "country": pl.Series([rows[index].country for index in first_rows], dtype=pl.String),
            "region": pl.Series([rows[index].region for index in first_rows], dtype=pl.String),
            "income": pl.Series([incomes[index] for index in first_rows], dtype=pl.Float64),
            "concepts": pl.Series(labels, dtype=pl.List(pl.String)),
            "imagenet_classes": pl.Series(classes, dtype=pl.List(pl.Int64)),
        }
    )
    return table.with_columns(income_buckets(table["income"])).select(
        "sample", "image", "household", "country", "region", "income", "income_bucket", "concepts",
        "imagenet_classes",
    )  # fmt: skip


def _union(several: Iterable[tuple[object, ...]]) -> list[object]:
    return list(dict.fromkeys(value for some in several for value in some))
