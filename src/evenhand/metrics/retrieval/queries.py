"""Neighbours bound to what has to match and to a grouping: which queries are in it, and of which group."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, get_args

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, ParameterError, check_choice
from evenhand.core.findings import Dropped
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.evidence.neighbours import Neighbours
from evenhand.evidence.predictions.columns.annotated import Remembering
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import By, Unknown, get_or_make, names_of
from evenhand.metrics.named_groups import Groups, NamedGroups, check_kind
from evenhand.stats.arrays import Integers, Mask, Pair, keys_and_codes

_BUCKET = re.compile(r"(?P<low>\d+)\s*[-–]\s*(?P<high>\d+)|(?P<from>\d+)\s*\+|<\s*(?P<below>\d+)")


@dataclass(frozen=True, eq=False)
class BoundQueries(NamedGroups, Remembering):
    """Queries by group, with the value that their neighbours have to have."""

    neighbours: Neighbours
    match: tuple[str, ...]  # attributes that have to match, crossed
    by: tuple[str, ...]
    rows: Integers  # of ``neighbours.queries`` that are in it
    query_labels: Integers  # code of the value of each query in it
    labels: Integers  # code of the value of each database sample; -1: no query in it has this value
    groups: Groups
    group: Integers
    apart: dict[tuple[str, ...], int]  # queries of each group whose value the database does not have
    dropped: list[Dropped]  # queries and database samples
    notes: list[str]  # what to know about both sides

    @classmethod
    def of(cls, evidence: Any, match: By, by: By, unknown: Unknown, *, paper: bool = False) -> BoundQueries:
        """Bind Neighbours to what has to match on both sides and to a grouping of the queries.

        ``exclude`` leaves queries out whose groups annotators could not tell. ``paper`` keeps those whose
        value the database does not have.
        """
        check_choice("unknown", unknown, get_args(Unknown))
        check_kind(evidence, Neighbours, "Neighbours.from_embeddings")
        alike, names = names_of(match), names_of(by)
        if not alike:
            raise ParameterError("match=[] is not possible; name an attribute of both sides")
        evidence.check_attribute(*alike, both=True)
        evidence.check_attribute(*names)
        key = ("groups", alike, names, unknown, paper)
        return get_or_make(evidence.memo, key, cls._bound, evidence, alike, names, unknown, paper)

    @classmethod
    def _bound(
        cls, evidence: Neighbours, match: tuple[str, ...], by: tuple[str, ...], unknown: Unknown, paper: bool
    ) -> BoundQueries:
        for name in match:
            _check_meaning(name, evidence.queries[name], evidence.database[name])
        query_texts, database_texts = (
            named.texts(evidence.queries, match),
            named.texts(evidence.database, match),
        )
        grouped, counts = named.texts(evidence.queries, by), dict(evidence.dropped)
        reasons = named.missing({**query_texts, **grouped})
        if unknown == "exclude":
            reasons |= named.unknown_in(grouped)
        is_included = asking = named.left_out(np.ones(evidence.queries.height, dtype=bool), reasons, counts)
        if not paper:
            database_keys = set(_keys(database_texts))
            absent = pl.Series([key not in database_keys for key in _keys(query_texts)], dtype=pl.Boolean)
            not_there = {f"{'+'.join(match)} not in the database": absent}
            is_included = named.left_out(asking, named.unknown_in(query_texts) | not_there, counts)
        elsewhere, places = named.coded(grouped, asking & ~is_included)
        apart = {group: n for group, n in zip(elsewhere, np.bincount(places).tolist(), strict=False) if n}
        values, query_labels = named.coded(query_texts, is_included)
        code = {value: number for number, value in enumerate(values)}
        labels = np.array([code.get(key, -1) for key in _keys(database_texts)], dtype=np.int64)
        notes = []
        for (name, column), unknown_ones in zip(
            database_texts.items(), named.unknown_in(database_texts).values(), strict=True
        ):
            if count := int((column.is_null() | unknown_ones).sum()):
                notes.append(f"{count} database samples have no known {name}; they count as a mismatch")
        dropped = {**counts, **{f"database: {reason}": n for reason, n in evidence.left_out.items()}}
        return cls(
            evidence, match, by, np.flatnonzero(is_included), query_labels, labels,
            *named.coded(grouped, is_included),
            apart, named.dropped_of(dropped), notes,
        )  # fmt: skip

    def without(self, gone: Mask, reason: str) -> BoundQueries:
        """The same with some queries left out, shape (n,), and counted."""
        if not gone.any():
            return self
        remaining = ~gone
        occurs, group = keys_and_codes(self.group[remaining])
        more = [*self.dropped, Dropped(reason=reason, count=int(gone.sum()))]
        return replace(
            self, rows=self.rows[remaining], query_labels=self.query_labels[remaining], group=group, memo={},
            groups=[self.groups[code] for code in occurs.tolist()] if self.by else self.groups,
            dropped=sorted(more, key=lambda loss: loss.reason),
        )  # fmt: skip

    @cached_property
    def known(self) -> Mask:
        """Groups that gaps compare: known ones, of which the database has what some queries ask for."""
        in_database = np.isin(self.query_labels, self.labels)
        return super().known & (np.bincount(self.group, in_database, len(self.groups)) > 0)

    @cached_property
    def units(self) -> tuple[Integers, Integers]:
        """Unit of each query in it, and of each database sample: clusters of the sides that have them."""
        tables = {"query": self.neighbours.queries[self.rows.tolist()], "database": self.neighbours.database}
        codes = named.units_of(tables, self.neighbours.cluster)
        return codes[: self.n], codes[self.n :]

    @cached_property
    def cluster(self) -> Integers | None:
        """Unit of each query; None where each query is its own."""
        return named.shared(self.units[0])


def _keys(columns: dict[str, pl.Series]) -> list[tuple[str, ...]]:
    return list(zip(*(column.to_list() for column in columns.values()), strict=True))


def _check_meaning(name: str, queries: pl.Series, database: pl.Series) -> None:
    """Refuse an attribute whose values mean different things on both sides."""
    left, right = _levels(queries), _levels(database)
    if not left or not right:
        return
    for left_level, right_level in product(sorted(left - right), sorted(right - left)):
        (low, high), (below, above) = _edges(left_level), _edges(right_level)
        if max(low, below) < min(high, above):
            raise InputError(
                f"{name!r} is divided differently in queries and database ({left_level!r} and "
                f"{right_level!r} overlap); annotate both in the same ranges, or match another attribute"
            )
    # of a single value each, few samples are as likely as two names of the same
    folded = [{level.strip().casefold() for level in levels} for levels in (left, right)]
    if not left & right and (folded[0] & folded[1] or min(len(left), len(right)) > 1):
        raise InputError(
            f"queries and database share no value of {name!r} ({_some(left)}; {_some(right)}); give both the "
            "same names, or match another attribute"
        )


def _levels(column: pl.Series) -> set[str]:
    texts = column.cast(pl.String).drop_nulls().unique().to_list()
    return {text for text in texts if text.lower() not in UNKNOWN}


def _some(levels: set[str]) -> str:
    examples = sorted(levels)[:6]
    return ", ".join(map(repr, examples)) + (" ..." if len(levels) > len(examples) else "")


def _edges(text: str) -> Pair:
    """Lowest and highest value of a range such as ``18-30``, ``70+`` or ``<18``; another text is no range."""
    match = _BUCKET.fullmatch(text.strip())
    if match is None:
        return np.inf, -np.inf
    if match["low"]:
        return float(match["low"]), float(match["high"])
    return (float(match["from"]), np.inf) if match["from"] else (-np.inf, float(match["below"]))
