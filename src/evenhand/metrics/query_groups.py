"""Neighbours bound to what has to match and to a grouping: which queries are in it, and of which group."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, ParameterError, check_choice
from evenhand.core.results import Dropped
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.evidence.neighbours import Neighbours
from evenhand.metrics.named_groups import NamedGroups, check_kind, dropped_of, texts
from evenhand.metrics.prepared import By, names_of

Integers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]

_BUCKET = re.compile(r"(?P<low>\d+)\s*[-–]\s*(?P<high>\d+)|(?P<from>\d+)\s*\+|<\s*(?P<below>\d+)")


@dataclass(frozen=True, eq=False)
class QueryGroups(NamedGroups):
    """Queries by group, with the value that their neighbours have to have.

    Attributes:
        neighbours: The evidence.
        match: Attributes that have to match, crossed.
        by: Attributes crossed for groups.
        rows: Queries in it, rows of ``neighbours.queries``.
        asked: Code of the value of each query in it.
        labels: Code of the value of each database sample; -1: no query in it has this value.
        groups: The groups that occur, sorted.
        group: Group of each query in it.
        known: Groups that gaps compare: every attribute is known, and the database has what some of their
            queries ask for.
        apart: Queries of each group that stand apart because the database does not have their value.
        dropped: Queries and database samples left out, by reason.
        notes: What to know about both sides.
    """

    neighbours: Neighbours
    match: tuple[str, ...]
    by: tuple[str, ...]
    rows: Integers
    asked: Integers
    labels: Integers
    groups: list[tuple[str, ...]]
    group: Integers
    known: Mask
    apart: dict[tuple[str, ...], int]
    dropped: list[Dropped]
    notes: list[str]
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, evidence: Any, match: By, by: By, unknown: str, *, paper: bool = False) -> QueryGroups:
        """Bind evidence to what has to match and to a grouping.

        Args:
            evidence: Neighbours.
            match: Attribute of both sides, or list of attributes to cross.
            by: Attribute of the queries, or list of attributes to cross.
            unknown: ``keep`` or ``exclude`` queries of groups that annotators could not tell (counted).
            paper: Whether queries whose value the database does not have are asked too.

        Raises:
            InputError: Not Neighbours, or both sides mean different values by what has to match.
            UnknownName: An attribute that does not exist.
            ParameterError: Nothing has to match.
        """
        check_choice("unknown", unknown, ("keep", "exclude"))
        check_kind(evidence, Neighbours, "Neighbours.from_embeddings")
        alike, names = names_of(match), names_of(by)
        if not alike:
            raise ParameterError("match=[] is not possible; name an attribute of both sides")
        for name in alike:
            evidence.check_attribute(name, both=True)
        for name in names:
            evidence.check_attribute(name)
        key = ("groups", alike, names, unknown, paper)
        if key not in evidence.memo:
            for name in alike:
                _check_meaning(name, evidence.queries[name], evidence.database[name])
            evidence.memo[key] = cls._bound(evidence, alike, names, unknown, paper)
        bound: QueryGroups = evidence.memo[key]
        return bound

    @classmethod
    def _bound(
        cls,
        evidence: Neighbours,
        match: tuple[str, ...],
        by: tuple[str, ...],
        unknown: str,
        paper: bool,
    ) -> QueryGroups:
        asked, theirs = texts(evidence.queries, match), texts(evidence.database, match)
        grouped = texts(evidence.queries, by)
        counts = dict(evidence.dropped)
        chosen = np.ones(evidence.queries.height, dtype=bool)

        def leave_out(reason: str, where: Mask) -> Mask:
            nonlocal chosen
            gone = chosen & where
            if gone.any():
                counts[reason] = counts.get(reason, 0) + int(gone.sum())
                chosen = chosen & ~gone
            return gone

        for name, column in {**asked, **grouped}.items():
            leave_out(f"missing {name}", column.is_null().to_numpy())
        if unknown == "exclude":
            for name, column in grouped.items():
                leave_out(f"unknown {name}", _unknown(column))
        held = set(pl.DataFrame(theirs).unique().iter_rows())
        keys = _keys(asked)
        absent = np.zeros(chosen.size, dtype=bool)
        elsewhere = np.array([key not in held for key in keys], dtype=bool)
        if not paper:
            for name, column in asked.items():
                absent |= leave_out(f"unknown {name}", _unknown(column))
            words = "+".join(match)
            absent |= leave_out(f"{words} not in the database", elsewhere)
        places = _keys(grouped) if by else [()] * chosen.size
        apart: dict[tuple[str, ...], int] = {}
        for row in np.flatnonzero(absent).tolist():
            apart[places[row]] = apart.get(places[row], 0) + 1
        rows = np.flatnonzero(chosen)
        values = sorted({keys[row] for row in rows.tolist()})
        code = {value: number for number, value in enumerate(values)}
        groups: list[tuple[str, ...]] = sorted({places[row] for row in rows.tolist()}) if by else [()]
        position = {each: number for number, each in enumerate(groups)}
        group = np.array([position[places[row]] for row in rows.tolist()], dtype=np.int64)
        dropped = {**counts, **{f"database: {reason}": n for reason, n in evidence.left_out.items()}}
        return cls(
            evidence,
            match,
            by,
            rows,
            np.array([code[keys[row]] for row in rows.tolist()], dtype=np.int64),
            _codes(theirs, code),
            groups,
            group,
            _compared(groups, group, elsewhere[rows]),
            dict(sorted(apart.items())),
            dropped_of(dropped),
            _database_notes(theirs),
        )

    def without(self, gone: Mask, reason: str) -> QueryGroups:
        """The same with some queries left out and counted.

        Args:
            gone: Which, shape (n,).
            reason: Why.
        """
        if not gone.any():
            return self
        kept = ~gone
        occurs, group = np.unique(self.group[kept], return_inverse=True)
        more = [*self.dropped, Dropped(reason=reason, count=int(gone.sum()))]
        return QueryGroups(
            self.neighbours, self.match, self.by, self.rows[kept], self.asked[kept], self.labels,
            [self.groups[code] for code in occurs.tolist()] if self.by else self.groups, group,
            self.known[occurs] if self.by else self.known, self.apart,
            sorted(more, key=lambda each: each.reason), self.notes,
        )  # fmt: skip

    @property
    def n(self) -> int:
        """Queries in it."""
        return int(self.rows.size)

    @cached_property
    def units(self) -> tuple[Integers, Integers]:
        """Unit of each query in it, and of each database sample: clusters of the sides that have them.

        A sample without a cluster is a unit of its own.
        """
        sides = (self.neighbours.queries[self.rows.tolist()], self.neighbours.database)
        samples = []
        for side, table in zip(("query", "database"), sides, strict=True):
            own = pl.concat_str(pl.lit(f"\x1f{side}\x1f"), pl.col("sample"))
            name = self.neighbours.cluster
            named = [pl.col(name).cast(pl.String)] if name is not None and name in table.columns else []
            samples.append(table.select(pl.coalesce(*named, own)).to_series())
        codes = pl.concat(samples).rank("dense").to_numpy().astype(np.int64) - 1
        return codes[: self.n], codes[self.n :]

    @cached_property
    def cluster(self) -> Integers | None:
        """Unit of each query; None where each query is its own."""
        found = self.units[0]
        return found if np.unique(found).size < found.size else None


def _compared(groups: Sequence[tuple[str, ...]], group: Integers, elsewhere: Mask) -> Mask:
    """Groups that are known, and of which the database has what some queries ask for."""
    known = np.array([not any(value.lower() in UNKNOWN for value in each) for each in groups], dtype=bool)
    return np.asarray(known & (np.bincount(group, ~elsewhere, len(groups)) > 0))


def _unknown(column: pl.Series) -> Mask:
    return column.str.to_lowercase().is_in(list(UNKNOWN)).fill_null(False).to_numpy()


def _keys(columns: dict[str, pl.Series]) -> list[tuple[str, ...]]:
    return list(zip(*(column.to_list() for column in columns.values()), strict=True))


def _codes(columns: dict[str, pl.Series], code: dict[tuple[str, ...], int]) -> Integers:
    """Code of each database sample's value, -1 where no query has it."""
    names = list(columns)
    known = pl.DataFrame(
        {name: pl.Series([key[at] for key in code], dtype=pl.String) for at, name in enumerate(names)}
    ).with_columns(_code=pl.Series(list(code.values()), dtype=pl.Int64))
    joined = pl.DataFrame(columns).join(known, on=names, how="left", maintain_order="left")
    return joined["_code"].fill_null(-1).to_numpy()


def _database_notes(columns: dict[str, pl.Series]) -> list[str]:
    notes = []
    for name, column in columns.items():
        count = int((column.is_null().to_numpy() | _unknown(column)).sum())
        if count:
            notes.append(f"{count} database samples have no known {name}; they count as a mismatch")
    return notes


def _check_meaning(name: str, queries: pl.Series, database: pl.Series) -> None:
    """Refuse an attribute whose values mean different things on both sides."""
    left, right = _levels(queries), _levels(database)
    if not left or not right:
        return
    for one in sorted(left - right):
        for other in sorted(right - left):
            if _overlap(_edges(one), _edges(other)):
                raise InputError(
                    f"{name!r} is divided differently in queries and database ({one!r} and {other!r} "
                    "overlap); annotate both in the same ranges, or match another attribute"
                )
    if not left & right and _named_differently(left, right):
        raise InputError(
            f"queries and database share no value of {name!r} ({_some(left)}; {_some(right)}); give both the "
            "same names, or match another attribute"
        )


def _named_differently(left: set[str], right: set[str]) -> bool:
    """Whether values that differ are names of the same; of a single value each, few samples are as likely."""
    folded = [{level.strip().casefold() for level in levels} for levels in (left, right)]
    return bool(folded[0] & folded[1]) or min(len(left), len(right)) > 1


def _levels(column: pl.Series) -> set[str]:
    texts = column.cast(pl.String).drop_nulls().unique().to_list()
    return {text for text in texts if text.lower() not in UNKNOWN}


def _some(levels: set[str]) -> str:
    shown = sorted(levels)[:6]
    return ", ".join(map(repr, shown)) + (" ..." if len(levels) > len(shown) else "")


def _edges(text: str) -> tuple[float, float] | None:
    """Lowest and highest value of a range such as ``18-30``, ``70+`` or ``<18``."""
    found = _BUCKET.fullmatch(text.strip())
    if found is None:
        return None
    if found["low"]:
        return float(found["low"]), float(found["high"])
    return (float(found["from"]), np.inf) if found["from"] else (-np.inf, float(found["below"]))


def _overlap(one: tuple[float, float] | None, other: tuple[float, float] | None) -> bool:
    return one is not None and other is not None and max(one[0], other[0]) < min(one[1], other[1])
