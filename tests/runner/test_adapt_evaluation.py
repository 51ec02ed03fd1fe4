"""``--evaluation``: whatever form the images lie in that a model will be measured on, none is fitted on."""

from __future__ import annotations

import json
import shutil
import tarfile
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError
from evenhand.workflows.adapt.evaluation_images import read_evaluation
from tests.runner.adapting import write_extractor, write_folders


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write_folders(tmp_path / "train", {"red": 12, "blue": 12})


def refused(tmp_path: Path, train: Path, evaluation: Path, count: int) -> None:
    with pytest.raises(InputError, match=f"{count} of 24 training images are in --evaluation"):
        eh.adapt(write_extractor(tmp_path), train=train, out=tmp_path / "m", evaluation=[evaluation])
    assert not (tmp_path / "m").exists()


def test_tars_and_parquet_count_beside_loose_images(tmp_path, train):
    held = write_folders(tmp_path / "held", {"preview": 1}, seed=4)
    assert len(read_evaluation(held)) == 1
    (held / "deep").mkdir()
    with tarfile.open(held / "deep" / "t.tar", "w") as archive:
        for number in range(3):
            archive.add(train / "red" / f"{number}.png", f"{number}.png")
    refused(tmp_path, train, held, 3)
    rows = [{"image": {"bytes": (train / "blue" / "4.png").read_bytes(), "path": "4.png"}, "n": 1}]
    pl.DataFrame(rows).write_parquet(held / "rows.parquet")
    pl.DataFrame({"n": [1, 2]}).write_parquet(held / "numbers.parquet")
    refused(tmp_path, train, held, 4)


@pytest.mark.parametrize("column", ["path", "picture of the house", "file_name"])
def test_a_table_names_its_images_in_any_column(tmp_path, train, column):
    table = tmp_path / "tables" / "people.csv"
    table.parent.mkdir()
    frame = pl.DataFrame({column: ["../train/red/0.png", "train/blue/3.png", "gone.png"], "gender": "f"})
    frame.write_csv(table)
    assert len(read_evaluation(table)) == 2  # from its folder on, or from one above
    refused(tmp_path, train, table, 2)


def test_a_json_names_its_images_at_any_depth(tmp_path, train):
    content = {"0": [{"files": {"red/1.png": "dark"}}, "red/2.png", 7, None]}
    (train / "annotations.json").write_text(json.dumps(content))
    assert len(read_evaluation(train / "annotations.json")) == 2
    (train / "broken.json").write_text("{")
    with pytest.raises(InputError, match="is no JSON"):
        read_evaluation(train / "broken.json")


def test_a_table_without_an_image_says_what_to_give(tmp_path, train):
    (train / "people.csv").write_text("name,gender\na,f\n")
    with pytest.raises(InputError, match="names no image that can be read; give the folder of the images"):
        read_evaluation(train / "people.csv")
    with pytest.raises(InputError, match="does not exist"):
        read_evaluation(tmp_path / "gone.csv")
    shutil.rmtree(train / "red")
    assert len(read_evaluation(train)) == 12
