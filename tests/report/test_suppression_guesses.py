"""A guess at hidden counts cannot be checked: all tables that fit what is shown give the same bytes."""

from __future__ import annotations

import json
import re
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.significance import is_beyond
from evenhand.workflows.outputs.export import FORMATS, export
from tests.report import test_suppression_attacks, test_suppression_swaps
from tests.report.suppression_guess import COLUMNS, WHEN, Guesses, audited, drawn, pattern, shared, shown_of

FEWEST = 10
GATES = ("accuracy_gap > 0.01", "worst_class_group_accuracy < 0.9", "accuracy_contrast.p < 0.05")
SHARED = ("json", "csv", "markdown", "every-eval-ever", "junit", "sarif", "controls", "html")


def frames(run):
    """The numbers that a page holds for its scripts."""
    data = re.search(r'id="run-data">(.*?)</script>', shared(run, "html", FEWEST), re.DOTALL)[1]
    return list(json.loads(data)["frames"].values())


DESIGNS = {
    "one grouping": (1, {"by": ["group"]}),
    "a false discovery rate": (1, {"by": ["group"], "adjustment": "bh", "alpha": 0.1}),
    "a crossed grouping": (0, {"by": ["group", ("group", "skin")]}),
}


def test_every_format_is_attacked():
    """A new one has to be; those that are no text are attacked among the swaps."""
    attacked = {*test_suppression_attacks.TEXTS, *test_suppression_swaps.TEXTS, "parquet", "mlflow", "wandb"}
    assert attacked - {"html"} == set(FORMATS) - {"ll144"}, "ll144 refuses to hide"


@pytest.mark.parametrize("design", DESIGNS)
def test_tables_that_fit_what_is_shown_give_the_same_bytes(design):
    seed, settings = DESIGNS[design]
    table = drawn(seed)
    run = audited(table, **settings)
    attributes = ["group"] if settings["by"] == ["group"] else ["group", "skin"]
    guesses = Guesses(table, run, attributes, FEWEST)
    gates = [gate for gate in GATES if ".p" not in gate]
    before = {format: shared(run, format, FEWEST, gates) for format in SHARED}
    alike = 0
    for draw in range(4):
        other = guesses.other(draw)
        again = None if other is None else audited(other, **settings)
        if again is None or pattern(shown_of(again, FEWEST)) != pattern(guesses.shown):
            continue
        alike += 1
        assert shared(again, "json", 0) != shared(run, "json", 0)
        for format in SHARED if alike == 1 else SHARED[:1]:
            assert shared(again, format, FEWEST, gates) == before[format], format
    assert alike, "no other table was tried"
    assert "suppressed" in before["json"]


def test_a_corrected_p_does_not_tell_that_of_a_hidden_test():
    """Holm's is that of another test, and its level says how many have a smaller p."""
    run = audited(drawn(0), by=["group"])
    whole = {each.name: each for each in run.findings.findings}
    shown = {each.name: each for each in shown_of(run, FEWEST).findings.findings}
    assert shown["disparities"].p_value is None
    for name, share in (("accuracy_contrast", 1.0), ("accuracy_gap", None)):
        old, new = whole[name], shown[name]
        assert old.adjustment == "holm"
        assert (new.adjustment, new.interval.level) == ("bonferroni", 0.95)
        assert not {"low_95", "high_95"} & set(new.details)
        if share is not None:
            assert new.p_adjusted == pytest.approx(min(1.0, old.p_value * (2 + 2 / 9)))
        assert new.p_adjusted >= old.p_value
    assert shown["accuracy_gap"].p_adjusted == max(
        whole["accuracy_gap"].p_value, shown["accuracy_contrast"].p_adjusted
    )
    alone = shown_of(run, 1)
    assert alone.findings.findings == run.findings.findings, "where nothing is hidden, Holm stays"


def test_a_verdict_stays_where_the_number_of_tests_alone_does_not_undo_it():
    table = drawn(0)
    flipped = pl.when((pl.col("group") == "m") & (pl.int_range(pl.len()) % 2 == 0)).then(pl.lit("cat"))
    run = audited(table.with_columns(prediction=flipped.otherwise("prediction")), by=["group"])
    (contrast,) = [
        each for each in shown_of(run, FEWEST).findings.findings if each.name == "accuracy_contrast"
    ]
    assert contrast.adjustment == "bonferroni"
    assert is_beyond(contrast)


def test_which_cell_is_the_worst_is_hidden_with_its_value():
    run = audited(drawn(0), by=["group"])
    (worst,) = [each for each in shown_of(run, FEWEST).findings.findings if "worst_class" in each.name]
    assert (worst.reason, worst.parts, worst.groups != []) == ("suppressed", [], True)


def test_a_cell_of_two_rows_is_small_whatever_they_weigh():
    rows = [("cat", "cat", "f", 1.0)] * 100 + [("cat", "dog", "f", 50.0), ("cat", "dog", "f", 30.5)]
    rows += [("cat", "cat", "m", 1.0)] * 60 + [("cat", "dog", "m", 1.0)] * 40
    rows += [
        ("dog", said, group, 1.0)
        for group in "fm"
        for said, n in (("dog", 66), ("cat", 34))
        for _ in range(n)
    ]
    table = pl.DataFrame(rows, schema=["truth", "prediction", "group", "weight"], orient="row")
    run = audited(table, by="group", weight="weight")
    assert 80.5 in run.counts["predictions"].table()["n"].to_list()
    (cells,) = shown_of(run, FEWEST).evidence.values()
    hidden = {(row["truth"], row["group"], row["prediction"]) for row in cells.to_dicts() if row["n"] < 0}
    assert {("cat", "f", "dog"), ("cat", "f", "cat")} <= hidden
    shown = {each.name: each for each in shown_of(run, FEWEST).findings.findings}
    assert shown["worst_class_group_accuracy"].reason == shown["cramers_v_pooled"].reason == "suppressed"
    assert not [each for each in frames(run) if 80.5 in each["columns"].get("n", ())]


def test_groupings_of_weighted_rows_subtract_to_no_small_count_either():
    table = test_suppression_attacks.lacking(32, 4)
    weight = np.random.default_rng(0).uniform(0.5, 2, table.height)
    by = ["race", ("gender", "race"), "gender"]
    run = audited(table.with_columns(weight=weight), by=by, weight="weight")
    used = {
        each.grouping: each for each in shown_of(run, FEWEST).findings.findings if each.name == "accuracy"
    }
    lost = [each.count for each in used["race"].dropped if each.reason == "missing race"]
    numbers = [*lost, *(used[grouping].n for grouping in ("gender", "gender+race"))]
    assert any(number < 0 for number in numbers) or not lost


def compared(folder, tables, **more):
    """A comparison of audits of tables, as if made at one moment."""
    folders = []
    for index, table in enumerate(tables):
        (folder / "tables").mkdir(parents=True, exist_ok=True)
        table.write_csv(folder / "tables" / f"{index}.csv")
        source = str(folder / "tables" / f"{index}.csv")
        folders.append(folder / f"run-{index}")
        eh.audit(source, **COLUMNS, by="group", id="id", inference="none", out=folders[-1])
    dates = {each: f"2026-0{index + 1}-01" for index, each in enumerate(folders)} if more else None
    run = eh.compare(folders, dates=dates, **more)
    run.manifest["created"] = WHEN
    return run


def answered(seed, flips):
    """500 rows, 18 of them of a third group, and another model that changes a share of the answers."""
    random, n = np.random.default_rng(seed), 500
    truth = random.choice(["cat", "dog"], n)
    first = np.where(random.random(n) < 0.75, truth, random.choice(["cat", "dog"], n))
    second = np.where(random.random(n) < flips, random.choice(["cat", "dog"], n), first)
    plain = {
        "id": [f"k{index}" for index in range(n)],
        "truth": truth,
        "group": ["f"] * 250 + ["m"] * 232 + ["x"] * 18,
    }
    return [pl.DataFrame({**plain, "prediction": said}) for said in (first, second)]


def other_flips(first, second):
    """One flip more each way in the small group and one less in a large one; as many right in each class."""
    both = first.select("id", "truth", "group", a="prediction", b=second["prediction"]).to_dicts()
    for truth in ("cat", "dog"):
        of = [
            (row["group"], row["a"] == truth, row["b"] == truth, row) for row in both if row["truth"] == truth
        ]
        pairs = [
            [next((row for *seen, row in of if seen == [group, *rights]), None) for rights in each]
            for group, each in (("x", ((1, 1), (0, 0))), ("f", ((0, 1), (1, 0))))
        ]
        if all(row is not None for pair in pairs for row in pair):
            for one, other in pairs:
                one["b"], other["b"] = other["b"], one["b"]
            return second.with_columns(prediction=pl.Series([row["b"] for row in both]))
    raise AssertionError("no such samples")


@pytest.mark.parametrize("flips", [0.2, 0.5])
def test_a_comparison_does_not_tell_how_many_samples_of_a_small_group_flip(flips, tmp_path):
    first, second = answered(0, flips)
    runs = [
        compared(tmp_path / name, [first, each])
        for name, each in (("a", second), ("b", other_flips(first, second)))
    ]
    assert shared(runs[0], "json", 0) != shared(runs[1], "json", 0)
    for format in ("json", "csv", "markdown", "junit", "html"):
        one, other = (shared(run, format, FEWEST) for run in runs)
        assert one == other.replace("/b/", "/a/"), format
    found = {each["name"]: each for each in json.loads(shared(runs[0], "json", FEWEST))["findings"]}
    assert found["accuracy_gap_difference"]["value"] is not None
    assert (found["accuracy_gap_difference"]["p_value"], found["accuracy_gap_difference"]["interval"]) == (
        None,
        None,
    )


def test_pairs_of_runs_over_time_do_not_subtract_to_a_few_samples(tmp_path):
    """500 samples in the first pair, 497 in the second: 3 are missing, and of a group 250 - 248 = 2."""
    first, second = answered(0, 0.3)
    third = answered(1, 0.3)[1].filter(~pl.col("id").is_in(["k3", "k7", "k300"]))
    third = third.drop("truth").join(first.select("id", "truth"), on="id")
    run = compared(tmp_path, [first, second, third], over_time=True)
    pairs = {each.model: each for each in run.findings.findings if each.name == "accuracy_difference"}
    assert [each.n for each in pairs.values()] == [500, 497]
    shown = json.loads(shared(run, "json", FEWEST))["findings"]
    sizes = {each["n"] for each in shown}
    assert not {500, 497} <= sizes
    for key in "fmx":
        groups = {group["n"] for each in shown for group in each["groups"] if group["key"] == key}
        groups = sorted(n for n in groups if n > 0)
        assert all(more - fewer >= FEWEST for fewer, more in pairwise(groups)), (
            key,
            groups,
        )
    (samples,) = (frame["columns"]["samples"] for frame in frames(run) if "samples" in frame["columns"])
    assert sorted(samples)[0] == -FEWEST
    assert not [each for each in frames(run) if {497, 500} <= set(each["columns"].get("n", ()))]


def test_why_runs_are_not_matched_names_no_sample(tmp_path):
    first, second = answered(0, 0.3)
    run = compared(tmp_path, [first, second.with_columns(id="other-" + pl.col("id"))])
    assert "other-k0" in run.html()
    assert "rows of 1.csv and 0.csv" in str(run.manifest["warnings"]) or run.manifest["warnings"]
    for format in ("json", "markdown", "html"):
        assert "k0" not in shared(run, format, FEWEST), format


def test_persons_by_which_groupings_differ_are_no_remainder():
    table = drawn(0).with_columns(person=pl.int_range(pl.len()) // 5)
    lacking = pl.when(pl.col("person").is_in([0, 1, 2])).then(None).otherwise("skin")
    run = audited(table.with_columns(skin=lacking), by=["group", "skin"], cluster="person")
    units = {each.details.get("units") for each in run.findings.findings}
    assert len(units) == 2
    for finding in shown_of(run, FEWEST).findings.findings:
        assert "units" not in finding.details


def test_runs_that_are_shared_together_are_said_to_tell_more():
    runs = [audited(drawn(0), by=by) for by in ("group", "skin")]
    (said,) = export(runs, format="csv", suppress=FEWEST).messages
    assert "in each run by itself" in said
    assert export(runs[:1], format="csv", suppress=FEWEST).messages == ()


@pytest.mark.parametrize("weights", ["rows", "equal"])
def test_what_persons_of_a_small_group_answer_changes_nothing_that_is_shown(weights):
    """Three wrong answers turned among the hidden cells: as many of each class and answer, as many wrong."""
    table = drawn(1).with_columns(person=pl.int_range(pl.len()) // 3)
    rows = table.to_dicts()
    for truth, said, other in (("cat", "dog", "owl"), ("owl", "cat", "dog"), ("dog", "owl", "cat")):
        row = next(
            row for row in rows if [row["group"], row["truth"], row["prediction"]] == ["x", truth, said]
        )
        row["prediction"] = other
    design = {"by": "group", "cluster": "person"}
    design |= {"cluster_weights": "equal"} if weights == "equal" else {}
    runs = [audited(each, **design) for each in (table, pl.DataFrame(rows, schema=table.schema))]
    assert shared(runs[0], "json", 0) != shared(runs[1], "json", 0)
    for format in ("json", "html"):
        assert shared(runs[0], format, FEWEST) == shared(runs[1], format, FEWEST), format
