"""Sentences on what is within chance, on shared rows and of chapters, falsified: each is caught."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.display.overview.phrasing import NO_VALUE
from evenhand.display.overview.subject import Subject
from evenhand.display.text.formatting import plural
from evenhand.display.text.statement import Statement
from evenhand.report.chapters import in_chapters
from evenhand.report.checking.chapter_lines import wrong_sentences
from evenhand.report.checking.check import contradictions
from evenhand.report.page import chapter_words
from tests.report.falsified import headline, number, placed, share, worded
from tests.report.printed_media import checked


@pytest.fixture(scope="module")
def fair():
    """Two groupings by which nothing differs, one of them of a single group in most classes."""
    rng = np.random.default_rng(11)
    truth = rng.choice(["cup", "dog", "kite"], 1_200)
    answer = np.where(rng.random(1_200) < 0.8, truth, "kite")
    group, place = rng.choice(["red", "green", "blue"], 1_200), rng.choice(["in", "out"], 1_200)
    frame = pl.DataFrame({"truth": truth, "prediction": answer, "group": group, "place": place})
    run = eh.audit(frame, truth="truth", prediction="prediction", by=["group", "place"])
    assert not run.overview.beyond
    assert len(run.overview.silent) >= 5
    return run


def silently(pattern, change):
    """The first silent sentence, or lead, in which a pattern stands, with something else in one place."""

    def falsified(overview):
        texts = [overview.lead, *overview.silent]
        index = next(index for index, text in enumerate(texts) if re.search(pattern, text))
        texts[index] = change(texts[index])
        return replace(overview, lead=texts[0], silent=tuple(texts[1:]))

    return falsified


POINTS, POWER = r": \d+ points", "would usually have shown"
SILENT = {
    "a stale p": silently(r"\(p [\d.]+\)", placed("p", number(0.012))),
    "a wrong unit": silently(POINTS, placed("n", lambda old: number(old.value))),
    "an inverted sign": silently(POINTS, placed("n", lambda old: share(-old.value))),
    "another value": silently(POINTS, placed("n", share(0.77))),
    "beyond chance": silently("within what chance", placed("verdict", "above")),
    "another number of comparisons": silently(r"\(\d+ comparisons", placed("n", number(99))),
    "another number of groups": silently(r"the \d groups", placed("groups", number(7))),
    "another grouping": silently(" by group: ", placed("by", "shape")),
    "another metric": silently("Accuracy, groups furthest apart", placed("part0", "Recall")),
    "another rate that would have shown": silently(POWER, placed("rate", share(0.03))),
    "another size of a group": silently(POWER, placed("n", number(13), 1)),
    "no value": silently(
        POINTS, lambda _: Statement.of(NO_VALUE, title="Accuracy gap", reason="no row has it")
    ),
    "another reason": silently(
        "No mistake differs between",
        lambda _: Statement.of("No mistake in {n} {noun}.", n=number(1200), noun="rows"),
    ),
}


@pytest.mark.parametrize("name", SILENT)
def test_false_sentences_on_what_is_within_chance_are_caught(fair, name):
    subject, findings = Subject.of(fair.manifest, fair.findings), list(fair.findings)
    assert list(contradictions(fair.overview, findings, subject)) == []
    false = SILENT[name](fair.overview)
    assert false != fair.overview
    assert list(contradictions(false, findings, subject))


@pytest.fixture(scope="module")
def crossed():
    """A mistake of one group at one site, which the group has, too, so that their headlines share rows."""
    rng = np.random.default_rng(5)
    group, site = rng.choice(["red", "green"], 2_000), rng.choice(["in", "out"], 2_000)
    truth = rng.choice(["cup", "dog"], 2_000)
    is_odd = (group == "red") & (truth == "cup")
    answer = np.where(rng.random(2_000) < 0.05, "kite", truth)
    answer = np.where(is_odd & (rng.random(2_000) < np.where(site == "in", 0.6, 0.15)), "dog", answer)
    frame = pl.DataFrame({"truth": truth, "prediction": answer, "group": group, "site": site})
    return eh.audit(frame, truth="truth", prediction="prediction", by=["group", "site", "group+site"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda text: placed("n", 99, 1 + text.count("mistakes are"))(text), "finding 99"),
        (placed("cases", lambda old: number(7_000 + old.value)), "cases is"),
        (worded("All {cases} are", "{n} of the {cases} are"), "is not"),
    ],
)
def test_false_overlaps_are_caught(crossed, change, why):
    overview, findings = crossed.overview, list(crossed.findings)
    subject, counts = Subject.of(crossed.manifest, crossed.findings), next(iter(crossed.counts.values()))
    assert list(contradictions(overview, findings, subject, counts)) == []
    index = next(i for i, line in enumerate(overview.headlines) if re.search(r"finding \d+", line.certainty))
    false = headline(index, certainty=change)(overview)
    assert any(why in wrong.why for wrong in contradictions(false, findings, subject, counts))


NO_MISTAKES = "No difference of mistakes beyond chance over {classes}. That does not prove fairness."


@pytest.mark.parametrize(
    ("pattern", "change"),
    [
        (r"in 1 of (the )?2 classes", placed("n", number(2))),
        (r"in \d of (the )?2 classes", placed("n", number(3), 1)),
        (r"Mistakes differ ", lambda _: Statement.of(NO_MISTAKES, classes=plural(2, "class", "classes"))),
        (r"interval 0\.\d+", placed("low", number(0.999))),
        (r"V = 0\.\d+", placed("value", number(0.987))),
        (r"p <0\.001", placed("p", number(0.777))),
        (r"“red” \([\d,]+\)", placed("text", number(77), 1)),
    ],
)
def test_false_sentences_of_chapters_are_caught(crossed, pattern, change):
    subject = Subject.of(crossed.manifest, crossed.findings)
    caught = []
    for chapter in in_chapters(crossed.findings):
        texts = [chapter_words.verdict(chapter, 0.05), *chapter_words.finding_sentences(chapter, 0.05)]
        assert list(wrong_sentences(chapter, texts[0], texts[1:], subject, set())) == []
        false = [change(text) if re.search(pattern, text) else text for text in texts]
        if false != texts:
            caught.append(list(wrong_sentences(chapter, false[0], false[1:], subject, set())) != [])
    assert caught
    assert all(caught)


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_page_prints_what_its_chapters_say(crossed, language):
    page = crossed.html(language=language)
    assert checked(crossed, page=page, language=language) == []
    number = "V = 0" if language == "en" else "V = 0,"
    cut = page.replace(number, "V unknown")
    assert cut != page
    wrong = checked(crossed, page=cut, language=language)
    assert wrong
    assert {contradiction.where for contradiction in wrong} == {"page"}
