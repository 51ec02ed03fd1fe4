"""Runs of numbers compared sample by sample: on paper's tests, planted changes, blind ones, and old runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import stats
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import app
from evenhand.core.errors import InputError
from evenhand.evidence import numbers as evidence
from evenhand.metrics.catalogue import declared_metrics
from evenhand.stats.paired.differences import Paired
from evenhand.workflows.compare.engine import compare
from tests.properties.metric_table import check_finding

pytestmark = pytest.mark.usefixtures("few_draws", "without_pages")
VECTORS = Path(__file__).parents[1] / "metrics" / "vectors" / "paired.json"
PAIRED = json.loads(VECTORS.read_text(encoding="utf-8"))["cases"]
TOLD = {"value": "error", "better": "low", "by": "age", "cluster": "person", "unit": "years", "id": "id"}
COMPARED = ("mean", "worst_group_mean", "mean_gap", "mean_range")


def table(seed=0, *, older=0.0, everyone=0.0):
    """Four photos of each of 60 persons, as one model sees them; the other is so much better of some."""
    base, noise = np.random.default_rng(0), np.random.default_rng(seed)
    person = np.repeat(np.arange(60), 4)
    age = np.array(["18-39", "40-59", "60+"])[person % 3]
    error = base.lognormal(0.5, 0.5, 60)[person] + base.lognormal(0, 0.5, 240) + 3.0 * (age == "60+")
    error = error + 0.3 * noise.standard_normal(240) - older * (age == "60+") - everyone
    ids = [f"photo {number}" for number in range(240)]
    return pl.DataFrame({"id": ids, "error": error, "age": age, "person": person})


@pytest.fixture
def audited(tmp_path):
    """Writes the run of a table and gives its folder."""

    def audit(name, rows, **options):
        told = {**TOLD, "inference": "none", **options}
        told = {name: option for name, option in told.items() if option is not None}
        return eh.audit(rows, **told, out=tmp_path / name).folder or tmp_path / name

    return audit


def differences(first, second, **options):
    """The second run less the first, by name of the metric."""
    run = compare([first, second], **options)
    for finding in run.findings.findings:
        check_finding(finding)
    return run, {finding.name.removesuffix("_difference"): finding for finding in run.findings.findings}


def width(holder):
    """Of the interval."""
    return holder.interval.high - holder.interval.low


def test_a_run_keeps_the_number_of_each_sample(audited):
    folder = audited("a", table())
    kept = pl.read_parquet(folder / "tables" / "outcomes.parquet")
    assert kept.columns == ["sample", "outcome", "value", "attribute:age", "unit", "weight"]
    assert kept.height == 240
    row = kept.filter(sample="photo 7").row(0, named=True)
    assert row["outcome"] == "error"
    assert row["value"] == table()["error"][7]
    assert (row["attribute:age"], row["unit"], row["weight"]) == ("40-59", "1", 1.0)
    assert "tables/outcomes.parquet" in (folder / "hashes.json").read_text()


def test_many_rows_are_kept_as_cells(audited, monkeypatch):
    monkeypatch.setattr(evidence, "MOST_SAMPLES", 100)
    rows = table().with_columns(pl.col("error").round(0))
    first = audited("a", rows, inference="auto")
    second = audited("b", rows.with_columns(pl.col("error") + 1))
    kept = pl.read_parquet(first / "tables" / "outcomes.parquet")
    assert "sample" not in kept.columns
    assert kept["times"].sum() == 240
    assert kept.height < 240
    assert eh.Run.read(first).cases(1).columns == ["times", "error", "age", "person"]
    run, found = differences(first, second)
    assert found["mean"].value == pytest.approx(1)
    assert found["mean"].details["compared"] == "not paired"
    assert "more rows than are kept one by one" in run.manifest["warnings"][0]


def test_single_rows_are_compared_as_a_paired_t_test_does(audited):
    rows, other = table(), table(1, everyone=0.05)
    first, second = (audited(name, each, cluster=None) for name, each in (("a", rows), ("b", other)))
    run, found = differences(first, second)
    mean, apart = found["mean"], other["error"].to_numpy() - rows["error"].to_numpy()
    test = stats.ttest_rel(other["error"], rows["error"])
    assert mean.value == pytest.approx(apart.mean(), rel=1e-9)
    assert (mean.n, mean.details["units"]) == (240, 240)
    assert mean.p_value == pytest.approx(test.pvalue, abs=0.01)
    low, high = test.confidence_interval()
    assert (mean.interval.low, mean.interval.high) == pytest.approx((low, high), abs=0.003)
    for part in mean.parts:
        some = (rows["age"] == part.key).to_numpy()
        assert part.value == pytest.approx(apart[some].mean(), rel=1e-9)
        assert part.details["n_gained"] == (apart[some] < 0).sum()
    assert run.tables["pairing"]["samples"].to_list() == [240]


@pytest.mark.parametrize("case", [case for case in PAIRED if "numbers" in PAIRED[case]["expected"]])
def test_whole_persons_are_compared_as_the_vectors_have_it(audited, case):
    given, expected = PAIRED[case]["inputs"], PAIRED[case]["expected"]["numbers"]
    rows = pl.DataFrame(given).with_row_index("id")
    told = {"by": "group", "unit": None, "better": "high"}
    first, second = (audited(name, rows, value=f"num_{name}", **told) for name in ("b", "a"))
    mean, flips = differences(first, second)[1]["mean"], []
    for holder, reference in [(mean, expected["overall"])] + [
        (part, expected["groups"][part.key]) for part in mean.parts
    ]:
        assert holder.value == pytest.approx(reference["diff"], rel=1e-9, abs=1e-12)
        assert holder.n == reference["n"]
        robust = reference["cluster_t"]
        width = robust["ci"][1] - robust["ci"][0]
        if holder is mean:
            assert holder.interval.low == pytest.approx(robust["ci"][0], abs=width / 3)
            assert holder.interval.high == pytest.approx(robust["ci"][1], abs=width / 3)
        if reference["sign_flip"] is not None:
            sums = np.array(reference["sign_flip"]["cluster_sums"])
            p = Paired.of(sums, np.random.default_rng(0)).p_value
            assert p == pytest.approx(reference["sign_flip"]["p"], abs=1e-8)
            assert holder.p_value >= p - 1e-8  # the larger of that of the signs and that of the interval
            flips.append(holder.p_value == pytest.approx(p, abs=1e-8))
    assert any(flips) or not flips
    assert mean.details["units"] == expected["overall"]["units"]


def test_what_got_better_for_one_group_is_found_there(audited):
    first, second = audited("a", table()), audited("b", table(1, older=1.0))
    run, found = differences(first, second)
    parts = {part.key: part for part in found["mean"].parts}
    assert parts["60+"].value == pytest.approx(-1, abs=0.15)
    assert parts["60+"].p_adjusted < 0.001
    assert min(parts[key].p_adjusted for key in ("18-39", "40-59")) > 0.05
    assert found["mean_gap"].value == pytest.approx(-2 / 3, abs=0.1)
    for name in ("mean", "mean_gap", "mean_range", "worst_group_mean"):
        assert found[name].p_adjusted < 0.05, name
        assert found[name].interval.high < 0, name
    turned = differences(second, first)[1]
    for name in COMPARED:
        assert turned[name].value == pytest.approx(-found[name].value)
        ends = (-found[name].interval.high, -found[name].interval.low)
        assert (turned[name].interval.low, turned[name].interval.high) == pytest.approx(ends, rel=1e-6)
    of_samples = {
        name
        for name, metric in declared_metrics().items()
        if metric.card.family == "numbers" and metric.card.compared in ("mean", "worst", "gap", "range")
    }
    assert of_samples == set(found) == set(COMPARED)
    assert run.manifest["rows"] == 240


def test_a_model_that_is_no_better_differs_in_nothing(audited):
    p = {name: [] for name in COMPARED}
    first = audited("a", table())
    for seed in range(1, 16):
        found = differences(first, audited("b", table(seed)))[1]
        for name in COMPARED:
            p[name].append(found[name].p_value)
    for name in COMPARED:
        assert np.mean(np.array(p[name]) <= 0.05) <= 0.2, name


def test_a_run_beside_itself_is_alike(audited):
    first, second = audited("a", table()), audited("b", table())
    found = differences(first, second)[1]
    assert found["mean"].value == 0
    assert found["mean"].p_value == 1
    for name in ("mean_gap", "mean_range", "worst_group_mean"):
        assert found[name].value == 0
        assert found[name].interval.low < 0 < found[name].interval.high


def test_what_only_one_run_has_is_counted(audited):
    first = audited("a", table()[:200])
    regrouped = pl.when(pl.col("id") == "photo 30").then(pl.lit("60+")).otherwise("age")
    second = audited("b", table(1)[20:].with_columns(age=regrouped))
    mean = differences(first, second)[1]["mean"]
    lost = {entry.reason: entry.count for entry in mean.dropped}
    assert mean.n == 179
    assert lost == {
        "not answered by error of a": 40,
        "not answered by error of b": 20,
        "not of the same group, unit or weight in both runs": 1,
    }


def test_ids_of_other_types_are_joined(audited):
    first = audited("a", table().with_columns(id=pl.int_range(240)))
    second = audited("b", table(1).with_columns(id=pl.int_range(240).cast(pl.Float64)))
    assert differences(first, second)[1]["mean"].n == 240


def test_weights_count(audited):
    rows, other = (
        each.with_columns(w=1.0 + pl.int_range(240) % 3) for each in (table(), table(1, everyone=1))
    )
    first, second = (audited(name, each, weight="w") for name, each in (("a", rows), ("b", other)))
    mean = differences(first, second)[1]["mean"]
    apart, weight = other["error"] - rows["error"], rows["w"]
    assert mean.value == pytest.approx((apart * weight).sum() / weight.sum())


def test_numbers_of_one_file_are_joined_by_their_rows(audited, tmp_path):
    rows = table().with_columns(other=table(1, older=1.0)["error"])
    rows.write_csv(tmp_path / "both.csv")
    path = str(tmp_path / "both.csv")
    first, second = audited("a", path, id=None), audited("b", path, id=None, value="other")
    run, found = differences(first, second)
    assert found["mean"].n == 240
    assert found["mean"].details["compared"] == "same samples"
    assert run.manifest["models"] == ["error of both.csv", "other of both.csv"]


def test_rows_without_ids_are_compared_as_others_and_it_says_what_to_type(audited):
    first, second = audited("a", table(), id=None), audited("b", table(1, older=3.0), id=None)
    run, found = differences(first, second)
    assert "audited without ids: error of a and error of b; audit again with --id COL" in (
        run.manifest["warnings"][0].replace("error of b and error of a", "error of a and error of b")
    )
    assert found["mean"].details["compared"] == "not paired"
    joined = differences(audited("c", table()), audited("d", table(1, older=3.0)))[1]
    for name in COMPARED:
        assert found[name].value == pytest.approx(joined[name].value)
    assert width(found["mean"].parts[0]) > 2 * width(joined["mean"].parts[0])
    assert found["mean_gap"].p_value < 0.05


def test_other_samples_are_weighted_to_one_mix(audited):
    rows, other = table(), table(1)
    skewed = other.filter((pl.col("age") != "60+") | (pl.col("person") < 20))
    skewed = skewed.with_columns(pl.col("id") + " of b", person=pl.col("person") + 100)
    found = differences(audited("a", rows), audited("b", skewed))[1]["mean"]
    assert abs(found.value) < 0.5
    assert found.interval.low < 0 < found.interval.high
    assert (found.n, found.details["second_rows"]) == (skewed.height, 240)


def test_ids_that_several_rows_share_are_refused(audited):
    with pytest.raises(InputError, match="240 rows share their id in column 'person', such as '0'; name a"):
        audited("a", table(), id="person", cluster=None)


def test_numbers_of_other_kinds_are_refused(audited):
    first, second = audited("a", table()), audited("b", table(), better="high")
    with pytest.raises(
        InputError, match=r"with better 'low' and .* with 'high'; audit both with the same --better"
    ):
        compare([first, second])


def test_runs_that_kept_no_numbers_stand_side_by_side(audited):
    folders = [audited("a", table()), audited("b", table(1))]
    for folder in folders:
        shutil.rmtree(folder / "tables")
        (folder / "hashes.json").unlink()
    run, found = differences(*folders)
    assert found == {}
    assert run.tables["values"].height == 12
    assert "it keeps no numbers of single samples; audit its table again" in str(run.manifest["warnings"])


def test_first_lines_say_how_many_samples_got_better_and_by_how_much(audited, monkeypatch):
    rows, other = table(), table(1, older=1.0)
    run = differences(audited("a", rows), audited("b", other))[0]
    apart = (rows["error"] - other["error"]).to_numpy()
    older = (rows["age"] == "60+").to_numpy()
    first, second = run.overview.headlines[:2]
    means = [each["error"].to_numpy()[older].mean() for each in (other, rows)]
    assert first.text == (
        f"60+: with error of b {(apart[older] > 0).sum()} of 80 rows are better and "
        f"{(apart[older] < 0).sum()} worse: error is {means[0]:.3f} years on average, with error of a "
        f"{means[1]:.3f} years."
    )
    assert second.text.startswith(f"With error of b {(apart > 0).sum()} of 240 rows are better and")
    assert first.sentence.endswith("error of b is better, more than chance gives.")
    assert run.overview.kicker.startswith("Mean: error of b is ")
    assert "years better than error of a" in run.overview.kicker
    assert "beide" not in run.html()
    monkeypatch.setenv("EVENHAND_LANGUAGE", "de")
    assert "60+: mit error of b sind " in run.html(language="de")


def test_what_is_worse_is_said_to_be_so_where_high_numbers_are_better(audited):
    told = {"better": "high", "unit": None}
    first, second = audited("a", table(), **told), audited("b", table(1, everyone=1.0), **told)
    run, found = differences(first, second)
    assert run.overview.kicker.startswith("Mean: error of b is 1.0")
    assert "worse than error of a" in run.overview.kicker
    assert found["mean"].details["n_lost"] > found["mean"].details["n_gained"]


@pytest.mark.parametrize(("better", "broken"), [("low", 0), ("high", 4)])
def test_gates_know_which_way_is_better(audited, better, broken):
    folders = [audited("a", table(), better=better), audited("b", table(1, everyone=1.0), better=better)]
    done = CliRunner().invoke(app, ["compare", *map(str, folders), "-q", "--fail-if", "mean got worse"])
    assert getattr(done.exception, "exit_code", done.exit_code) == broken


def test_p_and_interval_say_the_same(audited):
    for seed in range(1, 9):
        run = differences(audited("a", table()), audited("b", table(seed, older=0.1 * seed)), by=["age"])[0]
        for finding in run.findings.findings:
            inside = finding.interval.low <= 0 <= finding.interval.high
            assert inside == (finding.p_adjusted > 0.05), finding.metric
            for part in finding.parts:
                assert part.interval.low <= part.value <= part.interval.high


def test_the_worst_samples_stand_first_and_a_group_can_be_opened(audited):
    folder = audited("a", table(), inference="auto")
    run, rows = eh.Run.read(folder), table()
    worst = rows.filter(age="60+").sort("error", descending=True)
    cases = run.cases(1)
    assert cases.columns == ["sample", "error", "age", "person"]
    assert cases["sample"].to_list() == worst["id"].to_list()
    assert "of 80 shown, the worst first; the file holds all." in run.html()
    assert '"photo 17"' in run.html()
    better = table().with_columns(error=-pl.col("error"))
    turned = eh.audit(better, **{**TOLD, "better": "low"})
    assert set(turned.cases(1)["age"]) == {"18-39", "40-59"}
    assert turned.cases(1)["error"].is_sorted(descending=True)
    with pytest.raises(InputError, match="the first three beyond chance have rows"):
        eh.audit(table().with_columns(error=pl.int_range(240) % 7), **TOLD).cases(1)


def test_what_hides_small_groups_holds_no_single_sample(audited, tmp_path):
    folders = [audited("a", table()), audited("b", table(1, older=1.0))]
    compare(folders, out=tmp_path / "both")
    for folder in (*folders, tmp_path / "both"):
        run = eh.Run.read(folder)
        page = run.html(suppress=10)
        assert "photo" not in page
        assert "outcomes" not in page
    for kind in ("csv", "json", "markdown", "parquet"):
        target = tmp_path / f"exported.{kind}"
        told = ["export", str(folders[0]), "--as", kind, "--suppress", "10", "-o", str(target)]
        assert CliRunner().invoke(app, told).exit_code == 0
        written = [target] if target.is_file() else [file for file in target.rglob("*") if file.is_file()]
        assert written
        for file in written:
            assert file.name != "outcomes.parquet"
            assert b"photo" not in file.read_bytes()


def test_several_groupings_test_the_mean_once(audited):
    rows, other = (each.with_columns(sex=pl.Series(["f", "m"] * 120)) for each in (table(), table(1)))
    told = {"by": ["age", "sex", "age+sex"]}
    run = differences(audited("a", rows, **told), audited("b", other, **told))[0]
    means = [finding for finding in run.findings.findings if finding.name == "mean_difference"]
    assert [finding.p_value is None for finding in means] == [False, True, True]
    assert [len(finding.parts) for finding in means] == [3, 2, 6]
    assert means[2].parts[0].kind == "age*sex"


def test_a_difference_within_chance_is_in_the_unit_of_the_numbers(audited):
    run = differences(audited("a", table()), audited("b", table(1)))[0]
    quiet = " ".join([run.overview.lead, *run.overview.silent])
    assert " years, within what chance alone gives" in quiet
    assert "person" not in quiet
