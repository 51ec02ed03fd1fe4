"""Each export is valid by the official schema or client, keeps its numbers, and gives equal bytes twice."""

import io
import json
from xml.etree import ElementTree

import polars as pl
import pytest

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.report.exports.every_eval_ever import every_eval_ever
from evenhand.report.exports.exported import RunView
from evenhand.report.exports.judging import judged
from evenhand.report.exports.junit import junit
from evenhand.report.exports.model_card import model_card
from evenhand.report.exports.sarif import sarif
from evenhand.report.exports.summary import summary
from evenhand.report.exports.tidy import tidy_csv, tidy_frame, tidy_parquet
from tests.report.export_samples import (
    SCHEMAS,
    problems_of_every_eval_ever,
    problems_of_sarif,
    samples,
    with_gates,
)
from tests.report.report_samples import HOSTILE

WRITERS = [every_eval_ever, junit, model_card, sarif, summary, tidy_csv, tidy_parquet]
each_sample = pytest.mark.parametrize("name", list(samples()))


@each_sample
@pytest.mark.parametrize("write", WRITERS, ids=lambda write: write.__name__)
def test_equal_runs_give_equal_bytes(name, write):
    assert write([samples()[name]]) == write([samples()[name]])


@each_sample
def test_every_eval_ever_meets_its_schema(name):
    run = samples()[name]
    record = json.loads(every_eval_ever([run]))
    problems = problems_of_every_eval_ever(record)
    assert problems == []
    by_kind = [(one["metric_config"]["metric_kind"], one["score_details"]["score"]) for one in
               record["evaluation_results"]]  # fmt: skip
    assert by_kind == [(f.name, f.value) for f in run.findings.findings if f.value is not None]
    told = json.loads(record["source_metadata"]["additional_details"]["not_estimable"])
    assert set(told) == {f.metric for f in run.findings.findings if f.value is None}


def test_every_eval_ever_keeps_intervals_and_chance_bands():
    run = samples()["usual"]
    record = json.loads(every_eval_ever([run], {"organization": "Lab", "relationship": "third_party"}))
    gap = run.findings.findings[5]
    score = record["evaluation_results"][5]["score_details"]
    assert score["uncertainty"]["confidence_interval"] == {
        "lower": gap.interval.low, "upper": gap.interval.high, "confidence_level": 0.95, "method": "delta"
    }  # fmt: skip
    assert json.loads(score["details"]["chance"])["high"] == gap.null.high
    assert record["source_metadata"]["source_organization_name"] == "Lab"
    assert record["evaluation_results"][5]["metric_config"]["lower_is_better"] is True
    with pytest.raises(ParameterError, match="first_party"):
        every_eval_ever([run], {"relationship": "friend"})
    with pytest.raises(ParameterError, match="2 given"):
        every_eval_ever([run, run])
    with pytest.raises(UnknownName, match="organisation"):
        every_eval_ever([run], {"organisation": "Lab"})


@each_sample
def test_sarif_meets_its_schema(name):
    made = json.loads(sarif([samples()[name], with_gates(samples()["usual"])]))
    assert problems_of_sarif(made) == []
    for run in made["runs"]:
        rules = run["tool"]["driver"]["rules"]
        assert all(rules[one["ruleIndex"]]["id"] == one["ruleId"] for one in run["results"])


def test_sarif_tells_broken_gates_chance_and_what_is_not_estimable():
    run = with_gates(samples()["usual"])
    results = json.loads(sarif([run]))["runs"][0]["results"]
    level = {one["properties"]["metric"]: (one["kind"], one["level"]) for one in results}
    broken = [gate.finding.metric for gate in run.gates if gate.broken]
    assert level[broken[0]] == ("fail", "error")
    for finding in run.findings.findings:
        if finding.value is None:
            assert level[finding.metric] == ("open", "none")
        elif judged(finding, 0.05) == "worse" and finding.metric not in broken:
            assert level[finding.metric] == ("fail", "warning")
    assert level["cramers_v(by=perceived_gender)"] == ("fail", "warning")
    assert "accuracy_range(by=perceived_gender)" not in level  # adjusted p is 0.062


def test_sarif_messages_have_no_placeholders_or_links():
    texts = [
        one["message"]["text"] for one in json.loads(sarif([samples()["hostile"]]))["runs"][0]["results"]
    ]
    assert any("{{{{7*7}}}}" in text for text in texts)
    plain = [text.replace("{{", "").replace("}}", "").replace("\\[", "").replace("\\]", "") for text in texts]
    assert not any(mark in text for text in plain for mark in "{}[]")


@each_sample
def test_junit_meets_the_schema(name):
    xmlschema = pytest.importorskip("xmlschema", reason="needs xmlschema, of the test libraries")
    made = junit([samples()[name], with_gates(samples()["usual"])]).decode("utf-8")
    assert [str(one) for one in xmlschema.XMLSchema(SCHEMAS / "junit.xsd").iter_errors(made)] == []


def test_junit_has_a_test_for_each_gate_and_the_rest_for_information():
    run = with_gates(samples()["usual"])
    suite = ElementTree.fromstring(junit([run]))[0]  # noqa: S314 - made here
    cases = suite.findall("testcase")
    assert suite.attrib["tests"] == str(len(cases)) == str(len(run.findings.findings))
    assert suite.attrib["failures"] == "1"
    assert [case.attrib["name"].split(" [")[0] for case in cases[:2]] == ["skewsize>9", "accuracy<0.99"]
    assert cases[0].find("failure") is None
    assert cases[1].find("failure").attrib["message"] == "accuracy = 0.8 < 0.99"
    assert all(case.find("skipped") is not None for case in cases[2:])
    assert suite.attrib["skipped"] == str(len(cases) - 2)
    assert suite.attrib["timestamp"] == "2025-03-04T10:12:00"


def test_junit_names_an_audited_table_once():
    usual = samples()["usual"]
    audited = RunView("run", usual.findings, {**usual.manifest, "model": "t.csv", "benchmark": "t.csv"})
    suite = ElementTree.fromstring(junit([audited]))[0]  # noqa: S314 - made here
    assert suite.attrib["name"] == "t.csv run"


@each_sample
def test_the_hub_reads_the_model_card(name):
    huggingface_hub = pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    run = samples()[name]
    card = huggingface_hub.ModelCard(model_card([run]).decode("utf-8"))
    expected = [f for f in run.findings.findings if f.value is not None]
    read = card.data.eval_results or []
    assert [(one.metric_type, one.metric_value) for one in read] == [(f.name, f.value) for f in expected]
    for one, finding in zip(read, expected, strict=True):
        assert one.metric_config == finding.metric
        if finding.interval:
            assert one.metric_args["interval"]["low"] == finding.interval.low
        if finding.null:
            assert one.metric_args["chance"]["high"] == finding.null.high
    if expected:
        assert card.data.model_name == run.model
    assert card.text.lstrip().startswith("## Bias audit")


def test_a_model_card_is_about_one_model():
    pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    runs = [samples()["usual"], samples()["hostile"]]
    with pytest.raises(ParameterError, match="one model"):
        model_card(runs)
    assert b"name: ours" in model_card(runs, {"name": "ours"})


@each_sample
def test_rows_hold_every_finding_and_part(name):
    run = samples()[name]
    frame = tidy_frame([run, run])
    findings = run.findings.findings
    assert frame.height == 2 * sum(1 + len(finding.parts) for finding in findings)
    for read in (pl.read_csv(io.BytesIO(tidy_csv([run]))), pl.read_parquet(io.BytesIO(tidy_parquet([run])))):
        heads = read.filter(pl.col("row") == "finding")
        assert heads["metric"].to_list() == [finding.metric for finding in findings]
        assert heads["value"].cast(pl.Float64).to_list() == [finding.value for finding in findings]
        parts = read.filter(pl.col("row") == "part")
        keys = [part.key for finding in findings for part in finding.parts]
        assert [json.loads(key) for key in parts["key_json"]] == keys
        reasons = [part.reason for finding in findings for part in finding.parts]
        assert parts["reason"].to_list() == reasons
        undefined = read.filter(pl.col("value").is_null())
        assert undefined["reason"].null_count() == 0
    dropped = json.loads(frame.row(0, named=True)["dropped"])
    assert dropped == [one.model_dump() for one in findings[0].dropped]


def test_hostile_labels_stay_whole_in_rows():
    read = pl.read_csv(io.BytesIO(tidy_csv([samples()["hostile"]])))
    keys = read.filter(pl.col("name") == "skewsize", pl.col("row") == "part")["key"].to_list()
    assert keys == HOSTILE


@each_sample
def test_a_summary_tells_every_finding_once_and_no_markup(name):
    run = samples()[name]
    text = summary([run]).decode("utf-8")
    lines = text.splitlines()
    table = [line for line in lines if line.startswith("| ") and not line.startswith("| Finding")]
    assert len(table) == sum(finding.value is not None for finding in run.findings.findings)
    assert all(line.replace("\\|", "").count("|") == 8 for line in table)
    assert "<" not in text
    assert ">" not in text
    missing = sum(finding.value is None for finding in run.findings.findings)
    assert (f"**Could not be estimated** ({missing})" in text) == bool(missing)
    assert "associations, not causes" in text


def test_the_schema_of_junit_refuses_what_is_none():
    xmlschema = pytest.importorskip("xmlschema", reason="needs xmlschema, of the test libraries")
    schema = xmlschema.XMLSchema(SCHEMAS / "junit.xsd")
    good = junit([with_gates(samples()["usual"])]).decode("utf-8")
    assert schema.is_valid(good)
    for changed in (
        good.replace(' hostname="localhost"', ""),
        good.replace("2025-03-04T10:12:00", "yesterday"),
        good.replace("<system-err />", ""),
        good.replace('type="gate"', ""),
        good.replace("<properties>", "<testcase/><properties>"),
    ):
        assert changed != good
        assert not schema.is_valid(changed)
