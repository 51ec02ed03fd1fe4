"""The questions that findings answer: what a report's folded tables are called, and what each leads with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand.core.cards import SHARES, MetricCard
from evenhand.core.findings import Finding
from evenhand.display.text.formatting import DASH, count
from evenhand.display.text.language import _
from evenhand.report.chapters import Chapter
from evenhand.report.page import downloads
from evenhand.report.page.chapter_view import ChapterView
from evenhand.report.views.frames import PageData
from evenhand.report.views.rows import Row

_RIGHT, _SAME = "Is it right equally often?", "Does it make the same mistakes?"
_LABELS, _HITS = "Does it hand out labels alike?", "Are hits and false alarms alike?"
_ALL, _OTHERS = "All findings", "Other findings"
_OF_FAMILIES = {
    "pronouns": "Does it resolve pronouns alike?",
    "rankings": "Who comes first in its rankings?",
    "associations": "Whom does it tie to what?",
    "reductions": "What does the mitigation change?",
    "households": "Does it recognise all households alike?",
    "labels": "Whom does it give which labels?",
    "neighbours": "Who are the neighbours of whom?",
}
_ORDER = (_RIGHT, _SAME, _LABELS, _HITS, *_OF_FAMILIES.values(), _OTHERS)


@dataclass(frozen=True)
class Table:
    """Findings of one grouping that answer a question."""

    chapter: Chapter
    anchor: str  # of its heading
    sheet: str  # of its file
    interval_title: str  # heading of the column of intervals
    shared: str  # what all of its lines have in common
    lines: Sequence[Row]


@dataclass(frozen=True)
class QuestionView:
    """A question with its findings."""

    id: str  # its anchor
    title: str
    lead: str  # the finding that it leads with, in words
    more: int  # how many others there are
    tables: Sequence[Table]  # one for each grouping


def question_of(card: MetricCard) -> str:
    """The question that a metric answers, from what it declares."""
    if card.of is not None:  # a difference of models answers what they answer
        return question_of(card.of)
    if card.made_of == "shares":
        return _HITS if "where it differs" in card.tags else _LABELS
    if card.made_of == "one table":
        return _LABELS
    if card.made_of in ("right rows", "one cell") or (
        card.made_of in ("", "mistakes") and card.unit in SHARES and _of_answers(card)
    ):
        return _RIGHT
    if card.made_of:
        return _SAME
    return _OF_FAMILIES.get(card.family, _OTHERS)


def _of_answers(card: MetricCard) -> bool:
    """Whether a metric is about true and predicted labels."""
    return card.family == "mistakes" or card.made_of == "mistakes"


def questions(groupings: Sequence[ChapterView], data: PageData) -> list[QuestionView]:
    """All findings by question, each with its tables; what the tables hold goes into ``data``."""
    titles = {id(finding): question_of(finding.card) for of in groupings for finding in of.chapter.findings}
    order = [title for title in _ORDER if title in titles.values()]
    if len(order) == 1:
        return [_question(_ALL, 0, groupings, data, titles, order[0])]
    return [_question(title, index, groupings, data, titles, title) for index, title in enumerate(order)]


def _question(
    title: str,
    index: int,
    groupings: Sequence[ChapterView],
    data: PageData,
    titles: dict[int, str],
    wanted_title: str,
) -> QuestionView:
    tables, leads = [], []
    for of in groupings:
        pairs = [
            (finding, line)
            for finding, line in zip(of.chapter.findings, of.lines, strict=True)
            if titles[id(finding)] == wanted_title
        ]
        if not pairs:
            continue
        anchor = f"{of.chapter.id}-findings" if _is_first(of.chapter, titles, wanted_title) else ""
        sheet = f"{of.chapter.id}-findings-{index}"
        downloads.add_findings(data, sheet, [finding for finding, _ in pairs])
        tables.append(
            Table(
                of.chapter, anchor or sheet, sheet, of.interval_title, of.shared, [line for _, line in pairs]
            )
        )
        leads.append((of.chapter, *_leading(pairs)))
    several = len(leads) > 1
    chapter, finding, line = leads[0]
    where = _(" (by {by})", by=chapter.title) if several and chapter.by else ""
    lead = f"{_lead(finding, line)}{where}"
    more = sum(len(table.lines) for table in tables) - 1
    return QuestionView(f"question-{index}", _(title), lead, more, tables)


def _is_first(chapter: Chapter, titles: dict[int, str], title: str) -> bool:
    """Whether this is the first question that a grouping's findings answer."""
    return min(_ORDER.index(titles[id(finding)]) for finding in chapter.findings) == _ORDER.index(title)


def _leading(pairs: Sequence[tuple[Finding, Row]]) -> tuple[Finding, Row]:
    """The finding that a question leads with: a primary one, else one that stands beside chance."""
    for is_fit in (
        lambda finding: finding.role == "primary",
        lambda finding: finding.p_value is not None and finding.value is not None,
        lambda finding: finding.value is not None,
    ):
        fitting = [pair for pair in pairs if is_fit(pair[0])]
        if fitting:
            return fitting[0]
    return pairs[0]


def _lead(finding: Finding, line: Row) -> str:
    """A finding in a line, what chance gives beside a value that is not corrected for it."""
    value = count(finding.value) if finding.card.unit == "count" else line.value
    value = _("corrected {value}", value=value) if line.plain else value
    texts = [f"{line.title} {value}"]
    texts += [_("interval {ends}", ends=line.interval)] if line.interval != DASH else []
    texts += [_("chance alone {ends}", ends=line.null)] if line.null != DASH and not line.plain else []
    reading = f": {line.reading}" if line.reading else ""
    return f"{'; '.join(texts)}{reading}"
