"""CSV and Parquet: one row for each finding, and one for each of its parts."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.findings import Finding
from evenhand.core.frames import flat
from evenhand.display.text.formatting import key_text
from evenhand.files.tables.spreadsheets import csv_bytes
from evenhand.report.exports.exported import RunView, json_text

if TYPE_CHECKING:
    import polars

_NUMBERS = ("place", "value", "low", "high", "level", "null_mean", "null_low", "null_high", "null_level",
            "p_value", "p_adjusted", "mde", "n", "fair_at", "corrected", "chance_at")  # fmt: skip
_ORDER = ("run", "manifest_id", "model", "benchmark", "metric", "name", "by", "params", "row", "place",
          "kind", "key", "key_json", "value", "reason", "low", "high", "level", "interval_method",
          "null_mean", "null_low", "null_high", "null_level", "null_method", "p_value", "p_adjusted",
          "adjustment", "mde", "band", "n", "fair_at", "direction", "reference", "groups", "dropped",
          "contrasts", "notes", "details", "paper", "equation", "corrected", "chance_at", "role")  # fmt: skip


def tidy_frame(runs: Sequence[RunView]) -> polars.DataFrame:
    """Findings and parts as rows, in the same columns for every run.

    ``row`` is ``finding`` or ``part``; ``place`` counts the parts of a finding from 0. What has no value has
    a null and its ``reason``. Where ``corrected`` is given, the interval is of it. Lists and mappings are
    JSON texts. ``key_json`` keeps crossed keys apart.
    """
    import polars as pl

    rows = [row for run in runs for finding in run.findings for row in _rows(run, finding)]
    schema: dict[str, Any] = {name: pl.Float64 if name in _NUMBERS else pl.String for name in _ORDER}
    schema["place"] = pl.Int64
    columns = {name: [row.get(name) for row in rows] for name in _ORDER}
    return pl.DataFrame(columns, schema=schema)


def tidy_csv(runs: Sequence[RunView]) -> bytes:
    """The rows as CSV; ``csv_bytes`` says how cells are written."""
    return csv_bytes(tidy_frame(runs))


def tidy_parquet(runs: Sequence[RunView]) -> bytes:
    """The rows as Parquet."""
    buffer = io.BytesIO()
    tidy_frame(runs).write_parquet(buffer)
    return buffer.getvalue()


def _rows(run: RunView, finding: Finding) -> Iterator[dict[str, Any]]:
    common = {
        "run": run.name,
        "manifest_id": run.findings.manifest_id,
        "model": finding.model,
        "benchmark": finding.benchmark,
        "metric": finding.metric,
        "name": finding.name,
        "by": finding.grouping,
        "params": json_text(finding.params),
        "fair_at": finding.fair_at,
        "direction": finding.direction,
    }
    finding_columns = {
        "row": "finding",
        "adjustment": finding.adjustment,
        "reference": finding.reference,
        "groups": json_text([group.model_dump() for group in finding.groups]),
        "dropped": json_text([left_out.model_dump() for left_out in finding.dropped]),
        "contrasts": json_text([contrast.model_dump() for contrast in finding.contrasts]),
        "notes": json_text(finding.notes),
        "paper": finding.source.paper,
        "equation": finding.source.equation,
    }
    yield {**common, **finding_columns, **flat(finding), "details": json_text(finding.details)}
    for index, part in enumerate(finding.parts):
        of_part = {"kind": part.kind, "key": key_text(part.key), "key_json": json_text(part.key)}
        of_part["details"] = json_text(part.details)
        yield {**common, "row": "part", "place": index, **of_part, **flat(part)}
