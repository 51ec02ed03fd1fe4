"""Headlines of any value: of metrics that declare no form of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from evenhand.core.findings import Finding, Part, ends_of
from evenhand.core.significance import is_beyond, significance_of
from evenhand.display.overview.content import Chart, Headline, Mark
from evenhand.display.overview.phrasing import (
    capital,
    in_unit,
    leading,
    of_finding,
    quiet,
    scoped,
    title_of,
    weight,
    whole_number,
    with_interval,
)
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import shares
from evenhand.display.text.formatting import count, key_text, listing, of, short_label, shorten
from evenhand.display.text.language import _
from evenhand.display.text.reasons import verdict_text
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement, bracketed

_TIER = 0.25
_OF_CLASSES = 0.4
_MOST = 40  # marks of a chart
_HAS_VERB = (" of", " by", " for", " is", " are", ",")  # how texts end that a value follows at once


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """One: title, value, interval and what chance alone gives; none without a value."""
    if finding.value is None:
        return []
    title, scope = heading(finding, subject), subject.scope(finding)
    return [
        of_finding(
            finding,
            subject,
            text=Statement.of(
                "{title}: {value}{beside}.",
                title=title,
                value=_value(finding),
                beside=_beside(finding),
            ),
            sentence=scoped(_sentence(finding, subject, title), scope),
            weight=weight(finding, _TIER),
            chart=_chart(finding, subject),
            scope=scope,
        )
    ]


def of_means(finding: Finding, subject: Subject) -> list[Headline]:
    """One: groups whose mean stands apart, and that of all others, in the unit of the number."""
    means = [finding.details.get(name) for name in ("set_mean", "others_mean")]
    numbers = [mean for mean in means if isinstance(mean, float)]
    group_means, lines = subject.source(finding), headlines(finding, subject)
    rounding = Rounding.of(finding, finding.card.unit)
    write = in_unit(finding, rounding.amount)
    measured = with_interval(finding, rounding, write)
    size = Statement.of("{title}: {measured}.", title=title_of(finding), measured=measured)
    chart = _chart_of_means(finding, group_means, subject)
    lines = [replace(line, size=size, chart=chart) for line in lines]
    if len(numbers) < len(means):  # small counts are hidden
        return lines
    first, second = map(write, numbers)
    label = listing([short_label(key_text(part.key)) for part in finding.parts])
    text = _(
        "{group}: {what} is {mean} on average over {n} {noun}; elsewhere {others}.",
        group=label,
        what=_outcome(finding),
        mean=first,
        n=count(sum(part.n for part in finding.parts)),
        noun=subject.noun,
        others=second,
    )
    sentence = Statement.joined((scoped(text, lines[0].scope), _spread(finding, group_means, write)))
    return [replace(line, text=text, sentence=sentence, group=label) for line in lines]


def _outcome(finding: Finding) -> str:
    return str(finding.params.get("value", _("the number")))


def _spread(finding: Finding, group_means: Finding, write: Callable[[float], str]) -> str:
    """How the numbers of one group lie, toward what is worse; empty for several, or where nothing says."""
    keys = [part.key for part in finding.parts]
    details = [part.details for part in group_means.parts if [part.key] == keys]
    far = "q90" if finding.params.get("better") == "low" else "q10"
    ends = [about.get(name) for about in details for name in ("median", far)]
    numbers = [write(end) for end in ends if isinstance(end, float)]
    if len(numbers) < len(ends) or not ends:
        return ""
    text = (
        "Half of them lie above {median}, one in ten above {far}."
        if far == "q90"
        else "Half of them lie below {median}, one in ten below {far}."
    )
    return _(text, median=numbers[0], far=numbers[1])


def _chart_of_means(finding: Finding, group_means: Finding, subject: Subject) -> Chart | None:
    """The mean of each group; those that the finding is about are filled where it is beyond chance."""
    beyond, parts = is_beyond(finding, subject.alpha), group_means.parts
    keys = [part.key for part in (parts if len(parts) == 2 else finding.parts)]
    marks = [
        replace(
            mark_of(part, subject.alpha),
            text=Statement.joined((count(part.n), subject.noun)),
            named=part.key in keys,
        )
        for part in parts
        if part.value is not None
    ]
    if group_means is finding or len(marks) < 2:
        return None
    marks = [
        replace(mark, beyond=beyond and mark.named and not (mark.inside and len(marks) > 2)) for mark in marks
    ]
    unit = finding.details.get("unit")
    what = _("{what} in {unit}", what=_outcome(finding), unit=unit) if unit else _outcome(finding)
    return Chart(
        _("{what}, mean by {by}", what=what, by=subject.about(finding)),
        tuple(marks),
        _("chance alone: groups change places") if any(mark.null for mark in marks) else "",
        "number",
    )


def within_classes(finding: Finding, subject: Subject) -> list[Headline]:
    """One where chance does not explain it: whose answers stand apart, in rows; details name the group."""
    group = finding.details.get("apart")
    if not is_beyond(finding, subject.alpha):
        return []
    numbers = [finding.details.get(f"apart_{name}") for name in ("moved", "n", "by_chance")]
    rows = [number for number in numbers if isinstance(number, float)]
    if not isinstance(group, str) or len(rows) < len(numbers):  # small counts are hidden
        return headlines(finding, subject)
    moved, n, by_chance = rows
    names = {"group": short_label(group), "noun": subject.noun}
    if subject.is_weighted:  # sums of weights are no numbers of rows
        first, second = shares(moved / n, by_chance / n)
        names |= {"moved": _("{share} of", share=first), "chance": second}
    else:
        names |= {"moved": of(round(moved), round(n)), "chance": count(round(by_chance))}
    text = _(
        "{group}: {moved} {noun} have other answers than the other groups' shares give; by chance {chance}.",
        **names,
    )
    sentence = _(
        "{group}: within the classes, {moved} {noun} have other answers than the shares of the other groups "
        "give; chance alone would give {chance}. Many small differences add up; none has to stand out.",
        **names,
    )
    return [
        of_finding(
            finding, subject, text=text, sentence=sentence, weight=weight(finding, _OF_CLASSES), chart=None
        )
    ]


def quiet_within_classes(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """Sentences on those of such findings that chance alone explains."""
    within = [finding for finding in findings if not is_beyond(finding, subject.alpha)]
    return quiet(within, subject) if within else []


def heading(finding: Finding, subject: Subject) -> str:
    """What is measured, and by what."""
    by = _(" by {by}", by=shorten(subject.attribute(finding.grouping))) if finding.by else ""
    return Statement.joined((title_of(finding), by), "")


def overall(finding: Finding, subject: Subject) -> str:
    """How often a model is right at all, beside answers at random; empty where nothing says."""
    if finding.value is None:
        return ""
    parts, rows = [part for part in finding.parts if part.value is not None], finding.n
    hits = sum((part.value or 0.0) * part.n for part in parts if part.kind == parts[0].kind)
    act, at = finding.card.sentences.hits_of(subject.noun, finding.params), finding.chance_at
    within = bracketed(subject.scope(finding))
    total = whole_number(hits)
    if total is None or not finding.card.sentences.hits or abs(total / rows - finding.value) > 1e-6:
        rounding = Rounding.of(finding, finding.card.unit)
        random = _("; answers at random {share}", share=rounding.level(at)) if at is not None else ""
        texts = {"title": heading(finding, subject), "value": rounding.level(finding.value)}
        return Statement.of("{title}: {value}{random}{within}.", **texts, random=random, within=within)
    random = _("; answers at random would give {n}", n=count(round(at * rows))) if at is not None else ""
    texts = {"hits": of(total, rows), "act": act}
    return Statement.of("{hits} {act}{within}{random}.", **texts, random=random, within=within)


def _value(finding: Finding) -> str:
    rounding = Rounding.of(finding, finding.card.unit)
    return leading(finding, rounding, rounding.level)


def _beside(finding: Finding) -> str:
    """The interval, and what chance gives of the value with noise."""
    rounding, text = Rounding.of(finding, finding.card.unit), ""
    if finding.interval is not None:
        text += bracketed(rounding.span(finding.interval))
    if finding.corrected is not None:
        text += _("; {value} with it", value=rounding.level(finding.value or 0.0))
    if finding.null is not None:
        text += _("; chance alone gives {ends}", ends=rounding.span(finding.null))
    return text


def _sentence(finding: Finding, subject: Subject, title: str) -> str:
    side, what = significance_of(finding, subject.alpha), finding.card.sentences.value
    start = title if not what or "{" in what else what
    start = start if start.endswith(_HAS_VERB) else _("{what} is", what=start)
    verdict = _(", without a test")
    if side.side:
        verdict = Statement.of(", {verdict}", verdict=verdict_text(side, "what chance alone gives"))
    value = _value(finding)
    return capital(Statement.of("{what} {value}{verdict}.", what=start, value=value, verdict=verdict))


def _chart(finding: Finding, subject: Subject) -> Chart | None:
    kinds = [part.kind for part in finding.parts]
    parts = [part for part in finding.parts if part.kind == kinds[0] and part.value is not None]
    if len(parts) < 2:
        return None
    note = _("The first {n} of {all}.", n=_MOST, all=count(len(parts))) if len(parts) > _MOST else ""
    marks = tuple(mark_of(part, subject.alpha) for part in parts[:_MOST])
    unit = finding.card.unit
    return Chart(
        _(
            "{title}, by {by}",
            title=title_of(finding),
            by=shorten(kinds[0].replace("_", " ").replace("*", " × ")),
        ),
        marks,
        _("chance alone") if any(mark.null for mark in marks) else "",
        unit if unit in ("share", "share difference") else "number",
        note=note,
    )


def mark_of(part: Part, alpha: float) -> Mark:
    """A part as a mark, whatever its value is; a corrected one has no band, which is of plain values."""
    is_plain = part.corrected is None
    return Mark(
        key_text(part.key),
        (part.value if is_plain else part.corrected) or 0.0,
        interval=ends_of(part.interval),
        null=ends_of(part.null) if is_plain else None,
        beyond=is_beyond(part, alpha),
    )
