"""An audit of a number that each row has: findings, run folder, page, gates and the command line."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import app
from evenhand.core.errors import GateBroken, InputError, ParameterError, UnknownName
from evenhand.metrics.numbers.binding import number_metric
from evenhand.metrics.numbers.estimation import NumberMeans, gap_finding
from evenhand.runs.gates import check_gates
from tests.properties.metric_table import check_finding

pytestmark = pytest.mark.usefixtures("few_draws")
TOLD = {"value": "error", "better": "low", "by": "age", "cluster": "person", "unit": "years"}


def table(seed=0, worse=3.0):
    """Four photos of each of 60 persons; ages of the older ones are guessed worse."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(60), 4)
    age = np.array(["18-39", "40-59", "60+"])[person % 3]
    error = rng.lognormal(0.5, 0.5, 60)[person] + rng.lognormal(0, 0.5, 240) + worse * (age == "60+")
    return pl.DataFrame(
        {"error": error, "age": age, "sex": np.array(["f", "m"])[person % 2], "person": person}
    )


def cli(*words):
    """What a command gives."""
    return CliRunner().invoke(app, list(words))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Written and read again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("evenhand.stats.exchange.rows._MOST", 999)
        folder = tmp_path_factory.mktemp("numbers") / "run"
        eh.audit(table(), **TOLD, out=folder)
    return eh.Run.read(folder)


def test_the_worst_group_is_found_and_the_omnibus_decides(run):
    for finding in run.findings.findings:
        check_finding(finding)
    contrast, gap = run["mean_contrast"], run["mean_gap"]
    assert (contrast.role, gap.role) == ("primary", "secondary")
    assert contrast.p_adjusted < 0.05
    assert ([part.key for part in contrast.parts], contrast.details["side"]) == (["60+"], "worse")
    assert gap.details["worst"] == "60+"
    assert gap.details["unit"] == "years"
    assert gap.value == pytest.approx(2, abs=0.5)
    units = [part.details["units"] for part in run["mean"].parts]
    assert units == [20, 20, 20]


def test_the_headline_has_both_means_in_their_unit(run):
    title, rows = run.overview.title, table()
    older = rows.filter(rows["age"] == "60+")["error"].mean()
    others = rows.filter(rows["age"] != "60+")["error"].mean()
    contrast = run["mean_contrast"]
    assert (contrast.details["set_mean"], contrast.details["others_mean"]) == pytest.approx((older, others))
    assert title.startswith(
        f"60+: error is {older:.3f} years on average over 80 rows; elsewhere {others:.3f}"
    )
    part = next(part for part in run["mean"].parts if part.key == "60+")
    median, far = part.details["median"], part.details["q90"]
    assert run.overview.lead == (
        f"{title} Half of them lie above {median:.3f} years, one in ten above {far:.3f} years."
    )
    assert run.overview.headlines[0].size.startswith(
        f"Mean, groups furthest apart: {contrast.value:.3f} years ("
    )
    assert "240 of 240 rows of 60 persons" in run.overview.kicker
    fair = eh.audit(table(worse=0.0), **TOLD)
    assert "on average" not in fair.overview.title
    assert fair.overview.lead.count("years") == 1
    assert "on average over" in fair.overview.headlines[0].text


def test_the_chart_has_the_mean_of_each_group_and_fills_what_differs(run):
    chart, means = run.overview.headlines[0].chart, run["mean"].parts
    assert chart.title == "error in years, mean by age"
    assert [(mark.label, mark.value, mark.text) for mark in chart.marks] == [
        (part.key, part.value, "80 rows") for part in means
    ]
    assert [mark.label for mark in chart.marks if mark.beyond] == ["60+"]
    fair = eh.audit(table(worse=0.0), **TOLD).overview.headlines[0].chart
    assert not any(mark.beyond for mark in fair.marks)


@pytest.mark.parametrize("better", ["low", "high"])
def test_of_two_groups_the_worse_is_named(better):
    pair = table().filter(pl.col("age") != table()["age"][0])
    run = eh.audit(pair, **{**TOLD, "better": better})
    order = pair.group_by("age").agg(pl.col("error").mean()).sort("error")["age"].to_list()
    assert [part.key for part in run["mean_contrast"].parts] == [order[-1 if better == "low" else 0]]
    assert run["mean_contrast"].details["side"] == "worse"


def test_equal_rows_give_equal_runs_whatever_their_order(run):
    again = eh.audit(table().sample(fraction=1, shuffle=True, seed=3), **TOLD)
    assert again.findings.dump() == run.findings.dump()
    other = eh.audit(table(seed=1), **TOLD)
    assert other.manifest["manifest_id"] != run.manifest["manifest_id"]


def test_the_page_shows_it_and_hides_small_groups(run):
    page = run.html()
    assert "Mean, groups furthest apart" in page
    assert "240 rows" in page
    small = eh.audit(pl.concat([table(), table()[:4].with_columns(age=pl.lit("90+"))]), **TOLD)
    part = next(part for part in small["mean"].parts if part.key == "90+")
    hidden = small.html(suppress=20)
    assert f"{part.details['median']:.3f}" not in hidden
    assert f"{part.value:.3f}" not in hidden


def test_a_fair_model_and_several_groupings_are_corrected_together():
    fair = eh.audit(table(worse=0.0), **{**TOLD, "by": ["age", "sex", "age+sex"]})
    names = [(finding.name, "+".join(finding.by)) for finding in fair.findings.findings]
    assert names.count(("mean_contrast", "age+sex")) == 1
    assert len(names) == 18
    primary = [finding for finding in fair.findings.findings if finding.role == "primary"]
    assert [finding.adjustment for finding in primary] == ["holm"] * 3
    assert min(finding.p_adjusted for finding in primary) > 0.05


def test_the_command_line_gives_the_same_and_gates_decide(run, tmp_path):
    path = tmp_path / "ages.csv"
    table().write_csv(path)
    told = ["audit", str(path), "--value", "error", "--better", "low", "--by", "age", "--cluster", "person"]
    out = tmp_path / "run"
    done = cli(*told, "--unit", "years", "-o", str(out))
    assert done.exit_code == 0, done.output
    assert "Mean, groups furthest apart" in done.output
    read = eh.Run.read(out)
    assert read["mean_gap"].value == pytest.approx(run["mean_gap"].value)
    assert cli(*told, "--fail-if", "mean_gap>1").exit_code == 1
    assert cli(*told, "--fail-if", "mean_gap>5").exit_code == 0
    assert "give two numbers: --range 0,1" in str(cli(*told, "--range", "0").exception)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"better": None}, ParameterError, "say which 'error' is good: better='high'"),
        ({"better": "more"}, ParameterError, "choose one of 'high', 'low'"),
        ({"value": "errors"}, UnknownName, "did you mean 'error'"),
        ({"by": "ages"}, UnknownName, "did you mean 'age'"),
        ({"truth": "age"}, ParameterError, "truth and value= do not go together"),
        ({"search": ["age"]}, ParameterError, "search and value= do not go together"),
        ({"alpha": 2}, ParameterError, "alpha=2 is not possible"),
        ({"by": "one"}, InputError, "'one' has 1 groups among usable rows"),
        ({"range": (0, 1)}, InputError, "outside 0 to 1"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(options, error, message):
    with pytest.raises(error, match=message):
        eh.audit(table().with_columns(one=pl.lit("a")), **{**TOLD, **options})


def test_a_table_without_a_number_is_refused():
    with pytest.raises(InputError, match="no usable row of 'error': 240 with missing value"):
        eh.audit(table().with_columns(error=pl.lit(None, pl.Float64)), **TOLD)


@number_metric(
    title="Far misses, gap", summary="share of errors of more than 4 in the worst group less that of all",
    formula="max over groups z of P(error > 4 | z) - P(error > 4)", range=(0, 1), fair_at=0.0,
    direction="lower is fairer", source="a package of the user's", unit="share difference",
    family="numbers", tested_by="mean_contrast", compared="gap",
)  # fmt: skip
def far_misses_gap(evidence, *, by, inference="auto", seed=0):
    """Errors beyond 4 years, by group."""
    question = NumberMeans.make("far_misses_gap", evidence.beyond(4.0), by, "low", inference, seed)
    return gap_finding(question)


def test_a_metric_of_a_users_package_gets_all_that_ours_have(tmp_path):
    out = tmp_path / "run"
    run = eh.audit(table(), **TOLD, metrics=["mean_contrast", far_misses_gap], out=out)
    far = table().with_columns(far=(pl.col("error") > 4).cast(pl.Float64))
    value = far.group_by("age").agg(pl.col("far").mean())["far"].max() - far["far"].mean()
    finding = run["far_misses_gap"]
    assert finding.value == pytest.approx(value)
    assert finding.interval.low <= value <= finding.interval.high
    assert (finding.details["worst"], finding.role) == ("60+", "secondary")
    assert finding.p_value < 0.05
    assert [line.name for line in run.findings.findings] == ["mean_contrast", "far_misses_gap"]
    read = eh.Run.read(out)
    assert read["far_misses_gap"].card.summary.startswith("share of errors")
    assert "Far misses, gap" in read.html()
    assert "far_misses_gap" in read.findings.to_frame()["name"].to_list()
    with pytest.raises(GateBroken, match="far_misses_gap"):
        check_gates(read.findings.findings, ["far_misses_gap>0.05"], read.manifest)
    with pytest.raises(UnknownName, match="mean_gap"):
        eh.audit(table(), **TOLD, metrics="mean_gab")
    with pytest.raises(InputError, match="Numbers"):
        eh.audit(table(), **TOLD, metrics="accuracy")


def test_a_metric_of_a_users_package_is_compared_by_the_number_that_it_makes(tmp_path):
    """The number that it makes of each sample is kept with the run."""
    rows, better = (table(worse=worse).with_row_index("id") for worse in (3.0, 1.0))
    for name, each in (("a", rows), ("b", better)):
        eh.audit(each, **TOLD, id="id", metrics=["mean_gap", far_misses_gap], out=tmp_path / name)
    kept = eh.Run.read(tmp_path / "a").tables["outcomes"]
    assert dict(kept.group_by("outcome").agg(pl.len()).iter_rows()) == {"error": 240, "error>4": 240}
    run = eh.compare([tmp_path / "a", tmp_path / "b"])
    found = run.finding("far_misses_gap_difference")
    check_finding(found)
    values = [eh.Run.read(tmp_path / name)["far_misses_gap"].value for name in ("a", "b")]
    assert found.value == pytest.approx(values[1] - values[0])
    assert found.value < 0
    assert found.interval.high < 0
    assert found.p_value < 0.05
    assert run.finding("mean_gap_difference").value != found.value
    assert run.tables["untested"].is_empty()
