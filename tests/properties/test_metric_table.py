"""Names of metrics stay, and metrics of predictions keep the contract that is theirs alone."""

import ast
import inspect
from pathlib import Path

import pytest

from evenhand import metrics
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.metrics.catalogue import declared_metrics, known_cards
from tests.properties.metric_table import CASES, random_frame

CARDS = known_cards()

DECLARED = declared_metrics()
# return no single Finding
TABLES_ONLY = {"association_curve", "disparity_lines", "prediction_differences", "model_differences"}
# what gates and saved runs may name beside metrics; more may come, none may go
pytestmark = pytest.mark.usefixtures("few_draws")
OF_TWO_MODELS = {
    f"{name}{ending}"
    for ending in ("_difference", "_seed_spread")
    for name in (
        "accuracy", "accuracy_gap", "cramers_v_max", "cramers_v_mean", "cramers_v_median", "skewsize",
        "worst_group_accuracy",
    )
}  # fmt: skip
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


def exported() -> set[str]:
    stub = ast.parse(Path(metrics.__file__).with_suffix(".pyi").read_text())
    return {alias.asname for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names}


def test_no_name_of_a_comparison_is_lost():
    assert (OF_TWO_MODELS | OF_TWO_RUNS) - set(CARDS) == set()


def test_every_exported_metric_is_declared():
    assert exported() - TABLES_ONLY == {name for name, metric in DECLARED.items() if _of_evenhand(metric)}


def _of_evenhand(metric):
    return metric.__module__.startswith("evenhand.")


def test_every_metric_of_a_family_is_exported():
    """A metric that is declared in a file and not named in the stub would be nowhere."""
    declared = set()
    for path in sorted(Path(metrics.__file__).parent.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            marks = getattr(node, "decorator_list", [])
            if any(ast.unparse(mark).split("(")[0].endswith("metric") for mark in marks):
                declared.add(node.name)
    assert declared == exported() - TABLES_ONLY


@pytest.mark.parametrize("name", sorted(exported() - TABLES_ONLY))
def test_only_the_evidence_is_positional(name):
    parameters = list(inspect.signature(getattr(metrics, name)).parameters.values())
    assert parameters[0].name == "evidence"
    assert all(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in parameters[1:])
    named = {p.name: p.default for p in parameters}
    assert named["seed"] == 0
    if inspect.Parameter.VAR_KEYWORD not in {p.kind for p in parameters}:
        assert named["inference"] == "auto"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_finding_says_what_it_is_of(case):
    finding = case(random_frame(0))
    assert (finding.by, finding.n) == (["group"], 400)
    assert finding.metric.startswith(f"{case.name}(by=group")
    assert finding.null is not None or not case.null


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
