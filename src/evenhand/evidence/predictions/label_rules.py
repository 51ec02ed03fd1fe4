"""How labels are written: one form for spellings that mean the same, and rules that rename and merge."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from evenhand.core.errors import InputError, ParameterError, one_line
from evenhand.evidence.predictions.bins import Bins, BinsLike, make_bins
from evenhand.evidence.predictions.counts import LABEL_AXES, PLAIN_AXES, Counts
from evenhand.evidence.predictions.levels import CLUSTER, Axis, Label
from evenhand.files.tables import scan as sources

Changes: TypeAlias = dict[str, dict[str, str | None]]
_Levels: TypeAlias = dict[str, list[Label | None]]
MapLike: TypeAlias = Mapping[str, str] | str | Path | Sequence[str | Path]

_INVISIBLE = " \u200b\u2060\ufeff"  # what stands around a label unseen, beside the blanks of Unicode
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)", re.ASCII)


def folded(text: str) -> str:
    """The one form of a label: Unicode compatibility form, no surrounding space, no case, plain numbers.

    ``" Ａ "`` and ``a`` give ``a``; ``1``, ``01`` and ``1.0`` give ``1``; ``True`` gives ``true``. Signs that
    are not seen, such as a soft hyphen, are left out.
    """
    plain = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    if not plain.isascii():
        plain = "".join(letter for letter in plain if unicodedata.category(letter) != "Cf")
    plain = " ".join(plain.split())
    if _NUMBER.fullmatch(plain):
        number = f"{Decimal(plain):f}"  # all digits: Decimal.normalize() keeps 28
        number = number.rstrip("0").rstrip(".") if "." in number else number
        return "0" if number == "-0" else number
    return plain


@dataclass(frozen=True)
class Renaming:
    """One line of a map."""

    old: str  # the label as the table has it
    new: str | None  # None: it becomes missing
    column: str | None = None  # the only one, where it wins over one without; None: truth and predictions


@dataclass(frozen=True, eq=False)
class NormalizedCounts:
    """Counts after the rules."""

    counts: Counts  # under the new labels
    changes: Changes = field(default_factory=dict)  # by axis, old to new label; None is missing
    unused: tuple[Renaming, ...] = ()  # of labels that no row has
    unused_missing: tuple[str, ...] = ()  # texts for missing values that no row has
    raw: tuple[Axis, ...] = ()  # as counted, before the rules; empty where that is not known
    notes: tuple[str, ...] = ()  # what was left out before rows were counted


@dataclass(frozen=True)
class LabelRules:
    """What becomes of labels after counting: first the map, then missing texts, bins, and one spelling."""

    renamings: tuple[Renaming, ...] = ()
    normalize: bool = False  # whether labels of one folded form become its most frequent spelling
    missing: tuple[str, ...] = ()  # texts that are no label but a missing value
    bins: tuple[Bins, ...] = ()  # columns of groups whose numbers become ranges

    @classmethod
    def make(
        cls, map: MapLike | None = None, normalize: bool = False, missing: str | Iterable[str] = (),
        bins: BinsLike = (),
    ) -> LabelRules:  # fmt: skip
        """Rules as users give them.

        ``map`` is old to new labels; a CSV or TSV file with the columns ``old``, ``new`` and optionally
        ``column``; ``OLD=NEW``; or several of the last two.
        """
        if isinstance(map, Mapping):
            renamings = [Renaming(str(old), str(new)) for old, new in map.items()]
        else:
            entries = [map] if isinstance(map, str | Path) else list(map or ())
            renamings = [renaming for entry in entries for renaming in _read(entry)]
        seen: dict[tuple[str, str | None], str | None] = {}
        for renaming in renamings:
            if seen.setdefault((renaming.old, renaming.column), renaming.new) != renaming.new:
                raise ParameterError(f"the map renames {renaming.old!r} twice; keep one of the two")
        texts = [missing] if isinstance(missing, str) else list(missing)
        _check_writable([*texts, *(text for rule in renamings for text in (rule.old, rule.new or ""))])
        return cls(tuple(dict.fromkeys(renamings)), normalize, tuple(dict.fromkeys(texts)), make_bins(bins))

    def __bool__(self) -> bool:
        return bool(self.renamings or self.normalize or self.missing or self.bins)

    def settings(self) -> dict[str, Any]:
        """The rules for a manifest; empty where there are none."""
        renamed = [
            [renaming.old, renaming.new, *([renaming.column] if renaming.column else [])]
            for renaming in self.renamings
        ]
        every = {"map": renamed, "normalize": self.normalize, "missing": list(self.missing)}
        every |= {"bins": [bins.written for bins in self.bins]}
        return {name: value for name, value in every.items() if value}

    def apply(self, counts: Counts, columns: Mapping[str, str]) -> NormalizedCounts:
        """Counts under the new labels.

        ``columns`` maps each axis to the column of the user; an axis without one is called as its column.
        """
        if not self:
            return NormalizedCounts(counts)
        axes = [axis for axis in counts.axes if axis.name != "rank"]
        self._check_columns(columns, axes)
        used: set[Renaming | str] = set()
        new = {axis.name: self._renamed(axis, columns, used) for axis in axes}
        self._bin(counts, new)
        if self.normalize:
            self._merge(counts, new)
        _one_kind(axes, new)
        changes = {axis.name: _changed(axis, new[axis.name]) for axis in axes}
        unused = tuple(renaming for renaming in self.renamings if renaming not in used)
        # An empty cell of a text table is missing already.
        unused_missing = tuple(text for text in self.missing if text and self._form(text) not in used)
        return NormalizedCounts(
            counts.relabelled(new),
            {name: axis_changes for name, axis_changes in changes.items() if axis_changes},
            unused,
            unused_missing,
        )

    def _check_columns(self, columns: Mapping[str, str], axes: Sequence[Axis]) -> None:
        column_names = list(dict.fromkeys(columns.get(axis.name, axis.name) for axis in axes))
        for renaming in self.renamings:
            if renaming.column is not None and renaming.column not in column_names:
                raise ParameterError(
                    f"the map names the column {renaming.column!r}; possible here: "
                    f"{', '.join(map(repr, column_names))}"
                )

    def _form(self, label: object) -> str:
        """What labels have in common that a rule is for."""
        return folded(str(label)) if self.normalize else str(label)

    def _renamed(
        self, axis: Axis, columns: Mapping[str, str], used: set[Renaming | str]
    ) -> list[Label | None]:
        """The levels after the map and the missing texts; what nothing changes keeps its kind.

        ``used`` takes the renamings and the forms of missing texts that a level has.
        """
        column = columns.get(axis.name, axis.name)
        general = [rule for rule in self.renamings if rule.column is None and axis.name in LABEL_AXES]
        special = [rule for rule in self.renamings if rule.column == column]
        by_form = self._by_form(general) | self._by_form(special)  # what names the column wins
        gone = {self._form(text) for text in self.missing}
        new: list[Label | None] = []
        for level in axis.levels:
            renaming = by_form.get(self._form(level))
            if renaming is not None:
                used.add(renaming)
            label = level if renaming is None else renaming.new
            if label is not None and (form := self._form(label)) in gone:
                used.add(form)
                label = None
            new.append(label)
        return new

    def _by_form(self, renamings: Iterable[Renaming]) -> dict[str, Renaming]:
        """Renamings of one reach by the form of the label that they rename."""
        by_form: dict[str, Renaming] = {}
        for rule in renamings:
            first = by_form.setdefault(self._form(rule.old), rule)
            if first.new != rule.new:
                raise ParameterError(
                    f"the map renames {first.old!r} to {first.new!r} and {rule.old!r} to {rule.new!r}, which "
                    "are one label once spellings are merged; keep one of the two, or leave --normalize out"
                )
        return by_form

    def _bin(self, counts: Counts, new: _Levels) -> None:
        """Numbers of groups become ranges."""
        groups = [name for name in new if name not in PLAIN_AXES and not name.startswith(CLUSTER)]
        for bins in self.bins:
            if bins.column not in groups:
                raise ParameterError(
                    f"--bins {bins.written} is for a column of groups, and {bins.column!r} is none; possible "
                    f"here: {', '.join(map(repr, groups)) or 'none'}"
                )
            new[bins.column] = [*bins.labels(new[bins.column], counts.level_counts(bins.column).tolist())]

    def _merge(self, counts: Counts, new: _Levels) -> None:
        """Labels of one form become its most frequent spelling; truth and predictions share theirs."""
        together = [name for name in new if name in LABEL_AXES]
        for names in (together, *([name] for name in new if name not in PLAIN_AXES)):
            mixed = len({counts.axis(name).kind for name in names} - {"missing"}) > 1
            if not mixed and not any(isinstance(label, str) for name in names for label in new[name]):
                continue  # one kind of numbers or booleans has one spelling
            rows: dict[str, dict[str, float]] = {}
            for name in names:
                for label, n in zip(new[name], counts.level_counts(name).tolist(), strict=True):
                    if label is not None:
                        spellings = rows.setdefault(folded(str(label)), {})
                        spellings[str(label)] = spellings.get(str(label), 0) + n
            label_by_form = {form: _most_frequent(texts) for form, texts in rows.items()}
            for name in names:
                new[name] = [
                    None if level is None else label_by_form[folded(str(level))] for level in new[name]
                ]


NO_RULES = LabelRules()


def _check_writable(texts: Iterable[str]) -> None:
    """Refuse texts with half of a character, as a terminal gives what is no UTF-8: no label can be so."""
    for text in texts:
        if any("\ud800" <= letter <= "\udfff" for letter in text):
            raise ParameterError(f"{text!a} is no text in UTF-8, and no label is written so; type it anew")


def _most_frequent(rows: Mapping[str, float]) -> str:
    """The spelling of most rows, without the space around it; of equally frequent ones one without space."""
    trimmed = {text: " ".join(text.strip(_INVISIBLE).split()) for text in sorted(rows)}
    return trimmed[max(trimmed, key=lambda text: (rows[text], text == trimmed[text]))]


def _one_kind(axes: Sequence[Axis], new: _Levels) -> None:
    """Labels of an axis of which some became texts are texts all; with the truth also the predictions."""
    together = {axis.name for axis in axes if axis.name in LABEL_AXES}
    touched = {axis.name for axis in axes if tuple(new[axis.name]) != axis.levels}
    texts = {name for name in touched if any(isinstance(label, str) for label in new[name])}
    if texts & together:
        texts |= together
    for name in texts:
        new[name] = [None if label is None else str(label) for label in new[name]]


def _changed(axis: Axis, new: Sequence[Label | None]) -> dict[str, str | None]:
    return {
        str(old): None if label is None else str(label)
        for old, label in zip(axis.levels, new, strict=True)
        if label is None or str(old) != str(label)
    }


def _read(entry: str | Path) -> list[Renaming]:
    """The renamings of ``OLD=NEW``, or of a file."""
    path = Path(entry).expanduser()
    if not path.is_file():
        old, sign, new = str(entry).partition("=")
        if sign and old:
            return [Renaming(old, new or None)]
        raise InputError(
            f"--map {str(entry)!r} is neither a file nor OLD=NEW; give a CSV file with the columns old and "
            "new, or type for instance --map '70+=more than 70'"
        )
    if path.suffix.lower() not in (".csv", ".tsv"):
        raise InputError(f"--map {str(entry)!r} is no CSV or TSV file; give one with the columns old and new")
    with sources.reading(entry):
        table = sources.scan(path)[0].collect()
    if not {"old", "new"} <= set(table.columns):
        raise InputError(
            f"--map {str(entry)!r} has the columns {one_line(table.columns)}; it needs old and new, and may "
            "have column, the one column that a line is for"
        )
    column = pl.col("column") if "column" in table.columns else pl.lit(None, dtype=pl.String)
    rows = table.select("old", "new", column=column).drop_nulls("old")
    return [Renaming(*row) for row in rows.iter_rows()]
