"""``evenhand reproduce``: each paper's tables from tiny models, and what is missing said first."""

from __future__ import annotations

import dataclasses
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from evenhand.benchmarks.catalogue import ARTIFACTS, RECIPES
from evenhand.benchmarks.datasets.download_source import DataSource, SourcePart
from evenhand.benchmarks.mmbias.data.groups import names_by_alias, plain
from evenhand.benchmarks.recipe import Compared
from evenhand.benchmarks.sprites import presets
from evenhand.core.errors import InputError
from evenhand.stats.association import permutation
from evenhand.workflows.outputs import result
from evenhand.workflows.reproduce.beside import beside_paper, beside_table
from evenhand.workflows.reproduce.engine import ReproduceOptions, carried_out, planned
from evenhand.workflows.reproduce.needs import _contents
from tests.benchmarks import mmbias_release, people_layouts, visogender_release
from tests.benchmarks import skewsize_layouts as layouts
from tests.cli.test_audit import type_in
from tests.conftest import SHARED
from tests.gallery import people
from tests.models.tiny import build

pytestmark = pytest.mark.usefixtures("few_draws")

PAPERS = ("indicators", "mmbias", "skewsize", "visogender")
SMALL = dataclasses.replace(presets.preset("quick"), n_train=90, n_test=90, steps=2, batch=16)
LEFT_OUT = {"indicators/figure5"}  # of two models
OF_DOMAINNET = {"skewsize/figure2", "skewsize/figure5"}  # what the paper prints of them
OCCUPATIONS = ("doctor", "baker", "lawyer")


def write_visogender(folder: Path) -> None:
    """The released rows of three occupations, where they are at hand, with pictures of no one."""
    released = SHARED / "data" / "visogender"
    ids = visogender_release.release(folder, OCCUPATIONS, images=not released.is_dir())
    if released.is_dir():
        shutil.rmtree(folder)
        folder.mkdir()
        ids = []
        for table in released.glob("*.tsv"):
            header, *rows = table.read_text(encoding="utf-8-sig").splitlines()
            if table.name[0] == "O":
                rows = [row for row in rows if row.split("\t")[3] in OCCUPATIONS]
                ids += [row.split("\t")[0] for row in rows]
            (folder / table.name).write_text("\n".join([header, *rows]), encoding="utf-8")
        visogender_release.paint(folder / "images", ids)


def visogender(folder: Path) -> list[str]:
    write_visogender(folder)
    return ["--data", str(folder), "--model", f"hf:{build('clip')}"]


def write_mmbias(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The released phrases, where they are at hand, with pictures of no one for four groups."""
    few = {"Religion": ("Muslim", "Christian"), "Nationality": ("Arab", "American")}
    few["Valence Images"] = ("Pleasant", "Unpleasant")
    monkeypatch.setattr(mmbias_release, "ZIPS", few)
    mmbias_release.release(folder, phrases=4, words=16, images=4)
    released = SHARED / "data" / "mmbias"
    if released.is_dir():
        for name in ("textual_phrases.txt", "URLs.txt"):
            shutil.copy(released / name, folder / "data" / name)


def mmbias(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    write_mmbias(folder, monkeypatch)
    return ["--data", str(folder), "--model", f"hf:{build('clip')}", "--model", f"hf:{build('vilt')}"]


def skewsize(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setitem(presets.PRESETS, "quick", SMALL)
    layouts.generated(folder, 5)
    return ["--data", f"occupations={folder}", "--preset", "quick", "--model", f"hf:{build('blip_vqa')}"]


def indicators(folder: Path) -> list[str]:
    people.conversations(folder / "people")
    people.homes(folder / "homes")
    people_layouts.miap(folder / "miap")
    people_layouts.utkface(folder / "faces")
    names = {"casual_conversations": "people", "dollar_street": "homes", "miap": "miap", "utkface": "faces"}
    data = [word for name, place in names.items() for word in ("--data", f"{name}={folder / place}")]
    tags = [word for tag in ("images=4e8", "1:parameters=1.5e8") for word in ("--tag", tag)]
    return [*data, "--model", f"hf:{build('clip')}", "--allow-missing", "--limit", "40", *tags]


@pytest.mark.slow
@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_of_a_paper_is_filled_by_one_command(paper, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(result.Run, "html", lambda self, **options: "")  # the pages have tests of their own
    for test in (permutation.permutation_test, permutation.permutation_tests):
        for name, few in (("draws", 99), ("exact_up_to", 8)):  # and so have p
            monkeypatch.setitem(test.__kwdefaults__, name, few)
    makers = {"visogender": visogender, "indicators": indicators}
    makers |= {name: lambda folder, make=make: make(folder, monkeypatch) for name, make in MAKERS.items()}
    words = makers[paper](tmp_path / "data")
    out = tmp_path / "out"
    assert type_in(monkeypatch, "reproduce", paper, *words, "-o", out) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].startswith(RECIPES.get(paper).title)
    tables = [name for name in ARTIFACTS.names() if name.startswith(f"{paper}/table")]
    assert tables
    for name in tables:
        for file in (out / "artifacts").glob(f"{name.replace('/', '-')}*.csv"):
            table = pl.read_csv(file)
            assert "ours" in table["source"].to_list(), file
            assert file.with_suffix(".html").stat().st_size
    drawn = {path.stem for path in (out / "artifacts").glob("*-figure*.csv")}
    if paper == "indicators":
        assert {f"indicators-figure{number}" for number in (7, 11, 12, 13)} <= drawn
    named = {path.stem.split("-")[1] for path in (out / "artifacts").glob("*-table*.csv")}
    assert {name.partition("/")[2] for name in tables} <= named
    beside = pl.read_csv(out / "beside-the-paper.csv")
    compared = set(RECIPES.get(paper).compared) - OF_DOMAINNET
    assert set(beside["artifact"]) == compared
    for name in compared:
        of = beside.filter(artifact=name)
        assert of["ours"].is_not_null().any() or of["reason"].is_not_null().all(), name
        assert name in printed


def test_recipes_hold_every_artifact_that_one_model_fills() -> None:
    in_recipes = {name for paper in PAPERS for name in RECIPES.get(paper).artifacts}
    assert {name for name in ARTIFACTS.names() if name.partition("/")[0] in PAPERS} - in_recipes == LEFT_OUT


MAKERS = {"mmbias": mmbias, "skewsize": skewsize}


@pytest.mark.parametrize("paper", PAPERS)
def test_what_is_missing_is_said_up_front_with_how_to_get_it(paper, monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "reproduce", paper, "--check") == 0
    lines = capsys.readouterr().out.splitlines()
    recipe = RECIPES.get(paper)
    for part in recipe.data:
        at = lines.index(f"data     {part.name}: not there")
        assert lines[at + 1].startswith("missing  all of it; ")
        assert "evenhand" in lines[at + 1]
    trained = [step for step in recipe.steps if step.trains]
    assert sum(line.startswith("step ") for line in lines) == len(trained)
    assert sum("there is no data" in line for line in lines) == len(recipe.steps) - len(trained)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["mmbiass"], "there is no paper 'mmbiass'"),
        (["skewsize", "--data", "."], "needs a name; write occupations=."),
        (["skewsize", "--data", "sport=."], "did you mean 'sports'"),
        (["mmbias", "--data", "nowhere"], "there is nothing at 'nowhere'"),
        (["skewsize", "--preset", "large"], "there is no preset 'large'"),
        (["mmbias", "--model", "clip"], "no model URI"),
        (["mmbias", "--tag", "images"], "--tag 'images' is not possible; give NAME=VALUE"),
    ],
)
def test_mistakes_are_one_line(words, problem, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    assert type_in(monkeypatch, "reproduce", *words, "--check") == 2
    told = capsys.readouterr()
    assert problem in told.err
    assert told.err.count("\n") == 1


def test_a_model_that_cannot_answer_is_told_with_one_that_can(tmp_path, monkeypatch, capsys) -> None:
    mmbias(tmp_path / "data", monkeypatch)
    words = ["--data", tmp_path / "data", "--model", f"hf:{build('vilt')}", "--check"]
    assert type_in(monkeypatch, "reproduce", "mmbias", *words) == 0
    printed = capsys.readouterr().out
    assert (
        "missing  mmbias/association: no model given has embeds_texts; add --model hf:openai/clip" in printed
    )
    assert "step     mmbias/matching (matching): " in printed
    assert "missing  debias, of association: no model given has embeds_texts" in printed


def test_numbers_stand_beside_those_of_the_same_thing() -> None:
    table = pl.DataFrame(
        [
            ("paper", "CLIP (paper)", "a", 0.5, None), ("paper", "GIT (paper)", "a", 0.7, None),
            ("paper", "CLIP (paper)", "b", 0.1, None), ("ours", "mine", "a (with a name)", 0.6, 0.4),
            ("ours", "mine", "c", 0.9, 0.2),
        ],
        schema=["source", "model", "what", "value", "apart"], orient="row",
    )  # fmt: skip
    compared = Compared(("what",), held_out={"value": "apart"})
    rows = beside_table(beside_paper("x/table1", table, compared)).to_dicts()
    assert [(row["of"], row["ours"], row["held_out"]) for row in rows] == [("a", 0.6, 0.4), ("b", None, None)]
    assert (rows[0]["paper"], rows[0]["paper_low"], rows[0]["paper_high"]) == (None, 0.5, 0.7)
    assert (rows[1]["paper"], rows[1]["reason"]) == (0.1, "not measured")
    chosen = beside_paper("x/table1", table, compared, "GIT")
    assert [row["paper"] for row in chosen] == [0.7, 0.1]  # of b it prints CLIP's alone


def _told(rows: list[tuple[object, ...]], compared: Compared) -> list[tuple[object, ...]]:
    schema = ["source", "model", "what", "mev", "how", "value"]
    table = pl.DataFrame(rows, schema=schema, orient="row", infer_schema_length=None)
    told = beside_table(beside_paper("x/table4", table, compared))
    return told.select("of", "setting", "ours", "paper").rows()


def test_each_number_of_ours_stands_beside_that_of_its_own_setting() -> None:
    ours = [("ours", "mine", "a", 5.0, "exact", 0.7), ("ours", "mine", "a", 0.0, "exact", 1.7)]
    stated = [("paper", "P", "a", 5.0, "paper", 0.2), *ours]
    assert _told(stated, Compared(("what", "mev"))) == [("a, mev 5", "", 0.7, 0.2)]
    unstated = [("paper", "P", "A", None, "paper", 0.2), *ours]  # which setting the paper has is not said
    both = [("A", "mev 5", 0.7, 0.2), ("A", "mev 0", 1.7, 0.2)]
    assert _told(unstated, Compared(("what", "mev"))) == both
    drawn = [*stated, ("ours", "mine", "a", 5.0, "drawn", 0.8)]
    settings = [("a, mev 5", "exact", 0.7, 0.2), ("a, mev 5", "drawn", 0.8, 0.2)]
    assert _told(drawn, Compared(("what", "mev"), settings=("how",))) == settings
    whole = [("paper", "P", "a", 5.0, "paper", 0.2), ("ours", "mine", "a", None, "exact", 0.7)]
    assert _told(whole, Compared(("what", "mev"))) == [("a, mev 5", "", 0.7, 0.2)]


@pytest.mark.parametrize("source", ["ours", "paper"])
def test_two_numbers_for_one_place_are_an_error(source) -> None:
    rows = [(name, "one", "a", mev, "exact", 0.5) for name in ("ours", "paper") for mev in (5.0,)]
    rows.append((source, "one", "a", 0.0, "exact", 0.1))
    with pytest.raises(InputError, match=r"x/table4: value of a.*several numbers of .*one.*keys or settings"):
        _told(rows, Compared(("what",)))


def test_libraries_are_checked_before_anything_is_asked(tmp_path, monkeypatch, capsys) -> None:
    words = ["reproduce", "mmbias", *mmbias(tmp_path / "data", monkeypatch), "--check"]
    assert type_in(monkeypatch, *words) == 0
    printed = capsys.readouterr().out
    assert "step     debias, of association (debiased)" in printed
    assert printed.splitlines()[1].startswith("time     about 20 minutes")
    for module, said in (
        ("sklearn", ["missing  debias, of association: scikit-learn is not installed; type: pip install"]),
        (
            "transformers",
            [
                f"missing  {what}: transformers is not installed"
                for what in ("mmbias/matching", "debias, of association")
            ],
        ),
    ):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, module, None)
            assert type_in(without, *words) == 0
        printed = capsys.readouterr().out
        assert all(line in printed for line in said), printed


def test_a_recipe_says_where_it_is_and_how_far_a_training_is(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(presets.PRESETS, "quick", SMALL)
    options = ReproduceOptions(preset="quick", limit=30)
    plan = planned("skewsize", models=[], data=[], out=tmp_path, options=options)
    first = dataclasses.replace(plan, steps=plan.steps[:1])
    said: list[str] = []
    shown: list[tuple[str, int, int]] = []
    carried_out(first, options, say=said.append, progress=lambda *all: shown.append(all))
    assert said[0] == "1 of 1: sprites with a model that is trained here, sprites-none"
    assert ("training sprites-none", SMALL.steps, SMALL.steps) in shown


def test_as_released_is_said_only_where_no_number_differs() -> None:
    def state(*parts: SourcePart) -> str:
        source = DataSource("x", "x", "x", "x", parts=lambda folder: list(parts))
        return _contents(source, Path())[0]

    whole = SourcePart("usable images", 240, 240)
    assert state(whole, SourcePart("rows", 2982, 2982, judged=False)) == "1 of 1 parts as released"
    assert state(SourcePart("list", 5, 60), SourcePart("images of the list", 5, 5)) == "1 of 2 parts whole"
    few = SourcePart("images", 240, 2982, judged=False)
    assert state(whole, few) == "1 of 1 parts usable, other numbers than the paper's: images 240 of 2,982"


def test_mmbias_folders_may_have_the_names_of_table_1() -> None:
    names = names_by_alias()
    said = ("Islam", "Christianity", "Judaism", "Buddhism", "Hinduism", "Homosexuality")
    groups = ["muslim", "christian", "jewish", "buddhist", "hindu", "lgbt"]
    assert [names[plain(name)] for name in said] == groups
