"""A user's own table of pictures of people, with columns such as gender, age, race and skin tone."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.attributes import USER, AnnotatedAttribute, plain_axis
from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.datasets.readers.rows import RESERVED, ColumnSpec, ImageRows, as_text, unique_ids
from evenhand.benchmarks.datasets.readers.tables import read_table
from evenhand.benchmarks.indicators.people.ages import CC_AGES, cc_age
from evenhand.benchmarks.indicators.people.samples import Coverage, People
from evenhand.benchmarks.indicators.people.skin import SKIN_TONES, skin_tone
from evenhand.core.errors import InputError, check_known
from evenhand.core.frames import grouped
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.evidence.neighbours import CONTENT
from evenhand.files.images.sources import ImageFiles
from evenhand.files.tables import scan as sources

NAME = "table"
LAYOUT = (
    "a table (CSV, TSV, JSONL, Parquet) with a column of image paths and columns such as gender, age, race"
)

IMAGES: tuple[str, ...] = ("img_path", "image_path", "file_path", "filepath", "path", "file", "file_name",
                           "filename", "image")  # fmt: skip
"""Columns taken for the images' paths, the likeliest first."""

SUBJECTS: tuple[str, ...] = ("subject", "subject_id", "person", "person_id", "identity")
"""Columns taken for who is in the picture."""

_IDS = ("sample", "id")
_MOST = 1_000
_VARIED = "column with too many values to be an attribute"
_REPEATED = "sample id on an earlier row"
_BY_NAME = "image found by its file name alone"


def read_people_table(
    table: Path,  # paths in it begin in its folder
    listing: Listing,  # images beside the table
    *,
    attributes: Sequence[str] = (),  # columns; empty: all
    image: str = "",  # column of paths, or of images in Parquet; empty: one of ``IMAGES``
    subject: str = "",  # column of who is in the picture; empty: one of ``SUBJECTS``
) -> People:
    """The pictures of a table.

    Attributes are the columns asked for, else all columns of text, truth values or whole numbers with at most
    1,000 different values; what is passed over is counted. So that tables can be compared, values of columns
    about gender are read in lower case, spaces around values and empty texts do not count, ages in whole
    years are put into the groups of Casual Conversations (the years stay in the column ``years``; among them,
    what is no whole number is unknown), and Fitzpatrick types (``skin-type``) also give ``skin_tone``. Who
    annotated all this is not known here.
    """
    with sources.reading(table):
        lazy, _ = sources.scan(table)
        schema = lazy.collect_schema()
    names = {name.lower(): name for name in reversed(schema.names())}
    path = image or _first(names, IMAGES) or _bytes(schema)
    if not path:
        raise InputError(
            f"{str(table)!r} has no column of images (looked for {', '.join(IMAGES)}; it has "
            f"{', '.join(map(repr, schema.names()[:12]))}); rename one of them, or name it"
        )
    of = subject or _first(names, SUBJECTS)
    sample = _first(names, _IDS[:1])
    columns = list(attributes) or [
        name
        for name, dtype in schema.items()
        if name not in (path, of) and name.lower() not in (*_IDS, *RESERVED) and _plain(dtype)
    ]
    check_known("column", (*columns, *([subject] if subject else [])), schema.names())
    spec = ColumnSpec(path, None, tuple(dict.fromkeys((*columns, *([of] if of else [])))), sample or None)
    return _people(read_table(table, spec, []), columns, of, sample, listing)


def _people(rows: ImageRows, attributes: Sequence[str], of: str, sample: str, listing: Listing) -> People:
    ids, repeated = unique_ids(rows.table[sample] if sample else None, sample or None, rows.places)
    columns = {"sample": pl.Series(ids, dtype=pl.String), "subject": _subjects(rows, of)}
    definitions: dict[str, AnnotatedAttribute] = {}
    notes = Counter({_REPEATED: repeated})
    for name in attributes:
        if rows.table[name].n_unique() > _MOST:
            notes[_VARIED] += 1
            continue
        axis = plain_axis(name)
        values = _normalise(as_text(rows.table[name], name, labels=False, is_text=rows.is_text))
        columns[_free(name)] = values.str.to_lowercase() if axis == "gender" else values
        definitions[_free(name)] = AnnotatedAttribute(_free(name), axis, USER)
        years = _years(columns[name]) if axis == "age" else None
        if years is not None:
            columns |= {"years": years, name: _grouped(columns[name], years)}
            definitions[name] = AnnotatedAttribute(name, axis, USER, CC_AGES)
            notes["age in years that was put into a group"] = len(ids) - years.null_count()
        if axis == "fitzpatrick" and "skin_tone" not in attributes:
            columns["skin_tone"] = _each(skin_tone, values)
            definitions["skin_tone"] = AnnotatedAttribute("skin_tone", "skin_tone", USER, SKIN_TONES)
    dropped = Counter(rows.dropped)
    table, images = pl.DataFrame(columns), rows.images
    if isinstance(images, ImageFiles):
        there = _there(images.paths, listing, dropped, notes)
        images = ImageFiles([path for path in there if path])
        table = table.filter(pl.Series([bool(path) for path in there], dtype=pl.Boolean))
    return People(
        name=NAME,
        annotations=table,
        images=images,
        definitions=definitions,
        clusters="subject" if of else None,
        dropped=dict(+dropped),
        notes=dict(+notes),
        coverage=(Coverage("rows with an image", len(images), len(images) + sum(dropped.values())),),
    )


def _there(paths: Sequence[str], listing: Listing, dropped: Counter[str], notes: Counter[str]) -> list[str]:
    """Where each image lies: at its path, else the only file of its name; empty where there is none."""
    names = grouped(listing.images, lambda image: image.rpartition("/")[2])
    places = []
    for path in paths:
        same = names.get(os.path.basename(path), [])
        at_path = os.path.isfile(path)
        dropped["no such image"] += not at_path and not same
        dropped["image name that several files have"] += not at_path and len(same) > 1
        notes[_BY_NAME] += not at_path and len(same) == 1
        alone = str(listing.folder / same[0]) if len(same) == 1 else ""
        places.append(path if at_path else alone)
    return places


def _normalise(values: pl.Series) -> pl.Series:
    """Values without spaces around them, null for empty ones; what means unknown is in lower case."""
    bare = values.str.strip_chars()
    unknown = bare.str.to_lowercase().is_in(sorted(UNKNOWN)).fill_null(False)
    lowered = pl.select(pl.when(unknown).then(bare.str.to_lowercase()).otherwise(bare)).to_series()
    return lowered.replace({"": None}).alias(values.name)


def _years(values: pl.Series) -> pl.Series | None:
    """Ages as whole years, null for others; None unless most that are known are whole years.

    ``25.0`` is 25: a column of whole numbers with gaps is written so.
    """
    is_known = ~values.is_in(sorted(UNKNOWN)) & values.is_not_null()
    years = values.str.extract(r"^([0-9]{1,3})(?:\.0+)?$").cast(pl.Int64)
    return years if 2 * years.is_not_null().sum() > is_known.sum() else None


def _grouped(ages: pl.Series, years: pl.Series) -> pl.Series:
    """Years in the groups of Casual Conversations; other ages are unknown, as in the released code."""
    groups = [
        age if year is None and age in UNKNOWN else cc_age(age if year is None else str(year))
        for age, year in zip(ages, years, strict=True)
    ]
    return pl.Series(groups, dtype=pl.String)


def _each(of: Callable[[str | None], str | None], values: pl.Series) -> pl.Series:
    return pl.Series([of(value) for value in values.to_list()], dtype=pl.String)


def _subjects(rows: ImageRows, of: str) -> pl.Series:
    if not of:
        return pl.Series([None] * len(rows.places), dtype=pl.String)
    return as_text(rows.table[of], of, labels=False, is_text=rows.is_text)


def _free(name: str) -> str:
    """A column's name that is none of evidence's own."""
    return f"annotated_{name}" if name in (*RESERVED, "subject", CONTENT) else name


def _first(names: Mapping[str, str], possible: Sequence[str]) -> str:
    return next((names[name] for name in possible if name in names), "")


def _bytes(schema: pl.Schema) -> str:
    """The one column of images in Parquet."""
    columns = [
        name
        for name, dtype in schema.items()
        if dtype == pl.Binary
        or (isinstance(dtype, pl.Struct) and any(field.dtype == pl.Binary for field in dtype.fields))
    ]
    return columns[0] if len(columns) == 1 else ""


def _plain(dtype: pl.DataType) -> bool:
    return dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum) or dtype.is_integer()
