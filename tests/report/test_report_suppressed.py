"""Small cells leave no trace in the page: neither in its words nor in the data for its scripts."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from evenhand.core.errors import InputError
from evenhand.core.results import Part
from evenhand.report.content import DrawnTable, RunContent
from evenhand.report.html import render_html
from evenhand.report.suppression import suppressed
from tests.report import report_samples as samples


def data_of(text):
    return json.loads(re.search(r'id="run-data">(.*?)</script>', text, re.DOTALL)[1])


def test_no_count_below_is_left_in_the_data():
    data = data_of(render_html(samples.rested(), suppress=15))
    counted = {
        name: frame["columns"]["n"] for name, frame in data["frames"].items() if "n" in frame["columns"]
    }
    assert len(counted) > 6
    for name, column in counted.items():
        assert all(n is None or n >= 15 or n == -15 for n in column), name
    assert -15 in counted["by-perceived-gender-groups"]
    assert -15 in counted["by-perceived-gender-age-cells"]


def test_a_hidden_cell_cannot_be_worked_out_from_the_shares_beside_it():
    data = data_of(render_html(samples.rested(), suppress=15))
    labels, columns = data["labels"], data["frames"]["by-perceived-gender-age-cells"]["columns"]
    cells = zip(*(columns[key] for key in ("truth", "group", "n", "share")), strict=True)
    own = [
        (n, share)
        for truth, group, n, share in cells
        if (labels[truth], labels[group]) == ("nurse", "male × old")
    ]
    assert sorted(n for n, _ in own) == [-15, 100]
    assert [share for _, share in own] == [None, None]


def test_without_the_option_every_cell_is_there():
    data = data_of(render_html(samples.rested()))
    assert 9 in data["frames"]["by-perceived-gender-age-cells"]["columns"]["n"]
    assert suppressed(samples.rested(), 0).findings == samples.rested().findings


def test_a_part_on_few_rows_loses_its_value_and_so_does_the_finding_that_repeats_it():
    few = Part(kind="group", key="b", value=0.25, n=4, details={"n_right": 1.0})
    enough = Part(kind="group", key="a", value=0.75, n=40, details={"n_right": 3.0, "sd": 1.0})
    worst = samples.plain("worst_group_accuracy", ("g",), 0.25, "higher is better", parts=[few, enough])
    found = suppressed(samples.content([worst]), 10).findings.findings[0]
    assert (found.value, found.reason) == (None, "suppressed")
    assert found.parts[0].value is None
    assert found.parts[0].n == -10
    assert found.parts[0].details == {}
    assert found.parts[1].value == 0.75
    assert found.parts[1].details == {"n_right": "<10", "sd": 1.0}
    text = render_html(samples.content([worst]), suppress=10)
    assert "0.25" not in re.sub(r"<script>.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)


def test_what_was_dropped_is_hidden_in_findings_and_manifest():
    content = samples.content(
        [samples.plain("accuracy", ("g",), 0.5, "higher is better")],
        asking={"questions": [{"rows": 100, "unanswered": 3}], "notes": {"cropped": 4, "whole": 40}},
    )
    hidden = suppressed(content, 10)
    assert hidden.manifest["asking"]["questions"][0] == {"rows": 100, "unanswered": "<10"}
    assert hidden.manifest["asking"]["notes"] == {"cropped": "<10", "whole": 40}
    assert [one.count for one in suppressed(content, 30).findings.findings[0].dropped] == [-30]


def test_samples_and_tables_without_counts_are_left_out():
    told = pl.DataFrame({"group": ["a", "b"], "value": [0.5, 0.125], "n": [40, 4]})
    content = RunContent(
        samples.realistic().findings,
        samples.MANIFEST,
        evidence={"x/samples": pl.DataFrame({"sample": ["s-77"], "perceived_gender": ["female"]})},
        drawn=[DrawnTable("p/told", "Told", told), DrawnTable("p/untold", "Untold", told.drop("n"))],
    )
    assert "s-77" in render_html(content)
    text = render_html(content, suppress=10)
    assert "s-77" not in text
    assert "1 line on fewer than 10 rows left out." in text
    assert "the table does not say on how many rows its numbers rest" in text
    assert "0.125" not in re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)


def test_a_negative_number_is_refused():
    with pytest.raises(InputError, match="--suppress -3 is below 0"):
        render_html(samples.realistic(), suppress=-3)
