"""Which counts of a run are too small to show, and which must be hidden beside them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations, pairwise

from evenhand.core.findings import Finding, Key
from evenhand.report.suppression.complementary import MarginSums
from evenhand.report.suppression.details import compared

Cell = frozenset[tuple[str, str]]
"""What a count is of: values by axis; nothing: all usable rows."""

Group = tuple[str, ...]
"""A value for each attribute of a grouping: labels are never joined, whatever stands in them."""

CellKey = tuple[str, Group, str]
Cells = Mapping[CellKey, float]
"""Rows by truth, group and prediction."""

MISTAKES = "mistakes"
"""What findings are made of whose parts count a few rows, in and outside of a group."""

_Scope = tuple[str, str, str]
_SPLIT = {"all": ("single", "two_person"), "two_person": ("same", "different")}  # settings made of others
_ALIKE = 1e-6
_OURS = ("class", "prediction", "words", "right", "left out")
_ALL: Cell = frozenset()


class SmallCells:
    """The counts that a report shows, tied by all sums that hold among them, and which of them are hidden.

    Counts of the same thing are one entry where they are equal. Where a count and the parts of it differ by
    fewer than ``fewest`` rows, the difference is an entry as well, which nobody shows: the rows that only one
    of the two rests on, such as those without an annotation.
    """

    def __init__(
        self,
        findings: Sequence[Finding],
        fewest: int,  # rows that a cell needs to be shown
        rows: float | None = None,  # of the run; None where it does not say
        cells: Mapping[tuple[str, tuple[str, ...]], Cells] | None = None,  # by table and grouping
        untold: Collection[tuple[str, str]] = (),  # table, truth: no cell is shown; secrets all the same
    ) -> None:
        self._untold = set(untold)
        self._sums = MarginSums(fewest)
        self._fewest = fewest
        self._known: dict[_Scope, dict[tuple[str, ...], dict[Cell, dict[float, int]]]] = {}
        self._lists: dict[tuple[_Scope, tuple[str, ...], frozenset[tuple[Cell, int]]], None] = {}
        self._tied: set[tuple[int, ...]] = set()
        self._places: dict[tuple[int, str, int], int] = {}
        self._inside: dict[tuple[str, tuple[str, ...], str, Group, str], int] = {}
        for index, finding in enumerate(findings):
            self._add(index, finding)
        scope = _scope(findings[0]) if findings else ("", "", "")
        self._rows = None if rows is None else self._entry(scope, _ALL, rows)
        self._add_left_out(findings)
        self._tie_all()
        if cells:  # what findings show is settled by itself: cells give way to it
            self._sums.keep()
            for (table, by), table_cells in cells.items():
                self._add_cells(scope, table, by, table_cells)
            self._tie_all()

    @property
    def rows_hidden(self) -> bool:
        """Whether the number of rows of the run is hidden."""
        return self._rows is not None and self._rows in self._sums.hidden

    @property
    def any_hidden(self) -> bool:
        """Whether a count of a finding is hidden."""
        return self.rows_hidden or any(entry in self._sums.hidden for entry in self._places.values())

    @property
    def unprotected(self) -> set[tuple[str, str]]:
        """Tables and truths with a cell that could not be protected; they must not be shown."""
        return {(key[0], key[2]) for key, entry in self._inside.items() if entry in self._sums.open}

    @property
    def exposed(self) -> bool:
        """Whether something else follows from the cells, so that none of them may be shown."""
        return bool(self._sums.open - set(self._inside.values()))

    def hidden(self, finding: int, what: str, number: int = 0) -> bool:
        """Whether a count of a finding is hidden: ``what`` is ``n``, ``group``, ``part`` or ``dropped``.

        A finding is its place in the list; ``number`` is that of the group, part or reason.
        """
        entry = self._places.get((finding, what, number))
        return entry is not None and entry in self._sums.hidden

    def cell_hidden(
        self, table: str, by: Sequence[str], truth: str, group: Group, prediction: str = ""
    ) -> bool:
        """Whether a cell is hidden; with an empty prediction, all rows of a truth and group."""
        entry = self._inside.get((table, tuple(by), truth, group, prediction))
        return entry is None or entry in self._sums.hidden

    def _entry(
        self, scope: _Scope, cell: Cell, n: float, *, is_shown: bool = True, public: bool = False
    ) -> int:
        axes = tuple(sorted(axis for axis, _ in cell))
        same = self._known.setdefault(scope, {}).setdefault(axes, {}).setdefault(cell, {})
        key = round(float(n), 6)
        if key not in same:
            same[key] = self._sums.add(n, is_shown=is_shown, public=public)
        if is_shown:
            self._sums.seen(same[key])
        return same[key]

    def _list(self, scope: _Scope, entries: Mapping[Cell, int]) -> None:
        """Counts of one kind, such as all groups, that may add up to others."""
        if entries:
            axes = tuple(sorted(axis for axis, _ in next(iter(entries))))
            self._lists[scope, axes, frozenset(entries.items())] = None

    def _add(self, index: int, finding: Finding) -> None:
        """The counts that a finding shows."""
        scope = _scope(finding)
        self._places[index, "n", 0] = self._entry(scope, _ALL, finding.n)
        entries_by_axes: dict[tuple[str, tuple[str, ...]], dict[Cell, int]] = {}
        for what, number, cell, n in _counted(finding):
            entry = self._entry(scope, cell, n)
            self._places[index, what, number] = entry
            axes = tuple(sorted(axis for axis, _ in cell))
            entries_by_axes.setdefault((what, axes), {})[cell] = entry
        for entries in entries_by_axes.values():
            self._list(scope, entries)
        right = ("right", _answer(finding.params.get("answers") == "raw"))
        for cell, entry, n in self._right(index, finding):
            self._sums.goes_with(self._entry(scope, cell | {right}, n, public=True), entry)

    def _right(self, index: int, finding: Finding) -> Iterator[tuple[Cell, int, float]]:
        """The right rows that accuracies tell: of all rows, of groups, of classes."""
        rates = finding.card.made_of == "right rows"
        if finding.card.made_of == MISTAKES:
            return
        if rates and finding.value is not None:
            yield _ALL, self._places[index, "n", 0], finding.value * finding.n
        for number, part in enumerate(finding.parts):
            accuracy = part.value if rates else part.details.get("accuracy")
            if isinstance(accuracy, int | float):
                entry = self._places[index, "part", number]
                yield _cell(finding, part.kind, part.key), entry, accuracy * part.n

    def _add_left_out(self, findings: Sequence[Finding]) -> None:
        """Rows that were left out of a finding: with those that were used, they are all rows."""
        for index, finding in enumerate(findings):
            scope = _scope(finding)
            counts = {
                number: left_out.count
                for number, left_out in enumerate(finding.dropped)
                if not left_out.reason.startswith("class:")
            }
            entries = []
            for number, n in counts.items():
                cell = frozenset({("left out", finding.dropped[number].reason)})
                entry = self._entry(scope, cell, n)
                self._places[index, "dropped", number] = entry
                entries.append(entry)
            used = self._places[index, "n", 0]
            n_rows = finding.n + sum(counts.values())
            total = self._known[scope][()][_ALL].get(round(n_rows, 6))
            if entries and total is not None:
                self._sums.relate(total, [used, *entries])

    def _add_cells(self, scope: _Scope, table: str, by: tuple[str, ...], cells: Cells) -> None:
        """Cells of truth, group and prediction with their sums over each of the three."""
        answer = _answer(table.endswith("_raw"))
        rows: dict[tuple[str, Group], float] = {}
        columns: dict[tuple[str, str], float] = {}
        inner, right = {}, {}
        for (truth, group, prediction), n in cells.items():
            rows[truth, group] = rows.get((truth, group), 0.0) + n
            columns[truth, prediction] = columns.get((truth, prediction), 0.0) + n
            cell = _inside(by, truth, group) | {(answer, prediction)}
            entry = inner[cell] = self._entry(scope, cell, n, is_shown=(table, truth) not in self._untold)
            self._inside[table, by, truth, group, prediction] = entry
            if truth == prediction:
                right[_inside(by, truth, group) | {("right", answer)}] = entry
        outer = {}
        for (truth, group), n in rows.items():
            cell = _inside(by, truth, group)
            entry = self._entry(scope, cell, n, is_shown=(table, truth) not in self._untold)
            self._inside[table, by, truth, group, ""] = outer[cell] = entry
        between = {
            frozenset({("class", truth), (answer, prediction)}): self._entry(
                scope, frozenset({("class", truth), (answer, prediction)}), n, is_shown=False, public=True
            )
            for (truth, prediction), n in columns.items()
        }
        for entries in (inner, right, outer, between):
            self._list(scope, entries)

    def _tie_all(self) -> None:
        """Find all sums, and hide what they ask for."""
        self._tie_lists()
        self._tie_alike()
        self._tie_settings()
        self._sums.settle()

    def _tie_lists(self) -> None:
        """Every list with everything coarser that it may add up to."""
        for scope, axes, entries in self._lists:
            for size in range(len(axes)):
                for coarser in combinations(axes, size):
                    totals = self._known[scope].get(coarser)
                    if totals and ("right" in coarser) == ("right" in axes):
                        self._tie(totals, coarser, entries)

    def _tie(
        self,
        totals: Mapping[Cell, Mapping[float, int]],
        coarser: Sequence[str],
        entries: frozenset[tuple[Cell, int]],
    ) -> None:
        under: dict[Cell, list[int]] = {}
        # a set has another order in each process
        for cell, entry in sorted(entries, key=lambda pair: pair[1]):
            above = frozenset(member for member in cell if member[0] in coarser)
            if above in totals:
                under.setdefault(above, []).append(entry)
        for above, parts in under.items():
            for total in totals[above].values():
                self._add_up(total, sorted(parts), public="right" in coarser)

    def _add_up(self, total: int, parts: Sequence[int], *, public: bool = False) -> None:
        """Tie parts to a total; a small rest is an entry that nobody shows, a large one leaves them free."""
        if (total, *parts) in self._tied:
            return
        self._tied.add((total, *parts))
        rest = self._sums.counts[total] - sum(self._sums.counts[part] for part in parts)
        if abs(rest) <= _ALIKE:
            self._sums.relate(total, parts)
        elif 0 < rest < self._fewest:
            self._sums.relate(total, [*parts, self._sums.add(rest, is_shown=False, public=public)])

    def _tie_alike(self) -> None:
        """Counts of one thing that differ by few rows, such as with and without those not annotated."""
        for kinds in self._known.values():
            for axes, cells in kinds.items():
                for same in cells.values():
                    ordered = [same[n] for n in sorted(same, reverse=True)]
                    for more, fewer in pairwise(ordered):
                        self._add_up(more, [fewer], public="right" in axes)

    def _tie_settings(self) -> None:
        """Images of all settings are those of one person and those of two."""
        for (benchmark, model, setting), kinds in self._known.items():
            parts = [self._known.get((benchmark, model, split), {}) for split in _SPLIT.get(setting, ())]
            for axes, cells in kinds.items():
                for cell, same in cells.items():
                    entries_by_part = [list(part.get(axes, {}).get(cell, {}).values()) for part in parts]
                    if entries_by_part and all(len(entries) == 1 for entries in entries_by_part):
                        for total in same.values():
                            self._add_up(
                                total, [entries[0] for entries in entries_by_part], public="right" in axes
                            )


def _scope(finding: Finding) -> _Scope:
    """What findings must share so that their counts may be of the same rows.

    Pairs of a comparison share theirs: where one has a few rows more than another, these are a count too.
    """
    setting = finding.params.get("setting") or finding.params.get("context") or ""
    model = "" if compared(finding) else finding.model or ""
    return finding.benchmark or "", model, str(setting)


def _answer(raw: bool) -> str:
    """The axis of predictions: labels, or words as they were said."""
    return "words" if raw else "prediction"


def _counted(finding: Finding) -> Iterator[tuple[str, int, Cell, float]]:
    """Groups and parts with what they are of."""
    kinds = {(values_of(part.key), part.n): part.kind for part in finding.parts}
    for number, group in enumerate(finding.groups):
        kind = "group" if finding.by else kinds.get((values_of(group.key), group.n), "group")
        yield "group", number, _cell(finding, kind, group.key), group.n
    if finding.card.made_of != MISTAKES:
        for number, part in enumerate(finding.parts):
            yield "part", number, _cell(finding, part.kind, part.key), part.n


def _cell(finding: Finding, kind: str, key: Key) -> Cell:
    """What a part is of: the kind's names are axes, and a group has those of the grouping."""
    names: list[str] = []
    for name in kind.split("*"):
        if name == "class" and finding.card.made_of == "effects of answers":
            names.append(_answer(finding.params.get("answers") == "raw"))  # what was predicted
        else:
            names += map(_axis, finding.by) if name == "group" and finding.by else [name]
    values = values_of(key)
    if len(names) != len(values):
        return frozenset({(kind, json.dumps(values))})
    return frozenset(zip(names, values, strict=True))


def _inside(by: Sequence[str], truth: str, group: Group) -> Cell:
    """The rows of a truth and a group; a group of several attributes is one value of each."""
    return frozenset({("class", truth), *zip(map(_axis, by), group, strict=True)})


def _axis(attribute: str) -> str:
    """The axis of an attribute; one that is called like an axis of ours is another one."""
    return f"attribute {attribute}" if attribute in _OURS else attribute


def values_of(key: Key) -> Group:
    """A key as a value for each of what it is of."""
    return (key,) if isinstance(key, str) else tuple(key)
