"""One question about all of its samples: what is known is not asked, the rest goes out batch by batch.

The grid of batches is fixed by the order of the samples, and shards are whole batches. A batch with a row
that is not known is asked whole, so that a resumed run asks the very batches that an uninterrupted one would
have asked; but rows that were answered for another question are left out of it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

from evenhand.core.capabilities import NotAnswered
from evenhand.core.requests import Question, UnreadableImage
from evenhand.workflows.execution.answering.answer_cache import Answer, AnswerStore, is_temporary, keys_of

BATCHES = {
    "classifies_images": 64,
    "embeds_images": 64,
    "embeds_texts": 256,
    "matches_pairs": 32,
    "scores_continuations": 16,
    "answers_questions": 16,
}
_KEPT_EVERY = 0.25  # seconds between transactions: what a kill may cost beside the batch in hand
_SHARD = 2_048  # rows of one part of the evidence, about
_HASHED = 256  # rows hashed at once, about: what the first batch and Ctrl-C wait for
_AHEAD = 8  # pieces of so many rows that are hashed before they are planned
Progress = Callable[[int, int], None]
Sink = Callable[[int, int, Sequence[Answer]], None]  # shard, its first row, the answers of its rows


@dataclass(frozen=True, eq=False)
class PendingRequests:
    """A batch of the grid: rows start to stop of which those in ``readable`` have an image to look at."""

    shard: int
    start: int
    stop: int
    readable: Sequence[int]


class Engine(Protocol):
    """Something that answers batches, in any order."""

    def answer(
        self, question: Question, batches: Iterable[PendingRequests]
    ) -> Generator[tuple[PendingRequests, dict[int, Answer]], None, None]:
        """Each batch with the answers to its readable rows."""
        ...


@dataclass(eq=False)
class _Shard:
    """Rows of one part of the evidence, planned piece by piece."""

    index: int
    start: int
    keys: list[bytes] = field(default_factory=list)
    unreadable: dict[int, NotAnswered] = field(default_factory=dict)
    planned: bool = False  # all of it
    batches_sent: int = 0
    rows_asked: int = 0
    done: int = 0  # batches


@dataclass(eq=False)
class RequestBatch:
    """One question on its way through a store and an engine."""

    question: Question
    store: AnswerStore  # what is known, and where new answers go
    batch: int  # rows of a batch
    sink: Sink  # gets the answers of each shard once all are there; shards may come in any order
    progress: Progress  # rows done, rows in all
    rows_sent: int = field(default=0, init=False)  # rows that had to be asked
    reused: Counter[str] = field(default_factory=Counter, init=False)  # rows known before, by day
    _done: int = field(default=0, init=False)
    _open: dict[int, _Shard] = field(default_factory=dict, init=False)
    _temporary: dict[bytes, NotAnswered] = field(default_factory=dict, init=False)
    _unkept: dict[bytes, Answer] = field(default_factory=dict, init=False)
    _kept_at: float = field(default=0.0, init=False)

    def run(self, engine: Engine) -> None:
        """Ask everything that is not known."""
        ahead = ThreadPoolExecutor(1, "digests")
        try:
            with closing(engine.answer(self.question, self._unknown(ahead))) as answered:
                for to_ask, answers in answered:
                    self._keep(to_ask, answers)
        finally:
            self._flush()
            ahead.shutdown(cancel_futures=True)

    def _unknown(self, ahead: ThreadPoolExecutor) -> Iterator[PendingRequests]:
        """Batches to ask; the files of the next pieces are hashed meanwhile."""
        hashed: deque[Future[list[str | UnreadableImage]]] = deque()
        pieces = list(self._pieces())
        for index, (number, start, stop) in enumerate(pieces):
            for _, first, last in pieces[index + len(hashed) : index + 1 + _AHEAD]:
                hashed.append(ahead.submit(digests_of, self.question, first, last))
            shard = self._open.setdefault(number, _Shard(number, start))
            yield from self._plan(shard, start, stop, hashed.popleft().result())
            if index + 1 == len(pieces) or pieces[index + 1][0] != number:
                shard.planned = True
                self._close_done(shard)

    @cached_property
    def _grid(self) -> str:
        """Equal for the same question about the same samples in batches of the same size, whoever asks."""
        question = self.question
        facts = [question.name, question.capability, question.method, self.batch, *question.samples]
        return hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()[:16]

    def _pieces(self) -> Iterator[tuple[int, int, int]]:
        """Number of the shard, first row and end of what is hashed and planned together: whole batches."""
        size = self.batch * max(1, _SHARD // self.batch)
        piece = self.batch * max(1, _HASHED // self.batch)
        for number, start in enumerate(range(0, len(self.question), size)):
            end = min(start + size, len(self.question))
            for first in range(start, end, piece):
                yield number, first, min(first + piece, end)

    def _plan(
        self, shard: _Shard, start: int, stop: int, digests: Sequence[str | UnreadableImage]
    ) -> list[PendingRequests]:
        for row, digest in enumerate(digests, start):
            if isinstance(digest, UnreadableImage):
                shard.unreadable[row] = NotAnswered(digest.reason, digest.detail)
        texts = [digest if isinstance(digest, str) else "" for digest in digests]
        keys = keys_of(self.question, start, texts)
        days_by_key = self.store.known(keys)
        self.reused.update(day for key in keys if (day := days_by_key.get(key)) is not None)
        settled = self.store.settled(keys, self._grid) if days_by_key else set()
        batches = []
        for first in range(start, stop, self.batch):
            last = min(first + self.batch, stop)
            readable = [
                row
                for row in range(first, last)
                if row not in shard.unreadable and keys[row - start] not in settled
            ]
            if any(keys[row - start] not in days_by_key for row in readable):
                batches.append(PendingRequests(shard.index, first, last, readable))
        shard.keys += keys
        shard.batches_sent += len(batches)
        shard.rows_asked += sum(batch.stop - batch.start for batch in batches)
        return batches

    def _keep(self, to_ask: PendingRequests, answers: dict[int, Answer]) -> None:
        shard = self._open[to_ask.shard]
        by_key = {shard.keys[row - shard.start]: answer for row, answer in answers.items()}
        self._unkept |= by_key
        if time.monotonic() - self._kept_at > _KEPT_EVERY:
            self._flush()
        for key, answer in by_key.items():
            if isinstance(answer, NotAnswered) and is_temporary(answer):
                self._temporary[key] = answer
        self.rows_sent += len(answers)
        shard.done += 1
        self._report(to_ask.stop - to_ask.start)
        self._close_done(shard)

    def _flush(self) -> None:
        """Keep the answers that came since the last time, all or none."""
        if self._unkept:
            self.store.put(self._unkept, self._grid)
            self._unkept = {}
        self._kept_at = time.monotonic()

    def _close_done(self, shard: _Shard) -> None:
        if not shard.planned or shard.done < shard.batches_sent:
            return
        del self._open[shard.index]
        self._flush()
        answers_by_key: dict[bytes, Answer] = {**self._temporary, **self.store.get(shard.keys)}
        answers = [
            shard.unreadable[row] if row in shard.unreadable else answers_by_key[key]
            for row, key in enumerate(shard.keys, shard.start)
        ]
        self.sink(shard.index, shard.start, answers)
        self._report(len(shard.keys) - shard.rows_asked)

    def _report(self, rows: int) -> None:
        self._done += rows
        self.progress(self._done, len(self.question))


def digests_of(question: Question, start: int, stop: int) -> list[str | UnreadableImage]:
    """Digests of the images of some rows, empty texts where a question has none."""
    stop = min(stop, len(question))
    images = question.images
    if images is None:
        return [""] * (stop - start)
    if hasattr(images, "digests"):
        digests: list[str | UnreadableImage] = images.digests(start, stop)
        return digests
    return [_digest(images, row) for row in range(start, stop)]


def _digest(images: Any, row: int) -> str | UnreadableImage:
    try:
        return str(images.digest(row))
    except UnreadableImage as problem:
        return problem
