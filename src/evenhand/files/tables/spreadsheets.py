"""CSV that people open in a spreadsheet, written so that no cell runs there, and read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.core.errors import InputError, one_line

if TYPE_CHECKING:
    import polars

_FORMULA = r"^'*[=+\-@\t\r\n＝＋－＠]"
_PLAIN_NUMBER = r"^[-+]?[\d.,]+%?$"
_WRITTEN = r"^'('*[=+\-@\t\r\n＝＋－＠])"


def csv_bytes(table: polars.DataFrame) -> bytes:
    """A table as CSV in UTF-8 that a spreadsheet does not run.

    A text that it would take for a formula (after any number of apostrophes it begins with ``=``, ``+``,
    ``-``, ``@``, also in full width, a tab or a line break) has one more apostrophe in front; plain numbers
    are left as they are. Take that one away to read the text back. A null is an empty cell, an empty text a
    pair of quotes.
    """
    import polars as pl

    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    safe = [_safe(pl.col(name)).alias(name) for name in texts]
    return table.with_columns(safe).write_csv().encode("utf-8")


def rows_csv(table: polars.DataFrame) -> bytes:
    """As ``csv_bytes``, of any table of a user: names of columns too; what CSV has no form for as text."""
    import polars as pl

    plain = table.with_columns(pl.col(pl.Duration).dt.to_string())  # ISO 8601: PT1H30M
    plain = plain.with_columns(
        pl.Series(name, list(map(_text, table[name].to_list())), dtype=pl.String)
        for name, kind in table.schema.items()
        if kind.is_nested() or kind in (pl.Binary, pl.Object)
    )
    names = pl.DataFrame({"name": plain.columns}, schema={"name": pl.String})
    safe = names.select(name=_safe(pl.col("name")))["name"].to_list()
    return csv_bytes(plain.rename(dict(zip(plain.columns, safe, strict=True))))


def read_rows(path: Path) -> polars.DataFrame:
    """What ``rows_csv`` wrote; every column is text."""
    import polars as pl

    try:
        table = pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as problem:
        raise InputError(f"{str(path)!r} cannot be read: {one_line(problem, 200)}") from None
    names = pl.Series(table.columns, dtype=pl.String).str.replace(_WRITTEN, "$1").to_list()
    plain = table.with_columns(pl.all().str.replace(_WRITTEN, "$1"))
    return plain.rename(dict(zip(table.columns, names, strict=True)))


def _safe(texts: polars.Expr) -> polars.Expr:
    import polars as pl

    formula = texts.str.contains(_FORMULA) & ~texts.str.contains(_PLAIN_NUMBER)
    return pl.when(formula).then(pl.lit("'") + texts).otherwise(texts)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return value.hex() if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False, default=str)
