"""Tidy tables: rows as mappings, columns that are text or numbers; published numbers beside one's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from evenhand.core.findings import Finding
from evenhand.runs.run_folder import RunFolder


def occurring(counts: Mapping[str, int]) -> dict[str, int]:
    """Counts without those that are 0."""
    return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True)
class Published:
    """A number that somebody printed, and which of a run's it stands beside."""

    source: str  # such as Table 3 of the paper
    value: float  # in the unit of the metric
    metric: str  # as the finding prints it
    key: str = ""  # the part of the finding; empty: the finding's own value


def beside(published: Sequence[Published], findings: Sequence[Finding]) -> pl.DataFrame:
    """Published numbers, and those of a run where it has them: they are read together and gate nothing."""
    values = {(finding.metric, ""): finding.value for finding in findings}
    values |= {(finding.metric, str(part.key)): part.value for finding in findings for part in finding.parts}
    columns = ("metric", "part", "source", "published", "this_run")
    rows = [
        (row.metric, row.key, row.source, row.value, values.get((row.metric, row.key))) for row in published
    ]
    texts = columns[:3]
    return table_of([dict(zip(columns, row, strict=True)) for row in rows], columns, texts=texts)


def tags_of(run: RunFolder) -> dict[str, str]:
    """Facts about the model that the user gave."""
    tags = run.manifest.get("tags")
    return {str(key): str(value) for key, value in tags.items()} if isinstance(tags, dict) else {}


def parameters_of(run: RunFolder) -> dict[str, Any]:
    """What the benchmark was run with."""
    parameters = run.manifest.get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def find(run: RunFolder, name: str, by: str = "", **params: object) -> Finding | None:
    """The finding of this name, of exactly this grouping, with these parameters; None if there is none."""
    for finding in run.findings:
        fits = finding.name == name and finding.grouping == by
        if fits and all(finding.params.get(key) == value for key, value in params.items()):
            return finding
    return None


def noted(finding: Finding, *notes: str) -> Finding:
    """The same finding with further notes."""
    return finding.model_copy(update={"notes": [*finding.notes, *notes]})


def counted_once(finding: Finding, reason: str) -> Finding:
    """The same without what it left out for a reason, where the run counts this already."""
    remaining = [lost for lost in finding.dropped if lost.reason != reason]
    return finding.model_copy(update={"dropped": remaining})


def table_of(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    texts: Collection[str] | None = None,  # columns that hold text; all others hold numbers
    numbers: Collection[str] = (),  # without texts: columns that hold numbers; all others hold text
) -> pl.DataFrame:
    """A table of the columns asked for; what a row lacks is null."""
    is_text = {name: name in texts if texts is not None else name not in numbers for name in columns}
    schema = {name: pl.String if text else pl.Float64 for name, text in is_text.items()}
    return pl.DataFrame([[row.get(name) for name in columns] for row in rows], schema=schema, orient="row")
