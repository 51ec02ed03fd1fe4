"""What changed between compared models, as the template and the scripts need it: the surest changes first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.significance import ALPHA, is_line_beyond
from evenhand.core.unseen import visible
from evenhand.display.text.formatting import count, isolated, percent, plural, shorten
from evenhand.display.text.language import _
from evenhand.report import glossary
from evenhand.report.chapters import Chapter
from evenhand.report.comparison import sentences as change_words
from evenhand.report.views import charts
from evenhand.report.views.frames import PageData

if TYPE_CHECKING:
    import polars

    from evenhand.core.findings import Finding

MOST_ROWS = 10_000
"""Rows of each kind of table on a page, over all groupings; the run's own tables hold all."""

_WHATS = {
    ("accuracy", "class"): ("Accuracy by class", "class", "classes"),
    ("accuracy", "group"): ("Accuracy by group", "group", "groups"),
    ("cramers_v", "class"): ("Effect size by class", "class", "classes"),
}
_NAME = 40  # letters of a model in a list of pairs
_OF_FLIPS = (
    "low", "high", "level", "null_low", "null_high", "p", "p_adjusted", "q_value", "n_gained", "n_lost",
)  # fmt: skip
_RANGE = {"low": "high", "null_low": "null_high"}
_MODELS = (("model", "first model", "label"), ("reference", "second model", "label"))
_COLUMNS = (
    ("label", "part", "label"), *_MODELS, ("value", "first minus second", "number"),
    ("corrected", "without noise", "number"), ("low", "interval", "range"),
    ("level", "its level", "text"), ("null_low", "null band", "range"), ("reading", "reading", "text"),
    ("p", "p", "p"), ("p_adjusted", "adjusted p", "p"), ("q_value", "q (false discoveries)", "p"),
    ("first", "first", "number"), ("second", "second", "number"), ("n", "n", "count"),
    ("n_gained", "only first right", "count"), ("n_lost", "only second right", "count"),
)  # fmt: skip
_FLIPS = (
    ("label", "group", "label"), ("class", "class", "label"), *_MODELS, ("n", "n", "count"),
    ("n_gained", "only first right", "count"), ("n_lost", "only second right", "count"), ("p", "p", "p"),
    ("p_adjusted", "adjusted p", "p"),
)  # fmt: skip
_ANSWERS = (
    ("label", "group", "label"), ("truth", "truth", "label"), ("first", "first answer", "label"),
    ("second", "second answer", "label"), ("n", "n", "count"), *_MODELS,
)  # fmt: skip


@dataclass(frozen=True)
class GroupingChange:
    """What changed under one grouping."""

    chapter: str  # the id of the grouping's chapter
    title: str  # the grouping in words
    name: str  # of its frame, table and charts
    sentences: Sequence[str]  # how much changed more than noise, and what changed most
    whats: Sequence[tuple[str, str]]  # what a reader can choose: key and words, those beyond noise first
    pairs: Sequence[str]  # of models, as they can be chosen
    alt: str  # what the charts show, in words
    rows: int  # changes on the page
    left: int  # changes that only the run's table holds
    flips: str  # name of the table of flips; empty where there is none
    answers: str  # name of the table of other answers; empty where there is none


def changed(
    chapters: Sequence[Chapter],  # one for each grouping
    tables: Mapping[str, polars.DataFrame],  # ``changes``, ``flips`` and ``answer_changes``
    data: PageData,
    *,
    alpha: float,
    fewest: int = 0,  # where fewer samples flip, what would reveal it is hidden; 0 hides nothing
) -> list[GroupingChange]:
    """What changed, grouping by grouping; frames, tables and charts go into ``data``."""
    table = tables.get("changes")
    if table is None:
        return []
    changes: list[GroupingChange] = []
    groupings = set(table["by"])
    for chapter in chapters:
        by = "+".join(chapter.by)
        if by in groupings:
            groupings.discard(by)
            room = MOST_ROWS // len(set(table["by"]))
            changes.append(_of_chapter(chapter, by, tables, data, alpha=alpha, fewest=fewest, room=room))
    return changes


def _of_chapter(
    chapter: Chapter,
    by: str,
    tables: Mapping[str, polars.DataFrame],
    data: PageData,
    *,
    alpha: float,
    fewest: int,
    room: int,
) -> GroupingChange:
    every = _hidden([row for row in tables["changes"].to_dicts() if row["by"] == by], fewest)
    pairs = list(dict.fromkeys((row["model"], row["reference"]) for row in every))
    whats = _whats(every, alpha)
    rows = _surest(every, whats, room)
    name = f"changes-{chapter.id}"
    about = _metrics(chapter)
    _add_changes(data, name, rows, pairs, whats, alpha, about)
    return GroupingChange(
        chapter=chapter.id,
        title=chapter.title,
        name=name,
        sentences=[_changes_sentence(every, what, alpha, len(pairs)) for what in whats],
        whats=[("/".join(what), _(_WHATS[what][0])) for what in whats],
        pairs=_called_apart([f"{shorten(a, _NAME)} – {shorten(b, _NAME)}" for a, b in pairs]),
        alt=_alternative(every, whats[0], alpha) if whats else "",
        rows=len(rows),
        left=len(every) - len(rows),
        flips=_add_flips(data, chapter, tables.get("flips"), by, pairs, room, about),
        answers=_add_answers(data, chapter, tables.get("answer_changes"), by, pairs, room),
    )


def _hidden(rows: list[dict[str, Any]], fewest: int) -> list[dict[str, Any]]:
    """Where few samples flip, neither how many nor what tells it: p, interval and null band."""
    return [
        {**row, **dict.fromkeys(_OF_FLIPS)}
        if any(0 < (row[key] or 0) < fewest for key in ("n_gained", "n_lost"))
        else row
        for row in rows
    ]


def _whats(rows: Sequence[Mapping[str, Any]], alpha: float) -> list[tuple[str, str]]:
    """What changed, that with changes beyond noise first."""
    present = dict.fromkeys((row["measure"], row["kind"]) for row in rows)
    kinds = [what for what in _WHATS if what in present]
    return sorted(kinds, key=lambda what: not any(_beyond(row, alpha) for row in rows if _is(row, what)))


def _is(row: Mapping[str, Any], what: tuple[str, str]) -> bool:
    return (row["measure"], row["kind"]) == what


def _beyond(row: Mapping[str, Any], alpha: float) -> bool:
    return is_line_beyond(row["p_adjusted"], row["low"], row["high"], alpha)


def _sureness(row: Mapping[str, Any]) -> tuple[float, float, float]:
    p_values = [2.0 if row[key] is None else row[key] for key in ("p_adjusted", "p")]
    return p_values[0], p_values[1], -abs(row["value"] or 0.0)


def _surest(
    rows: Sequence[dict[str, Any]], whats: Sequence[tuple[str, str]], room: int
) -> list[dict[str, Any]]:
    """As many rows as the page has room for: groups, then classes, those surest to have changed first."""
    ordered = sorted(rows, key=_sureness)
    ahead = [row for row in ordered if row["kind"] == "group"] + [
        row for row in ordered if row["kind"] != "group"
    ]
    shown_ids = {id(row) for row in ahead[:room]}
    return [row for what in whats for row in ordered if id(row) in shown_ids and _is(row, what)]


def _reading(row: Mapping[str, Any], alpha: float) -> str | None:
    if row["value"] is None:
        return glossary.reason(row["reason"])
    if row["p_adjusted"] is None:
        return None
    return _("more than noise" if _beyond(row, alpha) else "within noise")


def _level(row: Mapping[str, Any]) -> str | None:
    """The level of its interval, which its place among the tests decides; older runs have 95 %."""
    level = row.get("level", 1 - ALPHA)
    return None if level is None else percent(level)


def _add_changes(
    data: PageData,
    name: str,
    rows: Sequence[Mapping[str, Any]],
    pairs: Sequence[tuple[str, str]],
    whats: Sequence[tuple[str, str]],
    alpha: float,
    about: Mapping[tuple[str, str, str], str],
) -> None:
    """Keep the changes as a frame, a table and two charts."""
    places = {pair: index for index, pair in enumerate(pairs)}
    numbers = [key for key, _title, kind in _COLUMNS if kind in ("number", "p", "count", "range")]
    numbers += list(_RANGE.values())
    columns: dict[str, list[float | None]] = {key: [row[key] for row in rows] for key in numbers}
    columns["pair"] = [float(places[row["model"], row["reference"]]) for row in rows]
    columns["beyond"] = [float(_beyond(row, alpha)) for row in rows]
    columns["what"] = [float(whats.index((row["measure"], row["kind"]))) for row in rows]
    texts = {
        "label": [row["key"] for row in rows],
        "model": [row["model"] for row in rows],
        "reference": [row["reference"] for row in rows],
        "level": [_level(row) for row in rows],
        "reading": [_reading(row, alpha) for row in rows],
        "kind": [row["kind"] for row in rows],
        "about": [about.get((row["measure"], row["model"], row["reference"])) for row in rows],
    }
    data.add_frame(name, columns, texts)
    headings = [heading for heading in _COLUMNS if len(pairs) > 1 or heading not in _MODELS]
    kinds = list(dict.fromkeys(row["kind"] for row in rows))
    data.tables[name] = _table(name, headings, {**columns, **texts}, kinds)
    for chart, spec in (("change", charts.change()), ("both", charts.before_after())):
        data.specs[f"changes-{chart}"] = spec
        options = {"limit": charts.LABELLED, "height": charts.LINE_HEIGHT, "changes": True}
        data.charts[f"{name}-{chart}"] = {"spec": f"changes-{chart}", "frame": name, **options}


def _table(
    name: str,
    headings: Sequence[tuple[str, str, str]],
    columns: Mapping[str, Sequence[Any]],
    kinds: Sequence[str],
) -> dict[str, Any]:
    """A table of the columns that hold something."""
    described = [
        {"key": key, "title": title, "kind": kind, **({"to": _RANGE[key]} if key in _RANGE else {})}
        for key, title, kind in headings
        if key in ("label", "value", "n") or any(value is not None for value in columns[key])
    ]
    return {"frame": name, "columns": described, "sort": "", "kinds": list(kinds)}


def _rows_by(table: polars.DataFrame | None, by: str) -> list[dict[str, Any]]:
    """The rows about one grouping."""
    return [row for row in table.to_dicts() if row["by"] == by] if table is not None else []


def _add_flips(
    data: PageData,
    chapter: Chapter,
    table: polars.DataFrame | None,
    by: str,
    pairs: Sequence[tuple[str, str]],
    room: int,
    about: Mapping[tuple[str, str, str], str],
) -> str:
    """Keep the samples that one model alone got right; whole groups come first."""
    rows = sorted(_rows_by(table, by), key=lambda row: row["class"] is not None)[:room]
    if not rows:
        return ""
    name = f"flips-{chapter.id}"
    columns = {key: [row[key] for row in rows] for key, _title, kind in _FLIPS if kind in ("count", "p")}
    texts = {
        "label": [row["group"] for row in rows],
        "class": [row["class"] or _("all classes") for row in rows],
        "model": [row["model"] for row in rows],
        "reference": [row["reference"] for row in rows],
        "kind": ["group" for _ in rows],
        "about": [about.get(("accuracy", row["model"], row["reference"])) for row in rows],
    }
    columns["pair"] = [float(pairs.index((row["model"], row["reference"]))) for row in rows]
    data.add_frame(name, columns, texts)
    headings = [heading for heading in _FLIPS if len(pairs) > 1 or heading not in _MODELS]
    data.tables[name] = _table(name, headings, {**columns, **texts}, ["group"])
    return name


def _add_answers(
    data: PageData,
    chapter: Chapter,
    table: polars.DataFrame | None,
    by: str,
    pairs: Sequence[tuple[str, str]],
    room: int,
) -> str:
    """Keep the most frequent other answers; they are also the rows behind the parts of differences."""
    rows = _rows_by(table, by)
    listed = rows[:room]
    if not listed:
        return ""
    name = f"answers-{chapter.id}"
    columns = {
        "n": [row["n"] for row in listed],
        "pair": [float(pairs.index((row["model"], row["reference"]))) for row in listed],
    }
    texts = {key: [row[key] for row in listed] for key in ("truth", "first", "second", "model", "reference")}
    texts |= {"label": [row["group"] for row in listed], "kind": ["group" for _ in listed]}
    data.add_frame(name, columns, texts)
    headings = [heading for heading in _ANSWERS if len(pairs) > 1 or heading not in _MODELS]
    data.tables[name] = {**_table(name, headings, {**columns, **texts}, ["group"]), "plain": True}
    pieces = [finding for finding in chapter.findings if finding.parts]
    evidence = {
        **data.tables[name],
        "kinds": ["class", "group"],
        "keys": {"class": "truth", "group": "label"},
        "of": "cells",
        "only": _("those that the two models answer differently"),
        "rows": len(listed),
        "left": len(rows) - len(listed),
        "when": {piece.metric: [{"told": "", "rows": _models_of(piece)}] for piece in pieces},
        "axes": {},
    }
    data.evidence.setdefault(chapter.id, [evidence])
    return name


def _metrics(chapter: Chapter) -> dict[tuple[str, str, str], str]:
    """The findings that changes are parts of, by measure and models."""
    measures = {"accuracy_difference": "accuracy", "cramers_v_mean_difference": "cramers_v"}
    return {
        (measures[finding.name], str(finding.model), str(finding.reference)): finding.metric
        for finding in chapter.findings
        if finding.name in measures
    }


def _models_of(finding: Finding) -> dict[str, list[str]]:
    """The pair that a difference is of, as the rows of its evidence say it."""
    return {"model": [visible(finding.model)], "reference": [visible(finding.reference)]}


def _changes_sentence(
    rows: Sequence[Mapping[str, Any]], what: tuple[str, str], alpha: float, pairs: int
) -> str:
    """How many changed more than noise, and the surest of them in words."""
    mine = sorted((row for row in rows if _is(row, what) and row["p_adjusted"] is not None), key=_sureness)
    title, noun, many = _WHATS[what]
    title, parts = _(title), plural(len(mine), noun, many)
    without = sum(_is(row, what) and row["value"] is None for row in rows)
    missing = (
        _(" {changes} could not be estimated.", changes=plural(without, "change", "changes"))
        if without
        else ""
    )
    if not mine:
        return _("{title}: nothing could be tested.{missing}", title=title, missing=missing)
    beyond = [row for row in mine if _beyond(row, alpha)]
    over = _(" in {n} pairs", n=pairs) if pairs > 1 else ""
    if not beyond:
        return _(
            "{title}: none of {parts}{over} changed more than noise.{missing}",
            title=title,
            parts=parts,
            over=over,
            missing=missing,
        )
    return _(
        "{title}: {n} of {parts}{over} changed more than noise; surest {surest}.{missing}",
        title=title,
        n=count(len(beyond)),
        parts=parts,
        over=over,
        surest="; ".join(change_words.one_change(row) for row in beyond[:3]),
        missing=missing,
    )


def _alternative(rows: Sequence[Mapping[str, Any]], what: tuple[str, str], alpha: float) -> str:
    """What the charts show at first."""
    mine = [row for row in rows if _is(row, what) and row["value"] is not None]
    beyond = sum(_beyond(row, alpha) for row in mine)
    title, noun, many = _WHATS[what]
    return _(
        "{title}: the surest changes of {parts}, of which {n} are more than noise; the table below holds "
        "their values.",
        title=_(title),
        parts=plural(len(mine), noun, many),
        n=count(beyond),
    )


def _called_apart(names: Sequence[str]) -> list[str]:
    """Names that were cut to the same text get a number."""
    seen: dict[str, int] = {}
    labels = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        labels.append(isolated(name) + (f" ({seen[name]})" if seen[name] > 1 else ""))
    return labels
