"""A package with a metric and a benchmark of its own that rank by race: nothing here speaks of gender."""

import html
import json
import re
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from tests.runner.edits import as_before_outcomes
from tests.third_party.fresh import environment

HERE = Path(__file__).parent
WRONG = ("gender", "masculine", "feminine", "occupation", "pronoun", "professional", "women")


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The Python of a fresh environment in which pip installed the package beside evenhand."""
    root = tmp_path_factory.mktemp("third-party")
    source = shutil.copytree(HERE / "social", root / "social")  # a build writes beside its source
    return environment(root / "env", source)


@pytest.fixture(scope="module")
def said(python, tmp_path_factory):
    """What each command said with its exit code, and where the runs lie."""
    folder = tmp_path_factory.mktemp("social")
    model, run = str(HERE / "brightness.py"), str(folder / "run")
    commands = {
        "run": ["run", "social", "--model", f"{model}:Brightness", "-v", "-o", run],
        "other": ["run", "social", "--model", f"{model}:Dim", "-o", str(folder / "other")],
        "gate": ["run", "social", "--model", f"{model}:Brightness", "--fail-if", "first_place_gap@race>0.5"],
        "typo": ["run", "social", "--model", f"{model}:Brightness", "--fail-if", "first_place_gp>0.5"],
        "metrics": ["ls", "metrics"],
        "benchmarks": ["ls", "benchmarks"],
        "compare": ["compare", run, str(folder / "other"), "-v", "-o", str(folder / "compared")],
        "csv": ["export", run, "--as", "csv", "-o", str(folder / "findings.csv")],
        "sarif": ["export", run, "--as", "sarif", "-o", str(folder / "findings.sarif")],
        "card": ["export", run, "--as", "model-card", "-o", str(folder / "card.md")],
    }
    words = [str(python), str(HERE / "driver.py"), json.dumps(list(commands.values()))]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=folder)
    answers = json.loads(done.stdout.splitlines()[-1])
    return {"folder": folder, **dict(zip(commands, answers, strict=True))}


def text_of(page):
    """The words of a page without scripts, styles and the titles of papers."""
    plain = re.sub(r"<(script|style|dl|tbody).*?</\1>", "", page, flags=re.DOTALL)
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", plain)))


def test_the_terminal_has_every_finding(said):
    code, out = said["run"]
    assert code == 0
    for name in ("first_place_gap", "bias_at_k", "ndkl"):
        assert re.search(rf"^{name} .*above chance", out, re.MULTILINE), out
    assert "by race  n = 144 (asian 48, black 48, white 48)" in out


def test_sentences_speak_of_what_the_benchmark_is_about(said):
    page = text_of((said["folder"] / "run" / "report.html").read_text())
    assert "The question: whose pictures does the model rank first for a caption that names no race?" in page
    assert "On average over captions, pictures of White people come first more often than chance" in page
    assert re.search(r"First places, gap by race is 1\.000, above what chance alone gives", page)
    assert "nobody in them exists" in page
    assert [word for word in WRONG if word in page.lower()] == []


def test_the_first_line_is_of_first_places_with_counts(said):
    first = eh.Run.read(said["folder"] / "run").overview
    assert re.fullmatch(r"White people take \d+ of 40 first places, with 48 of 144 pictures\.", first.title)
    question = "Whose pictures does the model rank first for a caption that names no race?"
    assert first.kicker == f"{question} · brightness.py:Brightness · 144 pictures"
    texts = [line.text for line in first.headlines]
    assert any(re.match(r"First places, gap by race: 100 points; chance alone gives", text) for text in texts)
    words = " ".join([first.title, first.lead, first.kicker, *texts, *first.silent]).lower()
    assert [word for word in WRONG if word in words] == []


def test_a_gate_on_the_metric_fails_and_a_misspelled_one_is_refused(said):
    assert said["gate"][0] == 4
    assert "gate broken: first_place_gap(by=race) = 1.0000 > 0.5" in said["gate"][1]
    assert said["typo"][0] == 2
    assert "did you mean 'first_place_gap'" in said["typo"][1]


def test_a_comparison_leaves_nothing_out(said):
    code, out = said["compare"]
    assert code == 0
    assert re.search(r"first_place_gap by race +1\.000 +0\.\d+", out)
    assert "no test for" not in out
    difference = eh.Run.read(said["folder"] / "compared")["first_place_gap_difference", "race"]
    assert difference.value < -0.2
    assert 0 < difference.p_value < 1
    assert difference.interval.low < difference.value < difference.interval.high
    page = text_of((said["folder"] / "compared" / "report.html").read_text())
    assert [word for word in WRONG if word in page.lower()] == []


def test_outcomes_of_the_package_are_kept_and_runs_from_before_are_compared_alike(said, tmp_path):
    folders = [said["folder"] / name for name in ("run", "other")]
    run = eh.Run.read(folders[0])
    rows = run.tables["outcomes"].filter(outcome="first_place_gap(by=race)")
    means = rows.group_by("attribute:part").agg(pl.col("value").mean())["value"]
    assert means.max() - means.min() == pytest.approx(run["first_place_gap", "race"].value)
    before = [as_before_outcomes(shutil.copytree(folder, tmp_path / folder.name)) for folder in folders]
    earlier, now = (eh.compare(pair) for pair in (before, folders))
    assert earlier.findings.findings == now.findings.findings
    assert now.findings.findings


def test_exports_name_the_metric(said):
    folder = said["folder"]
    assert [said[name][0] for name in ("csv", "sarif", "card")] == [0, 0, 0]
    for name in ("findings.csv", "findings.sarif", "card.md"):
        assert "irst places, gap" in (text := (folder / name).read_text()) or "first_place_gap" in text
    rules = json.loads((folder / "findings.sarif").read_text())["runs"][0]["tool"]["driver"]["rules"]
    assert any("First places, gap" in json.dumps(rule) for rule in rules)


def test_listings_know_both(said):
    assert "first_place_gap" in said["metrics"][1].split()
    assert "social" in said["benchmarks"][1].split()


def test_card_and_rows_behind_a_part_are_in_the_report(said):
    page = (said["folder"] / "run" / "report.html").read_text()
    assert "Invented pictures. They cannot show anything about real people." in page
    assert "first places beyond its share of the pictures" in page  # the metric's own card
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    frames = next(iter(data["evidence"].values()))
    kinds = {kind for frame in frames for kind in frame["kinds"]}
    assert {"group", "caption"} <= kinds


def test_the_report_is_the_same_where_the_package_is_not_installed(said):
    with pytest.raises(ModuleNotFoundError):
        import evenhand_social  # noqa: F401
    for name in ("run", "compared"):
        folder = said["folder"] / name
        assert eh.Run.read(folder).html() == (folder / "report.html").read_text()
