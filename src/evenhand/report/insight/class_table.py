"""How many rows of each class are wrong in each group, with the mistakes that are listed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.core.findings import Finding, Part
from evenhand.core.frames import grouped
from evenhand.core.significance import is_beyond
from evenhand.display.text.disparities import ELSEWHERE, share
from evenhand.display.text.formatting import count, key_text, of, p_value, quoted, short_label
from evenhand.display.text.language import _
from evenhand.report.chapters import Chapter
from evenhand.report.suppression.suppress import REASON
from evenhand.report.views.frames import PageData, add_sheet

if TYPE_CHECKING:
    import polars

MORE_CLASSES = 10
"""Classes without a listed mistake that the table shows; all are in the table behind it."""

_FEWEST = 10  # rows from which a share is written
_MOST_CELLS = 24_000  # of the table behind it
_LISTED = ("mistake", "miss")


@dataclass(frozen=True)
class Cell:
    """Wrong rows of a class in a group."""

    share: str  # in per cent; empty where there are too few rows for one
    counts: str  # wrong rows of all; a dash where there are none
    width: float  # of its bar, in per cent
    listed: bool  # whether a mistake of this class is listed for this group


@dataclass(frozen=True)
class Line:
    """A class."""

    label: str
    rows: str  # how many there are
    cells: Sequence[Cell]  # one for each group
    mistakes: Sequence[str]  # those that are listed
    p: str  # the smallest corrected p of these


@dataclass(frozen=True)
class ClassTable:
    """Classes by groups."""

    name: str  # of its sheet in the page's data
    groups: Sequence[str]
    lines: Sequence[Line]  # classes with a listed mistake, then those with the most wrong rows
    listed: int  # how many classes have a listed mistake
    classes: int  # how many there are
    hidden: bool  # whether it is hidden which mistakes are listed
    tested: bool  # whether mistakes were tested; those of rows with weights are not
    sheet_classes: int  # how many are in the page's data


@dataclass(frozen=True)
class _Sum:
    wrong: float = 0.0
    rows: float = 0.0
    hidden: bool = False

    def plus(self, n: float, *, right: bool) -> _Sum:
        """With the rows of a cell; a negative number is a hidden one."""
        if n < 0:
            return _Sum(self.wrong, self.rows, True)
        return _Sum(self.wrong + (0.0 if right else n), self.rows + n, self.hidden)


_Sums = Mapping[str, Mapping[str, _Sum]]
_NOTHING = _Sum()


def class_table(
    chapter: Chapter, data: PageData, evidence: Mapping[str, polars.DataFrame]
) -> ClassTable | None:
    """Wrong rows by class and group, from the counts that the findings rest on; ``data`` keeps the table.

    None where the grouping has no finding of mistakes, or nothing says what its cells are.
    """
    finding = next((finding for finding in chapter.findings if finding.card.first_line == "mistakes"), None)
    cells = _cells(chapter.by, evidence)
    if finding is None or cells is None or not chapter.by:
        return None
    sums = _sums(cells, chapter.by)
    groups = list(dict.fromkeys(group for of_class in sums.values() for group in of_class))
    groups.sort(key=_places([key_text(group.key) for group in finding.groups], groups).__getitem__)
    listed = _listed(finding) if is_beyond(finding, data.alpha) else {}
    ranked = [truth for truth in listed if truth in sums]
    by_wrong = sorted(sums, key=lambda truth: -sum(cell.wrong for cell in sums[truth].values()))
    rest = [truth for truth in by_wrong if truth not in listed]
    name = f"{chapter.id}-wrong"
    most = max(1, _MOST_CELLS // max(1, len(groups)))
    _add_sheet(data, name, [*ranked, *rest][:most], groups, sums)
    return ClassTable(
        name=name,
        groups=[short_label(group) for group in groups],
        lines=[
            _line(truth, groups, sums[truth], listed.get(truth, ()), len(chapter.by))
            for truth in [*ranked, *rest[:MORE_CLASSES]]
        ],
        listed=len(ranked),
        classes=len(sums),
        hidden=REASON in (finding.reason, *(part.reason for part in finding.parts)),
        tested=finding.reason != "weighted",
        sheet_classes=min(most, len(sums)),
    )


def _cells(by: Sequence[str], evidence: Mapping[str, polars.DataFrame]) -> polars.DataFrame | None:
    """The table that counts these groups, of several the one without other attributes."""
    needed = {"truth", "prediction", "n", *by}
    fitting = [table for table in evidence.values() if needed <= set(table.columns)]
    return min(fitting, key=lambda table: table.width, default=None)


def _sums(cells: polars.DataFrame, by: Sequence[str]) -> dict[str, dict[str, _Sum]]:
    """Wrong and all rows by class and group."""
    result: dict[str, dict[str, _Sum]] = {}
    columns = ["truth", "prediction", "n", *by]
    for truth, prediction, n, *values in cells.select(columns).drop_nulls().iter_rows():
        if n != 0:
            of_class = result.setdefault(str(truth), {})
            group = key_text([str(value) for value in values])
            of_class[group] = of_class.get(group, _NOTHING).plus(n, right=truth == prediction)
    return result


def _places(order: Sequence[str], groups: Sequence[str]) -> dict[str, int]:
    """Where each group stands: as the finding lists them, others after."""
    first = {group: index for index, group in enumerate(order)}
    return {group: first.get(group, len(first) + index) for index, group in enumerate(groups)}


def _listed(finding: Finding) -> dict[str, list[Part]]:
    """Listed mistakes by class, in the order of the finding; none where their numbers are hidden."""
    listed = [part for part in finding.parts if part.kind in _LISTED and part.value is not None]
    return grouped((part for part in listed if not isinstance(part.key, str)), lambda part: part.key[0])


def _line(
    truth: str, groups: Sequence[str], sums: Mapping[str, _Sum], parts: Sequence[Part], attributes: int
) -> Line:
    framed = {key_text(part.key[1 : 1 + attributes]) for part in parts}
    p_values = [part.p_adjusted for part in parts if part.p_adjusted is not None]
    is_hidden = any(cell.hidden for cell in sums.values())
    return Line(
        label=truth,
        rows=_("hidden") if is_hidden else count(sum(cell.rows for cell in sums.values())),
        cells=[_cell(sums.get(group, _NOTHING), listed=group in framed) for group in groups],
        mistakes=[_mistake(part, attributes) for part in parts],
        p=p_value(min(p_values)) if p_values else "",
    )


def _cell(cell: _Sum, *, listed: bool) -> Cell:
    if cell.hidden or not cell.rows:
        return Cell("", _("hidden") if cell.hidden else _("no rows"), 0.0, listed)
    rate = cell.wrong / cell.rows
    counts = of(cell.wrong, cell.rows)
    return Cell(share(rate) if cell.rows >= _FEWEST else "", counts, round(100 * rate, 1), listed)


def _mistake(part: Part, attributes: int) -> str:
    """A listed mistake with its counts: in which group, under which label."""
    group = short_label(key_text(part.key[1 : 1 + attributes]))
    label = _("wrong, under several labels")
    if part.kind == "mistake":
        label = _("called {label}", label=quoted(part.key[-1]))
    a, n, b, m = (float(str(part.details[name])) for name in ("a", "n", "b", "m"))
    text = f"{group}: {of(a, n)} {label}; {_(ELSEWHERE)} {of(b, m)}"
    return f"{text}, {_('which is less often')}" if part.details.get("direction") == "less" else text


def _add_sheet(data: PageData, name: str, classes: Sequence[str], groups: Sequence[str], sums: _Sums) -> None:
    """Keep every class in full: a line for each class and group that has rows."""
    rows = [
        (truth, group, cell)
        for truth in classes
        for group in groups
        if (cell := sums[truth].get(group)) is not None
    ]
    open_cells = [None if cell.hidden else cell for _, _, cell in rows]
    add_sheet(
        data,
        name,
        {
            "class": [truth for truth, _, _ in rows],
            "group": [group for _, group, _ in rows],
            "wrong": [cell.wrong if cell else None for cell in open_cells],
            "rows": [cell.rows if cell else None for cell in open_cells],
            "share wrong": [cell.wrong / cell.rows if cell else None for cell in open_cells],
        },
    )
