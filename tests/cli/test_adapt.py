"""``evenhand adapt`` and what follows, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_audit import type_in
from tests.runner.adapting import write_extractor, write_folders

pytestmark = pytest.mark.usefixtures("without_pages")

MODEL = ["adapt", "--model", "own.py:Extractor"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_extractor(tmp_path)
    write_folders(tmp_path / "train", {"red": 20, "green": 10, "blue": 10})
    write_folders(tmp_path / "test", {"red": 4, "green": 4, "blue": 4}, seed=1)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_images_to_a_model_to_a_run(folder, monkeypatch, capsys):
    words = [*MODEL, "--train", "train", "--evaluation", "test", "-p", "l2=0.01", "-o", "model"]
    assert type_in(monkeypatch, *words) == 0
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert told.err == ""
    assert lines[0] == f"probe of {folder / 'own.py'}:Extractor, 3 classes"
    assert lines[1] == "40 images, each content once (40 asked about)"
    assert "1.000 of 4 held out" in lines[2]
    assert lines[-1] == "Next:   evenhand run BENCHMARK --model adapted:model"
    run = ["run", "classification", "--data", "test", "--model", "adapted:model", "-o", "run"]
    assert type_in(monkeypatch, *run, "--fail-if", "accuracy<0.99", "-q") == 0
    manifest = json.loads((folder / "run" / "manifest.json").read_text())
    assert manifest["model"] == "adapted:model"
    assert manifest["model_identity"]["adaptation"] == "probe"
    assert type_in(monkeypatch, *MODEL, "--train", "train", "-o", "model") == 0  # replaced
    assert "(0 asked about)" in capsys.readouterr().out


def test_seeds_are_told_together(folder, monkeypatch, capsys):
    assert type_in(monkeypatch, *MODEL, "--train", "train", "--seeds", "2", "-o", "models") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines if line.startswith("seed")] == ["seed 0", "seed 1"]
    assert any(line.startswith("validation accuracy over seeds: mean 1.000") for line in lines)
    assert lines[-1].endswith("adapted:models/seed-0")


def test_training_images_are_refused_in_one_line(folder, monkeypatch, capsys):
    assert type_in(monkeypatch, *MODEL, "--train", "train", "-o", "model", "-q") == 0
    assert capsys.readouterr().out == ""
    run = ["run", "classification", "--data", "train", "--model", "adapted:model", "-o", "run"]
    assert type_in(monkeypatch, *run) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "was fitted on 40 of these images" in told
    assert not Path("run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--train", "train"], "add -o DIR"),
        (["-o", "m"], "give --train IMAGES"),
        (["--train", "nowhere", "-o", "m"], "nowhere"),
        (["--train", "train", "-o", "m", "-p", "pacience=3"], "did you mean 'patience'"),
        (["--train", "train", "-o", "m", "--classes", "openimages"], "did you mean 'openimages-miap'"),
        (["--train", "train", "-o", "m", "--method", "finetuning"], "choose one of 'probe', 'fine_tuning'"),
        (["--train", "train", "-o", "m", "--evaluation", "train"], "40 of 40 training images"),
        (["--train", "train", "-o", "test"], "holds other files"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(folder, monkeypatch, capsys, words, message):
    assert type_in(monkeypatch, *MODEL, *words) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert message in told
    assert not Path("m").exists()


def test_ls_models_knows_it(monkeypatch, capsys):
    assert type_in(monkeypatch, "ls", "models", "--can", "classifies_images") == 0
    assert "adapted:FOLDER" in capsys.readouterr().out
