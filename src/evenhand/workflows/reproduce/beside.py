"""Our numbers beside those that a paper prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.recipe import Compared
from evenhand.core.errors import InputError

OURS, PAPER = "ours", "paper"
UNDEFINED, NOT_MEASURED = "undefined", "not measured"
SCHEMA = {
    "artifact": pl.String, "of": pl.String, "measure": pl.String, "model": pl.String, "ours": pl.Float64,
    "held_out": pl.Float64, "paper": pl.Float64, "paper_low": pl.Float64, "paper_high": pl.Float64,
    "paper_model": pl.String, "reason": pl.String, "setting": pl.String,
}  # fmt: skip
Row = dict[str, Any]
Key = tuple[str | float | None, ...]
Cell = tuple[Key, str]


def beside_paper(artifact: str, table: pl.DataFrame, compared: Compared, paper_model: str = "") -> list[Row]:
    """A row for each number that the paper prints, with ours of the same thing in each of its settings.

    Two numbers are of the same thing if they agree in every key; a key that one of them leaves empty is not
    compared. ``setting`` says what ours has there, and what it has in ``compared.settings``; two of one model
    in the same setting are refused. ``paper`` is null where several models' numbers stand beside, with their
    lowest and highest (no ``paper_model``, or it has no number); ``ours`` where there is none, with the
    reason.
    """
    keys = [key for key in compared.keys if key in table.columns]
    settings = [name for name in compared.settings if name in table.columns]
    ours = list(table.filter(source=OURS).iter_rows(named=True))
    rows: list[Row] = []
    for (key, measure), paper_values in _printed(artifact, table, keys, compared.values).items():
        unsaid = [name for name, value in zip(keys, key, strict=True) if value is None]
        of = _words(keys, key)
        shared = {
            "artifact": artifact,
            "of": of,
            "measure": measure,
            **_paper_columns(paper_values, paper_model),
        }
        alike: dict[tuple[str, str], Row] = {}
        for row in ours:
            if _agree(_key(row, keys), key):
                where = (_model(row), _words((*unsaid, *settings), _key(row, (*unsaid, *settings))))
                _once(alike, where, f"{artifact}: {measure} of {of}")
                alike[where] = row
        rows += [{**shared, **_our_columns(row, measure, compared), "model": model, "setting": setting}
                 for (model, setting), row in alike.items()]  # fmt: skip
        if not alike:
            rows.append({**shared, "model": "", "reason": NOT_MEASURED})
    return rows


def _printed(
    artifact: str, table: pl.DataFrame, keys: Sequence[str], measures: Sequence[str]
) -> dict[Cell, dict[str, float]]:
    """Each thing that the paper prints, to the number of each of its models."""
    cells: dict[Cell, dict[str, float]] = {}
    for row in table.filter(source=PAPER).iter_rows(named=True):
        for measure in measures:
            if row[measure] is not None:
                key = _key(row, keys)
                values = cells.setdefault((key, measure), {})
                _once(values, _model(row), f"{artifact}: {measure} of {_words(keys, key)} in the paper")
                values[_model(row)] = row[measure]
    return cells


def _once(cells: Mapping[Any, object], where: object, what: str) -> None:
    if where in cells:
        raise InputError(
            f"{what}: several numbers of {where!r}, of which none is known to be the one; name the column "
            "that tells them apart in keys or settings of the recipe's Compared"
        )


def _our_columns(row: Mapping[str, Any], measure: str, compared: Compared) -> Row:
    value, apart = row[measure], compared.held_out.get(measure)
    reason = None if value is not None else row.get("reason") or UNDEFINED
    return {"ours": value, "held_out": row[apart] if apart else None, "reason": reason}


def _paper_columns(values: Mapping[str, float], paper_model: str) -> Row:
    selected = {model: value for model, value in values.items() if model == paper_model} or values
    alone = len(selected) == 1
    return {
        "paper_model": next(iter(selected)) if alone else f"{len(selected)} models",
        "paper": next(iter(selected.values())) if alone else None,
        "paper_low": min(selected.values()),
        "paper_high": max(selected.values()),
    }


def _model(row: Mapping[str, Any]) -> str:
    return str(row.get("model") or "").removesuffix(" (paper)")


def _key(row: Mapping[str, Any], names: Sequence[str]) -> Key:
    """What a number is of; a name of ours in brackets behind the paper's is left out."""
    return tuple(
        value.partition(" (")[0] if isinstance(value, str) else value
        for value in (row[name] for name in names)
    )


def _agree(ours: Key, paper: Key) -> bool:
    """Whether two keys are alike wherever both say something; case is not compared."""
    pairs = (
        tuple(part.casefold() if isinstance(part, str) else part for part in pair)
        for pair in zip(ours, paper, strict=True)
    )
    return all(first is None or second is None or first == second for first, second in pairs)


def _words(names: Sequence[str], key: Key) -> str:
    """A key in words; numbers with the name of their column."""
    return ", ".join(
        value if isinstance(value, str) else f"{name} {value:g}"
        for name, value in zip(names, key, strict=True)
        if value is not None
    )


def beside_table(rows: list[Row]) -> pl.DataFrame:
    """The rows of ``beside_paper`` as a table."""
    return pl.DataFrame(rows, schema=SCHEMA)
