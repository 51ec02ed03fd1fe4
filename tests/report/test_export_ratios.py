"""Impact ratios are those of the rules of Local Law 144: who may be the reference, and when there is none."""

import json
import re

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.report.exports.ll144 import ll144_json, ll144_markdown
from evenhand.workflows.outputs.export import export
from evenhand.workflows.outputs.impact_ratios import COLUMNS, impact_ratios
from tests.report.export_samples import samples

HIRES = [
    ("female", "a", 40, 100),
    ("male", "a", 60, 100),
    ("female", "b", 10, 50),
    ("male", "b", 25, 50),
    ("male", "c", 1, 2),
]


@pytest.fixture
def counts():
    rows = [
        (sex, race, "hire" if place < hired else "no") for sex, race, hired, n in HIRES for place in range(n)
    ]
    rows += [(None, "a", "hire"), ("female", None, "no"), ("male", "a", None)]
    frame = pl.DataFrame(rows, schema=["sex", "race", "said"], orient="row").with_columns(
        truth=pl.lit("hire")
    )
    return Predictions.from_frame(frame, truth="truth", prediction="said").count(["sex", "race"])


def ratios(counts, **given):
    settings = {"selected": "hire", "sex": "sex", "race": "race", **given}
    made, notes = impact_ratios([(samples()["usual"], counts)], settings)
    return made.drop_nulls("category"), notes


def test_impact_ratios_by_sex_race_and_both(counts):
    table, notes = ratios(counts, crossed="yes")
    assert table.columns == list(COLUMNS)
    value = {(row["by"], row["category"]): row for row in table.to_dicts()}
    female, male = 50 / 151, 86 / 152
    assert value["sex", "female"]["n"] == 151
    assert value["sex", "female"]["impact_ratio"] == pytest.approx(female / male)
    assert value["sex", "male"]["impact_ratio"] == 1
    assert value["race", "b"]["impact_ratio"] == pytest.approx((35 / 100) / (101 / 201))
    assert value["sex x race", "female x b"]["impact_ratio"] == pytest.approx(0.2 / 0.6)
    assert value["sex x race", "female x b"]["sex"] == "female"
    assert "Evidence, not a conformity decision." in notes[0]
    assert "usual: by sex, 1 row of unknown category is in no rate" in notes
    assert "usual: by sex x race, 2 rows of unknown category are in no rate" in notes
    assert "usual: by race, 1 row without a prediction is in no rate" in notes


def test_the_table_itself_holds_what_is_in_no_rate_and_the_median(counts):
    given = {"selected": "hire", "sex": "sex", "race": "race", "crossed": "yes"}
    made, _ = impact_ratios([(samples()["usual"], counts)], given)
    rest = made.filter(pl.col("category").is_null())
    assert rest.select("by", "n", "reason").rows() == [
        ("sex", 1, "unknown category: in no rate"), ("sex", 1, "no prediction: in no rate"),
        ("race", 1, "unknown category: in no rate"), ("race", 1, "no prediction: in no rate"),
        ("sex x race", 2, "unknown category: in no rate"), ("sex x race", 1, "no prediction: in no rate"),
    ]  # fmt: skip
    assert rest.select("selected", "selection_rate", "impact_ratio", "share").null_count().row(0) == (6,) * 4
    assert not rest.select(
        pl.any_horizontal("reference", "left_out", "few_rows", "below_two_percent").any()
    ).item()
    sums = made.group_by("by").agg(pl.col("n").sum())
    assert set(sums["n"]) == {counts.n_total}
    assert made["median"].null_count() == made.height
    text = ll144_markdown(*impact_ratios([(samples()["usual"], counts)], given)).decode("utf-8")
    assert "| – | 2 | – | – | – | – | unknown category: in no rate |" in text


def test_intervals_of_rates_are_wilsons(counts):
    from scipy.stats import binomtest

    table, _ = ratios(counts)
    for row in table.to_dicts():
        known = binomtest(row["selected"], row["n"]).proportion_ci(0.95, "wilson")
        assert (row["rate_low"], row["rate_high"]) == pytest.approx((known.low, known.high))


def test_small_categories_are_said_and_counted_whether_left_out_or_not(counts):
    kept, notes = ratios(counts)
    small = kept.filter(pl.col("category") == "c").row(0, named=True)
    assert small["below_two_percent"]
    assert small["impact_ratio"] == pytest.approx(0.5 / (101 / 201))
    assert not small["left_out"]
    assert small["few_rows"]
    assert "usual: by race, 1 category has fewer than 30 rows: its ratio rests on few" in notes
    out, notes = ratios(counts, leave_out_below="0.02")
    small = out.filter(pl.col("category") == "c").row(0, named=True)
    assert small["impact_ratio"] is None
    assert small["reason"] == "left out: below the share given"
    assert small["selection_rate"] == 0.5
    assert "usual: by race, 1 category with 2 rows is left out of the ratios" in notes
    assert "usual: by sex, 0 categories with 0 rows are left out of the ratios" in notes


def test_no_selection_is_undefined_and_not_zero():
    sexes, said = ["f", "m", "m", None], ["no", "no", "no", "hire"]
    frame = pl.DataFrame({"sex": sexes, "said": said, "truth": ["no", "no", "no", "hire"]})
    counts = Predictions.from_frame(frame, truth="truth", prediction="said").count(["sex"])
    table, _ = impact_ratios([(samples()["usual"], counts)], {"selected": "hire", "sex": "sex"})
    table = table.drop_nulls("category")
    assert table["selection_rate"].to_list() == [0, 0]
    assert table["impact_ratio"].to_list() == [None, None]
    assert set(table["reason"]) == {"no one selected"}
    assert not table["reference"].any()
    table, _ = impact_ratios([(samples()["usual"], counts)], {"selected": "no", "sex": "sex"})
    table = table.drop_nulls("category")
    assert table["impact_ratio"].to_list() == [1, 1]
    assert table["reference"].to_list() == [True, True]


def counted(rows, truth="said"):
    frame = pl.DataFrame(rows, schema=["sex", "said"], orient="row").with_columns(truth=truth)
    return Predictions.from_frame(frame, truth="truth", prediction="said").count(["sex"])


def by_sex(rows, truth="said", **given):
    made, notes = impact_ratios([(samples()["usual"], counted(rows, truth))], {"sex": "sex", **given})
    return {row["category"]: row for row in made.drop_nulls("category").to_dicts()}, notes


def people(sex, selected, n):
    return [(sex, "hire" if place < selected else "no") for place in range(n)]


def test_one_person_is_no_reference():
    rows = people("f", 30, 100) + people("m", 50, 100) + people("x", 1, 1)
    made, notes = by_sex(rows, selected="hire")
    assert made["m"]["impact_ratio"] == 1
    assert made["f"]["impact_ratio"] == pytest.approx(0.6)
    assert made["x"]["selection_rate"] == 1
    assert made["x"]["impact_ratio"] == pytest.approx(2.0)
    assert [name for name, row in made.items() if row["reference"]] == ["m"]
    assert made["x"]["below_two_percent"]
    assert not any(note.endswith("less than 2% of the rows") for note in notes)
    assert "usual: by sex, ratios are to 'm': 50 of 100 rows" in notes
    assert "usual: by sex, 1 category holds less than 2% of the rows and cannot be the reference" in notes
    plain, notes = by_sex(rows, selected="hire", reference_from="0")
    assert "usual: by sex, 1 category holds less than 2% of the rows" in notes
    assert "usual: by sex, 0 categories hold less than 0% of the rows and cannot be the reference" in notes
    assert plain["x"]["reference"]
    assert plain["m"]["impact_ratio"] == pytest.approx(0.5)


def test_no_reference_is_said_where_all_categories_are_small():
    rows = people("f", 30, 100) + people("m", 50, 100)
    made, _ = by_sex(rows, selected="hire", reference_from="0.6")
    assert {row["reason"] for row in made.values()} == {"no category holds 60% of the rows"}
    rows = people("f", 0, 100) + people("m", 0, 100) + people("x", 1, 1)
    made, _ = by_sex(rows, selected="hire")
    assert made["x"]["impact_ratio"] is None
    assert made["x"]["reason"] == "no one selected in a category that may be the reference"


def test_a_label_that_is_only_true_selects_no_one():
    made, notes = by_sex(people("f", 0, 40) + people("m", 0, 40), pl.lit("hire"), selected="hire")
    assert [row["selection_rate"] for row in made.values()] == [0, 0]
    assert {row["reason"] for row in made.values()} == {"no one selected"}
    assert "usual: no row has the prediction 'hire': no one selected" in notes


def test_scoring_rates_are_of_scores_above_the_median_of_all():
    scores = {"f": [2, 4, 6, 8], "m": [6, 10, 13, 14], None: [200]}
    rows = [(sex, score) for sex, given in scores.items() for score in given]
    made, notes = by_sex(rows, scores="yes")
    assert "usual: the median of 9 scores is 8; rates are of scores above it" in notes
    assert made["f"]["selection_rate"] == 0
    assert made["m"]["selection_rate"] == 0.75
    assert made["m"]["form"] == "scoring rate"
    assert made["f"]["impact_ratio"] == 0
    assert made["f"]["median"] == 8
    texts = [(sex, str(score / 2)) for sex, score in [*rows, ("f", 10)]]
    even, notes = by_sex(texts, scores="yes")
    assert "usual: the median of 10 scores is 4.5; rates are of scores above it" in notes
    assert even["f"]["impact_ratio"] == pytest.approx(0.2 / 0.75)
    made = impact_ratios([(samples()["usual"], counted(rows))], {"sex": "sex", "scores": "yes"})
    assert b"| Above the median | Scoring rate |" in ll144_markdown(*made)
    with pytest.raises(ParameterError, match="numbers, not 'no'"):
        by_sex(people("f", 0, 4), scores="yes")


@pytest.mark.parametrize(
    ("given", "error", "says"),
    [
        ({"selected": ""}, ParameterError, "-p selected=LABEL"),
        ({"sex": "gender"}, UnknownName, "sex"),
        ({"selected": "hired"}, UnknownName, "did you mean 'hire'"),
        (
            {"selected": "HIRE"},
            UnknownName,
            "no predicted label 'HIRE'; possible: 'hire', 'no'; where no one",
        ),
        ({"selected": "selected"}, UnknownName, "no predicted label 'selected'"),
        ({"race": "sex", "crossed": "yes"}, ParameterError, "sex and race both name 'sex'"),
        ({"race": "sex"}, ParameterError, "give each a column of its own"),
        ({"leave_out_below": "0.5"}, ParameterError, "0.02, the rules' limit"),
        ({"reference_from": "2"}, ParameterError, "give 0 to 1"),
        ({"scores": "yes"}, ParameterError, "-p selected=LABEL (or -p scores=yes)"),
        ({"scores": "true"}, ParameterError, "yes or no"),
        ({"crossed": "maybe"}, ParameterError, "yes or no"),
        ({"race": "", "crossed": "yes"}, ParameterError, "needs both"),
        ({"colour": "x"}, UnknownName, "colour"),
    ],
)
def test_what_cannot_be_asked(counts, given, error, says):
    with pytest.raises(error, match=re.escape(says)):
        ratios(counts, **given)


def test_ratios_as_json_and_markdown(counts):
    table, notes = ratios(counts, leave_out_below="0.02")
    made = json.loads(ll144_json(table, notes))
    assert made["notes"] == notes
    assert [row["impact_ratio"] for row in made["rows"]] == table["impact_ratio"].to_list()
    assert [row["n"] for row in made["rows"]] == table["n"].to_list()
    text = ll144_markdown(table, notes).decode("utf-8")
    assert "the reference" in text
    assert text.count("\n| ") == table.height + 2  # and a heading for each kind
    assert "left out: below the share given" in text


def test_fractional_scores_of_a_parquet_table_are_read_as_text(tmp_path):
    scores = {"f": [0.25, 0.5, 0.75], "m": [0.125, 1.5, 2.5]}  # as docs/exports.md says
    rows = [(sex, score, "0") for sex, given in scores.items() for score in given]
    frame = pl.DataFrame(rows, schema=["sex", "score", "truth"], orient="row")
    frame.with_columns(pl.col("score").cast(pl.String)).write_parquet(tmp_path / "scores.parquet")
    table = Predictions.read(str(tmp_path / "scores.parquet"), truth="truth", prediction="score")
    run = eh.audit(table, by="sex").save(tmp_path / "run")
    made = export(
        [run], format="ll144", out=str(tmp_path / "r.csv"), parameters={"scores": "yes", "sex": "sex"}
    )
    rates = pl.read_csv(made.content).drop_nulls("category")
    assert rates["median"].to_list() == [0.625, 0.625]
    assert rates["selection_rate"].to_list() == pytest.approx([1 / 3, 2 / 3])
    frame.write_csv(tmp_path / "scores.csv")
    with pytest.raises(InputError, match="turn scores into labels first"):
        eh.audit(Predictions.read(str(tmp_path / "scores.csv"), truth="truth", prediction="score"), by="sex")
