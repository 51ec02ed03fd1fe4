"""Control mappings say what is evidence, by which entry, and what is missing."""

import json
from dataclasses import replace

import polars as pl
import pytest

from evenhand.benchmarks.benchmark import words_to_keep
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.core.errors import UnknownName
from evenhand.core.findings import Part
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.metrics.catalogue import known_cards
from evenhand.report.exports import control_mapping
from evenhand.report.exports.control_facts import FACTS
from evenhand.report.exports.exported import Gate
from tests.report.export_samples import exported, samples, with_gates
from tests.report.report_samples import content, plain

CARDS = known_cards()


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
            assert set(need.get("tags", [])) <= {tag for card in CARDS.values() for tag in card.tags}
            assert need.get("tags") or need.get("facts")
            assert set(need.get("facts", [])) <= set(FACTS)


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
    people = {"usual": "perceived_gender", "undefined": "gender"}
    runs = {
        name: control_mapping.controls([samples()[name]], {"framework": "eu-ai-act", "people": column})[0][
            "controls"
        ]
        for name, column in people.items()
    }
    usual, undefined = runs["usual"][1], runs["undefined"][1]
    found = usual["evidence"][0]["found"]
    assert "usual, findings.json: accuracy_gap(by=perceived_gender) = 0.011" in found
    assert not any("equalized_odds" in line for line in found)  # it has no chance band
    assert not any(need["says"].startswith("differences") for need in undefined["evidence"])
    assert any("accuracy" in line.lower() for line in undefined["not_estimable"])


def need_of(runs, framework, control, says, **declared):
    """The evidence for one need of one control; None where there is none."""
    made = control_mapping.controls(runs, {"framework": framework, **declared})[0]["controls"]
    one = next(each for each in made if each["id"].startswith(control))
    assert says in [need["says"] for need in (*one["evidence"], *one["missing"])]
    return next((need["found"] for need in one["evidence"] if need["says"] == says), None)


def a_run(name="run", findings=None, **manifest):
    made = content(findings or [plain("accuracy", ("g",), 0.5, "higher is better")], **manifest)
    run = exported(made, name)
    identity = manifest.get("manifest_id", run.findings.manifest_id)
    return replace(run, findings=run.findings.model_copy(update={"manifest_id": identity}))


GATE = ("eu-ai-act", "Article 9", "a threshold that the run's manifest keeps")


def gated(kept=True, **manifest):
    """A run with one gate that held and one that broke."""
    run = a_run(**manifest)
    (finding,) = run.findings.findings
    told = {"accuracy@g<0.4": None, "accuracy>0.3": "accuracy(by=g) = 0.5000 > 0.3"}
    return replace(
        run, gates=[Gate(text, finding, broken, in_manifest=kept) for text, broken in told.items()]
    )


def test_a_gate_is_evidence_only_where_the_manifest_keeps_it_and_with_how_it_turned_out():
    assert need_of([with_gates(samples()["usual"])], *GATE) is None  # typed at the export
    found = need_of([gated()], *GATE)
    assert [line.partition("; ")[0] for line in found] == [
        "run, manifest.json: gates holds accuracy@g<0.4, held by 1 finding",
        "run, manifest.json: gates holds accuracy>0.3, broken (accuracy(by=g) = 0.5000 > 0.3)",
    ]
    assert {line.partition("; ")[2] for line in found} == {
        "created = 2025-03-04T10:12:00+00:00. The manifest keeps the conditions of its last writing: it "
        "cannot show that results were not seen before"
    }
    assert need_of([gated(created=None)], *GATE) is None
    assert need_of([gated(kept=False)], *GATE) is None
    made = control_mapping.controls([gated()], {"framework": "eu-ai-act"})[0]["controls"]
    assert "that a threshold was set before results were seen" in made[0]["elsewhere"]


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
    ordered = a_run("both", kind="compare", over_time=True, one_model=True, dates=dates)
    assert "manifest.json: over_time, one_model, dates = " in need_of([ordered], *EARLIER)[0]
    for several in ({"one_model": False}, {}):
        of_two = a_run("both", kind="compare", over_time=True, dates=dates, compared=["aa", "cc"], **several)
        assert need_of([of_two], *EARLIER) is None
        assert need_of([of_two, old, other], *EARLIER) is None


CROSSED = ("nist-ai-rmf", "MEASURE 2.11", "groups of two attributes of people crossed")


@pytest.mark.parametrize(
    ("by", "people", "counts"),
    [(("sex", "race"), "sex,race", True), (("camera", "age"), "camera, age", True),
     (("sex", "race"), "", False), (("gender", "colour"), "gender", False), (("sex",), "sex", False),
     (("gender", "image", "skin_tone"), "gender,skin_tone", True)],
)  # fmt: skip
def test_crossed_groups_are_those_of_two_attributes_declared_to_be_of_people(by, people, counts):
    run = a_run(findings=[plain("accuracy", by, 0.5, "higher is better")])
    found = need_of([run], *CROSSED, people=people)
    expected = f"run, findings.json: accuracy(by={'+'.join(by)}) = 0.5, by {' x '.join(by)}"
    assert found == ([expected] if counts else None)
    missing = a_run(findings=[plain("accuracy", by, None, "higher is better", reason="empty")])
    assert need_of([missing], *CROSSED, people=people) is None


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


GROUPS = ("eu-ai-act", "Article 11", "how well each group of people is served")
APART = ("eu-ai-act", "Article 27", "differences between groups of people with what chance alone gives")


@pytest.mark.parametrize(
    ("kind", "by", "people", "counts"),
    [("group", ("perceived_gender",), "perceived_gender", True), ("group", ("region",), "", False),
     ("group", ("camera",), "camera", True), ("gender", (), "gender", True),
     ("sector*gender", (), "gender", True), ("income_bucket*region", (), "region", True),
     ("sector", (), "", False), ("class", ("gender",), "gender", False),
     ("item", ("gender",), "gender", False)],
)  # fmt: skip
def test_groups_that_are_served_are_groups_declared_to_be_of_people(kind, by, people, counts):
    parts = [Part(kind=kind, key="a", value=0.5, n=30)]
    run = a_run(findings=[plain("resolution_accuracy", by, 0.5, "higher is better", parts=parts)])
    assert (need_of([run], *GROUPS, people=people) is not None) == counts
    hidden = [parts[0].model_copy(update={"value": None, "reason": "suppressed"})]
    run = a_run(findings=[plain("resolution_accuracy", by, 0.5, "higher is better", parts=hidden)])
    assert need_of([run], *GROUPS, people=people) is None


@pytest.mark.parametrize(
    ("by", "people", "of_benchmark", "counts"),
    [(("region",), "", (), False), (("region",), "region", (), True), (("camera",), "camera", (), True),
     (("skin_tone",), "", (), False), (("skin_tone",), "", ("skin_tone",), True), ((), "", ("gender",), True),
     ((), "", (), False)],
)  # fmt: skip
def test_gaps_are_of_people_where_somebody_declares_it_and_not_by_a_columns_name(
    by, people, of_benchmark, counts
):
    gap = plain("accuracy_gap", by, 0.5, "lower is fairer", p_value=0.01)
    run = a_run(findings=[gap], words={"people": list(of_benchmark)})
    assert (need_of([run], *APART, people=people) is not None) == counts


def test_benchmarks_declare_which_of_their_attributes_are_of_people():
    assert set(BENCHMARKS.get("visogender/resolution").people) == {"gender"}
    assert {"perceived_race", "gender"} <= set(BENCHMARKS.get("indicators/retrieval").people)
    assert BENCHMARKS.get("geode").people == BENCHMARKS.get("sprites").people == ()
    assert "skin_tone" in words_to_keep(BENCHMARKS.get("gras"))["words"]["people"]


def test_an_attribute_that_no_run_has_cannot_be_declared():
    run = a_run(findings=[plain("accuracy", ("gender",), 0.5, "higher is better")])
    with pytest.raises(UnknownName, match="there is no attribute 'gendr'; did you mean 'gender'"):
        control_mapping.controls([run], {"people": "gendr"})


def counted(**columns):
    frame = pl.DataFrame(columns).with_columns(truth=pl.lit("0"))
    by = [name for name in columns if name != "said"]
    counts = Predictions.from_frame(frame, truth="truth", prediction="said").count(by)
    return replace(a_run(), counts=counts)


def test_counts_are_evidence_for_hiring_only_by_sex_and_race():
    colours = counted(colour=["red", "blue"] * 3, said=["hire", "no"] * 3)
    people = counted(sex=["f", "m"] * 3, race=["a", "b", "c"] * 2, said=["0.5", "1.5", "2"] * 2)
    labels = counted(gender=["f", "m"] * 3, said=["0", "1"] * 3)
    rates, scores = "Section 5-301(b), selection rates", "Section 5-301(c), scoring rates"
    numbers = "predictions that are numbers, by sex, race or ethnicity"
    needs = [
        (rates, "counts of predictions by sex"), (rates, "counts of predictions by race or ethnicity"),
        (rates, "counts of predictions by both crossed"), (scores, numbers),
    ]  # fmt: skip
    declared = [{"people": "colour"}, {"sex": "sex", "race": "race"}, {"sex": "gender"}, {}]
    found = [
        [need_of([run], "nyc-ll144", *need, **says) is not None for need in needs]
        for run, says in zip((colours, people, labels, people), declared, strict=True)
    ]
    assert found == [[False] * 4, [True] * 4, [True, False, False, False], [False] * 4]
    entry = "run, counts/predictions.parquet: rows by sex x race and prediction"
    assert need_of([people], "nyc-ll144", *needs[2], **declared[1]) == [entry]


def test_what_is_hidden_is_not_told_as_what_could_not_be_estimated():
    gone = plain("accuracy_gap", ("sex",), None, "lower is fairer", reason="suppressed")
    empty = plain("equalized_odds", ("sex",), None, "lower is fairer", reason="empty")
    run = replace(a_run(findings=[gone, empty]), fewest=10)
    made = control_mapping.controls([run], {"framework": "eu-ai-act"})[0]["controls"]
    (control,) = [one for one in made if one["id"].startswith("Article 27")]
    assert control["hidden"] == ["run: Accuracy gap by sex"]
    assert [line.partition(",")[0] for line in control["not_estimable"]] == [
        "run: Equalized odds difference by sex: not estimable"
    ]
    assert [one["otherwise"].partition(";")[0] for one in control["missing"]] == [
        "some findings are hidden: export without --suppress"
    ] * 2
    reasons = need_of([run], "eu-ai-act", "Article 14", "what could not be estimated, and why")
    assert reasons == ["run, findings.json: equalized_odds(by=sex), reason: empty"]
    text = control_mapping.controls_markdown([{**a_framework(), "controls": made}]).decode("utf-8")
    assert "- Hidden, run: Accuracy gap by sex" in text


def a_framework():
    return {name: name for name in ("title", "source", "scope")}


def test_sizes_of_groups_are_those_of_findings_with_a_value():
    says = ("nyc-ll144", "Section 5-301(b) to (d)", "how many rows each group has")
    sizes = [{"key": key, "n": n} for key, n in (("a", 30), ("b", 20), ("c", -10))]
    one = plain("accuracy", ("sex",), 0.5, "higher is better", groups=sizes)
    none = plain("skewsize", ("sex",), None, "higher is better", groups=sizes, reason="empty")
    assert need_of([a_run(findings=[one, none])], *says) == [
        "run, findings.json: accuracy(by=sex), groups: sizes of 2 groups"
    ]
