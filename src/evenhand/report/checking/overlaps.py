"""What a headline says of rows that it shares with an earlier one, counted again cell by cell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.display.overview.content import Headline
from evenhand.display.overview.overview import ALL, BY_WEIGHT, MOST, SOME
from evenhand.display.text.statement import Statement
from evenhand.evidence.predictions.counts import Counts
from evenhand.report.checking.read_back import Contradiction
from evenhand.report.checking.recounts import WrongRows, wrong_rows
from evenhand.report.checking.sourced import first_number, is_any, misprinted, within
from evenhand.report.checking.support import Support


def wrong_overlaps(
    headlines: Sequence[Headline], supports: Sequence[Support | None], counts: Counts | None
) -> Iterator[Contradiction]:
    """Shared rows that are none, or others, and findings that are named before they are said.

    A support is None where nothing supports the headline; without ``counts`` no rows are compared.
    """
    for number, (line, support) in enumerate(zip(headlines, supports, strict=True), 1):
        shared = within(line.certainty, BY_WEIGHT, ALL, MOST, SOME)
        if shared is None or support is None:
            continue
        yield from misprinted(shared)
        n = shared.places["n"]
        other = supports[n - 1] if n < number else None
        if other is None:
            yield Contradiction(shared, f"finding {n} does not stand before it")
        elif counts is not None and support.wrong_rows and other.wrong_rows:
            yield from _wrong(shared, support.wrong_rows, other.wrong_rows, counts)


def _wrong(text: Statement, rows: WrongRows, others: WrongRows, counts: Counts) -> Iterator[Contradiction]:
    """Numbers of shared rows, and of all, that are not those of the counts."""
    total, hits = wrong_rows(counts, rows), wrong_rows(counts, rows, others)
    if total is None or hits is None:
        return
    expected = {"share": hits / total if total else 0.0, "hits": hits, "cases": total}
    for name, number in expected.items():
        printed = first_number(text.places.get(name, ""))
        if printed is not None and not is_any(printed, [number]):
            yield Contradiction(text, f"{name} is {number:,.6g}, and not {printed:,.6g}")
    if text.pattern == ALL and hits != total:
        yield Contradiction(text, f"hits are {hits:,.6g} of {total:,.6g}")
    if text.pattern == MOST and 2 * hits <= total:
        yield Contradiction(text, f"{hits:,.6g} of {total:,.6g} are not most")
    if not hits:
        yield Contradiction(text, "they share no row")
