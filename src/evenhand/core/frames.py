"""Results as tables: a row for each finding, and one for each of its parts.

Results import this file, so that it cannot name their types. Polars is imported when a table is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

_LEADS = ("row", "metric", "name", "by", "model", "benchmark", "kind", "key")
_WORDS = ("reason", "band", "direction", "role")
_FIGURES = ("value", "low", "high", "null_low", "null_high", "p_value", "p_adjusted", "n")
_COLUMNS = (*_LEADS, *_FIGURES, *_WORDS, "corrected", "chance_at", "level")


def findings_frame(findings: Iterable[Any]) -> polars.DataFrame:
    """Findings and their parts as rows, named as in the CSV export.

    Args:
        findings: ``Finding`` objects, in order.

    Returns:
        Columns ``row`` (``finding`` or ``part``), the finding's ``metric``, ``name``, ``by``, ``model`` and
        ``benchmark``, a part's ``kind`` and ``key``, then ``value``, interval (``low``, ``high``), null band
        (``null_low``, ``null_high``), ``p_value``, ``p_adjusted``, ``n``, ``reason``, ``band``,
        ``direction``, ``role``, ``corrected`` (the interval is of it where it is given), ``chance_at`` and
        the interval's ``level``. What has no value has a null and its ``reason``. Crossed keys are joined by
        `` × ``.
    """
    import polars as pl

    rows = [row for finding in findings for row in _rows(finding)]
    types = {name: pl.String if name in (*_LEADS, *_WORDS) else pl.Float64 for name in _COLUMNS}
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
    ends["level"] = getattr(holder.interval, "level", None)
    plain = ("value", "corrected", "chance_at", "p_value", "p_adjusted", "n", "reason", "band", "role")
    return {**ends, **{name: getattr(holder, name) for name in plain}}
