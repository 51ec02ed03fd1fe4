"""What a run says, compared with its findings and counts by a program that makes no sentence."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.findings import Finding, Findings
from evenhand.core.significance import excludes, reference_of
from evenhand.display.overview.content import NOT_TESTED, Headline, Overview
from evenhand.display.overview.overview import overview_of
from evenhand.display.overview.phrasing import title_of
from evenhand.display.overview.subject import Subject
from evenhand.display.text.language import ENGLISH, current_catalogue, written_in
from evenhand.evidence.predictions.counts import Counts
from evenhand.report.checking.chapter_lines import unprinted, wrong_chapters
from evenhand.report.checking.exported_lines import exported_lines, wrong_lines
from evenhand.report.checking.overlaps import wrong_overlaps
from evenhand.report.checking.printed_numbers import NUMBER, PrintedNumber, numbers_in, without_names
from evenhand.report.checking.read_back import Contradiction, read_back
from evenhand.report.checking.silent_lines import wrong_silence
from evenhand.report.checking.sourced import truly_beyond, unsourced, wrong_side
from evenhand.report.checking.support import Support, shown_p, texts_of
from evenhand.report.checking.supports import supports_of
from evenhand.report.checking.translations import mistranslated
from evenhand.report.glossary import in_language

_PAIR = re.compile(rf"({NUMBER}) of (?:the )?({NUMBER})(?![\w%])")
_P = re.compile(r"\bp (?:= )?(<?\d\.\d+)")
_CORRECTED = re.compile(
    rf"corrected for ({NUMBER}) (?:questions|comparisons?|subgroups?)(?: and ({NUMBER}) questions)?"
)
_CHANCE = re.compile(rf"Chance alone would give ({NUMBER}) to ({NUMBER})")
_INTERVAL = re.compile(rf"interval ({NUMBER}) to ({NUMBER})")
_BETTER_OR_WORSE = re.compile(r"; (?P<who>.+?) is (?P<word>better|worse), more than chance gives")
_FIRST_PLACES = re.compile(rf"take {NUMBER} of {NUMBER} first places")
_LOWER_OR_HIGHER = re.compile(r": (?P<word>lower|higher) with (?P<first>.+?) than with (?P<second>.+?)\.$")
_IS_BETTER_THAN = re.compile(
    r"(?P<title>.+?): (?P<newer>.+?) is (?P<amount>.+?) (?P<word>better|worse) than "
    r"(?P<older>.+?)(?:, | · |$)"
)
_MEASURED = rf"(?P<number>{NUMBER})(?P<unit> ?%| points?\b)?"
_NOTHING = re.compile(r"Nothing differs by (.+?) beyond chance\.")
_ONE_OF_MANY = "in a single comparison"
_PAGE = "<!doctype html"


def check(
    findings: Findings,
    manifest: Mapping[str, Any],
    counts: Counts | None = None,  # of its predictions; None where it keeps none
    *,
    language: str = ENGLISH,  # of the media; their numbers, names and verdicts have to be the English ones
    **printed: str,
) -> list[Contradiction]:
    """What first lines and chapters of a run say wrong: empty where a program finds nothing.

    Every number of a headline, its size and its band is looked up among those of its finding, in its unit;
    counts of mistakes and right rows are counted again where the run keeps its counts. Compared are who has
    to be named, what each side has, which is more, nearer or better, p and what it is corrected for, the
    verdict, interval and band as they are printed, which of two models is called better, how many rows two
    headlines share, and of sentences on what is within chance value, p, verdict and reason. Of chapters
    numbers and verdicts are compared. Pages of suites and the index of runs are read by ``several_runs``.

    ``printed`` has what media print, by their names: a page or a notebook's cell as HTML and text have to say
    the headline, and nothing else of this kind, a page also what its chapters say; each line of SARIF or
    JUnit gives the numbers of the finding that it names.
    """
    overview, subject = overview_of(findings, manifest), Subject.of(manifest, findings)
    wrong = list(contradictions(overview, list(findings), subject, counts))
    wrong += wrong_chapters(findings, manifest, overview)
    by_metric = {finding.metric: finding for finding in findings}
    with written_in(language):
        catalogue, translated = current_catalogue(), in_language(findings)
        in_print = overview_of(translated, manifest)
        if language != ENGLISH:
            names = [text for finding in findings for text in _of_data(finding)]
            wrong += mistranslated(overview, in_print, names, catalogue)
        for where, text in printed.items():
            if text.lstrip().lower().startswith(_PAGE):
                wrong += unprinted(text, where, translated, manifest)
            lines = exported_lines(text)
            wrong += (
                read_back(text, where, in_print, translated)
                if lines is None
                else wrong_lines(lines, where, overview, by_metric, subject.alpha)
            )
    return wrong


def _of_data(finding: Finding) -> Iterator[str]:
    """Names that data and users gave: columns, groups and labels, not numbers."""
    keys = [part.key for part in finding.parts] + [group.key for group in finding.groups]
    names = [*finding.by, *(text for key in keys for text in texts_of(key))]
    return (name for name in names if not name.replace(".", "").isdigit())


def contradictions(
    overview: Overview, findings: Sequence[Finding], subject: Subject, counts: Counts | None = None
) -> Iterator[Contradiction]:
    """The same of first lines that are given, and may be of other findings."""
    sources: list[Support | None] = []
    for number, headline in enumerate(overview.headlines, 1):
        candidates = [finding for finding in findings if finding.metric == headline.metric]
        supports = [support for finding in candidates for support in supports_of(finding, subject, counts)]
        wrong = [(list(_wrong(headline, number, support, subject)), support) for support in supports]
        least, support = min(wrong, key=lambda pair: len(pair[0]), default=([], None))
        sources.append(support)
        yield from least
        if support is None:
            yield Contradiction(headline.text, f"the run has no finding {headline.metric!r}")
    yield from wrong_overlaps(overview.headlines, sources, counts)
    texts = Counter(headline.text for headline in overview.headlines)
    yield from (Contradiction(text, f"it is said {n} times") for text, n in texts.items() if n > 1)
    yield from _direction(overview, findings, subject)
    yield from _silence(overview, findings, subject)
    yield from wrong_silence(overview, findings, subject)
    yield from _left_out(overview, findings, subject)


def _wrong(headline: Headline, number: int, support: Support, subject: Subject) -> Iterator[Contradiction]:
    """What a headline says wrong if this is what supports it."""
    text = headline.text
    if support.who and not text.lower().startswith(support.who.lower()):
        yield Contradiction(text, f"it is of {support.who!r}")
    for name in support.mentions:
        if name not in text:
            yield Contradiction(text, f"it does not name {name!r}")
    if headline.by != support.finding.grouping:
        yield Contradiction(text, f"it stands under {headline.by!r}, and is by {support.finding.grouping!r}")
    if headline.cases and support.pairs and headline.cases != support.pairs[0][0]:
        yield Contradiction(
            text, f"{headline.cases:g} rows are behind it, and {support.pairs[0][0]:g} counted"
        )
    printed = [
        (_plain_number(a), _plain_number(b)) for a, b in _PAIR.findall(without_names(text, support.names))
    ]
    for (hits, rows), (true_hits, true_rows) in zip(printed, support.pairs, strict=False):
        if not (hits.stands_for(true_hits) and rows.stands_for(true_rows)):
            expected = f"{true_hits:,.6g} of {true_rows:,.6g}"
            yield Contradiction(text, f"{hits.text} of {rows.text} should be {expected}")
    if len(printed) < len(support.pairs):
        yield Contradiction(text, f"it gives {len(printed)} of {len(support.pairs)} counts")
    for line in (text, headline.sentence, headline.size, headline.chance, headline.remark):
        yield from unsourced(line, support)
    yield from wrong_side(headline.size, support)
    yield from _who_has_what(headline, support)
    yield from _certainty(headline, support, subject)
    yield from _beyond(headline, support, subject.alpha)
    if f"finding {number}" in headline.certainty:
        yield Contradiction(headline.certainty, "it names itself")


def _plain_number(text: str) -> PrintedNumber:
    return PrintedNumber(text, is_share=False)


def _who_has_what(headline: Headline, support: Support) -> Iterator[Contradiction]:
    """Numbers behind the names of two sides, and which of these is called better or worse."""
    missing = []
    for name, values in support.figures:
        name_alone = rf"(?<!\w){re.escape(name)}(?!\w)"
        text = without_names(headline.text, (other for other, _ in support.figures if other != name))
        match = re.search(rf"{_MEASURED}(?: [^\d,;:]+)? with {name_alone}", text) or re.search(
            rf"{name_alone}[^\d]*?{_MEASURED}", text, re.IGNORECASE
        )
        if match is None:
            missing.append(name)
            continue
        number = PrintedNumber(match["number"], is_share=match["unit"] is not None)
        if not number.stands_for_any(values):
            yield Contradiction(headline.text, f"{name} has not {number.text}")
    names_one = support.finding.card.first_line == "rankings" and _FIRST_PLACES.search(headline.text)
    if 0 < len(missing) < len(support.figures) and not names_one:
        yield Contradiction(headline.text, f"it does not say what {missing[0]} has")
    values_of = {name: values[0] for name, values in support.figures if values}
    which = _LOWER_OR_HIGHER.search(headline.text)
    if which and {which["first"], which["second"]} <= set(values_of):
        value, other = values_of[which["first"]], values_of[which["second"]]
        if (which["word"] == "lower") != (value < other):
            yield Contradiction(headline.text, f"it is {value:.4g} beside {other:.4g}")
    for text in (headline.text, headline.sentence):
        word = _BETTER_OR_WORSE.search(text)
        if word and support.better is not None and support.figures:
            first = support.figures[0][0]
            says = (word["word"] == "better") == (word["who"].endswith(first))
            if says != (support.better > 0):
                yield Contradiction(text, f"{first} is {'better' if support.better > 0 else 'worse'}")


def _direction(overview: Overview, findings: Sequence[Finding], subject: Subject) -> Iterator[Contradiction]:
    """Which of two models the line above the headline calls better, by how much."""
    match = _IS_BETTER_THAN.match(overview.kicker)
    if match is None:
        return
    supports = [
        support
        for finding in findings
        if finding.card.first_line == "changes" and title_of(finding) == match["title"]
        for support in supports_of(finding, subject, None)[:1]
    ]
    for support in supports:
        (first, _), (second, _) = support.figures
        names = [first, second] if match["newer"] == first else [second, first]
        turned = 1 if match["newer"] == first else -1
        is_so = support.better is not None and (match["word"] == "better") == (turned * support.better > 0)
        by = next(numbers_in(match["amount"]), None)
        values = support.all_shares if by and by.is_share else support.all_numbers
        if is_so and names == [match["newer"], match["older"]] and by and by.stands_for_any(values):
            return
    yield Contradiction(overview.kicker, "the run has no such change")


def _certainty(headline: Headline, support: Support, subject: Subject) -> Iterator[Contradiction]:
    """p, and how many it is corrected for."""
    text = headline.certainty
    match = _P.search(text)
    if match is None:
        if support.p or text.partition(".")[0] != NOT_TESTED.rstrip("."):
            yield Contradiction(text, f"p is {support.p}")
        return
    p = PrintedNumber(match[1], is_share=False)
    if not p.stands_for_any(support.p):
        yield Contradiction(text, f"p is {', '.join(f'{value:.4g}' for value in support.p) or 'not known'}")
    if headline.beyond and p.value > subject.alpha:
        yield Contradiction(text, "beyond chance with a p above the level")
    many = _CORRECTED.search(text)
    for printed in filter(None, many.groups() if many else ()):
        if not _plain_number(printed).stands_for_any(support.corrected_for):
            yield Contradiction(text, f"it is not corrected for {printed}")


def _beyond(headline: Headline, support: Support, alpha: float) -> Iterator[Contradiction]:
    """Whether it is called beyond chance, whether test and interval say so, and what bands leave out."""
    deciding = support.p if support.judged is not support.finding else shown_p(support.finding)
    truly = any(p <= alpha for p in deciding) and excludes(
        support.judged.interval, reference_of(support.judged)
    )
    if headline.beyond != truly:
        yield Contradiction(
            headline.text, f"called {'beyond' if headline.beyond else 'within'} chance: p {deciding}"
        )
    if not headline.beyond:
        return
    interval = _INTERVAL.search(headline.size)
    if interval and support.finding.card.first_line != "reductions":
        low, high = (_plain_number(end).value for end in interval.groups())
        reference = 0.0 if support.difference is not None else reference_of(support.holder)
        scale = 100 if support.unit in ("share", "share difference") else 1
        if reference is not None and low <= reference * scale <= high:
            yield Contradiction(headline.size, f"the interval holds {reference * scale:g}")
    band = _CHANCE.search(headline.chance)
    rows = _PAIR.search(without_names(headline.text, support.names))
    if band and rows and "of the" in headline.chance and _ONE_OF_MANY not in headline.chance:
        low, high, hits = (_plain_number(n).value for n in (*band.groups(), rows[1]))
        if low <= hits <= high:
            yield Contradiction(headline.chance, f"{rows[1]} lies inside")


def _silence(overview: Overview, findings: Sequence[Finding], subject: Subject) -> Iterator[Contradiction]:
    """Where nothing is said to differ: whether anything that leads does."""
    beyond = [
        finding for finding in findings if finding.role == "primary" and truly_beyond(finding, subject.alpha)
    ]
    for text in (overview.title, *overview.silent):
        match = _NOTHING.search(text)
        names = re.split(r", | or ", match[1]) if match else []
        for finding in beyond:
            if subject.about(finding) in names:
                yield Contradiction(text, f"{finding.metric} is beyond chance")
        if overview.beyond and text == overview.title and match:
            yield Contradiction(text, "there are headlines beyond chance")


def _left_out(overview: Overview, findings: Sequence[Finding], subject: Subject) -> Iterator[Contradiction]:
    """Findings beyond chance that no headline is of, nor of the metric that they are second to."""
    metrics = {headline.metric for headline in overview.beyond}
    names = {(finding.name, finding.grouping) for finding in findings if finding.metric in metrics}
    for finding in findings:
        leads = finding.role == "primary" and (finding.card.of or finding.card).headline
        is_said = finding.metric in metrics or (finding.card.second_to, finding.grouping) in names
        if leads and not is_said and truly_beyond(finding, subject.alpha):
            yield Contradiction(overview.title, f"{finding.metric} is beyond chance, and nothing says so")
