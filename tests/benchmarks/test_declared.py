"""What declared benchmarks share: cards, what is refused, a run on the command line, helpers of readers."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import evenhand as eh
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.benchmarks.datasets.samples import files, filtered, table
from evenhand.cli.commands.data import data_app
from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from evenhand.workflows.execution.options import AskOptions
from tests.benchmarks import further_layouts as layouts
from tests.benchmarks import small_data
from tests.cli.test_audit import type_in
from tests.models.tiny import build

FURTHER = (
    "bbq_v", "clip/fairface_words", "facet", "geode", "gras", "pairs", "portraits", "social_counterfactuals",
)  # fmt: skip
SKEWSIZE = ("backgrounds", "celeba", "domainnet", "occupations", "sports", "waterbirds")


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Small data for every benchmark, and what is none of any: tables that lack something."""
    folder = tmp_path_factory.mktemp("data")
    small_data.write(folder)
    layouts.geode_shards(folder / "shards", 36)
    layouts.counterfactuals(folder / "no_sets", 0)
    layouts.table(folder / "no_people" / "annotations" / "annotations.csv", ("filename",), [("a.jpg",)])
    layouts.table(folder / "no_countries" / "index.csv", ("file", "object"), [("a.jpg", "bag")])
    layouts.table(folder / "no_preferred.csv", ("section", "scenario", "question", "first", "second"), [])
    (folder / "empty").mkdir()
    (folder / "no_list").mkdir()
    (folder / "no_list" / "close_ended.json").write_text("{}")
    (folder / "two_objects.json").write_text(json.dumps({"tote": ["bag", "hand soap"]}))
    for name, lines in (("no_colon", "toxic:thief\nrace White\n"), ("few", "toxic:thief\n")):
        (folder / name).mkdir()
        (folder / name / "classnames.txt").write_text(lines)
        (folder / name / "zeroshot_classification_templates.txt").write_text("toxic:a {c}\n")
    return folder


Speaker, Encoder, Scorer = small_data.Speaker, small_data.DualEncoder, small_data.Scorer
REFUSED = [  # benchmark, model, data, parameters, error, what it says
    ("pairs", Speaker, None, {}, UserError, "data fetch pairs"),
    ("pairs", Speaker, "empty", {}, UserError, "SECTION/SCENARIO"),
    ("pairs", Speaker, "pairs", {"questions": "no_preferred.csv"}, UserError, "'preferred'"),
    ("pairs", Speaker, "pairs", {"questions": "nowhere.csv"}, UserError, "takes a CSV with section"),
    ("gras", Scorer, "empty", {}, UserError, "selected_images_fairface"),
    ("gras", Speaker, "gras", {"mode": "paper"}, UserError, "mode=paper"),
    ("gras", Scorer, "gras", {"wordings": "6"}, UserError, "wordings"),
    ("bbq_v", Speaker, None, {}, UserError, "bbq_v needs its data"),
    ("bbq_v", Speaker, "bbq_v", {"targets": "nowhere.csv"}, UserError, "target_loc"),
    ("bbq_v", Speaker, "no_list", {}, UserError, "no JSON list; give a list of records"),
    ("social_counterfactuals", Encoder, "counterfactuals", {"pair": "race+age"}, UnknownName, "race.gender"),
    ("social_counterfactuals", Encoder, "no_sets", {"pair": "race+gender"}, InputError, "no caption that"),
    ("facet", Encoder, "facet", {"lighter": "10"}, ParameterError, "lighter=10"),
    ("facet", Encoder, "empty", {}, InputError, r"annotations\.csv"),
    ("facet", Encoder, "no_people", {}, UnknownName, "person_id"),
    ("geode", Encoder, "no_countries", {}, InputError, "no such table"),
    ("geode", Encoder, "shards", {"regions": "Africa"}, InputError, "-p regions="),
    ("geode", small_data.Rooms, "geode", {"map": "two_objects.json"}, ParameterError, "2 objects"),
    ("portraits", Encoder, "nowhere", {}, UserError, "evenhand generate portraits"),
    ("portraits", Encoder, "empty", {}, UserError, "no image of a prompt"),
    ("portraits", Encoder, "portraits", {"categories": "woman"}, UserError, "chooses among labels"),
    ("clip/fairface_words", Encoder, "fairface", {"words": "no_colon"}, InputError, "objective:text"),
    ("clip/fairface_words", Encoder, "fairface", {"words": "few"}, InputError, "19 texts are needed"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "model", "place", "given", "error", "words"), REFUSED)
def test_what_cannot_be_asked_about_is_refused_before_anything_is_asked(
    data, monkeypatch, name, model, place, given, error, words
) -> None:
    monkeypatch.chdir(data)
    options = AskOptions(keep_answers=False, workers=1)
    where = data / place if place else None
    with pytest.raises(error, match=words):
        eh.run(name, model=model(), data=where, parameters=given, options=options)


LINES = {
    "clip/fairface_words": ("fairface", "are faces called animals", "asked for race"),
    "facet": ("facet", "people at work", ""),
    "geode": ("geode", "everyday objects", ""),
    "social_counterfactuals": ("counterfactuals", "whose images", ""),
}
"""Where the data lies, what the terminal says, and what the page says."""


@pytest.mark.parametrize("name", LINES)
def test_a_tiny_model_on_the_command_line(data, tmp_path, monkeypatch, capsys, name) -> None:
    place, printed, on_page = LINES[name]
    out = tmp_path / "run"
    words = (name, "--model", f"hf:{build('clip')}", "--data", data / place, "-o", out, "--limit", "120")
    assert type_in(monkeypatch, "run", *words) == 0
    assert printed in capsys.readouterr().out.casefold()
    assert on_page in (out / "report.html").read_text(encoding="utf-8")


GROUPS = {"geode": (36, "region EastAsia"), "facet": (30, "skin_tone darker")}
GROUPS |= {"social_counterfactuals": (48, "race Middle Eastern")}
"""What ``evenhand data check`` counts as the benchmark would ask about it: samples, and a group."""


@pytest.mark.parametrize("name", GROUPS)
def test_samples_and_groups_of_data_are_counted_and_an_empty_folder_is_refused(data, name) -> None:
    place = data / LINES[name][0]
    printed = CliRunner().invoke(data_app, ["check", name, "--data", str(place)]).output
    lines = [line.split() for line in printed.splitlines() if line.split()]
    samples, group = GROUPS[name]
    assert ["samples", str(samples)] in [line[:2] for line in lines]
    assert int({" ".join(line[:-1]): line[-1] for line in lines}[group]) > 0
    empty = CliRunner().invoke(data_app, ["check", name, "--data", str(data / "empty")])
    assert isinstance(empty.exception, InputError)


CARDS = {name: f"further/{name.rpartition('/')[2]}/card.md" for name in FURTHER}
CARDS |= {f"skewsize/{name}": f"skewsize/cards/{name}.md" for name in SKEWSIZE}


@pytest.mark.parametrize("name", CARDS)
def test_the_card_lies_beside_what_reads_the_samples(name) -> None:
    file = Path(eh.__file__).parent / "benchmarks" / CARDS[name]
    assert BENCHMARKS.get(name).card() == file.read_text(encoding="utf-8")


def squares(setting):
    """Squares. They cannot show anything."""
    del setting


def test_without_a_card_the_reader_says_what_it_is() -> None:
    assert eh.Task(name="squares", samples=squares, ask=eh.RoleOptions()).card() == squares.__doc__


def test_files_are_read_by_their_paths_once_each_and_others_are_counted(tmp_path) -> None:
    for path in ("b/woman.png", "a/man.png", "a/man1.png", "a/dog.png", "man.png"):
        layouts.write(tmp_path / path, layouts.png(1))
    pattern = r"(?<scene>[^/]+)/(?<who>man|woman)1?\.png$"
    rows, images, others = files(tmp_path, pattern, "SCENE/man.png", "give --data FOLDER")
    assert rows.rows() == [("a", "man", 0), ("b", "woman", 1)]
    assert [Path(path).name for path in images.paths] == ["man.png", "woman.png"]
    assert others == 3
    with pytest.raises(InputError, match="give --data FOLDER"):
        files(None, pattern, "SCENE/man.png", "give --data FOLDER")


def test_a_table_is_text_and_rules_count_what_they_leave_out_in_turn(tmp_path) -> None:
    layouts.table(tmp_path / "t.csv", ("name", "n", "more"), [("a", 1, ""), ("b", "", ""), ("c", 3, "x")])
    rows = table(tmp_path / "t.csv", ("name", "n"), "give a CSV")
    assert rows.rows() == [("a", "1"), ("c", "3")]
    with pytest.raises(InputError, match="give a CSV"):
        table(tmp_path / "none.csv", ("name",), "give a CSV")
    with pytest.raises(UnknownName, match=r"column of t\.csv 'age'"):
        table(tmp_path / "t.csv", ("age",), "")
    frame = pl.DataFrame({"n": [1, 1, 2, None]})
    rules = {
        "not a number": pl.col("n") > 0,
        "seen before": pl.col("n").is_first_distinct(),
        "never": pl.lit(True),
    }
    left, dropped = filtered(frame, rules, {"no row": 5})
    assert left["n"].to_list() == [1, 2]
    assert dropped == {"no row": 5, "not a number": 1, "seen before": 1}
