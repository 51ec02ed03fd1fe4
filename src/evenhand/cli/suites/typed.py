"""What ``evenhand run`` does where several benchmarks or models, or a suite, are given."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.errors import GateBroken, Incomplete, ParameterError
from evenhand.display.text.formatting import size

if TYPE_CHECKING:
    from evenhand.workflows.execution.options import AskOptions
    from evenhand.workflows.suite.engine import SuiteRun
    from evenhand.workflows.suite.entries import Suite
    from evenhand.workflows.suite.pairs import Pair


@dataclass(frozen=True)
class TypedSuite:
    """Arguments of ``evenhand run``, as they were typed."""

    benchmarks: Sequence[str]  # benchmarks, names of suites, files of suites
    models: Sequence[str]  # ``URI`` or ``NAME=URI``
    data: Sequence[str] = ()  # ``PATH``, or ``BENCHMARK=PATH`` where several run
    parameters: Sequence[str] = ()  # ``KEY=VALUE`` or ``BENCHMARK:KEY=VALUE``
    by_option: Mapping[str, str] | None = None  # parameters that have options of their own
    tags: Mapping[str, str] | None = None  # facts about the model
    mitigation: Path | None = None
    limit: int | None = None  # of samples
    seed: int = 0
    gates: Sequence[str] = ()

    @property
    def is_single(self) -> bool:
        """Whether this is a run of one benchmark and one model, as without suites."""
        from evenhand.workflows.suite.suite_files import is_suite

        single = len(self.benchmarks) == 1 and not is_suite(self.benchmarks[0])
        if single and not self.models:
            raise ParameterError(
                "a run needs a model; give --model URI, such as hf:openai/clip-vit-base-patch32"
            )
        return single and len(self.models) == 1

    def suite(self) -> Suite:
        """The suite that was typed, with names."""
        from evenhand.workflows.suite.engine import suite_of, suite_of_words
        from evenhand.workflows.suite.entries import named_model, with_values

        suite = suite_of_words(self.benchmarks)
        if len(suite.benchmarks) > 1 or not self.is_single:
            parameters = [
                *self.parameters,
                *(f"{key}={value}" for key, value in (self.by_option or {}).items()),
            ]
            suite = replace(suite, benchmarks=with_values(suite.benchmarks, parameters, self.data))
        else:
            pairs = dict(text.partition("=")[::2] for text in self.parameters) | dict(self.by_option or {})
            entry = replace(suite.benchmarks[0], parameters=pairs, data=self.only_data())
            suite = replace(suite, benchmarks=[entry])
        models = [
            replace(named_model(text), tags=dict(self.tags or {}), mitigation=self.mitigation)
            for text in self.models
        ]
        return suite_of(suite, models, gates=self.gates)

    def only_data(self) -> Path | None:
        """The data of a single benchmark."""
        if len(self.data) > 1:
            raise ParameterError(f"--data is given {len(self.data)} times; one benchmark takes it once")
        return Path(self.data[0]).expanduser() if self.data else None

    def folder(self, out: Path | None) -> Path:
        """Where the suite is written: ``-o``, else ``runs/NAME`` of a single suite."""
        if out is not None:
            return out
        from evenhand.workflows.suite.suite_files import is_suite

        if len(self.benchmarks) == 1 and is_suite(self.benchmarks[0]):
            return Path("runs") / Path(self.benchmarks[0]).stem
        raise ParameterError("several benchmarks or models are written into one folder; give it: -o DIR")


def run_typed(typed: TypedSuite, out: Path | None, asking: AskOptions, *, quiet: bool) -> None:
    """Run a suite, print what became of its pairs, and exit 3 or 4 where something is missing or broken."""
    from evenhand.cli.summaries.progress import bars
    from evenhand.workflows.suite.engine import run_suite

    folder, suite = typed.folder(out), typed.suite()
    with bars(quiet) as show:
        result = run_suite(
            suite, out=folder, limit=typed.limit, seed=typed.seed, options=asking,
            progress=lambda name, n_done, total: show(f"asking {name}", n_done, total),
            say=lambda line: print(line, file=sys.stderr),
        )  # fmt: skip
    if not quiet:
        _print_runs(result)
    _check(result)


def _print_runs(result: SuiteRun) -> None:
    """A line for each run, and where everything lies."""
    for (benchmark, model), run in result.runs.items():
        print(f"{benchmark}  {model}: {run.overview.title or f'{len(run.findings)} findings'}")
    if result.page is not None:
        print(f"Overview: {result.page}")
        print(f"Findings: {result.results}")


def _check(result: SuiteRun) -> None:
    """Exit 4 for broken gates, else 3 for pairs that are missing, one line each."""
    missing = result.missing
    for line in missing:
        print(f"missing: {line}", file=sys.stderr)
    if result.broken:
        raise GateBroken("gate broken: " + "; ".join(result.broken))
    if missing:
        n_missing = sum(pair.state in ("failed", "incomplete", "waiting") for pair in result.pairs)
        raise Incomplete(
            f"{n_missing} of {len(result.pairs)} pairs are missing; the rest is written; "
            "type the same command again to ask only these"
        )


def print_plan(typed: TypedSuite, out: Path | None, asking: AskOptions) -> None:
    """What a command would ask, without asking: samples, requests, answers that are known, tokens at most."""
    from evenhand.workflows.suite.engine import planned_pairs

    pairs = planned_pairs(typed.suite(), out=out, limit=typed.limit, seed=typed.seed, options=asking)
    for pair in pairs:
        print(_planned_line(pair, asking))
    waiting = [pair for pair in pairs if pair.state == "waiting"]
    total = sum(sum(pair.requests.values()) for pair in waiting)
    answered = sum(pair.answered or 0 for pair in waiting)
    print(f"{len(waiting)} of {len(pairs)} pairs to run; {total:,} requests, {answered:,} answered before")


def _planned_line(pair: Pair, asking: AskOptions) -> str:
    what = f"{pair.benchmark.name} x {pair.model.name}"
    if pair.state != "waiting":
        return f"{what}: {pair.state}{': ' if pair.reason else ''}{pair.reason}"
    requests = ", ".join(f"{count:,} {capability}" for capability, count in pair.requests.items())
    facts = [f"{pair.samples:,} samples", requests, f"{pair.answered or 0:,} answered before"]
    asked_in_words = pair.requests.get("answers_questions", 0)
    if asked_in_words:
        most = pair.model.options.get("max_tokens") or asking.max_tokens or 64
        facts.append(f"at most {asked_in_words * most:,} tokens of answers")
    if pair.memory is not None:
        facts.append(f"weights of {size(pair.memory)} in memory, and more while it answers")
    if pair.seconds is not None:
        facts.append(f"about {max(pair.seconds / 60, 0.1):,.1f} minutes at the speed of earlier runs here")
    return f"{what}: {'; '.join(facts)}"
