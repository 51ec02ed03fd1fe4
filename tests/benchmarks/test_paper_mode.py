"""``--mode paper`` is the paper's settings and rounding, whole; what the user gives stands before them."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.benchmarks.benchmark import parse_parameters
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.benchmarks.visogender.questions import choose_way
from tests.benchmarks import skewsize_layouts as layouts
from tests.cli.test_audit import type_in

WITHOUT = (
    "bbq_v",
    "classification",
    "clip/fairface_words",
    "pairs",
    "portraits",
)  # no released code that runs, or no paper
OF_PAPERS = [name for name in BENCHMARKS.names() if name not in WITHOUT]
SETTINGS = {
    "indicators/label_association": {"synonyms": "no"},
    "skewsize/occupations": {"mev": 5.0},
    "skewsize/sports": {"mev": 5.0},
    "sprites": {"preset": "paper"},
}


@pytest.mark.parametrize("name", OF_PAPERS)
def test_every_benchmark_of_the_papers_has_a_paper_mode_with_its_settings(name) -> None:
    benchmark = BENCHMARKS.get(name)
    usual, paper = (parse_parameters(benchmark, {"mode": mode}) for mode in ("default", "paper"))
    changed = {key: value for key, value in paper.items() if value != usual[key]}
    assert changed == {"mode": "paper", **SETTINGS.get(name, {})}


def test_what_is_given_stands_before_the_papers() -> None:
    given = parse_parameters(BENCHMARKS.get("skewsize/occupations"), {"mode": "paper", "mev": "0"})
    assert given["mev"] == 0.0


def test_captioners_are_asked_as_the_paper_asked_them() -> None:
    can = ["answers_questions", "scores_continuations"]
    assert (choose_way("auto", can), choose_way("auto", can, "paper")) == ("continuations", "first_token")
    assert choose_way("choice", can, "paper") == "choice"
    assert choose_way("auto", ["answers_questions"], "paper") == "choice"


class Namer:
    """Names one of three occupations, by the number that an image holds."""

    version = "1"
    labels = ("nurse", "waiter", "lawyer")

    def classify(self, images):
        codes = [int(np.asarray(image, dtype=np.int64).sum()) % 7 % 3 for image in images]
        return np.eye(3, dtype=np.float32)[codes]


def test_effect_sizes_follow_the_listing_with_rare_labels_left_out(tmp_path) -> None:
    layouts.generated(tmp_path, 8)
    run = eh.run("skewsize/occupations", model=Namer(), data=tmp_path, parameters={"mode": "paper"})
    finding = run.finding("cramers_v_mean", "gender")
    assert (finding.params["mode"], finding.params["mev"]) == ("paper", 5.0)
    counts = run.counts["predictions"]
    again = eh.metrics.cramers_v_mean(counts, by="gender", mode="paper", mev=5.0)
    assert finding.value == again.value
    assert run.manifest["mode"] == "paper"


def test_a_benchmark_without_such_a_mode_says_so(tmp_path, monkeypatch, capsys) -> None:
    (tmp_path / "bench.py").write_text(
        "class Bench:\n    name = 'bench'\n    parameters = {}\n    def plan(self, setting): ...\n"
        "    def measure(self, answered): ...\nBENCH = Bench()\n"
    )
    words = [
        "run",
        f"{tmp_path / 'bench.py'}:BENCH",
        "--model",
        "hf:x/y",
        "--mode",
        "paper",
        "-o",
        tmp_path / "r",
    ]
    assert type_in(monkeypatch, *words) == 2
    told = capsys.readouterr().err
    assert "mode" in told
    assert told.count("\n") == 1
