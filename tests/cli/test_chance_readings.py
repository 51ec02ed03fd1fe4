"""A large V that chance gives is called chance, on stdout and in the report; p without a verdict has none."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import polars as pl
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import app
from evenhand.cli.summaries.text import CellTexts
from evenhand.core.findings import Null, Part


def audited(table: dict[str, list[str]], folder) -> tuple[str, str]:
    pl.DataFrame(table).write_csv(folder / "table.csv")
    words = ["audit", folder / "table.csv", "--truth", "truth", "--prediction", "said", "--by", "group"]
    done = CliRunner().invoke(app, [*map(str, words), "--verbose", "-o", str(folder / "run")])
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split()), (folder / "run" / "report.html").read_text()


def test_many_labels_and_few_rows_are_chance(tmp_path):
    rng = np.random.default_rng(3)
    labels = [f"label {number}" for number in rng.integers(0, 70, 200)]
    text, page = audited({"truth": ["a", "b"] * 100, "said": labels, "group": ["x"] * 100 + ["y"] * 100},
                         tmp_path)  # fmt: skip
    told = text.partition("Medium or large by its band, but no more than chance alone gives: ")[2]
    assert told.startswith("cramers_v_pooled 0.")
    assert "cramers_v_mean 0." not in told  # exploratory: no verdict of its own
    assert " exploratory " in text
    assert "above chance" not in text
    assert "value and interval are without what noise adds" in text
    assert "No prediction is a true label of its row." in text
    assert "No difference of mistakes beyond chance over 2 classes" in page
    assert (
        "No class gets a verdict of its own, since all effect sizes together show none beyond chance" in page
    )
    assert "Mistakes differ between groups" not in page
    assert "No prediction is a true label" in page
    checks = eh.Run.read(tmp_path / "run").overview.checks  # which a suite and a notebook show, too
    assert checks[0].startswith("No prediction is a true label")


def test_a_planted_difference_is_not_called_chance(tmp_path):
    said = (["a", "b"] * 40 + ["b", "c"] * 10) * 2
    table = {"truth": ["a", "b"] * 100, "said": said, "group": (["x"] * 80 + ["y"] * 20) * 2}
    text, page = audited(table, tmp_path)
    assert "no more than chance" not in text
    assert "above chance" in text
    by_class = "2 of 2 classes with a difference beyond chance (holm-adjusted p <= 0.05)"
    assert f"Tested class by class with Cramér's V: {by_class}" in text
    assert "Mistakes differ between groups beyond chance in 2 of 2 classes." in page
    assert "no more than chance" not in page
    assert "No prediction is a true label" not in text


def test_a_group_of_blanks_can_be_seen(tmp_path):
    group = (["  "] * 5 + ["x"] * 95) * 2
    text, page = audited({"truth": ["a", "b"] * 100, "said": ["a", "b"] * 100, "group": group}, tmp_path)
    assert "((blank) 10, x 190)" in text
    assert "␣␣" in page


def test_no_number_is_a_minus_zero():
    band = Null(mean=0, low=-1e-13, high=1e-13, method="exact")
    part = Part(kind="class", key="a", value=-1e-14, null=band, n=10)
    assert (CellTexts.of(part).value, CellTexts.of(part).chance) == ("0.000", "0.000 … 0.000")
    band = band.model_copy(update={"level": 1 - 0.05 / 3})
    assert CellTexts.of(part.model_copy(update={"null": band})).chance == "0.000 … 0.000 (98.33 %)"


def test_the_command_line_is_a_module_too(tmp_path):
    words = [sys.executable, "-m", "evenhand", "ls", "benchmarks"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sprites" in done.stdout
