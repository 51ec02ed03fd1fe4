"""Copies of a picture are found by what they look like, other pictures are not."""

from __future__ import annotations

import io

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.core.requests import Question
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.perceptual import difference_hash
from evenhand.files.images.sources import FirstImages, ImageFiles, TarImages
from evenhand.workflows.execution.repeated_images import PictureRepeats


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def picture(seed, size=(120, 90)):
    """Smooth shades, as photographs have them."""
    coarse = np.random.default_rng(seed).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)


def again(image, quality):
    stream = io.BytesIO()
    image.save(stream, "JPEG", quality=quality)
    return Image.open(stream)


def test_copies_look_alike_and_other_pictures_do_not():
    looks = [difference_hash(np.asarray(picture(seed))) for seed in range(200)]
    assert len(set(looks)) == 200
    copies = [difference_hash(np.asarray(again(picture(seed), 97))) for seed in range(200)]
    assert sum(map(str.__eq__, looks, copies)) >= 100
    assert difference_hash(np.full((50, 40, 3), 7, dtype=np.uint8)) == ""


def question(images, samples):
    return Question("predictions", "classifies_images", samples, images)


def test_pictures_that_repeat_are_told_with_counts(tmp_path):
    paths = []
    for seed in range(12):
        paths.append(tmp_path / f"{seed}.png")
        picture(seed % 10).save(paths[-1])  # 10 and 11 have the bytes of 0 and 1
    for seed in range(6):  # not the bytes, but mostly the look of 2 to 7
        paths.append(tmp_path / f"again-{seed}.jpg")
        again(picture(seed + 2), 100).save(paths[-1], quality=100)
    images = ImageFiles(paths)
    repeats = PictureRepeats.of([question(images, [path.name for path in paths])])
    for index in range(len(images)):
        images.load(index)
    assert len(images.hashed_looks()) == 16  # of each content once, while it was loaded
    (told,) = repeats.warnings()
    assert "2 of 18 pictures have the bytes of another, such as '0.png' and '10.png'" in told.message
    assert "pictures have the look (perceptual hash) of another" in told.message
    assert "--cluster" in told.message
    same = ChosenImages(images, [0, 0, 1, 1, 2])
    questions = [question(same, list("abcde")), question(FirstImages(images, 3), list("xyz"))]
    assert PictureRepeats.of(questions).warnings() == PictureRepeats.of([]).warnings() == []


def test_a_look_is_the_same_whenever_it_is_hashed(tmp_path, monkeypatch):
    paths = [tmp_path / f"{seed}.png" for seed in range(6)]
    for path, seed in zip(paths, (0, 1, 2, 3, 4, 0), strict=True):
        picture(seed).resize((640, 640)).save(path, compress_level=seed + 1 + 2 * (path.stem == "5"))
    messages = []
    for positions in ([], range(3), range(6)):
        monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / f"home {len(messages)}"))
        images = ImageFiles(paths)
        repeats = PictureRepeats.of([question(images, [path.name for path in paths])])
        for index in positions:
            images.load(index)
        assert sorted(images.hashed_looks()) == list(positions)
        messages.append([warning.message for warning in repeats.warnings()])
        again = ImageFiles(paths)  # another run over the same pictures hashes nothing
        PictureRepeats.of([question(again, [path.name for path in paths])])
        again.load(0)
        assert again.hashed_looks() == {}
    assert messages[0] == messages[1] == messages[2]
    assert "1 of 6 pictures have the look (perceptual hash) of another" in messages[0][0]


def test_looks_stay_in_their_process():
    """Other processes would hash what nobody asks them for."""
    images = TarImages([], [])
    images.hash_looks([3])
    assert "_looks" not in images.__reduce_ex__(4)[2]


@pytest.fixture
def table(tmp_path):
    """Predictions for pictures beside the table; the last two repeat bytes, and one is not there."""
    folder = tmp_path / "data"
    (folder / "pictures").mkdir(parents=True)
    for seed in range(12):
        picture(seed % 10).save(folder / "pictures" / f"{seed:02}.png")
    rows = [
        ("ab"[row % 2], "ab"[row // 2 % 2], "mf"[row // 4 % 2], f"pictures/{row % 13:02}.png", row // 2)
        for row in range(52)
    ]
    columns = ["truth", "prediction", "group", "image_path", "person"]
    pl.DataFrame(rows, columns, orient="row").write_csv(folder / "t.csv")
    return folder / "t.csv"


def codes_of(table, **options):
    options = {"truth": "truth", "prediction": "prediction", "by": "group", "inference": "none"} | options
    warnings = eh.audit(table, **options).findings.warnings
    return {warning.code: warning for warning in warnings}


def test_an_audit_tells_repeated_pictures_of_its_table(table, monkeypatch):
    warning = codes_of(str(table))["repeated_images"]
    assert warning.message.startswith(
        "2 of 12 pictures have the bytes of another, such as '00.png' and '10.png'"
    )
    assert warning.message.endswith("add a column that names what is one picture: --cluster COL")
    assert (warning.columns, warning.option) == (["image_path"], "--cluster")
    assert "repeated_images" not in codes_of(str(table), cluster="person")
    assert "repeated_images" not in codes_of(pl.read_csv(table))  # paths begin in the current folder
    monkeypatch.chdir(table.parent)
    assert "repeated_images" in codes_of(pl.read_csv(table))


def test_pictures_that_were_not_opened_are_told(table, monkeypatch):
    monkeypatch.setattr("evenhand.workflows.execution.repeated_images.MOST_LOOKED_AT", 11)
    message = codes_of(str(table))["repeated_images"].message
    assert message.startswith(
        "of 12 pictures in 'image_path' the first 11 were compared; 1 of 11 pictures have"
    )
    monkeypatch.setattr("evenhand.workflows.execution.repeated_images.MOST_LOOKED_AT", 5)
    warning = codes_of(str(table))["repeated_images"]
    assert (
        warning.message == "of 12 pictures in 'image_path' the first 5 were compared, none of which repeats"
    )
    assert warning.option is None


def test_names_that_are_no_pictures_here_are_not_opened(table, tmp_path):
    frame = pl.read_csv(table)
    for name, column in {
        "addresses": "https://example.com/" + pl.col("image_path"),
        "elsewhere": "nowhere/" + pl.col("image_path"),
        "devices": pl.lit("/dev/zero"),
        "odd": pl.lit("a\0.png"),
        "numbers": pl.int_range(52),
    }.items():
        path = tmp_path / f"{name}.parquet"
        frame.with_columns(column.alias("image_path")).write_parquet(path)
        assert "repeated_images" not in codes_of(str(path))
