"""Runs of options that play roles keep what each sample and set counts as, and are compared by it."""

import shutil

import polars as pl
import pytest

import evenhand as eh
from evenhand.evidence.role_choices import RoleChoices
from evenhand.metrics import abstention_rate, answer_accuracy, flip_rate, set_difference, set_distance
from evenhand.metrics.catalogue import declared_metrics
from evenhand.workflows.outputs.outcomes import outcome_rows
from tests.benchmarks.pairs_release import person_in, release
from tests.benchmarks.test_bbq_v import Coin, Speaker, stereotyped
from tests.benchmarks.test_bbq_v import data as numbered
from tests.runner.edits import as_before_outcomes

__all__ = ["numbered"]

UNITS = {"pairs": "scenario", "bbq_v": "template"}


class First:
    """The first option of a man, the second of a woman."""

    version = "1"

    def answer(self, images, prompts):
        return ["AB"[person_in(image).endswith("woman")] for image in images]


class Race(First):
    """The same by race."""

    def answer(self, images, prompts):
        return ["AB"[person_in(image).startswith("black")] for image in images]


@pytest.fixture(scope="module")
def bbq_v(numbered, tmp_path_factory):
    """One of whose categories is called as the whole is elsewhere."""
    folder = shutil.copytree(numbered, tmp_path_factory.mktemp("named") / "data")
    [file] = folder.glob("*.parquet")
    category = pl.col("category").cast(pl.String).replace("0", "all")
    pl.read_parquet(file).with_columns(category).write_parquet(file)
    return folder


@pytest.fixture(scope="module")
def runs(bbq_v, tmp_path_factory):
    """Two models on each: folder by benchmark."""
    folder = tmp_path_factory.mktemp("roles")
    pairs = release(folder / "data", without=("status/wine/black_man",))
    shutil.rmtree(pairs / "data" / "potential_crime")  # one scenario
    wanted = {"pairs": (pairs, (First(), Race())), "bbq_v": (bbq_v, (Speaker(stereotyped), Coin()))}
    for benchmark, (data, models) in wanted.items():
        for model in models:
            out = folder / f"{benchmark}-{type(model).__name__}"
            eh.run(benchmark, model=model, data=data, out=out)
    return {
        benchmark: [folder / f"{benchmark}-{type(model).__name__}" for model in models]
        for benchmark, (_, models) in wanted.items()
    }


@pytest.fixture(scope="module")
def comparisons(runs):
    return {benchmark: eh.compare(folders[::-1]) for benchmark, folders in runs.items()}


@pytest.mark.parametrize("kind", UNITS)
def test_differences_are_those_of_the_runs_own_values_over_units(kind, runs, comparisons):
    first, second = map(eh.Run.read, runs[kind])
    findings = comparisons[kind].findings.findings
    for difference in findings:
        params = {key: value for key, value in difference.params.items() if key not in ("model", "reference")}
        name = difference.name.removesuffix("_difference")
        one, other = (run.finding(name, tuple(difference.by), **params) for run in (first, second))
        assert difference.value == pytest.approx(one.value - other.value, abs=1e-9)
        assert difference.details["unit"] == UNITS[kind]
        assert difference.interval.low <= difference.value <= difference.interval.high
        assert difference.dropped == []
    reasons = comparisons[kind].tables["untested"]["reason"].unique().to_list()
    assert reasons == (["each model names somebody in other answers"] if kind == "bbq_v" else [])


def test_every_metric_of_roles_that_is_compared_by_what_samples_add_is_compared_here(comparisons):
    wanted = {
        f"{name}_difference"
        for name, metric in declared_metrics().items()
        if metric.card.compared == "contributions" and metric.card.family in ("ambiguity", "sets")
    }
    assert len(wanted) == 7
    assert wanted == {one.name for run in comparisons.values() for one in run.findings.findings}


def test_parts_are_differences_of_groups_also_of_one_that_is_called_all(comparisons):
    found = comparisons["bbq_v"].finding("answer_accuracy_difference", "category", condition="ambiguous")
    assert [part.key for part in found.parts] == ["1", "all"]
    assert found.value == pytest.approx(sum(part.value for part in found.parts) / 2)


@pytest.mark.parametrize("kind", UNITS)
def test_outcomes_are_kept_with_a_run_and_give_its_values(kind, runs):
    run = eh.Run.read(runs[kind][0])
    outcomes = run.tables["outcomes"]
    assert set(outcomes["unit_name"]) == {UNITS[kind]}
    rates = [finding for finding in run.findings.findings if finding.card.unit == "share"]
    assert rates
    for finding in rates:
        assert outcomes.filter(outcome=finding.metric)["value"].mean() == pytest.approx(finding.value)


@pytest.mark.parametrize("kind", UNITS)
def test_runs_from_before_outcomes_were_kept_stand_side_by_side(kind, runs, tmp_path):
    folders = [as_before_outcomes(shutil.copytree(folder, tmp_path / folder.name)) for folder in runs[kind]]
    earlier = eh.compare(folders)
    assert earlier.findings.findings == []
    assert any("keeps no outcomes" in reason for reason in earlier.tables["untested"]["reason"])
    assert earlier.tables["values"].height


@pytest.fixture
def choices():
    """Sets of two with no unit; one member of the last is lacking, and one moves with the order."""
    rows = [(f"{name}{who}", name, who, f"group {name}") for name in "abcd" for who in "mf"][:-1]
    samples = pl.DataFrame(rows, schema=["sample", "set", "who", "sample_group"], orient="row")
    answers = pl.DataFrame(
        [
            (sample, order, "target" if who == "m" or (name == "a" and order == "1") else "unknown")
            for sample, name, who, _ in rows
            for order in "01"
        ],
        schema=["sample", "order", "role"],
        orient="row",
    )
    return RoleChoices.join(answers, samples, sets="set", treatments=["who"])


def test_sets_without_units_are_drawn_whole_and_samples_alone(choices):
    pair = {"attribute": "who", "first": "m", "second": "f"}
    findings = [
        set_difference(choices, **pair), flip_rate(choices), set_distance(choices, attribute="who"),
        abstention_rate(choices),
    ]  # fmt: skip
    tables = [finding.outcomes for finding in findings]
    assert [set(table["unit_name"]) for table in tables] == [{"set"}] * 3 + [{"sample"}]
    assert tables[0].filter(part="m")["sample"].to_list() == ["am", "bm", "cm"]
    assert tables[0].filter(part="f")["value"].to_list() == [0.5, 0, 0]
    flips = tables[1].select("sample", "unit", "value").rows()
    assert flips == [
        ("a", "a", 0.5),
        ("b", "b", 1),
        ("c", "c", 1),
    ]
    assert tables[2]["sample"].to_list() == ["a/f/m", "b/f/m", "c/f/m"]
    assert tables[3]["unit"].null_count() == tables[3].height == 7
    means = [table["value"].mean() for table in tables[1:]]
    assert means == pytest.approx([finding.value for finding in findings[1:]])


def test_groups_that_are_called_as_columns_of_outcomes_hinder_nothing(choices):
    samples = choices.annotated.rename({"sample_group": "unit"}).with_columns(truth=pl.lit("target"))
    answers = pl.DataFrame({"sample": samples["sample"], "role": "target"})
    finding = answer_accuracy(RoleChoices.join(answers, samples, truth="truth"), by="unit")
    run = eh.Run(eh.Findings(findings=[finding], manifest_id="0"), {})
    assert "rename" in outcome_rows(run, finding, {})
