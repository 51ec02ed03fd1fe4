"""What a benchmark declares: parameters, samples, the capability it asks for, measures and artifacts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from evenhand.core.errors import ParameterError, UnknownName, check_choice
from evenhand.core.questions import Question
from evenhand.core.results import Finding
from evenhand.evidence.counts import Counts
from evenhand.evidence.run_folder import Run


@dataclass(frozen=True)
class Parameter:
    """One ``-p key=value`` that a benchmark understands.

    Attributes:
        default: Used when it is not given; its type is the parameter's type.
        choices: What is possible; empty means any value of the type.
        help: What it does.
    """

    default: str | int | float
    choices: tuple[str, ...] = ()
    help: str = ""

    def parse(self, name: str, text: str) -> str | int | float:
        """The value that a text stands for.

        Raises:
            ParameterError: The text is not of the parameter's type, or not one of the choices.
        """
        if self.choices:
            check_choice(name, text, self.choices)
        kind = type(self.default)
        try:
            return kind(text)
        except ValueError:
            raise ParameterError(
                f"-p {name}={text!r} is not a {kind.__name__}; default: {self.default}"
            ) from None


@dataclass(frozen=True)
class Setting:
    """What a benchmark is run with.

    Attributes:
        parameters: Its own, parsed, all of them.
        data: Where the user's copy of its data lies, if it needs one.
        capabilities: What the model can do, names of ``core.capabilities.CAPABILITIES``.
        seed: Of samples and resampling.
        limit: Only the first so many samples, if given.
    """

    parameters: Mapping[str, Any]
    data: Path | None
    capabilities: Sequence[str]
    seed: int
    limit: int | None = None


@dataclass(frozen=True, eq=False)
class Plan:
    """Samples and what is asked about them.

    Attributes:
        annotations: One row a sample: ``sample`` (unique text), ``truth``, and the attributes.
        questions: Each becomes one table of evidence of its name.
        by: Groupings that findings are made for.
        dropped: Rows of the data that became no sample, by reason.
    """

    annotations: pl.DataFrame
    questions: Sequence[Question]
    by: Sequence[tuple[str, ...]] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Answered:
    """What a benchmark measures.

    Attributes:
        plan: As the benchmark made it.
        setting: As it was run.
        evidence: A lazy table for each question, by name.
        unanswered: Samples without an answer: sample, question, reason, detail, temporary.
        facts: What the model says of itself: ``labels``, ``wordnet_ids``, ``logit_scale``, ...
    """

    plan: Plan
    setting: Setting
    evidence: Mapping[str, pl.LazyFrame]
    unanswered: pl.DataFrame
    facts: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Measured:
    """What a benchmark says: findings, the counts they rest on, tidy tables.

    ``dropped`` counts answers that could not be used, by reason; they are listed with every finding.
    """

    findings: list[Finding]
    counts: dict[str, Counts] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)


class Benchmark(Protocol):
    """Samples, questions and bound metrics under one name."""

    name: str
    parameters: Mapping[str, Parameter]
    artifacts: Sequence[str]

    def plan(self, setting: Setting) -> Plan:
        """Samples and questions; images are rendered or decoded later, when they are asked about."""
        ...

    def measure(self, answered: Answered) -> Measured:
        """Findings from the evidence and the annotations."""
        ...

    def card(self) -> str:
        """Source, licence and limits, in Markdown."""
        ...


@dataclass(frozen=True)
class Artifact:
    """A table of a paper, made from runs.

    Attributes:
        name: Such as ``skewsize/table1``.
        title: What it shows.
        make: From runs to a tidy table; the paper's own rows have ``source`` = ``paper``.
    """

    name: str
    title: str
    make: Callable[[Sequence[Run]], pl.DataFrame]


def parse_parameters(benchmark: Benchmark, given: Mapping[str, str]) -> dict[str, str | int | float]:
    """All parameters of a benchmark, those given checked and the others at their default.

    Raises:
        UnknownName: A parameter that the benchmark does not declare.
        ParameterError: A value that is not possible.
    """
    declared = benchmark.parameters
    for name in given:
        if name not in declared:
            raise UnknownName(f"parameter of {benchmark.name}", name, declared)
    return {
        name: parameter.parse(name, given[name]) if name in given else parameter.default
        for name, parameter in declared.items()
    }
