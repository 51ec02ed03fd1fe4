"""Counts of earlier audits, added up: shards and machines that never saw each other's rows."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, ParameterError
from evenhand.evidence.predictions.counts import Counts
from evenhand.files.hashing import sha256_file
from evenhand.files.tables.scan import Origin, origin
from evenhand.runs.run_folder import FINDINGS, RunFolder

_COUNTS = Path("counts", "predictions.parquet")
_COLUMNS = ("truth", "prediction", "rank", "weight")
_RULES = ("map", "normalize", "missing", "bins")  # under other rules parts are of no one whole


@dataclass(frozen=True, eq=False)
class CountsShard:
    """One part of a sum."""

    path: Path  # run folder, or file of Counts
    manifest: Mapping[str, Any]  # empty for a file that lies in no run
    file: Path  # the Counts
    sha256: str  # of ``file``

    def manifest_text(self, name: str) -> str:
        """What the run says of itself, such as its ``model``; nothing where it says nothing."""
        value = self.manifest.get(name) or ""
        return str(sorted(map(str, value)) if isinstance(value, list) else value)

    def rows(self) -> str:
        """What tells the rows that were counted from those of other parts."""
        source = self.manifest.get("source") or {}
        read = str(source.get("sha256") or "") if isinstance(source, Mapping) else ""
        return read or self.sha256


@dataclass(frozen=True, eq=False)
class SavedCounts:
    """The sum of saved Counts."""

    counts: Counts
    truth: str  # the column's name
    prediction: str  # the column's name
    origin: Origin
    parts: tuple[str, ...]  # where each lies

    @classmethod
    def read(cls, path: str) -> SavedCounts:
        """Add up the counts of run folders or of files that ``Counts.save`` wrote; ``path`` may be a glob."""
        parts = [_part(part_path) for part_path in _part_paths(path)]
        same = {name: _shared(parts, name, f"column of {name}") for name in _COLUMNS}
        rules = {name: _shared(parts, name, f"--{name}") for name in _RULES}
        if len(parts) > 1 and "=quantiles:" in rules["bins"]:
            raise InputError(
                f"quantiles of parts are not those of the whole ({rules['bins']}); audit each part with "
                "edges, such as --bins age=18,40,65"
            )
        rows: dict[str, CountsShard] = {}
        for part in parts:
            if part.rows() in rows:
                raise InputError(
                    f"{str(part.path)!r} counts the same rows as {str(rows[part.rows()].path)!r}; name each "
                    "part once"
                )
            rows[part.rows()] = part
        return cls(
            sum_of([Counts.load(part.file) for part in parts]),
            same["truth"] or "truth",
            same["prediction"] or "prediction",
            origin(path, [part.file for part in parts]),
            tuple(str(part.path) for part in parts),
        )

    def check_columns(self, columns: Mapping[str, str | None]) -> None:
        """Refuse columns that were not those counted: there are no rows left to choose from."""
        for name, column in columns.items():
            counted_column = {
                "truth": self.truth,
                "prediction": self.prediction,
                "cluster": self.counts.cluster,
            }.get(name)
            if column is not None and column != counted_column:
                hint = f"; counted was {counted_column!r}" if counted_column else ""
                raise ParameterError(f"--{name} {column} cannot be chosen among counts{hint}; leave it out")


def is_saved(path: str) -> bool:
    """Whether a path or glob names run folders or saved Counts rather than a table of rows."""
    return "://" not in path and bool(_part_paths(path))


def sum_of(parts: Sequence[Counts]) -> Counts:
    """Counts of all parts together; those over more attributes are projected to what all have."""
    shared = [name for name in parts[0].attributes if all(name in part.attributes for part in parts)]
    total = parts[0].project(shared)
    for part in parts[1:]:
        total = total + part.project(shared)
    return total


def _part_paths(path: str) -> list[Path]:
    """The run folders or files of Counts that a path stands for; none if it is a table."""
    pattern = Path(path).expanduser()
    some = [pattern] if pattern.exists() else [Path(name) for name in sorted(glob.glob(str(pattern)))]
    if not some or not all(_is_run(part_path) or _holds_counts(part_path) for part_path in some):
        return []
    return some


def _is_run(path: Path) -> bool:
    return path.is_dir() and (path / FINDINGS).is_file()


def _holds_counts(path: Path) -> bool:
    if not path.is_file() or path.suffix != ".parquet":
        return False
    try:
        names = pl.read_parquet_schema(path)
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return False  # reading it as a table says what is wrong with it
    return {"truth", "prediction", "n"} <= set(names) and any(name.startswith("attribute:") for name in names)


def _part(path: Path) -> CountsShard:
    """One part, with what its run says of itself."""
    file = path / _COUNTS if path.is_dir() else path
    folder = file.parent.parent
    manifest = RunFolder.read_findings(folder).unedited("counts").manifest if _is_run(folder) else {}
    if not file.is_file():
        raise InputError(
            f"{str(path)!r} is a run without counts of predictions; give folders that evenhand audit -o wrote"
        )
    if manifest.get("kind", "audit") != "audit":
        raise InputError(
            f"{str(path)!r} asked a model, and a sum would forget what was left unanswered; only audits of "
            "tables add up; evenhand run goes on with the same command"
        )
    return CountsShard(path, manifest, file, sha256_file(file))


def _shared(parts: Sequence[CountsShard], name: str, what: str) -> str:
    """What all parts say of one thing."""
    parts_by_value = {part.manifest_text(name): part for part in parts}
    if len(parts_by_value) > 1:
        text = " and ".join(
            f"{value or 'none'!r} ({part.path.name})" for value, part in sorted(parts_by_value.items())[:3]
        )
        raise InputError(
            f"these audits do not add up, their {what} differs: {text}; audit parts of one whole "
            "alike, or compare them: evenhand compare RUN RUN"
        )
    return next(iter(parts_by_value))
