"""Results as tables: a row for each finding, and one for each of its parts; what is alike, together.

Results import this file, so that it cannot name their types. Polars is imported when a table is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import polars

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
_LEADS = ("row", "metric", "name", "by", "model", "benchmark", "kind", "key")
_WORDS = ("reason", "band", "direction", "role")
_FIGURES = ("value", "low", "high", "null_low", "null_high", "p_value", "p_adjusted", "n")
_PLAIN = ("value", "corrected", "chance_at", "p_value", "p_adjusted", "mde", "n", "reason", "band", "role")
_COLUMNS = (*_LEADS, *_FIGURES, *_WORDS, "corrected", "chance_at", "level")


def findings_frame(findings: Iterable[Any]) -> polars.DataFrame:
    """Findings and their parts as rows, named as in the CSV export.

    What has no value has a null and its ``reason``; the interval is of ``corrected`` where that is given.
    Crossed keys are joined by `` × ``.
    """
    import polars as pl

    rows = [row for finding in findings for row in _rows(finding)]
    types = {name: pl.String if name in (*_LEADS, *_WORDS) else pl.Float64 for name in _COLUMNS}
    return pl.DataFrame([[row.get(name) for name in _COLUMNS] for row in rows], schema=types, orient="row")


def _rows(finding: Any) -> Iterator[dict[str, Any]]:
    of = {name: getattr(finding, name) for name in ("metric", "name", "model", "benchmark", "direction")}
    of["by"] = finding.grouping
    yield {"row": "finding", **of, **flat(finding)}
    for part in finding.parts:
        key = part.key if isinstance(part.key, str) else " × ".join(part.key)
        yield {"row": "part", "kind": part.kind, "key": key, **of, **flat(part)}


def flat(holder: Any) -> dict[str, Any]:
    """What a finding or a part says of its value, as columns; None where it has none."""
    interval, null = holder.interval, holder.null
    return {
        **{name: getattr(holder, name) for name in _PLAIN},
        **ends(holder),
        "level": getattr(interval, "level", None),
        "interval_method": getattr(interval, "method", None),
        **{f"null_{name}": getattr(null, name, None) for name in ("mean", "level", "method")},
    }


def ends(holder: Any) -> dict[str, float | None]:
    """The ends of the interval of a finding or a part, and of its null band."""
    bands = (("", holder.interval), ("null_", holder.null))
    return {f"{name}{end}": getattr(band, end, None) for name, band in bands for end in ("low", "high")}


def band_ends(holder: Any) -> list[float]:
    """The same as marks on a line, as many as there are."""
    return [end for end in ends(holder).values() if end is not None]


def grouped(items: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """What has the same key together, in the order of the first of each."""
    groups: dict[K, list[T]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
