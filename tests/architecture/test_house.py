"""House numbers, names, and what must not be in the source; ruff holds docstrings and annotations."""

import ast
import json
from collections import Counter
from pathlib import Path

import evenhand
from evenhand import metrics
from evenhand.core.findings import json_schema
from tests.architecture.source_tree import FILES, MODULES, SOURCE, name_of, nodes, public_definitions, room_of

PUBLIC = {
    "Attribute", "Benchmark", "Choices", "Classify", "Counts", "EvenhandError", "Finding", "Findings",
    "HouseholdHits", "LabelMatches", "Measured", "Neighbours", "Nouns", "Parameter", "Plan", "Predictions",
    "Question", "Rankings", "RoleOptions", "Run", "Samples", "Similarities", "Task", "UserError", "adapt",
    "audit", "compare", "datasets", "debias", "generate", "metric", "metrics", "mitigate", "run",
    "run_suite", "score",
}  # fmt: skip
ROOMS_SHOWN = {"datasets", "metrics", "mitigate"}
METRICS = {
    "accuracy", "accuracy_gap", "accuracy_range", "cramers_v", "cramers_v_corrected", "cramers_v_max",
    "cramers_v_mean", "cramers_v_median", "cramers_v_pooled", "demographic_parity", "equalized_odds",
    "mean_group_accuracy",
    "model_differences", "phi",
    "prediction_differences", "recall_gap",
    "skewsize", "skewsize_softmax", "skewsize_sufficiency", "skewsize_topk",
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
MOST_LINES, MOST_OF_A_FUNCTION, MOST_BRANCHES, MOST_ENTRIES = 400, 60, 4, 15


def offenders(rule):
    """``file:line what`` of everything in the source that a rule names."""
    return [f"{name_of(path)}:{line} {what}" for path in FILES for line, what in rule(path)]


def entries_of(folder):
    """What somebody who opens a folder has to look through."""
    return [path for path in folder.iterdir() if path.stem not in ("__init__", "__pycache__")]


def test_folders_have_at_most_15_entries(capsys):
    sizes = {folder: len(entries_of(folder)) for folder in sorted({path.parent for path in FILES})}
    with capsys.disabled():
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:5]
        named = [f"{folder.relative_to(SOURCE.parent)} {size}" for folder, size in largest]
        print(f"\n{len(sizes)} folders; most entries: {', '.join(named)}")
    assert {folder.name: size for folder, size in sizes.items() if size > MOST_ENTRIES} == {}


def test_files_have_at_most_400_lines():
    long = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: lines for name, lines in long.items() if lines > MOST_LINES} == {}


def test_functions_have_at_most_60_lines_with_signature_and_docstring():
    def too_long(path):
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = node.end_lineno - node.lineno + 1
                if lines > MOST_OF_A_FUNCTION:
                    yield node.lineno, f"{node.name}: {lines} lines"

    assert offenders(too_long) == []


def test_elif_chains_have_at_most_4_branches():
    def too_many(path):
        for node in nodes(path):
            branches, rest = 0, node
            while isinstance(rest, ast.If):
                branches += 1
                rest = rest.orelse[0] if len(rest.orelse) == 1 else None
            if branches > MOST_BRANCHES:
                yield node.lineno, f"{branches} branches"

    assert offenders(too_many) == []


def test_exported_names_stay():
    """Those of the top are all there are; metrics may be added."""
    assert set(evenhand.__all__) == PUBLIC
    assert set(metrics.__all__) >= METRICS


def test_exported_names_resolve():
    assert [name for name in PUBLIC - ROOMS_SHOWN if not callable(getattr(evenhand, name))] == []
    assert [name for name in metrics.__all__ if not callable(getattr(metrics, name))] == []


def test_no_room_carries_the_name_of_an_exported_callable():
    """``import evenhand.x`` would put the room in the place of the callable."""
    rooms = {part for module in MODULES for part in room_of(module).split(".")}
    assert rooms & (PUBLIC - ROOMS_SHOWN) == set()
    assert {part for module in MODULES for part in module.split(".")[1:2]} & set(metrics.__all__) == set()


def test_nothing_is_evaluated():
    def evaluating(path):
        converts = name_of(path) == "evenhand.models.weights.pickle_conversion"
        for node in nodes(path):
            func = getattr(node, "func", None)
            if getattr(func, "attr", getattr(func, "id", None)) not in LAST_WORDS:
                continue
            if ast.unparse(func) in EVALUATING and not (converts and loads_weights_only(node)):
                yield node.lineno, ast.unparse(func)

    assert offenders(evaluating) == []


EVALUATING = {
    "eval", "exec", "compile", "__import__", "os.system", "os.popen", "yaml.load", "torch.load",
}  # fmt: skip
LAST_WORDS = {name.rpartition(".")[2] for name in EVALUATING}


def loads_weights_only(node):
    """Whether this is ``torch.load(..., weights_only=True)``, which builds only tensors and containers."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "torch.load":
        return False
    options = {keyword.arg: ast.unparse(keyword.value) for keyword in node.keywords}
    return options.get("weights_only") == "True"


def test_only_conversion_loads_checkpoints():
    loading = [name_of(path) for path in FILES if any(map(loads_weights_only, nodes(path)))]
    assert loading == ["evenhand.models.weights.pickle_conversion"]


def test_a_class_name_means_one_thing():
    homes = {}
    for path in FILES:
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(f"{name_of(path)}:{node.lineno}")
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}


def test_variables_are_called_by_what_they_are(capsys):
    """Names that say what was done to a thing do not say what it is; the number only ever falls."""
    counts = Counter(
        name
        for path in FILES
        for node in nodes(path)
        for name in [node.arg if isinstance(node, ast.arg) else getattr(node, "id", None)]
        if name in AWKWARD and not isinstance(getattr(node, "ctx", ast.Store()), ast.Load)
    )
    with capsys.disabled():
        print(f"\n{counts.total()} variables of awkward names: {dict(counts.most_common())}")
    assert counts.total() <= MOST_AWKWARD


AWKWARD = {
    "one", "found", "place", "told", "given", "made", "kept", "asked",
    "both", "chosen", "counted", "done", "drawn", "each", "held", "joined", "known", "named", "own", "said",
    "shown", "sides", "taken", "theirs", "wanted", "whole", "written",
}  # fmt: skip
MOST_AWKWARD = 45


def test_few_places_know_a_metric_by_its_name(capsys):
    """What a metric means stands in its declaration; rooms that show findings read it there."""
    derived = {f"{name}_difference" for name in METRICS}
    named = [
        (name_of(path), node.value)
        for path in FILES
        if room_of(name_of(path)) in SHOWING
        for node in nodes(path)
        if isinstance(node, ast.Constant) and node.value in METRICS - ALSO_WORDS | derived
    ]
    with capsys.disabled():
        modules = dict(Counter(module for module, _ in named))
        print(f"\n{len(named)} names of metrics where findings are shown: {modules}")
    assert len(named) <= MOST_NAMED


SHOWING = {"core", "display.text", "display", "runs", "workflows.execution", "workflows", "report", "cli"}
ALSO_WORDS = {"accuracy"}  # a column of tables, too
MOST_NAMED = 19


def test_words_to_avoid_do_not_name_anything_public():
    # the paper's own name of a metric; a benchmark that is declared
    given = {"bias_at_k", "task", "task.parameters", "task.plan", "task.measure", "task.card"}
    named = {name.lower() for path in FILES for name, _ in public_definitions(path)} - given
    names = {part for name in named for part in name.replace(".", "_").split("_")}
    assert not names & {"task", "dataset", "bias"}


def test_the_published_schema_is_the_one_in_use():
    assert json.loads(SCHEMA.read_text(encoding="utf-8")) == json_schema()


def test_the_published_schema_is_sorted_and_indented():
    canonical = json.dumps(json_schema(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert SCHEMA.read_text(encoding="utf-8") == canonical


def test_the_package_says_that_it_is_typed():
    assert (SOURCE / "py.typed").is_file()
