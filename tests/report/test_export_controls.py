"""Control mappings say what is evidence and what is missing; impact ratios are those of the rules."""

import json

import polars as pl
import pytest

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.evidence.predictions import Predictions
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.report.exports import control_mapping
from evenhand.report.exports.ll144 import ll144_json, ll144_markdown
from evenhand.runner.impact_ratios import COLUMNS, impact_ratios
from tests.report.export_samples import exported, samples, with_gates
from tests.report.report_samples import content, plain

HIRES = [
    ("female", "a", 40, 100),
    ("male", "a", 60, 100),
    ("female", "b", 10, 50),
    ("male", "b", 25, 50),
    ("male", "c", 1, 2),
]


@pytest.fixture
def counts():
    rows = [
        (sex, race, "hire" if place < hired else "no") for sex, race, hired, n in HIRES for place in range(n)
    ]
    rows += [(None, "a", "hire"), ("female", None, "no"), ("male", "a", None)]
    frame = pl.DataFrame(rows, schema=["sex", "race", "said"], orient="row").with_columns(
        truth=pl.lit("hire")
    )
    return Predictions.from_frame(frame, truth="truth", prediction="said").count(["sex", "race"])


def ratios(counts, **given):
    settings = {"selected": "hire", "sex": "sex", "race": "race", **given}
    return impact_ratios([(samples()["usual"], counts)], settings)


def test_impact_ratios_by_sex_race_and_both(counts):
    table, notes = ratios(counts, crossed="yes")
    assert table.columns == list(COLUMNS)
    value = {(row["by"], row["category"]): row for row in table.to_dicts()}
    female, male = 50 / 151, 86 / 152
    assert value["sex", "female"]["n"] == 151
    assert value["sex", "female"]["impact_ratio"] == pytest.approx(female / male)
    assert value["sex", "male"]["impact_ratio"] == 1
    assert value["race", "b"]["impact_ratio"] == pytest.approx((35 / 100) / (101 / 201))
    assert value["sex x race", "female x b"]["impact_ratio"] == pytest.approx(0.2 / 0.6)
    assert value["sex x race", "female x b"]["sex"] == "female"
    assert "Evidence, not a conformity decision." in notes[0]
    assert "usual: by sex, 1 rows of unknown category are in no rate" in notes
    assert "usual: by sex x race, 2 rows of unknown category are in no rate" in notes
    assert "usual: by race, 1 rows without a prediction are in no rate" in notes


def test_intervals_of_rates_are_wilsons(counts):
    from scipy.stats import binomtest

    table, _ = ratios(counts)
    for row in table.to_dicts():
        known = binomtest(row["selected"], row["n"]).proportion_ci(0.95, "wilson")
        assert (row["rate_low"], row["rate_high"]) == pytest.approx((known.low, known.high))


def test_small_categories_are_said_and_counted_whether_left_out_or_not(counts):
    kept, _ = ratios(counts)
    small = kept.filter(pl.col("category") == "c").row(0, named=True)
    assert small["below_two_percent"]
    assert small["impact_ratio"] == pytest.approx(0.5 / (101 / 201))
    assert not small["left_out"]
    out, notes = ratios(counts, leave_out_below="0.02")
    small = out.filter(pl.col("category") == "c").row(0, named=True)
    assert small["impact_ratio"] is None
    assert small["reason"] == "left out: below the share given"
    assert small["selection_rate"] == 0.5
    assert "usual: by race, 1 categories with 2 rows are left out of the ratios" in notes
    assert "usual: by sex, 0 categories with 0 rows are left out of the ratios" in notes


def test_no_selection_is_undefined_and_not_zero():
    sexes, said = ["f", "m", "m", None], ["no", "no", "no", "hire"]
    frame = pl.DataFrame({"sex": sexes, "said": said, "truth": ["no", "no", "no", "hire"]})
    counts = Predictions.from_frame(frame, truth="truth", prediction="said").count(["sex"])
    table, _ = impact_ratios([(samples()["usual"], counts)], {"selected": "hire", "sex": "sex"})
    assert table["selection_rate"].to_list() == [0, 0]
    assert table["impact_ratio"].to_list() == [None, None]
    assert set(table["reason"]) == {"no category has a selection"}
    table, _ = impact_ratios([(samples()["usual"], counts)], {"selected": "no", "sex": "sex"})
    assert table["impact_ratio"].to_list() == [1, 1]


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"selected": ""}, ParameterError, "-p selected=LABEL"),
        ({"sex": "gender"}, UnknownName, "sex"),
        ({"selected": "hired"}, UnknownName, "did you mean 'hire'"),
        ({"leave_out_below": "0.5"}, ParameterError, "0.02"),
        ({"crossed": "maybe"}, ParameterError, "yes or no"),
        ({"race": "", "crossed": "yes"}, ParameterError, "needs both"),
        ({"colour": "x"}, UnknownName, "colour"),
    ],
)
def test_what_cannot_be_asked(counts, given, error, says):
    with pytest.raises(error, match=says.replace("(", r"\(")):
        ratios(counts, **given)


def test_ratios_as_json_and_markdown(counts):
    table, notes = ratios(counts, leave_out_below="0.02")
    made = json.loads(ll144_json(table, notes))
    assert made["notes"] == notes
    assert [row["impact_ratio"] for row in made["rows"]] == table["impact_ratio"].to_list()
    text = ll144_markdown(table, notes).decode("utf-8")
    assert text.count("\n| ") == table.height + 2  # and a heading for each kind
    assert "left out: below the share given" in text


@pytest.mark.parametrize("name", control_mapping.frameworks())
def test_every_mapping_names_findings_and_facts_that_there_are(name):
    written = control_mapping.mapping(name)
    assert written["framework"] == name
    for control in written["controls"]:
        assert control["asks"]
        assert control["elsewhere"]
        for need in control["needs"]:
            assert need["says"]
            assert need["otherwise"]
            assert set(need.get("findings", [])) <= set(DEFINITIONS)
            assert need.get("findings") or need.get("facts")


def test_the_three_mappings_are_there():
    assert control_mapping.frameworks() == ["eu-ai-act", "nist-ai-rmf", "nyc-ll144"]


@pytest.mark.parametrize("name", control_mapping.frameworks())
def test_every_need_of_a_control_is_either_met_or_missing(name):
    made = control_mapping.controls([samples()["usual"]], {"framework": name})[0]
    for told, written in zip(made["controls"], control_mapping.mapping(name)["controls"], strict=True):
        assert len(told["evidence"]) + len(told["missing"]) == len(written["needs"])
        assert all(one["found"] for one in told["evidence"])
    assert made["note"] == "Evidence, not a conformity decision."


def test_evidence_has_a_value_and_what_it_must_hold():
    runs = {name: control_mapping.controls([run], {"framework": "eu-ai-act"})[0]["controls"]
            for name, run in samples().items()}  # fmt: skip
    usual, undefined = runs["usual"][1], runs["undefined"][1]
    assert "usual: accuracy_gap(by=perceived_gender) = 0.011" in usual["evidence"][0]["found"]
    assert not any(
        "equalized_odds" in line for line in usual["evidence"][0]["found"]
    )  # it has no chance band
    assert not any(need["says"].startswith("differences") for need in undefined["evidence"])
    assert any("accuracy" in line.lower() for line in undefined["not_estimable"])
    gates = control_mapping.controls([with_gates(samples()["usual"])], {"framework": "eu-ai-act"})[0]
    assert gates["controls"][0]["evidence"][0]["found"] == ["usual: 2 findings checked by a condition"]


def test_what_was_left_out_is_evidence_also_where_it_is_nothing():
    whole = content([plain("accuracy", ("g",), 0.5, "higher is better", dropped=[])])
    made = control_mapping.controls([exported(whole)], {"framework": "nyc-ll144"})[0]["controls"][2]
    assert made["evidence"][0]["found"] == ["run: nothing left out"]
    made = control_mapping.controls([samples()["usual"]], {"framework": "nyc-ll144"})[0]["controls"][2]
    assert made["evidence"][0]["found"] == ["usual: 38 findings with counts of what was left out"]
    assert made["missing"] == []


def test_controls_as_json_and_markdown():
    made = control_mapping.controls([samples()["hostile"]], {})
    assert len(json.loads(control_mapping.controls_json(made))["frameworks"]) == 3
    text = control_mapping.controls_markdown(made).decode("utf-8")
    assert "**Evidence, not a conformity decision.**" in text
    assert "<" not in text
    with pytest.raises(UnknownName, match="did you mean 'eu-ai-act'"):
        control_mapping.controls([samples()["usual"]], {"framework": "eu-ai"})
