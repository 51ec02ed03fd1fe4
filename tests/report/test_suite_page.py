"""The page over a suite: 8 models and 12 questions, each cell as in findings.json."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.findings import Findings
from evenhand.report.page.suite import SuiteCell, SuiteQuestion, render_suite
from evenhand.workflows.suite.overview import corrected_over_page
from tests.report.browsing import browser, needs_chromium, visiting

__all__ = ["browser"]  # a fixture
HOSTILE = "<script>alert(1)</script>"
MODELS = [f"hf:organisation/some-model-of-{index}b" for index in range(7)] + [HOSTILE]


@pytest.fixture(scope="module")
def questions():
    """Findings of one audit with other values for each model and question; one cell is empty."""
    rows = [(g, "a", "b" if g == "x" and i < 30 else "a") for g in "xyz" for i in range(100)]
    frame = pl.DataFrame(rows, schema=["office", "truth", "prediction"], orient="row")
    run = eh.audit(frame, truth="truth", prediction="prediction", by="office", metrics=["accuracy_gap"])
    base = run.findings.findings[0]

    def cell(model, index, question):
        value = round(0.01 + 0.003 * index * (question % 5), 6)
        interval = base.interval.model_copy(update={"low": value / 2, "high": value * 2})
        finding = base.model_copy(update={"value": value, "interval": interval})
        findings = Findings(manifest_id=f"{index} {question}", findings=[finding])
        return SuiteCell(model, findings, run.manifest, f"question-{question}/{index}/report.html")

    return [
        SuiteQuestion(
            f"family/question-{question}",
            tuple(
                SuiteCell(model, problem=f"failed: {HOSTILE}")
                if (index, question) == (7, 3)
                else cell(model, index, question)
                for index, model in enumerate(MODELS)
            ),
            compared=f"compared/question-{question}/report.html",
        )
        for question in range(12)
    ]


@pytest.fixture(scope="module")
def page(questions, tmp_path_factory):
    path = tmp_path_factory.mktemp("suite") / "index.html"
    path.write_text(rendered(questions, MODELS))
    return path


def rendered(questions, models):
    titles = {"title": "eight models", "results": "results.parquet"}
    return render_suite(questions, models, **titles, corrected=corrected_over_page)


def test_marks_are_corrected_over_the_cells_of_the_page(questions):
    """Of one cell a small p fills the mark; of 96 it does not, and the cell says what its report says."""

    def with_p(cell, p):
        finding = cell.findings.findings[0].model_copy(update={"p_value": p, "p_adjusted": p})
        return replace(cell, findings=cell.findings.model_copy(update={"findings": [finding]}))

    first = with_p(questions[0].cells[1], 0.01)
    alone = rendered([replace(questions[0], cells=(first,))], MODELS[1:2])
    assert alone.count('class="beyond"') == 1
    assert "By itself" not in alone
    others = [
        replace(
            question, cells=tuple(with_p(cell, 0.6) if cell.findings else cell for cell in question.cells)
        )
        for question in questions
    ]
    several = rendered([replace(others[0], cells=(first, *others[0].cells[1:])), *others[1:]], MODELS)
    assert several.count('class="beyond"') == 0
    assert "corrected over the 95 tests of this page by Benjamini and Hochberg’s method" in several
    assert "Within chance over the 95 tests of this page. By itself: " in several
    hits = [
        replace(
            question, cells=tuple(with_p(cell, 0.01) if cell.findings else cell for cell in question.cells)
        )
        for question in questions
    ]
    assert rendered(hits, MODELS).count('class="beyond"') == 95


def test_texts_stay_texts_and_the_page_is_small(page):
    text = page.read_text()
    assert HOSTILE not in text
    assert text.count("<script>") == 1
    assert "default-src 'none'" in text
    assert len(text) < 3_000_000
    assert "total" in text.partition("</p>\n<p id=")[0]  # that there is none


@needs_chromium
def test_each_cell_is_its_finding_and_columns_sort_at_1400_and_400(page, questions, browser):
    with visiting(browser, lambda _: page.as_uri()) as go:
        for width in (1400, 400):
            shown = go("suite", width=width)
            assert shown.evaluate("document.documentElement.scrollWidth") <= width
            rows = shown.eval_on_selector_all(
                "#runs tbody tr", "rows => rows.map(row => [...row.cells].map(cell => ({...cell.dataset})))"
            )
            assert len(rows) == 8
            for index, row in enumerate(rows):
                for question, cell in zip(questions, row[1:], strict=True):
                    findings = question.cells[index].findings
                    if findings is None:
                        assert "value" not in cell
                        continue
                    finding = findings.findings[0]
                    assert (float(cell["value"]), float(cell["low"]), float(cell["high"])) == (
                        finding.value, finding.interval.low, finding.interval.high,
                    )  # fmt: skip
                    assert cell["null"] == f"{finding.null.low} {finding.null.high}"
            if width == 1400:
                shown.click("#runs thead th:nth-child(6) button")
                order = shown.eval_on_selector_all(
                    "#runs tbody td:nth-child(6)", "cells => cells.map(cell => Number(cell.dataset.value))"
                )
                assert order == sorted(order)
                assert len(set(order)) == 8
