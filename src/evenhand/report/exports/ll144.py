"""Impact ratios as JSON and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.display.text.formatting import DASH, count, number, shorten
from evenhand.report.exports.exported import json_bytes, markdown

if TYPE_CHECKING:
    import polars


_HEADINGS = {
    "selection rate": ("Selected", "Selection rate"),
    "scoring rate": ("Above the median", "Scoring rate"),
}
_SAID = {
    "reference": "the reference",
    "below_two_percent": "below 2% of the rows",
    "few_rows": "few rows",
}


def ll144_json(table: polars.DataFrame, notes: Sequence[str]) -> bytes:
    """The table as JSON with what has to be said of it."""
    return json_bytes({"notes": list(notes), "rows": table.to_dicts()})


def ll144_markdown(table: polars.DataFrame, notes: Sequence[str]) -> bytes:
    """The table as Markdown with what has to be said of it."""
    lines = ["# Impact ratios", "", notes[0], ""]
    for (run, by, form), part in table.group_by("run", "by", "form", maintain_order=True):
        selected, rate = _HEADINGS[str(form)]
        lines += [f"## {markdown(run)}: {markdown(by)}", ""]
        lines += [f"| Category | Rows | {selected} | {rate} | Interval (95%) | Impact ratio | Note |"]
        lines += ["|---|---:|---:|---:|---|---:|---|"]
        lines += [_line(row) for row in part.to_dicts()]
        lines += [""]
    lines += [f"- {markdown(note)}" for note in notes[1:]]
    return ("\n".join(lines).rstrip() + "\n").encode("utf-8")


def _line(row: Mapping[str, Any]) -> str:
    notes = [row["reason"] or "", *(note for name, note in _SAID.items() if row[name])]
    rated = row["selection_rate"] is not None
    interval = f"{number(row['rate_low'])} to {number(row['rate_high'])}" if rated else DASH
    cells = [
        DASH if row["category"] is None else markdown(shorten(row["category"], 120)),
        count(row["n"]),
        count(row["selected"]),
        number(row["selection_rate"]),
        interval,
        number(row["impact_ratio"]),
        "; ".join(filter(None, notes)),
    ]
    return f"| {' | '.join(cells)} |".replace("<0.001", "&lt;0.001")
