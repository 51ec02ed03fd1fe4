"""Findings as JSON: round trips, forward readable, never NaN."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from evenhand.core.cards import Source, metric_id
from evenhand.core.findings import SCHEMA_VERSION, Finding, Findings, Interval, Part, json_schema
from tests.helpers import CHARACTERS

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def finding(**fields):
    given_fields = {"metric": "m(by=g)", "name": "m", "value": 0.5, "n": 10, "direction": "lower is fairer"}
    return Finding(**{**given_fields, "source": Source(paper="p"), **fields})


def holding(*findings):
    return Findings(manifest_id="id", findings=list(findings))


def test_no_p_is_zero():
    """One that underflows is the smallest number there is, in findings and parts, read or written."""
    part = Part(kind="class", key="a", value=1.0, n=9, p_value=0.0, p_adjusted=0.0)
    one = finding(p_value=0.0, p_adjusted=0.02, parts=[part])
    for again in (one, Findings.model_validate_json(holding(one).dump()).findings[0]):
        assert 0 < again.p_value < 1e-300
        assert 0 < again.parts[0].p_adjusted < 1e-300
        assert again.p_adjusted == 0.02
    assert finding(p_value=None).p_value is None


@given(FINITE, FINITE, st.text(CHARACTERS), st.lists(st.text(CHARACTERS), min_size=1), st.none() | FINITE)
def test_round_trip_keeps_everything(value, low, text, key, p):
    part = Part(kind="class*group", key=key, value=value, n=1, p_value=p, details={text: value})
    one = finding(
        value=value, notes=[text], parts=[part], params={"a": text, "k": 5, "x": 5.0, "t": True, "l": [1, 2]},
        interval=Interval(low=low, high=low, method=text),
    )  # fmt: skip
    again = Findings.model_validate_json(holding(one).dump())
    assert again == holding(one)
    assert again.dump() == holding(one).dump()
    kinds = {key: type(value) for key, value in again.findings[0].params.items()}
    assert kinds == {"a": str, "k": int, "x": float, "t": bool, "l": list}


@pytest.mark.parametrize("field", ["value", "n", "p_value", "p_adjusted", "mde", "fair_at"])
@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_refused(field, wrong):
    with pytest.raises(ValidationError):
        finding(**{field: wrong})


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_nan_is_refused_inside(wrong):
    with pytest.raises(ValidationError):
        Interval(low=wrong, high=1, method="m")
    with pytest.raises(ValidationError):
        Part(kind="class", key="a", value=None, n=1, details={"accuracy": wrong})
    with pytest.raises(ValidationError):
        Part(kind="class", key="a", value=wrong, n=1)


def test_unknown_fields_are_ignored():
    content = json.loads(holding(finding()).dump())
    content["later"] = 1
    content["findings"][0]["later"] = {"deep": []}
    content["findings"][0]["source"]["later"] = "x"
    assert Findings.model_validate(content) == holding(finding())


def test_findings_do_not_change():
    with pytest.raises(ValidationError):
        finding().value = 1


def test_the_version_is_written_and_checked():
    assert json.loads(holding().dump())["schema_version"] == SCHEMA_VERSION
    with pytest.raises(ValidationError):
        Findings(schema_version="one", manifest_id="id", findings=[])


def test_undefined_is_null_in_the_file():
    content = json.loads(holding(finding(value=None, reason="empty")).dump())
    assert content["findings"][0]["value"] is None
    assert content["findings"][0]["reason"] == "empty"


def test_the_file_ends_with_a_newline_and_holds_text_as_it_is():
    dumped = holding(finding(notes=["Cramér's V ≥ .1"])).dump()
    assert dumped.endswith(b"}\n")
    assert "Cramér's V ≥ .1".encode() in dumped


def test_parts_are_found_by_key():
    one = finding(parts=[Part(kind="c", key="a", value=1, n=1), Part(kind="c", key=["a", "b"], value=2, n=1)])
    assert one.part(["a", "b"]).value == 2
    with pytest.raises(KeyError):
        one.part("z")


def test_a_key_of_two_kinds_needs_its_kind():
    parts = [
        Part(kind=kind, key="nurse", value=value, n=1) for kind, value in (("class", 0.1), ("group", 0.2))
    ]
    with pytest.raises(KeyError, match="kinds class, group"):
        finding(parts=parts).part("nurse")
    assert finding(parts=parts).part("nurse", kind="group").value == 0.2
    with pytest.raises(KeyError):
        finding(parts=parts).part("nurse", kind="query")


def test_grouping_is_written_as_on_the_command_line():
    assert finding(by=["gender", "race"]).grouping == "gender+race"


def test_the_schema_names_every_field_of_a_finding():
    properties = json_schema()["$defs"]["Finding"]["properties"]
    assert {"metric", "value", "reason", "interval", "null", "p_value", "p_adjusted"} <= set(properties)
    assert {"adjustment", "mde", "band", "n", "groups", "parts", "dropped"} <= set(properties)
    assert {"reference", "fair_at", "direction", "source", "params", "by"} <= set(properties)
    assert {"type": "null"} in properties["value"]["anyOf"]


def test_bound_metrics_print_sorted_and_leave_none_out():
    bound = metric_id("skewsize", ("gender", "race"), {"mode": "paper", "alpha": None, "k": 5})
    assert bound == "skewsize(by=gender+race, k=5, mode=paper)"
    assert metric_id("accuracy", (), {}) == "accuracy()"
    assert bound == metric_id("skewsize", ["gender", "race"], {"k": 5, "mode": "paper"})


def test_findings_are_numbered_and_a_name_is_told_to_be_asked_of_the_run():
    first, second = finding(), finding(name="other")
    held = holding(first, second)
    assert (held[0], held[-1], held[1:]) == (first, second, [second])
    with pytest.raises(TypeError, match=r"by name type run\['other'\]"):
        held["other"]
