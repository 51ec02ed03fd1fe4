"""Results as tables: a row for each finding, and one for each of its parts.

Results import this file, so that it cannot name their types. Polars is imported when a table is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

_TEXTS = ("row", "metric", "name", "by", "model", "benchmark", "kind", "key", "reason", "band", "direction")
_FIGURES = ("value", "low", "high", "null_low", "null_high", "p_value", "p_adjusted", "n")
_COLUMNS = (*_TEXTS[:-3], *_FIGURES, *_TEXTS[-3:])


def findings_frame(findings: Iterable[Any]) -> polars.DataFrame:
    """Findings and their parts as rows, named as in the CSV export.

    Args:
        findings: ``Finding`` objects, in order.

    Returns:
        Columns ``row`` (``finding`` or ``part``), the finding's ``metric``, ``name``, ``by``, ``model`` and
        ``benchmark``, a part's ``kind`` and ``key``, then ``value``, interval (``low``, ``high``), null band
        (``null_low``, ``null_high``), ``p_value``, ``p_adjusted``, ``n``, ``reason``, ``band`` and
        ``direction``. What has no value has a null and its ``reason``. Crossed keys are joined by `` × ``.
    """
    import polars as pl

    rows = [row for finding in findings for row in _rows(finding)]
    types = {name: pl.String if name in _TEXTS else pl.Float64 for name in _COLUMNS}
    return pl.DataFrame([[row.get(name) for name in _COLUMNS] for row in rows], schema=types, orient="row")


def _rows(finding: Any) -> Iterator[dict[str, Any]]:
    of = {name: getattr(finding, name) for name in ("metric", "name", "model", "benchmark", "direction")}
    of["by"] = finding.grouping
    yield {"row": "finding", **of, **_figures(finding)}
    for part in finding.parts:
        key = part.key if isinstance(part.key, str) else " × ".join(part.key)
        yield {"row": "part", "kind": part.kind, "key": key, **of, **_figures(part)}


def _figures(holder: Any) -> dict[str, Any]:
    bounds = (("", holder.interval), ("null_", holder.null))
    ends = {f"{name}{end}": getattr(band, end, None) for name, band in bounds for end in ("low", "high")}
    plain = ("value", "p_value", "p_adjusted", "n", "reason", "band")
    return {**ends, **{name: getattr(holder, name) for name in plain}}
