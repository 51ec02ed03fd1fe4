"""Headlines of rankings: whose samples come first, beside how many of them there are."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import is_beyond
from evenhand.display.overview import values
from evenhand.display.overview.content import Chart, Headline, Mark
from evenhand.display.overview.phrasing import (
    capital,
    of_finding,
    scoped,
    weight,
    whole_number,
)
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import count, plural
from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement

_TIER = 0.5
_TOP = "top_"  # details of a query: how many of a group are among its first


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """One: who has more of the first places than of the samples; without places, how many rankings follow."""
    if finding.value is None:
        return []
    groups = finding.params.get("groups")
    leading = _leading(finding, groups, subject) if isinstance(groups, list) else None
    text, sentence, chart = leading or _in_all(finding, subject)
    scope = subject.scope(finding)
    return [
        of_finding(
            finding,
            subject,
            text=text + ".",
            sentence=sentence if leading is None else scoped(sentence + ".", scope),
            weight=weight(finding, _TIER if leading else 0.4),
            chart=chart,
            scope=scope,
        )
    ]


def _leading(
    finding: Finding, groups: Sequence[object], subject: Subject
) -> tuple[str, str, Chart | None] | None:
    """The group with more of the first places; None where nothing counts places."""
    names, k = [str(group) for group in groups], finding.params.get("k")
    queries = [part for part in finding.parts if part.value is not None]
    tops = {name: _top(queries, name) for name in names}
    sizes = {group.key: group.n for group in finding.groups if isinstance(group.key, str)}
    if not isinstance(k, int) or len(names) != 2 or not queries or not set(names) <= set(sizes):
        return None
    if any(top is None for top in tops.values()):
        return None
    first, second = names if (finding.value or 0.0) >= 0 else names[::-1]
    places, rows = sum(min(k, part.n) for part in queries), sum(sizes.values())
    by = finding.by[0] if len(finding.by) == 1 else ""
    ahead, rest = tops[first] or 0.0, tops[second] or 0.0
    who, other = (subject.member(by, name) for name in (first, second))
    many = plural(len(queries), *subject.nouns.query)
    start = who if who == first else capital(who)
    texts = {"ahead": _places(ahead), "places": count(places), "noun": subject.noun}
    text = _(
        "{who} take {ahead} of {places} first places, with {n} of {rows} {noun}",
        **texts,
        who=start,
        n=count(sizes[first]),
        rows=count(rows),
    )
    where = "the first {k} places of {queries}" if k > 1 else "the first place of {queries}"
    sentence = _(
        "Of {where}, {who} take {ahead} of {places} ({share}) and {other} {rest}; {even} of the {noun} are "
        "of {who}",
        **texts,
        where=_(where, k=k, queries=many),
        who=who,
        other=other,
        share=share(ahead / places),
        rest=_places(rest),
        even=share(sizes[first] / rows),
    )
    return text, sentence, _chart(tops, sizes, places, first, finding, subject)


def _top(queries: Sequence[Part], group: str) -> float | None:
    numbers = [part.details.get(f"{_TOP}{group}") for part in queries]
    counts = [float(number) for number in numbers if isinstance(number, int | float)]
    return sum(counts) if len(counts) == len(numbers) else None


def _places(number: float) -> str:
    """Places; of equally near samples the mean over their orders."""
    exact = whole_number(number)
    return count(round(number, 1) if exact is None else exact)


def _chart(
    tops: dict[str, float | None], sizes: dict[str, float], places: float, leader: str, finding: Finding,
    subject: Subject,
) -> Chart:  # fmt: skip
    """Each group's share of the first places; even places have the shares of the samples."""
    rows = sum(sizes.values())
    marks = tuple(
        Mark(
            name,
            (top or 0.0) / places,
            _("{hits} of {rows}", hits=_places(top or 0.0), rows=count(places)),
            named=name == leader,
            beyond=name == leader and is_beyond(finding, subject.alpha),
        )
        for name, top in tops.items()
    )
    shares = {round(sizes[name] / rows, 6) for name in tops}
    even = [
        Statement.joined((subject.member(finding.grouping, name), share(sizes[name] / rows))) for name in tops
    ]
    return Chart(
        _("First places, by {by}", by=subject.about(finding)),
        marks,
        fair=shares.pop() if len(shares) == 1 else None,
        note=_("Of the {noun}: {even}.", noun=subject.noun, even=Statement.joined(even, ", ")),
    )


def _in_all(finding: Finding, subject: Subject) -> tuple[str, str, Chart | None]:
    """How many rankings follow the groups, and in how many of them each group leads."""
    queries = sum(part.value is not None for part in finding.parts)
    many, by = plural(queries, *subject.nouns.query), subject.about(finding)
    text = (
        "Rankings of {queries} follow {by} more than chance explains"
        if is_beyond(finding, subject.alpha)
        else "Rankings of {queries} follow {by} no more than chance explains"
    )
    text = _(text, queries=many, by=by)
    line = values.headlines(finding, subject)[0]
    leads = _leads(finding, subject)
    if leads is None:
        return text, line.sentence, line.chart
    k, numbers = leads
    (first, most), (second, fewer) = numbers.items()
    even = queries - most - fewer
    texts = {"first": first, "most": count(most), "second": second, "fewer": count(fewer)}
    text += _(": {first} lead in {most}, {second} in {fewer}", **texts)
    sentence = _(
        "{first} take more of {places} in {most} of {queries}, {second} in {fewer}",
        **texts | {"first": capital(first)},
        places=_("the first {k} places", k=k) if k > 1 else _("the first place"),
        queries=many,
    )
    sentence += _(", neither in {even}", even=count(even)) if even else ""
    return text, Statement.of("{text}. {value}", text=sentence, value=line.sentence), line.chart


def _leads(finding: Finding, subject: Subject) -> tuple[int, dict[str, int]] | None:
    """In how many rankings each of two groups has more of the first places, by another finding's counts."""
    alike = [
        (k, other, [str(name) for name in groups])
        for other in subject.findings
        if isinstance(groups := other.params.get("groups"), list)
        and isinstance(k := other.params.get("k"), int)
        and (other.by, other.model) == (finding.by, finding.model)
        and _without_places(other) == _without_places(finding)
    ]
    for k, other, names in sorted(alike, key=lambda line: line[0]):
        tops = [[part.details.get(f"{_TOP}{name}") for name in names] for part in other.parts]
        pairs = [(a, b) for a, b in tops if isinstance(a, float) and isinstance(b, float)]
        numbers = [sum(a > b for a, b in pairs), sum(b > a for a, b in pairs)]
        if any(numbers):
            called = [subject.member(finding.grouping, name) for name in names]
            ahead = sorted(zip(called, numbers, strict=True), key=lambda line: -line[1])
            return k, dict(ahead)
    return None


def _without_places(finding: Finding) -> dict[str, object]:
    return {name: value for name, value in finding.params.items() if name not in ("k", "groups")}
