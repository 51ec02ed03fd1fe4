"""A form of first lines that another package brings: one file, and every medium says it."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.findings import Part
from evenhand.display.overview.overview import overview_of
from evenhand.metrics.estimates import build
from evenhand.metrics.prepared import BoundCounts
from tests.report.printed_media import checked, printed_by

DOCS = Path(__file__).parents[2] / "docs" / "extending.md"
SAID = "b: 3 wrong rows in a row."


@eh.metric(
    title="Longest streak", summary="the most wrong rows in a row", formula="max over groups of the streak",
    range=(0, None), direction="lower is fairer", fair_at=0.0, source="ours", unit="count",
    first_line="streaks",
)  # fmt: skip
def longest_streak(evidence, *, by, seed=0):
    rows = BoundCounts.of(evidence, by, seed)
    parts = [Part(kind="group", key=name, value=value, n=4) for name, value in (("a", 1.0), ("b", 3.0))]
    return build(rows, "longest_streak", {}, 3.0, parts=parts).model_copy(update={"role": "primary"})


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package with the file of the docs, as pip leaves it."""
    (code,) = re.findall(r"`streaks\.py`:\n\n```python\n(.+?)```", DOCS.read_text(), re.DOTALL)
    assert len(code.splitlines()) <= 20
    (tmp_path / "streaks.py").write_text(code)
    about = tmp_path / "streaks-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: streaks\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[evenhand.forms]\nstreaks = streaks:STREAKS\n")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.fixture
def run():
    frame = pl.DataFrame({"truth": ["x"] * 8, "prediction": ["x", "y"] * 4, "g": ["a"] * 4 + ["b"] * 4})
    evidence = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction")
    return eh.audit(evidence, by="g", metrics=[longest_streak])


def test_a_form_of_another_package_is_one_file(installed, run, tmp_path):
    assert run.overview.title == SAID
    printed = printed_by(run, tmp_path)
    assert [name for name, text in printed.items() if SAID not in text] == ["sarif"]  # has what is tested
    assert checked(run, **printed) == []


def test_a_form_that_is_not_installed_gives_the_value_and_imports_nothing(run):
    assert run.finding("longest_streak").card.first_line == "streaks"
    assert overview_of(run.findings, run.manifest).title.startswith("Longest streak")
