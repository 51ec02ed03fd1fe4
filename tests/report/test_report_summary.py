"""The first screen: what was asked of which model, what was found, how sure, what could not be estimated."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.cli.main import app
from evenhand.cli.summaries.findings import print_summary
from evenhand.core.errors import InputError
from evenhand.core.findings import Interval, Null, Part
from evenhand.display.overview.overview import overview_of
from evenhand.display.text import formatting as formats
from evenhand.metrics.catalogue import with_cards
from evenhand.report.chapters import in_chapters
from evenhand.report.page.html import render_html
from evenhand.report.views import rows
from evenhand.report.views import text_alternatives as alternatives
from evenhand.report.wording import associations as association_words
from evenhand.report.wording import indicators as indicator_words
from evenhand.report.wording import sentences as words
from tests.report import report_samples as samples
from tests.report.browsing import addresses, browser, needs_chromium, visit

__all__ = ["addresses", "browser", "visit"]


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("/home/someone/models/own.py:Net", "own.py:Net"),
        ("own.py:Net", "own.py:Net"),
        ("hf:/home/someone/tiny/clip", "clip"),
        ("hf:openai/clip-vit-base-patch32", "hf:openai/clip-vit-base-patch32"),
        ("onnx:C:\\models\\net.onnx", "net.onnx"),
        ("adapted:models/faces/seed-0", "seed-0"),
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


def test_how_sure_names_what_is_beyond_chance():
    shown = {"interval": samples.interval(0.34, 0.1), "fair_at": 0.0, "p_adjusted": 1e-9, "role": "primary"}
    findings = with_cards([
        samples.plain("resolution_gap", (), 0.34, "descriptive", p_value=1e-9, **shown),
        samples.plain("misgendering_gap", (), 0.34, "descriptive", p_value=1e-9,
                      **{**shown, "interval": samples.interval(0.0, 0.5)}),
        samples.plain("neutral_gap", (), 0.34, "descriptive", p_value=1e-9, fair_at=0.0, role="exploratory"),
    ])  # fmt: skip
    assert words.sureness(in_chapters(findings), 0.05) == [
        "How sure: beyond chance (p at most 0.05, corrected together for 2 tests, and the interval leaves "
        "out what chance gives): Right pronoun, masculine minus feminine.",
        "Every other p is exploratory: it was not corrected, and no verdict rests on it.",
    ]
    nothing = words.sureness(in_chapters(findings[1:]), 0.05)[0]
    assert nothing.endswith("(p at most 0.05, and the interval leaves out what chance gives): nothing.")


def test_more_than_a_few_names_are_counted():
    shown = {"fair_at": 0.0, "p_value": 1e-9, "p_adjusted": 1e-8, "role": "primary"}
    findings = [samples.plain("accuracy_gap", (f"g{place}",), 0.3, "lower is fairer", **shown)
                for place in range(9)]  # fmt: skip
    (sure,) = words.sureness(in_chapters(findings), 0.05)
    assert "corrected together for 9 tests" in sure
    assert sure.count("Accuracy gap by g") == 6
    assert sure.endswith("by g5 and 3 more.")


def test_how_many_have_no_value_is_said():
    chapters = in_chapters(samples.realistic().findings.findings)
    sure, missing = words.sureness(chapters, 0.05)
    assert sure.startswith("How sure: beyond chance (p at most 0.05, corrected together for ")
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


def test_a_p_that_the_interval_contradicts_is_within_chance_everywhere(tmp_path, capsys):
    finding = samples.plain(
        "equalized_odds", ("g",), 0.1, "lower is fairer", p_value=0.033, p_adjusted=0.033, fair_at=0.0,
        role="primary", interval=Interval(low=0.0, high=0.2, level=0.98, method="MOVER"),
    )  # fmt: skip
    told = "within chance by its interval (p 0.033)"
    page = render_html(samples.content([finding]))
    assert told in page
    assert "above chance" not in page
    out = printed(tmp_path, [finding], capsys)
    assert "0.033 0.033 within chance" in out
    assert f"equalized_odds is {told}" in out
    assert "Levels of intervals that are not at 95 %: equalized_odds 98 %" in out


def test_an_exploratory_p_has_no_verdict_anywhere(tmp_path, capsys):
    finding = samples.plain(
        "equalized_odds", ("g",), 0.4, "lower is fairer", p_value=0.001, fair_at=0.0, role="exploratory",
        interval=Interval(low=0.2, high=0.6, method="MOVER"),
    )  # fmt: skip
    out = printed(tmp_path, [finding], capsys)
    assert "0.001 – exploratory" in out
    page = render_html(samples.content([finding]))
    assert "<small>exploratory</small>" in page
    for text in (out, page.partition('id="findings"')[2].partition("</section>")[0]):
        assert "above chance" not in text
        assert "beyond chance" not in text


def test_the_interval_stands_with_the_corrected_value_that_it_is_of(tmp_path, capsys):
    shown = {"null": Null(mean=0.1, low=0.05, high=0.2, method="moments"), "fair_at": 0.0, "chance_at": 0.0}
    size = samples.plain(
        "cramers_v_pooled", ("g",), 0.31, "lower is fairer", corrected=0.0, p_value=0.9, p_adjusted=0.9,
        role="primary", band="medium", interval=Interval(low=0.0, high=0.12, method="score"), **shown,
    )  # fmt: skip
    other = size.model_copy(update={"name": "cramers_v_mean", "role": "exploratory", "p_adjusted": None})
    out = printed(tmp_path, [size, other], capsys)
    assert "cramers_v_pooled 0.000 0.000 … 0.120 0.310" in out
    assert "value and interval are without what noise adds" in out
    assert "no more than chance alone gives: cramers_v_pooled 0.310 (p 0.900)" in out
    assert "gives: cramers_v_pooled 0.310 (p 0.900), " not in out
    page = render_html(samples.content([size]))
    assert "0.000<small>plain 0.310</small>" in page
    assert "intervals of the value without</span>" in page
    line = rows.strip(size)
    assert (line.value, line.plain, line.interval) == (0.0, 37.2, (0.0, 14.4))
    plain = samples.plain("accuracy_gap", ("g",), 0.1, "lower is fairer", fair_at=0.0)
    assert rows.strip(plain).plain is None
    assert "plain" not in printed(tmp_path, [plain], capsys)
    assert "intervals of the value without</span>" not in render_html(samples.content([plain]))


def test_a_spread_is_not_called_an_interval(tmp_path, capsys):
    spread = Interval(
        low=-1.0, high=2.0, method="spread over resamples (multinomial); no confidence interval"
    )
    shape = samples.plain("skewsize", ("g",), 0.4, "descriptive", interval=spread)
    out = printed(tmp_path, [shape], capsys)
    assert "The interval of skewsize is its spread over resamples: it has no verdict" in out
    assert "−1.000 to 2.000 (spread, no interval)" in render_html(samples.content([shape]))


def printed(folder, findings, capsys):
    """What the terminal shows of some findings, blanks as one."""
    run = eh.audit(_predictions(folder), by=["group"])
    shown = type(run)(run.findings.model_copy(update={"findings": findings}), run.manifest)
    print_summary(shown, None, verbose=True)
    return " ".join(capsys.readouterr().out.split())


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
    gap = samples.plain(name, ("g",), 0.37, "lower is fairer", p_value=0.01, details=details, fair_at=0.0)
    said = indicator_words.verdict(in_chapters([gap])[0], 0.05)
    assert f": 0.370{told}" in said
    assert said.endswith("more than chance explains.")


def test_classes_that_could_not_be_estimated_are_counted_in_the_answer():
    parts = [Part(kind="class", key="a", value=0.3, p_value=0.001, p_adjusted=0.001, chance_at=0.0, n=50),
             Part(kind="class", key="b", value=None, reason="constant", n=9)]  # fmt: skip
    chapter = in_chapters([samples.plain("skewsize", ("g",), 0.1, "descriptive", parts=parts)])[0]
    assert words.verdict(chapter, 0.05).endswith("in 1 of 1 class that could be estimated, of 2.")
    assert words.verdict(chapter, 0.0001) == (
        "No difference of mistakes beyond chance over 1 class that could be estimated, of 2. That does not "
        "prove fairness."
    )


def test_the_test_of_all_classes_speaks_before_single_ones():
    part = Part(kind="class", key="a", value=0.3, p_value=0.001, p_adjusted=0.2, chance_at=0.0, n=50)
    shape = samples.plain("skewsize", ("g",), 0.1, "descriptive", parts=[part])
    whole = samples.plain("cramers_v_pooled", ("g",), 0.2, "lower is fairer", p_value=0.01, fair_at=0.0)
    (chapter,) = in_chapters([shape, whole])
    assert words.verdict(chapter, 0.05) == (
        "Mistakes differ between groups beyond chance; no single class stands out after correction."
    )


def test_classes_are_exploratory_where_the_whole_is_within_chance():
    part = Part(kind="class", key="a", value=0.6, p_value=0.001, p_adjusted=0.001, chance_at=0.0, n=50,
                band="large", role="exploratory",
                null=Null(mean=0.1, low=0.0, high=0.2, method="m"))  # fmt: skip
    shape = samples.plain("skewsize", ("g",), 0.1, "descriptive", parts=[part])
    (chapter,) = in_chapters([shape])
    assert words.verdict(chapter, 0.05).startswith("No difference of mistakes beyond chance over 1 class.")
    told = " ".join(words.finding_sentences(chapter, 0.05))
    assert (
        "No class gets a verdict of its own, since all effect sizes together show none beyond chance." in told
    )
    assert "no more than chance gives" not in told
    assert "each taken by itself" not in told
    assert words.reading(part, 0.05) == "exploratory"


def test_one_pair_is_one_pair():
    def pair(interval, other="b"):
        return samples.plain(
            "association_effect_size", (), 1.2, "descriptive", p_value=0.001, fair_at=0.0, interval=interval,
            params={"targets": ["a", other]},
        )  # fmt: skip

    beyond, within = Interval(low=0.9, high=1.5, method="m"), Interval(low=-0.1, high=1.5, method="m")
    (chapter,) = in_chapters([pair(beyond)])
    told = association_words.finding_sentences(chapter, 0.05)
    assert "The p is at most 0.05, and the interval leaves out 0, for a – b." in told
    (chapter,) = in_chapters([pair(within)])
    told = association_words.finding_sentences(chapter, 0.05)
    assert "The p is at most 0.05, and the interval leaves out 0, for no pair." in told
    (chapter,) = in_chapters([pair(beyond), pair(within, "c")])
    told = association_words.finding_sentences(chapter, 0.05)
    assert "The p is at most 0.05, and the interval leaves out 0, for a – b." in told


@needs_chromium
@pytest.mark.parametrize(("width", "height"), [(1400, 900), (400, 900)])
def test_the_first_screens_answer(visit, width, height):
    page = visit("rested", width)
    title = page.locator("h1")
    run = samples.rested()
    assert title.inner_text() == overview_of(run.findings, run.manifest).title
    for place in (title, page.locator(".facts div").first, page.locator("#caveat")):
        box = place.bounding_box()
        assert box["y"] + box["height"] < height
    assert page.locator("#filters").is_hidden(), "answers come before the tools"
    assert "associations, not causes" in page.locator("#caveat").inner_text().lower()
