"""What the first screen of a report, the terminal and a notebook say of a run, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from evenhand.core.findings import Ends
from evenhand.display.text.language import _

NONE_RIGHT = (
    "No prediction is a true label of its row. If the two are different kinds of labels, accuracies and "
    "odds say nothing here: read the effect sizes. If not, are rows shifted, or labels exchanged?"
)
LEFT_OUT = "Left out: "
"""What a check on rows that were left out begins with."""
_TYPE = " type: "  # what stands before the options that a warning tells to type
NOT_TESTED = "Not tested."
"""The certainty of what has no p."""
CAVEAT = "Associations, not causes; whether they harm is a question of context."
OTHER_ITEMS = "Chance means other words and photos of the same kind, not other concepts."
"""What the null of a test over two samples, targets and attributes, is about."""


@dataclass(frozen=True)
class Mark:
    """A group, phrase or pair in a chart.

    Attributes:
        label: Its name.
        value: Where its dot stands.
        text: Its counts, such as ``33 of 99``; empty where it has none.
        interval: Of the value; None: it has none.
        null: What chance alone gives; None: nothing says.
        named: Whether the headline is about it.
        beyond: Whether it is beyond chance by a test that is corrected for the others of the run. One rule of
            ink on pages, in terminals and notebooks: only such a mark is filled and coloured.
    """

    label: str
    value: float
    text: str = ""
    interval: Ends | None = None
    null: Ends | None = None
    named: bool = False
    beyond: bool = False

    @property
    def inside(self) -> bool:
        """Whether it lies inside its null band; not where nothing says what chance gives."""
        return self.null is not None and self.null[0] <= self.value <= self.null[1]


@dataclass(frozen=True)
class Chart:
    """One picture of the very thing that a headline is about.

    Attributes:
        title: What it shows.
        marks: Its rows, in the order in which they are drawn.
        null: What the grey band is; empty: marks have none.
        unit: ``share`` is written in per cent on an axis from 0; others as numbers.
        fair: Where groups that are treated alike stand; None: nowhere.
        note: A line below it.
        dots: The items behind a mark, by its label: drawn small in its row; empty: none are known.
    """

    title: str
    marks: tuple[Mark, ...]
    null: str = ""
    unit: Literal["share", "share difference", "number"] = "share"
    fair: float | None = None
    note: str = ""
    dots: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)

    @property
    def band(self) -> str:
        """What the grey band is; of one mark alone, where a mark that is not beyond chance lies outside."""
        outside = any(mark.null and not mark.inside and not mark.beyond for mark in self.marks)
        return f"{self.null}{_(', in a single comparison')}" if self.null and outside else self.null


@dataclass(frozen=True)
class Headline:
    """One thing that was measured, said with counts.

    Attributes:
        text: The headline, at most 20 words: who, what, how often, and how often elsewhere.
        sentence: The same in full.
        size: How much, with an interval.
        chance: What chance alone would give; empty: nothing says.
        certainty: p, corrected where it is, and for how many.
        by: The grouping.
        beyond: Whether chance alone does not explain it.
        weight: What orders headlines of several groupings, the largest first.
        chart: The picture; None where there is nothing to draw.
        steps: What to do next, at most three sentences.
        rows: Column to value of the rows behind it, in the words of the user's table; ``!`` before a value:
            any other one. Empty where no rows are behind it.
        metric: The finding that it is from, as ``findings.json`` calls it.
        cases: How many rows are behind it; 0 where ``rows`` is empty.
        mistakes: Of rates whose mistakes others share: how many the less accurate side has.
        scope: What tells it from others of its metric and grouping, such as ``k 10``; empty: nothing has to.
        group: The group that is worse off; empty: none is, or nothing says which.
        remark: How much of it other things explain; empty: nothing says.
        name: What others that share rows with it call it; empty: none does.
        shared: How many of its rows others have, too, by their name.
    """

    text: str
    sentence: str
    size: str
    chance: str
    certainty: str
    by: str
    beyond: bool
    metric: str
    weight: tuple[float, ...] = ()
    chart: Chart | None = None
    steps: tuple[str, ...] = ()
    rows: Mapping[str, str] = field(default_factory=dict)
    cases: float = 0.0
    mistakes: float = 0.0
    scope: str = ""
    group: str = ""
    remark: str = ""
    name: str = ""
    shared: Mapping[str, float] = field(default_factory=dict)

    @property
    def sureness(self) -> str:
        """How sure, and how much of it other things explain."""
        return f"{self.certainty} {self.remark}".rstrip()


@dataclass(frozen=True)
class Overview:
    """The first lines of a run.

    Attributes:
        title: The headline of the run, counts first; without anything beyond chance it says so.
        lead: The same in full.
        kicker: How many things differ, by what, of how many rows; of a benchmark, what was asked of which
            model.
        headlines: Those beyond chance, what matters most first; where there is none, the largest that
            chance can explain.
        silent: Sentences on groupings and questions where nothing is beyond chance, without the lead; and
            how often a model is right at all.
        checks: What to look into before relying on it: warnings about the data, rows left out.
        caveat: What no number here can show.
    """

    title: str
    lead: str
    kicker: str
    headlines: tuple[Headline, ...]
    silent: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    caveat: str = CAVEAT

    @property
    def beyond(self) -> tuple[Headline, ...]:
        """The headlines that chance alone does not explain."""
        return tuple(headline for headline in self.headlines if headline.beyond)


def with_command(check: str) -> tuple[str, str]:
    """A check up to the options to type, and these; empty where there are none."""
    before = _(_TYPE)
    sentence, sign, command = check.partition(f"{before}--")
    return (f"{sentence}{before}".rstrip(), f"--{command}") if sign else (check, "")
