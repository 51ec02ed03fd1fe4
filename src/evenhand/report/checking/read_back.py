"""Pages, terminal text, notebooks and Markdown, read back: what is printed is what the first lines say."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from evenhand.core.findings import Finding
from evenhand.display.overview.brief import sureness
from evenhand.display.overview.content import Overview
from evenhand.display.overview.phrasing import capital
from evenhand.display.text.formatting import key_text, of, short_label
from evenhand.display.text.language import current_catalogue
from evenhand.report.checking.printed_numbers import NUMBER

_OTHER_NUMBER = r"[<>]?[−-]?\d+(?:[.,]\d+)*"
_CLAIMS = {
    "en": re.compile(
        rf"{NUMBER} of {NUMBER}(?![\w%])|\bp (?:= )?<?\d?\.\d+|hance alone would give {NUMBER}"
        rf"|{NUMBER} points? (?:more|fewer)|[Nn]othing differs"
    ),
    "de": re.compile(
        rf"{_OTHER_NUMBER} von {_OTHER_NUMBER}(?![\w%])|\bp (?:= )?<?\d?,\d+"
        rf"|Zufall allein (?:er)?gäbe {_OTHER_NUMBER}|{_OTHER_NUMBER} Prozentpunkte? (?:mehr|weniger)"
        r"|[Nn]ichts unterscheidet sich"
    ),
}
"""What only a statement of a finding says, in each language of reports."""
_MARKDOWN = re.compile(r"\\(?=[^\w\s])")
_UNSEEN = re.compile("[\u2068\u2069\u200b]")
_AROUND = 40  # characters that are shown on both sides of what nobody said


@dataclass(frozen=True)
class Contradiction:
    """A sentence that the run does not bear out."""

    text: str  # the sentence
    why: str
    where: str = ""  # the medium; empty: all, since what they print is wrong


class _ScreenReader(HTMLParser):
    """The text of the first screen of a page, or of a notebook's cell: of the element that has this mark.

    With ``is_whole`` it is the text of all of it.
    """

    def __init__(self, *, is_whole: bool = False) -> None:
        super().__init__()
        self.is_whole = is_whole
        self.texts: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        is_marked = about.get("id") == "finding" or about.get("class") == "evenhand-run"
        if self.open or is_marked or self.is_whole:
            self.open += [] if tag in _VOID else [tag]
            self.texts.append(" " if tag in _BLOCKS else "")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            while self.open.pop() != tag:
                pass
            self.texts.append(" " if tag in _BLOCKS else "")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(data)


_VOID = ("area", "br", "circle", "hr", "img", "input", "line", "link", "meta", "path", "rect", "use", "wbr")
_BLOCKS = ("dd", "div", "dt", "h1", "h2", "li", "p", "span", "svg", "td", "text", "th", "title", "tr")


def first_screen(html: str, *, is_whole: bool = False) -> str:
    """The text of a page's or a notebook cell's first screen, or of all of it, as it is read."""
    reader = _ScreenReader(is_whole=is_whole)
    reader.feed(html)
    return plain_text("".join(reader.texts))


def read_back(
    printed: str, where: str, overview: Overview, findings: Iterable[Finding]
) -> Iterator[Contradiction]:
    """What a medium (HTML, or lines of text) prints that no statement says, and what it leaves out.

    The findings are for the right rows of small groups, which terminals print as counts.
    """
    text = first_screen(printed) if printed.lstrip().startswith("<") else plain_text(printed)
    texts = (*statements(overview), *_right_rows(findings))
    for needed in (overview.title, *(line.text for line in overview.beyond[:1])):
        if plain_text(needed) not in text:
            yield Contradiction(needed, "it is not printed", where)
    for claim in claims_beside(text, texts):
        yield Contradiction(claim, "no statement of the run says so", where)


def claims_beside(text: str, sentences: Iterable[str]) -> Iterator[str]:
    """What a text claims of numbers and differences beside these statements, with the words around it."""
    for statement in sorted(set(map(plain_text, sentences)) - {""}, key=len, reverse=True):
        text = text.replace(statement, " … ")
    for match in _CLAIMS[current_catalogue().code].finditer(text):
        yield text[max(match.start() - _AROUND, 0) : match.end() + _AROUND].strip()


def statements(overview: Overview) -> Iterator[str]:
    """All that first lines say, whole and in pieces, in an order of its own."""
    yield from (overview.title, overview.lead, overview.kicker, overview.caveat)
    yield from (*overview.silent, *overview.checks, *map(capital, overview.checks))
    for line in overview.headlines:
        yield from (line.text, line.sentence, line.size, line.chance, line.certainty, line.remark)
        yield from (sureness(line), line.sureness, *line.steps)
        if line.chart is not None:
            yield from (line.chart.title, line.chart.note, *(mark.text for mark in line.chart.marks))
            yield from (mark.label for mark in line.chart.marks)


def _right_rows(findings: Iterable[Finding]) -> Iterator[str]:
    """Counts that terminals print in place of shares, and their groups."""
    for finding in findings:
        if finding.card.made_of == "right rows":
            for part in finding.parts:
                yield from (
                    of(round((part.value or 0.0) * part.n, 1), part.n),
                    short_label(key_text(part.key)),
                )


def plain_text(text: str) -> str:
    """A text as it is read: without signs that nobody sees, with one space between words."""
    return " ".join(_UNSEEN.sub("", _MARKDOWN.sub("", text)).replace("**", "").split())
