"""How often each group is right, and why one is right less often than the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.findings import Finding, Part, ends_of
from evenhand.core.significance import is_beyond
from evenhand.display.overview.content import Chart, Mark
from evenhand.display.overview.rates import groups_beyond
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import gap_sentence
from evenhand.display.text.formatting import count, key_text
from evenhand.display.text.language import _
from evenhand.report.chapters import Chapter
from evenhand.report.insight.drawing import Picture, draw

_TITLE = "Accuracy by group"
_NULL = "chance alone: rows change groups within their class"
_MOST_DRAWN = 60


@dataclass(frozen=True)
class GroupAccuracy:
    """Accuracy by group."""

    drawing: Picture  # a row for each group
    reasons: tuple[str, ...]  # why groups are right less often than the rest


def group_accuracy(chapter: Chapter, subject: Subject) -> GroupAccuracy | None:
    """Accuracy by group as a picture; None with fewer than two groups that have one.

    A group is filled, and why it is right less often is said, where a finding beyond chance is about it: no
    interval by itself says more than the tests of the run.
    """
    ranked = chapter.ranked_groups[::-1]
    if len(ranked) < 2 or len(ranked) > _MOST_DRAWN:
        return None
    beyond = groups_beyond(chapter.findings, subject)
    marks = tuple(_mark(part, subject.noun, beyond=key_text(part.key) in beyond) for part in ranked)
    chart = Chart(_(_TITLE), marks, _(_NULL))
    return GroupAccuracy(draw(chart, cut=True, decimals=1), tuple(_reasons(chapter, beyond, subject)))


def _mark(part: Part, noun: str, *, beyond: bool) -> Mark:
    rows = "" if part.n < 0 else f"{count(round(part.n))} {noun}"
    interval, null = ends_of(part.interval), ends_of(part.null)
    return Mark(key_text(part.key), part.value or 0.0, rows, interval, null, beyond, beyond)


def _reasons(chapter: Chapter, beyond: Collection[str], subject: Subject) -> Iterator[str]:
    """Why groups are right less often than the rest, or look level although a mistake of theirs differs."""
    finding = _decomposition(chapter)
    if finding is None:
        return
    mistaken = _mistaken(chapter, subject)
    for group in [part.key for part in finding.parts if part.kind == "gap"]:
        name = key_text(group)
        numbers = {
            part.kind: _line(part) for part in finding.parts if part.key == group and part.value is not None
        }
        if not {"gap", "mix", "errors"} <= numbers.keys() or "low" not in numbers["gap"]:
            continue
        is_lower = name in beyond and numbers["gap"]["value"] > 0
        if is_lower or (name in mistaken and name not in beyond):
            names = [group] if isinstance(group, str) else list(group)
            mistakes = tuple(
                {**_line(part), "truth": part.key[0], "prediction": part.key[-1]}
                for part in finding.parts
                if part.kind == "mistake" and list(part.key[1:-1]) == names and part.interval
            )
            yield from filter(None, [_sentence(" · ".join(names), numbers, mistakes, is_lower)])


def _sentence(
    name: str, numbers: Mapping[str, Mapping[str, Any]], mistakes: tuple[Mapping[str, Any], ...], lower: bool
) -> str | None:
    other = numbers.get("other mistakes", {"value": 0.0})["value"]
    gap, mix, errors = (numbers[kind] for kind in ("gap", "mix", "errors"))
    return gap_sentence(name, gap, mix, errors, mistakes, other, beyond=lower)


def _mistaken(chapter: Chapter, subject: Subject) -> set[str]:
    """Groups with a mistake that differs beyond chance."""
    return {
        key_text(list(part.key[1 : 1 + len(chapter.by)])) if len(chapter.by) > 1 else part.key[1]
        for finding in chapter.findings
        if finding.card.first_line == "mistakes" and is_beyond(finding, subject.alpha)
        for part in finding.parts
        if part.kind in ("mistake", "miss") and not isinstance(part.key, str)
    }


def _decomposition(chapter: Chapter) -> Finding | None:
    """The finding that splits gaps of accuracy, known by its parts."""
    kinds = {"gap", "mix", "errors"}
    return next(
        (finding for finding in chapter.findings if kinds <= {part.kind for part in finding.parts}), None
    )


def _line(part: Part) -> Mapping[str, Any]:
    """A part as the sentence takes it."""
    bounds = dict(zip(("low", "high"), ends_of(part.interval) or (), strict=False))
    return {"value": part.value, **bounds, **part.details}
