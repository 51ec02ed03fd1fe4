"""Our numbers beside those that a paper prints."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from evenhand.benchmarks.recipe import Compared

OURS, PAPER = "ours", "paper"
SCHEMA = {
    "artifact": pl.String, "of": pl.String, "measure": pl.String, "model": pl.String, "ours": pl.Float64,
    "held_out": pl.Float64, "paper": pl.Float64, "paper_low": pl.Float64, "paper_high": pl.Float64,
    "paper_model": pl.String, "reason": pl.String,
}  # fmt: skip
Row = dict[str, object]
Cells = dict[tuple[str, str], dict[str, float | None]]


def beside_paper(artifact: str, table: pl.DataFrame, compared: Compared, paper_model: str = "") -> list[Row]:
    """A row for each number that the paper prints, with ours of the same thing.

    Args:
        artifact: Its name.
        table: Has ``source``, ``ours`` or ``paper``.
        compared: Its columns that are compared.
        paper_model: The paper's model whose numbers stand beside, where it has one; empty, or where it has
            none: the lowest and highest of all that the paper prints.

    Returns:
        Rows of ``SCHEMA``: ``paper`` is null where several models' numbers stand beside, ``ours`` where there
        is none, with the ``reason``. ``held_out``: the same of items which nothing was chosen on.
    """
    keys = [key for key in compared.keys if key in table.columns]
    ours = table.filter(source=OURS)
    printed = _cells(table.filter(source=PAPER), keys, {name: name for name in compared.values})
    measured = _cells(ours, keys, {name: name for name in compared.values})
    held_out, reasons = _cells(ours, keys, compared.held_out), _reasons(ours, keys)
    rows: list[Row] = []
    for (of, measure), paper_values in printed.items():
        beside = {
            "artifact": artifact,
            "of": of,
            "measure": measure,
            **_paper_columns(paper_values, paper_model),
        }
        for model, value in (measured.get((of, measure)) or {"": None}).items():
            reason = None if value is not None else reasons.get((of, model), "not measured")
            apart = held_out.get((of, measure), {}).get(model)
            rows.append({**beside, "model": model, "ours": value, "held_out": apart, "reason": reason})
    return rows


def _paper_columns(printed: Mapping[str, float | None], paper_model: str) -> Row:
    values = {model: value for model, value in printed.items() if value is not None}
    selected = {model: value for model, value in values.items() if model == paper_model} or values
    names = {"paper_model": next(iter(selected)) if len(selected) == 1 else f"{len(selected)} models"}
    alone = next(iter(selected.values())) if len(selected) == 1 else None
    return {
        **names,
        "paper": alone,
        "paper_low": min(selected.values()),
        "paper_high": max(selected.values()),
    }


def _cells(table: pl.DataFrame, keys: list[str], columns: Mapping[str, str]) -> Cells:
    """What is measured of what, to model to number."""
    cells: Cells = {}
    for row in table.iter_rows(named=True):
        model = str(row.get("model") or "").removesuffix(" (paper)")
        for measure, column in columns.items():
            if row["source"] == OURS or row[column] is not None:
                cells.setdefault((_of(row, keys), measure), {})[model] = row[column]
    return cells


def _of(row: Mapping[str, object], keys: list[str]) -> str:
    """What a number is of; a name of ours in brackets behind the paper's is left out."""
    return ", ".join(str(row[key]).partition(" (")[0] for key in keys if row[key] is not None)


def _reasons(table: pl.DataFrame, keys: list[str]) -> dict[tuple[str, str], str]:
    if "reason" not in table.columns:
        return {}
    rows = table.filter(pl.col("reason").is_not_null()).iter_rows(named=True)
    return {(_of(row, keys), str(row.get("model") or "")): str(row["reason"]) for row in rows}


def beside_table(rows: list[Row]) -> pl.DataFrame:
    """The rows of ``beside_paper`` as a table."""
    return pl.DataFrame(rows, schema=SCHEMA)
