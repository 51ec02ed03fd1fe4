from __future__ import annotations

import base64
import io

import numpy as np
from PIL import Image

from evenhand.files.images.thumbnails import thumbnail


def test_a_small_copy_keeps_its_shape_and_nothing_else():
    pixels = np.zeros((400, 200, 3), dtype=np.uint8)
    pixels[..., 0] = 200
    kind, _, content = thumbnail(pixels, 80).partition(",")
    assert kind == "data:image/jpeg;base64"
    with Image.open(io.BytesIO(base64.b64decode(content))) as image:
        assert image.size == (40, 80)
        assert not image.getexif()
        red, green, _ = image.getpixel((20, 40))
        assert red > 180
        assert green < 20


def test_small_pictures_are_not_enlarged():
    content = thumbnail(np.zeros((8, 9, 3), np.uint8)).partition(",")[2]
    with Image.open(io.BytesIO(base64.b64decode(content))) as image:
        assert image.size == (9, 8)
