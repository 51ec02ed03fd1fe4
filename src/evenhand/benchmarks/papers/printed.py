"""The numbers that a paper prints: a CSV file for each of its tables, in ``printed`` beside its modules."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any


def printed(module: str, table: str, *, keys: int = 1) -> dict[Any, tuple[Any, ...]]:
    """What a row is of, to the numbers that stand in it; None where the paper prints none.

    Args:
        module: ``__file__`` of a module of the paper.
        table: Name of the file, whose first line names the columns.
        keys: How many columns say what a row is of: a text of one, a tuple of several.
    """
    with (Path(module).parent / "printed" / f"{table}.csv").open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    return {row[0] if keys == 1 else tuple(row[:keys]): tuple(map(_number, row[keys:])) for row in rows}


def _number(cell: str) -> float | None:
    if not cell:
        return None
    return float(cell) if "." in cell else int(cell)
