"""Tidy tables of artifacts: rows as mappings, columns that are text or numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import polars as pl


def table_of(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    *,
    texts: Collection[str] | None = None,
    numbers: Collection[str] = (),
) -> pl.DataFrame:
    """A table of the columns asked for; what a row lacks is null.

    Args:
        rows: Mappings of column to value.
        columns: In order.
        texts: Columns that hold text; all others hold numbers.
        numbers: Where ``texts`` is not given: columns that hold numbers; all others hold text.
    """
    is_text = {name: name in texts if texts is not None else name not in numbers for name in columns}
    schema = {name: pl.String if text else pl.Float64 for name, text in is_text.items()}
    return pl.DataFrame([[row.get(name) for name in columns] for row in rows], schema=schema, orient="row")
