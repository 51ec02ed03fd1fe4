"""Small cells leave no trace in the page: neither in its words nor in the data for its scripts."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from evenhand.core.findings import Findings, Part
from evenhand.report.content import DrawnTable, ReportInput
from evenhand.report.page.html import render_html
from evenhand.report.suppression.suppress import suppressed, suppressed_findings
from evenhand.workflows.outputs.evidence_rows import evidence_of
from tests.conftest import make_frame
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
        assert all(n is None or n >= 15 or n in (0, -15) for n in column), name
    assert -15 in counted["by-perceived-gender-groups"]


def audited(small=6, **more):
    """Two classes and three groups; the group ``x`` has few rows, all of one class."""
    cells = [("cat", "f", 90, 30), ("cat", "m", 70, 40), ("dog", "f", 80, 25), ("dog", "m", 60, 45)]
    lines = [
        {"truth": truth, "prediction": answer, "g": group}
        for truth, group, right, wrong in [*cells, ("dog", "x", small, 0)]
        for answer, n in ((truth, right), ("owl", wrong))
        for _ in range(n)
    ]
    evidence = eh.Predictions.from_frame(pl.DataFrame(lines), truth="truth", prediction="prediction")
    run = eh.audit(evidence, by=["g"], **more)
    return ReportInput(run.findings, run.manifest, run.tables, evidence_of(run))


def test_the_group_that_is_shown_least_often_is_hidden_beside_a_small_one():
    found = {one.name: one for one in suppressed(audited(), 10).findings.findings}
    assert [(one.key, one.n) for one in found["accuracy"].groups] == [
        ("f", -10.0),
        ("m", 215.0),  # the contrast of accuracies names it too
        ("x", -10.0),
    ]
    assert [part.value is None for part in found["accuracy"].parts] == [True, False, True]
    assert found["accuracy"].value == pytest.approx(306 / 446), "a rate over all rows is one of the sums"
    lost = {name for name, one in found.items() if one.reason == "suppressed"}
    assert {"worst_group_accuracy", "accuracy_range", "cramers_v_mean", "cramers_v", "equalized_odds"} <= lost
    assert found["accuracy_range"].interval is None
    assert found["accuracy_range"].p_value is None


def test_what_an_inference_tells_is_hidden_with_the_value():
    """A corrected value, where chance puts it and the 95 % ends would give a hidden value back."""
    content = audited()
    told = content.findings.findings
    assert any({"low_95", "high_95"} <= set(one.details) for one in told)
    assert any(one.corrected is not None for one in told)
    findings = suppressed(content, 10).findings.findings
    lost = [one for one in findings if one.reason == "suppressed"]
    assert {"cramers_v_pooled", "accuracy_gap"} <= {one.name for one in lost}
    parts = [part for one in findings for part in one.parts if part.reason == "suppressed"]
    assert parts
    for one in (*lost, *parts):
        assert (one.value, one.corrected, one.chance_at, one.interval, one.null) == (None,) * 5
        assert (one.p_value, one.p_adjusted) == (None, None)
        assert not {"low_95", "high_95", "explained_by_truth"} & set(one.details)


def test_ends_of_95_stay_where_the_interval_does():
    content = audited(small=40)
    gap = next(one for one in content.findings.findings if one.name == "accuracy_gap")
    leveled = gap.model_copy(update={"details": {**gap.details, "low_95": 0.06, "high_95": 0.14}})
    findings = [leveled if one is gap else one for one in content.findings.findings]
    content = replace(content, findings=content.findings.model_copy(update={"findings": findings}))
    shown = {one.metric: one for one in suppressed(content, 10).findings.findings}
    leveled = [one for one in content.findings.findings if "low_95" in one.details]
    assert leveled
    assert all(shown[one.metric].details == one.details for one in leveled)


def test_nothing_is_hidden_where_no_group_and_no_cell_is_small():
    content = audited(small=40)
    shown = suppressed(content, 10)
    assert shown.findings.findings == content.findings.findings
    assert sorted(shown.evidence["g|predictions"]["n"]) == sorted(content.evidence["predictions"]["n"])


def test_a_small_cell_of_a_class_hides_its_row_and_column_but_no_finding_on_groups():
    content = audited(small=40)
    counts = content.evidence["predictions"]
    few = (pl.col("truth") == "cat") & (pl.col("g") == "f") & (pl.col("prediction") == "owl")
    evidence = {
        "predictions": counts.with_columns(n=pl.when(few).then(4).otherwise("n").cast(counts["n"].dtype))
    }
    cells = suppressed(replace(content, evidence=evidence), 10).evidence["g|predictions"]
    hidden = {(row["truth"], row["g"], row["prediction"]) for row in cells.to_dicts() if row["n"] < 0}
    assert ("cat", "f", "owl") in hidden
    for axis in (slice(0, 2), slice(0, 3, 2)):
        lines = [cell[axis] for cell in hidden if cell[0] == "cat"]
        assert all(lines.count(line) >= 2 for line in lines), "rows and columns of a class add up"
    shown = {one.name: one for one in suppressed(replace(content, evidence=evidence), 10).findings.findings}
    before = next(one for one in content.findings.findings if one.name == "accuracy")
    assert shown["accuracy"].value == before.value
    assert [one.value for one in shown["accuracy"].parts] == [one.value for one in before.parts]
    assert shown["accuracy"].parts[0].null is None, "what chance gives a group tells its mix of classes"
    assert (shown["disparities"].value, shown["disparities"].details) == (None, {})
    assert all(part.value is None and not part.details for part in shown["disparities"].parts)


def test_rows_by_which_two_groupings_differ_are_a_cell_too():
    frame = make_frame(n=400).with_columns(
        other=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise(pl.col("other"))
    )
    evidence = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction")
    run = eh.audit(evidence, by=["group", "other"], inference="none")
    shown = suppressed(ReportInput(run.findings, run.manifest, run.tables, evidence_of(run)), 10)
    totals = {tuple(one.by): one.n for one in shown.findings.findings}
    assert [one.count for one in run.findings.findings[-1].dropped] == [3.0]
    assert totals == {("group",): 400.0, ("other",): -10.0}
    dropped = [one.count for finding in shown.findings.findings for one in finding.dropped]
    assert set(dropped) == {-10.0}


def test_findings_alone_lose_the_same_and_effect_sizes_where_nothing_tells_their_cells():
    content = audited()
    alone = suppressed_findings(content.findings, 10, content.evidence)
    assert alone == suppressed(content, 10).findings
    content = audited(small=40)
    unknown = {one.name: one for one in suppressed_findings(content.findings, 10).findings}
    assert unknown["cramers_v_mean"].reason == "suppressed"
    assert unknown["accuracy_range"].value is not None
    assert suppressed_findings(content.findings, 0) == content.findings
    Findings.model_validate_json(alone.dump())


def test_hidden_classes_are_told_apart_from_those_that_could_not_be_estimated():
    text = render_html(audited(), suppress=10)
    assert "2 classes are hidden, which says nothing of them" in text
    assert "Differences of mistakes are hidden" in text
    assert "classes could not be estimated" not in text


def words_of(page):
    """The text of a page without its scripts and what they read."""
    return re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)


def test_without_the_option_every_cell_is_there():
    data = data_of(render_html(samples.rested()))
    assert 9 in data["frames"]["by-perceived-gender-age-cells-class"]["columns"]["n"]
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
    assert found.parts[1].details == {"n_right": "hidden", "sd": 1.0}
    text = render_html(samples.content([worst]), suppress=10)
    assert "0.25" not in re.sub(r"<script>.*?</script>|<style>.*?</style>", "", text, flags=re.DOTALL)


def test_what_was_dropped_is_hidden_in_findings_and_manifest():
    content = samples.content(
        [samples.plain("accuracy", ("g",), 0.5, "higher is better")],
        asking={
            "questions": [{"rows": 100, "asked": 97, "batch": 8, "unanswered": 3}],
            "notes": {"cropped": 4, "whole": 40},
        },
    )
    hidden = suppressed(content, 10)
    gone = {"rows": "hidden", "asked": "hidden", "batch": 8, "unanswered": "hidden"}
    assert hidden.manifest["asking"]["questions"][0] == gone
    assert hidden.manifest["asking"]["notes"] == {"cropped": "hidden", "whole": "hidden"}
    assert hidden.manifest["rows"] == 4812
    assert suppressed(content, 30).findings.findings[0].n == -30, "of all rows, it would leave those left out"
    assert [one.count for one in suppressed(content, 30).findings.findings[0].dropped] == [-30]


def test_samples_are_left_out_and_so_are_drawings_where_anything_is_hidden():
    told = pl.DataFrame({"group": ["a", "b"], "value": [0.5, 0.125], "n": [40, 4]})
    content = ReportInput(
        samples.realistic().findings,
        samples.MANIFEST,
        evidence={"x/samples": pl.DataFrame({"sample": ["s-77"], "perceived_gender": ["female"]})},
        drawn=[DrawnTable("p/told", "Told", told), DrawnTable("p/untold", "Untold", told.drop("n"))],
    )
    assert "s-77" in render_html(content)
    text = render_html(content, suppress=10)
    assert "s-77" not in text
    assert "Told (hidden: it may repeat what this report hides)" in text
    assert "0.125" not in words_of(text)
    assert "p/told" in text


def test_a_negative_number_is_refused():
    with pytest.raises(InputError, match="--suppress -3 is below 0"):
        render_html(samples.realistic(), suppress=-3)
