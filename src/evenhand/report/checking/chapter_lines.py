"""What chapters say in sentences, compared with their findings and with the first lines of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from evenhand.core.findings import Finding, Findings, Part, ends_of
from evenhand.core.nouns import words_of
from evenhand.core.significance import alpha_of, excludes, p_shown, reference_of
from evenhand.display.overview.content import Overview
from evenhand.display.overview.subject import Subject
from evenhand.display.text.statement import said
from evenhand.report.chapters import Chapter, in_chapters
from evenhand.report.checking.read_back import Contradiction, first_screen, plain_text
from evenhand.report.checking.sourced import is_any, numbers_in, truly_beyond, unlike
from evenhand.report.checking.support import names_of
from evenhand.report.page import chapter_words
from evenhand.report.wording.effects import BY_INTERVAL, BY_P
from evenhand.report.wording.sentences import MISTAKES_DIFFER

_NONE = ("In none", "No difference", "Neither", "{size}, no more than chance gives")
_NO_PROOF = "does not prove fairness"
_SOME = (
    "there is one",
    "more than chance explains",
    "Mistakes differ",
    "Groups differ",
    "first more than chance",
)
"""What patterns say of chapters with nothing, and with something, beyond chance."""


def wrong_chapters(
    findings: Findings, manifest: Mapping[str, Any], overview: Overview
) -> Iterator[Contradiction]:
    """What the sentences of all chapters of a run say wrong."""
    subject = Subject.of(manifest, findings)
    headlined = {line.metric for line in overview.beyond}
    for chapter in in_chapters(findings, words_of(manifest)):
        verdict = chapter_words.verdict(chapter, subject.alpha)
        sentences = chapter_words.finding_sentences(chapter, subject.alpha)
        yield from wrong_sentences(chapter, verdict, sentences, subject, headlined)


def unprinted(
    page: str, where: str, findings: Findings, manifest: Mapping[str, Any]
) -> Iterator[Contradiction]:
    """Verdicts and sentences of chapters that a page does not print, in the language that is spoken now."""
    text, alpha = first_screen(page, is_whole=True), alpha_of(manifest)
    for chapter in in_chapters(findings, words_of(manifest)):
        verdict = chapter_words.verdict(chapter, alpha)
        for sentence in (verdict, *chapter_words.finding_sentences(chapter, alpha)):
            if plain_text(sentence) not in text:
                yield Contradiction(sentence, f"{chapter.title!r} does not print it", where)


def wrong_sentences(
    chapter: Chapter, verdict: str, sentences: Sequence[str], subject: Subject, headlined: Set[str]
) -> Iterator[Contradiction]:
    """What the sentences of one chapter say wrong.

    Numbers have to be those of the chapter's findings, whole ones may count these, their parts or groups; how
    many classes are beyond chance is counted again; and the verdict has to be that of what is tested.
    ``headlined`` are metrics of findings that the first lines call beyond chance.
    """
    names = {name for finding in chapter.findings for name in names_of(finding, subject)}
    values = {value for finding in chapter.findings for value in _numbers_of(finding)}
    most = max(len(holder) for finding in chapter.findings for holder in (finding.parts, finding.groups))
    if any(finding.card.of is not None for finding in chapter.findings):  # of two models the better one first
        values |= {-value for value in values}
    values |= {float(name) for name in names if name.replace(".", "", 1).isdigit()}
    numbers = {*values, *map(float, range(max(most, len(chapter.findings)) + 1)), subject.alpha}
    for text in (verdict, *sentences):
        yield from unlike(text, names, lambda slot: is_any(slot.value, numbers))
        yield from _classes(text, chapter, subject.alpha)
    yield from _verdict(verdict, chapter, headlined, subject.alpha)


def _numbers_of(finding: Finding) -> Iterator[float]:
    """All that a finding, its parts, groups and contrasts have."""
    holders: Sequence[Finding | Part] = (finding, *finding.parts)
    for holder in holders:
        ends = [*(ends_of(holder.interval) or ()), *(ends_of(holder.null) or ())]
        levels = [band.level for band in (holder.interval, holder.null) if band is not None]
        fields = (
            holder.value,
            holder.corrected,
            holder.chance_at,
            holder.p_value,
            holder.p_adjusted,
            holder.n,
        )
        for number in (*fields, *ends, *levels, *holder.details.values()):
            if isinstance(number, int | float):
                yield float(number)
    yield from (float(group.n) for group in finding.groups)
    yield from (contrast.value for contrast in finding.contrasts if contrast.value is not None)
    for value in finding.params.values():
        several = value if isinstance(value, list) else [value]
        yield from (float(number) for number in several if isinstance(number, int | float))


def _classes(text: str, chapter: Chapter, alpha: float) -> Iterator[Contradiction]:
    """How many classes are beyond chance, or have a p at most the limit, of how many that were tested."""
    tested = [part for part in chapter.classes if p_shown(part) is not None]
    by_p = [part for part in tested if (p_shown(part) or 0.0) <= alpha]
    beyond = [part for part in by_p if excludes(part.interval, reference_of(part))]
    for part in said(text).statements():
        is_verdict = part.pattern == MISTAKES_DIFFER and not part.places["rest"]
        if part.pattern in (BY_P, BY_INTERVAL) or is_verdict:
            places = part.places["classes"].places if is_verdict else part.places
            expected = len(by_p if part.pattern == BY_P else beyond), len(tested)
            n = places["n"] if isinstance(places["n"], int) else 0  # none of them
            if (n, numbers_in(places["classes"])["n"]) != expected:
                yield Contradiction(text, f"n of classes is {expected[0]} of {expected[1]}")


def _verdict(text: str, chapter: Chapter, headlined: Set[str], alpha: float) -> Iterator[Contradiction]:
    """Whether something is beyond chance where a chapter says so, and nothing where it says none is."""
    findings = [finding for finding in chapter.findings if finding.role != "exploratory"]
    beyond = [finding for finding in findings if truly_beyond(finding, alpha)]
    patterns = [part.pattern for part in said(text).statements()]
    is_some = any(words in pattern for pattern in patterns for words in _SOME)
    if not is_some and any(pattern.startswith(_NONE) or _NO_PROOF in pattern for pattern in patterns):
        for finding in findings:
            if finding.metric in headlined or finding in beyond:
                yield Contradiction(text, f"{finding.metric} is beyond chance")
    parts = [part for finding in findings for part in finding.parts if (p_shown(part) or 1.0) <= alpha]
    if is_some and not beyond and not parts:
        yield Contradiction(text, "nothing in this chapter is beyond chance")
