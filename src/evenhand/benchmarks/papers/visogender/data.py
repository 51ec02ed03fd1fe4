"""Tables 1 and 10, Figure 13 of the VisoGender paper: what the data hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.benchmark import Artifact, Made, Setting
from evenhand.benchmarks.papers.rows import OURS, PAPER, Row, frame
from evenhand.benchmarks.papers.visogender import published
from evenhand.benchmarks.papers.visogender.rows import PAIR_TITLES
from evenhand.benchmarks.visogender.data.samples import AccountedSamples, read_samples
from evenhand.benchmarks.visogender.data.taxonomy import OCCUPATIONS, SINGLE, TWO
from evenhand.core.errors import InputError
from evenhand.core.figure import Figure
from evenhand.runs.run_folder import RunFolder

_CONTEXTS = {SINGLE: "single person", TWO: "two persons"}


def _read(setting: Setting) -> tuple[AccountedSamples, tuple[str, ...]]:
    """The samples, and notes on rows that are none."""
    if not isinstance(setting.data, Path):
        raise InputError("this describes the data of VisoGender; add --data DIR")
    samples = read_samples(setting.data)
    left = sum(samples.dropped.values())
    reasons = ", ".join(f"{reason} ({count})" for reason, count in samples.dropped.items())
    return samples, ((f"{left} of {samples.rows} rows are left out: {reasons}.",) if left else ())


def _table1(runs: Sequence[RunFolder], setting: Setting) -> Made:
    samples, notes = _read(setting)
    rows: list[Row] = []
    for context, title in _CONTEXTS.items():
        lead = {"part": "summary", "context": title}
        rows += [
            {"source": PAPER, **lead, "what": what, "value": float(value)}
            for (of, what), (value,) in published.TABLE1.items()
            if of == context
        ]
        rows += [{"source": OURS, **lead, **row} for row in _summary(samples.frame, context)]
    keys = ["context", "sector", "specialisation", "occupation", "gender_pair"]
    for context, title in _CONTEXTS.items():
        context_samples = samples.frame.filter(pl.col("context") == context)
        for row in context_samples.group_by(keys, maintain_order=True).agg(value=pl.len()).to_dicts():
            pair = PAIR_TITLES.get(str(row["gender_pair"]), row["gender_pair"])
            what = f"{'single' if context == SINGLE else 'two'}: {pair}"
            rows.append(
                {"source": OURS, "part": "cells", **row, "context": title, "what": what,
                 "sector": _spaced(row["sector"]), "specialisation": _spaced(row["specialisation"])}
            )  # fmt: skip
    columns = ("source", "part", *keys, "what", "value", "reason")
    return Made(frame(rows, columns), notes)


def _summary(samples: pl.DataFrame, context: str) -> list[Row]:
    """The numbers of Table 1; an uneven one has no value."""
    context_samples = samples.filter(pl.col("context") == context)
    rows: list[Row] = []
    columns_by_name = {"sectors": "sector", "specialisations": "specialisation", "occupations": "occupation",
                       "gender pairs": "gender_pair"}  # fmt: skip
    for what, column in columns_by_name.items():
        rows.append({"what": what, "value": float(context_samples[column].n_unique())})
    cells = {
        "images per occupation": ["occupation"],
        "images per gender pair": ["gender_pair"],
        "images per cell": ["occupation", "gender_pair"],
    }
    for what, columns in cells.items():
        sizes = context_samples.group_by(columns).len()["len"]
        sorted_sizes = sorted(sizes.to_list()) or [0]
        even = sorted_sizes[0] == sorted_sizes[-1]
        reason = None if even else f"{sorted_sizes[0]} to {sorted_sizes[-1]}"
        rows.append({"what": what, "value": float(sorted_sizes[-1]) if even else None, "reason": reason})
    return [*rows, {"what": "images", "value": float(context_samples.height)}]


def _table10(runs: Sequence[RunFolder], setting: Setting) -> Made:
    samples, notes = _read(setting)
    rows: list[Row] = []
    for level in ("sector", "specialisation"):
        cell_counts = samples.frame.group_by("context", level).len()
        have = {(context, name): count for context, name, count in cell_counts.rows()}
        names = [name for kind, name in published.TABLE10 if kind == level]
        for name in [*names, *sorted({name for _, name in have} - set(names))]:
            printed = published.TABLE10.get((level, name))
            for source, counts in (
                (PAPER, dict(zip((SINGLE, TWO), printed, strict=True)) if printed else {}),
                (OURS, {context: have.get((context, name), 0) for context in _CONTEXTS}),
            ):
                rows += [
                    {"source": source, "level": level, "name": _spaced(name), "context": _CONTEXTS[context],
                     "value": float(count)}
                    for context, count in counts.items()
                ]  # fmt: skip
    return Made(frame(rows, ("source", "level", "name", "context", "value", "reason")), notes)


def _figure13(runs: Sequence[RunFolder], setting: Setting) -> Made:
    samples, notes = _read(setting)
    keys = ["sector", "specialisation", "occupation"]
    merged = samples.frame.group_by(keys, maintain_order=True).agg(
        pl.col("object").drop_nulls().first(), pl.col("participant").drop_nulls().first(), value=pl.len()
    )
    order = {name: index for index, name in enumerate(OCCUPATIONS)}
    rows = [
        {**row, **{key: _spaced(row[key]) for key in keys}, "source": OURS, "value": float(row["value"]),
         "what": " / ".join(str(row[noun] or "–") for noun in ("object", "participant"))}
        for row in sorted(merged.to_dicts(), key=lambda row: order.get(row["occupation"], len(order)))
    ]  # fmt: skip
    columns = ("source", *keys, "object", "participant", "what", "value", "reason")
    return Made(frame(rows, columns), notes)


def _spaced(name: object) -> str:
    return str(name).replace("_", " ")


_COUNT = {"value": "count"}

TABLE1 = Artifact(
    "visogender/table1",
    "The images of VisoGender by sector, specialisation, occupation and perceived gender pair",
    _table1,
    (
        Figure(
            "table", x="what", value="value", levels=("context",), only={"part": "summary"},
            formats=_COUNT,  # type: ignore[arg-type]
            titles={"context": ""},
        ),
        Figure(
            "table", x="what", value="value", levels=("sector", "specialisation", "occupation"),
            only={"part": "cells"}, formats=_COUNT,  # type: ignore[arg-type]
            notes=("Pairs are occupation | participant.",),
        ),
    ),
    runs=0,
    data=True,
)  # fmt: skip
TABLE10 = Artifact(
    "visogender/table10",
    "Images per sector and specialisation",
    _table10,
    (
        Figure(
            "table", x="context", value="value", levels=("level", "name"),
            formats=_COUNT,  # type: ignore[arg-type]
            titles={"level": "", "name": ""},
        ),
    ),
    runs=0,
    data=True,
)  # fmt: skip
FIGURE13 = Artifact(
    "visogender/figure13",
    "The taxonomy of VisoGender, with images",
    _figure13,
    (
        Figure(
            "nested", levels=("sector", "specialisation", "occupation", "what"), value="value",
            titles={"what": "object / participant"}, formats=_COUNT,  # type: ignore[arg-type]
        ),
    ),
    runs=0,
    data=True,
)  # fmt: skip
