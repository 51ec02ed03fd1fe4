"""Findings without what is hidden, and which cells beside them may be shown."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evenhand.core.findings import Dropped, Finding, GroupSize, NewDetails, Part
from evenhand.display.text.formatting import key_text
from evenhand.report.suppression.counts import MISTAKES, Cells, SmallCells
from evenhand.report.suppression.details import (
    COUNTS,
    NO_TEST,
    OF_INTERVAL,
    UNITS,
    apart,
    card_of,
    chosen,
    compared,
    few_people,
    of_few_images,
    plain_details,
    pooled,
    shown_details,
    single_sample,
    sub_cells,
    tells_flips,
    units_apart,
    without_few_units,
    without_flips,
)
from evenhand.report.suppression.values import (
    OF_ANSWERS,
    OF_CELLS,
    OF_CLASSES,
    OF_EFFECTS,
    HiddenValues,
    Shown,
    aggregate_hidden,
    grouped_cells,
)
from evenhand.report.suppression.weighted import by_rows

if TYPE_CHECKING:
    import polars

__all__ = ["COUNTS", "REASON", "HiddenFindings"]

REASON = "suppressed"

_MOST_CELLS = 20_000  # cells that are protected one by one; of more, none are shown
_CLASS_PARTS = (*OF_CLASSES, OF_ANSWERS, "shares")
_WITHOUT: Mapping[str, None] = {"value": None, **NO_TEST}

_Grouping = tuple[str, tuple[str, ...]]


class HiddenFindings:
    """What is hidden of a run's findings, and of the cells of counts that they rest on."""

    def __init__(
        self,
        findings: Sequence[Finding],
        fewest: int,  # rows that a cell needs to be shown
        rows: float | None,  # of the run; None where it does not say
        tables: Mapping[str, polars.DataFrame],  # counts with ``truth``, ``prediction``; others are ignored
        weighted_rows: Mapping[str, polars.DataFrame],  # rows of the cells of weighted counts
        refused: Collection[tuple[str, ...]] = (),  # not shown, because of what others show
    ) -> None:
        every_finding, self.refused = findings, set(refused)
        findings = [finding for finding in every_finding if tuple(finding.by) not in self.refused]
        self._own = findings
        self._by_rows = by_rows(findings, weighted_rows)
        tables = {**tables, **weighted_rows}
        self._fewest = fewest
        groupings = list(dict.fromkeys(tuple(finding.by) for finding in findings if finding.by))
        self._all: dict[_Grouping, Cells] = {
            (name, by): grouped_cells(table, by)
            for name, table in tables.items()
            for by in groupings
            if {"truth", "prediction", "n", *by} <= set(table.columns)
        }
        self.cells = self._offered(groupings)  # that may be shown, as far as ``small`` does not hide them
        self.small = self._settled(self._by_rows, rows)  # what counts are hidden
        self._values = {
            by: self._values_of(by) for by in {(_raw(finding), tuple(finding.by)) for finding in findings}
        }
        self._few_people = {
            (index, part.kind)
            for index, finding in enumerate(self._own)
            for part in finding.parts
            if few_people(part, fewest)
        }
        self._few_units = (UNITS,) if units_apart(findings, fewest) else ()
        self._hidden_mistakes: dict[tuple[bool, tuple[str, ...]], bool] = {}
        self._people = not self._few_people and not any(few_people(finding, fewest) for finding in findings)
        self._lost = [
            [self._part_lost(index, finding, number) for number in range(len(finding.parts))]
            for index, finding in enumerate(self._own)
        ]
        self.shown = [self._finding(index, finding) for index, finding in enumerate(self._own)]
        self.changed = bool(self.refused) or self.small.any_hidden or self.shown != self._own
        rest = iter(self.shown)
        self.findings = [  # what is shown, in the order given
            self._blank(finding) if tuple(finding.by) in self.refused else next(rest)
            for finding in every_finding
        ]

    @property
    def rows_tell(self) -> bool:
        """Whether the number of all rows would tell how many were left out."""
        left_out = (
            self.small.hidden(index, "dropped", number)
            for index, finding in enumerate(self._own)
            for number in range(len(finding.dropped))
        )
        return self.small.rows_hidden or any(left_out)

    @property
    def shown_cells(self) -> dict[_Grouping, Cells]:
        """Cells with their counts, without those that are hidden."""
        return {
            (name, by): {cell: n for cell, n in cells.items() if not self.small.cell_hidden(name, by, *cell)}
            for (name, by), cells in self.cells.items()
        }

    @property
    def touched(self) -> set[tuple[str, ...]]:
        """Groupings of which the value, the rows or a group of a finding is hidden."""
        pairs = zip(self.shown, self._own, strict=True)
        return self.refused | {
            tuple(old.by)
            for new, old in pairs
            if (new.value, new.n, new.groups, new.dropped) != (old.value, old.n, old.groups, old.dropped)
        }

    def of_same_rows(self, rows: float | None) -> bool:
        """Whether all models of a comparison answered the same rows; else their order tells of a few."""
        pairs = [finding for finding in self._own if compared(finding)]
        first = [finding for finding in pairs if finding.by == pairs[0].by]
        return not self.rows_tell and all(finding.n == rows for finding in first)

    def _offered(self, groupings: Sequence[tuple[str, ...]]) -> dict[_Grouping, Cells]:
        """Cells of groupings that hold no coarser one; none where they are too many."""
        coarsest = [by for by in groupings if not any(set(other) < set(by) for other in groupings)]
        over_all = any(
            not finding.by and part.kind == "class" for finding in self._own for part in finding.parts
        )
        offered = {key: cells for key, cells in self._all.items() if key[1] in coarsest and not over_all}
        return offered if sum(map(len, offered.values())) <= _MOST_CELLS else {}

    def _settled(self, findings: Sequence[Finding], rows: float | None) -> SmallCells:
        """What is hidden, after leaving out the cells of classes that cannot be protected; all if need be."""
        untold: set[tuple[str, str]] = set()
        while self.cells:
            small = SmallCells(findings, self._fewest, rows, self.cells, untold)
            if small.exposed or small.unprotected & untold:
                break
            if not small.unprotected:
                self.cells = {
                    key: {cell: n for cell, n in cells.items() if (key[0], cell[0]) not in untold}
                    for key, cells in self.cells.items()
                }
                return small
            untold |= small.unprotected
        self.cells = {}
        return SmallCells(findings, self._fewest, rows)

    def _values_of(self, grouping: tuple[bool, tuple[str, ...]]) -> HiddenValues:
        raw, by = grouping
        for (name, table_by), cells in self._all.items():
            if table_by == by and name.endswith("_raw") == raw:
                return HiddenValues(cells, self._shown_in(name, by), self._fewest)
        return HiddenValues(None, None, self._fewest)

    def _shown_in(self, name: str, by: tuple[str, ...]) -> Shown | None:
        """Which cells are shown; of a grouping whose own are not, where the class is whole in all others."""
        if (name, by) in self.cells:
            return lambda truth, group, answer: not self.small.cell_hidden(name, by, truth, group, answer)
        others = [(other_by, cells) for (other, other_by), cells in self.cells.items() if other == name]
        if not others:
            return None
        broken = {
            cell[0]
            for other_by, cells in others
            for cell in cells
            if self.small.cell_hidden(name, other_by, *cell)
        }
        return lambda truth, group, answer: truth not in broken

    def _part_lost(self, index: int, finding: Finding, number: int) -> bool:
        """Whether the value of a part is hidden."""
        part = finding.parts[number]
        if self._mistakes_hidden(finding):
            return True
        if self.small.hidden(index, "part", number) or self.small.hidden(index, "n"):
            return True
        # The few people of one part are all of them minus those of the other parts.
        if (index, part.kind) in self._few_people or of_few_images(finding) or self._gap_hidden(index, part):
            return True
        values = self._values[_raw(finding), tuple(finding.by)]
        if compared(finding) and (apart(finding) or part.kind == "class" or _of_cells(finding)):
            return values.mixes or apart(finding)
        if finding.card.made_of in _CLASS_PARTS and part.kind == "class":
            return self._group_hidden(index) or values.part(finding, key_text(part.key))
        return part.kind == "class*group" and values.whole(finding)

    def _mistakes_hidden(self, finding: Finding) -> bool:
        """Whether these are counts of mistakes and hidden: unless each cell that they sum up is shown."""
        if finding.card.made_of != MISTAKES:
            return False
        key = (_raw(finding), tuple(finding.by))
        if key not in self._hidden_mistakes:
            raw, by = key
            tables = [cells for cells in self.cells if cells[1] == by and cells[0].endswith("_raw") == raw]
            is_shown = any(map(self._all_shown, tables))
            self._hidden_mistakes[key] = self.small.any_hidden or not self._people or not is_shown
        return self._hidden_mistakes[key]

    def _all_shown(self, key: _Grouping) -> bool:
        """Whether every cell of a table is shown."""
        cells, (table, by) = self.cells[key], key
        hidden = any(
            self.small.cell_hidden(table, by, truth, group, prediction) for truth, group, prediction in cells
        )
        return len(cells) == len(self._all[key]) and not hidden

    def _gap_hidden(self, index: int, part: Part) -> bool:
        """Whether a part is a gap of two rates of which one is hidden, or of how many rows nobody says."""
        numbers = sub_cells(self._own[index], part)
        return numbers is not None and (
            not numbers or any(self.small.hidden(index, "part", number) for number in numbers)
        )

    def _group_hidden(self, index: int) -> bool:
        return any(
            self.small.hidden(index, "group", number) for number in range(len(self._own[index].groups))
        )

    def _value_lost(self, index: int, finding: Finding) -> bool:
        """Whether a finding's own value is hidden."""
        if (
            self._mistakes_hidden(finding)
            or self.small.hidden(index, "n")
            or few_people(finding, self._fewest)
        ):
            return True
        if compared(finding) and card_of(finding).made_of == "right rows":
            return False
        of_rows = not _of_cells(finding) and not of_few_images(finding) and not apart(finding)
        if of_rows and pooled(finding):
            return False
        values = self._values[_raw(finding), tuple(finding.by)]
        unknown = compared(finding) and (
            (bool(finding.by) and apart(finding)) or (_of_cells(finding) and values.mixes)
        )
        return unknown or self._group_hidden(index) or values.whole(finding) or self._parts_tell(index)

    def _parts_tell(self, index: int) -> bool:
        """Whether a finding's value would tell of its hidden parts."""
        finding, lost = self._own[index], self._lost[index]
        if finding.card.made_of in OF_EFFECTS:
            return self._aggregate_lost(finding)
        if finding.card.made_of in _CLASS_PARTS and any(lost):
            return aggregate_hidden(finding, [part.value for part in finding.parts], lost)
        # A gap of all rows is none of the gaps of its parts, nor their mean.
        return any(
            gone and not self._gap_hidden(index, part)
            for part, gone in zip(finding.parts, lost, strict=True)
            if not single_sample(part)
        )

    def _aggregate_lost(self, finding: Finding) -> bool:
        """The same for a mean, median or maximum: its classes are those of the effect sizes beside it."""
        for index, other in enumerate(self._own):
            same = (other.by, other.benchmark, other.model, _raw(other)) == (
                finding.by,
                finding.benchmark,
                finding.model,
                _raw(finding),
            )
            if same and other.card.made_of == "effects of classes":
                values = [part.value for part in other.parts]
                return aggregate_hidden(finding, values, self._lost[index])
        return False

    def _blank(self, finding: Finding) -> Finding:
        """A finding of a refused grouping."""
        nothing: dict[str, Any] = {"parts": [], "groups": [], "dropped": [], "notes": [], "contrasts": []}
        return finding.model_copy(
            update={**_WITHOUT, **nothing, "details": {}, "n": float(-self._fewest), "reason": REASON}
        )

    def _finding(self, index: int, finding: Finding) -> Finding:
        small, lost = self.small, self._value_lost(index, finding)
        groups = [
            GroupSize(key=group.key, n=self._count(group.n, small.hidden(index, "group", number)))
            for number, group in enumerate(finding.groups)
        ]
        parts = [
            self._part(index, finding, number)
            for number, part in enumerate(finding.parts)
            if not single_sample(part)
            and not self._mistakes_hidden(finding)
            and not (lost and chosen(finding))
        ]
        dropped = [
            Dropped(
                reason=left_out.reason,
                count=self._count(left_out.count, small.hidden(index, "dropped", number)),
            )
            for number, left_out in enumerate(finding.dropped)
        ]
        changed: dict[str, Any] = {
            "n": self._count(finding.n, small.hidden(index, "n")),
            "groups": groups,
            "parts": parts,
            "dropped": dropped,
            "details": self._details(finding, finding),
        }
        if lost and (finding.value is not None or small.hidden(index, "n")):
            changed |= {**_WITHOUT, "reason": REASON}
        elif tells_flips(finding, self._fewest):
            changed |= NO_TEST
            changed["details"] = {
                key: value for key, value in changed["details"].items() if key not in OF_INTERVAL
            }
        elif any(self._lost[index]) and pooled(finding):
            changed |= {key: None for key in _WITHOUT if key not in ("value", "interval")}
        if lost or any(self._lost[index]):
            details = plain_details(finding.details, rates=not lost and compared(finding))
            changed |= {"details": details, "notes": [], "contrasts": []}
        elif (groups, dropped) != (finding.groups, finding.dropped):
            changed["notes"] = [note for note in finding.notes if not any(map(str.isdigit, note))]
        return finding.model_copy(update=changed)

    def _part(self, index: int, finding: Finding, number: int) -> Part:
        part = finding.parts[number]
        if not self._lost[index][number]:
            if compared(finding):
                return part.model_copy(update=without_flips(part, self._fewest))
            changed: dict[str, Any] = {"details": self._details(finding, part)}
            if part.kind == "group" and self._values[_raw(finding), tuple(finding.by)].mixes:
                changed |= dict.fromkeys(("null", "chance_at", "p_value", "p_adjusted"))
            return part.model_copy(update=changed)
        details: NewDetails = {}
        is_shown = not self.small.hidden(index, "part", number) and not self.small.hidden(index, "n")
        if is_shown and not compared(finding):  # a class that is shown: only what its small cells decide goes
            details = {name: value for name, value in part.details.items() if name == "accuracy"}
        n = self._count(part.n, self.small.hidden(index, "part", number))
        if part.value is None and part.reason and not self.small.hidden(index, "part", number):
            return part.model_copy(update={"details": details})
        return part.model_copy(update={**_WITHOUT, "reason": REASON, "details": details, "n": n})

    def _details(self, finding: Finding, holder: Finding | Part) -> NewDetails:
        """Details of a finding or of a part that is shown."""
        if self._mistakes_hidden(finding):
            return {}
        if finding.card.made_of == MISTAKES:
            return without_few_units(holder.details, self._fewest, self._few_units)
        return shown_details(holder.details, self._fewest, people=self._people, without=self._few_units)

    def _count(self, n: float, hidden: bool) -> float:
        return float(-self._fewest) if hidden else n


def _raw(finding: Finding) -> bool:
    return finding.params.get("answers") == "raw"


def _of_cells(finding: Finding) -> bool:
    """Whether values are made of single cells of classes and groups."""
    return card_of(finding).made_of in (*_CLASS_PARTS, *OF_EFFECTS, *OF_CELLS)
