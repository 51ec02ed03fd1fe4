"""One batch to one model: call the capability, halve on out-of-memory, check what comes back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats, NotAnswered
from evenhand.core.errors import EvenhandError, UserError, cause_of, one_line
from evenhand.core.requests import Question
from evenhand.workflows.execution.answering.answer_cache import Answer

_OUT_OF_MEMORY = (
    "out of memory", "can't allocate memory", "failed to allocate memory", "bad_alloc",
    "status_alloc_failed",  # of cuBLAS and cuDNN, which have memory of their own
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows of a question that are asked together."""

    rows: Sequence[int]  # positions in the question, ascending; unreadable ones are left out
    images: Sequence[Any] = ()  # one prepared image for each row; empty where only texts are asked about

    def part(self, start: int, stop: int) -> Batch:
        """Some of the rows."""
        return Batch(self.rows[start:stop], self.images[start:stop])


@dataclass(eq=False)
class BatchCaller:
    """Asks a loaded model one question, batch by batch."""

    model: Any
    question: Question
    piece: int = sys.maxsize  # rows asked at once at most; halved when memory runs out
    halved: int = field(default=0, init=False)  # how often that happened

    def ask(self, batch: Batch) -> list[Answer]:
        """The answers, one for each row."""
        answers: list[Answer] = []
        while len(answers) < len(batch.rows):
            start = len(answers)
            piece = batch.part(start, min(start + self.piece, len(batch.rows)))
            try:
                answers += self._rows(
                    _CALLS[self.question.capability](self.model, self.question, piece), piece
                )
            except EvenhandError:
                raise
            except Exception as problem:
                self._halve_or_tell(problem, piece)
        return answers

    def _halve_or_tell(self, problem: Exception, piece: Batch) -> None:
        cause = cause_of(problem)
        first, last = self.question.samples[piece.rows[0]], self.question.samples[piece.rows[-1]]
        if not is_out_of_memory(problem):
            raise UserError(f"the model failed on samples {first} to {last}: {cause}") from problem
        if len(piece.rows) == 1:
            raise UserError(
                f"memory does not hold a single sample ({first}): {cause}; try --dtype bfloat16, "
                "--device cpu, or a smaller model; what was answered is kept"
            ) from problem
        self.piece = len(piece.rows) // 2
        self.halved += 1
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
            sys.modules["torch"].cuda.empty_cache()

    def _rows(self, reply: Any, piece: Batch) -> list[Answer]:
        n_rows, capability = len(piece.rows), self.question.capability
        texts = capability == "answers_questions"
        method = self.question.method or _METHODS[capability]
        if isinstance(reply, np.ndarray) and not texts and reply.dtype != object:
            reply = _numbers(reply, method)
            if reply.ndim not in (1, 2) or len(reply) != n_rows:
                raise UserError(
                    f"the model answered {capability} with shape {one_line(reply.shape)}; "
                    f"it was asked about {n_rows} samples"
                )
            rows: list[Answer] = list(reply.reshape(n_rows, -1))
        else:
            if isinstance(reply, str | bytes | Mapping | Set) or not hasattr(reply, "__iter__"):
                kind = "texts" if texts else "rows of numbers"
                raise UserError(f"{method}() of the model gave {_shown(reply)}; it must give {n_rows} {kind}")
            rows = [_answer(answer, method, texts=texts) for answer in reply]
            if len(rows) != n_rows:
                raise UserError(f"the model gave {len(rows)} answers to {n_rows} samples")
        self._check_width(rows)
        return rows

    def _check_width(self, rows: Sequence[Answer]) -> None:
        """A classifier answers with as many numbers as it has labels, a continuation with one each."""
        width = None
        if self.question.capability == "classifies_images":
            width, what = len(self.model.labels), "labels"
        elif self.question.candidates is not None:
            width, what = len(self.question.candidates[0]), "continuations"
        sizes = {row.size for row in rows if isinstance(row, np.ndarray)}
        if self.question.capability in ("embeds_images", "embeds_texts") and (len(sizes) > 1 or 0 in sizes):
            raise UserError(
                f"{_METHODS[self.question.capability]}() of the model gave vectors of "
                f"{' and '.join(map(str, sorted(sizes)[:4]))} numbers; all must be equally long"
            )
        for row in rows:
            if width is not None and isinstance(row, np.ndarray) and row.size != width:
                raise UserError(
                    f"the model answered with shape {one_line(row.shape)} for a sample; "
                    f"it must be one number for each of {width} {what}"
                )
            if self.question.capability == "matches_pairs" and isinstance(row, np.ndarray) and row.size != 1:
                raise UserError(f"match() of the model gave {row.size} numbers for a pair; it must give one")


def _answer(reply: Any, method: str, *, texts: bool) -> Answer:
    """One sample's answer, of the kind that was asked for."""
    if isinstance(reply, NotAnswered):
        return replace(reply, reason=_encodable(str(reply.reason)), detail=_encodable(str(reply.detail)))
    if not texts:
        return _numbers(reply, method).reshape(-1)
    if isinstance(reply, str):
        return _encodable(str(reply))
    raise UserError(f"{method}() of the model gave {_shown(reply)}; it must give a text for each sample")


def _numbers(values: Any, method: str) -> Floats:
    """Real numbers as float32 of our own: a model may fill the array that it gave anew for its next batch.

    A dtype of another library, such as bfloat16, is taken by its name.
    """
    try:
        array = np.asarray(values)
    except ValueError:  # rows of several lengths
        array = np.array(None)
    if array.dtype.kind not in "biuf" and not array.dtype.name.startswith(("bfloat", "float")):
        raise UserError(f"{method}() of the model gave {_shown(values)}; it must give real numbers")
    return np.array(array, dtype=np.float32)


def _encodable(text: str) -> str:
    """The text with a question mark for what no file can hold: half of a surrogate pair."""
    return text.encode("utf-8", "replace").decode()


def _shown(value: Any) -> str:
    """What came back, in a few words."""
    dtype = getattr(value, "dtype", None)
    kind = type(value).__name__ + (f" of {dtype}" if dtype is not None else "")
    return _encodable(f"{kind} {one_line(repr(value), 60)}")


def is_out_of_memory(problem: Exception) -> bool:
    """Whether a library says, in its own way, that there is no room."""
    text = one_line(problem).lower()
    is_memory_error = isinstance(problem, MemoryError) or type(problem).__name__ == "OutOfMemoryError"
    return is_memory_error or any(words in text for words in _OUT_OF_MEMORY)


def _texts(question: Question, batch: Batch) -> list[str]:
    return [question.texts[row] for row in batch.rows] if question.texts is not None else []


def _continue(model: Any, question: Question, batch: Batch) -> Any:
    candidates = [question.candidates[row] for row in batch.rows] if question.candidates is not None else []
    method = getattr(model, question.method or "score_continuations")
    return method(batch.images, _texts(question, batch), candidates)


_CALLS: dict[str, Callable[[Any, Question, Batch], Any]] = {
    "classifies_images": lambda model, question, batch: model.classify(batch.images),
    "embeds_images": lambda model, question, batch: model.embed_images(batch.images),
    "embeds_texts": lambda model, question, batch: model.embed_texts(_texts(question, batch)),
    "matches_pairs": lambda model, question, batch: model.match(batch.images, _texts(question, batch)),
    "scores_continuations": _continue,
    "answers_questions": lambda model, question, batch: model.answer(
        batch.images or [None] * len(batch.rows), _texts(question, batch)
    ),
}

_METHODS = {
    "classifies_images": "classify",
    "embeds_images": "embed_images",
    "embeds_texts": "embed_texts",
    "matches_pairs": "match",
    "scores_continuations": "score_continuations",
    "answers_questions": "answer",
}
