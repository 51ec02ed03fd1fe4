"""FairFace as DataComp packs it: tar shards, a vector of class numbers beside each face, lists of words."""

from __future__ import annotations

import polars as pl

from evenhand.benchmarks.attributes import ANNOTATORS, AnnotatedAttribute
from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, unique_ids
from evenhand.benchmarks.datasets.readers.webdataset import coded, read_shards, shards_in
from evenhand.benchmarks.indicators.people.samples import People
from evenhand.benchmarks.labelling.objectives import CLASSES, TEMPLATES, words_by_objective
from evenhand.core.errors import InputError

NAME = "fairface_shards"
LAYOUT = f"test/*.tar with .npy vectors of age, gender and race, {CLASSES} and {TEMPLATES}"
OBJECTIVES: tuple[str, ...] = ("age", "gender", "race")
"""What the numbers of a vector are about, in their order; a fourth, White or not, follows from the third."""


def looks_like(listing: Listing) -> bool:
    """Whether a folder holds the lists of words and shards."""
    folder = listing.folder
    return (folder / CLASSES).is_file() and (folder / TEMPLATES).is_file() and bool(shards_in(folder))


def read_fairface_shards(listing: Listing) -> People:
    """The faces of all shards; groups are called as ``classnames.txt`` calls them.

    Attributes: ``perceived_age``, ``perceived_gender`` and ``perceived_race``.
    """
    folder = listing.folder
    classes = words_by_objective(folder / CLASSES)
    columns = {objective: f"npy.{index}" for index, objective in enumerate(OBJECTIVES)}
    shards = shards_in(folder)
    if not shards:
        raise InputError(f"{str(folder)!r} has no shards; it should hold {LAYOUT}")
    rows = read_shards(shards, ColumnSpec(by=tuple(columns.values())))
    table = {"sample": pl.Series(unique_ids(None, None, rows.places)[0], dtype=pl.String)}
    table["subject"] = pl.Series([None] * len(rows.places), dtype=pl.String)
    for objective, column in columns.items():
        numbers, names = rows.table[column], classes.get(objective, ())
        table[f"perceived_{objective}"] = coded(numbers, names, objective, f"mend {CLASSES}")
    definitions = {
        f"perceived_{name}": AnnotatedAttribute(f"perceived_{name}", name, ANNOTATORS, classes[name])
        for name in OBJECTIVES
    }
    return People(NAME, pl.DataFrame(table), rows.images, definitions, dropped=rows.dropped)
