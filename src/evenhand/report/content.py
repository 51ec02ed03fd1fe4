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
    """A table of a benchmark, and how it is drawn."""

    name: str  # such as ``skewsize/table1``
    title: str
    table: polars.DataFrame  # tidy; the paper's own rows have ``source`` = ``paper``
    figures: Sequence[Figure] = ()  # one under the other; none: as a table
    notes: Sequence[str] = ()  # lines under it
    own: bool = False  # whether it shows a user's own data, beside which the paper's rows do not belong


@dataclass(frozen=True)
class NotFilled:
    """A table or figure of the paper that a run cannot fill."""

    name: str  # such as ``skewsize/table1``
    title: str
    reason: str  # why, and what to type


@dataclass(frozen=True)
class ReportInput:
    """The content of a run folder.

    ``evidence`` is what findings rest on: cells of counts (``truth``, attributes, ``prediction``, ``n``), or
    rows of samples; ``weighted_rows`` has the rows in cells of weighted counts, as weights say nothing of
    whether a cell is small. ``cases`` are the rows behind the first headlines, by their numbers from ``1``;
    they are empty where small cells are hidden. ``pictures`` gives thumbnails by sample, as ``data:``
    addresses; None shows no picture, nor those that tables hold. Both may show people.
    """

    findings: Findings
    manifest: Mapping[str, Any] = field(default_factory=dict)  # any key may be missing
    tables: Mapping[str, polars.DataFrame] = field(default_factory=dict)  # tidy, by name
    evidence: Mapping[str, polars.DataFrame] = field(default_factory=dict)
    fewest: int = 0  # cells of fewer rows are hidden; 0 hides nothing
    drawn: Sequence[DrawnTable] = ()
    missing: Sequence[NotFilled] = ()  # those that the run cannot fill
    cases: Mapping[str, polars.DataFrame] = field(default_factory=dict)
    pictures: Callable[[Sequence[str]], Mapping[str, str]] | None = None
    weighted_rows: Mapping[str, polars.DataFrame] = field(default_factory=dict)
