"""``evenhand run``, ``ls models`` and ``convert`` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from tests.cli.test_audit import type_in

pytestmark = pytest.mark.usefixtures("without_pages")

OWN_MODEL = """
import numpy as np

class ByBrightness:
    labels = ("dark", "bright")
    middle = np.array(127.0)

    def classify(self, images):
        mean = np.array([image.mean() for image in images])
        return np.stack([self.middle - mean, mean - self.middle], axis=1)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch) -> Path:
    """Images and a model; answers are kept in a place of their own: no other test has asked before."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    rng = np.random.default_rng(0)
    rows = []
    for index in range(60):
        bright = rng.random() < 0.5
        level = rng.integers(100, 255) if bright else rng.integers(0, 155)
        Image.new("L", (10, 8), int(level)).save(tmp_path / f"{index}.png")
        rows.append({"file": f"{index}.png", "what": "bright" if bright else "dark", "g": "xy"[index % 2]})
    pl.DataFrame(rows).write_csv(tmp_path / "images.csv")
    (tmp_path / "own.py").write_text(OWN_MODEL)
    return tmp_path


def words_of(folder: Path) -> list[object]:
    words = ["run", "classification", "--data", folder / "images.csv", "--image", "file", "--truth", "what"]
    return [*words, "--by", "g", "--model", f"{folder / 'own.py'}:ByBrightness"]


def test_one_line_asks_and_audits_and_the_second_time_asks_nothing(folder, monkeypatch, capsys) -> None:
    monkeypatch.chdir(folder)
    for asked in (60, 0):
        assert type_in(monkeypatch, *words_of(folder), "-o", folder / "run") == 0
        told = capsys.readouterr()
        assert "by g" in told.out.splitlines()[0]
        assert "Right" in told.out
        # no progress where nobody watches
        assert told.err == "" if asked else "60 of 60 answers of " in told.err
        manifest = json.loads((folder / "run" / "manifest.json").read_text())
        assert manifest["asking"]["questions"][0]["asked"] == asked
    assert manifest["model_identity"]["class"] == "ByBrightness"
    assert any(name.startswith("sha256 of own.py") for name in manifest["model_identity"])


EXITS = {
    "import": "import sys; sys.exit({code})\n" + OWN_MODEL,
    "constructor": OWN_MODEL + "    def __init__(self): raise SystemExit({code})\n",
    "identity": OWN_MODEL + "    def identity(self): raise SystemExit({code})\n",
    "prepare": OWN_MODEL + "    def prepare(self, image): raise SystemExit({code})\n",
    "answer": OWN_MODEL + "    def classify(self, images): raise SystemExit({code})\n",
}


@pytest.mark.parametrize("code", [0, 3, None])
@pytest.mark.parametrize("when", EXITS)
def test_a_model_that_exits_is_an_error_and_no_gate_is_skipped(
    folder, monkeypatch, capsys, when, code
) -> None:
    (folder / "own.py").write_text(EXITS[when].format(code=code))
    words = [*words_of(folder), "--fail-if", "accuracy<1", "-o", folder / "run"]
    assert type_in(monkeypatch, *words) == 2
    told = capsys.readouterr().err
    assert f"own.py:ByBrightness' called sys.exit({code})" in told
    assert len(told.splitlines()) == 1
    assert not (folder / "run").exists()


def test_a_benchmark_that_exits_is_an_error(folder, monkeypatch, capsys) -> None:
    (folder / "bench.py").write_text("import sys\nsys.exit(None)\n")
    words = ["run", f"{folder / 'bench.py'}:BENCH", "--model", f"{folder / 'own.py'}:ByBrightness"]
    assert type_in(monkeypatch, *words) == 2
    assert "bench.py:BENCH' called sys.exit(None)" in capsys.readouterr().err


def test_the_default_folder_is_named_after_benchmark_and_model(folder, monkeypatch, capsys) -> None:
    monkeypatch.chdir(folder)
    words = [str(word).replace(f"{folder}/own.py", "own.py") for word in words_of(folder)]
    assert type_in(monkeypatch, *words, "-q") == 0
    assert (folder / "runs" / "classification--own.py-ByBrightness" / "findings.json").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "resnet50"], "no model URI"),
        (["--model", "hgf:resnet50"], "did you mean 'hf'"),
        (["--model", "own.py:Missing"], "no object 'Missing'"),
        (["--data", "nowhere.csv"], "nowhere.csv"),
        (["--image", "fiel"], "did you mean 'file'"),
        (["--engine", "spark"], "choose one of 'local', 'ray'"),
        (["-p", "templtes=x"], "did you mean 'templates'"),
        (["--by", "missing"], "no column 'missing'"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(folder, monkeypatch, capsys, words, message) -> None:
    monkeypatch.chdir(folder)
    usual = list(map(str, words_of(folder)))
    if words[0] in ("--model", "--data"):  # given twice, these would be two models
        del usual[usual.index(words[0]) : usual.index(words[0]) + 2]
    assert type_in(monkeypatch, *usual, *words, "-o", folder / "run") == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert message in told.err
    assert told.err.count("\n") == 1
    assert not (folder / "run").exists()


def test_models_are_listed_with_what_they_can_answer(monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "ls", "models") == 0
    everything = capsys.readouterr().out
    assert "classifies_images" in everything
    assert type_in(monkeypatch, "ls", "models", "--can", "matches_pairs") == 0
    few = capsys.readouterr().out
    assert "Vilt" in few
    assert "timm" not in few
    assert type_in(monkeypatch, "ls", "models", "--can", "matches") == 2
    assert "did you mean 'matches_pairs'" in capsys.readouterr().err
    assert type_in(monkeypatch, "ls", "metrics", "--can", "matches_pairs") == 2
    assert "ls models --can matches_pairs" in capsys.readouterr().err


def test_conversion_says_what_it_wrote_and_refuses_what_could_run(tmp_path, monkeypatch, capsys) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"state_dict": {"module.a": torch.ones(2, 3)}}, tmp_path / "in.pth")
    assert type_in(monkeypatch, "convert", tmp_path / "in.pth", tmp_path / "out.safetensors") == 0
    assert "1 tensors, 6 numbers" in capsys.readouterr().out
    torch.save({"model": Path}, tmp_path / "code.pth")
    assert type_in(monkeypatch, "convert", tmp_path / "code.pth", tmp_path / "no.safetensors") == 2
    assert "could run code" in capsys.readouterr().err
    assert not (tmp_path / "no.safetensors").exists()


@pytest.mark.pages
def test_without_groups_a_run_says_that_nothing_was_compared_and_what_to_type(folder, monkeypatch, capsys):
    words = words_of(folder)
    where = words.index("--by")
    assert type_in(monkeypatch, *words[:where], *words[where + 2 :], "-o", folder / "run") == 0
    told = capsys.readouterr().out
    assert "no group column was given, so that no groups are compared" in " ".join(told.split())
    assert "\n              --by g\n" in told
    assert "Accuracy is 83 %, without a test." in told
    page = (folder / "run" / "report.html").read_text()
    assert "The largest difference" not in page
    assert "No group column was given" in page


@pytest.mark.pages
def test_a_run_keeps_the_samples_behind_its_first_headline(folder, monkeypatch, capsys):
    hurt = pl.when(pl.col("g") == "x").then(pl.lit("dark")).otherwise("what")
    table = pl.read_csv(folder / "images.csv").with_columns(what=hurt)
    table.write_csv(folder / "images.csv")
    assert type_in(monkeypatch, *words_of(folder), "-o", folder / "run") == 0
    assert f"Cases   {folder / 'run' / 'cases' / '1.csv'}" in capsys.readouterr().out
    cases = pl.read_csv(folder / "run" / "cases" / "1.csv")
    assert cases.select("truth", "g", "prediction").unique().rows() == [("dark", "x", "bright")]
    assert 5 < cases.height < 30
    assert "true labels right" in (folder / "run" / "report.html").read_text()


BROKEN = {
    "could not be imported: NameError: name 'nothing' is not defined (own.py, line 2)": "\nnothing.here\n",
    "AttributeError: 'list' object has no attribute 'mean' (own.py, line 6)": (
        "\nclass ByBrightness:\n    labels = ('dark', 'bright')\n    version = '1'\n"
        "    def classify(self, images):\n        return list(images).mean()\n"
    ),
    "a classifier needs labels = ('cat', 'dog') and classify(images)": (
        "class ByBrightness:\n    def predict(self, images):\n        return []\n"
    ),
}


@pytest.mark.parametrize("says", BROKEN)
def test_a_model_that_fails_names_the_line_of_the_users_code(folder, monkeypatch, capsys, says) -> None:
    (folder / "own.py").write_text(BROKEN[says])
    assert type_in(monkeypatch, *words_of(folder), "-o", folder / "run") == 2
    assert says in capsys.readouterr().err


def test_kinds_of_names_are_listed(monkeypatch, capsys) -> None:
    assert type_in(monkeypatch, "ls") == 0
    assert "evenhand ls benchmarks\n" in capsys.readouterr().out
