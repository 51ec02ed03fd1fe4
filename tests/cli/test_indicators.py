"""What the terminal says about the indicators."""

from __future__ import annotations

import pytest

from tests.benchmarks import people_layouts as layouts
from tests.benchmarks.test_indicators_places import mlcommons
from tests.cli.test_audit import type_in
from tests.cli.test_first_lines import COPIED
from tests.models.tiny import build


def clip() -> str:
    """A tiny model, made when a test asks it and not when tests are collected."""
    return f"hf:{build('clip')}"


def told_by(monkeypatch, capsys, *words) -> list[str]:
    assert type_in(monkeypatch, "run", *words, "-v") == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(len(line) for line in lines if not line.startswith(COPIED)) <= 120
    return lines


def test_rates_gaps_and_coverage_of_labels(tmp_path, monkeypatch, capsys):
    data = layouts.casual_conversations(tmp_path / "data")
    words = ["indicators/label_association", "--data", data, "--model", clip(), "-p", "threshold=0,0.1"]
    told = told_by(monkeypatch, capsys, *words, "-o", tmp_path / "run")
    text = "\n".join(told)
    assert "by gender  n = 5 (female 2, male 1, n/a 1, other 1)" in text or "by gender  n = " in text
    assert any(line.startswith("non_human at 0.1") for line in told)
    assert any(line.startswith("gap of harmful") for line in told)
    assert "coverage" in text
    assert "note: the nearest of " in text
    assert "Report  " in text


def test_what_a_model_cannot_say_stands_in_one_line(tmp_path, monkeypatch, capsys):
    data = layouts.utkface(tmp_path / "data")
    words = [
        "indicators/label_association",
        "--data",
        data,
        "--model",
        f"hf:{build('vit')}",
        "-p",
        "by=gender",
    ]
    told = told_by(monkeypatch, capsys, *words, "-o", tmp_path / "run")
    text = " ".join(" ".join(told).split())
    assert "human at 0.1, possibly_human at 0.1, non_human at 0.1, crime at 0.1" in text
    assert "not in the label space" in text


def test_precision_by_group_and_the_groups_at_both_ends(tmp_path, monkeypatch, capsys):
    queries = layouts.casual_conversations(tmp_path / "cc")
    data = layouts.utkface(tmp_path / "utk")
    words = [
        "indicators/retrieval",
        "--data",
        data,
        "-p",
        f"queries={queries}",
        "-p",
        "k=1,2",
        "--model",
        clip(),
    ]
    told = told_by(monkeypatch, capsys, *words, "-p", "by=gender,age", "-o", tmp_path / "run")
    assert any(line.startswith("same gender, first 1") for line in told)
    assert any(line.startswith("gap, first 2") for line in told)


@pytest.mark.parametrize("mode", ["default", "paper"])
def test_hit_rates_of_households_and_countries(mode, tmp_path, monkeypatch, capsys):
    data = mlcommons(tmp_path / "data")
    words = ["indicators/geography", "--data", data, "--model", clip(), "-p", "top=1", "-p", f"mode={mode}"]
    told = told_by(monkeypatch, capsys, *words, "-o", tmp_path / "run")
    assert any(line.startswith("by income_bucket  n = ") for line in told)
    assert any(line.startswith("hit rate") for line in told)
    assert any(line.startswith("countries, pearson") for line in told)


def test_a_gate_on_an_indicator(tmp_path, monkeypatch, capsys):
    data = layouts.utkface(tmp_path / "data")
    words = ["run", "indicators/retrieval", "--data", data, "--model", clip(), "-p", "k=1", "-p", "share=0.5"]
    gate = ["--fail-if", "precision_at_k@perceived_gender > 0"]
    assert type_in(monkeypatch, *words, "-p", "by=gender", *gate, "-o", tmp_path / "run") == 4


def test_the_benchmarks_are_listed_with_their_parameters(monkeypatch, capsys):
    assert type_in(monkeypatch, "ls", "benchmarks") == 0
    listed = capsys.readouterr().out
    for name in ("geography", "label_association", "retrieval"):
        assert f"indicators/{name}" in listed
