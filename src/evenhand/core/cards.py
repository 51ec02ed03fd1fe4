"""Cards of metrics: what a metric means, as data, and the settings that all models of findings share."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator

Direction = Literal["lower is fairer", "higher is fairer", "higher is better", "descriptive"]
Unit = Literal[
    "share", "share difference", "Cramér's V", "skewness", "log ratio", "nats", "correlation", "SDs", "ratio",
    "similarity", "count", "outcome",
]  # fmt: skip
SHARES: tuple[Unit, ...] = ("share", "share difference")
"""Units that are written in per cent and points."""
Statistic = Literal["mean", "worst", "gap", "range"]
Compared = Literal["counts", "contributions", "values"] | Statistic
MadeOf = Literal[
    "", "right rows", "effects of classes", "other effects of classes", "effects of ranks",
    "effects of answers", "all effects", "mean effect", "one effect", "shares", "one table", "one cell",
    "mistakes",
]  # fmt: skip
"""What of a table of truth, group and prediction a value is made of."""
Tag = Literal["performance", "outcome", "worst group", "group gap", "where it differs"]
ABOUT = Literal["groups", "guessing", "models", "seeds"]

DIFFERENCE, SEED_SPREAD = "_difference", "_seed_spread"
"""How the names of metrics end that follow from another one."""


def metric_id(name: str, by: Iterable[str], params: Mapping[str, object]) -> str:
    """A metric with its grouping and parameters, as findings print it: ``ndkl(by=race+sex, k=5)``.

    Parameters are those that differ from their default, so that a name stays stable when options are added;
    those that are None are left out.
    """
    words = [f"{key}={value}" for key, value in sorted(params.items()) if value is not None]
    if crossed := "+".join(by):
        words.insert(0, f"by={crossed}")
    return f"{name}({', '.join(words)})"


class Model(BaseModel):
    """Shared settings: immutable, forward-readable, no NaN or infinity."""

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


class Source(Model):
    """Where a definition comes from."""

    paper: str
    equation: str = ""


class Sentences(Model):
    """What tables and sentences say of a metric.

    Attributes:
        row: What a row of the terminal's table is called; ``{k}`` stands for a parameter of the finding.
        symbol: Its name in running text: *MaxSkew*.
        topic: What it is about, at the start of a sentence: *Accuracy*.
        value: What its value is, up to *is*; ``{first}`` and ``{second}`` are the members of two groups.
        more: What a group that it favours does: *get the right pronoun more often*.
        models: What the model that has more of it does, up to *than*: *is right more often*.
        hits: What the samples do that a rate counts, after their noun: *are resolved right*. ``{noun}``
            stands for the noun where it has another place, ``{k}`` for a parameter of the finding.
    """

    row: str = ""
    symbol: str = ""
    topic: str = ""
    value: str = ""
    more: str = ""
    models: str = ""
    hits: str = ""

    @field_validator("row", "value", "hits")
    @classmethod
    def _can_be_filled(cls, text: str, info: ValidationInfo) -> str:
        """Refuses where it is declared what no report could fill in."""
        possible = {"first", "second"} if info.field_name == "value" else None
        try:
            names = {name for _, name, _, _ in Formatter().parse(text) if name is not None}
        except ValueError:
            names = {""}
        if not all(map(str.isidentifier, names)) or (possible is not None and names - possible):
            takes = "{first} and {second}" if possible else "names of the finding's parameters, as {k}"
            raise ValueError(f"{text!r} cannot be filled in; braces take {takes}")
        return text

    def row_of(self, params: Mapping[str, object]) -> str:
        """What a row of the terminal's table is called, with a finding's parameters filled in."""
        return self.row.format_map(defaultdict(str, params))

    def hits_of(self, noun: str, params: Mapping[str, object]) -> str:
        """Noun and verb of what a rate counts: *images are resolved right*."""
        filled = self.hits.format_map(defaultdict(str, params, noun=noun))
        return filled if "{noun}" in self.hits else f"{noun} {filled}".rstrip()


class MetricCard(Model):
    """What a metric means, as data.

    Attributes:
        name: As findings, gates and exports write it.
        title: A heading of a few words.
        summary: What is measured, in a sentence without a verb at its start.
        formula: How the value is made, in words or symbols.
        range: Its least and its largest value; None: none.
        direction: Which way is better.
        fair_at: The value of a model that treats all groups alike; None: there is none.
        source: Where the definition comes from.
        unit: What the number is.
        order: Tables show lower ones first.
        parts_direction: Which way the values of its parts are better, where that is another.
        compared: How two models are compared: by their ``counts``, by what each sample adds to the value
            (``contributions``), as a statistic of the means of a number by group (``mean`` of all, ``worst``,
            ``gap`` of these, ``range``), or not: both ``values`` are shown.
        why_not_compared: Why not, where the models' values stand side by side.
        p_is_about: A difference between ``groups``, or an answer at random (``guessing``), two ``models``, or
            ``seeds``.
        of: The card of the metric that this one compares: a difference, or a spread.
        family: Metrics that a report's sentences speak of together; empty: it is spoken of by itself.
        sentences: What sentences say of it beyond title and value.
        headline: Whether the terminal shows it.
        made_of: What of a table of truth, group and prediction its value and parts are made of; where small
            cells are hidden, so is what would tell them.
        tags: What it is evidence of, as mappings of laws and frameworks ask for it.
        rests_on: Kinds of parts that are not called by their axes, with the axes of the rows that such a part
            counts: ``{"mistake": "class*group"}``.
        first_line: How the first lines of a run speak of it: of ``mistakes``; of ``rates`` of groups, as
            counts with the verb of ``sentences.hits``; of ``classes``, by the group whose answers stand apart
            in all of them; of ``rankings``; of ``pairs`` of sets of items; of ``reductions`` by a mitigation;
            of ``means`` of numbers; of ``changes`` between models; of the ``subgroups`` that a search lists;
            of the ``value``; or a form that an installed package names in ``evenhand.forms``. Empty: by its
            value where it is a primary finding of a run, else not at all.
        parts_of: The metric whose parts those lines show beside it: the groups' rates that it compares, or
            items; empty: its own.
        second_to: The metric beside whose headlines, in the same grouping, they need none of this one, unless
            it is of another group.
        error_share: How much of a run's error its test may spend where it is a primary finding, beside 1 of
            others: the pooled test of an audit .1, two others .45. Where answers differ in many small ways it
            is far beyond any level; what it spends the others lack (docs/statistics.md).
        tested_by: The metric whose test of the same hypothesis counts first: this one has a verdict only
            beside it.
        gate_beside: The metric that a gate on this one needs beside it, because it says nothing by itself.
    """

    name: str
    title: str
    summary: str = ""
    formula: str = ""
    range: tuple[float | None, float | None] = (None, None)
    direction: Direction = "descriptive"
    fair_at: float | None = None
    source: Source = Source(paper="not declared")
    unit: Unit | None = None
    order: int = 1_000_000
    parts_direction: Direction | None = None
    compared: Compared = "values"
    why_not_compared: str = "it is made of no single samples"
    p_is_about: ABOUT = "groups"
    of: MetricCard | None = None
    family: str = ""
    sentences: Sentences = Sentences()
    headline: bool = True
    made_of: MadeOf = ""
    tags: tuple[Tag, ...] = ()
    rests_on: dict[str, str] = {}
    first_line: str = ""
    parts_of: str = ""
    second_to: str = ""
    error_share: float = 1.0
    tested_by: str = ""
    gate_beside: str = ""

    @classmethod
    def plain(cls, name: str, **facts: Any) -> MetricCard:
        """The card of a metric that nobody declared: its name in words."""
        words = name.replace("_", " ").strip()
        if name.endswith(DIFFERENCE):
            facts |= {"of": cls.plain(name.removesuffix(DIFFERENCE)), "p_is_about": "models"}
        return cls(name=name, title=words[:1].upper() + words[1:] if words else "Unnamed metric", **facts)

    def comparing(self, of: MetricCard | None) -> MetricCard:
        """The same card of a metric that compares others, of one of them."""
        return self.model_copy(update={"of": of})

    def difference(self) -> MetricCard:
        """The card of the first model's value minus the second's."""
        low, high = self.range
        return MetricCard(
            name=self.name + DIFFERENCE,
            title=f"{self.title}, difference",
            summary=f"the first model’s value minus the second’s, of: {self.summary}",
            formula=f"{self.name}(first) - {self.name}(second)",
            range=(None, None) if low is None or high is None else (low - high, high - low),
            fair_at=0.0,
            source=Source(paper=self.source.paper, equation="first model minus second"),
            unit=self.unit,
            order=self.order + _AFTER_ALL,
            p_is_about="models",
            first_line="changes",
            of=self,
        )

    def seed_spread(self) -> MetricCard:
        """The card of the standard deviation between models that differ in their seed alone."""
        return MetricCard(
            name=self.name + SEED_SPREAD,
            title=f"{self.title}, spread of seeds",
            summary=f"standard deviation between seeds, of: {self.summary}",
            formula=f"s of {self.name} over seeds, with n - 1",
            range=(0, None),
            source=Source(paper="standard deviation over seeds", equation="n - 1; chi-square interval"),
            unit=self.unit,
            order=self.order + 2 * _AFTER_ALL,
            p_is_about="seeds",
            of=self,
        )


_AFTER_ALL = 10_000  # what follows from metrics stands after all of them
