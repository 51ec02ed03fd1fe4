"""Columns of a table that could say which group a row is of."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from evenhand.files.tables.scan import is_table, reading, scan

_SEEN, _MOST_GROUPS, _SHOWN = 1_000, 20, 6  # rows read, values of a column, columns that are named


def group_columns(data: str | Path, used: Collection[str]) -> list[str]:
    """Columns of a table that may hold groups: of few values, each of several rows; else none."""
    path = Path(data).expanduser()
    if not path.is_file() or not is_table(path):
        return []
    with reading(path):
        rows = scan(path)[0].head(_SEEN).collect()
    numbers = {name: rows[name].n_unique() for name in rows.columns if not rows[name].dtype.is_nested()}
    few = [name for name, n in numbers.items() if 1 < n <= min(_MOST_GROUPS, rows.height // 2)]
    return [name for name in few if name not in used][:_SHOWN]
