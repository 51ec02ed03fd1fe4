"""The first lines of a run, from its findings and its manifest alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.core.errors import one_line
from evenhand.core.findings import Finding, Findings
from evenhand.core.registry import Registry
from evenhand.core.significance import p_shown, significance_of
from evenhand.display.overview import (
    changes,
    mistakes,
    pairs,
    phrasing,
    rankings,
    rates,
    subgroups,
    values,
)
from evenhand.display.overview.content import (
    CAVEAT,
    LEFT_OUT,
    NONE_RIGHT,
    OTHER_ITEMS,
    Headline,
    Overview,
)
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import count, listing, of, plural
from evenhand.display.text.language import _, filled, plural_of
from evenhand.display.text.statement import Statement, said


def _each_quiet(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """A sentence for each finding that is not beyond chance."""
    within: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        if not significance_of(finding, subject.alpha).beyond:
            within.setdefault((finding.name, finding.grouping), []).append(finding)
    return [text for members in within.values() for text in phrasing.quiet(members, subject)]


def _tested_quiet(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """The same, of those that were tested."""
    return _each_quiet([line for line in findings if significance_of(line, subject.alpha).side], subject)


BY_WEIGHT = "By weight, {share} of it lies in finding {n}."
ALL = "All {cases} are those of finding {n}."
MOST = "Most of it lies in finding {n}: {hits} of its {cases}."
SOME = "{hits} of the {cases} are those of finding {n}."
_SEARCH = "subgroups"
_LAST = -0.5  # what orders headlines of metrics that are second to another one
_UNSURE = 0.2  # of the level of the tests: p from which the first is none too sure,
_SURER = 10  # and times which the second's is less


@dataclass(frozen=True)
class Form:
    """How findings of one kind become headlines.

    Attributes:
        headlines: Of a finding: those beyond chance, or else the largest that chance can explain.
        silence: Sentences on findings that have none beyond chance.
        nothing: The title where none of the findings is beyond chance.
        speaks_untested: Whether that title holds where nothing was tested, too.
    """

    headlines: Callable[[Finding, Subject], list[Headline]]
    silence: Callable[[Sequence[Finding], Subject], list[str]] = _each_quiet
    nothing: Callable[[Sequence[Finding], Subject], str] = phrasing.nothing_by
    speaks_untested: bool = False


_FORMS: Mapping[str, Form] = {
    "mistakes": Form(mistakes.headlines, mistakes.silence),
    "rates": Form(rates.headlines),
    "classes": Form(values.within_classes, values.quiet_within_classes),
    "rankings": Form(rankings.headlines),
    "pairs": Form(pairs.headlines, pairs.silence, pairs.nothing),
    "reductions": Form(
        pairs.reduction_headlines, pairs.reduction_silence, pairs.reduction_nothing, speaks_untested=True
    ),
    "subgroups": Form(subgroups.headlines, subgroups.silence, subgroups.nothing),
    "changes": Form(changes.headlines, _tested_quiet, changes.nothing),
    "means": Form(values.of_means),
    "value": Form(values.headlines),
}
# Only installed ones, whatever a run that is read names: no module is imported because a file says so
_OTHERS = Registry("form of first lines", {}, "evenhand.forms")


def overview_of(
    findings: Findings, manifest: Mapping[str, Any], *, hides_questions: bool = False
) -> Overview:
    """The first lines of a run, what matters most first; every number is one of ``findings``.

    ``hides_questions``: further findings, which answer questions of the run, are hidden.
    """
    subject = replace(Subject.of(manifest, findings), hides_questions=hides_questions)
    leading, beside = _leading(findings)
    lines = _seconds([(finding, _form(finding).headlines(finding, subject)) for finding in leading], subject)
    leading, every = [finding for finding, _ in lines], [line for _, ours in lines for line in ours]
    ordered = sorted(every, key=lambda line: line.weight, reverse=True)
    beyond, largest = _apart([line for line in ordered if line.beyond]), ordered[:1]
    beyond = _echoes(beyond, subject)
    quiet = [text for form, members in _by_form(leading) for text in form.silence(members, subject)]
    title, lead = _title(beyond, largest, leading, quiet, subject)
    if len(leading) == 1 and largest and title == largest[0].text:
        quiet = []  # the title says it
    overall = [text for finding in beside if (text := values.overall(finding, subject))]
    return Overview(
        title=title,
        lead=lead,
        kicker=_kicker(leading, beyond, subject),
        headlines=tuple(beyond or largest),
        silent=(*(text for text in dict.fromkeys(quiet) if text != lead), *overall),
        checks=(*_none_right(findings), *_warnings(findings, manifest), *_left_out(findings, subject)),
        caveat=Statement.joined(map(_, (CAVEAT, *_what_chance_means(leading)))),
    )


def _what_chance_means(leading: Sequence[Finding]) -> list[str]:
    """Of associations over targets and attributes: which others chance might have given."""
    over_both = any(
        finding.card.first_line == "pairs" and finding.null and finding.params.get("mode") != "paper"
        for finding in leading
    )
    return [OTHER_ITEMS] if over_both else []


def _leading(findings: Findings) -> tuple[list[Finding], list[Finding]]:
    """Findings that headlines are made of; and those on how often a model is right at all, said beside them.

    Those that answer a run's questions: primary ones. Where no finding has a role, those whose metric
    declares first lines, with a test or an interval if one has them, else whatever was tested. A search over
    subgroups is always among them.
    """
    able = [finding for finding in findings if finding.role != "exploratory"]
    primary = [f for f in able if f.role == "primary" and f.card.first_line != _SEARCH]
    declared = [finding for finding in able if finding.card.first_line not in ("", _SEARCH)]
    sure = [finding for finding in declared if p_shown(finding) is not None or finding.interval is not None]
    tested = [finding for finding in able if significance_of(finding).side]
    leading = primary or sure or declared or tested
    leading = [finding for finding in leading if (finding.card.of or finding.card).headline]
    guessed = [finding for finding in leading if finding.card.p_is_about == "guessing"]
    others = [finding for finding in leading if finding not in guessed]
    searches = [finding for finding in findings if finding.card.first_line == _SEARCH]
    return ([*others, *searches], guessed) if others else (leading or able[:1], [])


def _form(finding: Finding) -> Form:
    """The form that a card names; of one that is not installed here, the plain one."""
    name = finding.card.first_line or "value"
    if name not in _FORMS and name in _OTHERS.names():
        form: Form = _OTHERS.get(name)
        return form
    return _FORMS.get(name, _FORMS["value"])


def _by_form(leading: Sequence[Finding]) -> list[tuple[Form, list[Finding]]]:
    """Findings by the form that speaks of them, in their order."""
    forms = list(dict.fromkeys(_form(finding) for finding in leading))
    return [(form, [finding for finding in leading if _form(finding) is form]) for form in forms]


def _seconds(
    lines: Sequence[tuple[Finding, list[Headline]]], subject: Subject
) -> list[tuple[Finding, list[Headline]]]:
    """All findings; those of metrics that are second to another one come last beside its headlines, in full.

    They are left out where they are within chance, of a group that those of their grouping name, or of none.
    Where they drive what the first metric only just tells, they stand among its headlines, by certain rows.
    """
    spoken = {
        (finding.name, finding.grouping): (finding, [line for line in ours if line.beyond])
        for finding, ours in lines
    }
    result = []
    for finding, ours in lines:
        leading, first = spoken.get((finding.card.second_to, finding.grouping), (finding, []))
        if not first:
            result.append((finding, ours))
            continue
        if any(line.beyond for line in ours) and _drives(finding, leading, subject.alpha):
            n = sum(part.n for part in finding.parts)  # of the groups that stand apart
            by_rows = [replace(line, weight=(1.0, *(n * part for part in line.weight[1:]))) for line in ours]
            result.append((finding, by_rows))
            continue
        groups = {"", *(line.group for line in first)}
        others = [
            replace(line, text=line.sentence, weight=(_LAST, *line.weight[1:]))
            for line in ours
            if line.beyond and line.group not in groups
        ]
        result += [(finding, others)] if others else []
    return result


def _drives(second: Finding, first: Finding, alpha: float) -> bool:
    """Whether groups that stand apart are far surer than the mistakes of some, which are none too sure."""
    p, p_of_first = p_shown(second), p_shown(first)
    if p is None or p_of_first is None or second.card.first_line != "rates":
        return False
    return max(_UNSURE * alpha, _SURER * p) < p_of_first


def _echoes(lines: Sequence[Headline], subject: Subject) -> list[Headline]:
    """Headlines that say which one before them has rows of theirs, most of its or of their own."""
    texts = []
    for index, line in enumerate(lines):
        before = list(enumerate(lines[:index], 1))
        inner = [
            (n, other, other.cases)
            for n, other in before
            if line.cases and other.cases and _is_inside(other, line)
        ]
        alike = [(n, other, hits) for n, other in before if (hits := line.shared.get(other.name, 0.0))]
        most = max((hits for _, _, hits in alike), default=0.0)
        for n, other, hits in [*inner, *(pair for pair in alike if pair[-1] == most)][:1]:
            overlap = _overlap(line, other, hits, n, subject)
            line = replace(line, certainty=Statement.joined((line.certainty, overlap)))  # noqa: PLW2901
        texts.append(line)
    return texts


def _is_inside(inner: Headline, outer: Headline) -> bool:
    """Whether rows of the one, of a crossed group, are all rows of the other."""
    return bool(outer.rows) and outer.rows.items() < inner.rows.items()


def _overlap(line: Headline, other: Headline, hits: float, n: int, subject: Subject) -> str:
    """How many of the rows of a headline are rows of another one; their share where rows have weights."""
    total = line.mistakes or line.cases
    if subject.is_weighted:  # sums of weights are no numbers of rows
        return _(BY_WEIGHT, share=share(hits / total), n=n)
    cases = plural(total, "mistake") if line.mistakes else count(total)
    numbers = {"hits": count(hits), "cases": cases, "n": n}
    if hits == total:
        return _(ALL, **numbers)
    if 2 * hits > total and not _is_inside(other, line):
        return _(MOST, **numbers)
    return _(SOME, **numbers)


def _apart(lines: Sequence[Headline]) -> list[Headline]:
    """Headlines of which no two have the same text, or title, where their scope tells them apart.

    What is the same under several groupings, as the change of a class, is said once.
    """
    titles = [said(line.text).words.partition(":")[0] for line in lines]  # the same in every language
    many = Counter(titles)
    scoped = [
        replace(line, text=phrasing.scoped(line.text, line.scope)) if many[title] > 1 else line
        for line, title in zip(lines, titles, strict=True)
    ]
    by_text: dict[str, Headline] = {}
    for line in scoped:
        by_text.setdefault(line.text, line)
    return list(by_text.values())


def _title(
    beyond: Sequence[Headline], largest: Sequence[Headline], leading: Sequence[Finding],
    quiet: Sequence[str], subject: Subject,
) -> tuple[str, str]:  # fmt: skip
    """Title and lead: the first headline; that nothing is beyond chance; or what was measured."""
    if beyond:
        return beyond[0].text, Statement.joined((beyond[0].sentence, beyond[0].remark))
    if not leading:
        return "", ""
    form, members = _by_form(leading)[0]
    lead = quiet[0] if quiet else ""
    few = any(map(phrasing.has_few_units, leading))
    if few or any(significance_of(finding, subject.alpha).side for finding in leading):
        alike = [finding for finding in leading if _form(finding).nothing is form.nothing]
        return form.nothing(alike, subject), lead
    estimable = [finding for finding in members if finding.value is not None]
    if estimable and form.speaks_untested:
        return form.nothing(estimable, subject), lead
    if largest:
        return largest[0].text, largest[0].sentence
    reasons = dict.fromkeys(finding.reason for finding in leading if finding.reason)
    reason = phrasing.why_missing(next(iter(reasons), None))
    return _("Nothing was tested." if estimable else "No value can be given: {reason}.", reason=reason), lead


def _kicker(leading: Sequence[Finding], beyond: Sequence[Headline], subject: Subject) -> str:
    """How many things differ, by what, of how many rows; of a benchmark, what was asked of which model."""
    searches = {finding.metric for finding in leading if finding.card.first_line == _SEARCH}
    groupings = list(dict.fromkeys(line.grouping for line in leading if line.metric not in searches))
    if not subject.is_audit and (subject.question or subject.models):
        n = leading[0].n if leading and leading[0].card.made_of and not subject.order[1:] else subject.rows
        some = _("{n} of ", n=count(n)) if subject.rows and n and 0 < n < subject.rows else ""
        rows = some + Statement.joined((count(subject.rows), subject.noun)) if subject.rows else ""
        by = listing(map(subject.attribute, filter(None, groupings)))
        question = (
            subject.question
            if subject.question.endswith("?") or not by
            else _("{question} by {by}", question=subject.question, by=by).strip()
        )
        better = changes.direction(leading, subject)
        matched = Statement.joined((rows, subject.matched), ", ") if rows else ""
        models = "" if better else listing(subject.models)
        return Statement.joined((better, question, models, matched), " · ")
    searched = [line for line in beyond if line.metric in searches]
    compared = [line for line in beyond if line not in searched]
    numbers = {grouping: sum(line.by == grouping for line in compared) for grouping in groupings}
    texts = [
        plural_of("{n} finding by {by}", "{n} findings by {by}", n, n=count(n), by=subject.attribute(by))
        for by, n in numbers.items()
        if n
    ]
    if not texts:
        texts = (
            [_("No finding by {by}", by=listing(map(subject.attribute, groupings), "or"))]
            if groupings
            else []
        )
    texts += [_("{subgroups} by search", subgroups=plural(len(searched), "subgroup"))] if searched else []
    if leading:
        groups = len(leading[0].groups) if len(groupings) == 1 else 0
        texts += [plural(groups, "group")] if groups else []
        rows = of(leading[0].n, subject.rows) if subject.rows else count(leading[0].n)
        texts.append(Statement.joined((rows, subject.noun)) + subject.units_of(leading[0]))
    return Statement.joined(texts, " · ")


def _none_right(findings: Findings) -> list[str]:
    none = any(finding.name == "accuracy" and finding.value == 0 for finding in findings)
    return [_(NONE_RIGHT)] if none else []


def _warnings(findings: Findings, manifest: Mapping[str, Any]) -> list[str]:
    notes = (manifest.get("warnings") or []) if manifest.get("kind") == "compare" else []
    return [filled(one_line(note)) for note in (*(warning.message for warning in findings.warnings), *notes)]


def _left_out(findings: Findings, subject: Subject) -> list[str]:
    """Rows that no grouping could use, by reason, once."""
    reasons: dict[str, float] = {}
    for finding in findings:
        for lost in finding.dropped:
            if "class:" not in lost.reason:
                before = reasons.get(lost.reason, 0.0)
                is_hidden = min(before, lost.count) < 0
                reasons[lost.reason] = (min if is_hidden else max)(before, lost.count)
    if not reasons:
        return []
    columns = {"missing truth": subject.truth, "missing prediction": subject.prediction}
    numbers = {reason: _("a hidden number") if n < 0 else count(n) for reason, n in reasons.items()}
    texts = [
        _("{n} without {column}", n=n, column=columns.get(reason, reason.removeprefix("missing ")))
        if reason.startswith("missing ")
        else Statement.joined((n, _(reason)), ": ")
        for reason, n in sorted(numbers.items())
    ]
    return [Statement.of("{left_out}{rows}.", left_out=_(LEFT_OUT), rows=listing(texts))]
