"""What the artifacts of MMBias share: names of pairs, tables that a run must have."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from evenhand.benchmarks.mmbias.data.groups import NAMES
from evenhand.core.errors import InputError
from evenhand.runs.run_folder import RunFolder

RUNS, MATCHING_RUNS = "mmbias/association", "mmbias/matching"
SIGN = "Positive: the first group is tied more to the unpleasant words or pictures."
DEBIAS = "evenhand debias RUN --method pruning -o DIR"


def pair_title(x: str, y: str) -> str:
    """Such as ``Muslim – Christian``, as Table 2 calls the groups."""
    return f"{NAMES.get(x, x)} – {NAMES.get(y, y)}"


def is_debias(run: RunFolder) -> bool:
    """Whether ``evenhand debias`` made it."""
    return run.manifest.get("kind") == "debias"


def needed_table(run: RunFolder, table: str, artifact: str, command: str) -> pl.DataFrame:
    """A table of a run; if it is missing, the error says which ``command`` makes it for ``artifact``."""
    frame = run.tables.get(table)
    if frame is None:
        where = f"{str(run.folder)!r}" if run.folder is not None else "the run given"
        raise InputError(f"{artifact} needs the table {table!r}, which {where} has not; type: {command}")
    return frame


def listed(parts: Mapping[str, object]) -> str:
    """``a: 1, b: 2``."""
    return ", ".join(f"{name}: {value}" for name, value in parts.items())
