"""Runs on answers in words: what the report says of labels and of words, and a card that is text."""

from __future__ import annotations

import polars as pl
import pytest

from evenhand.core.findings import Finding
from evenhand.report.chapters import in_chapters
from evenhand.report.page.html import render_html
from evenhand.report.page.markdown import card_html
from evenhand.report.wording.open_answers import labelled, rested_on
from tests.report import report_samples as samples

BY = ("gender",)
KINDS = pl.DataFrame(
    [
        ("answer", "exact", False, 300),
        ("answer", "exact", True, 9),
        ("answer", "synonym", False, 40),
        ("answer", "none", False, 31),
        ("empty", "none", False, 1),
        ("refusal", "none", False, 19),
    ],
    schema=["category", "matched", "several", "n"],
    orient="row",
)


def findings(**params: str) -> list[Finding]:
    parts = [samples.class_part(name, 0.3, 60, 0.8) for name in samples.OCCUPATIONS[:4]]
    return [
        one.model_copy(update={"params": {**one.params, **params}, "metric": f"{one.metric}{params or ''}"})
        for one in (samples.skewsize(BY, parts), *samples.companions(BY, parts))
    ]


@pytest.fixture(scope="module")
def page():
    table = samples.mistakes("gender", samples.OCCUPATIONS[:4], ["female", "male"])
    tables = {"mistakes": table, "answer_kinds": KINDS}
    both = [*findings(), *findings(answers="raw")]
    return render_html(samples.content(both, tables, card="# x\n\nA *word*"))


def test_what_became_of_answers_is_told_in_numbers(page):
    told = (
        "Of 400 answers in words, 349 (87.2%) named a label: 309 by the label itself and 40 by a synonym; "
        "19 were refusals, 1 was empty and 31 named none and stay words of their own. 9 named several "
        "labels, of which the first counts."
    )
    assert labelled({"answer_kinds": KINDS})[0] == told
    assert told in page
    assert labelled({}) == []


def test_few_answers_can_be_kept_back():
    first, second = labelled({"answer_kinds": KINDS}, fewest=10)
    assert first == "The 400 answers in words became labels, step by step."
    assert "as they were said" in second


def test_groupings_are_named_once(page):
    assert "The groups are those of gender.</p>" in page
    assert "gender: answers as they were said" in page


def test_a_chapter_rests_on_its_own_answers():
    labels, words = in_chapters([*findings(), *findings(answers="raw")])
    evidence = {"predictions": KINDS, "predictions_raw": KINDS.head(1)}
    assert list(rested_on(labels, evidence)) == ["predictions"]
    assert list(rested_on(words, evidence)) == ["predictions_raw"]


@pytest.mark.parametrize(
    ("card", "html"),
    [
        ("# Title\n\nOne\ntwo", "<p>One two</p>"),
        ("**A**: `b*c*` *d* e*f", "<p><strong>A</strong>: <code>b*c*</code> <em>d</em> e*f</p>"),
        (
            "**Is**\n- a\n  b\n- c",
            '<p><strong>Is</strong></p><ul class="sentences"><li>a b</li><li>c</li></ul>',
        ),
        ("<script>`<b>`*<i>*", "<p>&lt;script&gt;<code>&lt;b&gt;</code><em>&lt;i&gt;</em></p>"),
        ("\x000\x00 `a` {{ 7 * 7 }}", "<p>0 <code>a</code> {{ 7 * 7 }}</p>"),
        (None, ""),
    ],
)
def test_a_card_is_text_and_nothing_else(card, html):
    assert str(card_html(card)) == html
