"""What is kept of an artifact to compare with: columns, counts, sums and a few cells, never pixels."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.files.atomic import write_bytes

FOLDER = Path(__file__).parent / "reference"
FIRST, LONGEST, DIGITS = 3, 40, 6

UNSTEADY = {"mmbias/figure4": ("across", "up")}
"""Columns whose numbers depend on the machine: where t-SNE puts a point."""


def summary(name: str, table: pl.DataFrame) -> dict[str, Any]:
    """Columns with type, missing values and content, and the first rows.

    Args:
        name: The artifact.
        table: Its table.

    Returns:
        Of each column its type and how many values it has; of numbers the sum, the least and the largest,
        rounded to 6 digits; of texts how many different ones. Long texts are cut.
    """
    unsteady = UNSTEADY.get(name, ())
    steady = [column for column in table.columns if column not in unsteady and column != "picture"]
    return {
        "rows": table.height,
        "columns": {column.name: _column(column, column.name in unsteady) for column in table.get_columns()},
        "first": [
            {column: _cell(row[column]) for column in steady}
            for row in table.head(FIRST).iter_rows(named=True)
        ],
    }


def _column(column: pl.Series, unsteady: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"type": str(column.dtype), "values": len(column) - column.null_count()}
    if unsteady or column.name == "picture":
        return found
    if column.dtype.is_numeric():
        known = column.drop_nulls().cast(pl.Float64)
        total = math.fsum(known.to_list())
        return {**found, "sum": _cell(total), "least": _cell(known.min()), "largest": _cell(known.max())}
    return {**found, "different": column.n_unique()}


def _cell(value: object) -> object:
    """Numbers to 6 digits, texts to 40 characters."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
    return value[:LONGEST] if isinstance(value, str) else value


def reference_path(name: str) -> Path:
    """The file of an artifact's reference."""
    return FOLDER / f"{name.replace('/', '-')}.json"


def write(name: str, table: pl.DataFrame) -> None:
    """Keep this table's summary as the reference."""
    text = json.dumps(summary(name, table), indent=1, ensure_ascii=False, allow_nan=False)
    write_bytes(reference_path(name), f"{text}\n".encode())


def differences(name: str, table: pl.DataFrame) -> list[str]:
    """What of a table is not as in its reference; nothing if it is alike."""
    kept = json.loads(reference_path(name).read_text(encoding="utf-8"))
    return list(_unlike("", kept, json.loads(json.dumps(summary(name, table)))))


def _unlike(where: str, kept: Any, found: Any) -> list[str]:
    if isinstance(kept, dict) and isinstance(found, dict) and list(kept) == list(found):
        return [line for key in kept for line in _unlike(f"{where}/{key}", kept[key], found[key])]
    if isinstance(kept, list) and isinstance(found, list) and len(kept) == len(found):
        return [
            line
            for place, (one, other) in enumerate(zip(kept, found, strict=True))
            for line in _unlike(f"{where}/{place}", one, other)
        ]
    both = isinstance(kept, float) and isinstance(found, float)
    alike = math.isclose(kept, found, rel_tol=2e-5, abs_tol=2e-6) if both else kept == found
    return [] if alike else [f"{where}: {kept!r} kept, {found!r} found"]
