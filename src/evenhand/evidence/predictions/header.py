"""A second header among the rows, as files have that were written one behind the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np

from evenhand.core.errors import InputError
from evenhand.evidence.predictions.counts import Counts


def check_one_header(counts: Counts, columns: Mapping[str, str], names: Collection[str], what: str) -> None:
    """Refuse rows that hold the names of columns, which would become labels and a group.

    Args:
        counts: Of the table, before any rule.
        columns: Axis name to column name.
        names: All columns of the table.
        what: What messages call the table.

    Raises:
        InputError: A row each of whose values is the name of a column, those of truth and prediction among
            them, in this or another order.
    """
    roles, names = {columns["truth"], columns["prediction"]}, set(names)
    rows = np.ones(counts.n.size, dtype=bool)
    level_texts: list[list[str]] = []
    for axis in counts.axes:
        codes = [index for index, level in enumerate(axis.levels) if level in names]
        if not codes:
            return
        rows &= np.isin(counts.codes_of(axis.name), codes)
        level_texts.append([str(level) for level in axis.levels])
    for cell in np.flatnonzero(rows).tolist():
        values = [
            levels[code] for levels, code in zip(level_texts, counts.codes[:, cell].tolist(), strict=True)
        ]
        if len(set(values)) == len(values) and roles & set(values):
            n = int(counts.rows[cell])
            many, are = ("1 row of", "is a header") if n == 1 else (f"{n:,} rows of", "are headers")
            raise InputError(
                f"{many} {what} {are} ({', '.join(map(repr, values))}), "
                "as where files were joined with cat; take it out, or give the files with a glob in quotes"
            )
