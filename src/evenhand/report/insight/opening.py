"""The first screen of a report: one headline, its picture, how much, how sure, and what to do next."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand.core.findings import Finding, Findings
from evenhand.display.overview.content import Headline, Overview, with_command
from evenhand.display.overview.overview import overview_of
from evenhand.display.overview.subject import Subject
from evenhand.display.text.formatting import short_label
from evenhand.display.text.language import _
from evenhand.report.content import ReportInput
from evenhand.report.insight.drawing import Picture, draw
from evenhand.report.suppression.suppress import REASON

_MOST_HEADLINES = 3
_MOST_SENTENCES = 8  # of runs without headlines
_KEPT_TOGETHER = 12  # letters that no line break parts: p and its number
_END, _BRACKET = re.compile(r"[,.](?=\s|$)"), re.compile(r" \(")
_COMMAND = re.compile(r"evenhand [a-z]+ [A-Z]+( [A-Z]+)*")
_HIDDEN = "The headline is hidden, because cells of few rows are."


@dataclass(frozen=True)
class Fact:
    """A fact beside the picture."""

    name: str  # what it answers
    texts: Sequence[tuple[str, str]]  # how a piece is set (``strong``, ``code``, ``cases`` or nothing), text


@dataclass(frozen=True)
class Opening:
    """What stands above everything else."""

    kicker: Sequence[str]  # how many things differ, by what, of how many rows
    title: Sequence[tuple[bool, str]]  # whether a piece has the colour of the picture's named row, text
    lead: str  # the headline in full
    others: Sequence[tuple[str, str]]  # the next headlines: text, certainty
    more: int  # how many headlines beyond chance are not among them
    drawing: Picture | None
    facts: Sequence[Fact]  # how much, how sure
    next: Fact | None  # what to do next; None: nothing says
    silent: Sequence[str]  # where nothing differs
    checks: Sequence[tuple[str, str, str]]  # before relying on it: text, what to do, options to type
    caveat: str  # what no number here can show
    is_beyond: bool  # of the headline: elsewhere nothing but links is inked
    by: str  # the grouping of the headline; empty: there is none
    rows: Mapping[str, str]  # what the rows behind the headline have in common, by column
    sentences: Mapping[str, Sequence[str]]  # headlines beyond chance in full, by finding


@dataclass(frozen=True)
class Verdict:
    """What a grouping's findings say in sentences, for runs without headlines."""

    name: str  # the grouping
    text: str  # the sentence to remember
    sentences: Sequence[str]  # the others


def _check(check: str) -> tuple[str, str, str]:
    """A check that may be folded, the sentence that says what to do, and the options to type."""
    sentence, command = with_command(check)
    text, stop, advice = sentence.rpartition(". ")
    return (f"{text}.", advice, command) if command and stop else (sentence, "", command)


def opening(content: ReportInput, verdicts: Sequence[Verdict], *, question: str, has_cases: bool) -> Opening:
    """What a report says first, of a run with small cells hidden already.

    Verdicts and ``question`` are for the first screen of runs without headlines.
    """
    overview, is_hidden = _overview(content)
    first = overview.headlines[0] if overview.headlines and not is_hidden else None
    beyond, most = overview.beyond, _MOST_HEADLINES - 1
    title, lead, others = overview.title, overview.lead, [(line.text, line.sureness) for line in beyond[1:]]
    if is_hidden:
        title, others = _(_HIDDEN), [(line.text, line.sureness) for line in beyond]
        lead = _hidden_lead(content)
    elif not title and verdicts:
        title, lead, others, most = verdicts[0].text, question, _further_sentences(verdicts), _MOST_SENTENCES
    return Opening(
        kicker=_kicker(overview, verdicts, is_hidden=is_hidden),
        title=_title(title or _without_headline(content), first),
        lead=lead,
        others=others[:most],
        more=len(others[most:]),
        drawing=draw(first.chart) if first and first.chart and first.chart.marks else None,
        facts=_facts(first),
        next=_next(first, has_cases=has_cases),
        silent=() if is_hidden else overview.silent,
        checks=[_check(f"{check[:1].upper()}{check[1:]}") for check in overview.checks],
        caveat=overview.caveat,
        is_beyond=first is not None and first.beyond,
        by=first.by if first else "",
        rows=first.rows if first else {},
        sentences={
            metric: [line.sentence for line in beyond if line.metric == metric]
            for metric in dict.fromkeys(line.metric for line in beyond)
        },
    )


def _without_headline(content: ReportInput) -> str:
    if len(content.findings):
        return _("Nothing was tested.")
    if content.manifest.get("kind") == "compare":
        return _("No metric of these runs is compared by a test; their values stand side by side.")
    return _("The run holds no findings.")


def _hidden_lead(content: ReportInput) -> str:
    """What is hidden beside the headline."""
    if not any(finding.card.first_line == "mistakes" for finding in content.findings):
        return _(
            "Counts of fewer than {fewest} {noun} are hidden in this report, and so is every finding that "
            "would tell them.",
            fewest=content.fewest,
            noun=Subject.of(content.manifest).noun,
        )
    return _(
        "Counts of fewer than {fewest} rows are hidden in this report, and so is every "
        "mistake that one group gets more often: its counts would tell them. A rate that is "
        "shown says how many rows are right or wrong, however few.",
        fewest=content.fewest,
    )


def _further_sentences(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """The sentences under the first one, and what the other groupings say."""
    others = [f"{verdict.name}: {verdict.text}" for verdict in verdicts[1:]]
    return [(text, "") for text in (*verdicts[0].sentences[: _MOST_SENTENCES // 2], *others)]


def _kicker(overview: Overview, verdicts: Sequence[Verdict], *, is_hidden: bool) -> list[str]:
    """How many things differ; of runs without headlines what the first sentence is about."""
    if overview.kicker and not is_hidden:
        return overview.kicker.split(" · ")
    return [verdict.name for verdict in verdicts[:1]]


def _overview(content: ReportInput) -> tuple[Overview, bool]:
    """The first lines of what may be shown, and whether the headline is hidden.

    It is where a mistake may be it, and where nothing else differs: hidden is not the same as none.
    """
    open_findings = [finding for finding in content.findings if not _is_hidden(finding)]
    gone = [finding for finding in content.findings if _is_hidden(finding)]
    findings: Findings = content.findings.model_copy(update={"findings": open_findings})
    asked = any(finding.role == "primary" for finding in gone)
    overview = overview_of(findings, content.manifest, hides_questions=asked)
    is_of_mistakes = any(finding.card.first_line == "mistakes" for finding in gone)
    return overview, is_of_mistakes or bool(gone and not overview.beyond)


def _is_hidden(finding: Finding) -> bool:
    """Whether first lines of a finding would lack numbers, because small cells are hidden."""
    if not finding.card.first_line and finding.role != "primary":
        return False
    counts = [finding.n, *(part.n for part in finding.parts), *(group.n for group in finding.groups)]
    return REASON in (finding.reason, *(part.reason for part in finding.parts)) or min(counts) < 0


def _title(text: str, first: Headline | None) -> list[tuple[bool, str]]:
    """The headline; what it begins with is in the colour of the picture where this names it."""
    marks = first.chart.marks if first and first.beyond and first.chart else ()
    labels = [re.escape(short_label(mark.label)) for mark in marks if mark.beyond]
    match = re.match(rf"(?:{'|'.join(labels)})(?!\w)", text, re.IGNORECASE) if labels else None
    return [(True, match[0]), (False, text[match.end() :])] if match else [(False, text)]


def _facts(first: Headline | None) -> list[Fact]:
    """Answers to the questions that a headline leaves."""
    if first is None:
        return []
    chance = [("", f"{first.chance} ")] if first.chance else []
    if first.beyond:  # bold follows the test, as filled marks do
        size = _split(first.size, _BRACKET)
        sure = _split(first.certainty, _END)
    else:
        is_said = first.size.partition(" (")[0] in first.text
        size = [("", first.size if is_said else f"{first.text} {first.size}")]
        sure = [("", first.certainty)]
    facts = [
        Fact(_("How much") if first.beyond or not first.by else _("The largest difference"), size),
        Fact(_("How sure"), [*chance, *sure]),
    ]
    return [fact for fact in facts if any(text.strip() for _, text in fact.texts)]


def _next(first: Headline | None, *, has_cases: bool) -> Fact | None:
    if first is None or not first.beyond or not first.steps:
        return None
    return Fact(_("Do next"), [piece for step in first.steps for piece in _step(step, has_cases=has_cases)])


def _split(text: str, sign: re.Pattern[str]) -> list[tuple[str, str]]:
    """A sentence whose beginning counts most."""
    match = sign.search(text)
    if match is None:
        return [("", text)]
    before = text[: match.start()]
    strong = before.replace(" ", "\u00a0") if len(before) <= _KEPT_TOGETHER else before
    return [("strong", strong), ("", text[match.start() :])]


def _step(text: str, *, has_cases: bool) -> list[tuple[str, str]]:
    """What to do next: a command as such, and what is about rows as a link to them."""
    match = _COMMAND.search(text)
    if match:
        return [("", text[: match.start()]), ("code", match[0]), ("", f"{text[match.end() :]} ")]
    before, sign, after = text.partition(":")
    if has_cases and sign and before.startswith(_("Read the ")):
        return [("cases", before), ("", f":{after} ")]
    return [("", f"{text} ")]
