"""Every benchmark beside every model: what is done, what can be asked and what cannot, before any run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from evenhand.core.errors import EvenhandError, MissingCapability, one_line
from evenhand.core.requests import UnreadableImage
from evenhand.files.hashing import stamp_of
from evenhand.models.identity.source import ModelSource
from evenhand.models.resolve import require
from evenhand.runs.manifest import version
from evenhand.runs.run_folder import FINDINGS
from evenhand.workflows.execution.answering.answer_cache import AnswerStore, keys_of
from evenhand.workflows.execution.answering.requests import digests_of
from evenhand.workflows.execution.backbone_cache import BackboneCache
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.run import PreparedRun, prepare, source_of
from evenhand.workflows.suite.entries import Suite, SuiteBenchmark, SuiteModel

State = Literal["waiting", "done", "cannot be asked", "failed", "incomplete"]


@dataclass(frozen=True, eq=False)
class Pair:
    """One benchmark beside one model."""

    benchmark: SuiteBenchmark
    model: SuiteModel
    folder: Path  # of its run
    state: State = "waiting"  # incomplete: some samples are worth asking about again
    reason: str = ""  # why it is in that state; empty: waiting or done
    request: str = ""  # a hash of everything that decides what its run holds; empty: not known
    samples: int | None = None  # asked about, where it was planned
    requests: Mapping[str, int] = field(default_factory=dict)  # by capability, where it was planned
    answered: int | None = None  # of these requests, where that was counted
    memory: float | None = None  # bytes of the model's loaded weights, where its files say so
    sent: int = 0  # requests to its model in its run
    seconds: float | None = None  # of its run; before it, expected at the speed of earlier runs

    @property
    def name(self) -> str:
        """Benchmark and model, as the folder has them."""
        return f"{self.benchmark.name}/{self.model.name}"

    def ended(self, state: State, reason: object = "") -> Pair:
        """The same in another state."""
        return replace(self, state=state, reason=one_line(reason))


@dataclass(frozen=True, eq=False)
class OpenedModel:
    """A model of a suite, found but not loaded."""

    entry: SuiteModel
    options: AskOptions
    source: ModelSource | None  # None where there is no such model
    problem: str = ""  # why there is none

    @classmethod
    def of(cls, entry: SuiteModel, options: AskOptions) -> OpenedModel:
        """Look a model up, with its own options before those of the command."""
        try:
            merged = replace(options, **entry.options)
            source = source_of(entry.model, merged)
            source.identity()
        except Exception as problem:
            return cls(entry, options, None, reason_of(problem))
        return cls(entry, merged, source)


@dataclass(frozen=True, eq=False)
class PairPlanner:
    """Plans the pairs of a suite."""

    suite: Suite  # with names
    folder: Path | None  # of the suite; None: nothing was written before
    limit: int | None  # of benchmarks that have none of their own
    seed: int  # of the command
    count_answered: bool = False  # also count the requests whose answers are known

    def pairs(
        self, models: Sequence[OpenedModel], records: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[Pair]:
        """All pairs, model by model.

        ``records`` is what earlier commands wrote of each pair, by its name.
        """
        for model in models:
            for benchmark in self.suite.benchmarks:
                folder = (self.folder or Path()) / benchmark.name / model.entry.name
                pair = Pair(benchmark, model.entry, folder)
                if model.source is None:
                    yield pair.ended("failed", model.problem)
                    continue
                pair = replace(pair, request=self._request(benchmark, model))
                record = records.get(pair.name, {})
                same = record.get("request") == pair.request and record.get("state") == "done"
                is_done = same and (folder / FINDINGS).is_file()
                yield pair.ended("done") if is_done else self._planned(pair, model, records)

    def arguments(self, pair: Pair) -> dict[str, Any]:
        """What ``run`` is called with, beside the model."""
        return {
            "data": pair.benchmark.data,
            "parameters": pair.benchmark.parameters,
            "tags": pair.model.tags,
            "limit": pair.benchmark.limit or self.limit,
            "seed": self.seed if self.suite.seed is None else self.suite.seed,
            "mitigation": pair.model.mitigation,
        }

    def _planned(self, pair: Pair, model: OpenedModel, records: Mapping[str, Mapping[str, Any]]) -> Pair:
        """A pair with what it asks, or why it asks nothing."""
        try:
            work = prepare(
                pair.benchmark.benchmark, model=model.source, options=model.options, **self.arguments(pair)
            )
            for question in work.plan.questions:
                require(work.source, question.capability)
            requests: dict[str, int] = {}
            for question in work.plan.questions:
                requests[question.capability] = requests.get(question.capability, 0) + len(question)
            answered = _answered(work, model.options) if self.count_answered else None
            memory = _memory(work.source) if self.count_answered else None
        except MissingCapability as problem:
            return pair.ended("cannot be asked", problem)
        except Exception as problem:
            return pair.ended("failed", reason_of(problem))
        samples = len(work.plan.annotations)
        pair = replace(pair, samples=samples, requests=requests, answered=answered, memory=memory)
        return replace(pair, seconds=_expected(pair, records))

    def _request(self, benchmark: SuiteBenchmark, model: OpenedModel) -> str:
        """Everything that decides what a run holds, as far as it can be seen without reading the data."""
        options = model.options
        mitigation = model.entry.mitigation
        code = Path(benchmark.benchmark.rpartition(":")[0])
        parts = {
            "evenhand": version("evenhand"),
            "benchmark": benchmark.benchmark,
            "parameters": dict(benchmark.parameters),
            "data": str(benchmark.data),
            "limit": benchmark.limit or self.limit,
            "seed": self.seed if self.suite.seed is None else self.suite.seed,
            "model": model.entry.uri,
            "identity": dict(model.source.identity()) if model.source is not None else {},
            "tags": dict(model.entry.tags),
            "options": [options.batch_size, options.max_tokens, options.allow_missing, options.dtype],
            "files": [_stamp(path) for path in (benchmark.data, mitigation, code) if path is not None],
        }
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


def reason_of(problem: Exception) -> str:
    """What went wrong in one line; of errors that nobody raised on purpose, with their kind."""
    text = one_line(problem)
    return text if isinstance(problem, EvenhandError) else f"{type(problem).__name__}: {text}"


def lines_of(pairs: Sequence[Pair], is_meant: Callable[[Pair], bool]) -> list[str]:
    """A line for each pair that is meant; or for a model all of whose pairs have one reason."""
    lines: dict[str, None] = {}
    for pair in pairs:
        if not is_meant(pair):
            continue
        alike = [other for other in pairs if other.model is pair.model]
        what = pair.model.name
        if len(alike) == 1 or any(
            (other.state, other.reason) != (pair.state, pair.reason) for other in alike
        ):
            what = f"{pair.benchmark.name} x {what}"
        lines[f"{what}: {pair.state}: {pair.reason}"] = None
    return list(lines)


def _stamp(path: Path) -> str:
    return stamp_of(path.stat()) if path.is_file() else ""


def _expected(pair: Pair, records: Mapping[str, Mapping[str, Any]]) -> float | None:
    """Seconds that a pair may take, from earlier runs of its model in this folder; None without any."""
    mine = [record for name, record in records.items() if name.endswith(f"/{pair.model.name}")]
    timed = [record for record in mine if record.get("sent") and record.get("seconds")]
    if not timed:
        return None
    rate = sum(float(record["seconds"]) for record in timed) / sum(int(record["sent"]) for record in timed)
    return rate * max(sum(pair.requests.values()) - (pair.answered or 0), 0)


def _memory(source: ModelSource) -> float | None:
    """Bytes of a model's weights; None of a server, and of a class of the user's own."""
    estimate = getattr(source, "memory", None)
    return None if estimate is None else float(estimate())


def _answered(work: PreparedRun, options: AskOptions) -> int:
    """Rows whose answers are known."""
    if not options.keep_answers:
        return 0
    through = BackboneCache.of(work.source)
    store, rows = AnswerStore.of_model(through.source.identity()), 0
    try:
        for question in map(through.question, work.plan.questions):
            digests = digests_of(question, 0, len(question))
            texts = ["" if isinstance(digest, UnreadableImage) else digest for digest in digests]
            keys = keys_of(question, 0, texts)
            days = store.known(keys)
            rows += sum(key in days for key in keys)
    finally:
        store.close()
    return rows
