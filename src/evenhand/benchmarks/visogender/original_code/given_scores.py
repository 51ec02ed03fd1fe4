"""Scores that were made elsewhere: files of the original code, or tables of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from evenhand.benchmarks.benchmark import Setting
from evenhand.benchmarks.visogender.data.captions import OCC_FIRST
from evenhand.benchmarks.visogender.data.study_data import read_material
from evenhand.benchmarks.visogender.original_code import json_files as upstream
from evenhand.core.errors import InputError, UnknownName, check_known
from evenhand.files.tables import scan as sources

_RETRIEVAL = re.compile(r"retrieval_bias_(?P<model>.+)_(?:occ|par)_first_Context(?:OP|OO)\.json")
_RESULTS, _AUGMENTED = "benchmark_results_", "_augmented_"
_TABLES = {
    "scores": ("sample", "candidate", "score"),
    "rankings": ("query", "sample", "score"),
}


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Scores of pronouns."""

    samples: pl.DataFrame
    scores: pl.DataFrame  # sample, template, candidate, score
    candidates: Sequence[str] = ()  # in the order that decides ties in the original code; empty: unknown
    experiment: str = ""  # CLIP or CAPTIONING; empty if the files do not say
    model: str = ""  # empty if the files do not say
    retrieval: Sequence[upstream.OriginalRetrieval] = ()  # what stands beside the scores
    dropped: Mapping[str, int] = field(default_factory=dict)  # rows that became no sample, by reason


@dataclass(frozen=True, eq=False)
class GivenRankings:
    """Scores of images for neutral captions, a table for each context and template."""

    tables: Sequence[tuple[str, str, pl.DataFrame]]  # context, template; query, sample, score, attributes
    model: str = ""  # empty if the files do not say
    dropped: Mapping[str, int] = field(default_factory=dict)  # what became no ranking, by reason


def given_scores(places: Sequence[Path], setting: Setting) -> GivenScores:
    """Read scores of pronouns: model outputs of the original code, else one table, such as that of a run."""
    files = _files(places, "scores")
    outputs = [file for file in files if not _is_retrieval(file) and file.suffix == ".json"]
    if not outputs:
        table = _one_table(files, places, "scores")
        material = read_material(setting)
        if "template" not in table.columns:
            table = table.with_columns(template=pl.lit(OCC_FIRST.name))
        scores = table.select(
            pl.col("sample", "template", "candidate").cast(pl.String),
            pl.col("score").cast(pl.Float64),
            *(["wording"] if "wording" in table.columns else []),
        )
        return GivenScores(material.samples.frame, scores, dropped=material.samples.dropped)
    resolution = upstream.read_resolution(*outputs, model=setting.text("model"))
    beside = [upstream.read_retrieval(file) for file in files if _is_retrieval(file, resolution.model)]
    return GivenScores(
        resolution.samples,
        resolution.scores,
        resolution.candidates,
        resolution.experiment,
        resolution.model,
        beside,
    )


def given_rankings(places: Sequence[Path], setting: Setting) -> GivenRankings:
    """Read scores of images for neutral captions.

    They are ``retrieval_bias_*.json`` of the original code, else one table, such as that of a run.
    """
    files = _files(places, "rankings")
    outputs = [file for file in files if file.suffix == ".json" and not file.name.startswith(_RESULTS)]
    if len(files) > 1 or not outputs:  # one file may be called as its owner likes
        outputs = [file for file in outputs if _is_retrieval(file)]
    if not outputs:
        return _ranking_table(_one_table(files, places, "rankings"), setting)
    model = setting.text("model")
    models = sorted({match["model"] for file in outputs if (match := _RETRIEVAL.fullmatch(file.name))})
    if model and models:
        check_known("model of these files", model, models)
        outputs, models = [file for file in outputs if _is_retrieval(file, model)], [model]
    if len(models) > 1:
        raise InputError(
            f"there is retrieval of {', '.join(map(repr, models))}; give files of one model, or choose it: "
            f"-p model={models[0]}"
        )
    read = [upstream.read_retrieval(file) for file in outputs]
    dropped: dict[str, int] = {}
    for ranking in read:
        for reason, count in ranking.dropped.items():
            dropped[f"occupation: {reason}"] = dropped.get(f"occupation: {reason}", 0) + count
    tables = [(ranking.context, ranking.template, ranking.table) for ranking in read]
    return GivenRankings(tables, models[0] if models else "", dropped)


def _ranking_table(table: pl.DataFrame, setting: Setting) -> GivenRankings:
    material = read_material(setting)
    if "template" not in table.columns:
        table = table.with_columns(template=pl.lit(OCC_FIRST.name))
    scores = table.select(
        pl.col("query", "sample", "template").cast(pl.String), pl.col("score").cast(pl.Float64)
    )
    # in the order of the samples, which decides ties in paper mode
    sample_scores = material.samples.frame.join(scores, on="sample", how="inner", maintain_order="left")
    unknown = scores.join(material.samples.frame, on="sample", how="anti")
    dropped = dict(material.samples.dropped)
    if len(unknown):
        dropped["scored, but not among the samples"] = unknown["sample"].n_unique()
    parts = [
        (str(context), str(template), part)
        for (context, template), part in sample_scores.group_by("context", "template", maintain_order=True)
    ]
    if not parts:
        raise InputError("no sample of the table is one of VisoGender (OO_1, OP_1, ...); check column sample")
    return GivenRankings(parts, dropped=dropped)


def _is_retrieval(file: Path, model: str | None = None) -> bool:
    match = _RETRIEVAL.fullmatch(file.name)
    return match is not None and model in (None, match["model"])


def _files(places: Sequence[Path], kind: str) -> list[Path]:
    """Files that may hold scores; of a run folder, its table."""
    files: list[Path] = []
    for written_path in places:
        path = written_path.expanduser()
        if not path.exists():
            raise InputError(f"there is no {str(written_path)!r}; give a file or a folder with --evidence")
        table = path / "tables" / f"{kind}.parquet"
        if path.is_file():
            files.append(path)
        elif table.is_file():
            files.append(table)
        else:
            below = path / "model_outputs"  # of the original code's folder "results"
            names = sorted((below if below.is_dir() else path).iterdir())
            score_files = [file for file in names if file.suffix == ".json" or sources.is_table(file)]
            plain_names = {file.name for file in score_files}
            score_files = [file for file in score_files if not _repeats(file.name, plain_names)]
            files += [file for file in score_files if not file.name.startswith(_RESULTS)]
    return files


def _repeats(name: str, names: set[str]) -> bool:
    """Whether a preliminary file stands beside the model outputs that it was made from."""
    plain_name = name.replace(_AUGMENTED, "_")
    return plain_name != name and plain_name in names


def _one_table(files: Sequence[Path], places: Sequence[Path], kind: str) -> pl.DataFrame:
    """The table among the files that has the columns of a kind."""
    needed = _TABLES[kind]
    tables: list[tuple[Path, pl.LazyFrame]] = []
    all_columns: list[str] = []
    for file in files:
        if not sources.is_table(file):
            continue
        with sources.reading(file):
            lazy, _ = sources.scan(file)
            columns = lazy.collect_schema().names()
        all_columns += columns
        if set(needed) <= set(columns):
            tables.append((file, lazy))
    if len(tables) == 1:
        file, lazy = tables[0]
        with sources.reading(file):
            table = lazy.collect()
            return table.with_columns(pl.col("score").cast(pl.Float64))
    if tables:
        listed = ", ".join(repr(file.name) for file, _ in tables)
        raise InputError(f"several tables hold {kind}: {listed}; give one of them with --evidence")
    if all_columns:
        missing = next(name for name in needed if name not in all_columns)
        raise UnknownName(
            f"column of {kind}", missing, sorted(set(all_columns)), f"needed: {', '.join(needed)}"
        )
    what = (
        "clip_MODEL_ContextOP.json" if kind == "scores" else "retrieval_bias_MODEL_occ_first_ContextOP.json"
    )
    raise InputError(
        f"{', '.join(repr(str(path)) for path in places)} holds no {kind}; give a table with columns "
        f"{', '.join(needed)}, or {what} and the like"
    )
