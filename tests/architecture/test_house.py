"""House numbers, docstrings, annotations, names, and what must not be in the source."""

import ast
import json
from pathlib import Path

import pytest

import evenhand
from evenhand import metrics
from evenhand.core.results import json_schema
from tests.architecture.source_tree import FILES, MODULES, SOURCE, name_of, public_definitions, tree

PUBLIC = {
    "Counts", "EvenhandError", "Finding", "Findings", "Predictions", "Run", "UserError", "adapt", "audit",
    "compare", "debias", "generate", "metrics", "mitigate", "run",
    "score", "Similarities",
}  # fmt: skip
ROOMS_SHOWN = {"metrics", "mitigate"}
METRICS = {
    "accuracy", "accuracy_gap", "accuracy_range", "cramers_v", "cramers_v_corrected", "cramers_v_max",
    "cramers_v_mean", "cramers_v_median", "cramers_v_pooled", "demographic_parity", "equalized_odds",
    "mean_group_accuracy",
    "model_differences", "phi",
    "prediction_differences", "skewsize", "skewsize_softmax", "skewsize_sufficiency", "skewsize_topk",
    "worst_class_group_accuracy", "worst_group_accuracy",
    "misgendering_gap", "misgendering_rate", "neutral_gap", "neutral_rate", "resolution_accuracy",
    "resolution_difference", "resolution_gap",
    "bias_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl", "skew_at_k",
    "association_difference", "association_effect_size", "association_reduction", "match_association",
    "pleasant_at_k", "single_category_association",
    "association_curve", "harmful_association_gap", "harmful_association_rate", "label_association_gap",
    "label_association_rate",
    "precision_at_k", "precision_gap",
    "country_income_correlation", "household_hit_gap", "household_hit_improvement", "household_hit_rate",
    "worst_household_hit_rate",
}  # fmt: skip
SCHEMA = Path(__file__).resolve().parents[2] / "docs" / "findings.schema.json"
DEFINED = [(path, name, node) for path in FILES for name, node in public_definitions(path)]

each_file = pytest.mark.parametrize("path", FILES, ids=name_of)
each_definition = pytest.mark.parametrize(
    ("path", "name", "node"), DEFINED, ids=[f"{name_of(path)}:{name}" for path, name, _ in DEFINED]
)


@each_file
def test_files_have_at_most_400_lines_and_a_docstring(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    assert ast.get_docstring(tree(path))


@each_file
def test_functions_have_at_most_60_lines_with_signature_and_docstring(path):
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno + 1 <= 60, node.name


@each_file
def test_elif_chains_have_at_most_4_branches(path):
    for node in ast.walk(tree(path)):
        branches, rest = 0, node
        while isinstance(rest, ast.If):
            branches += 1
            rest = rest.orelse[0] if len(rest.orelse) == 1 else None
        assert branches <= 4, f"line {node.lineno}"


@each_definition
def test_public_names_are_documented(path, name, node):
    assert ast.get_docstring(node)


@each_definition
def test_public_functions_are_annotated(path, name, node):
    if not isinstance(node, ast.FunctionDef):
        return
    if "property" not in name:
        assert node.returns is not None
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    arguments += [extra for extra in (node.args.vararg, node.args.kwarg) if extra]
    for argument in arguments:
        assert argument.annotation is not None or argument.arg in ("self", "cls"), argument.arg


def test_exported_names_are_stable():
    assert set(evenhand.__all__) == PUBLIC
    assert set(metrics.__all__) == METRICS


@pytest.mark.parametrize("name", sorted(PUBLIC - ROOMS_SHOWN))
def test_exported_names_resolve(name):
    assert callable(getattr(evenhand, name))


@pytest.mark.parametrize("name", sorted(METRICS))
def test_exported_metrics_resolve(name):
    assert callable(getattr(metrics, name))


def test_no_room_or_file_carries_the_name_of_an_exported_callable():
    callables = (PUBLIC - ROOMS_SHOWN) | METRICS
    files = {part for module in MODULES for part in module.split(".")[1:]}
    assert not files & callables


@each_file
def test_nothing_is_evaluated(path):
    for node in ast.walk(tree(path)):
        if name_of(path) == "evenhand.models.convert" and loads_weights_only(node):
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("eval", "exec", "compile", "__import__"), f"line {node.lineno}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            called = ast.unparse(node.func)
            assert called not in ("os.system", "os.popen", "yaml.load", "torch.load"), f"line {node.lineno}"


def loads_weights_only(node):
    """Whether this is ``torch.load(..., weights_only=True)``, which builds only tensors and containers."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "torch.load":
        return False
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    return options.get("weights_only") == "True"


def test_only_conversion_loads_checkpoints():
    loading = [name_of(path) for path in FILES if any(map(loads_weights_only, ast.walk(tree(path))))]
    assert loading == ["evenhand.models.convert"]


def test_words_to_avoid_do_not_name_anything_public():
    given = {"bias_at_k"}  # the paper's own name of a metric
    named = {name.lower() for _, name, _ in DEFINED} - given
    names = {part for name in named for part in name.replace(".", "_").split("_")}
    assert not names & {"task", "dataset", "bias"}


def test_the_published_schema_is_the_one_in_use():
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json_schema()


def test_the_published_schema_is_sorted_and_indented():
    canonical = json.dumps(json_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert SCHEMA.read_text(encoding="utf-8") == canonical


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "py.typed").is_file()
