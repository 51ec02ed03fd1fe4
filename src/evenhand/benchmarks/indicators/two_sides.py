"""Queries and a database of pictures of people, of which none is in both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.declaration import Setting
from evenhand.benchmarks.indicators.attributes import shared_attribute
from evenhand.benchmarks.indicators.people import read_people
from evenhand.benchmarks.indicators.people_samples import People
from evenhand.benchmarks.indicators.settings import first_people
from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.core.questions import UnreadableImage
from evenhand.evidence.neighbours import CONTENT
from evenhand.files.cropped_images import ChosenImages

BY_CONTENT = "content"
"""One table is split by what its images hold, the same on every machine."""

_BLOCK = 1024
_MARKS = ("queries/", "database/")


@dataclass(frozen=True, eq=False)
class TwoSides:
    """Who is asked about, and among whom is searched.

    Attributes:
        queries: Whose neighbours are looked for.
        database: Where they are looked for; the attribute to match is called as that of the queries.
        match: The attribute to match, as the queries call it.
        called: How the database's own table calls it.
        notes: What else is worth knowing, with how many.
    """

    queries: People
    database: People
    match: str
    called: str
    notes: dict[str, int] = field(default_factory=dict)

    @property
    def dropped(self) -> dict[str, int]:
        """What became no sample on either side, by reason."""
        return _both(self.queries.dropped, self.database.dropped)


def read_two_sides(setting: Setting) -> TwoSides:
    """The two sides that a setting names: two tables, or one that is split.

    Raises:
        UserError: No data, nobody on one side, or an attribute that not both have or that means different
            groups.
    """
    if setting.data is None:
        raise InputError("retrieval needs a database of pictures of people; give --data FOLDER, or TABLE")
    given = {name: str(value) for name, value in setting.parameters.items()}
    how: dict[str, Any] = {"unknown": given["unknown"], "crop": given["crop"]}
    if given["queries"]:
        if given["split"] != BY_CONTENT:
            raise ParameterError("-p split= is for one table; with -p queries= leave it out")
        database = first_people(read_people(setting.data, given["kind"], **how), setting.limit)
        place = Path(given["queries"]).expanduser()
        queries = first_people(read_people(place, given["query_kind"], **how), setting.limit)
        queries, database = (
            _marked(one, mark) for one, mark in zip((queries, database), _MARKS, strict=True)
        )
        notes = _both(queries.notes, database.notes)
    else:
        whole = read_people(setting.data, given["kind"], **how)
        queries, database = _halves(whole, given["split"], float(setting.parameters["share"]), setting.limit)
        notes = dict(whole.notes)
        queries = replace(queries, dropped={})  # those of the table are told once
    ours, theirs = shared_attribute(
        queries.definitions,
        database.definitions,
        given["match"],
        query_levels=_levels(queries, given["match"]),
        database_levels=_levels(database, given["match"]),
    )
    return TwoSides(
        replace(queries, annotations=_with_content(queries)),
        replace(database, annotations=_with_content(_called(database, theirs, ours))),
        ours,
        theirs,
        notes,
    )


def _levels(people: People, match: str) -> list[str]:
    """Groups of the attribute that a name or an axis means; none where there is no such attribute."""
    columns = [match] if match in people.definitions else []
    columns += [name for name, each in people.definitions.items() if each.axis == match]
    return list(people.counts(columns[0])) if columns else []


def _called(people: People, name: str, wanted: str) -> People:
    """These people with one attribute under another name, and without another one of that name."""
    if name == wanted:
        return people
    table = people.annotations.drop(wanted, strict=False).rename({name: wanted})
    return replace(people, annotations=table)


def _halves(whole: People, split: str, share: float, limit: int | None) -> tuple[People, People]:
    """Queries and database of one table."""
    if split == BY_CONTENT:
        if not 0 < share < 1:
            raise ParameterError(f"-p share={share:g} is not possible; give a share of queries such as 0.3")
        chosen = _by_content(whole, share)
        places = [[i for i, query in enumerate(chosen) if query == wanted] for wanted in (True, False)]
        if not all(places):
            raise UserError(
                f"{len(chosen)} pictures split at -p share={share:g} leave nobody on one side; give more "
                "pictures, another share, or -p queries=FOLDER"
            )
        sides = [
            replace(whole, annotations=whole.annotations[kept], images=ChosenImages(whole.images, kept))
            for kept in places
        ]
    else:
        names = [name.strip() for name in split.split(":")]
        if len(names) != 2 or not all(names) or names[0] == names[1]:
            raise ParameterError(
                f"-p split={split!r} is not possible; give content, or DATABASE:QUERIES such as train:val"
            )
        if "split" not in whole.definitions:
            raise InputError(f"{whole.name} has no splits; give -p split=content, or -p queries=FOLDER")
        sides = [whole.where("split", [name]) for name in reversed(names)]
    queries, database = (first_people(side, limit) for side in sides)
    return queries, database


def _by_content(whole: People, share: float) -> list[bool]:
    """Whether each picture is a query; all of one cluster (a person, a photo) are on one side."""
    digests = _digests(whole)
    own = whole.annotations[whole.clusters].to_list() if whole.clusters else [None] * len(digests)
    keys = [
        f"c{one}" if one is not None else f"s{digest or name}"
        for one, digest, name in zip(own, digests, whole.annotations["sample"].to_list(), strict=True)
    ]
    first: dict[str, str] = defaultdict(lambda: "g")
    for key, digest in zip(keys, digests, strict=True):
        if digest:
            first[key] = min(first[key], digest)
    return [first[key] != "g" and int(first[key][:8], 16) < share * 16**8 for key in keys]


def _with_content(people: People) -> pl.DataFrame:
    """Annotations with a hash of each picture, null where it cannot be read."""
    return people.annotations.with_columns(
        pl.Series(CONTENT, [digest or None for digest in _digests(people)], dtype=pl.String)
    )


def _digests(people: People) -> list[str]:
    """A hash of each picture, empty where it cannot be read."""
    images: Any = people.images
    found: list[str] = []
    for start in range(0, len(images), _BLOCK):
        stop = min(start + _BLOCK, len(images))
        found += [one if isinstance(one, str) else "" for one in _some(images, start, stop)]
    return found


def _some(images: Any, start: int, stop: int) -> Sequence[str | UnreadableImage]:
    if hasattr(images, "digests"):
        some: Sequence[str | UnreadableImage] = images.digests(start, stop)
        return some
    found: list[str | UnreadableImage] = []
    for index in range(start, stop):
        try:
            found.append(images.digest(index))
        except UnreadableImage as problem:
            found.append(problem)
    return found


def _marked(people: People, mark: str) -> People:
    """Ids of two tables may be the same, so each says which one it is of."""
    return replace(people, annotations=people.annotations.with_columns(sample=mark + pl.col("sample")))


def _both(first: Any, second: Any) -> dict[str, int]:
    found = dict(first)
    for reason, count in second.items():
        found[reason] = found.get(reason, 0) + count
    return found
