"""Answers in this process: one model, threads that read images ahead of it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.requests import Question
from evenhand.models.adapters.own_code import watched
from evenhand.workflows.execution.answering.answer_cache import Answer
from evenhand.workflows.execution.answering.batches import BatchCaller
from evenhand.workflows.execution.answering.requests import PendingRequests
from evenhand.workflows.execution.engines.lazy_model import LazyModel
from evenhand.workflows.execution.engines.prefetch import with_images


@dataclass(eq=False)
class LocalEngine:
    """Asks batches in order; the model is loaded when the first one comes."""

    model: LazyModel  # not loaded yet, maybe
    workers: int  # threads that read and prepare images
    halved: dict[str, int] = field(default_factory=dict, init=False)  # rows that fit in memory, by question

    def answer(
        self, question: Question, batches: Iterable[PendingRequests]
    ) -> Generator[tuple[PendingRequests, dict[int, Answer]], None, None]:
        """Each batch with its answers, in the order given."""
        coming = iter(batches)
        first = next(coming, None)
        if first is None:
            return
        model: Any = self.model.load()
        answering = BatchCaller(model, question)
        marked = ((to_ask, list(to_ask.readable)) for to_ask in _chain(first, coming))
        with closing(with_images(question, model, marked, self.workers)) as ready:
            for index, (to_ask, batch, failed) in enumerate(ready):
                answers: dict[int, Answer] = dict(failed)
                with nullcontext() if index else watched(self.model.source, self.model.note_changes):
                    answers.update(zip(batch.rows, answering.ask(batch), strict=True))
                if answering.halved:
                    self.halved[question.name] = answering.piece
                yield to_ask, answers


def _chain(first: PendingRequests, rest: Iterable[PendingRequests]) -> Iterator[PendingRequests]:
    yield first
    yield from rest
