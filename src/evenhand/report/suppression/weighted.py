"""Rows behind weights: a sum of weights says nothing of how many rows a cell has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from evenhand.core.findings import Finding, Part
from evenhand.report.suppression.counts import Group, values_of
from evenhand.report.suppression.values import grouped_cells

if TYPE_CHECKING:
    import polars


def by_rows(findings: Sequence[Finding], rows: Mapping[str, polars.DataFrame]) -> list[Finding]:
    """Findings whose parts count rows, where those of weighted counts count weights; without their values.

    Values go because a weighted rate times a number of rows counts nothing. Findings that rest on none of
    these counts stay as they are. ``rows`` has the rows of each cell, by the name of the counts.
    """
    sums: dict[tuple[bool, tuple[str, ...]], dict[tuple[str, ...], float]] = {}
    result = []
    for finding in findings:
        raw, by = finding.params.get("answers") == "raw", tuple(finding.by)
        tables = [table for name, table in rows.items() if name.endswith("_raw") == raw]
        if not tables or not {"truth", "prediction", *by} <= set(tables[0].columns):
            result.append(finding)
            continue
        if (raw, by) not in sums:
            sums[raw, by] = _sums(tables[0], by)
        parts = [_counted(part, finding, sums[raw, by]) for part in finding.parts]
        result.append(finding.model_copy(update={"value": None, "parts": parts}))
    return result


def _sums(table: polars.DataFrame, by: Sequence[str]) -> dict[Group, float]:
    """Rows of each class, group, prediction, and class in a group, by kind and key."""
    sums: dict[Group, float] = {}
    for (truth, group, prediction), n in grouped_cells(table, by).items():
        for key in (
            ("class", truth), ("answer", prediction), ("group", *group), ("class*group", truth, *group),
        ):  # fmt: skip
            sums[key] = sums.get(key, 0.0) + n
    return sums


def _counted(part: Part, finding: Finding, sums: Mapping[Group, float]) -> Part:
    backward = part.kind == "class" and finding.card.made_of == "effects of answers"
    key = ("answer" if backward else part.kind, *values_of(part.key))
    return part.model_copy(update={"n": sums.get(key, part.n), "value": None, "details": {}})
