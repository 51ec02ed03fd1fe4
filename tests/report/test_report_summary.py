"""The first screen: what was asked of which model, what was found, how sure, what could not be estimated."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import app
from evenhand.cli.summary import print_summary
from evenhand.core.errors import InputError
from evenhand.core.results import Null, Part
from evenhand.report import alternatives, association_words, formats, indicator_words, words
from evenhand.report.chapters import in_chapters
from evenhand.report.html import render_html
from tests.report import report_samples as samples
from tests.report.browsing import addresses, browser, needs_chromium, visit

__all__ = ["addresses", "browser", "visit"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("/home/someone/models/own.py:Net", "own.py:Net"),
        ("own.py:Net", "own.py:Net"),
        ("hf:/home/someone/tiny/clip", "hf:tiny/clip"),
        ("hf:openai/clip-vit-base-patch32", "hf:openai/clip-vit-base-patch32"),
        ("onnx:C:\\models\\net.onnx", "onnx:models/net.onnx"),
        ("api:gpt@https://example.org/v1", "api:gpt@https://example.org/v1"),
        ("resnet50.a1_in1k", "resnet50.a1_in1k"),
        ("/", "/"),
    ],
)
def test_models_are_called_by_their_own_name(model, name):
    assert formats.model_name(model) == name
    assert words.subject({"model": model}) == name


def test_how_sure_is_counted():
    chapters = in_chapters(samples.realistic().findings.findings)
    tested = [one for chapter in chapters for one in chapter.findings
              if one.value is not None and one.p_value is not None]  # fmt: skip
    sure, missing = words.sureness(chapters, 0.05)
    assert sure.startswith("How sure: ")
    assert f"of {len(tested)} findings with a test" in sure
    assert "p at most 0.05, adjusted where many were tested" in sure
    assert missing == (
        f"Not estimable: 2 of {sum(len(one.findings) for one in chapters)} findings, each with its reason. "
        "That is not the same as fair."
    )


def test_no_test_at_all_is_said():
    plain = samples.plain("accuracy", ("g",), 0.5, "higher is better")
    assert words.sureness(in_chapters([plain]), 0.05) == [
        "How sure: no finding was tested, so nothing here says how far chance explains them."
    ]
    assert words.sureness([], 0.05) == []


def test_a_p_at_the_edge_of_its_band_is_told_alike_everywhere(tmp_path, capsys):
    null = Null(mean=0.05, low=0.01, high=0.11, method="groups permuted within class")
    finding = samples.plain(
        "equalized_odds", ("g",), 0.1, "lower is fairer", null=null, p_value=0.033, params={}
    )
    told = "above chance by its test (p 0.033); the band leaves out 2.5% at each end"
    assert told in render_html(samples.content([finding]))
    assert "within chance" not in render_html(samples.content([finding]))
    run = eh.audit(_predictions(tmp_path), by=["group"])
    print_summary(type(run)(run.findings.model_copy(update={"findings": [finding]}), run.manifest), None)
    out = " ".join(capsys.readouterr().out.split())
    assert "0.033 – above chance" in out
    assert f"equalized_odds is {told}" in out


def _predictions(folder):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 120)
    table = {"truth": truth, "said": np.where(rng.random(120) < 0.8, truth, 0), "group": ["x", "y"] * 60}
    pl.DataFrame(table).write_csv(folder / "table.csv")
    return eh.Predictions.read(str(folder / "table.csv"), truth="truth", prediction="said")


def test_accuracy_of_groups_has_a_null_band(tmp_path):
    finding = eh.metrics.accuracy(_predictions(tmp_path), by="group")
    assert finding.null is None
    assert [part.null is not None for part in finding.parts] == [True, True]
    total = sum(part.null.mean * part.n for part in finding.parts)
    assert total == pytest.approx(finding.value * finding.n), "exchange keeps the hits of all"
    assert all(part.null.low <= part.null.mean <= part.null.high for part in finding.parts)
    whole = eh.metrics.accuracy(_predictions(tmp_path), by="group", inference="none")
    assert [part.null for part in whole.parts] == [None, None]


def test_words_for_charts_never_run_from_a_value_to_itself():
    def chapter(values):
        parts = [Part(kind="class", key=f"c{place}", value=value, n=9) for place, value in enumerate(values)]
        return in_chapters([samples.plain("skewsize", ("g",), 0.1, "descriptive", parts=parts)])[0]

    one = alternatives.classes(chapter([0.178]), 0.05)
    assert one.startswith("Effect size of the one class “c0”: 0.178, with interval and null band.")
    same = alternatives.classes(chapter([0.178, 0.178]), 0.05)
    assert "0.178 for every class" in same
    assert "down to" not in same
    assert "from 0.300 for “c1” down to 0.100 for “c0”" in alternatives.classes(chapter([0.1, 0.3]), 0.05)


def test_a_folder_is_no_place_for_a_report(tmp_path):
    run = eh.audit(_predictions(tmp_path), by=["group"])
    run.save(tmp_path / "run")
    (tmp_path / "here").mkdir()
    done = CliRunner().invoke(app, ["report", str(tmp_path / "run"), "-o", str(tmp_path / "here")])
    assert isinstance(done.exception, InputError)
    told = str(done.exception)
    assert told.endswith(
        f"is a folder; give the file to write, such as {str(tmp_path / 'here' / 'report.html')!r}"
    )


def test_no_gap_is_not_said_of_what_could_not_be_estimated():
    gap = samples.plain("harmful_association_gap", ("g",), None, "lower is fairer", reason="no_usable_query")
    told = indicator_words.verdict(in_chapters([gap])[0], 0.05)
    assert told.startswith("The gap between groups could not be estimated")


def test_one_pair_is_one_pair():
    pair = samples.plain(
        "association_effect_size", (), 1.2, "descriptive", p_value=0.001, params={"targets": ["a", "b"]}
    )
    chapter = in_chapters([pair])[0]
    assert "The adjusted p is at most 0.05 in the one pair tested." in association_words.found(chapter, 0.05)


@needs_chromium
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (400, 900)])
def test_the_first_screens_answer(visit, width, height):
    page = visit("rested", width)
    lead = page.locator(".lead").bounding_box()
    verdict = page.locator(".verdicts li").first
    assert lead["y"] < height
    assert "Mistakes differ between groups beyond chance" in verdict.inner_text()
    assert verdict.bounding_box()["y"] < height * (1 if width > 1000 else 1.2)
    filters = page.locator("#filters").bounding_box()
    assert filters["y"] > verdict.bounding_box()["y"], "answers come before the tools"
