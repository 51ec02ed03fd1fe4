"""What the artifacts of VisoGender share: how settings and pairs are called, notes, figures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import polars as pl

from evenhand.benchmarks.benchmark import Made
from evenhand.benchmarks.papers.rows import Runs, is_paper_mode, named_by_tags
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE
from evenhand.core.figure import Figure

RESOLUTION_RUNS, RETRIEVAL_RUNS = "visogender/resolution", "visogender/retrieval"
CELL = ("setting", "quantity")
"""What a heading of Tables 2, 4, 6a and 8 says, such as ``single gap``."""
FIGURES = {"Bias@5": "bias_at_5", "Bias@10": "bias_at_10", "MaxSkew@5": "max_skew_at_5",
           "MaxSkew@10": "max_skew_at_10", "NDKL": "ndkl"}  # fmt: skip
"""Measures of Tables 3, 5, 6b and 9, and how they are called where chance is computed."""

PAIRS = {"mm": "same", "ff": "same", "mf": "different", "fm": "different"}
"""Gender pairs, the occupation first, to their settings."""
GENDERS = {"m": MASCULINE, "f": FEMININE}
PAIR_TITLE = pl.col("gender_pair").str.replace("^([mf])([mf])$", "$1 | $2")
"""Gender pairs as the paper writes them."""
SETTING_TITLE = pl.col("setting").replace({"all": "all images", "two_person": "two persons"})

interval_figure = partial(
    Figure, low="low", high="high", null_low="null_low", null_high="null_high",
    interval="95% intervals over occupations",
)  # fmt: skip
"""A figure with intervals, and with what chance alone gives."""


def with_titles(cells: pl.DataFrame) -> pl.DataFrame:
    """Settings as tables call them, and ``measure``, such as ``single RA`` or ``same gap``."""
    measure = SETTING_TITLE + " " + pl.col("quantity").replace("accuracy", "RA")
    return cells.with_columns(SETTING_TITLE, measure=measure)


def _run_notes(runs: Runs) -> Iterator[str]:
    """What the reader must know about runs in paper mode, and those that lack images."""
    if any(map(is_paper_mode, runs)):
        yield "Paper mode: rounding and ties are those of the released code."
    for name, run in named_by_tags(runs):
        coverage = run.tables.get("coverage")
        if coverage is not None and {"complete", "usable"} <= set(coverage.columns):
            complete, usable = map(int, coverage.select("complete", "usable").sum().row(0))
            if usable != complete:
                yield f"{name} rests on {usable} of {complete} images."


def finish(runs: Runs, table: pl.DataFrame, columns: Sequence[str | pl.Expr], *notes: str) -> Made:
    """These columns of a table, with notes on it and on the runs."""
    return Made(table.select(columns), (*notes, *dict.fromkeys(_run_notes(runs))))
