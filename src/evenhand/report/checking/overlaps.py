"""What a headline says of rows that it shares with an earlier one, counted again cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from evenhand.display.overview.content import Headline
from evenhand.evidence.predictions.counts import Counts
from evenhand.report.checking.printed_numbers import NUMBER, PrintedNumber
from evenhand.report.checking.read_back import Contradiction
from evenhand.report.checking.recounts import WrongRows, wrong_rows
from evenhand.report.checking.support import Support

_OVERLAP = re.compile(
    rf"(?:All (?P<all>{NUMBER})(?: mistakes?)? are those of finding (?P<of_all>\d+)\."
    rf"|Most of it lies in finding (?P<most>\d+): (?P<hits>{NUMBER}) of its (?P<total>{NUMBER})"
    rf"|(?P<some>{NUMBER}) of the (?P<in_all>{NUMBER})(?: mistakes?)? are those of finding (?P<of_some>\d+)\."
    rf"|By weight, (?P<share>{NUMBER}) % of it lies in finding (?P<weighted>\d+)\.)"
)


def wrong_overlaps(
    headlines: Sequence[Headline], supports: Sequence[Support | None], counts: Counts | None
) -> Iterator[Contradiction]:
    """Shared rows that are none, or others, and findings that are named before they are said.

    A support is None where nothing supports the headline; without ``counts`` no rows are compared.
    """
    for number, (line, support) in enumerate(zip(headlines, supports, strict=True), 1):
        match = _OVERLAP.search(line.certainty)
        if ("finding " in line.certainty) != (match is not None):
            yield Contradiction(line.certainty, "it names a finding in another way")
        if match is None or support is None:
            continue
        n = int(match["of_all"] or match["most"] or match["of_some"] or match["weighted"])
        other = supports[n - 1] if n < number else None
        if other is None:
            yield Contradiction(line.certainty, f"finding {n} does not stand before it")
        elif counts is not None and support.wrong_rows and other.wrong_rows:
            yield from _wrong(line.certainty, match, support.wrong_rows, other.wrong_rows, counts)


def _wrong(
    text: str, match: re.Match[str], rows: WrongRows, others: WrongRows, counts: Counts
) -> Iterator[Contradiction]:
    """Numbers of shared rows, and of all, that are not those of the counts."""
    total, shared = wrong_rows(counts, rows), wrong_rows(counts, rows, others)
    if total is None or shared is None:
        return
    hits = match["all"] or match["hits"] or match["some"]
    if match["share"]:
        if not PrintedNumber(match["share"], is_share=True).stands_for(shared / total if total else 0.0):
            yield Contradiction(text, f"it is {shared / total:.1%}")
        return
    for printed, number in ((hits, shared), (match["all"] or match["total"] or match["in_all"], total)):
        if not PrintedNumber(printed, is_share=False).stands_for(number):
            yield Contradiction(text, f"{printed} should be {number:,.6g}")
    if match["most"] and 2 * shared <= total:
        yield Contradiction(text, f"{shared:,.6g} of {total:,.6g} are not most")
    if not shared:
        yield Contradiction(text, "they share no row")
