"""Boxes cut out of images, and some images of many."""

import pickle

import numpy as np
import pytest
from PIL import Image

from evenhand.core.errors import ParameterError
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.cropped import ChosenImages, CroppedImages, box_in_pixels, image_size
from evenhand.files.images.sources import ImageFiles
from tests.benchmarks.people_layouts import picture


def as_released(pixels, box):
    """What the code of the paper does, said with Pillow: cut, then cut to a square."""
    image = Image.fromarray(pixels).crop([float(each) for each in box])
    width, height = image.size
    side = min(image.size)
    if max(image.size) / side >= 1.2:
        left = 0 if width < height else int((width - side) / 2)
        image = image.crop((left, 0, left + side, side if width < height else height))
    return np.asarray(image)


class Noise:
    """Images of noise in memory, which count how often they are decoded."""

    def __init__(self, count, width, height):
        self.shape, self.count, self.decoded = (height, width, 3), count, 0

    def __len__(self):
        return self.count

    def digest(self, index):
        if index == 3:
            raise UnreadableImage("no such file")
        return f"{index:064d}"

    def load(self, index):
        self.decoded += 1
        return np.random.default_rng(index).integers(0, 255, self.shape, dtype=np.uint8)


def test_every_box_is_cut_as_the_released_code_cuts_it():
    rng = np.random.default_rng(0)
    width, height = 211, 167
    source = Noise(1, width, height)
    for _ in range(300):
        left, right = np.sort(rng.random(2))
        top, bottom = np.sort(rng.random(2))
        if (right - left) * width < 2 or (bottom - top) * height < 2:
            continue
        box = (left, top, right, bottom)
        found = CroppedImages(source, [0], [box], "code").load(0)
        pixels = (left * width, top * height, right * width, bottom * height)
        assert np.array_equal(found, as_released(source.load(0), pixels))


@pytest.mark.parametrize(
    ("box", "square", "expected"),
    [
        ((0, 0, 0.5, 1), "code", (0, 0, 200, 200)),  # tall: the top
        ((0, 0, 0.5, 1), "paper", (0, 0, 200, 200)),
        ((0, 0, 0.5, 1), "none", (0, 0, 200, 300)),
        ((0, 0, 1, 0.5), "code", (125, 0, 275, 150)),  # wide: the middle
        ((0, 0, 1, 0.5), "paper", (0, 0, 150, 150)),  # wide: the left
        ((0.25, 0.5, 1, 1), "code", (175, 150, 325, 300)),
        ((0, 0, 0.3, 1 / 3 * 1.19), "code", (0, 0, 120, 119)),  # square enough
        ((0, 0, 0.25, 0.4), "code", (0, 0, 100, 100)),  # a ratio of exactly 1.2 is cut
        ((0, 0, 0.25, 0.39), "code", (0, 0, 100, 117)),
    ],
)
def test_boxes_far_from_square_become_squares(box, square, expected):
    assert box_in_pixels(box, 400, 300, square) == expected


def test_boxes_of_one_image_decode_it_once():
    source = Noise(3, 40, 40)
    boxes = CroppedImages(source, [0, 0, 0, 2], [(0, 0, 1, 1)] * 4)
    for index in range(4):
        boxes.load(index)
    assert source.decoded == 2


def test_equal_digests_mean_equal_pixels(tmp_path):
    files = ImageFiles([picture(tmp_path / f"{n}.png", 40, 30, seed=min(n, 1)) for n in range(3)])  # 1 is 2
    boxes = [(0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 1, 1), (0, 0, 1, 0.5), (0, 0, 1, 0.5)]
    chosen = [0, 1, 2, 1, 2]
    code, paper = (CroppedImages(files, chosen, boxes, square) for square in ("code", "paper"))
    assert code.digests(0, 5) == [code.digest(index) for index in range(5)]
    assert len(set(code.digests(0, 5))) == 3
    assert code.digest(1) == code.digest(2) != code.digest(3) == code.digest(4)
    assert not set(code.digests(0, 5)) & set(paper.digests(0, 5))
    assert np.array_equal(code.load(1), code.load(2))


def test_what_is_chosen_comes_in_the_order_asked_for_and_repeats():
    source = Noise(9, 4, 4)
    chosen = ChosenImages(source, [7, 0, 1, 7, 3, 5])
    assert len(chosen) == 6
    digests = chosen.digests(0, 6)
    assert [each if isinstance(each, UnreadableImage) else int(each) for each in digests[:4]] == [7, 0, 1, 7]
    assert isinstance(digests[4], UnreadableImage)
    assert chosen.digests(2, 4) == [f"{1:064d}", f"{7:064d}"]
    assert chosen.digests(3, 3) == []
    assert np.array_equal(chosen.load(3), source.load(7))


def test_crops_are_sent_to_other_processes(tmp_path):
    crops = CroppedImages(ImageFiles([picture(tmp_path / "a.png", 40, 30)]), [0], [(0, 0, 1, 0.5)])
    pixels = crops.load(0)
    again = pickle.loads(pickle.dumps(crops))  # noqa: S301 - our own
    assert np.array_equal(again.load(0), pixels)
    assert again.digest(0) == crops.digest(0)


def test_trouble_is_an_unreadable_image(tmp_path):
    files = ImageFiles([tmp_path / "none.png", picture(tmp_path / "a.png", 10, 10)])
    crops = CroppedImages(files, [0, 1], [(0, 0, 1, 1), (0.5, 0.5, 0.51, 0.51)])
    with pytest.raises(UnreadableImage, match="no such file"):
        crops.load(0)
    with pytest.raises(UnreadableImage, match="less than a pixel"):
        crops.load(1)
    assert isinstance(crops.digests(0, 2)[0], UnreadableImage)
    with pytest.raises(ParameterError, match="crop='left' is not possible; choose one of 'code', 'paper'"):
        CroppedImages(files, [0], [(0, 0, 1, 1)], "left")


def test_sizes_come_from_the_header_turned_as_the_camera_noted(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    assert image_size(str(picture(tmp_path / "a.jpg", 30, 20))) == (30, 20)
    turned = picture(tmp_path / "b.jpg", 30, 20, exif=exif)
    assert image_size(str(turned)) == (20, 30)
    assert ImageFiles([turned]).load(0).shape == (30, 20, 3)
    with pytest.raises(UnreadableImage, match="no such file"):
        image_size(str(tmp_path / "none.jpg"))
    (tmp_path / "c.jpg").write_bytes(b"no image")
    with pytest.raises(UnreadableImage, match="header"):
        image_size(str(tmp_path / "c.jpg"))
