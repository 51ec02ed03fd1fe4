"""Small cells hidden before anything is drawn, so that no place of the page or its downloads holds them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import InputError
from evenhand.core.results import Dropped, Finding, Findings, GroupSize, Part
from evenhand.report.content import RunContent

if TYPE_CHECKING:
    import polars

REASON = "suppressed"
COUNTS = ("n", "rows", "images", "samples", "count")
"""Columns and details that count rows."""

_COUNTED_THINGS = "class:"  # such dropped things are classes, not rows
_TOLD = ("dropped", "notes", "unanswered", "reasons")  # entries of a manifest that count rows
_WITHOUT: Mapping[str, None] = dict.fromkeys(
    ("value", "interval", "null", "p_value", "p_adjusted", "mde", "band")
)


def suppressed(content: RunContent, fewest: int) -> RunContent:
    """A run's content without cells of fewer than ``fewest`` rows.

    A hidden count becomes ``-fewest``, which the page writes as ``<fewest``. A part or finding on fewer rows
    loses its value, interval, null band, p, details and notes, with the reason ``suppressed``; so does a
    finding whose value is the very value of such a part, as the worst group's may be. Evidence of single
    samples is left out. What stays was computed from all rows: someone who knows totals may still subtract.

    Args:
        content: The run.
        fewest: Rows that a cell needs to be shown; 0 hides nothing.

    Raises:
        InputError: A negative number.
    """
    if fewest < 0:
        raise InputError(
            f"--suppress {fewest} is below 0; give the fewest rows to show, such as --suppress 10"
        )
    if fewest == 0:
        return content
    findings = [_finding(one, fewest) for one in content.findings.findings]
    tables = {name: _table(name, table, fewest) for name, table in content.tables.items()}
    # Cells of counts are summed before they are shown, and hidden only then.
    evidence = {name: table for name, table in content.evidence.items() if "n" in table.columns}
    kept = Findings(
        schema_version=content.findings.schema_version,
        manifest_id=content.findings.manifest_id,
        findings=findings,
    )
    manifest = _manifest(content.manifest, fewest)
    return replace(content, findings=kept, manifest=manifest, tables=tables, evidence=evidence, fewest=fewest)


def _finding(finding: Finding, fewest: int) -> Finding:
    small = {part.value for part in finding.parts if part.n < fewest} - {None}
    changed: dict[str, Any] = {
        "n": _count(finding.n, fewest),
        "groups": [GroupSize(key=group.key, n=_count(group.n, fewest)) for group in finding.groups],
        "parts": [_part(part, fewest) for part in finding.parts],
        "dropped": [_dropped(one, fewest) for one in finding.dropped],
        "details": _details(finding.details, fewest),
    }
    if finding.n < fewest or (finding.value is not None and finding.value in small):
        changed |= {**_WITHOUT, "reason": REASON, "details": {}, "notes": [], "contrasts": []}
    return finding.model_copy(update=changed)


def _part(part: Part, fewest: int) -> Part:
    if part.n < fewest:
        return part.model_copy(
            update={**_WITHOUT, "reason": REASON, "details": {}, "n": _count(part.n, fewest)}
        )
    return part.model_copy(update={"details": _details(part.details, fewest)})


def _dropped(one: Dropped, fewest: int) -> Dropped:
    if one.reason.startswith(_COUNTED_THINGS):
        return one
    return Dropped(reason=one.reason, count=_count(one.count, fewest))


def _details(details: Mapping[str, float | str | None], fewest: int) -> dict[str, float | str | None]:
    """Details that are counts of rows: ``n``, ``n_...`` and ``..._n``."""
    return {
        key: f"<{fewest}"
        if _counts_rows(key) and isinstance(value, int | float) and value < fewest
        else value
        for key, value in details.items()
    }


def _counts_rows(key: str) -> bool:
    return key in COUNTS or key.startswith("n_") or key.endswith(("_n", "_rows"))


def _count(n: float, fewest: int) -> float:
    return float(-fewest) if n < fewest else n


def _table(name: str, table: polars.DataFrame, fewest: int) -> polars.DataFrame:
    import polars

    if name == "mistakes" and {"n", "share", "truth", "group"} <= set(table.columns):
        return _mistakes(table, fewest)
    if name == "pairing" and "samples" in table.columns:
        return table.with_columns(
            samples=polars.when(polars.col("samples") < fewest).then(-fewest).otherwise(polars.col("samples"))
        )
    return table


def _mistakes(table: polars.DataFrame, fewest: int) -> polars.DataFrame:
    """Hide small cells, and all shares and accuracies of a group that has few rows of a class."""
    import polars

    n, share = polars.col("n"), polars.col("share")
    cell = ("by", "truth", "group")
    rows = polars.when(share > 0).then(n / share).max().over(cell)
    hidden = (rows.fill_null(0) < fewest - 0.5) | (n < fewest)
    # One share beside its count gives the total, and so the one cell that is hidden.
    told = ~hidden.any().over(cell)
    shares = [name for name in ("share", "group_accuracy") if name in table.columns]
    return table.with_columns(
        polars.when(hidden).then(float(-fewest)).otherwise(n).alias("n"),
        *(polars.when(told).then(polars.col(name)).alias(name) for name in shares),
    )


def _manifest(entry: object, fewest: int, *, counts: bool = False) -> Any:
    """Counts of what was dropped or not answered, wherever the manifest tells them."""
    if isinstance(entry, Mapping):
        return {name: _manifest(one, fewest, counts=counts or name in _TOLD) for name, one in entry.items()}
    if isinstance(entry, list):
        return [_manifest(one, fewest, counts=counts) for one in entry]
    small = counts and isinstance(entry, int) and not isinstance(entry, bool) and 0 < entry < fewest
    return f"<{fewest}" if small else entry
