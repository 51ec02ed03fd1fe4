"""The answers behind a run, sample by sample, so that runs can be paired; or why there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, UserError, one_line
from evenhand.display.text.model_names import model_names
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import ATTRIBUTE, CLUSTER
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.evidence.predictions.sample_rows import WHOLE, as_text, fitted, sample_rows, with_text_labels
from evenhand.files.hashing import sha256_file
from evenhand.runs.run_folder import OUTCOMES
from evenhand.workflows.outputs.result import Run

COUNTS = "predictions"
_MOST_ROWS = 20_000_000  # beyond it tables are not joined in memory


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """A run folder with what a comparison needs of it."""

    name: str  # in the comparison
    run: Run
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)  # derived from its tables

    @classmethod
    def read(cls, folder: str | Path) -> ComparedRun:
        """Read a run folder."""
        run = Run.read(folder)
        return cls(_called(run), run)

    @property
    def manifest(self) -> Mapping[str, Any]:
        """What was done."""
        return self.run.manifest

    @property
    def folder(self) -> str:
        """Where it lies, as the user gave it."""
        return str(self.run.folder)

    @cached_property
    def counts(self) -> Counts | None:
        """Its counts of predictions with every label as text; None for other kinds of runs."""
        counts = self.run.counts.get(COUNTS)
        if counts is not None and counts.weighted:
            raise InputError(
                f"{self.folder!r} counts rows with weights, which a comparison cannot use; audit it again "
                "without --weight"
            )
        return None if counts is None else with_text_labels(counts)

    @property
    def cluster(self) -> str | None:
        """The column that its rows were sampled by as wholes; ``counts`` are of rows alone."""
        counts = self.run.counts.get(COUNTS)
        return None if counts is None else counts.cluster

    def rows(self, attributes: Sequence[str]) -> pl.DataFrame | str:
        """Sample, truth, attributes and prediction of every row, or why they cannot be had.

        They are taken only where counting them gives the run's counts, so that nothing is paired which the
        run did not measure.
        """
        counts = self.counts
        if counts is None or counts.n_total > _MOST_ROWS:
            return (
                "it has more rows than are joined in memory"
                if counts is not None
                else "it has no counts of predictions"
            )
        try:
            read = _from_source if self.manifest.get("kind") == "audit" else _from_folder
            saved = _from_outcomes(self.run)
            table = read(self.run) if saved is None else saved
        except UserError as problem:
            return one_line(problem)
        if isinstance(table, str):
            return table
        return _usable(table, counts, attributes)


def called_apart(runs: Sequence[ComparedRun]) -> list[ComparedRun]:
    """Runs whose names tell them apart: by their folders where they are called alike."""
    names = model_names(run.name for run in runs)
    runs = [replace(run, name=name) for run, name in zip(runs, names, strict=True)]
    apart = [
        replace(run, name=f"{run.name} ({Path(run.folder).name})") if names.count(run.name) > 1 else run
        for run in runs
    ]
    name_counts: dict[str, int] = {}
    for index, run in enumerate(apart):
        name_counts[run.name] = name_counts.get(run.name, 0) + 1
        if name_counts[run.name] > 1:
            apart[index] = replace(run, name=f"{run.name} #{name_counts[run.name]}")
    return apart


def _called(run: Run) -> str:
    """The model, or the column of predictions or numbers and its table."""
    if run.manifest.get("model"):
        return one_line(run.manifest["model"])
    source = run.manifest.get("source") or {}
    table = Path(str(source.get("path") or run.folder)).name
    column = run.manifest.get("prediction") or run.manifest.get("value") or "prediction"
    return one_line(f"{column} of {table}")


def _from_source(run: Run) -> pl.DataFrame | str:
    """The rows of an audited table, where it still lies there unchanged."""
    source = run.manifest.get("source") or {}
    path, digest = source.get("path"), source.get("sha256")
    if not path or not digest:
        return (
            "it audited a frame, or a table in the cloud, without ids, or one of very many rows; "
            "name rows with --id COL (Python id=)"
        )
    if run.manifest.get("rank"):
        return "its table is ranked"
    there = Path(path).expanduser().is_file()
    if "parts" in source or (not there and any(mark in path for mark in "*?[")):
        return f"it was added up from several audits or files ({path!r}), which are not read again"
    if not there:
        return f"its table {path!r} is not there (any more)"
    for file, hashed in ((path, digest), *((other["path"], other["sha256"]) for other in _beside(source))):
        if not Path(file).expanduser().is_file() or sha256_file(Path(file).expanduser()) != hashed:
            return f"its table {file!r} has changed since"
    attributes = [name for grouping in run.manifest.get("by", []) for name in _attributes(run, grouping)]
    predictions = _read_again(run, source)
    return sample_rows(predictions, list(dict.fromkeys(attributes)), run.manifest.get("relabelled") or {})


def _from_outcomes(run: Run) -> pl.DataFrame | None:
    """The rows that an audit kept, where they have names."""
    table = run.tables.get(OUTCOMES)
    if table is None or "prediction" not in table.columns or table["sample"].null_count():
        return None
    cluster = run.counts[COUNTS].cluster
    names = {name: name.removeprefix(ATTRIBUTE) for name in table.columns if name.startswith(ATTRIBUTE)}
    names |= {} if cluster is None else {"unit": CLUSTER + cluster}
    return table.rename(names)


def _beside(source: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The files that were read with a table: annotations, groups."""
    return source.get("beside") or ()


def _read_again(run: Run, source: Mapping[str, Any]) -> Predictions:
    """The rows as the audit read them: of a log of another tool, and with groups of other tables."""
    manifest, path = run.manifest, source["path"]
    columns: dict[str, Any] = {name: manifest.get(name) for name in ("truth", "prediction", "id")}
    columns["cluster"] = run.counts[COUNTS].cluster
    if source.get("format"):
        rows = Predictions.read_from(source["format"], path, **columns)
    else:
        rows = Predictions.read(path, **columns)
    for other in _beside(source):
        if other.get("on"):
            rows = rows.with_groups(other["path"], on=other["on"])
    return rows


def _attributes(run: Run, grouping: str) -> list[str]:
    """The columns of a grouping; a column may be called ``a+b``."""
    attributes = run.counts[COUNTS].attributes
    return (
        [grouping] if grouping in attributes else [name for name in grouping.split("+") if name in attributes]
    )


def _from_folder(run: Run) -> pl.DataFrame | str:
    """The rows of a run that asked a model: its predictions and its annotations."""
    annotations = run.annotations
    if annotations is None or run.folder is None:
        return "it keeps no annotations"
    answers = next(
        (predictions for read in (_from_tables, _from_evidence) if (predictions := read(run)) is not None),
        None,
    )
    if answers is None:
        return "it keeps no predictions of single samples"
    annotations = annotations.with_columns(pl.col("sample").cast(pl.String))
    if "truth" not in annotations.columns:
        return "its annotations hold no truth"
    return annotations.join(answers, on="sample", how="inner", maintain_order="left")


def _from_tables(run: Run) -> pl.DataFrame | None:
    """Predictions that a benchmark made of answers, embeddings or scores."""
    for name in ("predictions", "answers"):
        table = run.tables.get(name)
        if table is not None and {"sample", "prediction"} <= set(table.columns):
            return table.select(pl.col("sample").cast(pl.String), "prediction")
    return None


def _from_evidence(run: Run) -> pl.DataFrame | None:
    """What a classifier named first."""
    parts = sorted((Path(str(run.folder)) / "evidence" / COUNTS).glob("part-*.parquet"))
    if not parts:
        return None
    lazy = pl.scan_parquet(parts)
    if "rank" in lazy.collect_schema().names():
        lazy = lazy.filter(pl.col("rank") == 1)
    return lazy.select(pl.col("sample").cast(pl.String), "prediction").collect()


def _usable(table: pl.DataFrame, counts: Counts, attributes: Sequence[str]) -> pl.DataFrame | str:
    """The rows with the columns that are compared, each sample once, or why not."""
    names = ("truth", *attributes, "prediction")
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        return f"its rows lack {lacking[0]!r}"
    repeated = table.height - table["sample"].n_unique()
    if repeated:
        return f"{repeated:,} of its rows repeat a sample id"
    units = [] if counts.cluster is None else [CLUSTER + counts.cluster]
    if units and units[0] not in table.columns and counts.cluster in table.columns:
        table = table.with_columns(pl.col(str(counts.cluster)).alias(units[0]))
    if units and units[0] not in table.columns:
        return f"its rows lack {counts.cluster!r}, which they were sampled by"
    table = table.with_columns(as_text(name, table.schema[name]) for name in units)
    plain = with_plain_ids(table.select("sample", *names, *units))
    return fitted(plain, counts.unclustered().project(attributes))


def with_plain_ids(table: pl.DataFrame) -> pl.DataFrame:
    """Ids written as 5.0 as 5, unless two would then be one."""
    plain = table.with_columns(pl.col("sample").str.replace(WHOLE, "$1"))
    return plain if plain["sample"].n_unique() == table.height else table
