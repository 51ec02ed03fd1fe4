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
    columns = {"band": "name", "effect size": "range", "classes": "count"}
    add_sheet(data, name, {title: [band[key] for band in bands] for title, key in columns.items()})


def add_closing(
    data: PageData,
    contrasts: Sequence[chapters.Contrasted],
    left_out: Sequence[chapters.LeftOutRows],
    definitions: Iterable[GlossaryEntry],
) -> None:
    """Keep the tables at the report's end: other computations, what was left out, definitions."""
    add_sheet(
        data,
        "contrasts",
        {
            "finding": [contrast.finding.card.title for contrast in contrasts],
            "grouping": [contrast.chapter for contrast in contrasts],
            "value": [contrast.finding.value for contrast in contrasts],
            "computed as": [contrast.label for contrast in contrasts],
            "other value": [contrast.value for contrast in contrasts],
            "because": [contrast.reason for contrast in contrasts],
        },
    )
    add_sheet(
        data,
        "dropped",
        {
            "reason": [rows.reason for rows in left_out],
            "count": [rows.count for rows in left_out],
            "grouping": [rows.chapter for rows in left_out],
            "left out of": [", ".join(rows.metrics) for rows in left_out],
        },
    )
    entries = list(definitions)
    add_sheet(
        data,
        "definitions",
        {
            "finding": [entry.title for entry in entries],
            "name": [entry.name for entry in entries],
            "what it measures": [entry.meaning for entry in entries],
            "direction": [entry.direction for entry in entries],
            "fair at": [entry.fair_value for entry in entries],
            "defined in": [entry.source for entry in entries],
        },
    )


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
