"""``disparities`` and ``accuracy_decomposition`` against the vectors, and what both keep."""

import json
from collections import Counter
from math import isclose

import numpy as np
import polars as pl
import pytest

import evenhand
from evenhand import Counts, Predictions, metrics
from evenhand.core.errors import ParameterError
from evenhand.report.suppression.suppress import suppressed_findings
from tests.conftest import SHARED
from tests.helpers import wilson

FOLDER = SHARED / "vectors" / "disparities"
AXES = ("truth", "group", "prediction")


def read(name):
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"needs {path}")
    return json.loads(path.read_text(encoding="utf-8"))["cases"]


@pytest.fixture(scope="module")
def cases():
    return read("disparities.json")


def counts_of(cells, by=("group",), separator=None):
    table = pl.DataFrame(cells, schema=[*AXES, "n"], orient="row")
    if separator:
        parts = pl.col("group").str.split(separator).list.to_struct(fields=list(by))
        table = table.with_columns(parts).unnest("group")
    return Counts.from_table(table, {name: name for name in ("truth", *by, "prediction")})


def planted(seed=0, rows=100, rate=0.4, classes=3, groups=3, weight=False):
    """Wrong answers in one of ten rows; group g0 of class c0 is called c1 that much more often."""
    rng = np.random.default_rng(seed)
    truth, group = (codes.ravel() for codes in np.mgrid[:classes, :groups].repeat(rows, axis=2))
    wrong = (truth + rng.integers(1, classes, truth.size)) % classes
    prediction = np.where(rng.random(truth.size) < 0.1, wrong, truth)
    hurt = (truth == 0) & (group == 0) & (rng.random(truth.size) < rate)
    prediction = np.where(hurt, 1, prediction)
    columns = {"truth": truth, "group": group, "prediction": prediction}
    table = pl.DataFrame({name: [f"{name[0] if name == 'group' else 'c'}{k}" for k in column.tolist()]
                          for name, column in columns.items()})  # fmt: skip
    return table.with_columns(w=pl.Series(rng.uniform(0.5, 2, truth.size))) if weight else table


def evidence_of(table, **columns):
    return Predictions.from_frame(table, truth="truth", prediction="prediction", **columns)


def test_lines_are_those_of_the_vectors(cases):
    compared = 0
    for name, case in cases.items():
        evidence = counts_of(case["counts"])
        finding = metrics.disparities(evidence, by="group")
        table = metrics.disparity_lines(evidence, by="group")
        assert finding.details["status"] == case["status"], name
        assert finding.details["candidates"] == case.get("candidates", 0)
        lines = {tuple(row[key] for key in AXES): row for row in table.iter_rows(named=True)}
        assert len(lines) == table.height == len(case["lines"]) == case.get("tested", 0)
        for expected in case["lines"]:
            line = lines[tuple(expected[key] for key in AXES)]
            for key, value in expected.items():
                mine = line["listed" if key == "told" else key]
                assert mine == value or isclose(mine, value, rel_tol=0, abs_tol=1e-9), (name, key)
                assert key != "p" or isclose(mine, value, rel_tol=1e-7)
                compared += key not in AXES
        told = sorted((line for line in case["lines"] if line["told"]), key=lambda line: line["rank"])
        keys = [[text for key in AXES if (text := line[key])] for line in told]
        assert [part.key for part in finding.parts if part.kind != "share"] == keys
        undefined = case["status"] not in ("found", "none_beyond_chance", "no_mistakes")
        assert finding.value == (None if undefined else len(told))
        assert (finding.reason == case["status"]) == undefined
    assert compared > 3000


def test_parts_of_the_gap_are_those_of_the_vectors(cases):
    compared = 0
    for case in cases.values():
        finding = metrics.accuracy_decomposition(counts_of(case["counts"]), by="group")
        for expected in case["gaps"]:
            parts = {part.kind: part for part in finding.parts if part.key == expected["group"]}
            for kind in ("gap", "mix", "errors"):
                part, half = parts[kind], 1.959963984540054 * expected[f"{kind}_se"]
                assert part.value == pytest.approx(expected[kind], abs=1e-9)
                assert part.interval.high - part.value == pytest.approx(half, abs=1e-9)
                assert part.value - part.interval.low == pytest.approx(half, abs=1e-9)
                compared += 3
            assert parts["gap"].details == pytest.approx({k: expected[k] for k in ("accuracy", "rest")})
            mistakes = {(m["truth"], expected["group"], m["prediction"]): m for m in expected["mistakes"]}
            named = [
                part for part in finding.parts if part.kind == "mistake" and part.key[1] == expected["group"]
            ]
            for part in named:
                if tuple(part.key) in mistakes:  # the vectors hold the six largest
                    mistake = mistakes[tuple(part.key)]
                    assert part.value == pytest.approx(mistake["share"], abs=1e-9)
                    half = 1.959963984540054 * mistake["se"]
                    assert part.interval.high - part.value == pytest.approx(half, abs=1e-9)
                    compared += 2
            total = parts["mix"].value + sum(part.value for part in named) + parts["other mistakes"].value
            assert total == pytest.approx(expected["gap"], abs=1e-12)
    assert compared > 150


def test_crossed_groups_that_repeat_a_wider_one_say_so():
    for case in read("crossed.json").values():
        evidence = counts_of(case["counts"], ("first", "second"), case["separator"])
        table = metrics.disparity_lines(evidence, by=["first", "second"]).filter("listed")
        assert table.height == len(case["lines"])
        for line, expected in zip(table.iter_rows(named=True), case["lines"], strict=True):
            assert {key: line[key] for key in expected if key != "parents"} == {
                key: value for key, value in expected.items() if key != "parents"
            }
            repeated = [parent["values"] for parent in expected["parents"] if parent["repeats"]]
            texts = [f"{('first', 'second')[int(k)]} = {v}" for p in repeated for k, v in p.items()]
            assert line["repeats"] == bool(texts)
            assert [line["parent"]] == (texts or [None])
        finding = metrics.disparities(evidence, by=["first", "second"])
        lines = [part for part in finding.parts if part.kind != "share"]
        assert [part.details.get("repeats") for part in lines] == table["parent"].to_list()


def test_names_and_order_of_rows_change_nothing_but_names():
    table = planted(seed=2)
    lines = metrics.disparity_lines(evidence_of(table), by="group")
    shuffled = metrics.disparity_lines(
        evidence_of(table.sample(fraction=1, shuffle=True, seed=1)), by="group"
    )
    assert shuffled.equals(lines)
    renamed = table.with_columns(pl.col("group").replace({"g0": "z0"}))
    again = metrics.disparity_lines(evidence_of(renamed), by="group")
    again = again.with_columns(pl.col("group").replace({"z0": "g0"}))
    assert again.drop("sentence").sort(AXES).equals(lines.drop("sentence").sort(AXES))


def test_two_groups_are_compared_once_and_their_names_may_change_places():
    table = planted(seed=4, groups=2)
    lines = metrics.disparity_lines(evidence_of(table), by="group")
    assert lines["direction"].unique().to_list() == ["more"]
    assert not lines.select("truth", "prediction").is_duplicated().any()
    swapped = table.with_columns(pl.col("group").replace({"g0": "g1", "g1": "g0"}))
    again = metrics.disparity_lines(evidence_of(swapped), by="group").sort("truth", "prediction")
    assert again["p"].to_list() == lines.sort("truth", "prediction")["p"].to_list()


def test_never_elsewhere_has_no_ratio():
    cells = [("x", "a", "y", 12), ("x", "a", "x", 8), ("x", "b", "x", 60)]
    line = metrics.disparities(counts_of(cells), by="group").parts[0]
    assert (line.key, line.details["b"], line.details["ratio"]) == (["x", "a", "y"], 0, None)


def test_a_single_class_and_one_mistake_are_enough_words():
    few = [("x", "a", "y", 1), ("x", "a", "x", 9), ("x", "b", "x", 60)]
    assert metrics.disparities(counts_of(few), by="group").reason == "too_few_mistakes"
    few = [("x", "a", "y", 1), ("x", "a", "x", 3), ("x", "b", "x", 3)]
    assert metrics.disparities(counts_of(few), by="group").reason == "too_few_rows"


def test_rows_without_a_group_are_not_elsewhere():
    cells = [("x", "a", "y", 12), ("x", "a", "x", 8), ("x", "b", "x", 60), ("x", None, "y", 40)]
    finding = metrics.disparities(counts_of(cells), by="group")
    assert (finding.parts[0].details["m"], finding.dropped[0].count) == (60, 40)


@pytest.mark.parametrize("cluster", [None, "row"])
def test_a_group_is_not_spared_because_another_label_is_in_its_elsewhere(cluster):
    """Meru is hurt by one label; Kisumu's misses are few beside Meru, not beside Nakuru and Eldoret."""
    answers = {
        "Meru": (152, 40, 8),
        "Nakuru": (164, 14, 22),
        "Kisumu": (178, 9, 13),
        "Eldoret": (164, 14, 22),
    }
    rows = [("x", group, label) for group, counts in answers.items()
            for label, n in zip("xyz", counts, strict=True) for _ in range(n)]  # fmt: skip
    table = pl.DataFrame(rows, schema=AXES, orient="row").with_row_index("row")
    lines = metrics.disparity_lines(evidence_of(table, cluster=cluster), by="group")
    assert lines.filter("listed")["group"].unique().to_list() == ["Meru"]
    assert lines.filter("listed").row(0, named=True)["prediction"] == "y"
    kisumu = lines.filter(pl.col("prediction").is_null() & (pl.col("group") == "Kisumu"))
    assert kisumu["q"].item() <= 0.05  # beyond chance, but only beside Meru


def test_weighted_rows_have_rates_and_no_p():
    table = planted(weight=True)
    finding = metrics.disparities(evidence_of(table, weight="w"), by="group")
    assert (finding.value, finding.reason, finding.p_value, finding.parts) == (None, "weighted", None, [])
    lines = metrics.disparity_lines(evidence_of(table, weight="w"), by="group")
    assert lines["p"].null_count() == lines["q"].null_count() == lines.height > 0
    line = lines.filter(truth="c0", group="g0", prediction="c1").row(0, named=True)
    inside, elsewhere = (
        table.filter((pl.col("truth") == "c0") & some)
        for some in (pl.col("group") == "g0", pl.col("group") != "g0")
    )
    for rows, name in ((inside, "rate"), (elsewhere, "others")):
        hits = rows.filter(prediction="c1")["w"].sum()
        assert line[name] == pytest.approx(hits / rows["w"].sum(), rel=1e-12)
    equal = metrics.disparity_lines(evidence_of(table.with_columns(w=pl.lit(2.0)), weight="w"), by="group")
    plain = metrics.disparity_lines(evidence_of(table), by="group")
    together = equal.join(plain, on=AXES, nulls_equal=True)
    assert together.height == plain.height
    for name in ("rate", "others", "low", "high"):
        assert together[name].to_list() == pytest.approx(together[f"{name}_right"].to_list(), rel=1e-12)


IMPOSSIBLE = [
    {"alpha": 0},
    {"alpha": 1.0},
    {"min_rows": 0},
    {"min_rows": 2.5},
    {"correction": "x"},
    {"order": "p"},
]


@pytest.mark.parametrize("options", IMPOSSIBLE, ids=str)
def test_options_outside_what_is_possible_are_refused(options):
    with pytest.raises(ParameterError, match="is not possible; choose"):
        metrics.disparities(evidence_of(planted()), by="group", **options)


def test_intervals_of_listed_lines_heed_that_the_data_chose_them():
    """Newcombe's limits at the level of Benjamini and Yekutieli, mirror images left out."""
    evidence = evidence_of(planted(rate=0.3))
    finding, every = (call(evidence, by="group") for call in (metrics.disparities, metrics.disparity_lines))
    beyond, way = every.filter(pl.col("q") <= 0.05).sort("p"), pl.col("direction")
    counted = beyond.filter(way == way.first().over("truth", "prediction")).height
    level = 1 - 0.05 * counted / every.height
    assert counted < beyond.height
    lines = [part for part in finding.parts if part.kind in ("mistake", "miss")]
    assert lines
    assert level > 0.95
    for part, row in zip(lines, every.head(len(lines)).iter_rows(named=True), strict=True):
        a, n, b, m = (int(part.details[name]) for name in "anbm")
        mine, others = wilson(a, n, level), wilson(b, m, level)
        low = part.value - np.hypot(a / n - mine[0], others[1] - b / m)
        high = part.value + np.hypot(mine[1] - a / n, b / m - others[0])
        assert (part.interval.low, part.interval.high) == pytest.approx((low, high), abs=1e-12)
        assert (row["listed_low"], row["listed_high"]) == pytest.approx((low, high), abs=1e-12)
        assert part.details["certain"] == pytest.approx(row["listed_certain"])
        assert low < row["low"] < row["high"] < high
    assert every["listed_low"].null_count() == every.height - len(lines)


def test_options_that_differ_from_their_default_are_named():
    finding = metrics.disparities(evidence_of(planted()), by="group", correction="holm", alpha=0.05)
    assert finding.params == {"correction": "holm"}


def test_a_planted_mistake_is_the_first_line_and_chance_lists_nothing():
    """20 tables of 3 classes x 3 groups x 100 rows, a mistake added to 30 % of one cell; 100 without it."""
    for seed in range(20):
        finding = metrics.disparities(evidence_of(planted(seed, rate=0.3)), by="group")
        assert finding.parts[0].key == ["c0", "g0", "c1"], seed
        assert finding.parts[0].details["direction"] == "more"
        assert finding.p_value <= 0.05
    fair = Counter(
        metrics.disparities(evidence_of(planted(seed, rate=0)), by="group").value > 0 for seed in range(100)
    )
    assert fair[True] <= 11  # .05 of 100 in the mean; more than that in one of 200 such tests


def test_where_nothing_is_beyond_chance_the_largest_is_named():
    finding = metrics.disparities(evidence_of(planted(7, rate=0.05, rows=20)), by="group")
    assert (finding.value, finding.details["status"]) == (0, "none_beyond_chance")
    lines = metrics.disparity_lines(evidence_of(planted(7, rate=0.05, rows=20)), by="group")
    first = lines.filter(direction="more").row(0, named=True)
    for name in (*AXES, "a", "n", "b", "m", "p"):
        assert finding.details[f"largest_{name}"] == first[name]
    assert 0 < finding.details["detectable_others"] < finding.details["detectable_rate"] <= 1


def test_other_mixes_of_classes_are_told_from_mistakes():
    """Both groups are right equally often in each class; one has more of the hard class."""
    table = {"a": (60, 40, 19, 1), "b": (12, 8, 95, 5)}
    kinds = [("hard", "hard"), ("hard", "easy"), ("easy", "easy"), ("easy", "hard")]
    cells = [(y, z, k, n) for z, row in table.items() for (y, k), n in zip(kinds, row, strict=True)]
    finding = metrics.accuracy_decomposition(counts_of(cells), by="group")
    gap, mix, errors = (
        next(p for p in finding.parts if (p.kind, p.key) == (k, "a")) for k in ("gap", "mix", "errors")
    )
    assert (finding.value, errors.value) == pytest.approx((0, 0), abs=1e-12)
    assert mix.value == pytest.approx(gap.value, abs=1e-12)
    assert gap.value > 0.2


def test_suppression_hides_counts_of_mistakes() -> None:
    rows = [("a", "b" if i < 9 else "a", "x") for i in range(30)] + [("a", "a", "y")] * 90
    frame = pl.DataFrame([*rows, ("b", "a", "y"), ("b", "b", "x")], schema=["t", "p", "g"], orient="row")
    names = ["disparities", "accuracy_decomposition"]
    run = evenhand.audit(frame, truth="t", prediction="p", by="g", metrics=names)
    assert run["disparities"].parts
    for finding in suppressed_findings(run.findings, 10):
        assert (finding.value, finding.reason) == (None, "suppressed")
        assert [part.value for part in finding.parts if part.value is not None] == []
        details = {name for part in finding.parts for name in part.details}
        assert not details & {"a", "b", "excess", "certain", "rate", "others"}


def test_listed_lines_are_said_in_words() -> None:
    rows = [("a", "b" if i < 9 else "a", "x") for i in range(30)] + [("a", "a", "y")] * 90
    frame = pl.DataFrame([*rows, ("b", "b", "x")], schema=["t", "p", "g"], orient="row")
    lines = metrics.disparity_lines(Predictions.from_frame(frame, truth="t", prediction="p"), by="g")
    assert lines["sentence"].to_list() == [
        "Of 30 x rows that are a, 9 (30 %) are called b; never in y (0 of 90). "
        "At the rate of y it would be 9 fewer (at least 4)."
    ]
