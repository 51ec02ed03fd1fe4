"""``evenhand report`` as it is typed: again, with small cells hidden, with thumbnails."""

from __future__ import annotations

import pytest

from tests.cli.test_audit import type_in
from tests.conftest import make_frame


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of sprites with the samples it asked about."""
    folder = tmp_path_factory.mktemp("reported") / "run"
    (folder.parent / "model.py").write_text(MODEL)
    model = f"{folder.parent / 'model.py'}:AlwaysHeart"
    with pytest.MonkeyPatch.context() as patch:
        assert type_in(patch, "run", "sprites", "--model", model, "--limit", "60", "-q", "-o", folder) == 0
    return folder


MODEL = """
import numpy as np
from evenhand.benchmarks.sprites.factors import SHAPES

class AlwaysHeart:
    labels = SHAPES

    def identity(self):
        return {"name": "always heart"}

    def classify(self, images):
        return np.tile(np.float32([0, 0, 1]), (len(images), 1))
"""


def test_pictures_are_on_the_page_only_where_they_were_asked_for(run, tmp_path, monkeypatch):
    assert "data:image/jpeg" not in (run / "report.html").read_text()
    assert type_in(monkeypatch, "report", run, "-o", tmp_path / "plain.html") == 0
    assert "data:image/jpeg" not in (tmp_path / "plain.html").read_text()
    assert type_in(monkeypatch, "report", run, "--images", "-o", tmp_path / "seen.html") == 0
    text = (tmp_path / "seen.html").read_text()
    assert 9 <= text.count("data:image/jpeg") <= 36
    assert "sprite-" in text


def test_small_cells_are_hidden_and_samples_with_them(run, tmp_path, monkeypatch):
    assert type_in(monkeypatch, "report", run, "--suppress", "30", "-o", tmp_path / "hidden.html") == 0
    text = (tmp_path / "hidden.html").read_text()
    assert "Counts of fewer than 30 rows are hidden" in text
    assert "sprite-" not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--images", "--suppress", "5"), "give one of the two"),
        (("--suppress", "-5"), "below 0"),
    ],
)
def test_what_cannot_be_is_told_in_a_line(run, monkeypatch, capsys, words, said):
    before = (run / "report.html").read_bytes()
    assert type_in(monkeypatch, "report", run, *words) == 2
    assert said in capsys.readouterr().err
    assert (run / "report.html").read_bytes() == before


def test_a_table_has_no_pictures(tmp_path, monkeypatch, capsys):
    make_frame().write_csv(tmp_path / "t.csv")
    words = ["--truth", "truth", "--prediction", "prediction", "--by", "group", "-q", "-o", tmp_path / "run"]
    assert type_in(monkeypatch, "audit", tmp_path / "t.csv", *words) == 0
    assert type_in(monkeypatch, "report", tmp_path / "run", "--images") == 2
    assert "a table has no pictures" in capsys.readouterr().err
