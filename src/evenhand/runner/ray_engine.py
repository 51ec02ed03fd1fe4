"""The same questions through Ray Data: each worker process holds the model and reads its own images."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core.capabilities import NotAnswered
from evenhand.core.errors import EvenhandError, MissingExtra, UserError, one_line
from evenhand.core.questions import Question
from evenhand.models.source import ModelSource
from evenhand.runner.answer_store import Answer
from evenhand.runner.answering import Answering
from evenhand.runner.asking import ToAsk
from evenhand.runner.images_ahead import with_images
from evenhand.runner.lazy_model import LazyModel, facts_of

_READERS = 2  # threads of a worker that read images


class Asker:
    """What a worker process runs: a loaded model and a question.

    Args:
        source: Who is asked; loaded here.
        question: What is asked; its images are read here.
    """

    def __init__(self, source: ModelSource, question: Question) -> None:
        self._model = source.load()
        self._answering = Answering(self._model, question)
        self._question = question

    def __call__(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one batch of the grid; a message for the user comes back as ``problem``."""
        rows = [int(one) for one in row["rows"]]
        try:
            _, batch, failed = next(with_images(self._question, self._model, [(None, rows)], _READERS))
            answers: dict[int, Answer] = dict(failed)
            answers.update(zip(batch.rows, self._answering.ask(batch), strict=True))
        except EvenhandError as problem:
            return {"index": row["index"], "problem": str(problem), "facts": "", "answers": []}
        facts = json.dumps(facts_of(self._model)) if row["index"] == 0 else ""
        return {"index": row["index"], "problem": "", "facts": facts, "answers": _packed(rows, answers)}


@dataclass(eq=False)
class RayEngine:
    """Asks batches on a Ray cluster, or on one started on this machine.

    Attributes:
        model: Loaded by the workers, not here.
        workers: Processes that each hold the model.
        address: Of the cluster; None: this machine.
        halved: Not known here: each worker halves on its own.
    """

    model: LazyModel
    workers: int
    address: str | None = None
    halved: dict[str, int] = field(default_factory=dict, init=False)

    def answer(
        self, question: Question, batches: Iterable[ToAsk]
    ) -> Iterator[tuple[ToAsk, dict[int, Answer]]]:
        """Each batch with its answers, as they come.

        Raises:
            MissingExtra: Ray is not installed.
            UserError: A worker reports that the model cannot answer, or dies.
        """
        planned = list(batches)
        if not planned:
            return
        ray = _started(self.address)
        items = [{"index": index, "rows": list(one.readable)} for index, one in enumerate(planned)]
        parts = min(len(items), 4 * self.workers)
        answered = ray.data.from_items(items, override_num_blocks=parts).map(
            Asker,
            fn_constructor_args=(self.model.source, question),
            compute=ray.data.ActorPoolStrategy(size=self.workers),
            num_gpus=_gpus_for_each(ray, self.workers),
        )
        try:
            for row in answered.iter_rows():
                if row["problem"]:
                    raise UserError(str(row["problem"]))
                if row["facts"]:
                    self.model.remember(json.loads(row["facts"]))
                yield planned[row["index"]], dict(_unpacked(one) for one in row["answers"])
        except ray.exceptions.RayError as problem:
            raise UserError(f"a Ray worker failed: {one_line(problem)[:400]}") from problem


def _started(address: str | None) -> Any:
    """The module ``ray``, connected."""
    try:
        import ray
        import ray.data
    except ImportError:
        raise MissingExtra("ray", "ray") from None
    if not ray.is_initialized():
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", include_dashboard=False)
        except (ConnectionError, ValueError) as problem:
            raise UserError(
                f"--ray-address {address!r}: {one_line(problem)}; give the address of a running cluster, or "
                "leave it out to use this machine"
            ) from problem
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True
    return ray


def _gpus_for_each(ray: Any, workers: int) -> float:
    """A fair share of the cluster's GPUs; 0 where it has none."""
    return min(1.0, float(ray.cluster_resources().get("GPU", 0)) / workers)


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
