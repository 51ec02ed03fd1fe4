"""Queries and a database of pictures of people, of which none is in both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.attributes import USER, shared_attribute
from evenhand.benchmarks.benchmark import Setting
from evenhand.benchmarks.datasets.listing import list_files
from evenhand.benchmarks.indicators.people.datasets.layouts import kind_of, read_people
from evenhand.benchmarks.indicators.people.datasets.miap import NAME as MIAP
from evenhand.benchmarks.indicators.people.samples import People
from evenhand.benchmarks.indicators.people.table import NAME as USERS
from evenhand.benchmarks.indicators.settings import AUTO, first_people
from evenhand.core.errors import InputError, ParameterError, UserError
from evenhand.core.requests import UnreadableImage
from evenhand.evidence.neighbours import CONTENT
from evenhand.files.images.cropped import ChosenImages

BY_CONTENT = "content"
"""One table is split by what its images hold, the same on every machine."""

_BLOCK = 1024
_MARKS = ("queries/", "database/")


@dataclass(frozen=True, eq=False)
class QueryDatabaseSplit:
    """Who is asked about, and among whom is searched."""

    queries: People  # whose neighbours are searched
    database: People  # has the matched attribute under the queries' name
    match: str  # the attribute to match, as the queries call it
    called: str  # how the database's own table calls it
    notes: dict[str, int] = field(default_factory=dict)  # what else is worth knowing, with how many
    remarks: tuple[str, ...] = ()  # what every number has to be read with

    @property
    def dropped(self) -> dict[str, int]:
        """What became no sample on either side, by reason."""
        return _both(self.queries.dropped, self.database.dropped)


def read_two_sides(setting: Setting) -> QueryDatabaseSplit:
    """The two sides that a setting names: two tables, or one that is split."""
    if setting.data is None:
        raise InputError("retrieval needs a database of pictures of people; give --data FOLDER, or TABLE")
    params = {name: str(value) for name, value in setting.parameters.items()}
    how: dict[str, Any] = {"unknown": params["unknown"], "crop": params["crop"]}
    if params["queries"]:
        if params["split"] != BY_CONTENT:
            raise ParameterError("-p split= is for one table; with -p queries= leave it out")
        database = first_people(read_people(setting.data, params["kind"], **how), setting.limit)
        path = Path(params["queries"]).expanduser()
        queries = first_people(read_people(path, params["query_kind"], **how), setting.limit)
        queries, database = (
            _marked(people, mark) for people, mark in zip((queries, database), _MARKS, strict=True)
        )
        notes = _both(queries.notes, database.notes)
    elif params["split"] == BY_CONTENT:
        all_people = read_people(setting.data, params["kind"], **how)
        queries, database = _halves(all_people, float(setting.parameters["share"]), setting.limit)
        notes = dict(all_people.notes)
        queries = replace(queries, dropped={})  # those of the table are told once
    else:
        queries, database = _splits(setting.data, params["kind"], params["split"], how)
        notes = dict(database.notes)
        queries, database = (first_people(side, setting.limit) for side in (queries, database))
    database, remarks = _other_people(queries, database)
    query_attribute, database_attribute = shared_attribute(
        queries.definitions,
        database.definitions,
        params["match"],
        query_levels=_levels(queries, params["match"]),
        database_levels=_levels(database, params["match"]),
    )
    return QueryDatabaseSplit(
        replace(queries, annotations=_with_content(queries)),
        replace(database, annotations=_with_content(_called(database, database_attribute, query_attribute))),
        query_attribute,
        database_attribute,
        notes,
        (*remarks, *_given_otherwise(queries, query_attribute, database, database_attribute)),
    )


def _levels(people: People, match: str) -> list[str]:
    """Groups of the attribute that a name or an axis means; none where there is no such attribute."""
    columns = [match] if match in people.definitions else []
    columns += [name for name, definition in people.definitions.items() if definition.axis == match]
    return list(people.counts(columns[0])) if columns else []


def _called(people: People, name: str, new_name: str) -> People:
    """These people with one attribute under another name, and without another one of that name."""
    if name == new_name:
        return people
    table = people.annotations.drop(new_name, strict=False).rename({name: new_name})
    return replace(people, annotations=table)


def _halves(people: People, share: float, limit: int | None) -> tuple[People, People]:
    """Queries and database of one table, split by what its images hold."""
    if not 0 < share < 1:
        raise ParameterError(f"-p share={share:g} is not possible; give a share of queries such as 0.3")
    query_mask = _by_content(people, share)
    places = [[i for i, query in enumerate(query_mask) if query == is_query] for is_query in (True, False)]
    if not all(places):
        raise UserError(
            f"{len(query_mask)} pictures split at -p share={share:g} leave nobody on one side; give more "
            "pictures, another share, or -p queries=FOLDER"
        )
    queries, database = (first_people(_chosen(people, indices), limit) for indices in places)
    return queries, database


def _splits(data: Path, kind: str, split: str, how: Mapping[str, Any]) -> tuple[People, People]:
    """Queries and database as the data's own splits have them."""
    names = [name.strip() for name in split.split(":")]
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise ParameterError(
            f"-p split={split!r} is not possible; give content, or DATABASE:QUERIES such as train:val"
        )
    layout = kind_of(list_files(data), data) if kind == AUTO else kind
    if layout == MIAP:  # each of its splits is a table of its own
        database, queries = (read_people(data, layout, split=name, **how) for name in names)
        return replace(queries, notes={}), replace(database, notes=_both(queries.notes, database.notes))
    people = read_people(data, kind, **how)
    if "split" not in people.definitions:
        raise InputError(f"{people.name} has no splits; give -p split=content, or -p queries=FOLDER")
    database, queries = (people.where("split", [name]) for name in names)
    return replace(queries, dropped={}), database  # what the table has lost is told once


def _other_people(queries: People, database: People) -> tuple[People, tuple[str, ...]]:
    """The database without pictures of the people who are asked about, and what has to be said of it.

    The nearest picture of a person is easily another one of that person. Ids of people in two tables of
    users may be the same by chance, so there the pictures stay, and a remark counts them.
    """
    if queries.name != database.name or not queries.clusters or not database.clusters:
        return database, ()
    query_clusters = queries.annotations[queries.clusters].drop_nulls().unique()
    same = database.annotations[database.clusters].is_in(query_clusters.to_list()).fill_null(False)
    count = int(same.sum())
    if not count:
        return database, ()
    if queries.name == USERS:
        remark = (
            f"{count} of {same.len()} database samples have the {database.clusters} of a query; where they "
            "show the same person, precision is too high"
        )
        return database, (remark,)
    if count == same.len():
        raise UserError(
            f"everybody in the database is a query too, by {database.clusters}; give other people, or "
            "-p split=content"
        )
    dropped = _both(database.dropped, {"database: person or photo that is a query too": count})
    return replace(_chosen(database, (~same).arg_true().to_list()), dropped=dropped), ()


def _given_otherwise(
    queries: People, query_attribute: str, database: People, database_attribute: str
) -> tuple[str, ...]:
    """A remark where one side's groups are the people's own words and the other's what annotators saw."""
    who = (
        queries.definitions[query_attribute].annotated_by,
        database.definitions[database_attribute].annotated_by,
    )
    if who[0] == who[1] or USER in who:
        return ()
    return (
        f"{query_attribute} of the queries comes from {who[0]}, {database_attribute} of the database from "
        f"{who[1]}; where these differ, a right neighbour counts as a wrong one",
    )


def _chosen(people: People, rows: Sequence[int]) -> People:
    """Some of these people."""
    rows = list(rows)
    return replace(people, annotations=people.annotations[rows], images=ChosenImages(people.images, rows))


def _by_content(people: People, share: float) -> list[bool]:
    """Whether each picture is a query; all of one cluster (a person, a photo) are on one side."""
    digests = _digests(people)
    clusters = people.annotations[people.clusters].to_list() if people.clusters else [None] * len(digests)
    keys = [
        f"c{cluster}" if cluster is not None else f"s{digest or name}"
        for cluster, digest, name in zip(
            clusters, digests, people.annotations["sample"].to_list(), strict=True
        )
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
    digests: list[str] = []
    for start in range(0, len(images), _BLOCK):
        stop = min(start + _BLOCK, len(images))
        digests += [digest if isinstance(digest, str) else "" for digest in _some(images, start, stop)]
    return digests


def _some(images: Any, start: int, stop: int) -> Sequence[str | UnreadableImage]:
    if hasattr(images, "digests"):
        some: Sequence[str | UnreadableImage] = images.digests(start, stop)
        return some
    digests: list[str | UnreadableImage] = []
    for index in range(start, stop):
        try:
            digests.append(images.digest(index))
        except UnreadableImage as problem:
            digests.append(problem)
    return digests


def _marked(people: People, mark: str) -> People:
    """Ids of two tables may be the same, so each says which one it is of."""
    return replace(people, annotations=people.annotations.with_columns(sample=mark + pl.col("sample")))


def _both(first: Any, second: Any) -> dict[str, int]:
    totals = dict(first)
    for reason, count in second.items():
        totals[reason] = totals.get(reason, 0) + count
    return totals
