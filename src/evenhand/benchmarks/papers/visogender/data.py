"""Tables 1 and 10, Figure 13 of the VisoGender paper: what the data hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Setting
from evenhand.benchmarks.papers.measured import beside
from evenhand.benchmarks.papers.printed import printed, printed_cells
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, Runs, frame
from evenhand.benchmarks.papers.visogender.rows import PAIR_TITLE
from evenhand.benchmarks.visogender.data.samples import read_samples
from evenhand.benchmarks.visogender.data.taxonomy import OCCUPATIONS, SINGLE, TWO
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure, Format

_LEVELS = ["sector", "specialisation", "occupation"]
_CONTEXTS = {SINGLE: "single person", TWO: "two persons"}
# What Table 1 counts, or what it counts the images of.
_SUMMARY = {
    "sectors": ["sector"],
    "specialisations": ["specialisation"],
    "occupations": ["occupation"],
    "gender pairs": ["gender_pair"],
    "images per occupation": ["occupation"],
    "images per gender pair": ["gender_pair"],
    "images per cell": ["occupation", "gender_pair"],
    "images": ["context"],
}


def _read(setting: Setting) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """The samples, and notes on rows that are none."""
    if not isinstance(setting.data, Path):
        raise InputError("this describes the data of VisoGender; add --data DIR")
    samples = read_samples(setting.data)
    left = sum(samples.dropped.values())
    reasons = ", ".join(f"{reason} ({count})" for reason, count in samples.dropped.items())
    notes = (f"{left} of {samples.rows} rows are left out: {reasons}.",) if left else ()
    return samples.frame, notes


def _in_words(*names: str) -> pl.Expr:
    """Names without underscores; a missing one is the text None."""
    return pl.col(*names).str.replace_all("_", " ").fill_null("None")


def _counts(samples: pl.DataFrame, keys: Sequence[str], *values: pl.Expr) -> pl.DataFrame:
    """How many samples there are of each, as our numbers."""
    counts = samples.group_by(keys, maintain_order=True).agg(*values, value=pl.len().cast(pl.Float64))
    return counts.with_columns(source=pl.lit(OURS))


def _table1(runs: Runs, setting: Setting) -> Made:
    """What the paper counts beside our counts, then every cell."""
    samples, notes = _read(setting)
    keys = ["context", "sector", "specialisation", "occupation", "gender_pair"]
    paper = printed_cells(__file__, "table1", ("count",), keys=("context", "what"))
    summary = beside(paper, frame([*_summary(samples)], ("source", "context", "what", "value", "reason")))
    what = pl.format("{}: {}", pl.col("context").replace(TWO, "two"), PAIR_TITLE)
    cells = _counts(samples, keys).with_columns(_in_words("sector", "specialisation"), what=what)
    parts = (
        summary.sort("context", maintain_order=True).with_columns(part=pl.lit("summary")),
        cells.with_columns(part=pl.lit("cells")),
    )
    table = pl.concat(parts, how="diagonal").with_columns(pl.col("context").replace(_CONTEXTS))
    return Made(table.select("source", "part", *keys, "what", "value", "reason"), notes)


def _summary(samples: pl.DataFrame) -> Iterator[Row]:
    """The numbers of Table 1; an uneven one has no value."""
    for context, (what, columns) in product(_CONTEXTS, _SUMMARY.items()):
        sizes = samples.filter(context=context).group_by(columns).len()["len"].to_list()
        low, high = min(sizes, default=0), max(sizes, default=0)
        if not what.startswith("images"):  # what is counted are the groups
            low = high = len(sizes)
        yield {
            "source": OURS, "context": context, "what": what, "value": high if low == high else None,
            "reason": None if low == high else f"{low} to {high}",
        }  # fmt: skip


def _table10(runs: Runs, setting: Setting) -> Made:
    """Images of each sector and specialisation, those of the paper first."""
    samples, notes = _read(setting)
    paper, rows = printed(__file__, "table10", keys=2), list[Row]()
    for level in ("sector", "specialisation"):
        counts = Counter(samples.select(level, "context").rows())
        names = [name for kind, name in paper if kind == level]
        for name in [*names, *sorted({name for name, _ in counts} - {*names}, key=str)]:
            ours = [counts[name, context] for context in _CONTEXTS]
            rows += [
                {"source": source, "level": level, "name": str(name).replace("_", " "), "context": context,
                 "value": value}
                for source, values in ((PAPER, paper.get((level, name), ())), (OURS, ours))
                for context, value in zip(_CONTEXTS.values(), values, strict=False)  # the paper may have none
            ]  # fmt: skip
    return Made(frame(rows, ("source", "level", "name", "context", "value", "reason")), notes)


def _figure13(runs: Runs, setting: Setting) -> Made:
    """Every occupation with its nouns, in the order of the files."""
    samples, notes = _read(setting)
    nouns = pl.col("object", "participant")
    places = {name: index for index, name in enumerate(OCCUPATIONS)}
    table = _counts(samples, _LEVELS, nouns.drop_nulls().first())
    table = table.sort(pl.col("occupation").replace_strict(places, default=len(places)), maintain_order=True)
    what = pl.concat_str(nouns.fill_null("–"), separator=" / ")
    table = table.select(
        "source", _in_words(*_LEVELS), nouns, what.alias("what"), "value", reason=pl.lit(None, pl.String)
    )
    return Made(table, notes)


_COUNT: Mapping[str, Format] = {"value": "count"}
_artifact = partial(Artifact, runs=0, data=True)

TABLE1 = _artifact(
    "visogender/table1",
    "The images of VisoGender by sector, specialisation, occupation and perceived gender pair",
    _table1,
    (
        Figure(
            "table", x="what", value="value", levels=("context",), only={"part": "summary"},
            formats=_COUNT, titles={"context": ""},
        ),
        Figure(
            "table", x="what", value="value", levels=(*_LEVELS,), only={"part": "cells"}, formats=_COUNT,
            notes=("Pairs are occupation | participant.",),
        ),
    ),
)  # fmt: skip
TABLE10 = _artifact(
    "visogender/table10",
    "Images per sector and specialisation",
    _table10,
    (
        Figure(
            "table", x="context", value="value", levels=("level", "name"), formats=_COUNT,
            titles={"level": "", "name": ""},
        ),
    ),
)  # fmt: skip
FIGURE13 = _artifact(
    "visogender/figure13",
    "The taxonomy of VisoGender, with images",
    _figure13,
    (
        Figure(
            "nested", levels=(*_LEVELS, "what"), value="value", titles={"what": "object / participant"},
            formats=_COUNT,
        ),
    ),
)  # fmt: skip
