"""Sentences of pages beside their numbers: associations, comparisons, retrieval, hidden cells, suites."""

from __future__ import annotations

import re
from html import unescape

import pytest

from evenhand.core.findings import Findings, Part
from evenhand.display.overview.overview import overview_of
from evenhand.metrics.catalogue import with_cards
from evenhand.report.content import ReportInput
from evenhand.report.page.html import render_html
from evenhand.report.page.suite import SuiteCell, SuiteQuestion, render_suite
from tests.display.test_overview_forms import TESTED, between, pair
from tests.display.test_overview_rates import band, finding

BEYOND = {"value": 1.8, "auc": 1.0, "ends": (0.9, 1.9)}
FORMS = {"visual": ["x", "y"], "textual": ["v", "w"]}


def manifest(**more):
    return {
        "kind": "run",
        "manifest_id": "m",
        "benchmark": "mmbias/association",
        "alpha": 0.05,
        "noun": "items",
        **more,
    }


def associations():
    """A pair beyond chance in each of two forms, and one within it."""
    usual = {"attributes": ["bad", "good"]}
    found = [
        pair(sets, **BEYOND, p_value=0.001, p_adjusted=p).model_copy(
            update={"metric": f"d({form})", "params": {"form": form, "targets": sets, **usual}}
        )
        for (form, sets), p in zip(FORMS.items(), (0.003, 0.004), strict=True)
    ]
    return with_cards([*found, pair(["x", "z"], 0.2, 0.6, (-1, 1), p_value=0.5, p_adjusted=1.0)])


def page(findings, about=None, **more):
    content = ReportInput(findings=Findings(manifest_id="m", findings=findings), manifest=about or manifest())
    return re.sub(r"\s+", " ", render_html(content, **more))


def answer(text, title):
    """What the drawer of sentences says of a chapter."""
    return next(part for part in text.split('<article class="answer"')[1:] if title in part).split(
        "</article"
    )[0]


def words(text):
    seen = re.sub(r"<(style|script)\b.*?</\1>", "", text, flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", seen)).split())


def test_a_headline_stands_in_the_chapter_of_its_finding_alone():
    text = page(associations())
    pictures, phrases = answer(text, "Images of groups, and pictures"), answer(text, "Phrases of groups")
    assert "In 64 of 64 pairs of one x and one y" in pictures
    assert "one v and one w" not in pictures
    assert "In 64 of 64 pairs of one v and one w" in phrases
    assert "one x and one y" not in phrases


def test_findings_beyond_chance_are_told_apart():
    sure = words(page(associations()))
    sure = sure[sure.index("How sure: beyond chance") :][:600]
    assert "corrected together for 3 tests" in sure
    assert "Association, effect size d (images of groups, and pictures, x – y)" in sure
    assert "Association, effect size d (phrases of groups, and words, v – w)" in sure


def compared(name, value, ends, **fields):
    """A difference of two models."""
    params = {"model": "old_b of t.csv", "reference": "old_a of t.csv"}
    tested = {"p_value": 0.02, "p_adjusted": 0.02, "role": None}
    return finding(name, by=("office",), value=value, interval=between(*ends), null=band(-0.05, 0.05),
                   params=params, fair_at=0.0, **{**tested, **fields})  # fmt: skip


def differences():
    better = compared("accuracy_difference", -0.06, (-0.11, -0.01))
    noisy = compared(
        "cramers_v_mean_difference", -0.029, (-0.18, 0.05), corrected=-0.096, p_value=0.5, p_adjusted=0.5
    )
    return with_cards([better, noisy])


COMPARED = {"kind": "compare", "models": ["old_a of t.csv", "old_b of t.csv"], "reference": "old_a of t.csv"}


def test_a_difference_of_models_says_which_is_subtracted_and_leads_with_what_has_no_noise():
    lines = overview_of(Findings(manifest_id="m", findings=differences()), COMPARED)
    told = (
        "Mean effect size by office, old_b of t.csv minus old_a of t.csv: −0.096 without what noise adds, "
        "within what chance alone gives (p 0.500)."
    )
    assert told == lines.lead


def test_tests_of_a_comparison_are_corrected_measure_by_measure():
    text = words(page(differences(), {**manifest(), **COMPARED}))
    assert "corrected together" not in text
    assert "p at most 0.05, corrected for all pairs of models and groupings of a measure" in text


def test_no_decimal_point_ends_the_bold_part_of_a_p():
    findings = with_cards([pair(["x", "y"], **BEYOND, p_value=0.025, p_adjusted=0.025)])
    assert "<strong>p = 0.025</strong>." in page(findings).replace("\u00a0", " ").replace("&nbsp;", " ")


def test_neighbours_stand_beside_chance_and_are_not_called_images_to_look_through():
    groups = {"a": (62, 350, 0.089), "b": (1010, 1400, 0.5)}
    rates = [
        Part(
            kind="group",
            key=key,
            value=hits / of,
            n=of // 50,
            details={"n_of": float(of), "n_hits": float(hits), "chance": chance},
        )
        for key, (hits, of, chance) in groups.items()
    ]
    params = {"match": "office", "k": 50}
    source = finding("precision_at_k", value=0.6, params=params, parts=rates, role="exploratory")
    gap = finding(
        "precision_gap", value=1010 / 1400 - 62 / 350, params=params, interval=between(0.47, 0.64),
        null=band(0.41, 0.5), details={"highest": "b", "lowest": "a"}, **TESTED,
    )  # fmt: skip
    (line,) = overview_of(Findings(manifest_id="m", findings=with_cards([source, gap])), manifest()).beyond
    assert line.text.startswith("a: 62 of 350 nearest")
    assert "(18 %; by chance 9 %); b 1,010 of 1,400 (72 %; by chance 50 %)" in line.sentence
    assert line.steps == ("After a change, run again and type: evenhand compare OLD NEW",)


def test_hidden_questions_are_not_left_out_of_how_many_were_corrected_for():
    small = pair(["x", "y"], 0.4, 0.6, (-1, 1), p_value=0.5, p_adjusted=1.0).model_copy(update={"n": 6.0})
    large = [one.model_copy(update={"n": 400.0, "parts": []}) for one in associations()[:2]]
    text = words(page([*large, *with_cards([small])], suppress=10))
    assert "corrected for all questions of this run" in text
    assert "corrected for 2 questions" not in text
    assert "corrected together for" not in text


def test_a_page_without_mistakes_does_not_speak_of_hidden_mistakes():
    text = words(page(associations(), suppress=20))
    assert "The headline is hidden" in text
    assert "Counts of fewer than 20 items are hidden in this report, and so is every finding that" in text
    assert "mistake that one group gets more often" not in text
    assert "The findings are hidden, because too few rows are behind them." in text
    assert "How sure: no finding that is shown here was tested; the others are hidden." in text
    for false in ("no finding was tested", "Could not be estimated."):
        assert false not in text


@pytest.mark.parametrize("models", [["one"], ["one", "two"]])
def test_a_column_of_a_suite_says_which_two_groups_it_compares(models):
    cells = tuple(
        SuiteCell(model, Findings(manifest_id=model, findings=associations()), manifest()) for model in models
    )
    text = words(
        render_suite(
            [SuiteQuestion("mmbias/association", cells)], models, title="t", results="r", corrected=list
        )
    )
    assert "Association, effect size d (images of groups, and pictures · x – y)" in text
