"""Headlines of mistakes that one group gets more often than the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor
from typing import Any

from evenhand.core.findings import Finding, Interval, Key, Part, ends_of
from evenhand.core.significance import EDGE, significance_of
from evenhand.display.overview.content import NOT_TESTED, Chart, Headline, Mark
from evenhand.display.overview.phrasing import AGAIN, corrected_difference, shared_with
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import Line, headline, line_sentence, status_sentence
from evenhand.display.text.formatting import (
    count,
    group_name,
    of,
    p_phrase,
    p_value,
    plain,
    plural,
    quoted,
    short_label,
    shorten,
)
from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement

_LINES = ("mistake", "miss")
_NUMBERS = ("a", "n", "b", "m", "rate", "others", "excess", "certain")
_NULL = "chance alone: groups shuffled within the class"
_NULL_OF_UNITS = "chance alone: groups shuffled by {unit} within the class"
CHANCE_OF_ROWS = "Chance alone would give {low} to {high} of the {rows}"
ONE_OF_MANY = "in a single comparison; this is one of {n}."
_NEAR = 0.6  # of the level of the tests: p from which it is near the limit
_FEWEST = 10  # rows from which chance is written as counts


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """The lines of a finding, if chance alone does not explain it; else the largest, which it can explain."""
    beyond = significance_of(finding, subject.alpha).beyond
    lines = [(_line(finding, part), part) for part in finding.parts if part.kind in _LINES]
    leading = [(line, part) for line, part in lines if not line["parent"]] or lines
    if leading:  # beyond chance by themselves, if not after the correction for all questions of the run
        listed = leading if beyond else leading[:1]
        return [_of_line(finding, line, part, subject, beyond) for line, part in listed]
    largest = _largest(finding)
    return [] if beyond or largest is None else [_of_line(finding, largest, None, subject, False)]


def silence(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """What is said of groupings where no line is listed."""
    return [text for finding in findings if (text := _silence(finding, subject))]


def _silence(finding: Finding, subject: Subject) -> str | None:
    if "status" not in finding.details:  # small counts are hidden, and what would tell them
        return None
    sentence = status_sentence(
        finding.details, by=shorten(subject.attribute(finding.grouping)), groups=len(finding.groups),
        n=finding.n, noun=subject.noun, min_rows=int(str(finding.params.get("min_rows", 5))),
    )  # fmt: skip
    if sentence is None and not significance_of(finding, subject.alpha).beyond:
        by = shorten(subject.attribute(finding.grouping))
        p = p_value(finding.p_adjusted)
        return _(
            "No mistake differs by {by} beyond chance, corrected for all questions of this run (p {p}).",
            by=by,
            p=p,
        )
    return sentence


def first_sentence(finding: Finding, subject: Subject) -> str | None:
    """The first line of a finding in full, whether or not the run's correction leaves it beyond chance."""
    part = next((part for part in finding.parts if part.kind in _LINES), None)
    if part is None:
        return None
    return _sentence(finding, _line(finding, part), subject, significance_of(finding, subject.alpha).beyond)


def _sentence(finding: Finding, line: Line, subject: Subject, beyond: bool) -> str:
    """A line in full; what chance can explain has no number of rows at least."""
    sure = {**line, "certain": line["certain"] if beyond else 0.0}
    return line_sentence(sure, noun=subject.noun, elsewhere=_other(finding, line["group"]))


def _other(finding: Finding, name: str) -> str:
    """The name of the other group where there are two; empty: there are more."""
    groups = [group_name(group.key) for group in finding.groups]
    return {groups[0]: groups[1], groups[1]: groups[0]}.get(name, "") if len(groups) == 2 else ""


def _line(finding: Finding, part: Part) -> dict[str, Any]:
    """A part as a line of ``disparity_lines``."""
    truth, group, label = _names(part.key, len(finding.by), part.kind == "mistake")
    parent = part.details.get("repeats")
    numbers = {name: part.details[name] for name in _NUMBERS}
    return {
        "truth": truth, "group": group, "prediction": label, "direction": part.details["direction"],
        "rank": part.details["rank"], "difference": part.value, "parent": parent, "p": part.p_value,
        "q": part.p_adjusted, **numbers,
    }  # fmt: skip


def _names(key: Key, attributes: int, has_label: bool) -> tuple[str, str, str | None]:
    """Class, group and label of a key."""
    texts = [key] if isinstance(key, str) else key
    return texts[0], " · ".join(texts[1 : 1 + attributes]), texts[-1] if has_label else None


def _largest(finding: Finding) -> dict[str, Any] | None:
    """The line that the details keep where none is listed."""
    about = finding.details
    if about.get("largest_group") is None:
        return None
    a, n, b, m = (float(str(about[f"largest_{name}"])) for name in ("a", "n", "b", "m"))
    return {
        "truth": about["largest_truth"], "group": about["largest_group"], "rank": 0.0, "parent": None,
        "prediction": about.get("largest_prediction"), "direction": "more", "a": a, "n": n, "b": b, "m": m,
        "rate": a / n, "others": b / m, "difference": a / n - b / m, "excess": a - n * b / m, "certain": 0.0,
        "p": about["largest_p"], "q": about["largest_q"],
    }  # fmt: skip


def _of_line(finding: Finding, line: Line, part: Part | None, subject: Subject, beyond: bool) -> Headline:
    other = _other(finding, line["group"])
    marks = _marks(finding, line, beyond)
    truth, label = short_label(line["truth"]), line["prediction"]
    title = _("{truth} {noun} that are wrong", truth=quoted(truth), noun=subject.noun)
    if label is not None:
        names = {"truth": quoted(truth), "noun": subject.noun, "label": quoted(label)}
        title = _("{truth} {noun} that are called {label}", **names)
    band = next((mark for mark in marks if mark.named), None)
    return Headline(
        text=headline(line, noun=subject.noun, elsewhere=other),
        sentence=_sentence(finding, line, subject, beyond),
        size=_size(line, part.interval if part is not None and beyond else None, other),
        chance="" if band is None else _chance(band, line, None if beyond else finding.details.get("tested")),
        certainty=_certainty(finding, line, beyond, subject),
        by=finding.grouping,
        beyond=beyond,
        metric=finding.metric,
        weight=(float(line["direction"] == "more"), line["certain"], line["excess"]),
        chart=None if band is None else Chart(
            title, marks, _null(subject) if band.null else "",
            note=_outside_bands_note(band, marks),
        ),
        steps=_steps(line, subject),
        rows=(rows := _rows(finding, line, subject)),
        cases=line["a"] if rows else 0.0,
        mistakes=line["b"] if line["direction"] == "less" else 0.0,
        group=line["group"] if line["direction"] == "more" else "",
        name=f"{finding.metric} {line['rank']:g}",
        shared={} if part is None else shared_with(part.details),
    )  # fmt: skip


def _marks(finding: Finding, line: Line, beyond: bool) -> tuple[Mark, ...]:
    shares = [part for part in finding.parts if part.kind == "share" and part.details["line"] == line["rank"]]
    marks = []
    for part in shares:
        _, group, _ = _names(part.key, len(finding.by), line["prediction"] is not None)
        text = of(float(str(part.details["a"])), part.n)
        is_named = group == line["group"]
        interval, null = ends_of(part.interval), ends_of(part.null)
        marks.append(Mark(group, part.value or 0.0, text, interval, null, is_named, is_named and beyond))
    return tuple(marks)


def _outside_bands_note(lead: Mark, marks: Sequence[Mark]) -> str:
    """What bands lie around, where other groups are outside of theirs on the side away from the headline's.

    Whether these would lie inside without the headline's group is not known.
    """

    def is_away(mark: Mark) -> bool:
        if mark.null is None or lead.null is None or mark.named:
            return False
        return mark.value < mark.null[0] if lead.value > lead.null[1] else mark.value > mark.null[1]

    if lead.inside or not any(map(is_away, marks)):
        return ""
    name = short_label(lead.label)
    if lead.value > (lead.null or (0.0, 0.0))[1]:
        return _("Bands lie around the average of all groups, which {group} raises.", group=name)
    return _("Bands lie around the average of all groups, which {group} lowers.", group=name)


def _size(line: Line, interval: Interval | None, other: str) -> str:
    more = line["difference"] > 0
    than = _("more than elsewhere") if more else _("fewer than elsewhere")
    if other:
        than = _("more than {group}" if more else "fewer than {group}", group=short_label(other))
    return corrected_difference(line["difference"], ends_of(interval), than)


def _chance(mark: Mark, line: Line, tested: Any = None) -> str:
    """What chance gives in this comparison; outside of that, of how many comparisons this is one."""
    if mark.null is None or line["n"] < _FEWEST:
        return ""
    low, high = (round(end * line["n"]) for end in mark.null)
    hits = mark.value * line["n"]
    if mark.value > mark.null[1]:  # what lies outside may not look as if it did not
        high = min(high, ceil(hits - EDGE) - 1)
    elif mark.value < mark.null[0]:
        low = max(low, floor(hits + EDGE) + 1)
    text = _(CHANCE_OF_ROWS, low=count(low), high=count(high), rows=count(line["n"]))
    if mark.inside or float(tested or 1) == 1:
        return text + "."
    many = _(ONE_OF_MANY, n=count(float(tested)))
    return Statement.joined((text, many))


def _null(subject: Subject) -> str:
    return _(_NULL_OF_UNITS, unit=shorten(subject.cluster)) if subject.cluster else _(_NULL)


def _certainty(finding: Finding, line: Line, beyond: bool, subject: Subject) -> str:
    if line["q"] is None:
        return _(NOT_TESTED)
    tested = finding.details.get("tested")
    compared = plural(float(str(tested)), "comparison") if tested is not None else _("all comparisons")
    names = {"compared": compared, "counted": subject.counted}
    if not beyond and finding.p_adjusted is not None and finding.p_adjusted > line["q"]:
        return _(
            "{p}, corrected for {compared} and for all questions of this run{counted}.",
            p=p_phrase(finding.p_adjusted),
            **names,
        )
    is_near = _NEAR * subject.alpha < line["q"] <= subject.alpha
    near = _(": near the limit of {level}", level=plain(subject.alpha)) if is_near else ""
    return _("{p}, corrected for {compared}{counted}{near}.", p=p_phrase(line["q"]), near=near, **names)


def _steps(line: Line, subject: Subject) -> tuple[str, ...]:
    if line["direction"] == "less":
        return (
            _(
                "See what sets {group} apart: the other groups have this mistake.",
                group=short_label(line["group"]),
            ),
        )
    return (
        _(
            "Read the {n} {noun}: are their true labels right? What sets them apart?",
            n=count(line["a"]),
            noun=subject.noun,
        ),
        _(AGAIN),
    )


def _rows(finding: Finding, line: Line, subject: Subject) -> Mapping[str, str]:
    """Conditions on the columns of the user's table."""
    values: Sequence[str] = line["group"].split(" · ") if len(finding.by) > 1 else [line["group"]]
    if len(values) != len(finding.by):  # a value holds the sign between values
        return {}
    label = f"!{line['truth']}" if line["prediction"] is None else f"={line['prediction']}"
    conditions = {name: f"={value}" for name, value in zip(finding.by, values, strict=True)}
    return {subject.truth: f"={line['truth']}", **conditions, subject.prediction: label}
