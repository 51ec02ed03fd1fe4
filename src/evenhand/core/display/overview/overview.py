"""The first lines of a run, from its findings and its manifest alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.cards import FirstLine
from evenhand.core.display.overview import mistakes
from evenhand.core.display.overview.content import LEFT_OUT, Headline, Overview
from evenhand.core.display.overview.subject import Subject
from evenhand.core.errors import one_line
from evenhand.core.findings import Finding, Findings
from evenhand.core.text.formatting import count, listing, plural


@dataclass(frozen=True)
class Form:
    """How findings of one kind become headlines.

    Attributes:
        headlines: Of a finding: those beyond chance, or else the largest that chance can explain.
        silence: What is said of a finding that has none beyond chance; None: nothing.
    """

    headlines: Callable[[Finding, Subject], list[Headline]]
    silence: Callable[[Finding, Subject], str | None]


_FORMS: Mapping[FirstLine, Form] = {"mistakes": Form(mistakes.headlines, mistakes.silence)}


def overview_of(findings: Findings, manifest: Mapping[str, Any]) -> Overview:
    """The first lines of a run.

    Args:
        findings: With their cards; a card's ``first_line`` says how its findings are spoken of.
        manifest: What the run was about: nouns, columns, level.

    Returns:
        Headlines of all groupings, what matters most first; sentences on what is silent; checks. Every number
        is one of ``findings``.
    """
    subject = Subject.of(manifest)
    leading = [(finding, _FORMS[finding.card.first_line]) for finding in findings if finding.card.first_line]
    every = [line for finding, form in leading for line in form.headlines(finding, subject)]
    beyond = sorted((line for line in every if line.beyond), key=lambda line: line.weight, reverse=True)
    quiet = [text for finding, form in leading if (text := form.silence(finding, subject))]
    title, lead = _title(beyond, [finding for finding, _ in leading], quiet, subject)
    return Overview(
        title=title,
        lead=lead,
        kicker=_kicker([finding for finding, _ in leading], beyond, subject),
        headlines=tuple(beyond or sorted(every, key=lambda line: line.weight, reverse=True)[:1]),
        silent=tuple(quiet if beyond else quiet[1:]),
        checks=(*_warnings(findings), *_left_out(findings, subject)),
    )


def _title(
    beyond: Sequence[Headline], leading: Sequence[Finding], quiet: Sequence[str], subject: Subject
) -> tuple[str, str]:
    if beyond:
        return beyond[0].text, beyond[0].sentence
    groupings = listing(dict.fromkeys(subject.attribute(finding.grouping) for finding in leading), "or")
    return f"Nothing differs by {groupings} beyond chance." if groupings else "", "".join(quiet[:1])


def _kicker(leading: Sequence[Finding], beyond: Sequence[Headline], subject: Subject) -> str:
    """How many things differ, by what, and of how many rows."""
    groupings = list(dict.fromkeys(finding.grouping for finding in leading))
    numbers = {grouping: sum(line.by == grouping for line in beyond) for grouping in groupings}
    texts = [f"{plural(n, 'finding')} by {subject.attribute(by)}" for by, n in numbers.items() if n]
    if not texts:
        texts = [f"No finding by {listing(map(subject.attribute, groupings), 'or')}"] if groupings else []
    if leading:
        texts += [plural(len(leading[0].groups), "group")] if len(groupings) == 1 else []
        rows = f"{count(leading[0].n)} of {count(subject.rows)}" if subject.rows else count(leading[0].n)
        texts.append(f"{rows} {subject.noun}")
    return " · ".join(texts)


def _warnings(findings: Findings) -> list[str]:
    return [one_line(warning.message) for warning in findings.warnings]


def _left_out(findings: Findings, subject: Subject) -> list[str]:
    """Rows that no grouping could use, by reason, once."""
    reasons: dict[str, float] = {}
    for finding in findings:
        for lost in finding.dropped:
            if "class:" not in lost.reason:
                reasons[lost.reason] = max(reasons.get(lost.reason, 0.0), lost.count)
    if not reasons:
        return []
    columns = {"missing truth": subject.truth, "missing prediction": subject.prediction}
    texts = [
        f"{count(n)} without {columns.get(reason, reason.removeprefix('missing '))}"
        if reason.startswith("missing ")
        else f"{count(n)}: {reason}"
        for reason, n in reasons.items()
    ]
    return [f"{LEFT_OUT}{listing(texts)}."]
