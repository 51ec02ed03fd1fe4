"""What the artifacts of MMBias share: names of pairs, types of columns, tables that a run must have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.mmbias.data.groups import NAMES
from evenhand.benchmarks.tidy import table_of
from evenhand.benchmarks.visogender.artifacts.rows import labels_of
from evenhand.core.errors import InputError
from evenhand.core.figure import Reference
from evenhand.runs.run_folder import RunFolder

Row = dict[str, Any]

OURS, PAPER = "ours", "paper"
RUNS, MATCHING_RUNS = "mmbias/association", "mmbias/matching"
EVEN = Reference(0.0, "even")
SIGN = "Positive: the first group is tied more to the unpleasant words or pictures."
DEBIAS = "evenhand debias RUN --method pruning -o DIR"

_NUMBERS = frozenset(
    {"value", "low", "high", "null_low", "null_high", "p", "p_adjusted", "bound", "cohens_d", "auc", "n"}
    | {"before", "after", "reduction", "reduction_low", "reduction_high", "less", "removed", "amount"}
    | {"fit_before", "fit_after", "held_out_before", "held_out_after", "random_after", "random_low"}
    | {
        "lost",
        "chance",
        "random_high",
        "rank",
        "width",
        "height",
        "area",
        "mean",
        "sd",
        "phrases",
        "images",
        "x_at",
        "y_at",
    }
)


def typed(rows: Sequence[Row], columns: Sequence[str]) -> pl.DataFrame:
    """A tidy table; columns of numbers by their name, all others hold text."""
    return table_of(rows, columns, numbers=_NUMBERS)


def pair_title(x: str, y: str) -> str:
    """Such as ``Muslim – Christian``, as Table 2 calls the groups."""
    return f"{NAMES.get(x, x)} – {NAMES.get(y, y)}"


def named_runs(runs: Sequence[RunFolder]) -> list[tuple[str, RunFolder]]:
    """Each run with a name that tells it apart from the others."""
    return list(zip(labels_of(runs), runs, strict=True))


def is_debias(run: RunFolder) -> bool:
    """Whether ``evenhand debias`` made it."""
    return run.manifest.get("kind") == "debias"


def needed_table(run: RunFolder, table: str, artifact: str, command: str) -> pl.DataFrame:
    """A table of a run.

    Args:
        run: The run.
        table: Its name.
        artifact: What needs it, for the message.
        command: What makes it.

    Raises:
        InputError: The run has no such table.
    """
    frame = run.tables.get(table)
    if frame is None:
        where = f"{str(run.folder)!r}" if run.folder is not None else "the run given"
        raise InputError(f"{artifact} needs the table {table!r}, which {where} has not; type: {command}")
    return frame


def listed(parts: Mapping[str, object]) -> str:
    """``a: 1, b: 2``."""
    return ", ".join(f"{name}: {value}" for name, value in parts.items())
