"""What a run says, compared with its findings and counts by a program that makes no sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from evenhand.core.findings import Finding, Findings
from evenhand.core.significance import excludes, reference_of
from evenhand.display.overview.changes import BETTER_THAN, HIGHER, IS_BETTER, IS_WORSE, LOWER, WORSE_THAN
from evenhand.display.overview.content import NOT_TESTED, Headline, Overview
from evenhand.display.overview.mistakes import CHANCE_OF_ROWS, ONE_OF_MANY
from evenhand.display.overview.overview import ALL, BY_WEIGHT, MOST, SOME, overview_of
from evenhand.display.overview.phrasing import NOTHING_BY, title_of
from evenhand.display.overview.subject import Subject
from evenhand.display.text.formatting import OF
from evenhand.display.text.language import ENGLISH, written_in
from evenhand.display.text.statement import Slot, said
from evenhand.evidence.predictions.counts import Counts
from evenhand.report.checking.chapter_lines import unprinted, wrong_chapters
from evenhand.report.checking.exported_lines import exported_lines, wrong_lines
from evenhand.report.checking.overlaps import wrong_overlaps
from evenhand.report.checking.read_back import Contradiction, plain_text, read_back
from evenhand.report.checking.silent_lines import wrong_silence
from evenhand.report.checking.sourced import (
    first_number,
    is_any,
    misprinted,
    names_in,
    numbers_in,
    truly_beyond,
    unsourced,
    within,
    wrong_side,
)
from evenhand.report.checking.support import Support, shown_p, texts_of
from evenhand.report.checking.supports import supports_of
from evenhand.report.checking.translations import mistranslated
from evenhand.report.glossary import in_language

_HAS = {  # who has which number, by the names of their places
    "model": ("hits", "first", "gained"), "reference": ("other_hits", "second"),
    "who": ("ahead",), "first": ("most",), "second": ("fewer",),
}  # fmt: skip
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
        translated = in_language(findings)
        in_print = overview_of(translated, manifest)
        if language != ENGLISH:
            names = {text for finding in findings for text in _of_data(finding)}
            wrong += mistranslated(overview, in_print, names)
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
    for headline in overview.headlines:
        candidates = [finding for finding in findings if finding.metric == headline.metric]
        supports = [support for finding in candidates for support in supports_of(finding, subject, counts)]
        wrong = [(list(_wrong(headline, support, subject)), support) for support in supports]
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


def _wrong(headline: Headline, support: Support, subject: Subject) -> Iterator[Contradiction]:
    """What a headline says wrong if this is what supports it."""
    text, names = headline.text, names_in(headline.text)
    if support.who and (not names or names[0].lower() != plain_text(support.who).lower()):
        yield Contradiction(text, f"who is not {support.who!r}")
    is_spared = support.wrong_rows is not None and support.wrong_rows.is_elsewhere
    if is_spared != (within(text, "{group} is spared") is not None):
        yield Contradiction(text, f"{support.who!r} has {'fewer' if is_spared else 'more'}")
    for key, name in support.mentions:
        if plain_text(name) not in names_in(text, key):
            yield Contradiction(text, f"{key or 'a name'} is not {name!r}")
    if headline.by != support.finding.grouping:
        yield Contradiction(text, f"it stands under {headline.by!r}, and is by {support.finding.grouping!r}")
    if headline.cases and support.pairs and headline.cases != support.pairs[0][0]:
        yield Contradiction(
            text, f"{headline.cases:g} rows are behind it, and {support.pairs[0][0]:g} counted"
        )
    counts = _counts(text)
    for said_pair, pair in zip(counts, support.pairs, strict=False):
        for name, number, expected in zip(("hits", "rows"), said_pair, pair, strict=True):
            if not is_any(number, [expected]):
                yield Contradiction(text, f"{name} is {expected:,.6g}, and not {number:,.6g}")
    if len(counts) < len(support.pairs):
        yield Contradiction(text, f"it gives {len(counts)} of {len(support.pairs)} counts")
    for line in (text, headline.sentence, headline.size, headline.chance, headline.remark):
        yield from unsourced(line, support)
    yield from wrong_side(headline.size, support)
    yield from _who_has_what(headline, support)
    yield from _certainty(headline, support, subject)
    yield from _beyond(headline, support, subject.alpha)


def _counts(text: str) -> list[tuple[float, ...]]:
    """Hits of rows, in their order."""
    return [tuple(numbers_in(part).values()) for part in said(text).statements() if part.pattern == OF]


def _who_has_what(headline: Headline, support: Support) -> Iterator[Contradiction]:
    """Numbers of two sides, and which of these is called better or worse."""
    figures = {plain_text(name).lower(): values for name, values in support.figures}
    for part in said(headline.text).statements():
        names = {name: plain_text(str(part.places[name])).lower() for name in _HAS if name in part.places}
        for name, who in names.items():
            numbers = [first_number(part.places[key]) for key in _HAS[name] if key in part.places]
            if figures and any(n is not None and not is_any(n, figures.get(who, ())) for n in numbers[:1]):
                yield Contradiction(headline.text, f"{name}, {who!r}, has not {numbers[0]:g}")
        if part.pattern in (HIGHER, LOWER):
            value, other = (figures.get(names[name], (None,))[0] for name in ("model", "reference"))
            if value is None or other is None or (part.pattern == LOWER) != (value < other):
                yield Contradiction(headline.text, f"it is {value} beside {other}")
    verdict = within(headline.sentence, IS_BETTER, IS_WORSE)
    if verdict is not None and support.better is not None:
        first = support.figures[0][0]
        says = (verdict.pattern == IS_BETTER) == (verdict.places["model"] == first)
        if says != (support.better > 0):
            yield Contradiction(
                headline.sentence, f"{first} is {'better' if support.better > 0 else 'worse'}"
            )


def _direction(overview: Overview, findings: Sequence[Finding], subject: Subject) -> Iterator[Contradiction]:
    """Which of two models the line above the headline calls better, by how much."""
    line = within(overview.kicker, BETTER_THAN, WORSE_THAN)
    if line is None:
        return
    supports = [
        support
        for finding in findings
        if finding.card.first_line == "changes" and title_of(finding) == line.places["title"]
        for support in supports_of(finding, subject, None)[:1]
    ]
    newer, older = line.places["newer"], line.places["older"]
    for support in supports:
        first, second = (name for name, _ in support.figures)
        if support.better is None or {first, second} != {newer, older}:
            continue
        is_newer = (support.better > 0) == (newer == first)
        if is_newer == (line.pattern == BETTER_THAN) and not list(unsourced(line.places["amount"], support)):
            return
    yield Contradiction(overview.kicker, "the run has no such change")


def _certainty(headline: Headline, support: Support, subject: Subject) -> Iterator[Contradiction]:
    """p, and how many it is corrected for."""
    text = headline.certainty
    shared = within(text, BY_WEIGHT, ALL, MOST, SOME)
    slots = list(said(text).slots())
    slots = slots[: len(slots) - len(list(shared.slots()))] if shared is not None else slots  # it comes last
    p = next((slot for name, slot in slots if name == "p"), None)
    if not isinstance(p, Slot):
        if support.p or within(text, NOT_TESTED) is None:
            yield Contradiction(text, f"p is {support.p}")
        return
    expected = {"p": support.p, "level": (subject.alpha,), "n": support.corrected_for}
    for name, slot in slots:
        if isinstance(slot, Slot) and not is_any(slot.value, expected.get(name, ())):
            yield Contradiction(text, f"{name} is not {slot}, of {expected.get(name, ())}")
    yield from misprinted(text)
    if headline.beyond and p.value > subject.alpha:
        yield Contradiction(text, "beyond chance with a p above the level")


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
    size, band = numbers_in(headline.size), numbers_in(headline.chance)
    reference = 0.0 if support.difference is not None else reference_of(support.holder)
    if reference is not None and {"low", "high"} <= set(size):
        is_inside = size["low"] <= reference <= size["high"]
        if is_inside and support.finding.card.first_line != "reductions":
            yield Contradiction(headline.size, f"low to high holds {reference:g}")
    is_of_rows = within(headline.chance, CHANCE_OF_ROWS) and not within(headline.chance, ONE_OF_MANY)
    for hits, _ in _counts(headline.text)[:1]:
        if is_of_rows and band["low"] <= hits <= band["high"]:
            yield Contradiction(headline.chance, f"hits are {hits:g}")


def _silence(overview: Overview, findings: Sequence[Finding], subject: Subject) -> Iterator[Contradiction]:
    """Where nothing is said to differ: whether anything that leads does."""
    beyond = [
        finding for finding in findings if finding.role == "primary" and truly_beyond(finding, subject.alpha)
    ]
    for text in (overview.title, *overview.silent):
        nothing = within(text, NOTHING_BY)
        names = names_in(nothing.places["groups"]) if nothing is not None else []
        for finding in beyond:
            if plain_text(subject.about(finding)) in names:
                yield Contradiction(text, f"{finding.metric} is beyond chance")
        if overview.beyond and text == overview.title and nothing is not None:
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
