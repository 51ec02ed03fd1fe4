"""Comparing recipes over several seeds: what is one recipe, its spread, its differences, what is refused."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.metrics.differences.seeds import NO_SPREAD
from evenhand.stats.multiplicity import holm_levels
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.compare.runs import ComparedRun, called_apart
from evenhand.workflows.compare.seeds import in_groups, parse_groups
from evenhand.workflows.outputs.result import Run
from tests.runner.test_compare import audited, changed, without_counts

pytestmark = pytest.mark.usefixtures("without_pages")

CLASSES, SEEDS = 4, 3


def answers(n=400):
    """One truth, one attribute, and three seeds of two recipes, the second right more often."""
    rng = np.random.default_rng(1)
    truth, group = rng.integers(0, CLASSES, n), rng.integers(0, 2, n)
    columns = {
        "id": [f"i{code}" for code in range(n)],
        "label": [f"c{code}" for code in truth],
        "group": [f"g{code}" for code in group],
    }
    for recipe, accuracy in (("plain", 0.55), ("better", 0.8)):
        for seed in range(SEEDS):
            right = rng.random(n) < accuracy + 0.03 * (seed - 1)
            columns[f"{recipe}-s{seed}"] = [
                f"c{code}" for code in np.where(right, truth, rng.integers(0, CLASSES, n))
            ]
    return pl.DataFrame(columns)


@pytest.fixture(scope="module")
def audits(tmp_path_factory):
    """Audits of all six columns, which do not say what model they are of."""
    where = tmp_path_factory.mktemp("audits")
    answers().write_csv(where / "t.csv")
    names = [f"{recipe}-s{seed}" for recipe in ("plain", "better") for seed in range(SEEDS)]
    return {name: audited(where, where / "t.csv", name) for name in names}


def adapted(recipe, seed):
    """What a probe's manifest says of its model."""
    return {
        "model": f"adapted:heads/{recipe}-s{seed}",
        "model_identity": {
            "extractor name": recipe, "extractor sha256 of weights": recipe,
            "sha256 of head": f"{recipe} {seed}", "adaptation": "probe",
            "adaptation recipe": '{"epochs": 1}', "adaptation seed": str(seed),
        },
    }  # fmt: skip


@pytest.fixture(scope="module")
def probes(audits, tmp_path_factory):
    """The same as runs of adapted models that say their seeds."""
    where = tmp_path_factory.mktemp("probes")
    return {
        name: changed(folder, where / name, **adapted(name[:-3], int(name[-1])))
        for name, folder in audits.items()
    }


@pytest.fixture(scope="module")
def comparison(probes, tmp_path_factory):
    out = tmp_path_factory.mktemp("made") / "comparison"
    return compare(list(probes.values()), metrics=["accuracy", "accuracy_gap"], out=out), out


def accuracies(recipe):
    frame = answers()
    columns = [f"{recipe}-s{seed}" for seed in range(SEEDS)]
    return np.array([(frame[column] == frame["label"]).mean() for column in columns])


PLAIN, BETTER = "plain-s* (3 seeds)", "better-s* (3 seeds)"


def test_runs_that_differ_in_the_seed_are_one(comparison):
    run, _ = comparison
    assert run.manifest["models"] == [PLAIN, BETTER]
    assert [(one["group"], one["seed"]) for one in run.manifest["runs"]] == [
        (name, str(seed)) for name in (PLAIN, BETTER) for seed in range(SEEDS)
    ]
    said = [warning for warning in run.manifest["warnings"] if "stands for 3 runs (seeds 0, 1, 2)" in warning]
    assert len(said) == 2
    assert all("--each-seed" in warning for warning in said)
    names = [one.name for one in run.findings.findings]
    assert sorted(names) == sorted(
        2 * ["accuracy_seed_spread", "accuracy_gap_seed_spread"]
        + ["accuracy_difference", "accuracy_gap_difference"]
    )


def test_the_spread_is_that_of_the_runs(comparison, audits):
    found = comparison[0].finding("accuracy_seed_spread", model=PLAIN)
    values = accuracies("plain")
    assert found.value == pytest.approx(values.std(ddof=1))
    assert [part.value for part in found.parts] == pytest.approx(values)
    assert [(part.kind, part.key) for part in found.parts] == [("seed", str(seed)) for seed in range(SEEDS)]
    assert found.interval.high == pytest.approx(found.value * np.sqrt(2 / stats.chi2.ppf(0.025, 2)))
    assert found.details["mean"] == pytest.approx(values.mean())
    assert found.details["sampling_error"] == pytest.approx(np.sqrt(0.55 * 0.45 / 400), rel=0.1)
    alone = Run.read(audits["plain-s0"]).finding("accuracy", "group")
    assert found.parts[0].n == alone.n == 400
    assert found.parts[0].interval.low < alone.value < found.parts[0].interval.high


def test_the_difference_is_paired_by_seed(comparison):
    found = comparison[0].finding("accuracy_difference")
    first, second = accuracies("better"), accuracies("plain")
    assert (found.model, found.reference, found.params["unit"]) == (BETTER, PLAIN, "seed")
    assert found.value == pytest.approx(first.mean() - second.mean())
    assert found.details["paired_by"] == "seed"
    assert found.details["seed_error"] == pytest.approx((first - second).std(ddof=1) / np.sqrt(SEEDS))
    error = np.hypot(found.details["seed_error"], found.details["sample_error"])
    assert found.details["degrees_of_freedom"] == pytest.approx(SEEDS - 1)
    far = (found.interval.high - found.value) / error
    assert stats.norm.ppf(0.975) < far < stats.t(SEEDS - 1).ppf(0.975)
    least = stats.norm.sf(abs(found.value) / error)
    assert 2 * least < found.p_value < 2 * stats.t(SEEDS - 1).sf(abs(found.value) / error)
    assert found.p_adjusted == found.p_value <= 0.05
    assert found.details["compared"] == "same samples"


def test_intervals_of_seeds_have_the_level_of_their_corrected_p(audits):
    groups = {
        "plain": [audits["plain-s0"], audits["plain-s1"]],
        "better": [audits["better-s0"], audits["better-s1"]],
    }
    run = compare([audits["better-s2"]], groups=groups, metrics=["accuracy"])
    found = [one for one in run.findings if one.name == "accuracy_difference"]
    assert len(found) == 3
    levels = 1 - holm_levels(np.array([one.p_value for one in found]), 0.05)
    assert len(set(levels)) > 1
    for one, level in zip(found, levels, strict=True):
        assert one.interval.level == one.null.level == pytest.approx(level)
        leaves = not one.interval.low <= 0 <= one.interval.high
        assert leaves == (one.p_adjusted <= 0.05) == (not one.null.low <= one.value <= one.null.high)


def test_ranking_and_pairs_are_of_recipes(comparison):
    run, out = comparison
    ranking = run.tables["ranking"].filter(pl.col("metric") == "accuracy")
    assert ranking["model"].to_list() == [PLAIN, BETTER]
    assert ranking["value"].to_list() == pytest.approx(
        [accuracies("plain").mean(), accuracies("better").mean()]
    )
    assert ranking["rank"].to_list() == [2, 1]
    shares = run.tables["rank_shares"].filter((pl.col("metric") == "accuracy") & (pl.col("rank") == 1))
    assert dict(shares.select("model", "share").iter_rows())[BETTER] == 1
    assert run.tables["mev_ranks"]["model"].unique().sort().to_list() == sorted([PLAIN, BETTER])
    (pair,) = run.tables["pairing"].to_dicts()
    assert (pair["model"], pair["samples"], pair["compared"]) == (BETTER, 400, "same samples")
    assert Run.read(out).findings == run.findings


def test_the_same_again_gives_the_same_bytes(probes, comparison):
    again = compare(list(probes.values()), metrics=["accuracy", "accuracy_gap"])
    assert again.findings.dump() == comparison[0].findings.dump()
    assert again.manifest["manifest_id"] == comparison[0].manifest["manifest_id"]


def test_the_report_has_a_section_of_seeds(comparison):
    html = (comparison[1] / "report.html").read_text()
    assert '<section id="seeds"' in html
    for text in ("spread of seeds", "sampling error of a run", "another seed moves it by", "seed 2"):
        assert text in html
    assert '<section id="over-time"' not in html


def test_each_seed_compares_runs_and_says_so(probes):
    made = compare(list(probes.values())[:3], metrics=["accuracy"], group_seeds=False)
    assert len(made.findings.findings) == 3
    assert all("unit" not in one.params for one in made.findings.findings)
    assert any("differ in the seed only (0, 1, 2)" in warning for warning in made.manifest["warnings"])
    assert not any("stands for" in warning for warning in made.manifest["warnings"])


def test_one_recipe_alone_has_a_spread_and_no_difference(probes):
    made = compare(list(probes.values())[:3], metrics=["accuracy"])
    assert [one.name for one in made.findings.findings] == ["accuracy_seed_spread"]
    assert made.tables["pairing"].is_empty()
    assert made.tables["ranking"].height == 5


def test_groups_can_be_given_and_are_then_not_paired_by_seed(audits):
    given = {name: [audits[f"{name}-s{seed}"] for seed in range(SEEDS)] for name in ("plain", "better")}
    found = compare([], metrics=["accuracy"], groups=given).finding("accuracy_difference")
    first, second = accuracies("plain"), accuracies("better")
    assert found.details["paired_by"] is None
    told = stats.ttest_ind(first, second, equal_var=False)
    assert found.details["seed_error"] == pytest.approx(abs(found.value / told.statistic))
    assert found.details["degrees_of_freedom"] >= told.df
    assert "Welch t over seeds" in found.interval.method


def test_one_run_against_seeds_is_a_prediction(audits):
    given = {"plain": [audits[f"plain-s{seed}"] for seed in range(SEEDS)]}
    values = accuracies("plain")
    for turned in (False, True):
        runs = [audits["better-s1"]]
        made = compare(
            runs, metrics=["accuracy"], groups=given, reference=audits["plain-s0"] if turned else None
        )
        found = made.finding("accuracy_difference")
        gain = accuracies("better")[1] - values.mean()  # the single run is typed first: it is the older one
        assert found.value == pytest.approx(gain if turned else -gain)
        assert found.details["seed_error"] == pytest.approx(values.std(ddof=1) * np.sqrt(1 + 1 / SEEDS))
        assert "one further seed" in found.interval.method
        assert found.interval.low < found.value < found.interval.high
    backwards = compare(runs, metrics=["accuracy"], groups=given, reference=audits["better-s1"]).finding(
        "accuracy_difference"
    )
    assert backwards.value == pytest.approx(-found.value)
    assert backwards.interval.low == pytest.approx(-found.interval.high)


def test_pairs_of_single_runs_keep_their_test_beside_groups(probes):
    runs = [probes["plain-s0"], probes["plain-s1"], probes["better-s0"]]
    other = changed(
        probes["better-s1"], probes["better-s1"].parent / "other", model="x", model_identity={"name": "x"}
    )
    made = compare([*runs, other], metrics=["accuracy"])
    found = [one for one in made.findings.findings if one.name == "accuracy_difference"]
    assert [one.params.get("unit") for one in found] == [None, "seed", "seed"]
    p = sorted(one.p_value for one in found)
    assert min(one.p_adjusted for one in found) == pytest.approx(3 * p[0])


def grouped(folders, **options):
    read = called_apart([ComparedRun.read(folder) for folder in folders])
    return [one.places for one in in_groups(read, folders, {}, **options)]


def test_tags_tell_seeds_of_models_whose_addresses_differ_in_it_only(audits, tmp_path):
    def tagged(name, model, seed):
        return changed(
            audits["plain-s0"], tmp_path / name, model=model, tags={"seed": str(seed)},
            model_identity={"name": model, "sha256 of network": name},
        )  # fmt: skip

    folders = [
        tagged("a", "onnx:small-s1.onnx", 1), tagged("b", "onnx:small-s2.onnx", 2),
        tagged("c", "onnx:large-s1.onnx", 1), tagged("d", "onnx:large-s2.onnx", 2),
        tagged("e", "onnx:v2-s2.onnx", 2), tagged("f", "onnx:v2-s3.onnx", 3),
    ]  # fmt: skip
    assert grouped(folders) == [(0, 1), (2, 3), (4, 5)]
    assert grouped(folders, by_seed=False) == [(place,) for place in range(6)]


def test_a_seed_is_not_read_from_hashes_and_whole_numbers(audits, tmp_path):
    digest = "e3b0c4f298fc1c14aafbf4c8996fb924b27ae41e464ba493"  # single 0, 1 and 2 stand in it
    identity = {"version in eye.py": digest, "made": f"by {digest}", "layers": "1"}
    folders = [
        changed(
            audits["plain-s0"], tmp_path / f"run{seed}", model="eye.py:Eye", tags={"seed": str(seed)},
            model_identity=identity,
        )
        for seed in range(SEEDS)
    ]  # fmt: skip
    assert grouped(folders) == [(0, 1, 2)]


def test_other_recipes_seeds_given_twice_and_unlike_runs_stay_apart(audits, tmp_path):
    def probe(name, seed, **update):
        told = adapted("plain", seed)
        told["model_identity"] |= update.pop("identity", {})
        return changed(audits["plain-s0"], tmp_path / name, **told, **update)

    a, b = probe("a", 0), probe("b", 1)
    assert grouped([a, b]) == [(0, 1)]
    assert grouped([a, probe("c", 1, parameters={"k": 2})]) == [(0,), (1,)]
    assert grouped([a, probe("d", 1, identity={"adaptation recipe": "{}"})]) == [(0,), (1,)]
    assert grouped([a, probe("e", 1, identity={"extractor sha256 of weights": "other"})]) == [(0,), (1,)]
    twice = compare([a, b, probe("f", 1)], metrics=["accuracy"])
    assert len(twice.findings.findings) == 3
    assert any("a seed stands twice" in warning for warning in twice.manifest["warnings"])
    tuned = {"adaptation": "fine_tuning"}
    both = [
        probe("g", 0, identity=tuned),
        probe("h", 1, identity={**tuned, "extractor sha256 of weights": "w"}),
    ]
    assert grouped(both) == [(0, 1)]


def test_seeds_that_chose_samples_are_one_with_samples_of_their_own(audits, tmp_path):
    same = {"kind": "run", "benchmark": "x", "model": "m", "model_identity": {"name": "m"}}
    folders = [
        changed(audits[f"plain-s{seed}"], tmp_path / str(seed), **same, seed=seed, samples=f"digest {seed}")
        for seed in range(SEEDS)
    ]
    assert grouped(folders) == [(0, 1, 2)]
    made = compare(folders, metrics=["accuracy"])
    assert "each seed has samples of its own" in " ".join(made.manifest["warnings"])
    assert made.manifest["ranked_on"].startswith("not paired")
    alike = [changed(one, tmp_path / f"{one.name} again", samples="one digest") for one in folders]
    assert grouped(alike) == [(0,), (1,), (2,)]


def test_intervals_end_where_a_measure_ends(audits):
    given = {"unlike": [audits["plain-s0"], audits["better-s2"]]}
    made = compare([audits["plain-s1"]], metrics=["accuracy", "accuracy_gap"], groups=given)
    for name in ("accuracy", "accuracy_gap"):
        spread = made.finding(f"{name}_seed_spread")
        assert 0 <= spread.details["mean_low"] < spread.details["mean"] < spread.details["mean_high"] <= 1
        assert spread.value < spread.interval.high <= 0.5
        difference = made.finding(f"{name}_difference").interval
        assert -1 <= difference.low < difference.high <= 1
    row = made.tables["ranking"].filter(pl.col("metric") == "accuracy", pl.col("model") == "unlike")
    assert row["high"].to_list() == [1.0]


def test_equal_seeds_have_no_test(audits, tmp_path):
    given = {
        "one": [audits["plain-s0"], changed(audits["plain-s0"], tmp_path / "a")],
        "two": [changed(audits["plain-s0"], tmp_path / "b"), changed(audits["plain-s0"], tmp_path / "c")],
    }
    made = compare([], metrics=["accuracy"], groups=given)
    found = made.finding("accuracy_difference")
    assert (found.value, found.p_value, found.interval) == (0, None, None)
    assert found.notes == [NO_SPREAD]
    assert made.finding("accuracy_seed_spread").value == 0
    assert made.finding("accuracy_seed_spread").interval is None


def test_a_seed_without_a_value_leaves_the_recipe_without(audits, tmp_path):
    frame = answers()
    frame.with_columns(right="label").write_csv(tmp_path / "right.csv")
    right = audited(tmp_path, tmp_path / "right.csv", "right")
    given = {"some": [audits["plain-s0"], right]}
    made = compare([audits["better-s0"]], metrics=["cramers_v_mean"], groups=given)
    spread, difference = made.findings.findings
    assert spread.value is None
    assert spread.reason == "no value for seed 2 of some"
    assert difference.value is difference.p_value is None
    assert difference.reason == "no value for seed 2 of some"


def test_findings_of_other_runs_have_a_spread_too(probes, tmp_path):
    folders = [without_counts(folder, tmp_path / name) for name, folder in probes.items()]
    made = compare(folders, metrics=["accuracy"])
    found = made.finding("accuracy_difference")
    told = stats.ttest_rel(accuracies("plain"), accuracies("better"))
    assert found.p_value == pytest.approx(told.pvalue)
    assert found.params["unit"] == "seed"
    assert "samples taken as given" in found.interval.method
    assert made.finding("accuracy_seed_spread", model=BETTER).value == pytest.approx(
        accuracies("better").std(ddof=1)
    )
    assert made.tables["values"]["model"].to_list() == [PLAIN, BETTER]
    assert any("hold for these samples" in warning for warning in made.manifest["warnings"])


def test_mistakes_in_groups_teach(audits):
    folders = list(audits.values())
    with pytest.raises(ParameterError, match="two or more run folders"):
        parse_groups(["a=one"])
    with pytest.raises(ParameterError, match="given twice"):
        parse_groups(["a=one,two", "a=three,four"])
    assert parse_groups(["a = one, two"]) == {"a": ["one", "two"]}
    with pytest.raises(ParameterError, match="stands in two groups"):
        compare([], groups={"a": folders[:2], "b": folders[1:3]})
    with pytest.raises(ParameterError, match=r"two models would be called 'plain-s0 of t\.csv'"):
        compare([folders[0]], groups={"plain-s0 of t.csv": folders[1:3]})
    with pytest.raises(UnknownName, match="run to compare with"):
        compare([], groups={"a": folders[:2], "b": folders[2:4]}, reference="c")


def test_the_manifest_is_json(comparison):
    assert json.loads((comparison[1] / "manifest.json").read_text())["models"] == [PLAIN, BETTER]
