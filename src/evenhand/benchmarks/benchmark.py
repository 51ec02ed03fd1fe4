"""What a benchmark declares: parameters, samples, the capability it asks for, measures and artifacts."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import polars as pl

from evenhand.core.errors import ParameterError, UnknownName, check_choice
from evenhand.core.figure import Figure
from evenhand.core.findings import Finding, TableWarning
from evenhand.core.metric import Metric
from evenhand.core.nouns import WORDS, BenchmarkWords, Nouns, checked
from evenhand.core.requests import Question
from evenhand.evidence.predictions.counts import Counts
from evenhand.runs.run_folder import RunFolder

PAPER = "paper"
"""The mode that follows a paper, settings and rounding."""


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


PERTURBING: Mapping[str, Parameter] = MappingProxyType(
    {
        "perturb": Parameter("", help="jpeg:QUALITY, blur:RADIUS, black or mask:SHARE changes every image"),
        "areas": Parameter("", help="table of persons and objects in images, for all of these but jpeg"),
    }
)
"""Parameters of a run of any benchmark; where they are not typed they do not stand in its manifest."""


@dataclass(frozen=True)
class Setting:
    """What a benchmark is run with.

    Attributes:
        parameters: Its own, parsed, all of them.
        data: Where the user's copy of its data lies, if it needs one.
        capabilities: What the model can do, names of ``core.capabilities.CAPABILITIES``.
        seed: Of samples and resampling.
        limit: Only the first so many samples, if given.
        model: What the model is called.
    """

    parameters: Mapping[str, Any]
    data: Path | None
    capabilities: Sequence[str]
    seed: int
    limit: int | None = None
    model: str = ""

    def text(self, name: str) -> str:
        """A parameter as text."""
        return str(self.parameters[name])


S = TypeVar("S")


@dataclass(frozen=True, eq=False)
class Plan(Generic[S]):
    """Samples, what is asked about them, and what ``measure`` needs again.

    Attributes:
        annotations: One row a sample: ``sample`` (unique text), ``truth``, and the attributes.
        questions: Each becomes one table of evidence of its name.
        by: Groupings that findings are made for.
        dropped: Rows of the data that became no sample, by reason.
        notes: What else happened to rows, with how many; for the manifest.
        state: What ``measure`` needs again; nothing of it is kept in the run folder.
        about: What the samples are, for the manifest: ``layout`` of the data, and ``annotated_by``, who gave
            each attribute.
    """

    annotations: pl.DataFrame
    questions: Sequence[Question]
    by: Sequence[tuple[str, ...]] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    state: S = field(default=None, kw_only=True)  # type: ignore[assignment]
    about: Mapping[str, Any] = field(default_factory=dict, kw_only=True)


@dataclass(frozen=True, eq=False)
class Answered(Generic[S]):
    """What a benchmark measures.

    Attributes:
        plan: As the benchmark made it.
        setting: As it was run.
        evidence: A lazy table for each question, by name.
        unanswered: Samples without an answer: sample, question, reason, detail, temporary.
        facts: What the model says of itself: ``labels``, ``wordnet_ids``, ``logit_scale``, ...
        further: Asks another model, named by its URI, a question of texts; gives the evidence. None where
            nothing can be asked.
    """

    plan: Plan[S]
    setting: Setting
    evidence: Mapping[str, pl.LazyFrame]
    unanswered: pl.DataFrame
    facts: Mapping[str, Any]
    further: Callable[[str, Question], pl.DataFrame] | None = None


@dataclass(frozen=True, eq=False)
class Measured:
    """What a benchmark says: findings, the counts they rest on, tidy tables, warnings about its labels.

    ``dropped`` counts answers that could not be used, by reason; they are listed with every finding.
    ``exports`` are files in a format of others, by name, such as the original code's results.
    """

    findings: list[Finding]
    counts: dict[str, Counts] = field(default_factory=dict)
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    exports: Mapping[str, bytes] = field(default_factory=dict)
    warnings: Sequence[TableWarning] = ()


@dataclass(frozen=True, eq=False)
class Scored:
    """What a benchmark says of scores that were made elsewhere.

    Attributes:
        annotations: One row a sample: ``sample`` and the attributes.
        measured: Findings, tables and exports.
        model: Whose scores they are, if the files say.
        by: Groupings that findings are made for.
        dropped: Samples of the data that have no finding, by reason.
    """

    annotations: pl.DataFrame
    measured: Measured
    model: str = ""
    by: Sequence[tuple[str, ...]] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)


class Benchmark(ABC, Generic[S]):
    """Samples, questions and metrics under one name. Only ``name``, ``plan`` and ``measure`` must be given.

    An object with these attributes that inherits nothing is a benchmark as well.

    Attributes:
        name: As it is typed.
        parameters: What ``-p key=value`` can set.
        paper: What ``mode=paper`` sets of them beside, where the user does not: the paper's own settings.
        artifacts: Tables and figures that one run can fill.
        primaries: Names of the metrics whose tests are corrected together and get a verdict
            (``name[key=value]`` for one choice of parameters); None: all of them.
        metrics: Its own, which need no entry point: gates and listings know them.
        asks: Its question in one sentence, as a report begins with it.
        examined: What of a model it examines.
        nouns: What its samples, queries and groups are called in sentences.
        limits: What its findings cannot show, in sentences.
        people: Attributes of people, as its findings and their parts name them.
    """

    name: str
    parameters: Mapping[str, Parameter] = MappingProxyType({})
    paper: Mapping[str, str] = MappingProxyType({})
    artifacts: Sequence[str] = ()
    primaries: Sequence[str] | None = None
    metrics: Sequence[Metric[...]] = ()
    asks: str = ""
    examined: str = BenchmarkWords().examined
    nouns: Nouns = Nouns()
    limits: Sequence[str] = ()
    people: Sequence[str] = ()

    @abstractmethod
    def plan(self, setting: Setting) -> Plan[S]:
        """Samples and questions; images are rendered or decoded later, when they are asked about."""

    @abstractmethod
    def measure(self, answered: Answered[S]) -> Measured:
        """Findings from the evidence and the annotations."""

    def card(self) -> str:
        """Source, licence and limits, in Markdown: ``card.md`` beside the class, else its docstring."""
        beside = Path(inspect.getfile(type(self))).with_name("card.md")
        return beside.read_text(encoding="utf-8") if beside.is_file() else inspect.getdoc(self) or ""


def primaries_of(benchmark: object) -> Sequence[str] | None:
    """Names of the primary metrics of a benchmark; None where it declares none, and all are corrected."""
    declared: Sequence[str] | None = getattr(benchmark, "primaries", None)
    return declared


def words_to_keep(benchmark: object) -> dict[str, Any]:
    """What a benchmark says of itself, for the manifest of its runs; nothing where it says nothing.

    Raises:
        InputError: Nouns, limits or other words that no sentence can use.
    """
    declared = {
        name: getattr(benchmark, name) for name in BenchmarkWords.model_fields if hasattr(benchmark, name)
    }
    words = checked(declared, f"the benchmark {getattr(benchmark, 'name', '')!r} declares")
    fields = words.model_dump(mode="json", exclude_defaults=True)
    return {WORDS: fields} if fields else {}


@runtime_checkable
class ReadsScores(Protocol):
    """A benchmark that can say what scores of files mean, without asking a model."""

    def score(self, files: Sequence[Path], setting: Setting) -> Scored:
        """Findings from files: tables of evidence, or what the original code wrote.

        Raises:
            UserError: Files that hold no such scores.
        """
        ...


@dataclass(frozen=True, eq=False)
class Made:
    """What an artifact makes, where a table alone does not say it.

    Attributes:
        table: Tidy; the paper's own rows have ``source`` = ``paper``.
        notes: Lines under it, such as what the numbers rest on.
        figures: How to draw it, if that depends on what was found; else as the artifact declares.
    """

    table: pl.DataFrame
    notes: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()


@dataclass(frozen=True)
class Artifact:
    """A table or figure of a paper, made from runs, from data, or from both.

    Attributes:
        name: Such as ``skewsize/table1``.
        title: What it shows.
        make: From runs, or from runs and a setting (``parameters``, ``data``, ``seed``), to a tidy table;
            (a frame, or ``Made``); the paper's own rows have ``source`` = ``paper``.
        figures: How it is drawn, one under the other; none: as a table.
        benchmarks: Benchmarks (or their folders, ``visogender``) whose runs it is made from; empty: any.
        runs: How many runs it needs at least; 0: it describes data or benchmarks, and takes none.
        data: Whether it needs ``--data``.
        parameters: What ``-p key=value`` can set.
    """

    name: str
    title: str
    make: Callable[..., Any]
    figures: tuple[Figure, ...] = ()
    benchmarks: tuple[str, ...] = ()
    runs: int = 1
    data: bool = False
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    def build(self, runs: Sequence[RunFolder], setting: Setting) -> Made:
        """Call ``make``, with the setting if it takes one.

        Args:
            runs: What it is made from.
            setting: Parameters, data and seed.

        Raises:
            UserError: It cannot be made from these.
        """
        result = self.make(runs, setting) if _takes_two(self.make) else self.make(runs)
        return result if isinstance(result, Made) else Made(result)


def _takes_two(make: Callable[..., object]) -> bool:
    """Whether a function has a second place, for the setting."""
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(make).parameters.values()
    several = any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)
    return several or sum(parameter.kind in places for parameter in parameters) > 1


def parse_parameters(
    benchmark: Benchmark[Any] | Artifact,
    values: Mapping[str, str],
    shared: Mapping[str, Parameter] = MappingProxyType({}),
) -> dict[str, str | int | float]:
    """All parameters of a benchmark or artifact, those given checked and the others at their default.

    With ``mode=paper``, what is not given is as the benchmark's ``paper`` has it, before the default. Of
    ``shared`` ones, which it does not declare, only those given.

    Raises:
        UnknownName: A parameter that the benchmark does not declare.
        ParameterError: A value that is not possible.
    """
    declared = benchmark.parameters
    if values.get("mode") == PAPER:
        values = {**getattr(benchmark, "paper", {}), **values}
    extra = {name: shared[name] for name in values if name in shared}
    for name in values:
        if name not in {**extra, **declared}:
            raise UnknownName(f"parameter of {benchmark.name}", name, {**declared, **shared})
    declared = {**extra, **declared}
    return {
        name: parameter.parse(name, values[name]) if name in values else parameter.default
        for name, parameter in declared.items()
    }
