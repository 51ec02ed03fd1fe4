"""What the tables that the template writes hold, number for number, for their files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.findings import Finding
from evenhand.core.frames import flat
from evenhand.report import chapters, facets, glossary
from evenhand.report.views.frames import PageData, add_sheet
from evenhand.report.views.rows import GlossaryEntry
from evenhand.report.wording import sentences as words

if TYPE_CHECKING:
    import polars


_COLUMNS = {
    "value": "value", "corrected": "corrected", "low": "low", "high": "high", "level": "level",
    "null low": "null_low", "null high": "null_high", "p": "p_value", "adjusted p": "p_adjusted",
    "chance at": "chance_at", "role": "role", "band": "band", "n": "n",
}  # fmt: skip


def add_findings(data: PageData, name: str, findings: Sequence[Finding]) -> None:
    """Keep headline findings: value, interval, null band, p and n, each in a column of its own."""
    rows = list(map(flat, findings))
    add_sheet(
        data,
        name,
        {
            "finding": [finding.card.title for finding in findings],
            "name": [finding.name for finding in findings],
            "parameters": [facets.row_params(finding, None) for finding in findings],
            **{title: [row[column] for row in rows] for title, column in _COLUMNS.items()},
            "against chance": [words.short_verdict(finding, data.alpha) or None for finding in findings],
            "direction": [finding.direction for finding in findings],
            "why not": [
                glossary.reason(finding.reason) if finding.value is None else None for finding in findings
            ],
        },
    )


def add_bands(data: PageData, name: str, bands: Sequence[Mapping[str, Any]]) -> None:
    """Keep how many classes lie in each band."""
    rows = [(band["name"], band["range"], band["count"]) for band in bands]
    add_sheet(data, name, _columns(("band", "effect size", "classes"), rows))


def add_closing(
    data: PageData,
    contrasts: Sequence[chapters.Contrasted],
    left_out: Sequence[chapters.LeftOutRows],
    definitions: Iterable[GlossaryEntry],
) -> None:
    """Keep the tables at the report's end: other computations, what was left out, definitions."""
    sheets: dict[tuple[str, ...], list[tuple[Any, ...]]] = {
        ("contrasts", "finding", "grouping", "value", "computed as", "other value", "because"): [
            (of.finding.card.title, of.chapter, of.finding.value, of.label, of.value, of.reason)
            for of in contrasts
        ],
        ("dropped", "reason", "count", "grouping", "left out of"): [
            (rows.reason, rows.count, rows.chapter, ", ".join(rows.metrics)) for rows in left_out
        ],
        ("definitions", "finding", "name", "what it measures", "direction", "fair at", "defined in"): [
            (of.title, of.name, of.meaning, of.direction, of.fair_value, of.source) for of in definitions
        ],
    }
    for (name, *headings), rows in sheets.items():
        add_sheet(data, name, _columns(headings, rows))


def _columns(headings: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, list[Any]]:
    return {heading: [row[index] for row in rows] for index, heading in enumerate(headings)}


def add_comparison(data: PageData, tables: Mapping[str, polars.DataFrame]) -> None:
    """Keep the tables of a comparison: rankings by grouping and measure, values side by side, pairing."""
    for name in ("values", "pairing"):
        if name in tables:
            add_sheet(data, f"comparison-{name}", tables[name].to_dict(as_series=False))
    ranking = tables["ranking"].to_dicts() if "ranking" in tables else []
    first = {
        (row["by"], row["metric"], row["model"]): row["share"]
        for row in (tables["rank_shares"].to_dicts() if "rank_shares" in tables else [])
        if row["rank"] == 1
    }
    for index, by in enumerate(dict.fromkeys(row["by"] for row in ranking)):
        grouping_rows = [row for row in ranking if row["by"] == by]
        for order, metric in enumerate(dict.fromkeys(row["metric"] for row in grouping_rows)):
            rows = [row for row in grouping_rows if row["metric"] == metric]
            columns = {key: [row[key] for row in rows] for key in ("rank", "model", "value", "low", "high")}
            shares = [first.get((by, metric, row["model"])) for row in rows]
            add_sheet(data, f"ranking-{index}-{order}", {**columns, "first in resamples": shares})
        levels = tables.get("mev_ranks")
        if levels is not None:
            add_sheet(data, f"levels-{index}", levels.filter(levels["by"] == by).to_dict(as_series=False))
