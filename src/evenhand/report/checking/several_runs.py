"""Pages over several runs, read back: marks, values, headlines and counts are those of the runs."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

from scipy.stats import false_discovery_control

from evenhand.core.cards import SHARES
from evenhand.core.findings import Finding, ends_of
from evenhand.core.significance import alpha_of, lead_of, p_shown
from evenhand.display.overview.content import Overview
from evenhand.display.overview.overview import overview_of
from evenhand.display.text.formatting import plural, shorten
from evenhand.report.checking.printed_numbers import NUMBER, PrintedNumber
from evenhand.report.checking.read_back import Contradiction, claims_beside, plain_text, statements
from evenhand.report.checking.sourced import truly_beyond
from evenhand.report.page.index import IndexedRun
from evenhand.report.page.suite import SuiteCell, SuiteQuestion

_SUITE, _INDEX = "suite page", "index"
_LONGEST = 300  # characters of a first line on the page of a suite
_OVER_TIME = re.compile(rf"(?P<title>.+): (?P<first>{NUMBER}) at first, (?P<here>{NUMBER}) here")


@dataclass(eq=False)
class _Item:
    """A cell of the table of a page, or a line of a list: what is read, and the attributes in it."""

    attributes: dict[str, str]
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return plain_text("".join(self.pieces))


class _Page(HTMLParser):
    """Rows of the table of a page, lines of its lists, and the rest of what is read."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[_Item]] = []
        self.lines: list[_Item] = []
        self.rest = self._open = _Item({})
        self._is_code = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th", "li"):
            self._open = _Item(values)
            (self.lines if tag == "li" else self.rows[-1]).append(self._open)
        else:
            self._open.attributes |= values
        self._is_code = tag in ("style", "script")
        self._open.pieces.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._open.pieces.append(" ")
        self._is_code = False
        if tag in ("td", "th", "li"):
            self._open = self.rest

    def handle_data(self, data: str) -> None:
        self._open.pieces.append("" if self._is_code else data)


@dataclass(frozen=True, eq=False)
class _Mark:
    """A cell of a suite as it is printed, and the finding that it shows."""

    question: SuiteQuestion
    cell: SuiteCell
    item: _Item
    p: float | None = None  # corrected over the page

    @property
    def finding(self) -> Finding | None:
        metric = self.item.attributes.get("data-metric")
        return next((finding for finding in self.cell.findings or () if finding.metric == metric), None)

    @property
    def overview(self) -> Overview | None:
        return None if self.cell.findings is None else overview_of(self.cell.findings, self.cell.manifest)

    @property
    def beyond(self) -> bool:
        """The verdict, with p that is corrected over the page."""
        corrected = self.finding and self.finding.model_copy(update={"p_adjusted": self.p})
        return corrected is not None and truly_beyond(corrected, alpha_of(self.cell.manifest))


def check_suite(page: str, questions: Sequence[SuiteQuestion]) -> list[Contradiction]:
    """What the page of a suite says wrong of its runs; what a run says itself, ``check`` reads.

    Each mark, value, interval, band and verdict is compared with the finding of its cell, p being corrected
    here once more by the method of Benjamini and Hochberg (1995). A first line has to be that of the run;
    where the page's correction leaves less of it, the page has to say so.
    """
    read = _Page(page)
    marks = [
        _Mark(question, cell, item)
        for column, question in enumerate(questions, 1)
        for cell, row in zip(question.cells, read.rows[1:], strict=True)
        for item in row[column : column + 1]
    ]
    p_values = [None if mark.finding is None else p_shown(mark.finding) for mark in marks]
    tests = [p for p in p_values if p is not None]
    adjusted = iter(false_discovery_control(tests) if tests else ())
    marks = [
        mark if p is None else _Mark(mark.question, mark.cell, mark.item, float(next(adjusted)))
        for mark, p in zip(marks, p_values, strict=True)
    ]
    wrong = [contradiction for mark in marks for contradiction in _wrong_mark(mark)]
    lines = iter(read.lines)
    for question in questions:
        entries = [next(lines, _Item({})).text for _ in (*question.cells, *question.notes)]
        wrong += _wrong_lines(entries, [mark for mark in marks if mark.question is question], len(tests))
    number = re.search(rf"over the ({NUMBER}) tests", read.rest.text)
    if len(tests) > 1 and (number is None or not PrintedNumber(number[1], False).stands_for(len(tests))):
        wrong.append(Contradiction(number[0] if number else "", f"there are {len(tests)} tests", _SUITE))
    return wrong


def _wrong_mark(mark: _Mark) -> Iterator[Contradiction]:
    """A cell of the table: which numbers it prints in which order, and its verdict."""
    finding, text = mark.finding, mark.item.text
    if finding is None:
        if re.search("●|○", text):
            yield Contradiction(text, f"{mark.cell.model} has no such finding", _SUITE)
        return
    ends = [*(ends_of(finding.interval) or ()), *((not finding.corrected and ends_of(finding.null)) or ())]
    printed = [PrintedNumber(number, finding.card.unit in SHARES) for number in re.findall(NUMBER, text)]
    for number, value in zip(printed, [lead_of(finding), *ends], strict=False):
        if not number.stands_for(value):
            yield Contradiction(text, f"{number.text} should be {value:.6g}", _SUITE)
    if len(printed) != 1 + len(ends):
        yield Contradiction(text, f"it prints {len(printed)} of {1 + len(ends)} numbers", _SUITE)
    verdict = "beyond chance" if mark.beyond else "not tested" if mark.p is None else "within chance"
    if not text.startswith("●" if mark.beyond else "○") or not text.endswith(verdict):
        yield Contradiction(text, f"it is {verdict}", _SUITE)


def _wrong_lines(entries: Sequence[str], marks: Sequence[_Mark], tests: int) -> Iterator[Contradiction]:
    """The list of a question: a line for each model, those beyond chance first, and notes."""
    places = []
    for mark in marks:
        name, overview = plain_text(shorten(mark.cell.model)), mark.overview
        begin = mark.cell.problem if overview is None else overview.title
        if overview is not None and overview.beyond and mark.finding is not None and not mark.beyond:
            begin = f"Within chance over the {plural(tests, 'test')} of this page. By itself: {begin}"
        if overview is not None and mark.finding is None:
            begin = ""  # why it has no value
        line = plain_text(f"{name} {shorten(begin, _LONGEST)}")
        index = next((at for at, text in enumerate(entries) if text.startswith(line)), None)
        if index is None:
            yield Contradiction(line, f"{mark.question.name} does not print it", _SUITE)
            continue
        places.append((index, not mark.beyond))
        texts = [begin] if overview is None else [*statements(overview), shorten(overview.title, _LONGEST)]
        for claim in claims_beside(entries[index], texts):
            yield Contradiction(claim, f"no statement of {mark.cell.model} says so", _SUITE)
    order = [is_within for _, is_within in sorted(places)]
    if order != sorted(order):
        yield Contradiction(" ".join(entries), "what is beyond chance does not come first", _SUITE)


def check_index(page: str, runs: Sequence[IndexedRun]) -> list[Contradiction]:
    """What the page over many runs says wrong: headlines, how many are beyond chance, values over time.

    What a run says itself, ``check`` reads.
    """
    read, wrong = _Page(page), []
    series: dict[str, list[tuple[IndexedRun, _Item]]] = defaultdict(list)
    for run in runs:
        folder = plain_text(shorten(run.folder, 80))
        if run.findings is None:
            if not any(line.text.startswith(f"{folder} : ") for line in read.lines):
                wrong.append(Contradiction(run.problem, f"{folder} is not listed as unreadable", _INDEX))
            continue
        overview = overview_of(run.findings, run.manifest)
        row = next((row for row in read.rows[1:] if row[1].text.endswith(f" {folder}")), None)
        if row is None:
            wrong.append(Contradiction(overview.title, f"{folder} has no row", _INDEX))
            continue
        headline, _, _, beyond, over_time, _ = row
        title = overview.title or plural(len(run.findings), "finding")
        if headline.text != plain_text(f"{title} {overview.kicker}"):
            wrong.append(Contradiction(headline.text, f"{folder} says {title!r}", _INDEX))
        if beyond.text != str(len(overview.beyond)):
            wrong.append(Contradiction(beyond.text, f"{folder} has {len(overview.beyond)} headlines", _INDEX))
        if "points" in over_time.attributes:
            series[over_time.attributes["points"]].append((run, over_time))
    for members in series.values():
        members.sort(key=lambda member: str(member[0].manifest.get("created") or ""))
        for run, item in members:
            wrong += _wrong_over_time(item.text, run, members[0][0])
    return [
        *wrong,
        *(Contradiction(claim, "no run says so", _INDEX) for claim in claims_beside(read.rest.text, ())),
    ]


def _wrong_over_time(text: str, run: IndexedRun, first: IndexedRun) -> Iterator[Contradiction]:
    """The first value of a series, and that of this run."""
    match = _OVER_TIME.fullmatch(text)
    for of, name in ((first, "first"), (run, "here")):
        values = [
            finding.value
            for finding in of.findings or ()
            if match and finding.card.title == match["title"] and finding.value is not None
        ]
        if match is None or not any(map(PrintedNumber(match[name], False).stands_for, values)):
            yield Contradiction(text, f"{of.folder} has no such value", _INDEX)
