"""The table of metrics is complete, and every metric keeps the common contract."""

import ast
import inspect
from pathlib import Path

import pytest

from evenhand import metrics
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.metrics.catalogue import known_cards
from tests.properties.metric_table import CASES, check_finding, random_frame

CARDS = known_cards()

# these take Rankings: tests/metrics/test_retrieval.py
OF_RANKINGS = {"bias_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl", "skew_at_k"}
# these take Choices: tests/metrics/test_resolution.py
OF_CHOICES = {
    "misgendering_gap", "misgendering_rate", "neutral_gap", "neutral_rate", "resolution_accuracy",
    "resolution_difference", "resolution_gap",
}  # fmt: skip
# these take Similarities: tests/properties/test_associations.py
OF_SIMILARITIES = {
    "association_difference", "association_effect_size", "match_association", "pleasant_at_k",
    "single_category_association",
    "association_reduction",  # takes two of them
}  # fmt: skip
# these take LabelMatches: tests/metrics/test_label_association.py
OF_LABELS = {
    "harmful_association_gap", "harmful_association_rate", "label_association_gap", "label_association_rate",
}  # fmt: skip
# these take HouseholdHits: tests/metrics/test_household.py
OF_HOUSEHOLDS = {
    "country_income_correlation", "household_hit_gap", "household_hit_improvement", "household_hit_rate",
    "worst_household_hit_rate",
}  # fmt: skip
OF_NEIGHBOURS = {"precision_at_k", "precision_gap"}  # these take Neighbours: tests/metrics/test_precision.py
# all of these come from model_differences, which takes two models: tests/metrics/test_compared_models.py
OF_TWO_MODELS = {
    "accuracy_difference", "accuracy_gap_difference", "cramers_v_max_difference", "cramers_v_mean_difference",
    "cramers_v_median_difference", "skewsize_difference", "worst_group_accuracy_difference",
}  # fmt: skip
# these come from comparisons of runs over several seeds: tests/runner/test_compare_seeds.py
OF_TWO_MODELS |= {name.replace("_difference", "_seed_spread") for name in sorted(OF_TWO_MODELS)}
# these come from answer_difference, which takes two runs' answers: tests/metrics/test_compared_answers.py
OF_TWO_RUNS = {
    f"{name}_difference"
    for name in (
        "association_effect_size", "bias_at_k", "harmful_association_gap", "harmful_association_rate",
        "household_hit_gap", "household_hit_rate", "label_association_gap", "label_association_rate",
        "match_association", "max_skew_at_k", "min_skew_at_k", "misgendering_gap", "misgendering_rate",
        "ndkl", "neutral_gap", "neutral_rate", "precision_at_k", "precision_gap", "resolution_accuracy",
        "resolution_gap", "skew_at_k", "worst_household_hit_rate",
    )
}  # fmt: skip
OF_TWO_MODELS |= OF_TWO_RUNS
SEVERAL = {"model_differences"}
TABLES_ONLY = {"association_curve", "prediction_differences"}  # return a table, not a Finding


def exported() -> set[str]:
    stub = ast.parse(Path(metrics.__file__).with_suffix(".pyi").read_text())
    return {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_the_table_holds_every_metric():
    others = OF_RANKINGS | OF_CHOICES | OF_SIMILARITIES | OF_LABELS | OF_HOUSEHOLDS | OF_NEIGHBOURS
    assert {case.name for case in CASES} | others | OF_TWO_MODELS == set(CARDS)


def test_every_exported_metric_is_defined():
    assert exported() - TABLES_ONLY - SEVERAL == set(CARDS) - OF_TWO_MODELS


@pytest.mark.parametrize("name", sorted(set(CARDS) - OF_TWO_MODELS))
def test_only_the_evidence_is_positional(name):
    parameters = list(inspect.signature(getattr(metrics, name)).parameters.values())
    assert parameters[0].name == "evidence"
    assert all(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters[1:])
    named = {p.name: p.default for p in parameters}
    assert named["seed"] == 0
    if inspect.Parameter.VAR_KEYWORD not in {p.kind for p in parameters}:
        assert named["inference"] == "auto"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_finding_says_what_it_is(case):
    finding = case(random_frame(0))
    check_finding(finding)
    definition = CARDS[case.name]
    assert finding.name == case.name
    assert (finding.by, finding.n) == (["group"], 400)
    assert finding.metric.startswith(f"{case.name}(by=group")
    assert (finding.direction, finding.fair_at) == (definition.direction, definition.fair_at)
    assert finding.source == definition.source
    assert finding.null is not None or not case.null
    assert finding.value is not None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_inference_none_keeps_the_value_and_skips_the_rest(case):
    frame = random_frame(1)
    quick, full = case(frame, inference="none"), case(frame)
    assert quick.value == full.value
    assert [part.value for part in quick.parts] == [part.value for part in full.parts]
    for piece in (quick, *quick.parts):
        assert piece.interval is piece.null is piece.p_value is None


@pytest.mark.parametrize("case", CASES, ids=str)
def test_wrong_options_are_refused_in_one_line(case):
    frame = random_frame(2, n=40)
    with pytest.raises(ParameterError, match="inference='no' is not possible; choose one of 'auto', 'none'"):
        case(frame, inference="no")
    if not case.ranked:
        with pytest.raises(ParameterError, match="choose one of 'default', 'paper'"):
            case(frame, mode="papre")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_unknown_attribute_names_the_closest(case):
    with pytest.raises(UnknownName, match="did you mean 'group'"):
        getattr(metrics, case.name)(case.evidence(random_frame(2, n=40)), by="groop", **case.options)


def test_paper_mode_is_named_in_the_finding():
    for case in CASES:
        if not case.ranked and case.name != "accuracy":
            finding = case(random_frame(3, n=80), mode="paper", inference="none")
            assert finding.params["mode"] == "paper", case
            assert "mode=paper" in finding.metric
