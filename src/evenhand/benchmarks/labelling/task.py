"""A benchmark as a declaration: which samples there are, how they are asked about, what is measured."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from evenhand.benchmarks.benchmark import Answered, Benchmark, Measured, Parameter, Plan, Setting
from evenhand.benchmarks.datasets.samples import Samples
from evenhand.benchmarks.labelling.captions import caption_questions, caption_scores
from evenhand.benchmarks.labelling.role_questions import ASKING, NOISE, WAYS, RoleQuestions, choose_way
from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.evidence.rankings import Rankings
from evenhand.evidence.role_choices import RoleChoices


class Asking(Protocol):
    """A way to ask about samples and to read the answers: ``RoleOptions``, ``Captions``, ``Classify``."""

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """What ``-p key=value`` can set of it."""
        ...

    def plan(self, name: str, samples: Any, setting: Setting) -> Plan[Any]:
        """The questions about the samples of the benchmark of a name."""
        ...

    def measure(self, answered: Answered[Any]) -> tuple[Any, Measured]:
        """The evidence that findings are made of, and what there is to say without them."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Task(Benchmark[Any]):
    """A benchmark that is declared.

    Attributes:
        name: As it is typed.
        samples: From a setting to what ``ask`` asks about. The card is ``cards/NAME.md`` or ``card.md``
            beside its file, else its docstring.
        ask: How samples are asked about.
        findings: From the evidence of ``ask`` to findings, beyond those that ``ask`` makes.
        tables: Further tables that the run keeps, from the evidence and all findings.
        by: Groupings, where neither the user nor the samples say which.
        own: Parameters beyond those of ``ask``.
    """

    name: str
    samples: Callable[[Setting], Any]
    ask: Asking
    findings: Callable[[Any, Answered[Any]], Iterable[Finding]] = lambda *_: ()
    tables: Callable[[Any, Answered[Any], Sequence[Finding]], Mapping[str, pl.DataFrame]] = lambda *_: {}
    by: Sequence[tuple[str, ...]] = ()
    own: Mapping[str, Parameter] = field(default_factory=dict)
    paper: Mapping[str, str] = field(default_factory=dict)
    artifacts: Sequence[str] = ()
    primaries: Sequence[str] | None = None
    asks: str = ""
    examined: str = Benchmark.examined
    nouns: Nouns = Benchmark.nouns
    limits: Sequence[str] = ()
    people: Sequence[str] = ()

    @property
    def parameters(self) -> Mapping[str, Parameter]:  # type: ignore[override]  # made of fields
        """What ``-p key=value`` can set."""
        return {**self.own, **self.ask.parameters, **self.own}

    def plan(self, setting: Setting) -> Plan[Any]:
        """The questions about its samples."""
        plan = self.ask.plan(self.name, self.samples(setting), setting)
        return replace(plan, by=plan.by or self.by)

    def measure(self, answered: Answered[Any]) -> Measured:
        """Findings and tables of the answers."""
        evidence, measured = self.ask.measure(answered)
        findings = [*measured.findings, *self.findings(evidence, answered)]
        tables = {**measured.tables, **self.tables(evidence, answered, findings)}
        return replace(measured, findings=findings, tables=tables)

    def card(self) -> str:
        """Source, licence and limits, in Markdown."""
        reader = getattr(self.samples, "func", self.samples)  # of a partial
        folder, last = Path(inspect.getfile(reader)).parent, self.name.rpartition("/")[2]
        for file in (folder / "cards" / f"{last}.md", folder / "card.md"):
            if file.is_file():
                return file.read_text(encoding="utf-8")
        return inspect.getdoc(reader) or ""


@dataclass(frozen=True, kw_only=True)
class RoleOptions:
    """Which of some options is true? Asked by letter, by continuation or by caption.

    Samples have ``image`` (a position in their images), ``question``, ``options`` (texts, in the order in
    which they are first shown; null: not shown) and ``roles`` (of each: ``target``, ``other``, ``unknown``).

    Attributes:
        ways: Those that a model can be asked by, the first that it can go.
        cluster: Column of what is drawn as a whole.
        truth: Column of the right role.
        sets: Column of the set of samples that differ in ``treatments`` alone.
        treatments: Attributes that differ within a set.
    """

    ways: tuple[str, ...] = tuple(WAYS)
    cluster: str | None = None
    truth: str | None = None
    sets: str | None = None
    treatments: tuple[str, ...] = ()

    @property
    def parameters(self) -> Mapping[str, Parameter]:
        """How a model is asked; of sets, whether it is asked again of re-encoded images."""
        ask = Parameter("auto", ("auto", *self.ways), ASKING["ask"].help)
        return {**ASKING, "ask": ask, **(NOISE if self.sets else {})}

    def plan(self, name: str, samples: Samples, setting: Setting) -> Plan[RoleQuestions]:
        """The question of each sample."""
        params, rows = setting.parameters, samples.table.head(setting.limit or len(samples.table))
        asking = RoleQuestions(
            choose_way(str(params["ask"]), setting.capabilities, name, self.ways),
            *(rows["sample"].to_list(), samples.images, rows["image"].to_list(), rows["question"].to_list()),
            [
                {role: text for role, text in zip(*row, strict=True) if text is not None}
                for row in rows.select("roles", "options").iter_rows()
            ],
            orders=str(params["orders"]), noise=int(params.get("noise", 0)),
        )  # fmt: skip
        return _planned(samples, rows.drop("image", "options", "roles"), asking.requests(), asking)

    def measure(self, answered: Answered[RoleQuestions]) -> tuple[RoleChoices, Measured]:
        """Which roles the answers choose."""
        plan = answered.plan
        read = plan.state.answers(answered.evidence, answered.facts)
        samples = plan.annotations if self.truth else plan.annotations.drop("truth")
        choices = RoleChoices.join(
            *(read.answers, samples), cluster=self.cluster, truth=self.truth, sets=self.sets,
            treatments=self.treatments, again=read.again,
        )  # fmt: skip
        sets = {"incomplete_sets": choices.incomplete()} if self.sets else {}
        tables = {"answers": read.answers, **sets, **read.tables}
        return choices, Measured([], tables=tables, warnings=read.warnings)


@dataclass(frozen=True, kw_only=True)
class Captions:
    """How well does each image fit its caption? By cosine, or by a model's own score of pairs.

    Samples have ``text``, the caption; those of one caption are one ranking.

    Attributes:
        cluster: Column of what is drawn as a whole.
        sets: Whether labels change places within these alone.
    """

    cluster: str | None = None
    sets: bool = False
    parameters: Mapping[str, Parameter] = field(default_factory=dict)

    def plan(self, name: str, samples: Samples, setting: Setting) -> Plan[None]:
        """Each image and each caption, once."""
        rows = samples.table
        ids, texts = rows["sample"].to_list(), rows["text"].to_list()
        questions = caption_questions(setting.capabilities, ids, samples.images, texts, name)
        return _planned(samples, rows, questions, None)

    def measure(self, answered: Answered[None]) -> tuple[Rankings, Measured]:
        """The ranking of each caption."""
        pairs = answered.plan.annotations.drop("truth")
        scored = caption_scores(answered.evidence, pairs).rename({"text": "query"})
        rankings = Rankings.from_frame(scored, kind="caption", cluster=self.cluster, sets=self.sets)
        return rankings, Measured([], tables={"rankings": rankings.to_frame()})


def _planned(samples: Samples, table: pl.DataFrame, questions: Sequence[Any], state: Any) -> Plan[Any]:
    """A plan with what the samples say; where no truth is known it is null."""
    truth = [] if "truth" in table.columns else [pl.lit(None, pl.String).alias("truth")]
    about = {"about": samples.about, "state": state}
    return Plan(table.with_columns(truth), questions, samples.by, samples.dropped, samples.notes, **about)
