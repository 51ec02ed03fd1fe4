"""Sentences on what is within chance, on shared rows and of chapters, falsified: each is caught."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.display.overview.subject import Subject
from evenhand.report.chapters import in_chapters
from evenhand.report.checking.chapter_lines import wrong_sentences
from evenhand.report.checking.check import contradictions
from evenhand.report.page import chapter_words
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


def silently(pattern, replacement):
    """The first silent sentence, or lead, in which a pattern stands, with something else in its place."""

    def falsified(overview):
        texts = [overview.lead, *overview.silent]
        index = next(index for index, text in enumerate(texts) if re.search(pattern, text))
        texts[index] = re.sub(pattern, replacement, texts[index], count=1)
        return replace(overview, lead=texts[0], silent=tuple(texts[1:]))

    return falsified


SILENT = {
    "a stale p": silently(r"\(p [\d.]+\)", "(p 0.012)"),
    "a wrong unit": silently(r": (\d+) points", r": \1"),
    "an inverted sign": silently(r": (\d+) points", r": −\1 points"),
    "another value": silently(r": \d+ points", ": 77 points"),
    "beyond chance": silently("within what chance", "above what chance"),
    "another number of comparisons": silently(r"\(\d+ comparisons", "(99 comparisons"),
    "another number of groups": silently(r"the \d groups", "the 7 groups"),
    "another grouping": silently(r"by group: ", "by shape: "),
    "another metric": silently("Accuracy, groups furthest apart", "Recall, groups furthest apart"),
    "another rate that would have shown": silently(r"\d+ % beside", "3 % beside"),
    "another size of a group": silently(r"In a group of \d+", "In a group of 13"),
    "no value": silently(r": \d+ points.*", " has no value: no row has it."),
    "another reason": silently(r"No mistake differs between.*", "No mistake in 1,200 rows."),
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
    ("pattern", "replacement"),
    [
        (r"finding \d+", "finding 99"),
        (r"(\d+)( of its| of the|(?: mistakes?)? are those)", r"7\2"),
        (
            r"All|Most of it lies in finding (\d+): \d+ of its \d+",
            r"1 of the 9 mistakes are those of finding \1",
        ),
    ],
)
def test_false_overlaps_are_caught(crossed, pattern, replacement):
    overview, findings = crossed.overview, list(crossed.findings)
    subject, counts = Subject.of(crossed.manifest, crossed.findings), next(iter(crossed.counts.values()))
    assert list(contradictions(overview, findings, subject, counts)) == []
    index = next(i for i, line in enumerate(overview.headlines) if re.search(r"finding \d+", line.certainty))
    line = overview.headlines[index]
    lines = list(overview.headlines)
    lines[index] = replace(line, certainty=re.sub(pattern, replacement, line.certainty, count=1))
    assert lines[index] != line
    assert list(contradictions(replace(overview, headlines=tuple(lines)), findings, subject, counts))


@pytest.mark.parametrize(
    ("pattern", "replacement"),
    [
        (r"in 1 of (the )?2 classes", r"in 2 of \g<1>2 classes"),
        (r"of (the )?2 classes", r"of \g<1>3 classes"),
        (
            r"Mistakes differ .*",
            "No difference of mistakes beyond chance over 2 classes. That does not prove fairness.",
        ),
        (r"interval 0\.\d+", "interval 0.999"),
        (r"V = 0\.\d+", "V = 0.987"),
        (r"p <0\.001", "p 0.777"),
        (r"“red” \([\d,]+\)", "“red” (77)"),
    ],
)
def test_false_sentences_of_chapters_are_caught(crossed, pattern, replacement):
    subject = Subject.of(crossed.manifest, crossed.findings)
    caught = []
    for chapter in in_chapters(crossed.findings):
        texts = [chapter_words.verdict(chapter, 0.05), *chapter_words.finding_sentences(chapter, 0.05)]
        assert list(wrong_sentences(chapter, texts[0], texts[1:], subject, set())) == []
        false = [re.sub(pattern, replacement, text) for text in texts]
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
