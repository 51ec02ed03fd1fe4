"""FairFace: faces with annotated age group, gender and race, from its tables of labels."""

from __future__ import annotations

from collections import Counter

import polars as pl

from evenhand.benchmarks.attributes import ANNOTATORS, RECORDED, AnnotatedAttribute
from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.indicators.people.ages import FAIRFACE_AGES, fairface_age
from evenhand.benchmarks.indicators.people.samples import Coverage, People
from evenhand.core.errors import InputError, check_known
from evenhand.files.images.sources import ImageFiles
from evenhand.files.tables import scan as sources

NAME = "fairface"
LAYOUT = "fairface_label_train.csv and/or fairface_label_val.csv, and the images train/*.jpg and val/*.jpg"
START = "fairface_label"

GENDERS = ("male", "female")
RACES = ("White", "Black", "Latino_Hispanic", "East Asian", "Southeast Asian", "Indian", "Middle Eastern")
VALIDATION = 10_954
"""Images of the validation split."""

DEFINITIONS = {
    attribute.name: attribute
    for attribute in (
        AnnotatedAttribute("perceived_gender", "gender", ANNOTATORS, GENDERS),
        AnnotatedAttribute("perceived_age", "age", ANNOTATORS, FAIRFACE_AGES),
        AnnotatedAttribute("perceived_race", "race", ANNOTATORS, RACES),
        AnnotatedAttribute("service_test", "service_test", RECORDED, ("yes", "no")),
        AnnotatedAttribute("split", "split", RECORDED, ("train", "val")),
    )
}

_COLUMNS = ("file", "age", "gender", "race", "service_test")
_YES = {"true": "yes", "1": "yes", "false": "no", "0": "no"}


def read_fairface(listing: Listing) -> People:
    """Faces that the tables name and that are there.

    Attributes: ``perceived_gender``, ``perceived_age`` (its nine groups), ``perceived_race`` (its seven),
    ``service_test`` and ``split``. An image of the table lies at its path in any folder; where releases of
    several margins lie side by side, the first folder wins, and the others are counted.
    """
    tables = listing.named(START, ending=".csv")
    if not tables:
        raise InputError(f"{str(listing.folder)!r} has no {START}_*.csv; it should hold {LAYOUT}")
    rows = pl.concat([_read(listing, table) for table in tables])
    places, twice = listing.ending_so(set(rows["file"].to_list()))
    dropped: Counter[str] = Counter()
    row_indices, paths = [], []
    seen: set[str] = set()
    for index, file in enumerate(rows["file"].to_list()):
        if file in seen or file not in places:
            dropped["file named before" if file in seen else "no such image"] += 1
            continue
        seen.add(file)
        row_indices.append(index)
        paths.append(places[file])
    return People(
        name=NAME,
        annotations=_table(rows[row_indices], paths),
        images=ImageFiles([listing.folder / path for path in paths]),
        definitions=DEFINITIONS,
        dropped=dict(dropped),
        notes={**listing.passed, **({"image in a second folder": twice} if twice else {})},
        coverage=(Coverage("images of the tables", len(paths), rows.height),),
        paper_counts={"split": {"val": VALIDATION}},
    )


def _read(listing: Listing, table: str) -> pl.DataFrame:
    path = listing.folder / table
    with sources.reading(path):
        frame = sources.scan(path)[0].collect()
    check_known(f"column of {table}", _COLUMNS[:4], frame.columns)
    if "service_test" not in frame.columns:
        frame = frame.with_columns(service_test=pl.lit(None, pl.String))
    split = path.stem.casefold().removeprefix(START).strip("_") or None
    return frame.filter(pl.col("file").is_not_null()).select(*_COLUMNS, split=pl.lit(split, pl.String))


def _table(rows: pl.DataFrame, places: list[str]) -> pl.DataFrame:
    ages = [None if age is None else fairface_age(age) for age in rows["age"].to_list()]
    return pl.DataFrame(
        {
            "sample": pl.Series(places, dtype=pl.String),
            "subject": pl.Series([None] * rows.height, dtype=pl.String),
            "perceived_gender": rows["gender"].str.to_lowercase(),
            "perceived_age": pl.Series(ages, dtype=pl.String),
            "perceived_race": rows["race"],
            "service_test": rows["service_test"].str.to_lowercase().replace_strict(_YES, default=None),
            "split": rows["split"],
        }
    )
