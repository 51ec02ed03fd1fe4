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


@pytest.mark.parametrize(
    ("models", "told"),
    [
        (["/x/own.py:planted", "/x/own.py:fair"], "own.py:planted and own.py:fair"),
        (["hf:openai/clip-vit-base-patch32", "hf:openai/clip-vit-large-patch14"],
         "hf:openai/clip-vit-base-patch32 and hf:openai/clip-vit-large-patch14"),
        (["/a/net.py:Net", "/b/net.py:Net"], "/a/net.py:Net and /b/net.py:Net"),
        ([f"m{place}" for place in range(7)], "m0, m1, m2, m3 and 3 more"),
    ],
)  # fmt: skip
def test_a_comparison_is_called_by_all_its_models(models, told):
    assert words.subject({"model": " and ".join(models), "models": models}) == told


def test_shares_held_against_guessing_are_no_bias():
    null = Null(mean=0.33, low=0.3, high=0.36, method="a candidate chosen at random, exact")
    findings = [
        samples.plain(name, (), value, "descriptive", null=null, p_value=p, p_adjusted=p, params={})
        for name, value, p in (("resolution_accuracy", 0.9, 1e-9), ("neutral_gap", 0.34, 0.8))
    ]
    assert words.sureness(in_chapters(findings), 0.05) == [
        "How sure: none of 1 finding with a test are beyond chance (p at most 0.05). Values below stand "
        "beside their intervals and what chance alone gives.",
        "1 share more is held against guessing, which says what the model knows, not how even it is: "
        "1 differs from guessing.",
    ]


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


@pytest.mark.parametrize(
    ("name", "details", "told"),
    [
        ("household_hit_gap", {"first": "high", "first_rate": 0.826, "second": "low", "second_rate": 0.458},
         ", “high” 0.826 against “low” 0.458"),
        ("harmful_association_gap", {"highest": "f", "highest_rate": 0.2, "lowest": "m", "lowest_rate": 0.1},
         ", “f” 0.200 against “m” 0.100"),
        ("precision_gap", {"highest": "f", "highest_precision": 1.0, "lowest": "m", "lowest_precision": 0.5},
         ", “f” 1.000 against “m” 0.500"),
        ("household_hit_gap", {"best": "a", "best_rate": None, "worst": "b"}, ", more than"),
    ],
)  # fmt: skip
def test_a_gap_says_whom_it_lies_between(name, details, told):
    gap = samples.plain(name, ("g",), 0.37, "lower is fairer", p_value=0.01, details=details, params={})
    said = indicator_words.verdict(in_chapters([gap])[0], 0.05)
    assert f": 0.370{told}" in said
    assert said.endswith("more than chance explains.")


def test_classes_that_could_not_be_estimated_are_counted_in_the_answer():
    parts = [Part(kind="class", key="a", value=0.3, p_value=0.001, p_adjusted=0.001, n=50),
             Part(kind="class", key="b", value=None, reason="constant", n=9)]  # fmt: skip
    chapter = in_chapters([samples.plain("skewsize", ("g",), 0.1, "higher is fairer", parts=parts)])[0]
    assert words.verdict(chapter, 0.05).endswith("in 1 of 1 class that could be estimated, of 2.")
    assert words.verdict(chapter, 0.0001).startswith(
        "No difference beyond chance in any of 1 class that could be estimated, of 2."
    )


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
    caution = page.get_by_text("These are associations, not causes, and which of them harm").bounding_box()
    assert caution["y"] < filters["y"]
    assert caution["y"] < height or width < 1000
