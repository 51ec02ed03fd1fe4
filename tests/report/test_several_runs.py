"""Pages over several runs say what the runs say, and a program sees where they do not."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from evenhand.core.findings import Findings
from evenhand.report.checking.several_runs import check_index, check_suite
from evenhand.report.page.index import IndexedRun, render_index
from evenhand.report.page.suite import SuiteCell, SuiteQuestion, render_suite
from evenhand.workflows.suite.overview import corrected_over_page
from tests.report.test_index import a_run

SHARES = (0.3, 0.2, 0.03, 0.0)


@pytest.fixture(scope="module")
def runs():
    return [a_run(round(100 * share)) for share in SHARES]


@pytest.fixture(scope="module")
def questions(runs):
    """Two questions of five models: some differ, one only before the page's correction, one has no run."""

    def cell(model, run, metric, **changes):
        findings = [finding.model_copy(update=changes) for finding in run.findings if finding.name == metric]
        return SuiteCell(
            model, Findings(manifest_id=model, findings=findings), run.manifest, f"{model}/report.html"
        )

    alike = {"p_value": 0.6, "p_adjusted": 0.6}
    first = [cell(f"model-{number}", run, "accuracy_gap") for number, run in enumerate(runs)]
    second = [cell("model-0", runs[0], "disparities", p_value=0.04, p_adjusted=0.04)]
    second += [cell(f"model-{n}", run, "disparities", **alike) for n, run in enumerate(runs) if n]
    missing = SuiteCell("model-4", problem="failed: the model gave 3 of 450 answers")
    return [
        SuiteQuestion("texts/intents", (*first, missing), compared="compared/report.html"),
        SuiteQuestion("texts/offices", (*second, missing), notes=("Two wordings agree in 3 of 4 models.",)),
    ]


@pytest.fixture(scope="module")
def suite_page(questions):
    models = [cell.model for cell in questions[0].cells]
    return render_suite(
        questions, models, title="t", results="results.parquet", corrected=corrected_over_page
    )


def test_the_page_of_a_suite_says_what_its_runs_say(suite_page, questions):
    assert check_suite(suite_page, questions) == []
    assert suite_page.count("●") >= 1
    assert "By itself: " in suite_page
    assert "too_few_mistakes" not in suite_page  # reasons in words alone


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        ("●", "○", "it is beyond chance"),
        ("○", "●", "it is within chance"),
        ("; beyond chance</small>", "; within chance</small>", "it is beyond chance"),
        (r"over the \d+ tests of this page by", "over the 80 tests of this page by", "there are"),
        (r"<bdi>Within chance over the \d+ tests of this page\. By itself: ", "<bdi>", "does not print it"),
        (r"(<bdi>[^<]*)30 of 100 a rows", r"\g<1>31 of 100 a rows", "does not print it"),
        (r"<bdi>Nothing differs by office beyond chance\.", "<bdi>Lagos differs.", "does not print it"),
        (r"(<small>)chance [\d.]+ to", r"\1chance 7.7 to", "should be"),
        (r'<span class="range">\([\d.]+ to', '<span class="range">(7.7 to', "should be"),
        (r' <span class="range">.*?</span>', "", "numbers"),
        (r"(model-3</bdi></b> <bdi>.*?</bdi>)", r"\1 Lagos: 4 of 9 more", "no statement of model-3"),
        (r"(<li><b><bdi>model-0</bdi></b>.*?</li>)\n(<li>.*?</li>)", r"\2\n\1", "does not come first"),
    ],
    ids=lambda text: text[:20],
)
def test_what_a_suite_page_says_wrong_is_seen(suite_page, questions, was, becomes, why):
    false, times = re.subn(was, becomes, suite_page, count=1, flags=re.DOTALL)
    assert times == 1
    assert any(why in wrong.why for wrong in check_suite(false, questions))


def test_a_page_of_another_correction_is_seen(questions):
    page = render_suite(
        questions,
        [cell.model for cell in questions[0].cells],
        title="t",
        results="r.parquet",
        corrected=lambda findings: findings,  # none
    )
    assert any("it is within chance" in wrong.why for wrong in check_suite(page, questions))


@pytest.fixture(scope="module")
def indexed(runs):
    """Four months of one model, a table of its own, one run that cannot be read."""
    months = [
        IndexedRun(
            f"monthly/run{month}",
            "",
            run.findings,
            {**run.manifest, "created": f"2026-0{month + 1}-01T00:00:00+00:00", "tags": {"lineage": "m"}},
        )
        for month, run in enumerate(runs)
    ]
    other = replace(months[0], folder="other", manifest={**months[0].manifest, "tags": {}})
    return [*months, other, IndexedRun("broken", "", None, {}, "findings.json is no JSON")]


def test_the_index_says_what_its_runs_say(indexed):
    page = render_index(indexed, title="runs")
    assert check_index(page, indexed) == []
    assert page.count("<polyline") == 4


@pytest.mark.parametrize(
    ("was", "becomes", "why"),
    [
        (r"<bdi>(Lagos: )30 of 100 a rows", r"<bdi>\g<1>20 of 100 a rows", "says"),
        (r'(<td class="right" data-sort="\d">)\d', r"\g<1>7", "headlines"),
        (r"(<small>Accuracy gap: [\d.]+ at first, )[\d.]+ here", r"\g<1>0.7 here", "no such value"),
        (r"<small>Accuracy gap: [\d.]+ at first", "<small>Accuracy gap: 0.7 at first", "no such value"),
        ("monthly/run1</bdi>", "monthly/run9</bdi>", "has no row"),
        ("<bdi>broken</bdi>:", "<bdi>whole</bdi>:", "is not listed as unreadable"),
        (r"the newest first", "2 of 5 groups differ, the newest first", "no run says so"),
    ],
    ids=lambda text: text[:20],
)
def test_what_an_index_says_wrong_is_seen(indexed, was, becomes, why):
    false, times = re.subn(was, becomes, render_index(indexed, title="runs"), count=1)
    assert times == 1
    assert any(why in wrong.why for wrong in check_index(false, indexed))
