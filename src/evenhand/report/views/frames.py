"""Findings as compact columns for the page's scripts: every label is written once."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evenhand.core.findings import Key, Part
from evenhand.core.frames import flat
from evenhand.core.significance import ALPHA, is_beyond
from evenhand.core.unseen import visible
from evenhand.display.text.formatting import key_text, level_text, visible_label
from evenhand.display.text.language import _, filled
from evenhand.display.text.rounding import Rounding
from evenhand.report import glossary
from evenhand.report.suppression.suppress import COUNTS
from evenhand.report.wording import sentences as words

_NUMBERS = ("value", "corrected", "low", "high", "null_low", "null_high", "p", "p_adjusted", "mde", "n")
_MOST_DETAILS = 8


@dataclass
class PageData:
    """Everything the scripts read: labels, frames of columns, tables and charts over them."""

    labels: list[str] = field(default_factory=list)  # distinct texts; text columns hold places in it
    exact: dict[int, str] = field(default_factory=dict)  # by place, texts that files have otherwise
    frames: dict[str, dict[str, Any]] = field(default_factory=dict)  # columns by name
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)  # which columns of which frame
    charts: dict[str, dict[str, Any]] = field(default_factory=dict)  # specification and frame
    specs: dict[str, Any] = field(default_factory=dict)
    evidence: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # frames by chapter
    chapters: dict[str, list[str]] = field(default_factory=dict)  # attributes by chapter
    figures: list[dict[str, Any]] = field(default_factory=list)  # specifications, with data
    alpha: float = ALPHA
    _places: dict[str, int] = field(default_factory=dict, repr=False)

    def label_index(self, text: str | None) -> int | None:
        """The place of a text among the labels; None stays None."""
        if text is None:
            return None
        if text not in self._places:
            index, label = len(self.labels), visible_label(text)
            self._places[text] = index
            self.labels.append(label)
            if label != text:
                self.exact[index] = text
        return self._places[text]

    def add_frame(
        self,
        name: str,
        numbers: Mapping[str, Iterable[float | None]],
        texts: Mapping[str, Iterable[str | None]],
    ) -> None:
        """Keep a frame: numbers in full, texts as places among the labels."""
        columns: dict[str, Any] = {
            key: [self.label_index(text) for text in column] for key, column in texts.items()
        }
        columns |= {key: [_finite(value) for value in column] for key, column in numbers.items()}
        self.frames[name] = {"columns": columns, "text": list(texts)}

    def as_json(self) -> dict[str, Any]:
        """The content of the page's data element; the texts of charts and headings in the page's language."""
        return {
            "labels": self.labels,
            "exact": self.exact,
            "frames": self.frames,
            "tables": {name: _with_headings(table) for name, table in self.tables.items()},
            "charts": self.charts,
            "specs": _in_language(self.specs),
            "evidence": {name: list(map(_with_headings, tables)) for name, tables in self.evidence.items()},
            "chapters": self.chapters,
            "figures": self.figures,
        }


def _with_headings(table: dict[str, Any]) -> dict[str, Any]:
    """A table whose columns are shown under headings of the page's language; files keep the English ones."""
    headings = {column["title"]: filled(column["title"]) for column in table["columns"]}
    columns = [
        column if column["title"] == heading else {**column, "shown": heading}
        for column in table["columns"]
        for heading in [headings[column["title"]]]
    ]
    return {**table, "columns": columns}


def _in_language(spec: Any) -> Any:
    """A specification of our own charts with its titles, and the names of bands, in the page's language."""
    if isinstance(spec, dict):
        return {
            key: _(value) if key == "title" and isinstance(value, str) else _in_language(value)
            for key, value in spec.items()
        }
    if isinstance(spec, list):
        return [
            _(value) if isinstance(value, str) and value in glossary.BANDS else _in_language(value)
            for value in spec
        ]
    return spec


def add_parts(
    data: PageData, name: str, parts: Sequence[Part], *, value: str = "value", sort: str = "",
    rests: Sequence[tuple[str, Key]] = (), beyond: Collection[str] | None = None,
) -> None:  # fmt: skip
    """Keep the parts of a finding as a frame, and a table of every column that holds something.

    The table is sorted by ``sort``, highest first; ``rests`` are the axes and the key of the rows that each
    part counts, where these are not its own; ``beyond`` names parts that a finding beyond chance is about
    (None: parts have tests of their own).
    """
    digits = [Rounding.of(part).decimals for part in parts]
    rows = [{**flat(part), "p": part.p_value} for part in parts]
    numbers: dict[str, list[float | None]] = {
        **{name: [row[name] for row in rows] for name in _NUMBERS},
        "beyond": [
            float(is_beyond(part, data.alpha) if beyond is None else key_text(part.key) in beyond)
            for part in parts
        ],
        **({"digits": [float(n) for n in digits]} if max(digits, default=3) > 3 else {}),
    }
    texts: dict[str, list[str | None]] = {
        "label": [key_text(part.key) for part in parts],
        "band": [part.band for part in parts],
        "reading": [words.reading(part, data.alpha) or None for part in parts],
    }
    kinds = list(dict.fromkeys(part.kind for part in parts))
    if len(kinds) > 1:
        texts["kind"] = [part.kind for part in parts]
    if rests:
        texts |= {"axes": [axes for axes, _ in rests], "rests": [key_text(key) for _, key in rests]}
    details = _details(parts, numbers, texts)
    data.add_frame(name, numbers, texts)
    columns = _part_columns(parts, value, {**numbers, **texts}, details)
    data.tables[name] = {"frame": name, "columns": columns, "sort": sort, "kinds": kinds}


def add_sheet(data: PageData, name: str, columns: Mapping[str, Sequence[float | str | None]]) -> None:
    """Keep what a table that the template wrote holds, in full, for its file.

    The table's ``data-sheet`` says ``name``; columns have one length; a negative ``n`` is a hidden count.
    """
    texts = {
        key: column for key, column in columns.items() if any(isinstance(value, str) for value in column)
    }
    numbers = {key: column for key, column in columns.items() if key not in texts}
    data.add_frame(
        name,
        {key: [value for value in column if not isinstance(value, str)] for key, column in numbers.items()},
        {key: [None if value is None else str(value) for value in column] for key, column in texts.items()},
    )
    kinds = {key: "text" if key in texts else "count" if key in COUNTS else "number" for key in columns}
    headings = [{"key": key, "title": key, "kind": kind} for key, kind in kinds.items()]
    data.tables[name] = {"frame": name, "columns": headings}


def _details(
    parts: Sequence[Part], numbers: dict[str, list[float | None]], texts: dict[str, list[str | None]]
) -> list[tuple[str, str]]:
    """Add a column per detail; give the kind and name of each."""
    names = list(dict.fromkeys(key for part in parts for key in part.details))[:_MOST_DETAILS]
    added = []
    for key in names:
        column = [part.details.get(key) for part in parts]
        name = key if key == "accuracy" else f"detail {key}"
        if any(isinstance(value, str) for value in column):
            texts[name] = [None if value is None else str(value) for value in column]
            added.append(("text", name))
        else:
            numbers[name] = [value if isinstance(value, int | float) else None for value in column]
            added.append(("number", name))
    return added


def _part_columns(
    parts: Sequence[Part],
    value: str,
    columns: Mapping[str, Sequence[Any]],
    details: Sequence[tuple[str, str]],
) -> list[dict[str, Any]]:
    level = next((part.interval.level for part in parts if part.interval), 0.95)
    kinds = {part.kind for part in parts}
    has_corrected = any(part.corrected is not None for part in parts)
    interval = ("low", f"{level_text(level)}% interval", "range")
    plain = ("value", value, "number")
    # what the interval is of stands before it
    leading = [("corrected", "corrected", "number"), interval, plain] if has_corrected else [plain, interval]
    offered = [
        ("label", visible(kinds.pop()) if len(kinds) == 1 else "part", "label"),
        *leading,
        ("null_low", "null band", "range"),
        ("reading", "reading", "text"),
        ("p", "p", "p"),
        ("p_adjusted", "adjusted p", "p"),
        ("band", "band", "band"),
        ("n", "n", "count"),
        *((name, visible(name.removeprefix("detail ").replace("_", " ")), kind) for kind, name in details),
        ("mde", "smallest detectable", "number"),
    ]
    always = {"label", "value", "n"}
    return [
        {
            "key": key,
            **({"to": key.replace("low", "high")} if kind == "range" else {}),
            "title": title,
            "kind": kind,
        }
        for key, title, kind in offered
        if key in always or any(value is not None for value in columns[key])
    ]


def _finite(value: float | None) -> float | int | None:
    """The very number, whole ones without a point; None where it is none."""
    if value is None or not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() else value
