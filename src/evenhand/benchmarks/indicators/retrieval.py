"""The benchmark ``indicators/retrieval``: are nearest pictures of the query's group, whatever the group?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from evenhand.benchmarks.attributes import OF_PEOPLE
from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.indicators.people.datasets.layouts import KINDS
from evenhand.benchmarks.indicators.query_database import BY_CONTENT, QueryDatabaseSplit, read_two_sides
from evenhand.benchmarks.indicators.questions import answered_rows
from evenhand.benchmarks.indicators.settings import AUTO, PEOPLE, groupings_of, numbers
from evenhand.core.findings import Finding
from evenhand.core.requests import Question
from evenhand.evidence.derivation.vector_search import search_engine
from evenhand.evidence.neighbours import CONTENT, Neighbours
from evenhand.metrics.retrieval.precision import precision_at_k, precision_gap

NAME = "indicators/retrieval"
QUERIES, DATABASE = "queries", "database"
ROLE = "role"
"""Column of the samples: ``query`` or ``database``."""

_MOST = 100_000


class Retrieval(Benchmark[QueryDatabaseSplit]):
    """Pictures of people as queries and as a database; any model that turns a picture into a vector."""

    name = NAME
    asks = "are the nearest images of people of the same group, for each group alike?"
    people = OF_PEOPLE
    parameters: Mapping[str, Parameter] = {
        "queries": Parameter("", help="folder or table of the queries; else --data is split"),
        "query_kind": Parameter(AUTO, (AUTO, *KINDS), "layout of -p queries="),
        **PEOPLE,
        "split": Parameter(BY_CONTENT, help="of one table: content, or DATABASE:QUERIES such as train:val"),
        "share": Parameter(0.3, help="split=content: share of the pictures that are queries"),
        "match": Parameter("gender", help="what has to be the same: an attribute that both sides have"),
        "k": Parameter("1,5,10,50", help="how many neighbours count, separated by commas"),
        "mode": Parameter("default", ("default", "paper"), "paper: as the released code counts"),
    }
    primaries: Sequence[str] = ("precision_gap",)

    def plan(self, setting: Setting) -> Plan[QueryDatabaseSplit]:
        """Each picture once, on one side only."""
        _ks(setting)
        search_engine()  # missed now, before hours of work
        split = read_two_sides(setting)
        requests = [
            Question(name, "embeds_images", people.annotations["sample"].to_list(), people.images)
            for name, people in ((QUERIES, split.queries), (DATABASE, split.database))
        ]
        by = groupings_of(split.queries, setting.text("by"))
        roles = [
            people.annotations.drop(CONTENT).with_columns(pl.lit(role).alias(ROLE))
            for people, role in ((split.queries, "query"), (split.database, "database"))
        ]
        table = pl.concat(roles, how="diagonal_relaxed")
        about = split.queries.about
        return Plan(table, requests, by, split.dropped, split.notes, state=split, about=about)

    def measure(self, answered: Answered[QueryDatabaseSplit]) -> Measured:
        """Precision and its gap for every K and grouping, and the neighbours themselves."""
        plan, setting = answered.plan, answered.setting
        split = plan.state
        ks = _ks(setting)
        columns = ["sample", CONTENT, split.match]
        rows = [answered_rows(side.annotations, answered) for side in (split.queries, split.database)]
        neighbours = Neighbours.from_embeddings(
            answered.evidence[QUERIES],
            answered.evidence[DATABASE],
            rows[0].select(list(dict.fromkeys((*columns, "subject", *split.queries.attributes)))),
            _database_columns(rows[1], columns, split),
            k=max(ks),
            cluster=split.queries.clusters,
        )
        neighbours = replace(neighbours, notes=(*neighbours.notes, *split.remarks))
        findings = [
            finding
            for k in ks
            for by in (list(plan.by) or [()])
            for finding in _findings(neighbours, split, by, k, setting)
        ]
        tables = {
            "neighbours": neighbours.to_frame(),
            "database_mix": _mix(neighbours, split),
            "left_out": _left_out(neighbours),
        }
        return Measured(findings, {}, tables)


def _database_columns(rows: pl.DataFrame, columns: list[str], split: QueryDatabaseSplit) -> pl.DataFrame:
    """The database with what has to match and whom it shows; equal names in another source are others."""
    name = split.queries.clusters
    has_clusters = name == split.database.clusters and name in rows.columns
    if name is None or not has_clusters:
        return rows.select(columns)
    same = split.queries.name == split.database.name
    who = pl.col(name) if same else pl.lit(f"{split.database.name}: ") + pl.col(name).cast(pl.String)
    return rows.select(*columns, who.alias(name))


def _findings(
    neighbours: Neighbours, split: QueryDatabaseSplit, by: tuple[str, ...], k: int, setting: Setting
) -> list[Finding]:
    shared: dict[str, Any] = {
        "match": split.match,
        "by": by,
        "k": k,
        "unknown": setting.text("unknown"),
        "mode": setting.text("mode"),
        "seed": setting.seed,
    }
    return [precision_at_k(neighbours, **shared), *([precision_gap(neighbours, **shared)] if by else [])]


def _mix(neighbours: Neighbours, split: QueryDatabaseSplit) -> pl.DataFrame:
    """How many of each group both sides hold: attribute, group, role, n, share."""
    parts = []
    for role, table in (("query", neighbours.queries), ("database", neighbours.database)):
        counts = table[split.match].value_counts().sort(split.match, nulls_last=True)
        parts.append(
            counts.select(
                pl.lit(split.match).alias("attribute"),
                pl.col(split.match).alias("group"),
                pl.lit(role).alias(ROLE),
                pl.col("count").cast(pl.Int64).alias("n"),
                (pl.col("count") / max(table.height, 1)).alias("share"),
            )
        )
    return pl.concat(parts)


def _left_out(neighbours: Neighbours) -> pl.DataFrame:
    """What is on neither side after all: role, reason, count."""
    rows = [
        (role, reason, count)
        for role, lost in (("query", neighbours.dropped), ("database", neighbours.left_out))
        for reason, count in lost.items()
    ]
    return pl.DataFrame(rows, schema={ROLE: pl.String, "reason": pl.String, "count": pl.Int64}, orient="row")


def _ks(setting: Setting) -> list[int]:
    values = numbers("k", setting.text("k"), low=1, high=_MOST, integers=True)
    return [int(k) for k in values]


RETRIEVAL = Retrieval()
