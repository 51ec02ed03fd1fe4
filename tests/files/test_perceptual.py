"""Copies of a picture are found by what they look like, other pictures are not."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from evenhand.core.requests import Question
from evenhand.execution.repeated_images import repeated_images
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.perceptual import difference_hash
from evenhand.files.images.sources import FirstImages, ImageFiles


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
    (told,) = repeated_images([question(images, [path.name for path in paths])])
    assert "2 of 18 pictures have the bytes of another, such as '0.png' and '10.png'" in told.message
    assert "pictures have the look (perceptual hash) of another" in told.message
    assert "--cluster" in told.message
    same = ChosenImages(images, [0, 0, 1, 1, 2])
    assert (
        repeated_images([question(same, list("abcde")), question(FirstImages(images, 3), list("xyz"))]) == []
    )
    assert repeated_images([]) == []
