"""The same questions through Ray Data: each worker process holds the model and reads its own images."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import EvenhandError, MissingExtra, UserError, failures_are_errors, one_line
from evenhand.core.registry import USER_MODULES
from evenhand.core.requests import Question
from evenhand.models.adapters.own_code import ObjectSource, watched
from evenhand.models.identity.source import LoadOptions, ModelSource
from evenhand.models.resolve import resolve
from evenhand.workflows.execution.answering.answer_cache import Answer
from evenhand.workflows.execution.answering.batches import BatchCaller
from evenhand.workflows.execution.answering.requests import PendingRequests
from evenhand.workflows.execution.engines.lazy_model import LazyModel, facts_of
from evenhand.workflows.execution.engines.prefetch import with_images

_READERS = 2  # threads of a worker that read images
_PATIENCE = 10.0  # seconds for a cluster to answer
_TRIES = 3  # times a batch is begun: Ray would start workers that die again for ever


class Asker:
    """What a worker process runs: a model, loaded when the first batch comes, and a question.

    ``started_worker`` is the handle of an actor that counts how often each batch was begun.
    """

    def __init__(self, source: ModelSource, question: Question, started_worker: Any) -> None:
        self._source, self._question, self._begun = source, question, started_worker
        self._answering: BatchCaller | None = None

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one batch of the grid; a message for the user comes back as ``problem``."""
        rows = [int(position) for position in row["rows"]]
        try:
            if rows:
                self._check_died(row["index"], rows)
            changes: list[str] = []
            with failures_are_errors(f"the model {self._source.uri!r}"):
                answering, answers = self._answered(rows, changes)
        except EvenhandError as problem:
            empty = {"facts": "", "changes": "", "answers": [], "piece": 0}
            return {"index": row["index"], "problem": str(problem), **empty}
        return {
            "index": row["index"],
            "problem": "",
            "facts": json.dumps(facts_of(answering.model)) if row["index"] == 0 else "",
            "changes": changes[0] if changes else "",
            "answers": _packed(rows, answers),
            "piece": answering.piece if answering.halved else 0,
        }

    def _answered(self, rows: list[int], changes: list[str]) -> tuple[BatchCaller, dict[int, Answer]]:
        """Who answered, and the answers; ``changes`` gets why a model became another one by being asked."""
        watching = watched(self._source, changes.append) if self._answering is None else nullcontext()
        if self._answering is None:  # here and not before, so that its messages arrive
            self._answering = BatchCaller(self._source.load(), self._question)
        model = self._answering.model
        _, batch, failed = next(with_images(self._question, model, [(None, rows)], _READERS))
        answers: dict[int, Answer] = dict(failed)
        with watching:
            answers.update(zip(batch.rows, self._answering.ask(batch), strict=True))
        return self._answering, answers

    def _check_died(self, index: int, rows: Sequence[int]) -> None:
        import ray

        if ray.get(self._begun.count.remote(index)) > _TRIES:
            first, last = self._question.samples[rows[0]], self._question.samples[rows[-1]]
            raise UserError(
                f"a Ray worker died {_TRIES} times when asked about samples {first} to {last}; it may be out "
                "of memory: give fewer --workers or a smaller --batch-size; what was answered is kept"
            )


class StartedWorker:
    """Counts how often each batch was begun, whatever becomes of the workers."""

    def __init__(self) -> None:
        self._times: Counter[int] = Counter()

    def count(self, index: int) -> int:
        """Once more; how often by now."""
        self._times[index] += 1
        return self._times[index]


@dataclass(frozen=True)
class NamedSource:
    """The user's own code by its name, imported again where it is loaded: what it holds may not travel."""

    uri: str  # ``file.py:object`` with its whole path, or ``py:module:object``
    options: LoadOptions  # as it was resolved with here

    @cached_property
    def _here(self) -> ObjectSource:
        source = resolve(self.uri, self.options)
        assert isinstance(source, ObjectSource)  # noqa: S101 - only such sources are sent by their name
        return source

    def identity(self) -> dict[str, str]:
        """As resolved here."""
        return self._here.identity()

    def capabilities(self) -> Sequence[str]:
        """As resolved here."""
        return self._here.capabilities()

    def load(self) -> Any:
        """The model, made here."""
        return self._here.load()

    def changed_by_asking(self) -> str:
        """As of the model that was made here."""
        return self._here.changed_by_asking()


@dataclass(eq=False)
class RayEngine:
    """Asks batches on a Ray cluster, or on one started on this machine."""

    model: LazyModel  # loaded by the workers, not here
    workers: int  # processes that each hold the model
    address: str | None = None  # of the cluster; None: this machine
    options: LoadOptions = field(default_factory=LoadOptions)  # how workers load the model
    halved: dict[str, int] = field(default_factory=dict, init=False)  # fewest rows of a worker, by question

    def answer(
        self, question: Question, batches: Iterable[PendingRequests]
    ) -> Generator[tuple[PendingRequests, dict[int, Answer]], None, None]:
        """Each batch with its answers, as they come."""
        planned = list(batches)
        if not planned:
            return
        ray = _started(self.address)
        items = [{"index": index, "rows": list(batch.readable)} for index, batch in enumerate(planned)]
        parts = min(len(items), 4 * self.workers)
        source = _sendable(self.model.source, self.options)
        started_worker = _beside_this_process(ray, StartedWorker)
        try:
            answered = ray.data.from_items(items, override_num_blocks=parts).map(
                Asker,
                fn_constructor_args=(source, question, started_worker),
                compute=ray.data.ActorPoolStrategy(size=self.workers),
                num_cpus=_share(ray, "CPU", self.workers),
                num_gpus=_share(ray, "GPU", self.workers),
            )
            for row in answered.iter_rows():
                yield self._received(planned, question, row)
        except ray.exceptions.RayError as problem:
            raise UserError(
                f"a Ray worker failed: {_cause(problem)}; what was answered is kept; with less memory in use "
                "(--workers, --batch-size) type the same command again, or try --engine local"
            ) from problem
        except (TypeError, AttributeError, ValueError) as problem:
            if "pickle" not in str(problem).lower():
                raise
            raise UserError(
                f"{source.uri!r} or its questions cannot be sent to Ray workers: {one_line(problem, 200)}; "
                "give the model as file.py:object, or try --engine local"
            ) from problem

    def _received(
        self, planned: Sequence[PendingRequests], question: Question, row: Mapping[str, Any]
    ) -> tuple[PendingRequests, dict[int, Answer]]:
        if row["problem"]:
            raise UserError(str(row["problem"]))
        if row["facts"]:
            self.model.remember(json.loads(row["facts"]))
        if row["changes"]:
            self.model.note_changes(row["changes"])
        if row["piece"]:
            self.halved[question.name] = min(row["piece"], self.halved.get(question.name, row["piece"]))
        return planned[row["index"]], dict(_unpacked(packed) for packed in row["answers"])


def _knock(address: str | None) -> None:
    """Raise OSError where nobody listens: Ray itself would wait for minutes."""
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _sendable(source: ModelSource, options: LoadOptions) -> ModelSource:
    """What can travel: code of the user's by value or by name, adapters as they are."""
    from ray import cloudpickle

    for name, module in list(sys.modules.items()):
        if name.startswith(USER_MODULES):  # workers cannot import them
            cloudpickle.register_pickle_by_value(module)
    if not isinstance(source, ObjectSource) or ":" not in source.uri:
        source.identity()  # decides here, for all workers, what was left open: revision, precision
        return source
    where, _, attribute = source.uri.rpartition(":")
    return NamedSource(
        f"{os.path.abspath(where)}:{attribute}" if where.endswith(".py") else source.uri, options
    )


def _cause(problem: Exception) -> str:
    """What happened, without the worker's traceback."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    cause = next((line for line in lines if re.search(r"\bdied\b", line)), lines[-1] if lines else "")
    return one_line(cause, 300) or type(problem).__name__


def _started(address: str | None) -> Any:
    """The module ``ray``, connected."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    if not ray.is_initialized():
        try:
            _knock(address)
            with _own_sigterm():
                ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        except (OSError, ValueError) as problem:
            raise UserError(
                f"--ray-address {address!r}: {one_line(problem)}; give the address of a running cluster, or "
                "leave it out to use this machine"
            ) from problem
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    context.execution_options.preserve_order = True
    return ray


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep this process's handler: Ray's would end a command by ``sys.exit``, in the midst of its work."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


def _beside_this_process(ray: Any, kind: type) -> Any:
    """An actor on the node of this process, so that no other node takes it along when it is lost."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(kind).remote()


def _share(ray: Any, what: str, workers: int) -> float:
    """A fair share of the cluster's CPUs or GPUs, one at most; 0 where it has none."""
    return min(1.0, float(ray.cluster_resources().get(what, 0)) / workers)


def _packed(rows: list[int], answers: Mapping[int, Answer]) -> list[dict[str, Any]]:
    """Answers as plain records, which Arrow can carry."""
    packed = []
    for row in rows:
        answer = answers[row]
        record: dict[str, Any] = {"row": row, "kind": "floats", "floats": b"", "text": ""}
        if isinstance(answer, str):
            record |= {"kind": "text", "text": answer}
        elif isinstance(answer, NotAnswered):
            text = json.dumps([answer.reason, answer.detail, answer.temporary])
            record |= {"kind": "none", "text": text}
        else:
            record["floats"] = np.asarray(answer, dtype="<f4").tobytes()
        packed.append(record)
    return packed


def _unpacked(record: Mapping[str, Any]) -> tuple[int, Answer]:
    if record["kind"] == "text":
        return int(record["row"]), str(record["text"])
    if record["kind"] == "none":
        return int(record["row"]), NotAnswered(*json.loads(record["text"]))
    return int(record["row"]), np.frombuffer(record["floats"], dtype="<f4")
