"""Whether a finding is beyond chance, and on which side, is one rule: every format tells the same."""

import json
from xml.etree import ElementTree

import pytest

from evenhand.core.findings import Interval, Null, Part
from evenhand.metrics.catalogue import known_cards, with_cards
from evenhand.report.exports.every_eval_ever import every_eval_ever
from evenhand.report.exports.exported import title
from evenhand.report.exports.judging import compared, judged, judged_part, reading
from evenhand.report.exports.junit import junit
from evenhand.report.exports.model_card import model_card
from evenhand.report.exports.sarif import sarif
from evenhand.report.exports.summary import summary
from tests.report.export_samples import exported, problems_of_sarif
from tests.report.report_samples import content, plain

CARDS = known_cards()

AROUND = Interval(low=0.4, high=0.9, method="MOVER")
BAND = Null(mean=0.5, low=0.4, high=0.6, method="permutation")
OF_MODELS = {"model": "new", "reference": "old"}
OF_ONE_MODEL = ("association_difference", "set_difference")
COMPARED = [name for name in CARDS if name.endswith("_difference") and name not in OF_ONE_MODEL]


def finding(name, value, p_value=None, null=BAND, chance_at=0.5, **more):
    known = CARDS[name]
    fields = {"fair_at": known.fair_at, "null": null, "p_value": p_value, "chance_at": chance_at, **more}
    return with_cards([plain(name, ("g",), value, known.direction, **fields)])[0]


def difference(name, value, p_value=0.01):
    params = {"metric": "accuracy"} if name == "resolution_difference" else OF_MODELS
    null = Null(mean=0.0, low=-0.1, high=0.1, method="exchanged")
    return finding(name, value, p_value, null, chance_at=0.0, params=params)


def kind_of(one):
    results = json.loads(sarif([exported(content([one]))]))["runs"][0]["results"]
    return [(result["kind"], result["level"]) for result in results]


@pytest.mark.parametrize("name", [name for name in CARDS if not name.endswith("_difference")])
def test_the_side_follows_the_direction_of_every_metric(name):
    known = CARDS[name]
    low, high = (judged(finding(name, value, 0.01), 0.05) for value in (0.2, 0.8))
    if compared(finding(name, 0.2)) is not None:
        expected = ("worse", "better")  # an improvement over another model
    elif known.direction == "descriptive":
        expected = ("unlike", "unlike") if known.fair_at is None else ("worse", "worse")
    else:
        expected = ("better", "worse") if known.direction == "lower is fairer" else ("worse", "better")
    assert (low, high) == expected
    assert judged(finding(name, 0.8, 0.2), 0.05) == "within"
    assert judged(finding(name, 0.8, 0.01, p_adjusted=0.3), 0.05) == "within"
    assert judged(finding(name, 0.8, 0.01, interval=AROUND), 0.05) == "within"
    assert judged(finding(name, 0.8, 0.01, role="exploratory"), 0.05) == "untested"
    assert judged(finding(name, 0.8), 0.05) == "untested"


@pytest.mark.parametrize("name", [name for name in CARDS if CARDS[name].fair_at is None])
def test_what_has_nothing_to_be_compared_with_is_untested(name):
    one = finding(name, 0.8, 0.001, chance_at=None)
    assert judged(one, 0.05) == "untested"
    assert reading(one, 0.05) == ""
    assert kind_of(one) == []


def test_rates_and_shapes_have_no_reference():
    bare = {name for name, known in CARDS.items() if known.fair_at is None}
    assert {"accuracy", "worst_group_accuracy", "skewsize", "resolution_accuracy", "precision_at_k"} <= bare


@pytest.mark.parametrize("name", COMPARED)
def test_a_difference_of_models_takes_the_direction_of_what_is_compared(name):
    more, less = difference(name, 0.3), difference(name, -0.3)
    direction = CARDS[compared(more)].direction
    sides = {"lower is fairer": ("worse", "better"), "descriptive": ("unlike", "unlike")}
    expected = sides.get(direction, ("better", "worse"))
    assert (judged(more, 0.05), judged(less, 0.05)) == expected
    assert judged(difference(name, -0.3, 0.5), 0.05) == "within"
    said = f"the first model is {expected[0]} than the second"
    assert (said in reading(more, 0.05)) == (direction != "descriptive")


@pytest.mark.parametrize("name", [name for name in CARDS if not name.endswith("_difference")])
def test_any_metric_can_be_compared(name):
    one = plain(f"{name}_difference", ("g",), 0.3, "descriptive", params=OF_MODELS, fair_at=0.0, p_value=0.01,
                null=Null(mean=0.0, low=-0.1, high=0.1, method="exchanged"))  # fmt: skip
    one = with_cards([one])[0]
    expected = {"lower is fairer": "worse", "descriptive": "unlike"}
    assert judged(one, 0.05) == expected.get(CARDS[name].direction, "better")


@pytest.mark.parametrize("metric", ["resolution_gap", "neutral_rate"])
def test_no_side_is_better_where_the_compared_metric_has_none(metric):
    one = difference("resolution_difference", 0.3).model_copy(update={"params": {"metric": metric}})
    one = with_cards([one.with_card(None)])[0]
    assert judged(one, 0.05) == "unlike"
    assert kind_of(one) == [("review", "none")]


def test_a_test_needs_no_band():
    assert judged(finding("country_income_correlation", 0.6, 0.01, None, chance_at=None), 0.05) == "worse"
    assert judged(finding("accuracy_gap", 0.6, 0.01, None, chance_at=None), 0.05) == "worse"
    assert judged(finding("accuracy_gap", 0.5, 0.01), 0.05) == "unlike"  # at the reference: no side


def test_a_significant_improvement_is_no_failure():
    assert kind_of(difference("accuracy_difference", 0.3)) == [("pass", "none")]
    assert kind_of(difference("accuracy_gap_difference", -0.3)) == [("pass", "none")]
    assert kind_of(difference("accuracy_difference", -0.3)) == [("fail", "warning")]
    assert kind_of(finding("resolution_accuracy", 0.9, 0.001)) == [("pass", "none")]
    assert kind_of(finding("accuracy_gap", 0.9, 0.001)) == [("fail", "warning")]
    assert kind_of(finding("neutral_rate", 0.9, 0.001)) == [("review", "none")]
    assert kind_of(finding("accuracy_gap", 0.9, 0.2)) == []


def test_parts_on_the_better_side_are_no_failure_either():
    parts = [
        Part(kind="group", key=key, value=value, null=BAND, p_value=0.001, p_adjusted=0.002, n=50)
        for key, value in (("low", 0.1), ("high", 0.9))
    ]
    one = finding("resolution_accuracy", 0.5, 0.9, parts=parts)
    assert [judged_part(one, part, 0.05) for part in parts] == ["worse", "better"]
    result = json.loads(sarif([exported(content([one]))]))["runs"][0]["results"]
    assert [(each["kind"], each["level"]) for each in result] == [("fail", "note")]
    assert "Beyond chance in 1 of 2 parts: “low”." in result[0]["message"]["text"]
    alone = one.model_copy(update={"parts": parts[1:]})
    assert kind_of(alone) == []
    effects = finding("skewsize", 0.5, 0.9, parts=[parts[1].model_copy(update={"kind": "class"})])
    assert kind_of(effects) == [("fail", "note")]


def test_parts_of_a_gap_between_households_are_rates():
    parts = [
        Part(kind="income_bucket", key=key, value=value, null=BAND, p_value=0.001, p_adjusted=0.002, n=50)
        for key, value in (("low", 0.1), ("high", 0.9))
    ]
    gap = finding("household_hit_gap", 0.8, 0.01, parts=parts)
    rate = finding("household_hit_rate", 0.5, 0.9, parts=parts)
    for one in (gap, rate):
        assert [judged_part(one, part, 0.05) for part in parts] == ["worse", "better"]
    assert judged(gap, 0.05) == "worse"
    assert "1 of its 2 parts: “low”" in summary([exported(content([gap]))]).decode()


def test_p_values_have_the_names_that_findings_give_them():
    pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    one = finding("accuracy_gap", 0.7, 0.011, p_adjusted=0.022, adjustment="holm")
    run = exported(content([one]))
    (result,) = json.loads(sarif([run]))["runs"][0]["results"]
    assert (result["properties"]["p_value"], result["properties"]["p_adjusted"]) == (0.011, 0.022)
    assert "adjusted p = 0.022" in result["message"]["text"]
    card = model_card([run]).decode()
    assert "p_value: 0.011" in card
    assert "p_adjusted: 0.022" in card
    plain_p = json.loads(sarif([exported(content([finding("accuracy_gap", 0.7, 0.011)]))]))["runs"][0][
        "results"
    ]
    assert plain_p[0]["properties"]["p_adjusted"] is None
    assert "; p = 0.011" in plain_p[0]["message"]["text"]


@pytest.mark.parametrize(
    "one",
    [
        finding("equalized_odds", 0.59, 0.033),
        finding("equalized_odds", 0.61, 0.2),
        finding("equalized_odds", 0.61, 0.01, interval=AROUND),
        finding("equalized_odds", 0.61, 0.01, role="exploratory"),
        finding("accuracy_gap", 0.7, 0.001),
        finding("skewsize", 0.7),
        difference("accuracy_difference", 0.3),
        finding("neutral_rate", 0.7, 0.001),
        finding("accuracy_gap", 0.7, null=None),
    ],
    ids=lambda one: f"{one.name} {one.value} {one.p_value} {one.role}",
)
def test_all_formats_say_the_same_of_one_finding(one):
    pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    run = exported(content([one]))
    verdict = judged(one, run.alpha)
    made = json.loads(sarif([run]))
    assert problems_of_sarif(made) == []
    kinds = {"worse": "fail", "better": "pass", "unlike": "review"}
    assert [each["kind"] for each in made["runs"][0]["results"]] == [
        kind for name, kind in kinds.items() if name == verdict
    ]
    said = reading(one, run.alpha, "what chance alone gives")
    assert (said == "exploratory") == (one.role == "exploratory")
    text = ElementTree.fromstring(junit([run])).find(".//skipped").text  # noqa: S314 - made here
    assert said in text
    assert ("within" in said) == (verdict == "within")
    for written in (summary([run]), model_card([run])):
        lines = written.decode().splitlines()
        heads = [line for line in lines if line.startswith("**Beyond chance")]
        expected = {"worse": "unfair side", "better": "better side", "unlike": "for people to say"}
        assert [expected[verdict] in head for head in heads] == [True] * (verdict in expected)
        row = next(line for line in lines if line.startswith("| ") and "0." in line)
        assert reading(one, run.alpha).split(" ")[0] in row


def test_variants_of_a_metric_have_names_of_their_own():
    huggingface_hub = pytest.importorskip("huggingface_hub", reason="needs evenhand[hf]")
    variants = [finding("equalized_odds", 0.5, params={"eo": eo, "mode": mode})
                for eo in ("max", "mean") for mode in ("paper", "default")]  # fmt: skip
    assert len({title(one) for one in variants}) == 4
    run = exported(content(variants))
    record = json.loads(every_eval_ever([run]))["evaluation_results"]
    assert len({one["evaluation_name"] for one in record}) == 4
    assert len({one["metric_config"]["metric_name"] for one in record}) == 4
    card = huggingface_hub.ModelCard(model_card([run]).decode())
    assert len({one.metric_name for one in card.data.eval_results}) == 4
