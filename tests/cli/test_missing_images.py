"""Images that are not there, and models that prefer nothing: refused, or said before any value."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.sources import FirstImages, ImageFiles
from tests.cli.test_audit import type_in
from tests.cli.test_run import folder, words_of  # noqa: F401 - a fixture

TIED = """
import numpy as np

class Undecided:
    labels = ("dark", "bright")

    def classify(self, images):
        mean = np.array([image.mean() for image in images])
        sure = np.stack([127 - mean, mean - 127], axis=1)
        return np.where(mean[:, None] > 200, 0.0, sure)
"""


def remove(folder, count):  # noqa: F811
    for index in range(count):
        (folder / f"{index}.png").unlink()


def checks(printed: str) -> list[str]:
    """What the terminal says to check first."""
    blocks = re.findall(r"^  Check +(.*\n(?: {14}.*\n)*)", printed, re.MULTILINE)
    return [" ".join(block.split()) for block in blocks]


def test_many_missing_images_are_refused_before_anything_is_asked(folder, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(folder)
    remove(folder, 4)
    assert type_in(monkeypatch, *words_of(folder), "-o", "run") == 2
    error = capsys.readouterr().err
    assert "4 of 60 samples (6.7%) have no image file" in error
    assert f"looked in {str(folder)!r}" in error
    assert "--allow-missing" in error
    assert not (folder / "run").exists()
    assert type_in(monkeypatch, *words_of(folder), "-o", "run", "--allow-missing") == 0
    assert "4 of 60 samples (6.7%)" in checks(capsys.readouterr().out)[0]


def test_few_missing_images_are_among_the_first_lines(folder, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(folder)
    remove(folder, 3)
    assert type_in(monkeypatch, *words_of(folder), "-o", "run") == 0
    assert checks(capsys.readouterr().out)[0].startswith("3 of 60 samples (5.0%) have no image file")
    warnings = json.loads((folder / "run" / "findings.json").read_text())["warnings"]
    assert [one["code"] for one in warnings] == ["missing_images", "repeated_images"]  # greys are few
    report = (folder / "run" / "report.html").read_text()
    assert report.index("3 of 60 samples") < report.index('id="findings"')


def test_answers_that_prefer_nothing_are_counted(folder, monkeypatch, capsys):  # noqa: F811
    monkeypatch.chdir(folder)
    (folder / "own.py").write_text(TIED)
    words = words_of(folder)[:-1]
    assert type_in(monkeypatch, *words, f"{folder / 'own.py'}:Undecided", "-o", "run") == 0
    printed = " ".join(capsys.readouterr().out.split())
    made = pl.read_parquet(folder / "run" / "evidence" / "predictions" / "*.parquet")
    tied = made.filter(pl.col("confidence") == 0.5).height
    assert tied > 5
    assert f"in {tied} of 60 answers to 'predictions' all candidates have the same score" in printed


@pytest.mark.parametrize(
    "wrap", [lambda s: s, lambda s: FirstImages(s, 2), lambda s: ChosenImages(s, [0, 2, 1])]
)
def test_sources_say_which_files_are_not_there(wrap, tmp_path):
    (tmp_path / "0.png").write_bytes(b"x")
    source = wrap(ImageFiles([tmp_path / f"{index}.png" for index in range(3)]))
    digests = source.digests(0, len(source))
    assert list(source.absent()) == [index for index, one in enumerate(digests) if not isinstance(one, str)]
