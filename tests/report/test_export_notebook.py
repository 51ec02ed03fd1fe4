"""Results show themselves in notebooks: small, escaped, without scripts."""

from html.parser import HTMLParser

import altair
import polars as pl
import pytest

from evenhand.core.figure import Figure
from evenhand.evidence.predictions import Predictions
from evenhand.evidence.run_folder import Run as ReadRun
from evenhand.runner.artifact_engine import MadeArtifact
from evenhand.runner.outcome import Run
from tests.conftest import make_frame
from tests.report.report_samples import HOSTILE, hostile, realistic, thousand

PLAIN = {"div", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "bdi"}


class Tags(HTMLParser):
    """Every tag of a text, and whether each was closed."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.text = set(), [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        assert not attributes
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(result):
    text = result._repr_html_()
    read = Tags(text)
    assert read.tags <= PLAIN
    assert read.open == []
    assert len(text) < 30_000
    return read.text


@pytest.mark.parametrize("make", [realistic, hostile, thousand], ids=lambda make: make.__name__)
def test_findings_show_themselves(make):
    content = make()
    assert "not the same as fair" in shown(content.findings)
    for finding in content.findings.findings[:4]:
        text = shown(finding)
        assert "n = " in text
        left = len(finding.parts) - 20
        assert (f"{left:,} more rows" in text) == (left > 0)


def test_a_finding_without_a_value_says_why():
    finding = next(one for one in realistic().findings.findings if one.value is None)
    assert "not estimable: one_usable_class" in shown(finding)


def test_hostile_labels_are_text():
    text = shown(hostile().findings.findings[0])
    assert "<script>alert(1)</script>" in text
    assert "\x00" not in text
    assert HOSTILE[-1] not in text  # 10,000 characters are cut


@pytest.mark.parametrize("kind", [ReadRun, Run])
def test_runs_show_their_findings(kind):
    content = hostile()
    text = shown(kind(content.findings, dict(content.manifest)))
    assert text.startswith("Run: ")
    assert "accuracy(by=" in text


def test_counts_show_their_cells():
    counts = Predictions.from_frame(make_frame(), truth="truth", prediction="prediction").count(["group"])
    text = shown(counts)
    assert "600 rows in 50 cells" in text
    assert "30 more rows" in text


def test_an_artifact_shows_its_table_and_gives_a_chart():
    table = pl.DataFrame({"group": ["<b>", "m"], "value": [0.25, None]})
    figure = Figure("bars", x="group", y="value")
    made = MadeArtifact("own/bars", "Bars <i>", table, ("a note",), (figure,))
    text = shown(made)
    assert "Bars <i>" in text
    assert "0.250" in text
    assert "–" in text
    chart = made.chart()
    assert isinstance(chart, altair.TopLevelMixin)
    drawn = chart.to_dict()
    assert {"data", "datasets"} & set(drawn)
