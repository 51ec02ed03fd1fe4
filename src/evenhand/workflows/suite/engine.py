"""Several benchmarks and several models in one command: asked, resumed, shown on one page."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, MissingCapability, ParameterError, UnknownName, UserError
from evenhand.core.unseen import json_escaped
from evenhand.display.overview.subject import Subject
from evenhand.files.atomic import write_bytes
from evenhand.runs.gates import check_gate_names, gate_results
from evenhand.runs.run_folder import SUITE
from evenhand.workflows.execution.collect import Progress
from evenhand.workflows.execution.engines.shared_models import SharedModels
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.listings import own_cards
from evenhand.workflows.outputs.result import Run
from evenhand.workflows.run import run
from evenhand.workflows.suite.entries import (
    Suite,
    SuiteBenchmark,
    SuiteModel,
    check_entries,
    named_model,
    with_values,
)
from evenhand.workflows.suite.overview import RESULTS, write_overview
from evenhand.workflows.suite.pairs import OpenedModel, Pair, PairPlanner, lines_of, reason_of
from evenhand.workflows.suite.suite_files import is_suite, read_suite

_MISSING = ("failed", "incomplete", "waiting")


@dataclass(frozen=True, eq=False)
class SuiteRun:
    """What became of every pair of a suite."""

    folder: Path  # has a run folder for each pair, BENCHMARK/MODEL
    pairs: tuple[Pair, ...]  # model by model, in the order of the suite
    page: Path | None  # the overview of all runs; None where there is no run
    results: Path | None  # the findings of all runs as one Parquet file; None where there is no run
    broken: tuple[str, ...] = ()  # a line for each gate that is broken

    @property
    def missing(self) -> list[str]:
        """A line for each pair that has no whole run, with the reason."""
        return lines_of(self.pairs, lambda pair: pair.state in _MISSING)

    @property
    def not_askable(self) -> list[str]:
        """A line for each pair whose model cannot answer what the benchmark asks."""
        return lines_of(self.pairs, lambda pair: pair.state == "cannot be asked")

    @property
    def runs(self) -> dict[tuple[str, str], Run]:
        """The runs by benchmark and model, read from their folders."""
        return {
            (pair.benchmark.name, pair.model.name): Run.read(pair.folder)
            for pair in self.pairs
            if pair.state in ("done", "incomplete")
        }


def run_suite(
    benchmarks: str | Suite | Sequence[str],
    *,
    out: str | Path,
    models: Sequence[Any] = (),
    data: Mapping[str, str | Path] | None = None,
    parameters: Mapping[str, Mapping[str, str]] | None = None,
    limit: int | None = None,
    seed: int = 0,
    gates: Sequence[str] = (),
    options: AskOptions | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> SuiteRun:
    """Ask several models the questions of several benchmarks, and write a run folder for each pair.

    An image or a text is asked of a model once, whichever benchmarks need it, and a model is loaded once. A
    pair that fails leaves the others whole; the same call again asks only what is missing.

    Args:
        benchmarks: Names of benchmarks or of shipped suites (``quick``), ``file.py:object``, ``suite.yaml``.
        out: Folder to write: ``BENCHMARK/MODEL`` for each pair, ``compared``, ``index.html``, and
            ``results.parquet``.
        models: Model URIs (``NAME=URI`` to name its folders), or objects; beside those of the suite.
        data: Where the data of a benchmark lies, by its name.
        parameters: The parameters of a benchmark, as text, by its name.
        limit: Ask about the first so many samples of each benchmark only.
        seed: Of samples and resampling, where the suite has none.
        gates: Conditions on findings; each must be about a finding of some benchmark.
        options: Device, precision, batch size, workers, engine.
        progress: Called with pair and question, rows done, and rows in all.
        say: Called with a line for each pair that cannot be asked, before anything runs, and for each that
            fails, when it does.

    Returns:
        What became of every pair; ``missing`` has a line for each that is not done.

    Raises:
        UserError: Nothing to ask, unknown names, gates that cannot be read, or no pair that can be asked.
    """
    suite = suite_of(benchmarks, models, data=data, parameters=parameters, gates=gates)
    _check_gates(suite)
    folder, tell = Path(out), say or (lambda _: None)
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{str(out)!r} is a file; give a folder with -o")
    with _sharing(options or AskOptions()) as (asking, shared):
        planner = PairPlanner(suite, folder, limit, seed)
        opened = [OpenedModel.of(model, asking) for model in suite.models]
        record = _Record(folder / SUITE)
        pairs = list(planner.pairs(opened, record.pairs))
        for line in lines_of(pairs, lambda pair: pair.state in ("cannot be asked", "failed")):
            tell(line)
        _refuse_nothing(pairs)
        asker = _PairAsker(planner, record, progress or (lambda *_: None), tell)
        ended: list[Pair] = []
        for model in opened:
            ended += [asker.ended(pair, model) for pair in pairs if pair.model is model.entry]
            shared.release()
    return _shown(suite, ended, folder, record)


def _shown(suite: Suite, pairs: Sequence[Pair], folder: Path, record: _Record) -> SuiteRun:
    """The suite with its page, its table and its gates."""
    page = write_overview(suite, pairs, folder, record.compared)
    record.write()
    broken = tuple(_broken(suite, pairs))
    return SuiteRun(folder, tuple(pairs), page, folder / RESULTS if page else None, broken)


def planned_pairs(
    suite: Suite, *, out: str | Path | None, limit: int | None, seed: int, options: AskOptions
) -> list[Pair]:
    """The pairs of a suite with what each would ask, and how much of it is answered already; asks nothing.

    The suite has names (``with_names``); without ``out`` nothing counts as done.
    """
    folder = None if out is None else Path(out)
    planner = PairPlanner(suite, folder, limit, seed, count_answered=True)
    records = {} if folder is None else _Record(folder / SUITE).pairs
    return list(planner.pairs([OpenedModel.of(model, options) for model in suite.models], records))


def suite_of(
    benchmarks: str | Suite | Sequence[str],
    models: Sequence[Any] = (),
    *,
    data: Mapping[str, str | Path] | None = None,
    parameters: Mapping[str, Mapping[str, str]] | None = None,
    gates: Sequence[str] = (),
) -> Suite:
    """One suite of benchmarks, suites and files of suites; the arguments are those of ``run_suite``."""
    if isinstance(benchmarks, Suite):
        suite = benchmarks
    else:
        words = [benchmarks] if isinstance(benchmarks, str) else list(benchmarks)
        suite = suite_of_words(words)
    pairs = [
        f"{name}:{key}={value}"
        for name, values in (parameters or {}).items()
        for key, value in values.items()
    ]
    places = [f"{name}={path}" for name, path in (data or {}).items()]
    more = [_entry_of(model) for model in models]
    entries = with_values(suite.benchmarks, pairs, places)
    check_entries(entries)
    return replace(
        suite,
        benchmarks=entries,
        models=[*suite.models, *more],
        gates=(*suite.gates, *gates),
    ).with_names()


def suite_of_words(words: Sequence[str]) -> Suite:
    """Benchmarks, names of suites and files of suites as one suite, without names of folders."""
    suites = [read_suite(word) if is_suite(word) else Suite([SuiteBenchmark(word)]) for word in words]
    seeds = {suite.seed for suite in suites if suite.seed is not None}
    if len(seeds) > 1:
        raise ParameterError(
            f"these suites have different seeds ({', '.join(map(str, sorted(seeds)))}); run them apart"
        )
    return Suite(
        [entry for suite in suites for entry in suite.benchmarks],
        [entry for suite in suites for entry in suite.models],
        tuple(gate for suite in suites for gate in suite.gates),
        next(iter(seeds), None),
        " + ".join(suite.name for suite in suites if suite.name),
    )


def _entry_of(model: Any) -> SuiteModel:
    if isinstance(model, SuiteModel):
        return model
    return named_model(model) if isinstance(model, str) else SuiteModel(model, type(model).__name__)


class _Record:
    """What is known of the pairs and comparisons of a folder, kept beside them."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            self.pairs: dict[str, dict[str, Any]] = dict(content["pairs"])
            self.compared: dict[str, str] = dict(content["compared"])
        except FileNotFoundError:
            self.pairs, self.compared = {}, {}
        except (OSError, ValueError, RecursionError, KeyError, TypeError):
            raise InputError(f"{str(path)!r} is no record of a suite; give another folder with -o") from None

    def keep(self, pair: Pair) -> None:
        """Keep what became of a pair."""
        entry = {"request": pair.request, "state": pair.state, "reason": pair.reason}
        times = {"sent": pair.sent, "seconds": pair.seconds} if pair.sent else {}
        earlier = {
            key: value for key, value in self.pairs.get(pair.name, {}).items() if key in ("sent", "seconds")
        }
        self.pairs[pair.name] = entry | earlier | times
        self.write()

    def write(self) -> None:
        """Write everything, whole or not at all."""
        content = {"schema_version": "1.0", "pairs": self.pairs, "compared": self.compared}
        text = json_escaped(json.dumps(content, indent=1, ensure_ascii=False, sort_keys=True))
        write_bytes(self._path, text.encode() + b"\n")


@dataclass(frozen=True, eq=False)
class _PairAsker:
    """Runs pairs and keeps what became of them."""

    planner: PairPlanner
    record: _Record
    progress: Progress
    say: Callable[[str], None]

    def ended(self, pair: Pair, model: OpenedModel) -> Pair:
        """A pair after its run; one that is not waiting stays as it is."""
        if pair.state == "waiting":
            pair = self._run(pair, model)
            for line in lines_of([pair], lambda pair: pair.state != "done"):
                self.say(line)
        self.record.keep(pair)
        return pair

    def _run(self, pair: Pair, model: OpenedModel) -> Pair:
        began = time.monotonic()
        try:
            result = run(
                pair.benchmark.benchmark, model=model.source, options=model.options, out=pair.folder,
                progress=lambda name, n_done, total: self.progress(f"{pair.name} {name}", n_done, total),
                **self.planner.arguments(pair),
            )  # fmt: skip
        except MissingCapability as problem:
            return pair.ended("cannot be asked", problem)
        except Exception as problem:  # whatever it is, the other pairs go on, and it is said
            return pair.ended("failed", reason_of(problem))
        sent = sum(question["asked"] for question in result.manifest["asking"]["questions"])
        pair = replace(pair, sent=sent, seconds=round(time.monotonic() - began, 3))
        reasons = result.temporary_reasons()
        if reasons:
            listed = ", ".join(f"{reason} ({count})" for reason, count in reasons.items())
            n = sum(reasons.values())
            noun = "sample" if n == 1 else "samples"
            return pair.ended("incomplete", f"{n} {noun} could not be asked about: {listed}")
        return pair.ended("done")


@contextmanager
def _sharing(options: AskOptions) -> Iterator[tuple[AskOptions, SharedModels]]:
    shared = SharedModels()
    try:
        yield replace(options, shared=shared), shared
    finally:
        shared.close()


def _refuse_nothing(pairs: Sequence[Pair]) -> None:
    """A suite of which nothing can be run is a mistake to mend."""
    if all(pair.state in ("cannot be asked", "failed") for pair in pairs):
        raise UserError(f"nothing of this suite can be run; {pairs[0].name}: {pairs[0].reason}")


def _check_gates(suite: Suite) -> None:
    """Refuse gates that cannot be read or name no metric, before hours of asking."""
    every = []
    are_read = True
    for entry in suite.benchmarks:
        try:
            cards = own_cards(entry.benchmark)
        except Exception:  # its pairs say why; of its gates nothing is known, and the others go on
            are_read = False
            continue
        check_gate_names(entry.gates, cards)
        every += cards
    if are_read:
        check_gate_names(suite.gates, every)


def _broken(suite: Suite, pairs: Iterable[Pair]) -> Iterator[str]:
    """A line for each broken gate."""
    read = [(pair, Run.read_findings(pair.folder)) for pair in pairs if pair.state in ("done", "incomplete")]
    for gate in suite.gates:
        unknown: UnknownName | None = None
        about = 0
        for pair, result in read:
            try:
                results = gate_results(result.findings.findings, gate, Subject.of(result.manifest))
            except UnknownName as problem:
                unknown = problem
                continue
            about += 1
            yield from (f"{pair.name}: {line}" for _, line in results if line)
        if not about and unknown is not None:
            raise unknown
    for pair, result in read:
        for gate in pair.benchmark.gates:
            results = gate_results(result.findings.findings, gate, Subject.of(result.manifest))
            yield from (f"{pair.name}: {line}" for _, line in results if line)
