"""Artifacts of the papers from run folders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.benchmarks.declaration import Artifact
from evenhand.core.errors import InputError
from evenhand.evidence.run_folder import Run
from evenhand.files.atomic import atomic_path


def artifact(name: str, runs: Sequence[str | Path | Run]) -> tuple[str, pl.DataFrame]:
    """A paper's table made from runs.

    Args:
        name: Such as ``skewsize/table1``.
        runs: Run folders, or runs.

    Returns:
        What it shows, and the tidy table; rows of the paper have ``source`` = ``paper``.

    Raises:
        UserError: No such artifact, or runs it cannot be made from.
    """
    found: Artifact = ARTIFACTS.get(name)
    return found.title, found.make([run if isinstance(run, Run) else Run.read(run) for run in runs])


def write_table(table: pl.DataFrame, path: Path) -> None:
    """Write a table as CSV or Parquet, whole or not at all.

    Raises:
        InputError: Another format.
    """
    writers: dict[str, Callable[[Path], object]] = {
        ".csv": table.write_csv,
        ".parquet": table.write_parquet,
    }
    if path.suffix not in writers:
        raise InputError(f"-o {str(path)!r} has an unknown format; possible: {', '.join(writers)}")
    with atomic_path(path) as temporary:
        writers[path.suffix](temporary)
