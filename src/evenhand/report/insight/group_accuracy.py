"""How often each group is right, and why one is right less often than the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evenhand.core.display.overview.content import Chart, Mark
from evenhand.core.findings import Finding, Key, Part
from evenhand.core.text.disparities import gap_sentence
from evenhand.core.text.formatting import count, key_text
from evenhand.core.text.language import _
from evenhand.report.chapters import Chapter
from evenhand.report.insight.drawing import Picture, draw

_TITLE = "Accuracy by group"
_NULL = "chance alone: rows change groups within their class"
_MOST_DRAWN = 60


@dataclass(frozen=True)
class GroupAccuracy:
    """Accuracy by group.

    Attributes:
        drawing: A row for each group.
        reasons: Why groups are right less often than the rest.
    """

    drawing: Picture
    reasons: tuple[str, ...]


def group_accuracy(chapter: Chapter, noun: str) -> GroupAccuracy | None:
    """Accuracy by group as a picture; None with fewer than two groups that have one.

    Args:
        chapter: All findings of a grouping.
        noun: What rows are.
    """
    ranked = chapter.ranked_groups[::-1]
    if len(ranked) < 2 or len(ranked) > _MOST_DRAWN:
        return None
    gaps = _gaps(chapter)
    reasons = {key_text(key): sentence for key, sentence in gaps}
    marks = tuple(_mark(part, noun, is_behind=key_text(part.key) in reasons) for part in ranked)
    chart = Chart(_(_TITLE), marks, _(_NULL))
    return GroupAccuracy(draw(chart, cut=True, decimals=1), tuple(reasons.values()))


def _mark(part: Part, noun: str, *, is_behind: bool) -> Mark:
    rows = "" if part.n < 0 else f"{count(round(part.n))} {noun}"
    ends = [None if span is None else (span.low, span.high) for span in (part.interval, part.null)]
    return Mark(key_text(part.key), part.value or 0.0, rows, ends[0], ends[1], is_behind)


def _gaps(chapter: Chapter) -> list[tuple[Key, str]]:
    """For each group that is right less often than the rest, beyond its interval, why."""
    finding = _decomposition(chapter)
    if finding is None:
        return []
    result = []
    for group in [part.key for part in finding.parts if part.kind == "gap"]:
        numbers = {
            part.kind: _line(part) for part in finding.parts if part.key == group and part.value is not None
        }
        if {"gap", "mix", "errors"} <= numbers.keys() and "low" in numbers["gap"]:
            names = [group] if isinstance(group, str) else list(group)
            mistakes = tuple(
                {**_line(part), "truth": part.key[0], "prediction": part.key[-1]}
                for part in finding.parts
                if part.kind == "mistake" and list(part.key[1:-1]) == names and part.interval
            )
            other = numbers.get("other mistakes", {"value": 0.0})["value"]
            name = " · ".join(names)
            sentence = gap_sentence(name, numbers["gap"], numbers["mix"], numbers["errors"], mistakes, other)
            result += [(group, sentence)] if sentence else []
    return result


def _decomposition(chapter: Chapter) -> Finding | None:
    """The finding that splits gaps of accuracy, known by its parts."""
    kinds = {"gap", "mix", "errors"}
    return next(
        (finding for finding in chapter.findings if kinds <= {part.kind for part in finding.parts}), None
    )


def _line(part: Part) -> Mapping[str, Any]:
    """A part as the sentence takes it."""
    ends = {} if part.interval is None else {"low": part.interval.low, "high": part.interval.high}
    return {"value": part.value, **ends, **part.details}
