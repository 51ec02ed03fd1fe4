"""``table:FILE`` or ``table:FOLDER``: answers made elsewhere take the place of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, UnknownName, UserError
from evenhand.core.questions import Question
from evenhand.evidence import sources
from evenhand.files.hashing import sha256_files
from evenhand.runner.evidence_parts import KINDS, PREDICTIONS, UNANSWERED

NOT_IN_TABLE = "not in the table"
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
    """Answers in tables: Predictions, Embeddings, Scores or Answers, told apart by their columns.

    Args:
        where: A file, or a folder that holds tables (the ``evidence`` of another run, for instance).
    """

    def __init__(self, where: str) -> None:
        self.uri = f"table:{where}"
        self._tables: dict[str, list[pl.LazyFrame]] = {}
        self._files = _files_of(Path(where).expanduser())
        for file in self._files:
            with sources.reading(f"{str(file)!r}"):
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
        return tuple(name for name, kind in KINDS.items() if kind in self._tables)

    def load(self) -> Any:
        """Nothing: tables are read, not asked.

        Raises:
            UserError: Always.
        """
        raise UserError(f"{self.uri!r} is a table and cannot be asked")

    def evidence(self, question: Question) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The answers to a question, in its order, and the samples that have none.

        Raises:
            UnknownName: A table without a column that its kind needs.
        """
        kind = KINDS[question.capability]
        lazy = pl.concat([_complete(one, kind) for one in self._tables[kind]])
        wanted = pl.DataFrame(
            {"sample": list(question.samples), "truth": list(question.truth or [None] * len(question))},
            schema={"sample": pl.String, "truth": pl.String},
        )
        joined = wanted.lazy().join(lazy, on="sample", how="left", maintain_order="left")
        if kind == "embeddings":
            modality = "text" if question.capability == "embeds_texts" else "image"
            joined = joined.filter(pl.col("modality").is_null() | (pl.col("modality") == modality))
        mark = next(mark for mark, one in _MARKS.items() if one == kind)
        found = joined.collect()
        answered = found.filter(pl.col(mark).is_not_null())
        columns = list(PREDICTIONS) if kind == "predictions" else list(_COLUMNS[kind])
        missing = wanted.join(answered, on="sample", how="anti", maintain_order="left")
        unanswered = missing.select(
            "sample",
            question=pl.lit(question.name),
            reason=pl.lit(NOT_IN_TABLE),
            detail=pl.lit(""),
            temporary=pl.lit(False),
        )
        return answered.select(columns), unanswered.cast(pl.Schema(UNANSWERED))


def _files_of(where: Path) -> list[Path]:
    if where.is_dir():
        return sorted(file for file in where.rglob("*") if file.suffix in sources.SUFFIXES)
    if not where.is_file():
        raise InputError(f"there is no table {str(where)!r}; give table:FILE or table:FOLDER")
    return [where]


def _complete(lazy: pl.LazyFrame, kind: str) -> pl.LazyFrame:
    """The columns of a kind, those that may be left out filled in."""
    present = lazy.collect_schema().names()
    chosen = []
    for name, dtype in _COLUMNS[kind].items():
        if name in present:
            chosen.append(pl.col(name).cast(dtype))
        elif name in _DEFAULTS:
            chosen.append(_DEFAULTS[name].alias(name))
        elif name == "question":
            chosen.append(pl.lit("").alias(name))
        else:
            raise UnknownName("column", name, present)
    return lazy.select(chosen)
