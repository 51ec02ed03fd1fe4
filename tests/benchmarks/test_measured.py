"""Findings of several runs are one table, and every cell of an artifact has a number or a reason."""

from __future__ import annotations

import polars as pl

from evenhand.benchmarks.papers.measured import beside, filled, measured
from evenhand.core.cards import Source
from evenhand.core.findings import Finding, Findings, Part
from evenhand.runs.run_folder import RunFolder

GIVEN = {"metric": "gap", "name": "gap", "direction": "descriptive", "source": Source(paper="p"), "n": 9}
PAIR = Part(kind="pair", key=["a", "b × c"], value=0.5, n=2, p_adjusted=0.3, details={"z": 2, "of": "text"})
UNKNOWN = Part(kind="pair", key="", value=None, reason="one value", n=1)


def run_of(*findings: Finding) -> RunFolder:
    return RunFolder(Findings(manifest_id="m", findings=[*findings]), {"model": "hf:a/b"})


def gap(value: float | None = 0.25, **fields: object) -> Finding:
    return Finding(**{**GIVEN, "value": value, **fields})


RUNS = [
    ("A", run_of(gap(params={"k": 5, "sides": ["x", "y"]}, by=["sex"], parts=[PAIR, UNKNOWN]), gap(0.75))),
    ("B", run_of(gap(None, reason="too few", params={"k": 10}), gap(0.1, name="ndkl"))),
]


def test_a_finding_and_each_of_its_parts_has_a_row_with_its_parameters():
    table = measured(RUNS, "gap", details=("z",), k=(5, 10))
    assert table.select("model", "by", "kind", "key", "k", "value", "reason").rows() == [
        ("A", "sex", "", "", "5", 0.25, None),
        ("A", "sex", "pair", "['a', 'b × c']", "5", 0.5, None),
        ("A", "sex", "pair", "", "5", None, "one value"),
        ("B", "", "", "", "10", None, "too few"),
    ]
    assert table["sides"].to_list() == ["['x', 'y']"] * 3 + [None]
    assert table["p_adjusted"].to_list() == [None, 0.3, None, None]
    assert table["z"].to_list() == [None, 2.0, None, None]
    assert set(table["source"]) == {"ours"}
    assert table.schema["value"] == table.schema["z"] == pl.Float64


def test_a_parameter_is_one_value_or_one_of_several_and_none_is_none():
    assert measured(RUNS, "gap", k=10)["model"].to_list() == ["B"]
    assert measured(RUNS, "gap", "ndkl", k=(10, None))["value"].to_list() == [0.75, None, 0.1]
    nothing = measured(RUNS, "gap", k=3)
    assert nothing.height == 0
    assert nothing.schema["k"] == pl.String


def test_a_cell_without_a_finding_has_a_reason_and_one_without_a_value_its_own():
    cells = pl.DataFrame({"k": ["10", "5"], "title": ["ten", "five"]})
    found = measured(RUNS, "gap", k=(5, 10)).filter(kind="")
    table = filled(found, ["B", "A", "C"], cells)
    lacks = "no such images in this run"
    assert table.select("source", "model", "k", "title", "value", "reason").rows() == [
        ("ours", "B", "10", "ten", None, "too few"),
        ("ours", "B", "5", "five", None, lacks),
        ("ours", "A", "10", "ten", None, lacks),
        ("ours", "A", "5", "five", 0.25, None),
        ("ours", "C", "10", "ten", None, lacks),
        ("ours", "C", "5", "five", None, lacks),
    ]
    own = filled(found, ["C"], cells, pl.format("none of {}", "title"))
    assert own["reason"].to_list() == ["none of ten", "none of five"]
    bare = filled(measured(RUNS, "other"), dict(RUNS), cells, "none")
    assert bare.select("model", "k", "reason").rows() == [
        (model, k, "none") for model in ("A", "B") for k in ("10", "5")
    ]


def test_without_cells_all_that_was_found_of_a_run_stands_in_its_order():
    parts = measured(RUNS, "gap").filter(kind="pair").sort("key")
    table = filled(parts, ["B", "A"])
    assert table.select("model", "key", "value", "reason").rows() == [
        ("B", None, None, "no such images in this run"),
        ("A", "", None, "one value"),
        ("A", "['a', 'b × c']", 0.5, None),
    ]


def test_a_cell_of_no_parameter_is_that_of_a_finding_without_it():
    found = measured(RUNS, "gap", k=(5, None)).filter(kind="")
    table = filled(found, ["A"], pl.DataFrame({"k": [None, "5"]}, schema={"k": pl.String}))
    assert table["value"].to_list() == [0.75, 0.25]


def test_the_papers_rows_stand_before_ours():
    paper = pl.DataFrame({"model": ["P"], "value": [0.5], "page": ["3"]})
    found = measured(RUNS, "gap").filter(kind="")
    ours, more = filled(found.filter(k="5"), ["A"]), filled(found.filter(k="10"), ["B"])
    table = beside(paper, ours, more)
    assert table.select("source", "model", "value", "page").rows() == [
        ("paper", "P", 0.5, "3"),
        ("ours", "A", 0.25, None),
        ("ours", "B", None, None),
    ]
    assert table["reason"].to_list() == [None, None, "too few"]
