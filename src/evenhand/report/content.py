"""What a report is made from: the content of a run folder, already read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars

    from evenhand.core.figure import Figure
    from evenhand.core.findings import Findings


@dataclass(frozen=True, eq=False)
class DrawnTable:
    """A table of a benchmark, and how it is drawn.

    Attributes:
        name: Such as ``skewsize/table1``.
        title: What it shows.
        table: Tidy; the paper's own rows have ``source`` = ``paper``.
        figures: One under the other; none: as a table.
        notes: Lines under it.
        own: Whether it shows a user's own data, beside which the paper's rows do not belong.
    """

    name: str
    title: str
    table: polars.DataFrame
    figures: Sequence[Figure] = ()
    notes: Sequence[str] = ()
    own: bool = False


@dataclass(frozen=True)
class NotFilled:
    """A table or figure of the paper that a run cannot fill.

    Attributes:
        name: Such as ``skewsize/table1``.
        title: What it would show.
        reason: Why, and what to type.
    """

    name: str
    title: str
    reason: str


@dataclass(frozen=True)
class ReportInput:
    """The content of a run folder.

    Attributes:
        findings: What the metrics found.
        manifest: How the run was made; any key may be missing.
        tables: Tidy tables by name, which are only listed.
        evidence: What the findings rest on, by name: cells of counts (``truth``, attributes, ``prediction``,
            ``n``), or rows of samples with their attributes.
        weighted_rows: How many rows the cells of weighted counts have, by the names of ``evidence``: weights
            say nothing of whether a cell is small.
        fewest: Cells of fewer rows are hidden; 0 hides nothing.
        drawn: The benchmark's tables and figures.
        missing: Those that the run cannot fill.
        pictures: Gives thumbnails of samples, as ``data:`` addresses by sample; None shows no picture, nor
            those that tables hold, because they may show people.
        cases: The rows behind the first headlines, by their numbers: ``1`` for the first. They may be about
            people; empty in a report that hides small cells.
    """

    findings: Findings
    manifest: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, polars.DataFrame] = field(default_factory=dict)
    evidence: Mapping[str, polars.DataFrame] = field(default_factory=dict)
    fewest: int = 0
    drawn: Sequence[DrawnTable] = ()
    missing: Sequence[NotFilled] = ()
    cases: Mapping[str, polars.DataFrame] = field(default_factory=dict)
    pictures: Callable[[Sequence[str]], Mapping[str, str]] | None = None
    weighted_rows: Mapping[str, polars.DataFrame] = field(default_factory=dict)
