"""Sentences on metrics that belong to no family, from their declarations alone."""

from __future__ import annotations

from evenhand.core.findings import Finding, Part
from evenhand.core.nouns import Nouns
from evenhand.core.significance import is_beyond, significance_of
from evenhand.display.text.formatting import key_text, listing, number, short_label, visible_label
from evenhand.display.text.language import _
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement, bracketed
from evenhand.report.chapters import Chapter
from evenhand.report.facets import row_params
from evenhand.report.wording.phrases import NOT_ESTIMABLE, against_null, is_tested, value_of, value_or_0

UNTESTED = "The findings are listed below, without tests."


def without_tests(chapter: Chapter) -> str:
    """What is said where nothing was tested: values without tests, or none that could be estimated."""
    has_value = any(finding.value is not None for finding in chapter.findings)
    return _(UNTESTED if has_value else NOT_ESTIMABLE)


def speaks_of_all(chapter: Chapter) -> bool:
    """Whether no finding of a chapter belongs to a family, or compares models."""
    return len(_of(chapter)) == len(chapter.findings)


def verdict(chapter: Chapter, alpha: float) -> str:
    """Which of these findings lie beyond chance; nothing where a chapter has none, or none was tested."""
    tested = [finding for finding in _of(chapter) if finding.value is not None and is_tested(finding)]
    if not tested:
        return ""
    hits = [finding for finding in tested if is_beyond(finding, alpha)]
    if not hits:
        names = listing(dict.fromkeys(_name(finding) for finding in tested))
        return _("Within what chance alone gives: {names}. That does not prove fairness.", names=names)
    return Statement.joined(_beyond(finding, chapter.words.nouns, alpha) for finding in hits)


def finding_sentences(chapter: Chapter) -> list[str]:
    """Each of these findings beside what chance alone gives, with its lowest and highest part."""
    return [_in_words(finding, chapter.words.nouns) for finding in _of(chapter)]


def _of(chapter: Chapter) -> list[Finding]:
    """Findings that somebody declared, that compare no models, are of no family, and make no headline."""
    return [
        finding
        for finding in chapter.findings
        if finding.is_declared
        and not (finding.card.family or finding.card.first_line == "mistakes" or finding.card.of is not None)
    ]


def _name(finding: Finding) -> str:
    params = row_params(finding, None)
    return f"{finding.card.title} ({params})" if params else finding.card.title


def _beyond(finding: Finding, nouns: Nouns, alpha: float) -> str:
    by = _(" by {by}", by=listing(map(nouns.attribute, finding.by))) if finding.by else ""
    side = significance_of(finding, alpha).side
    rounding = Rounding.of(finding)
    chance = bracketed(rounding.span(finding.null)) if finding.null else ""
    side = side if side in ("above", "below") else "beyond"
    return _(
        "{name}{by} is {value}, {where}{chance}.",
        name=_name(finding),
        by=by,
        value=rounding.text(finding.value),
        where=_(f"{side} what chance alone gives"),
        chance=chance,
    )


def _in_words(finding: Finding, nouns: Nouns) -> str:
    if finding.value is None:
        return _("{name} is not estimable.", name=_name(finding))
    sentence = _(
        "{name} is {value}{null}",
        name=_name(finding),
        value=value_of(finding),
        null=against_null(finding),
    )
    parts = [part for part in finding.parts if part.value is not None]
    if len(parts) > 1:
        ends = (choose(parts, key=value_or_0) for choose in (min, max))
        low, high = (
            Statement.of("{value} ({key})", value=number(part.value), key=_key(part, finding, nouns))
            for part in ends
        )
        sentence += _("; from {low} to {high}", low=low, high=high)
    return sentence + "."


def _key(part: Part, finding: Finding, nouns: Nouns) -> str:
    """What a part is called; a group as the benchmark calls its members."""
    if part.kind == "group" and len(finding.by) == 1 and isinstance(part.key, str):
        return visible_label(nouns.members(finding.by[0], part.key))
    return short_label(key_text(part.key))
