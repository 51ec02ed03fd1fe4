"""First lines of every benchmark, from demo runs: a title each, with counts where metrics are rates."""

from __future__ import annotations

import re

import pytest

from evenhand.runs.run_folder import RunFolder

pytestmark = pytest.mark.slow

COUNTS = r"[\d,.]+ of [\d,]+"
FORMS = {
    "sports-uneven": rf"male: {COUNTS} curling images are called diving; female {COUNTS}\.",
    "domainnet-uneven": rf"quickdraw: {COUNTS} zebra images are called axe; elsewhere {COUNTS}\.",
    "sprites-square": rf"green: {COUNTS} square images are called heart; elsewhere {COUNTS}\.",
    "geography-labels-small": rf"Low-income households: {COUNTS} images have their thing named; "
    rf"high-income households {COUNTS}\.",
    "retrieval-ssl-large": rf"other: {COUNTS} nearest images show the same gender; female {COUNTS}\.",
    "resolution-clip-a": r"Nothing differs by gender beyond chance\.",
    "retrieval-clip-a": r"Rankings of 23 occupations follow gender more than chance explains: "
    r"masculine people lead in \d+, feminine people in \d+\.",
    "label_association-ssl-large": r"Nothing differs by gender, age, .* beyond chance\.",
    "association": rf"chinese: nearer to unpleasant than american in {COUNTS} pairs of items\.",
    "matching": r"In none of 4 comparisons of two groups does one lie nearer to unpleasant beyond chance\.",
    "debias": rf"After the mitigation, on held-out items: weaker in {COUNTS} pairs of groups, "
    r"stronger in \d+\.",
}
COUNTED = (
    "resolution",
    "retrieval-clip",
    "label_association",
    "geography",
    "association",
    "matching",
    "debias",
)
LONGEST = 20  # words of a headline; a name counts as one


@pytest.fixture(scope="module")
def overviews(demo_folder):
    """First lines of every run of the demo, with its manifest and findings."""
    runs = sorted((demo_folder / "runs").iterdir())
    return {run.name: RunFolder.read(run) for run in runs if (run / "findings.json").is_file()}


@pytest.mark.parametrize("name", sorted(FORMS))
def test_the_title_of_a_kind_of_benchmark(overviews, name):
    assert re.fullmatch(FORMS[name], overviews[name].overview.title)


def test_every_run_has_a_title_a_question_and_its_model(overviews):
    assert len(overviews) > 20
    for name, run in overviews.items():
        lines = run.overview
        assert lines.title, name
        assert lines.lead, name
        assert lines.headlines, name
        models = run.manifest.get("models") or [run.manifest["model"] or ""]
        assert all(model in lines.kicker for model in models), name
        texts = [line.text for line in lines.headlines]
        assert len(set(texts)) == len(texts), name


def test_headlines_are_short_and_those_of_rates_have_counts(overviews):
    for name, run in overviews.items():
        for line in run.overview.headlines:
            text = re.sub(r" \(.*\)\.$", ".", line.text)
            assert len(text.replace(" × ", "×").replace(" · ", "·").split()) <= LONGEST, line.text
            if name.startswith(COUNTED) and not line.metric.startswith("ndkl"):
                assert re.search(COUNTS, line.text), (name, line.text)


def test_verdicts_are_those_of_the_findings(overviews):
    """Counts are those of the parts; what is beyond chance is never exploratory, and its p is at most .05."""
    for name, run in overviews.items():
        by_metric = {finding.metric: finding for finding in run.findings}
        for line in run.overview.headlines:
            finding = by_metric[line.metric]
            assert finding.role != "exploratory", name
            assert not line.beyond or (finding.p_adjusted or 0.0) <= 0.05, name
            for mark in line.chart.marks if line.chart else ():
                counted = re.fullmatch(rf"({COUNTS})", mark.text)
                if counted and not finding.name.startswith("household"):
                    hits, rows = (float(n.replace(",", "")) for n in mark.text.split(" of "))
                    assert hits / rows == pytest.approx(mark.value, abs=1e-9), (name, mark)
