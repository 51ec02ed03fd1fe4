"""Run folders that a test writes into."""

from __future__ import annotations

from pathlib import Path


def unsealed(folder: Path) -> Path:
    """The run folder without hashes of its files, as those of before were written: edits are not seen."""
    (folder / "hashes.json").unlink(missing_ok=True)  # changed twice, or a run of before
    return folder


def as_before_outcomes(folder: Path) -> Path:
    """A run folder as it was when runs did not keep outcomes."""
    (unsealed(folder) / "tables" / "outcomes.parquet").unlink()
    return folder
