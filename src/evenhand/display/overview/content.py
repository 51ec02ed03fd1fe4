"""What the first screen of a report, the terminal and a notebook say of a run, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from evenhand.core.findings import Ends
from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement

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

    On pages, in terminals and notebooks only a mark that is ``beyond`` is filled and coloured.
    """

    label: str
    value: float
    text: str = ""  # its counts, such as ``33 of 99``; empty where it has none
    interval: Ends | None = None
    null: Ends | None = None  # what chance alone gives; None: nothing says
    named: bool = False  # the headline is about it
    beyond: bool = False  # beyond chance by a test that is corrected for the others of the run

    @property
    def inside(self) -> bool:
        """Whether it lies inside its null band; not where nothing says what chance gives."""
        return self.null is not None and self.null[0] <= self.value <= self.null[1]


@dataclass(frozen=True)
class Chart:
    """One picture of the very thing that a headline is about."""

    title: str
    marks: tuple[Mark, ...]  # in the order in which they are drawn
    null: str = ""  # what the grey band is; empty: marks have none
    unit: Literal["share", "share difference", "number"] = "share"  # ``share``: in per cent, axis from 0
    fair: float | None = None  # where groups that are treated alike stand; None: nowhere
    note: str = ""  # a line below it
    dots: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)  # by label; drawn small in its row

    @property
    def band(self) -> str:
        """What the grey band is; of one mark alone, where a mark that is not beyond chance lies outside."""
        outside = any(mark.null and not mark.inside and not mark.beyond for mark in self.marks)
        return f"{self.null}{_(', in a single comparison')}" if self.null and outside else self.null

    @property
    def reach(self) -> list[float]:
        """All values that an axis must hold: those of marks, the ends of their spans, and the fair one."""
        spans = [span for mark in self.marks for span in (mark.interval, mark.null) if span is not None]
        values = [*(mark.value for mark in self.marks), *(end for span in spans for end in span)]
        return values if self.fair is None else [*values, self.fair]

    def first(self, most: int) -> Chart:
        """The same with the marks that are named and the first others, in their order."""
        others = max(most - sum(mark.named for mark in self.marks), 0)
        unnamed = [mark for mark in self.marks if not mark.named][:others]
        return replace(self, marks=tuple(mark for mark in self.marks if mark.named or mark in unnamed))


@dataclass(frozen=True)
class Headline:
    """One thing that was measured, said with counts.

    ``rows`` are column to value of the rows behind it, in the words of the user's table; ``!`` before a
    value: any other one.
    """

    text: str  # at most 20 words: who, what, how often, and how often elsewhere
    sentence: str  # the same in full
    size: str  # how much, with an interval
    chance: str  # what chance alone would give; empty: nothing says
    certainty: str  # p, corrected where it is, and for how many
    by: str  # the grouping
    beyond: bool  # chance alone does not explain it
    metric: str  # as ``findings.json`` calls the finding that it is from
    weight: tuple[float, ...] = ()  # orders headlines of several groupings, the largest first
    chart: Chart | None = None  # None where there is nothing to draw
    steps: tuple[str, ...] = ()  # what to do next, at most three sentences
    rows: Mapping[str, str] = field(default_factory=dict)  # empty where no rows are behind it
    cases: float = 0.0  # how many rows are behind it; 0 where ``rows`` is empty
    mistakes: float = 0.0  # that others share: of a less accurate side, or outside of a group that is spared
    scope: str = ""  # sets it apart in its metric and grouping, such as ``k 10``; empty: nothing has to
    group: str = ""  # that is worse off; empty: none is, or nothing says which
    remark: str = ""  # how much of it other things explain; empty: nothing says
    name: str = ""  # what others that share rows with it call it; empty: none does
    shared: Mapping[str, float] = field(default_factory=dict)  # rows that others have, too, by their name

    @property
    def sureness(self) -> str:
        """How sure, and how much of it other things explain."""
        return Statement.joined((self.certainty, self.remark))


@dataclass(frozen=True)
class Overview:
    """The first lines of a run."""

    title: str  # the headline, counts first; without anything beyond chance it says so
    lead: str  # the same in full
    kicker: str  # what differs, by what, of how many rows; of a benchmark, what was asked of which model
    headlines: tuple[Headline, ...]  # beyond chance, what matters most first; else the largest within it
    silent: tuple[str, ...] = ()  # on what is not beyond chance, without the lead; how often a model is right
    checks: tuple[str, ...] = ()  # before relying on it: warnings about the data, rows left out
    caveat: str = CAVEAT  # what no number here can show

    @property
    def beyond(self) -> tuple[Headline, ...]:
        """The headlines that chance alone does not explain."""
        return tuple(headline for headline in self.headlines if headline.beyond)


def with_command(check: str) -> tuple[str, str]:
    """A check up to the options to type, and these; empty where there are none."""
    before = _(_TYPE)
    sentence, sign, command = check.partition(f"{before}--")
    return (f"{sentence}{before}".rstrip(), f"--{command}") if sign else (check, "")
