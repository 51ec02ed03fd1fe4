"""Nets on real and generated people, audited from the command line: the headline says what chance says."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

from evenhand.cli.main import main
from evenhand.runs.run_folder import RunFolder
from evenhand.workflows.outputs.artifact import artifact, write_artifact
from tests.conftest import ROOT, SHARED

MODELS = SHARED / "assets" / "models"
EXPRESSIONS = ["neutral", "happy", "sad", "angry", "fearful", "disgusted", "surprised"]


def typed(monkeypatch, capsys, *words: object) -> str:
    """What the command line prints; it must succeed."""
    monkeypatch.setattr(sys, "argv", ["evenhand", *map(str, words)])
    with pytest.raises(SystemExit) as stop:
        main()
    printed = capsys.readouterr()
    assert not stop.value.code, printed.err
    return printed.out


def section(text: str, by: str) -> str:
    """The part of the summary on one grouping, in one line."""
    return " ".join(next(part for part in text.split("\n\n") if part.startswith(f"by {by} ")).split())


def plain_v(run: Path, attribute: str) -> tuple[float, pd.DataFrame]:
    """V of attribute by prediction from the raw answers, and their table."""
    answers = pl.read_parquet(run / "evidence/predictions/*.parquet")
    annotations = pl.read_parquet(run / "evidence/annotations/*.parquet")
    rows = annotations.join(answers, on="sample").to_pandas()
    crossed = pd.crosstab(rows[attribute], rows["prediction"])
    chi2 = stats.chi2_contingency(crossed, correction=False)[0]
    return float(np.sqrt(chi2 / (len(rows) * (min(crossed.shape) - 1)))), crossed


def permuted(crossed: pd.DataFrame, times: int = 500) -> np.ndarray:
    """V of tables with the same margins."""
    margins = crossed.sum(axis=1).to_numpy(), crossed.sum(axis=0).to_numpy()
    drawn = stats.random_table(*margins, seed=0).rvs(times)
    expected = np.outer(*margins) / crossed.to_numpy().sum()
    chi2 = ((drawn - expected) ** 2 / expected).sum(axis=(1, 2))
    return np.sqrt(chi2 / (crossed.to_numpy().sum() * (min(crossed.shape) - 1)))


@pytest.fixture
def pairs(tmp_path) -> Path:
    """The generated pairs as a table: part, perceived gender and skin colour."""
    images = sorted((SHARED / "assets" / "pairs" / "data").glob("*/*/*.png"))
    if len(images) != 200:
        pytest.skip(f"needs {SHARED / 'assets' / 'pairs'}")
    rows = []
    for image in images:
        skin, _, gender = image.stem.rstrip("1").partition("_")
        rows.append({"path": str(image), "part": image.parts[-3], "skin": skin, "gender": gender})
    pl.DataFrame(rows).write_csv(tmp_path / "pairs.csv")
    return tmp_path / "pairs.csv"


def test_top_labels_of_the_pairs_are_large_v_and_chance(pairs, tmp_path, monkeypatch, capsys):
    pytest.importorskip("ai_edge_litert")
    monkeypatch.setenv("MOBILENETS", str(MODELS))
    model = f"{ROOT / 'examples' / 'mobilenet_litert.py'}:MobileNet"
    out = tmp_path / "run"
    text = typed(
        monkeypatch, capsys, "run", "classification", "--model", model, "--data", pairs, "--image", "path",
        "--truth", "part", "-p", "by=gender,skin", "-p", "spelling=any", "-v", "-o", out,
    )  # fmt: skip
    run = RunFolder.read(out)
    page = (out / "report.html").read_text()
    for attribute in ("gender", "skin"):
        found = run.finding("cramers_v", attribute)
        value, crossed = plain_v(out, attribute)
        drawn = permuted(crossed)
        assert found.value == pytest.approx(value)
        assert found.n == 200
        assert found.p_value == pytest.approx((drawn >= value - 1e-9).mean(), abs=0.08)
        assert found.null is not None
        assert np.quantile(drawn, 0.95) == pytest.approx(found.null.high, abs=0.02)
        # the summary shows the value beside the corrected one; a p that was not corrected gets no verdict
        said = section(text, attribute)
        row = re.search(r"cramers_v \S+ \S+ … \S+ (\S+) (\S+) … (\S+) (\S+) \S+ (\w+)", said)
        assert row is not None
        assert float(row[1]) == pytest.approx(value, abs=5e-4)
        assert row[5] == "exploratory"
        assert f"V = {value:.3f}, {found.band} by its band; chance alone gives" in page
    gender = run.finding("cramers_v", "gender")
    assert gender.value > 0.5
    assert gender.p_value > 0.5
    assert gender.band == "large"
    assert run.finding("cramers_v_corrected", "gender").value < 0.1
    assert "with a difference beyond chance" not in section(text, "gender")
    assert "No difference of mistakes beyond chance over 3 classes. That does not prove fairness." in page
    assert "No prediction is a true label" in text


@pytest.fixture
def expressions(tmp_path) -> str:
    if not (MODELS / "face_expression.onnx").is_file():
        pytest.skip(f"needs {MODELS / 'face_expression.onnx'}")
    pytest.importorskip("onnxruntime")
    sidecar = {
        "input": {"size": [112, 112], "scale": "0-255"},
        "classify": {"output": "t121", "gives": "probabilities", "labels": EXPRESSIONS},
    }
    (tmp_path / "expression.json").write_text(json.dumps(sidecar))
    return f"onnx:{MODELS / 'face_expression.onnx'}@{tmp_path / 'expression.json'}"


def test_expressions_of_faces_differ_by_gender_beyond_chance(
    faces, expressions, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "run"
    text = typed(
        monkeypatch, capsys, "run", "classification", "--model", expressions, "--data", faces, "--image",
        "img_path", "--truth", "true_age", "-p", "by=true_gender,true_race", "-p", "spelling=any",
        "-p", f"roots={faces.parent},{faces.parent / 'extra_val'}", "-v", "-o", out,
    )  # fmt: skip
    run = RunFolder.read(out)
    page = (out / "report.html").read_text()
    for attribute in ("true_gender", "true_race"):
        found = run.finding("cramers_v", attribute)
        value, crossed = plain_v(out, attribute)
        assert found.value == pytest.approx(value)
        drawn = permuted(crossed)
        assert np.quantile(drawn, 0.95) == pytest.approx(found.null.high, abs=0.02)
        assert (value > found.null.high) == (found.p_value <= 0.05)
        assert f"V = {value:.3f}, {found.band} by its band; chance alone gives" in page
    assert run.finding("cramers_v", "true_gender").p_value < 0.001
    # a class of few faces has a large V by chance: the summary says so and names it not as a finding
    gender = run.finding("skewsize", "true_gender")
    named = section(text, "true_gender").partition("beyond chance")[2]
    for part in gender.parts:
        beyond = part.p_adjusted is not None and part.p_adjusted <= 0.05
        assert (f"{part.key} V = " in named) == beyond
    largest = max((part for part in gender.parts if part.value is not None), key=lambda part: part.value)
    assert largest.p_adjusted > 0.05


def test_the_artifacts_of_both_audits_can_be_made(pairs, tmp_path, monkeypatch, capsys):
    pytest.importorskip("ai_edge_litert")
    monkeypatch.setenv("MOBILENETS", str(MODELS))
    model = f"{ROOT / 'examples' / 'mobilenet_litert.py'}:MobileNet"
    out = tmp_path / "run"
    typed(
        monkeypatch, capsys, "run", "classification", "--model", model, "--data", pairs, "--image", "path",
        "--truth", "part", "-p", "by=gender", "-p", "spelling=any", "-v", "-o", out,
    )  # fmt: skip
    made = artifact("skewsize/figure3", [out], parameters={"images": "yes", "class": "occupations"})
    assert made.table.filter(pl.col("part") == "pictures")["picture"].null_count() == 0
    for file in ("table3.html", "table4.html", "figure4.png", "figure6.html"):
        name = file.partition(".")[0]
        write_artifact(artifact(f"skewsize/{name}", [out]), tmp_path / file)
    bands = artifact("skewsize/figure4", [out]).table
    assert dict(bands.select("band", "n").iter_rows())["large"] == 3
    chance = artifact("skewsize/figure6", [out]).table.filter(pl.col("series") == "by chance")
    assert chance["V"].mean() > 0.5
