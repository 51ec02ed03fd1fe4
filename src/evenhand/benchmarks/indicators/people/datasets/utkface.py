"""UTKFace: faces whose age, gender and race stand in the file name."""

from __future__ import annotations

from collections import Counter

import polars as pl

from evenhand.benchmarks.attributes import ANNOTATORS, AnnotatedAttribute
from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.indicators.people.ages import CC_AGES, UTK_AGES, cc_age, utk_age
from evenhand.benchmarks.indicators.people.samples import People
from evenhand.files.images.sources import ImageFiles

NAME = "utkface"
LAYOUT = "[age]_[gender]_[race]_[date].jpg, aligned crops [age]_[gender]_[race]_[date].jpg.chip.jpg"

GENDERS: dict[str, str] = {"0": "male", "1": "female"}
RACES: dict[str, str] = {"0": "white", "1": "black", "2": "asian", "3": "indian", "4": "others"}

PAPER_COUNTS = {
    "": {"images": 24_108},
    "perceived_gender": {"female": 11_525, "male": 12_583},
    "perceived_age": {"18-30": 7_728, "30-45": 5_727, "45-70": 4_712, "70+": 1_414},
}
"""Of Table 4 of the paper, which are those of the images in the wild; its age groups are those of Casual
Conversations."""

_ALIGNED = ".chip.jpg"
_OLDEST = 130

DEFINITIONS = {
    attribute.name: attribute
    for attribute in (
        AnnotatedAttribute("perceived_gender", "gender", ANNOTATORS, tuple(GENDERS.values())),
        AnnotatedAttribute("perceived_age", "age", ANNOTATORS, CC_AGES),
        AnnotatedAttribute("perceived_age_utk", "age_utk", ANNOTATORS, UTK_AGES),
        AnnotatedAttribute("perceived_race", "race", ANNOTATORS, tuple(RACES.values())),
    )
}
"""Age, gender and race were estimated by a model and checked by an annotator."""


def fault_of(name: str) -> str:
    """What is wrong with a file name of UTKFace; empty if it can be read."""
    parts = name.partition(".")[0].split("_")
    if len(parts) != 4:
        return f"name with {len(parts)} parts instead of age, gender, race and date"
    values = dict(zip(("age", "gender", "race", "date"), (part.strip() for part in parts), strict=True))
    empty = next((what for what, value in values.items() if not value), "")
    if empty:
        return f"name without {empty}"
    age = values["age"]
    checks = (
        (not (age.isascii() and age.isdigit() and int(age) <= _OLDEST), "age"),
        (values["gender"] not in GENDERS, "gender"),
        (values["race"] not in RACES, "race"),
    )
    return next((f"name with unknown {what}" for wrong, what in checks if wrong), "")


def looks_like(listing: Listing) -> bool:
    """Whether most images of a folder have names of UTKFace."""
    some = listing.images[:: max(1, len(listing.images) // 200)]
    return bool(some) and 2 * sum(not fault_of(_file(image)) for image in some) > len(some)


def read_utkface(listing: Listing) -> People:
    """Faces with what their file names say.

    Attributes: ``perceived_gender``, ``perceived_race``, ``perceived_age`` (the groups of Casual
    Conversations, as in the paper's Table 4), ``perceived_age_utk`` (those of the released code), and the
    column ``perceived_years``. A face that is there aligned and in the wild counts once, in the wild, as
    in the paper. Nobody says whose face it is.
    """
    dropped: Counter[str] = Counter()
    rows: dict[str, tuple[str, list[str]]] = {}
    for image in sorted(listing.images, key=lambda path: (path.endswith(_ALIGNED), path)):
        name = _file(image)
        fault = fault_of(name)
        face = name.removesuffix(_ALIGNED)
        if fault:
            dropped[fault] += 1
        elif face in rows:
            aligned = image.endswith(_ALIGNED) and not rows[face][0].endswith(_ALIGNED)
            dropped["aligned crop of a face that is there" if aligned else "file name in a second place"] += 1
        else:
            rows[face] = image, [part.strip() for part in name.partition(".")[0].split("_")]
    return People(
        name=NAME,
        annotations=_table(list(rows.values())),
        images=ImageFiles([listing.folder / image for image, _ in rows.values()]),
        definitions=DEFINITIONS,
        dropped=dict(dropped),
        notes=dict(listing.passed),
        paper_counts=PAPER_COUNTS,
    )


def _table(rows: list[tuple[str, list[str]]]) -> pl.DataFrame:
    years = [int(parts[0]) for _, parts in rows]
    return pl.DataFrame(
        {
            "sample": pl.Series([image for image, _ in rows], dtype=pl.String),
            "subject": pl.Series([None] * len(rows), dtype=pl.String),
            "perceived_years": pl.Series(years, dtype=pl.Int64),
            "perceived_gender": pl.Series([GENDERS[parts[1]] for _, parts in rows], dtype=pl.String),
            "perceived_age": pl.Series([cc_age(str(year)) for year in years], dtype=pl.String),
            "perceived_age_utk": pl.Series([utk_age(year) for year in years], dtype=pl.String),
            "perceived_race": pl.Series([RACES[parts[2]] for _, parts in rows], dtype=pl.String),
        }
    )


def _file(path: str) -> str:
    return path.rpartition("/")[2]
