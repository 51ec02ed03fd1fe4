"""``table:FILE`` or ``table:FOLDER``: answers made elsewhere take the place of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, UnknownName, UserError, one_line
from evenhand.core.requests import Question
from evenhand.files.hashing import sha256_files
from evenhand.files.tables import scan as sources
from evenhand.workflows.execution.evidence_writer import KINDS, NOT_FINITE, PREDICTIONS, UNANSWERED

NOT_IN_TABLE = "not in the table"
_EMPTY = {  # what a row without its answer is
    "predictions": "no prediction in the table",
    "embeddings": "no vector in the table",
    "scores": "no score in the table",
    "answers": "no answer in the table",
}
_KEYS = {  # columns that tell the rows of one sample apart
    "predictions": ["sample", "rank"],
    "embeddings": ["sample"],
    "scores": ["sample", "candidate"],
    "answers": ["sample"],
}
MODALITIES = {"embeds_images": "image", "embeds_texts": "text"}
_MARKS = {"prediction": "predictions", "vector": "embeddings", "score": "scores", "text": "answers"}
_COLUMNS: dict[str, dict[str, Any]] = {
    "predictions": {name: kind for name, kind in PREDICTIONS.items() if name != "truth"},
    "embeddings": {"sample": pl.String, "modality": pl.String, "vector": pl.List(pl.Float32)},
    "scores": {"sample": pl.String, "candidate": pl.String, "score": pl.Float32},
    "answers": {"sample": pl.String, "question": pl.String, "text": pl.String, "status": pl.String},
}
_DEFAULTS: dict[str, Any] = {
    "rank": pl.lit(1, pl.Int32),
    "confidence": pl.lit(None, pl.Float64),
    "modality": pl.lit("image"),
    "status": pl.lit("answered"),
}


class TableSource:
    """Answers in tables: Predictions, Embeddings, Scores or Answers, recognised by their columns.

    ``where`` is a file, or a folder that holds tables (the ``evidence`` of another run, for instance).
    """

    def __init__(self, where: str) -> None:
        self.uri = f"table:{where}"
        self._tables: dict[str, list[pl.LazyFrame]] = {}
        self._files = _files_of(Path(where).expanduser())
        for file in self._files:
            with sources.reading(file):
                lazy, _ = sources.scan(file)
                columns = lazy.collect_schema().names()
            kind = next((kind for mark, kind in _MARKS.items() if mark in columns), None)
            if kind is not None and "sample" in columns:
                self._tables.setdefault(kind, []).append(lazy)
        if not self._tables:
            marks = ", ".join(f"{mark} ({kind})" for mark, kind in _MARKS.items())
            raise InputError(
                f"{where!r} holds no table of answers; one needs a column sample and one of {marks}"
            )

    def identity(self) -> dict[str, str]:
        """The hashes of the files."""
        return {f"sha256 of {file.name}": digest for file, digest in sha256_files(self._files).items()}

    def capabilities(self) -> Sequence[str]:
        """What the tables can stand in for."""
        return tuple(
            name for name, kind in KINDS.items() if kind in self._tables and self._has_modality(name, kind)
        )

    def _has_modality(self, capability: str, kind: str) -> bool:
        """Whether a table of embeddings has any of images, or of texts; without the column: images."""
        modality = MODALITIES.get(capability)
        if modality is None:
            return True
        for lazy in self._tables[kind]:
            with sources.reading(self.uri):
                rows = _complete(lazy, kind).select("modality")
                if rows.filter(pl.col("modality").fill_null(modality) == modality).head(1).collect().height:
                    return True
        return False

    def load(self) -> Any:
        """Refuse: tables are read, not asked."""
        raise UserError(f"{self.uri!r} is a table and cannot be asked")

    def evidence(self, question: Question) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The answers to a question, in its order, and the samples that have none.

        Of predictions the ``question.top`` first ranks of each sample are taken.
        """
        kind = KINDS[question.capability]
        truth = list(question.truth or [None] * len(question))
        requests = pl.DataFrame(
            {"sample": list(question.samples), "truth": truth},
            schema={"sample": pl.String, "truth": pl.String},
        )
        unique_requests = requests.unique("sample", keep="first", maintain_order=True)
        lazy = pl.concat([_complete(table, kind) for table in self._tables[kind]])
        if kind == "embeddings":
            modality = MODALITIES[question.capability]
            lazy = lazy.filter(pl.col("modality").fill_null(modality) == modality)
        there = lazy.join(unique_requests.lazy(), on="sample", how="semi").collect()
        if kind == "answers":
            there = _to_its_prompt(there, question)
        self._refuse_repeated(there, kind, question.name)
        if kind == "predictions":
            order = pl.col("rank").rank("ordinal").over("sample")
            there = there.filter(pl.col("rank").is_null() | (order <= question.top))
        mark = next(mark for mark, table_kind in _MARKS.items() if table_kind == kind)
        usable = _usable(kind)
        answered = unique_requests.join(there.filter(usable), on="sample", how="inner", maintain_order="left")
        if kind == "embeddings":
            _check_lengths(answered, question.name)
        unfit = there.filter(pl.col(mark).is_not_null() & ~usable)["sample"].unique().implode()
        example = lazy.select("sample").head(1).collect() if there.is_empty() else there
        example_id = one_line(example["sample"][0], 80) if len(example) else ""
        detail = f"the table has {example_id!r}" if there.is_empty() and example_id else ""
        reason = (
            pl.when(pl.col("sample").is_in(unfit))
            .then(pl.lit(NOT_FINITE))
            .when(pl.col("sample").is_in(there["sample"].unique().implode()))
            .then(pl.lit(_EMPTY[kind]))
            .otherwise(pl.lit(NOT_IN_TABLE))
        )
        unanswered = requests.join(answered, on="sample", how="anti", maintain_order="left").select(
            "sample",
            question=pl.lit(question.name),
            reason=reason,
            detail=pl.lit(detail),
            temporary=pl.lit(False),
        )
        columns = list(PREDICTIONS) if kind == "predictions" else list(_COLUMNS[kind])
        return answered.select(columns), unanswered.cast(pl.Schema(UNANSWERED))

    def _refuse_repeated(self, there: pl.DataFrame, kind: str, question: str) -> None:
        keys = _KEYS[kind]
        repeated = there.filter(pl.struct(keys).is_duplicated())
        if len(repeated):
            first = repeated.row(0, named=True)
            what = ", ".join(f"{key} {one_line(first[key], 80)!r}" for key in keys)
            raise InputError(
                f"{self.uri!r} has several rows for {what} (question {question!r}); keep one of them"
            )


def _to_its_prompt(there: pl.DataFrame, question: Question) -> pl.DataFrame:
    """Of samples with several answers only those to this question's own prompt, where the table says it."""
    if question.texts is None or not there["sample"].is_duplicated().any():
        return there
    prompts = pl.DataFrame({"sample": list(question.samples), "question": list(question.texts)})
    matching = there.join(prompts, on=["sample", "question"], how="semi")
    single = there.filter(~pl.col("sample").is_duplicated())
    others = there.join(
        pl.concat([matching.select("sample"), single.select("sample")]), on="sample", how="anti"
    )
    return pl.concat([single, matching.join(single, on="sample", how="anti"), others])


def _usable(kind: str) -> pl.Expr:
    """Whether a row holds an answer, all of its numbers finite."""
    if kind == "embeddings":
        finite = pl.col("vector").list.eval(pl.element().is_finite().fill_null(False)).list.all()
        return (finite & (pl.col("vector").list.len() > 0)).fill_null(False)
    if kind == "scores":
        return pl.col("score").is_finite().fill_null(False)
    return pl.col("prediction" if kind == "predictions" else "text").is_not_null()


def _check_lengths(answered: pl.DataFrame, question: str) -> None:
    lengths = answered.select("sample", length=pl.col("vector").list.len()).unique(
        "length", keep="first", maintain_order=True
    )
    if len(lengths) > 1:
        (sample, first), (other, second) = lengths.rows()[:2]
        raise InputError(
            f"the vectors of question {question!r} have different lengths: {one_line(sample, 80)!r} has "
            f"{first} numbers, {one_line(other, 80)!r} has {second}; give vectors of one model"
        )


def _files_of(where: Path) -> list[Path]:
    if where.is_dir():
        return sorted(file for file in where.rglob("*") if sources.is_table(file))
    if not where.is_file():
        raise InputError(f"there is no table {str(where)!r}; give table:FILE or table:FOLDER")
    return [where]


def _complete(lazy: pl.LazyFrame, kind: str) -> pl.LazyFrame:
    """The columns of a kind, those that may be left out filled in."""
    present = lazy.collect_schema().names()
    columns = []
    for name, dtype in _COLUMNS[kind].items():
        if name in present:
            columns.append(pl.col(name).cast(dtype))
        elif name in _DEFAULTS:
            columns.append(_DEFAULTS[name].alias(name))
        elif name == "question":
            columns.append(pl.lit("").alias(name))
        else:
            raise UnknownName("column", name, present)
    return lazy.select(columns)
