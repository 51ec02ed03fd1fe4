"""Comparing run folders: what is paired or not and why, pairs, families, ranks, and other kinds of runs."""

import json
import shutil

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.classification import accuracy as group_accuracy
from evenhand.metrics.classification import effect_sizes as effect_size
from evenhand.metrics.differences.ranking import MEVS
from evenhand.workflows.audit import audit_table
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.compare.warnings import comparison_warnings
from evenhand.workflows.outputs.result import Run
from evenhand.workflows.run import run
from tests.conftest import leave_pages_out
from tests.runner.edits import as_before_outcomes, unsealed

pytestmark = pytest.mark.usefixtures("without_pages")

CLASSES = 5


def table(seed=0, n=800):
    """One truth, two attributes, and three columns of predictions: biased, fair, better."""
    rng = np.random.default_rng(seed)
    truth, group = rng.integers(0, CLASSES, n), rng.integers(0, 2, n)

    def said(accuracy, bias):
        wrong = np.where(
            (group == 0) & (rng.random(n) < bias), (truth + 1) % CLASSES, rng.integers(0, CLASSES, n)
        )
        return [f"c{code}" for code in np.where(rng.random(n) < accuracy, truth, wrong)]

    return pl.DataFrame(
        {
            "id": [f"i{code}" for code in range(n)],
            "label": [f"c{code}" for code in truth],
            "group": [f"g{code}" for code in group],
            "other": [f"h{code}" for code in rng.integers(0, 2, n)],
            "biased": said(0.6, 0.6),
            "fair": said(0.6, 0.0),
            "better": said(0.8, 0.0),
        }
    )


def audited(folder, path, prediction, by=("group",), id="id", **options):
    columns = {"truth": "label", "prediction": prediction, "id": id}
    given = {"inference": "none", **options}  # a comparison makes its own intervals and tests
    with pytest.MonkeyPatch.context() as patch:
        leave_pages_out(patch)
        audit_table(str(path), columns=columns, by=list(by), out=folder / prediction, **given)
    return folder / prediction


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Audits of three columns of one table."""
    where = tmp_path_factory.mktemp("audits")
    table().write_csv(where / "t.csv")
    return {name: audited(where, where / "t.csv", name) for name in ("biased", "fair", "better")}


@pytest.fixture(scope="module")
def comparison(folders, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "comparison"
    return compare(list(folders.values()), out=out), out


def test_all_pairs_are_compared_on_the_same_samples(comparison):
    pairing = comparison[0].tables["pairing"]
    assert pairing.select("model", "reference").rows() == [
        ("fair of t.csv", "biased of t.csv"),
        ("better of t.csv", "biased of t.csv"),
        ("better of t.csv", "fair of t.csv"),
    ]
    assert pairing["samples"].to_list() == [800, 800, 800]
    assert set(pairing["compared"]) == {"same samples"}


def test_what_was_planted_is_found_after_holm(comparison):
    found = comparison[0].finding(
        "cramers_v_mean_difference", model="fair of t.csv", reference="biased of t.csv"
    )
    assert found.value < -0.1
    assert found.p_adjusted <= 0.05
    accuracy = comparison[0].finding(
        "accuracy_difference", model="better of t.csv", reference="fair of t.csv"
    )
    assert accuracy.value == pytest.approx(0.17, abs=0.06)
    assert accuracy.p_adjusted <= 0.05


def test_p_is_adjusted_over_the_pairs_of_a_measure(comparison):
    p = sorted(one.p_value for one in comparison[0].findings.findings if one.name == "accuracy_difference")
    adjusted = sorted(
        one.p_adjusted for one in comparison[0].findings.findings if one.name == "accuracy_difference"
    )
    assert adjusted[0] == pytest.approx(3 * p[0])
    assert len(p) == 3


def test_interval_and_band_have_the_level_of_the_corrected_p(comparison):
    found = sorted(
        (one for one in comparison[0].findings.findings if one.name == "accuracy_difference"),
        key=lambda one: one.p_value,
    )
    assert [one.interval.level for one in found] == pytest.approx([1 - 0.05 / left for left in (3, 2, 1)])
    first = found[0]
    assert first.interval.low < first.details["low_95"] < first.details["high_95"] < first.interval.high
    for one in found:
        assert one.null.level == one.interval.level
        assert (one.null.low <= one.value <= one.null.high) == (one.interval.low <= 0 <= one.interval.high)
        assert (one.p_adjusted <= 0.05) == (not one.interval.low <= 0 <= one.interval.high)


def test_findings_are_unique_and_the_folder_is_a_run(comparison):
    run_, out = comparison
    keys = [(one.name, tuple(one.by), str(one.params)) for one in run_.findings.findings]
    assert len(set(keys)) == len(keys) == 21
    again = Run.read(out)
    assert again.findings == run_.findings
    assert again.manifest["kind"] == "compare"
    assert sorted(again.counts) == ["predictions-2-1", "predictions-3-1", "predictions-3-2"]
    assert all(one.paired for one in again.counts.values())


def test_the_same_again_gives_the_same_bytes(folders, comparison):
    again = compare(list(folders.values()))
    assert again.findings.dump() == comparison[0].findings.dump()
    assert again.manifest["manifest_id"] == comparison[0].manifest["manifest_id"]


def test_the_report_shows_order_pairs_and_verdict(comparison):
    html = (comparison[1] / "report.html").read_text()
    for text in (
        "The models side by side",
        "What was paired",
        "First in resamples",
        "differences between models",
    ):
        assert text in html
    assert "table of mistakes" not in html


def test_ranks_follow_directions(comparison):
    ranking = comparison[0].tables["ranking"]

    def order(metric):
        return ranking.filter(pl.col("metric") == metric).sort("rank")["model"].to_list()

    assert order("accuracy")[0] == "better of t.csv"
    assert order("cramers_v_mean")[-1] == "biased of t.csv"
    values = ranking.filter(pl.col("metric") == "accuracy_gap").sort("rank")["value"].to_list()
    assert values == sorted(values)


def test_ranking_values_are_the_metrics(comparison, folders):
    counts = Run.read(folders["fair"]).counts["predictions"]
    for metric in (effect_size.skewsize, effect_size.cramers_v_mean, group_accuracy.accuracy_gap):
        told = (
            comparison[0]
            .tables["ranking"]
            .filter((pl.col("metric") == metric.__name__) & (pl.col("model") == "fair of t.csv"))
        )
        assert told["value"].item() == pytest.approx(metric(counts, by="group").value)


def test_rank_stability_over_mev_and_resamples(comparison, folders):
    mev = comparison[0].tables["mev_ranks"].filter(pl.col("model") == "biased of t.csv")
    counts = Run.read(folders["biased"]).counts["predictions"]
    assert mev["mev"].to_list() == list(MEVS)
    for level, value in mev.select("mev", "value").rows():
        assert value == effect_size.skewsize(counts, by="group", mev=level, inference="none").value
    shares = comparison[0].tables["rank_shares"]
    for keys in (("metric", "model"), ("metric", "rank")):
        together = shares.group_by(keys).agg(pl.col("share").sum())
        assert together["share"].to_list() == pytest.approx([1.0] * 15)
    first = shares.filter((pl.col("rank") == 1) & (pl.col("metric") == "accuracy"))
    assert dict(first.select("model", "share").iter_rows())["better of t.csv"] > 0.99


def test_a_run_against_itself(folders):
    made = compare([folders["fair"], folders["fair"]])
    assert set(made.tables["rank_shares"]["share"]) == {0.5}
    for one in made.findings.findings:
        assert one.value == 0
        assert one.p_value == one.p_adjusted == (None if one.name == "skewsize_difference" else 1)
        assert one.model != one.reference


def test_reference_compares_each_with_one(folders):
    made = compare(list(folders.values()), reference=folders["fair"], metrics=["accuracy"])
    assert [(one.model, one.reference) for one in made.findings.findings] == [
        ("biased of t.csv", "fair of t.csv"),
        ("better of t.csv", "fair of t.csv"),
    ]
    with pytest.raises(UnknownName, match="run to compare with"):
        compare(list(folders.values()), reference="elsewhere")


def test_above_ten_runs_the_first_is_the_reference(folders):
    made = compare([folders["fair"]] * 11, metrics=["accuracy"])
    assert len(made.findings.findings) == 10
    assert {one.reference for one in made.findings.findings} == {"fair of t.csv (fair)"}


def test_a_changed_table_is_not_paired_and_said(tmp_path):
    table().write_csv(tmp_path / "t.csv")
    names = ("biased", "fair")
    folders = [as_before_outcomes(audited(tmp_path, tmp_path / "t.csv", name)) for name in names]
    table(seed=5).write_csv(tmp_path / "t.csv")
    made = compare(folders, metrics=["cramers_v_mean"])
    (row,) = made.tables["pairing"].to_dicts()
    assert row["compared"] == "not paired"
    assert "has changed since" in row["reason"]
    found = made.finding("cramers_v_mean_difference")
    assert found.p_adjusted <= 0.05
    assert found.details["compared"] == "not paired"
    assert found.interval is not None
    (tmp_path / "t.csv").unlink()
    assert "is not there" in compare(folders, metrics=["accuracy"]).tables["pairing"]["reason"][0]


def test_rows_without_ids_pair_within_one_file_only(tmp_path):
    frame = table()
    frame.write_parquet(tmp_path / "a.parquet")
    frame.sort("other").write_parquet(tmp_path / "b.parquet")
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    here = [audited(tmp_path / "one", tmp_path / "a.parquet", name, id=None) for name in ("biased", "fair")]
    there = audited(tmp_path / "two", tmp_path / "b.parquet", "fair", id=None)
    assert compare(here, metrics=["accuracy"]).tables["pairing"]["samples"].to_list() == [800]
    apart = compare([here[0], there], metrics=["accuracy"]).tables["pairing"].to_dicts()[0]
    assert apart["compared"] == "not paired"
    assert apart["reason"] == (
        "audited without ids: fair of b.parquet and biased of a.parquet; audit again with --id COL"
    )


def test_files_of_several_formats_pair_by_id(tmp_path):
    frame = table().with_columns(label=pl.col("label").str.slice(1).cast(pl.Int64))
    numbers = frame.with_columns(pl.col("biased", "fair").str.slice(1).cast(pl.Int64))
    numbers.write_csv(tmp_path / "a.csv")
    numbers.with_columns(pl.col("label").cast(pl.Float64)).sort("fair").write_parquet(tmp_path / "b.parquet")
    folders = [
        audited(tmp_path, tmp_path / "a.csv", "biased"),
        audited(tmp_path, tmp_path / "b.parquet", "fair"),
    ]
    assert compare(folders, metrics=["accuracy"]).tables["pairing"]["samples"].to_list() == [800]


def test_samples_of_one_run_only_are_left_out_and_counted(tmp_path):
    frame = table()
    frame[:700].write_csv(tmp_path / "a.csv")
    frame[100:].write_csv(tmp_path / "b.csv")
    folders = [audited(tmp_path, tmp_path / f"{f}.csv", name) for f, name in (("a", "biased"), ("b", "fair"))]
    found = compare(folders, metrics=["accuracy"]).findings.findings[0]
    assert found.n == 600
    assert sorted((one.count, one.reason.split()[0]) for one in found.dropped) == [
        (100, "not"),
        (100, "only"),
    ]
    assert found.value == pytest.approx(
        (frame[100:700]["fair"] == frame[100:700]["label"]).mean()
        - (frame[100:700]["biased"] == frame[100:700]["label"]).mean()
    )


def test_another_truth_for_the_same_sample_is_refused(tmp_path):
    frame = table()
    frame.write_csv(tmp_path / "a.csv")
    other = frame.with_columns(label=pl.when(pl.col("id") == "i3").then(pl.lit("c9")).otherwise("label"))
    other.write_csv(tmp_path / "b.csv")
    folders = [audited(tmp_path, tmp_path / f"{f}.csv", name) for f, name in (("a", "biased"), ("b", "fair"))]
    with pytest.raises(InputError, match="'truth' differs in 1 of 800 common samples: of 'i3'"):
        compare(folders)


def test_groupings_are_those_in_common_or_asked_for(tmp_path):
    table().write_csv(tmp_path / "t.csv")
    a = audited(tmp_path, tmp_path / "t.csv", "biased", by=("group", "other", "group+other"))
    b = audited(tmp_path, tmp_path / "t.csv", "fair", by=("other", "group+other"))
    made = compare([a, b], metrics=["accuracy"])
    assert [one.by for one in made.findings.findings] == [["other"], ["group", "other"]]
    first, second = made.findings.findings  # one test, which counts once
    assert first.p_value == first.p_adjusted == second.p_value == second.p_adjusted
    gaps = compare([a, b], metrics=["accuracy_gap"]).findings.findings
    surest = min(gaps, key=lambda one: one.p_value)
    assert surest.p_adjusted == pytest.approx(min(1, 2 * surest.p_value))
    asked = compare([a, b], by=["group"], metrics=["accuracy"])
    assert [one.by for one in asked.findings.findings] == [["group"]]
    with pytest.raises(UnknownName, match="attribute that all runs have"):
        compare([a, b], by=["race"])
    table().with_columns(colour="group").write_csv(tmp_path / "u.csv")
    (tmp_path / "other").mkdir()
    c = audited(tmp_path / "other", tmp_path / "u.csv", "better", by=("other",))
    d = audited(tmp_path, tmp_path / "t.csv", "better", by=("group",))
    with pytest.raises(InputError, match="share no grouping"):
        compare([c, d])


def test_what_is_no_comparison_is_refused(folders, comparison, tmp_path):
    with pytest.raises(ParameterError, match="two or more run folders"):
        compare([folders["fair"]])
    with pytest.raises(InputError, match="is no run folder"):
        compare([folders["fair"], tmp_path])
    with pytest.raises(InputError, match="is a comparison itself"):
        compare([folders["fair"], comparison[1]])
    with pytest.raises(ParameterError, match="alpha=2"):
        compare(list(folders.values()), alpha=2)
    with pytest.raises(UnknownName, match="no metric"):
        compare(list(folders.values()), metrics=["accurate"])


def changed(folder, out, **update):
    """A copy of a run whose manifest says something else."""
    unsealed(shutil.copytree(folder, out))
    manifest = json.loads((out / "manifest.json").read_text()) | update
    (out / "manifest.json").write_text(json.dumps(manifest))
    return out


def test_runs_in_python_are_compared_from_their_folders(tmp_path):
    truths = {"id": range(90), "truth": ["a"] * 90, "group": ["x", "y", "z"] * 30}
    tables = [pl.DataFrame({**truths, "prediction": ["a"] * n + ["b"] * (90 - n)}) for n in (60, 70)]
    columns = {"truth": "truth", "prediction": "prediction", "by": "group", "id": "id"}
    runs = [eh.audit(table, **columns) for table in tables]
    with pytest.raises(InputError, match=r"first\.save"):
        eh.compare(runs)
    folders = [run.save(tmp_path / name) for name, run in zip("ab", runs, strict=True)]
    findings = eh.compare(folders).findings
    assert eh.compare(runs).findings == findings
    assert eh.compare([eh.Run.read(folder) for folder in folders]).findings == findings


def test_runs_of_two_benchmarks_are_refused(folders, tmp_path):
    a = changed(folders["fair"], tmp_path / "a", benchmark="sprites")
    b = changed(folders["fair"], tmp_path / "b", benchmark="classification")
    with pytest.raises(
        InputError, match=r"of sprites and .* of classification; compare runs of one benchmark"
    ):
        compare([a, b])


def test_modes_samples_parameters_and_seeds_are_told(folders, tmp_path):
    identity = {"adaptation": "probe", "adaptation recipe": "{}", "head sha256": "1", "adaptation seed": "0"}
    a = changed(
        folders["fair"], tmp_path / "a", mode="paper", benchmark="x", samples="1", parameters={"k": 1},
        model="m", model_identity=identity,
    )  # fmt: skip
    b = changed(
        folders["fair"], tmp_path / "b", benchmark="x", samples="2", parameters={"k": 2},
        model="n", model_identity={**identity, "head sha256": "2", "adaptation seed": "1"},
    )  # fmt: skip
    told = " | ".join(comparison_warnings([ComparedRun.read(a), ComparedRun.read(b)]))
    for text in (
        "default mode",
        "hold different samples or annotations",
        "k 1 / 2",
        "differ in the seed only (0, 1)",
    ):
        assert text in told


def test_rows_that_do_not_give_the_counts_are_not_paired(folders, tmp_path):
    """A run whose evidence was changed by hand must not be paired by it."""
    a = tmp_path / "a"
    unsealed(shutil.copytree(folders["fair"], a))
    counts = Counts.load(a / "counts" / "predictions.parquet")
    (counts + counts).save(a / "counts" / "predictions.parquet")
    assert ComparedRun.read(a).rows(["group"]) == "its rows do not give its counts"


def sprites(out, accuracy, seed, **options):
    """Sprites with answers made elsewhere."""
    rng = np.random.default_rng(seed)
    shapes = ("square", "ellipse", "heart")
    plan = run(
        "sprites", model=f"table:{_answers(out, rng, shapes, accuracy)}", limit=300, out=out, **options
    )
    return out, plan


def _answers(out, rng, shapes, accuracy):
    from evenhand.benchmarks.benchmark import Setting
    from evenhand.benchmarks.catalogue import BENCHMARKS

    benchmark = BENCHMARKS.get("sprites")
    given = {name: one.default for name, one in benchmark.parameters.items()}
    plan = benchmark.plan(Setting(given, None, ("classifies_images",), 0, 300, ""))
    truth = plan.annotations["truth"].to_list()
    said = [t if rng.random() < accuracy else shapes[rng.integers(3)] for t in truth]
    file = out.with_suffix(".csv")
    pl.DataFrame({"sample": plan.annotations["sample"], "prediction": said}).write_csv(file)
    return file


def test_runs_of_a_benchmark_pair_by_their_evidence(tmp_path):
    a, _ = sprites(tmp_path / "a", 0.5, 1)
    b, _ = sprites(tmp_path / "b", 0.9, 2)
    made = compare([a, b], metrics=["accuracy"])
    (row,) = made.tables["pairing"].to_dicts()
    assert row["samples"] == 300
    found = made.finding("accuracy_difference")
    assert found.benchmark == "sprites"
    assert found.value > 0.2
    assert found.p_value <= 0.002


def without_counts(folder, out):
    shutil.copytree(folder, out)
    shutil.rmtree(out / "counts")
    return out


@pytest.mark.pages
def test_runs_without_predictions_stand_side_by_side(folders, tmp_path):
    a, b = (without_counts(folders[name], tmp_path / name) for name in ("fair", "biased"))
    made = compare([a, b], metrics=["accuracy", "skewsize"], out=tmp_path / "out")
    values = made.tables["values"]
    assert set(values["metric"]) == {"accuracy", "skewsize"}
    assert values.height == 4
    assert made.findings.findings == []
    assert any("no test" in warning for warning in made.manifest["warnings"])
    assert "Findings side by side" in (tmp_path / "out" / "report.html").read_text()
    with pytest.raises(InputError, match="has no counts of predictions and other runs have"):
        compare([a, folders["fair"]])
    with pytest.raises(UnknownName, match="metric of these runs"):
        compare([a, b], metrics=["ndkl"])


def test_ids_as_whole_numbers_and_as_fractions_are_one(tmp_path):
    frame = table().with_columns(id=pl.int_range(pl.len()))
    frame.write_csv(tmp_path / "a.csv")
    frame.with_columns(pl.col("id").cast(pl.Float64)).write_csv(tmp_path / "b.csv")
    frame.with_columns(id=pl.format("x{}", "id")).write_csv(tmp_path / "c.csv")
    names = {"a": "biased", "b": "fair", "c": "better"}
    a, b, c = (audited(tmp_path, tmp_path / f"{f}.csv", name) for f, name in names.items())
    assert compare([a, b], metrics=["accuracy"]).tables["pairing"]["samples"].to_list() == [800]
    (reason,) = compare([a, c], metrics=["accuracy"]).tables["pairing"]["reason"]
    assert "no sample id is in both: better of c.csv has such as 'x0' and biased of a.csv '0'" in reason


def test_samples_with_something_missing_do_not_count_as_paired(tmp_path):
    frame = table().with_columns(biased=pl.when(pl.int_range(pl.len()) >= 30).then("biased"))
    frame.write_csv(tmp_path / "t.csv")
    folders = [audited(tmp_path, tmp_path / "t.csv", name) for name in ("biased", "fair")]
    made = compare(folders, metrics=["accuracy"])
    assert made.tables["pairing"]["samples"].to_list() == [770]
    assert made.finding("accuracy_difference").n == 770


def test_audits_added_up_say_why_they_are_not_paired(folders, tmp_path):
    for place, part in enumerate((slice(0, 400), slice(400, 800))):
        table()[part].write_csv(tmp_path / f"{place}.csv")
        (tmp_path / f"half-{place}").mkdir()
        audited(tmp_path / f"half-{place}", tmp_path / f"{place}.csv", "biased")
    halves, both = str(tmp_path / "half-*" / "biased"), tmp_path / "both"
    audit_table(halves, columns={}, by=["group"], out=both, inference="none")
    (reason,) = compare([both, folders["fair"]], metrics=["accuracy"]).tables["pairing"]["reason"]
    assert "added up from several audits or files" in reason
    assert "not there" not in reason


@pytest.fixture(scope="module")
def unlike(tmp_path_factory):
    """One model; the second table has class c0 half as often, and none of class c4."""
    where = tmp_path_factory.mktemp("unlike")
    frame = table(seed=3, n=1500)
    frame[:700].write_csv(where / "a.csv")
    rare = (pl.col("label") == "c0") & (pl.int_range(pl.len()) % 2 == 0)
    frame[700:].filter(~rare & (pl.col("label") != "c4")).write_csv(where / "b.csv")
    made = []
    for name in ("a", "b"):
        (where / name).mkdir()
        made.append(audited(where / name, where / f"{name}.csv", "fair"))
    return made, frame[:700].filter(pl.col("label") == "c4").height


def test_runs_with_other_classes_are_compared_in_one_mix_and_it_is_said(unlike):
    made = compare(unlike[0])
    assert "rows of other classes and groups" in " ".join(made.manifest["warnings"])
    assert made.manifest["ranked_on"] == "not paired, weighted to one mix of classes and groups"
    found = made.finding("accuracy_difference")
    assert [one.count for one in found.dropped if "not all models have" in one.reason] == [unlike[1]]
    ranking = made.tables["ranking"]
    for metric, difference in (
        ("accuracy", found),
        ("cramers_v_mean", made.finding("cramers_v_mean_difference")),
    ):
        own = ranking.filter(pl.col("metric") == metric)
        first, second = own["value"]
        assert second - first == pytest.approx(difference.value)
    accuracies = ranking.filter(pl.col("metric") == "accuracy")
    assert accuracies.select(pl.col("value").is_between("low", "high").all()).item()


def test_runs_that_share_no_class_are_refused(folders, tmp_path):
    other = table().with_columns(pl.col("label", "fair").str.replace("c", "d"))
    other = other.with_columns(pl.format("x{}", "id").alias("id"))
    other.write_csv(tmp_path / "d.csv")
    with pytest.raises(InputError, match="share no class and group of group"):
        compare([folders["fair"], audited(tmp_path, tmp_path / "d.csv", "fair")])


def test_a_run_is_not_written_over(folders):
    before = (folders["fair"] / "manifest.json").read_bytes()
    for out in (folders["fair"], folders["biased"] / ".." / "fair"):
        with pytest.raises(ParameterError, match="is one of the runs that are compared"):
            compare([folders["biased"], folders["fair"]], out=out)
    assert (folders["fair"] / "manifest.json").read_bytes() == before


def test_the_report_speaks_of_two_models(comparison):
    html = (comparison[1] / "report.html").read_text()
    assert "Comparison of models" in html
    assert "no difference between models" in html
    assert "Bias audit" not in html
    assert "where a fair model would lie" not in html
    assert "without any" not in html
