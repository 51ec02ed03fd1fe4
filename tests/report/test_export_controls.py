"""Control mappings say what is evidence, by which entry, and what is missing."""

import json
from dataclasses import replace

import pytest

from evenhand.core.errors import UnknownName
from evenhand.metrics.definitions import DEFINITIONS
from evenhand.report.exports import control_mapping
from tests.report.export_samples import exported, samples, with_gates
from tests.report.report_samples import content, plain


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
    found = usual["evidence"][0]["found"]
    assert "usual, findings.json: accuracy_gap(by=perceived_gender) = 0.011" in found
    assert not any("equalized_odds" in line for line in found)  # it has no chance band
    assert not any(need["says"].startswith("differences") for need in undefined["evidence"])
    assert any("accuracy" in line.lower() for line in undefined["not_estimable"])


def need_of(runs, framework, control, says):
    """The evidence for one need of one control; None where there is none."""
    made = control_mapping.controls(runs, {"framework": framework})[0]["controls"]
    one = next(each for each in made if each["id"].startswith(control))
    assert says in [need["says"] for need in (*one["evidence"], *one["missing"])]
    return next((need["found"] for need in one["evidence"] if need["says"] == says), None)


def a_run(name="run", findings=None, **manifest):
    made = content(findings or [plain("accuracy", ("g",), 0.5, "higher is better")], **manifest)
    run = exported(made, name)
    identity = manifest.get("manifest_id", run.findings.manifest_id)
    return replace(run, findings=run.findings.model_copy(update={"manifest_id": identity}))


GATE = ("eu-ai-act", "Article 9", "a threshold that the run was started with")


def test_a_gate_is_evidence_only_where_the_run_kept_it():
    assert need_of([with_gates(samples()["usual"])], *GATE) is None  # typed at the export
    kept = ["accuracy@g<0.4", "skewsize>9"]
    assert need_of([a_run(gates=kept)], *GATE) == [
        "run, manifest.json: gates[0] = accuracy@g<0.4, created = 2025-03-04T10:12:00+00:00"
    ]
    assert need_of([a_run(gates=kept, created=None)], *GATE) is None
    assert need_of([a_run(gates=["skewsize>9"])], *GATE) is None  # about no finding of the run


EARLIER = ("eu-ai-act", "Article 72", "a comparison with an earlier run of one model")


def test_a_comparison_is_with_an_earlier_run_only_where_dates_and_model_say_so():
    old = a_run("old", model="hf:org/model@1", created="2025-01-01T00:00:00+00:00", manifest_id="aa")
    new = a_run("new", model="hf:org/model@2", created="2025-03-01T00:00:00+00:00", manifest_id="bb")
    other = a_run("other", model="hf:org/other", created="2025-02-01T00:00:00+00:00", manifest_id="cc")
    between = a_run("both", kind="compare", compared=["aa", "bb"])
    unlike = a_run("both", kind="compare", compared=["aa", "cc"])
    assert need_of([between], *EARLIER) is None
    assert need_of([old, new], *EARLIER) is None
    assert need_of([unlike, old, other], *EARLIER) is None
    assert need_of([between, old, replace(new, manifest={**new.manifest, "created": None})], *EARLIER) is None
    assert need_of([between, new, old], *EARLIER) == [
        "both, manifest.json: compared, new (created 2025-03-01 00:00:00+00:00) after old "
        "(created 2025-01-01 00:00:00+00:00), both of hf:org/model"
    ]
    tagged = [replace(one, manifest={**one.manifest, "tags": {"lineage": "ours"}}) for one in (old, other)]
    assert "both of ours" in need_of([unlike, *tagged], *EARLIER)[0]
    dates = [{"model": "m (a)", "date": "2025-01-01"}, {"model": "m (b)", "date": "2025-02-01"}]
    ordered = a_run("both", kind="compare", over_time=True, dates=dates)
    assert "manifest.json: over_time, dates = " in need_of([ordered], *EARLIER)[0]


CROSSED = ("nist-ai-rmf", "MEASURE 2.11", "groups of two attributes of people crossed")


@pytest.mark.parametrize(
    ("by", "counts"),
    [(("sex", "race"), True), (("perceived_gender", "age"), True), (("colour", "shape"), False),
     (("gender", "colour"), False), (("sex",), False), (("gender", "image", "skin_tone"), True)],
)  # fmt: skip
def test_crossed_groups_are_those_of_two_attributes_of_people(by, counts):
    found = need_of([a_run(findings=[plain("accuracy", by, 0.5, "higher is better")])], *CROSSED)
    expected = f"run, findings.json: accuracy(by={'+'.join(by)}) = 0.5, by {' x '.join(by)}"
    assert found == ([expected] if counts else None)
    missing = a_run(findings=[plain("accuracy", by, None, "higher is better", reason="empty")])
    assert need_of([missing], *CROSSED) is None


def test_a_mitigation_counts_on_the_half_that_it_was_not_fitted_on():
    says = ("nist-ai-rmf", "MANAGE 1.3", "a mitigation measured on held-out data")
    stages = [("held_out", "after"), ("held_out", "before"), ("held_out", "random"), ("fit", "after")]
    findings = [
        plain("association_effect_size", (), 0.5, "descriptive", params={"half": half, "stage": stage})
        for half, stage in stages
    ]
    assert need_of([a_run(findings=findings, kind="debias", method="x")], *says) == [
        f"run, findings.json: {findings[0].metric} = 0.5"
    ]
    assert need_of([a_run(mitigation={"name": "x"})], *says) is None


def test_a_manifest_is_evidence_where_it_is_that_of_the_findings():
    says = ("nist-ai-rmf", "MEASURE 2.1", "what was run, with versions and hashes")
    assert "manifest_id = a1b2c3, versions = {" in need_of([a_run()], *says)[0]
    assert need_of([exported(content(a_run().findings.findings, manifest_id="zz"))], *says) is None
    assert need_of([a_run(versions=None)], *says) is None


def test_what_was_left_out_is_evidence_also_where_it_is_nothing():
    says = ("nyc-ll144", "Section 5-301(b) to (d)", "rows that were left out, and why")
    whole = content([plain("accuracy", ("g",), 0.5, "higher is better", dropped=[])])
    assert need_of([exported(whole)], *says) == [
        "run, findings.json: nothing left out, dropped is empty in every finding"
    ]
    lines = need_of([samples()["usual"]], *says)
    assert len(lines) == 38
    assert "usual, findings.json: accuracy(by=perceived_gender), dropped: 1 reason" in lines


def test_every_control_says_what_it_is_and_what_there_is_none_of():
    made = control_mapping.controls([samples()["undefined"]], {})
    controls = [one for framework in made for one in framework["controls"]]
    assert {one["note"] for one in controls} == {"Evidence, not a conformity decision."}
    missing = [need for one in controls for need in one["missing"]]
    assert missing
    assert {need["found"] for need in missing} == {"no evidence in this run"}
    evidence = [line for one in controls for need in one["evidence"] for line in need["found"]]
    assert evidence
    entries = ("findings.json: ", "manifest.json: ", "counts/predictions.parquet: ")
    assert all(line.startswith("undefined, ") for line in evidence)
    assert all(line.removeprefix("undefined, ").startswith(entries) for line in evidence)
    text = control_mapping.controls_markdown(made).decode("utf-8")
    assert text.count("- Evidence, not a conformity decision.") == len(controls)
    assert text.count("- No evidence in this run, ") == len(missing)


def test_controls_as_json_and_markdown():
    made = control_mapping.controls([samples()["hostile"]], {})
    assert len(json.loads(control_mapping.controls_json(made))["frameworks"]) == 3
    text = control_mapping.controls_markdown(made).decode("utf-8")
    assert "**Evidence, not a conformity decision.**" in text
    assert "<" not in text.replace("<!-- -->", "")
    with pytest.raises(UnknownName, match="did you mean 'eu-ai-act'"):
        control_mapping.controls([samples()["usual"]], {"framework": "eu-ai"})
