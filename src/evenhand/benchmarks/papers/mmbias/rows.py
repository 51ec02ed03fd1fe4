"""What the artifacts of MMBias share: names of groups and pairs, tables that a run must have."""

from __future__ import annotations

import polars as pl

from evenhand.benchmarks.mmbias.data.groups import NAMES
from evenhand.benchmarks.papers.measured import beside
from evenhand.benchmarks.papers.mmbias.published import CLASS_OF, TABLE2
from evenhand.core.errors import InputError
from evenhand.runs.run_folder import RunFolder

RUNS, MATCHING_RUNS = "mmbias/association", "mmbias/matching"


def class_of(groups: str) -> pl.Expr:
    """The target class of the groups in a column; empty for a user's own."""
    return pl.col(groups).replace_strict(CLASS_OF, default="").alias("class")


def name_of(groups: str) -> pl.Expr:
    """What Table 2 calls the groups in a column."""
    return pl.col(groups).replace(NAMES)


PAIR = pl.format("{} – {}", name_of("x"), name_of("y")).alias("pair")


def with_paper(ours: pl.DataFrame, printed: pl.DataFrame) -> pl.DataFrame:
    """Rows by pair, in the order of Table 2; the paper's before ours, if we have any pair that it prints."""
    places = pl.DataFrame(list(TABLE2), schema=["x", "y"], orient="row").with_row_index("place")
    has_pair = len(ours.join(printed, on=["x", "y"], how="semi"))
    table = beside(printed, ours) if has_pair else ours
    placed = table.join(places, on=["x", "y"], how="left", maintain_order="left")
    return placed.sort("place", nulls_last=True, maintain_order=True).drop("place")


def is_debias(run: RunFolder) -> bool:
    """Whether ``evenhand debias`` made it."""
    return run.manifest.get("kind") == "debias"


def needed_table(run: RunFolder, table: str, artifact: str, command: str) -> pl.DataFrame:
    """A table of a run; if it is missing, the error says which ``command`` makes it for ``artifact``."""
    if table not in run.tables:
        where = repr(str(run.folder)) if run.folder else "the run given"
        raise InputError(f"{artifact} needs the table {table!r}, which {where} has not; type: {command}")
    return run.tables[table]
