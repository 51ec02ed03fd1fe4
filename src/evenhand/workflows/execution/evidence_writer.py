"""Answers become evidence: one Parquet part for each shard, written whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import ParameterError, UserError
from evenhand.core.findings import TableWarning
from evenhand.core.requests import Question
from evenhand.files.tables.write import write_table
from evenhand.workflows.execution.answering.answer_cache import Answer, is_temporary

NOT_FINITE = "answer not finite"
UNANSWERED = {
    "sample": pl.String,
    "question": pl.String,
    "reason": pl.String,
    "detail": pl.String,
    "temporary": pl.Boolean,
}
KINDS = {
    "classifies_images": "predictions",
    "embeds_images": "embeddings",
    "embeds_texts": "embeddings",
    "matches_pairs": "scores",
    "scores_continuations": "scores",
    "answers_questions": "answers",
}
PREDICTIONS = {
    "sample": pl.String,
    "truth": pl.String,
    "prediction": pl.String,
    "rank": pl.Int32,
    "confidence": pl.Float64,
}


@dataclass(eq=False)
class VectorSpread:
    """How many vectors there are, how many are 0, and whether all are equal."""

    n: int = 0
    zero: int = 0
    equal: bool = True
    _first: Any = field(default=None, init=False, repr=False)

    def add(self, answers: Sequence[Any]) -> None:
        """Count further vectors."""
        if not answers:
            return
        self._first = answers[0] if self._first is None else self._first
        for answer in answers:
            self.zero += not answer.any()
            self.equal = self.equal and np.array_equal(answer, self._first)
        self.n += len(answers)


@dataclass(eq=False)
class EvidenceParts:
    """Writes the parts of one question's evidence."""

    folder: Path  # of this question's parts
    question: Question
    facts: Callable[[], Mapping[str, Any]]  # labels of a classifier
    unanswered: list[dict[str, Any]] = field(default_factory=list, init=False)
    tied: int = field(default=0, init=False)  # samples whose candidates all have one score
    vectors: VectorSpread = field(default_factory=VectorSpread, init=False)

    def write(self, shard: int, start: int, answers: Sequence[Answer]) -> None:
        """Write the part of one shard; samples without an answer are listed instead."""
        rows, answered = [], []
        for row, answer in enumerate(answers, start):
            problem = _problem(answer, self.question)
            if problem is None:
                rows.append(row)
                answered.append(answer)
            else:
                self._list(row, problem)
        if KINDS[self.question.capability] in ("predictions", "scores"):
            self.tied += _tied(answered)
        elif KINDS[self.question.capability] == "embeddings":
            self.vectors.add(answered)
        table = _TABLES[self.question.capability](self.question, rows, answered, self.facts)
        write_table(table, self.folder / f"part-{shard:05d}.parquet")

    def _list(self, row: int, problem: NotAnswered) -> None:
        self.unanswered.append(
            {
                "sample": self.question.samples[row],
                "question": self.question.name,
                "reason": problem.reason,
                "detail": problem.detail,
                "temporary": is_temporary(problem),
            }
        )


def _tied(answers: Sequence[Any]) -> int:
    """Answers of several numbers that are all equal."""
    scores = np.stack(answers) if answers else np.zeros((0, 2))
    if scores.ndim < 2 or scores.shape[1] < 2:
        return 0
    return int((scores == scores[:, :1]).all(axis=1).sum())


def tied_scores(table: pl.DataFrame) -> int:
    """Samples of a table of scores of which all candidates have one score."""
    if not {"sample", "candidate", "score"} <= set(table.columns):
        return 0
    spread = table.group_by("sample").agg(
        several=pl.len() > 1, known=pl.col("score").is_not_null().all(), values=pl.col("score").n_unique()
    )
    return spread.filter(pl.col("several") & pl.col("known") & (pl.col("values") == 1)).height


def tied_answers(question: Question, tied: int) -> list[TableWarning]:
    """A warning where the answers to a question prefer none of the candidates."""
    if not tied:
        return []
    text = f"in {tied:,} of {len(question):,} answers to {question.name!r} all candidates have the same score"
    return [
        TableWarning(
            code="tied_scores",
            message=f"{text}: such an answer prefers nothing, and a label taken from it is an accident",
        )
    ]


def flat_vectors(question: Question, vectors: VectorSpread) -> list[TableWarning]:
    """A warning where vectors have no direction, or all have one."""
    if vectors.zero:
        text = f"{vectors.zero:,} of {vectors.n:,} vectors of {question.name!r} are 0"
    elif vectors.equal and vectors.n > 1:
        text = f"all {vectors.n:,} vectors of {question.name!r} are equal"
    else:
        return []
    return [
        TableWarning(
            code="tied_scores",
            message=f"{text}: cosines with them prefer nothing",
        )
    ]


def _problem(answer: Answer, question: Question) -> NotAnswered | None:
    """Why a sample has no answer; of several continuations a single one may be missing."""
    if isinstance(answer, NotAnswered):
        return answer
    some = np.any if question.capability == "scores_continuations" else np.all
    if isinstance(answer, str) or some(np.isfinite(answer)):
        return None
    bad = int((~np.isfinite(answer)).sum())
    return NotAnswered(NOT_FINITE, f"{bad} of {answer.size} numbers are NaN or infinite")


Facts = Callable[[], Mapping[str, Any]]


def _predictions(question: Question, rows: list[int], answers: list[Any], facts: Facts) -> pl.DataFrame:
    if not rows:
        return pl.DataFrame(schema=PREDICTIONS)
    labels = pl.Series(_names(facts(), question), dtype=pl.String)
    top = min(question.top, len(labels))
    logits = np.stack(answers).astype(np.float64)
    order = (
        logits.argmax(axis=1)[:, None] if top == 1 else np.argsort(-logits, axis=1, kind="stable")[:, :top]
    )
    weight = np.exp(logits - logits.max(axis=1, keepdims=True))
    confidence = np.take_along_axis(weight, order, axis=1) / weight.sum(axis=1, keepdims=True)
    repeated = np.repeat(rows, top)
    truth = question.truth
    return pl.DataFrame(
        {
            "sample": [question.samples[row] for row in repeated],
            "truth": [truth[row] if truth is not None else None for row in repeated],
            "prediction": labels.gather(order.reshape(-1)),
            "rank": np.tile(np.arange(1, top + 1, dtype=np.int32), len(rows)),
            "confidence": confidence.reshape(-1),
        },
        schema=PREDICTIONS,
    )


def _names(facts: Mapping[str, Any], question: Question) -> list[str]:
    model_names, labels = facts.get(question.names), question.outputs
    if model_names is None and labels is None:
        raise UserError(
            f"the samples' truth are {question.names}, but the model does not say its {question.names}"
        )
    if model_names is not None and labels is not None and len(model_names) != len(labels):
        raise ParameterError(
            f"the list of labels has {len(labels)} labels and the model {len(model_names)}; give a line "
            "for each, in the order of its outputs"
        )
    return list(labels if labels is not None else model_names or ())


def _embeddings(question: Question, rows: list[int], answers: list[Any], facts: Facts) -> pl.DataFrame:
    del facts
    modality = "text" if question.capability == "embeds_texts" else "image"
    return pl.DataFrame(
        {
            "sample": pl.Series([question.samples[row] for row in rows], dtype=pl.String),
            "modality": pl.Series([modality] * len(rows), dtype=pl.String),
            "vector": _lists(answers),
        }
    )


def _scores(question: Question, rows: list[int], answers: list[Any], facts: Facts) -> pl.DataFrame:
    del facts
    candidates, texts = question.candidates, question.texts
    names = [
        list(candidates[row]) if candidates is not None else [texts[row] if texts is not None else ""]
        for row in rows
    ]
    return (
        pl.DataFrame(
            {
                "sample": pl.Series([question.samples[row] for row in rows], dtype=pl.String),
                "candidate": pl.Series(names, dtype=pl.List(pl.String)),
                "score": _lists(answers),
            }
        )
        .explode("candidate", "score")
        .with_columns(pl.when(pl.col("score").is_finite()).then("score"))
    )


def _texts(question: Question, rows: list[int], answers: list[Any], facts: Facts) -> pl.DataFrame:
    del facts
    prompts = question.texts
    row_prompts = [prompts[row] if prompts is not None else "" for row in rows]
    return pl.DataFrame(
        {
            "sample": pl.Series([question.samples[row] for row in rows], dtype=pl.String),
            "question": pl.Series(row_prompts, dtype=pl.String),
            "text": pl.Series(answers, dtype=pl.String),
            "status": pl.Series(["answered"] * len(rows), dtype=pl.String),
        }
    )


def _lists(answers: list[Any]) -> pl.Series:
    """Equally long vectors as a column of lists."""
    if not answers:
        return pl.Series([], dtype=pl.List(pl.Float32))
    return pl.Series(np.stack(answers)).arr.to_list()


_TABLES: dict[str, Callable[[Question, list[int], list[Any], Facts], pl.DataFrame]] = {
    "classifies_images": _predictions,
    "embeds_images": _embeddings,
    "embeds_texts": _embeddings,
    "matches_pairs": _scores,
    "scores_continuations": _scores,
    "answers_questions": _texts,
}
