"""Which sentences a chapter gets: those of the family of its metrics, and the declarations of all others."""

from __future__ import annotations

from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement
from evenhand.report.chapters import Chapter
from evenhand.report.comparison import view as comparison
from evenhand.report.suppression.findings import REASON
from evenhand.report.wording import associations, declared, pronouns, rankings, sentences

_FAMILIES = (comparison, pronouns, rankings, associations)


def _is_hidden(chapter: Chapter) -> bool:
    """Whether no value of a chapter is shown, and cells of few rows are why."""
    missing = [finding.reason for finding in chapter.findings if finding.value is None]
    return len(missing) == len(chapter.findings) and REASON in missing


def verdict(chapter: Chapter, alpha: float) -> str:
    """The line to remember."""
    if _is_hidden(chapter):
        return _("The findings are hidden, because too few rows are behind them.")
    text = next(filter(None, (family.verdict(chapter, alpha) for family in _FAMILIES)), "")
    if not text and not declared.speaks_of_all(chapter):
        text = sentences.verdict(chapter, alpha)
    return Statement.joined((text, declared.verdict(chapter, alpha))) or declared.without_tests(chapter)


def finding_sentences(chapter: Chapter, alpha: float) -> list[str]:
    """What was found, in sentences."""
    if _is_hidden(chapter):
        return []
    texts = (
        comparison.finding_sentences(chapter, alpha)
        or pronouns.finding_sentences(chapter, alpha)
        or rankings.finding_sentences(chapter)
        or associations.finding_sentences(chapter, alpha)
    )
    if not texts and not declared.speaks_of_all(chapter):
        texts = sentences.finding_sentences(chapter, alpha)
    return [*texts, *declared.finding_sentences(chapter)]


def null_in_words(chapter: Chapter) -> str:
    """What the null bands are."""
    return (
        pronouns.null_in_words(chapter)
        or rankings.null_in_words(chapter)
        or associations.null_in_words(chapter)
    )
