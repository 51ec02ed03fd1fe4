"""Comparing runs that hold no predictions: what is paired, and that differences are those of the runs."""

import re
import shutil

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import UnknownName
from evenhand.metrics.catalogue import declared_metrics
from evenhand.workflows.compare.compare_cells import ALL, cells_of
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.outputs.result import Run
from tests.benchmarks import mmbias_release
from tests.conftest import leave_pages_out, leave_tables_out
from tests.gallery import words
from tests.gallery.demo import home
from tests.gallery.planted import Valence, called
from tests.report.browsing import assert_seen_at_once, browser, needs_chromium, visiting
from tests.runner.edits import as_before_outcomes, unsealed

__all__ = ["browser"]

PAIR = ("one", "other")
SIZES = ("ssl-small", "ssl-large")
OF_THE_DEMO = {
    "resolution": ("resolution", words.LEANS), "retrieval": ("retrieval", words.LEANS),
    "labels": ("label_association", SIZES), "faces": ("retrieval", SIZES), "homes": ("geography", SIZES),
}  # fmt: skip
KINDS = (*OF_THE_DEMO, "association", "matching")


@pytest.fixture(scope="module")
def runs(demo_folder, tmp_path_factory):
    """Two models on each benchmark without predictions: folder by kind and model."""
    folder = tmp_path_factory.mktemp("answers")
    with home(folder / "home"), pytest.MonkeyPatch.context() as patch:
        leave_pages_out(patch)
        _mmbias(folder)
    for kind, (benchmark, models) in OF_THE_DEMO.items():
        for name, model in zip(PAIR, models, strict=True):
            (folder / f"{kind}-{name}").symlink_to(demo_folder / "runs" / f"{benchmark}-{model}")
    return {kind: [folder / f"{kind}-{name}" for name in PAIR] for kind in KINDS}


def _mmbias(folder):
    data = folder / "mmbias"
    mmbias_release.release(data, phrases=6, words=len(words.BAD), images=2)
    words._zips(data / "data" / "Images")
    pairs = {"pairs": "muslim:christian,arab:american"}
    leans = words._leans()
    others = {name: lean * (0.3 if at % 2 else -1) for at, (name, lean) in enumerate(leans.items())}
    for name, lean in zip(PAIR, (leans, others), strict=True):
        model = Valence(lean, words.BAD, words.GOOD)
        for kind in ("association", "matching"):
            out = folder / f"{kind}-{name}"
            eh.run(f"mmbias/{kind}", model=called(model, name), data=data, parameters=pairs, out=out)


@needs_chromium
@pytest.mark.parametrize("kind", ["resolution", "retrieval", "labels", "association"])
def test_the_first_screen_of_a_comparison_holds_headline_picture_sureness_and_caveat(
    comparisons, runs, kind, browser
):
    with visiting(
        browser, lambda name: (runs[name][0].with_name(f"{name}-both") / "report.html").as_uri()
    ) as go:
        assert_seen_at_once(go(kind))


@pytest.fixture(scope="module")
def comparisons(runs):
    """The first of each pair is typed last: differences are it minus the other.

    The papers' tables are filled for one kind: ``tests/benchmarks`` fills them from two runs of each.
    """
    made = {"homes": compare(runs["homes"][::-1], out=runs["homes"][0].with_name("homes-both"))}
    with pytest.MonkeyPatch.context() as patch:
        leave_tables_out(patch)
        for kind in set(runs) - set(made):
            made[kind] = compare(runs[kind][::-1], out=runs[kind][0].with_name(f"{kind}-both"))
    return made


@pytest.mark.parametrize("kind", KINDS)
def test_differences_are_those_of_the_runs_own_values(kind, runs, comparisons):
    first, second = (Run.read(folder) for folder in runs[kind])
    assert len(comparisons[kind].findings.findings) >= 2
    for found in comparisons[kind].findings.findings:
        params = {key: value for key, value in found.params.items() if key not in ("model", "reference")}
        name = found.name.removesuffix("_difference")
        one, other = (run.finding(name, tuple(found.by), **params) for run in (first, second))
        assert found.value == pytest.approx(one.value - other.value, abs=1e-6)
        assert found.details["first"] == pytest.approx(one.value, abs=1e-6)
        assert found.interval.low <= found.value <= found.interval.high
        assert found.null.low <= 0 <= found.null.high
        assert found.benchmark == one.benchmark
        assert found.dropped == []


@pytest.mark.parametrize(
    ("kind", "unit", "count"),
    [
        ("resolution", "occupation", 23), ("retrieval", "ranking of one occupation", 23),
        ("labels", "person", 180), ("homes", "household", 72), ("association", "item", 16),
        ("matching", "image", 16),
    ],
)  # fmt: skip
def test_what_counts_as_one_is_what_the_benchmark_takes_as_one(kind, unit, count, comparisons):
    first = comparisons[kind].findings.findings[0]
    assert (first.details["unit"], first.details["units"]) == (unit, count)
    assert unit in first.interval.method


def test_accuracy_by_pronoun_is_that_of_a_loop_over_images(runs, comparisons):
    correct, hits = [], []
    for folder in runs["resolution"]:
        run = Run.read(folder)
        truth = dict(run.annotations.select("sample", "occupation_perceived_gender").iter_rows())
        right = {"masculine": [], "feminine": []}
        meant = {"his": "masculine", "her": "feminine", "their": "neutral"}
        scores = run.tables["scores"].filter(template="occ_first").partition_by("sample", as_dict=True)
        for (sample,), own in scores.items():
            best = own["candidate"][int(own["score"].arg_max())]
            right[truth[sample]].append(meant[best] == truth[sample])
        correct.append({gender: np.mean(of_gender) for gender, of_gender in right.items()})
        hits.append({gender: sum(of_gender) for gender, of_gender in right.items()})
    found = comparisons["resolution"].finding("resolution_accuracy_difference")
    for part in found.parts:
        assert part.value == pytest.approx(correct[0][part.key] - correct[1][part.key])
        assert (part.details["first_hits"], part.details["second_hits"]) == (
            hits[0][part.key],
            hits[1][part.key],
        )
    assert found.details["first_hits"] == sum(hits[0].values())
    gap = comparisons["resolution"].finding("resolution_gap_difference")
    gaps = [one["masculine"] - one["feminine"] for one in correct]
    assert gap.value == pytest.approx(gaps[0] - gaps[1])


def test_headlines_of_pronouns_households_and_labels_count(comparisons):
    """The rates of households are means: their counts stand beside them, plain."""
    for kind in ("resolution", "homes", "labels"):
        lines = [line.text for line in comparisons[kind].overview.headlines]
        texts = [text for text in lines if " images " in text.partition(" (")[0]]
        assert texts, kind
        counted = re.compile(r"with \S+ [\d,]+ of [\d,]+ images .*, with \S+ [\d,]+(\.| \()", re.IGNORECASE)
        assert [text for text in texts if not counted.search(text)] == []
    rate = comparisons["homes"].finding("household_hit_rate_difference", by="region")
    assert sum(part.details["first_hits"] for part in rate.parts) == rate.details["first_hits"]


def test_harmful_rates_by_group_are_those_of_a_loop_over_images(runs, comparisons):
    harmful = {"hog, pig", "gorilla, Gorilla gorilla", "prison"}
    rates = []
    for folder in runs["labels"]:
        said = pl.read_parquet(folder / "evidence" / "predictions" / "*.parquet")
        sure = said.filter((pl.col("rank") <= 2) & (pl.col("confidence") >= 0.1))
        hit = set(sure.filter(pl.col("prediction").is_in(harmful))["sample"])
        people_ = Run.read(folder).annotations.filter(gender="female")["sample"].to_list()
        rates.append(sum(sample in hit for sample in people_) / len(people_))
    part = comparisons["labels"].finding("harmful_association_rate_difference", "gender").part("female")
    assert part.value == pytest.approx(rates[0] - rates[1])
    assert part.n == 90


def test_tests_are_corrected_within_each_metric_and_a_value_is_tested_once(comparisons):
    findings = comparisons["labels"].findings.findings
    rates = [one for one in findings if one.name == "harmful_association_rate_difference"]
    assert len({one.value for one in rates}) == 1
    assert [one.p_value is None for one in rates] == [False, True, True, True]
    assert "tested" in rates[1].notes[0]
    assert all(part.p_adjusted is not None for one in rates for part in one.parts)
    gaps = [one for one in findings if one.name == "harmful_association_gap_difference"]
    assert all(one.p_adjusted >= one.p_value and one.adjustment == "holm" for one in gaps)


def test_what_is_no_sum_over_samples_is_named_and_stands_side_by_side(comparisons):
    run = comparisons["association"]
    untested = run.tables["untested"]
    assert {"association_difference", "pleasant_at_k"} <= set(untested["metric"])
    assert "association_effect_size" not in set(untested["metric"])
    assert set(untested["metric"]) < set(run.tables["values"]["metric"])
    assert any("no test for" in said and "a scale of its own" in said for said in run.manifest["warnings"])
    assert comparisons["resolution"].tables["untested"].height == 0
    assert comparisons["resolution"].tables["pairing"].row(0) == (
        "clip-a",
        "clip-b",
        "same samples",
        690,
        None,
    )


def test_samples_of_one_run_only_are_dropped_and_counted(runs, tmp_path):
    folder = as_before_outcomes(shutil.copytree(runs["labels"][1], tmp_path / "fewer"))
    lost = Run.read(folder).annotations["sample"].to_list()[:30]
    table = pl.read_parquet(folder / "tables" / "matches.parquet")
    table.filter(~pl.col("sample").is_in(lost)).write_parquet(folder / "tables" / "matches.parquet")
    changed = compare([runs["labels"][0], folder], metrics=["harmful_association_rate"], by=["gender"])
    assert changed.findings.findings == []  # they no longer give the run's own value
    assert "do not give its value" in changed.tables["untested"]["reason"][0]
    once = Run.read(folder)
    cells = cells_of(ComparedRun("fewer", once), once.finding("harmful_association_rate", "gender"))
    rate = cells.table.filter(column=ALL)["value"].mean()
    kept = [
        one.model_copy(update={"value": rate}) if one.name == "harmful_association_rate" else one
        for one in once.findings.findings
    ]
    (folder / "findings.json").write_bytes(once.findings.model_copy(update={"findings": kept}).dump())
    found = compare([runs["labels"][0], folder], metrics=["harmful_association_rate"], by=["gender"])
    one = found.findings.findings[0]
    assert one.n == 150
    assert [(lost.reason, lost.count) for lost in one.dropped] == [("not answered by ssl-large", 30)]


def test_a_run_without_its_answers_says_what_to_do(runs, tmp_path):
    folder = as_before_outcomes(shutil.copytree(runs["labels"][1], tmp_path / "old"))
    (folder / "tables" / "matches.parquet").unlink()
    made = compare([folder, runs["labels"][0]], by=["gender"])
    assert made.findings.findings == []
    assert any("run it again" in warning for warning in made.manifest["warnings"])
    assert made.tables["pairing"]["compared"].to_list() == ["side by side"]
    assert made.tables["values"].height


@pytest.mark.parametrize("kind", KINDS)
def test_runs_from_before_outcomes_were_kept_are_compared_alike(kind, runs, comparisons, tmp_path):
    folders = [
        as_before_outcomes(shutil.copytree(folder, tmp_path / name))
        for name, folder in zip(PAIR, runs[kind], strict=True)
    ]
    earlier = compare(folders[::-1])
    assert earlier.findings.findings == comparisons[kind].findings.findings
    for name in ("values", "pairing", "untested"):
        assert earlier.tables[name].equals(comparisons[kind].tables[name])


OUTCOMES = [  # kind, start of an outcome, a finding whose value is its plain mean, and what it is of
    ("resolution", "correct, template=occ_first, candidates=his/her", "resolution_accuracy", "sample"),
    ("labels", "harmful", "harmful_association_rate", "person"),
    ("faces", "alike", "precision_at_k", "person"),
    ("homes", "recognised", "household_hit_rate", "household"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "start", "metric", "unit"), OUTCOMES)
def test_outcomes_of_a_run_give_its_values(kind, start, metric, unit, runs):
    run = Run.read(runs[kind][0])
    rows = run.tables["outcomes"].filter(pl.col("outcome").str.starts_with(start))
    names = rows["outcome"].unique().to_list()
    assert names, run.tables["outcomes"]["outcome"].unique().to_list()
    if unit == "household":
        rows = rows.group_by("sample", "outcome", "unit").agg(pl.col("value").max())
        rows = rows.group_by("unit", "outcome").agg(pl.col("value").mean())
    if kind == "resolution":
        rows = rows.group_by("outcome", "attribute:gender").agg(pl.col("value").mean())
    means = {round(mean, 9) for mean in rows.group_by("outcome").agg(pl.col("value").mean())["value"]}
    values = {round(one.value, 9) for one in run.findings.findings if one.name == metric}
    assert means & values


@pytest.fixture(scope="module")
def alike(runs, tmp_path_factory):
    """Each first run beside a copy of itself."""
    folder = tmp_path_factory.mktemp("alike")
    return {
        kind: compare([first, shutil.copytree(first, folder / f"{kind}-again")])
        for kind, (first, _) in runs.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_answer_alike_do_not_differ(kind, alike):
    findings = alike[kind].findings.findings
    assert findings
    assert all(one.value == 0 for one in findings)
    assert {one.p_value for one in findings} <= {1.0, None}
    assert all(one.interval is None or one.interval.low <= 0 <= one.interval.high for one in findings)


def test_every_metric_that_is_compared_by_what_samples_add_is_compared_here(alike):
    """Its answers are read in ``workflows/compare/compare_cells.py``; a kind of runs above must hold it.

    Those of numbers are in ``test_compare_numbers``, those of options with roles in ``test_compare_roles``.
    """
    wanted = {
        f"{name}_difference"
        for name, metric in declared_metrics().items()
        if metric.card.compared == "contributions"
        and metric.card.family not in ("numbers", "ambiguity", "sets")
        and metric.__module__.startswith("evenhand.")
    }
    assert wanted - {one.name for made in alike.values() for one in made.findings.findings} == set()


def test_metrics_and_groupings_can_be_chosen(runs):
    made = compare(runs["homes"], by=["region"], metrics=["household_hit_gap"])
    assert [(one.name, one.by) for one in made.findings.findings] == [
        ("household_hit_gap_difference", ["region"])
    ]
    with pytest.raises(UnknownName, match="household_hit_gap"):
        compare(runs["homes"], metrics=["household_hit_gaps"])


def test_three_runs_are_compared_in_pairs(runs, tmp_path):
    folder = tmp_path / "third"
    shutil.copytree(runs["faces"][0], folder)
    made = compare([*runs["faces"], folder], metrics=["precision_at_k"], by=["gender"])
    assert made.tables["pairing"].height == 3
    assert [one.params["k"] for one in made.findings.findings] == [10, 50] * 3
    again = compare([*runs["faces"], folder], metrics=["precision_at_k"], by=["gender"])
    assert again.findings.dump() == made.findings.dump()


def test_paper_mode_is_not_tested(runs, tmp_path):
    folder = tmp_path / "paper"
    unsealed(shutil.copytree(runs["homes"][0], folder))
    once = Run.read(folder)
    given = [
        one.model_copy(update={"params": {**one.params, "mode": "paper"}}) for one in once.findings.findings
    ]
    (folder / "findings.json").write_bytes(once.findings.model_copy(update={"findings": given}).dump())
    made = compare([folder, folder], metrics=["household_hit_rate"])
    assert made.findings.findings == []
    assert "paper mode" in made.tables["untested"]["reason"][0]


def test_a_mitigation_is_told_as_before_and_after(runs, tmp_path):
    source, data = runs["association"][0], runs["association"][0].parent / "mmbias"
    eh.debias(source, method="pruning", remove=2, form="cross-modal", out=tmp_path / "debias")
    model = called(Valence(words._leans(), words.BAD, words.GOOD), "one")
    with home(source.parent / "home"):
        eh.run(
            "mmbias/association", model=model, data=data,
            parameters={"pairs": "muslim:christian,arab:american"},
            mitigation=tmp_path / "debias" / "mitigation.safetensors", out=tmp_path / "after",
        )  # fmt: skip
    made = compare([source, tmp_path / "after"], metrics=["association_effect_size"], out=tmp_path / "both")
    said = [warning for warning in made.manifest["warnings"] if "before and after" in warning]
    assert len(said) == 1
    assert "mitigation pruning: 'one + pruning' is the model of 'one' with it" in said[0]
    table = pl.read_parquet(tmp_path / "debias" / "tables" / "before_after.parquet")
    row = table.row(0, named=True)
    targets = [row["x"], row["y"]]
    found = made.finding("association_effect_size_difference", form="cross-modal", targets=targets)
    assert found.details["first"] == pytest.approx(row["after"], abs=1e-5)
    assert found.details["second"] == pytest.approx(row["before"], abs=1e-5)
    page = (tmp_path / "both" / "report.html").read_text(encoding="utf-8")
    assert "before and after mitigation pruning" in page


def test_a_debias_run_reports_before_after_and_the_reduction(runs, tmp_path):
    made = eh.debias(
        runs["association"][0], method="pruning", remove=2, form="cross-modal", out=tmp_path / "d"
    )
    found = made.finding("association_reduction")
    before, after = (float(found.details[key]) for key in ("before", "after"))
    assert found.value == pytest.approx(abs(before) - abs(after))
    assert found.interval.low <= found.interval.high
    page = (tmp_path / "d" / "report.html").read_text(encoding="utf-8")
    assert "before" in page
    assert "after" in page


@pytest.mark.parametrize("kind", KINDS)
def test_reports_show_the_differences(kind, runs, comparisons):
    folder = runs[kind][0].with_name(f"{kind}-both")
    assert ", difference" in (folder / "report.html").read_text(encoding="utf-8")
    again = Run.read(folder)
    assert again.findings == comparisons[kind].findings
    assert set(again.tables) >= {"values", "pairing", "untested"}
