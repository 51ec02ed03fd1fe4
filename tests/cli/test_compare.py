"""``evenhand compare`` as it is typed."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from evenhand.cli.summaries.comparison import _rank
from evenhand.core.findings import Findings
from evenhand.display.overview.overview import overview_of
from evenhand.workflows.compare.engine import compare
from evenhand.workflows.compare.warnings import unmatched
from tests.cli.test_audit import type_in
from tests.runner.test_compare import audited, table, without_counts

pytestmark = pytest.mark.usefixtures("without_pages")


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    where = tmp_path_factory.mktemp("typed")
    table().write_csv(where / "t.csv")
    return [audited(where, where / "t.csv", name) for name in ("biased", "fair", "better")]


@pytest.mark.pages
def test_ranking_differences_and_stability_are_printed(folders, tmp_path, monkeypatch, capsys):
    assert type_in(monkeypatch, "compare", *folders, "-v", "--ascii", "-o", tmp_path / "out") == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert "images" not in told.out
    assert told.out.isascii()
    for text in (
        "3 of 3 pairs on the same samples (800)",
        "by group, on 800 rows of each (same samples)",
        "biased of t.csv",
        "beyond chance: cramers_v_mean",
        "(Holm-adjusted p at most 0.05 within each measure)",
        "rank by SkewSize at MEV 0, 2, 3, 4, 5, 6",
        "first in replicates",
        "Associations, not causes",
    ):
        assert text in told.out
    content = json.loads((tmp_path / "out" / "findings.json").read_text())
    assert len(Findings.model_validate(content).findings) == 21
    assert (tmp_path / "out" / "report.html").is_file()


@pytest.mark.pages
def test_a_comparison_is_rendered_again(folders, tmp_path, monkeypatch):
    assert (
        type_in(monkeypatch, "compare", *folders[:2], "--metric", "accuracy", "-q", "-o", tmp_path / "out")
        == 0
    )
    assert type_in(monkeypatch, "report", tmp_path / "out", "-o", tmp_path / "again.html") == 0
    assert "The models side by side" in (tmp_path / "again.html").read_text()


def test_gates_hold_differences(folders, monkeypatch, capsys):
    words = ["compare", *folders[1::-1], "--metric", "cramers_v_mean", "-q", "--fail-if"]
    assert type_in(monkeypatch, *words, "cramers_v_mean_difference@group>0.1") == 4
    assert "gate broken: cramers_v_mean_difference(by=group, model=biased of t.csv" in capsys.readouterr().err
    assert type_in(monkeypatch, *words, "cramers_v_mean_difference>0.9") == 0
    assert type_in(monkeypatch, *words, "accuracy_differences>0.9") == 2
    assert "accuracy_difference" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["accuracy_difference", "accuracy"])
def test_the_first_line_and_a_gate_say_whether_the_newer_model_is_better(folders, monkeypatch, capsys, name):
    worse, _, better = folders
    gain = "better of t.csv is 19 points better than biased of t.csv"
    words = ["--metric", "accuracy", "--fail-if", f"{name}@group got worse"]
    for runs, code, says in (
        ((better, worse), 4, "biased of t.csv is 19 points worse than better of t.csv"),
        ((better, worse, "--reference", worse), 0, gain),
    ):
        assert type_in(monkeypatch, "compare", *runs, *words) == code
        told = capsys.readouterr()
        first = " ".join(told.out.split("\n\n")[0].split())
        assert first == f"Accuracy: {says} · by group · 800 rows, matched by 'id'"
        assert (f"is below chance; Accuracy: {says} (" in told.err) == (code == 4)


def test_rows_that_are_not_matched_are_said_to_be():
    pairs = [("A", "B", "same samples", 9, None), ("A", "C", "not paired", None, "C: audited without ids")]
    (warning,) = unmatched(pairs)
    assert warning.startswith(
        "rows of A and C are not matched: C: audited without ids. They are compared like"
    )
    manifest = {"kind": "compare", "models": ["A", "C"], "rows": 9, "matched": "not matched"}
    lines = overview_of(Findings(manifest_id="m", findings=[]), {**manifest, "warnings": [warning]})
    assert (lines.kicker, lines.checks) == ("A and C · 9 images, not matched", (warning,))


def test_a_run_compared_with_itself_says_so(folders, monkeypatch, capsys):
    assert type_in(monkeypatch, "compare", folders[0], folders[0], "--metric", "accuracy") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "is compared with itself; give the folder of another run" in told
    assert "Accuracy: equal with " in told


def test_one_run_is_not_enough(folders, monkeypatch, capsys):
    assert type_in(monkeypatch, "compare", folders[0]) == 2
    assert "two or more run folders" in capsys.readouterr().err


def test_other_runs_stand_side_by_side(folders, tmp_path, monkeypatch, capsys):
    a, b = (without_counts(folder, tmp_path / folder.name) for folder in folders[:2])
    assert type_in(monkeypatch, "compare", a, b, "--metric", "accuracy_gap", "-v") == 0
    told = capsys.readouterr().out
    assert "accuracy_gap by group" in told
    assert "no test" in told


def test_what_only_one_model_answered_is_printed(tmp_path, monkeypatch, capsys):
    table()[:700].write_csv(tmp_path / "a.csv")
    table()[100:].write_csv(tmp_path / "b.csv")
    given = [audited(tmp_path, tmp_path / f"{f}.csv", name) for f, name in (("a", "biased"), ("b", "fair"))]
    assert type_in(monkeypatch, "compare", *given, "--metric", "accuracy", "-v") == 0
    told = capsys.readouterr().out
    assert "100 not among the samples of biased of a.csv" in told
    assert "100 only among the samples of biased of a.csv" in told


def test_ranks_among_fewer_models_say_of_how_many():
    assert [_rank(None, 1, 3), _rank(1, 1, 3), _rank(2, 3, 3)] == ["–", "1 of 1", "2"]


@pytest.mark.pages
def test_v_outside_its_interval_is_explained(tmp_path, monkeypatch, capsys):
    codes = np.random.default_rng(0).integers(0, (6, 3, 6, 6), (300, 4))
    names = ("label", "group", "fair", "better")
    columns = {name: [f"c{code}" for code in own] for name, own in zip(names, codes.T, strict=True)}
    pl.DataFrame(columns).with_row_index("id").write_csv(tmp_path / "t.csv")
    given = [audited(tmp_path, tmp_path / "t.csv", name) for name in ("fair", "better")]
    rows = compare(given, metrics=["accuracy"]).tables["ranking"]
    assert rows.filter(~pl.col("value").is_between("low", "high")).height
    assert type_in(monkeypatch, "compare", *given, "--metric", "accuracy", "-v", "-o", tmp_path / "out") == 0
    assert "V may lie outside its interval" in capsys.readouterr().out
    assert "may lie outside its interval" in (tmp_path / "out" / "report.html").read_text()
