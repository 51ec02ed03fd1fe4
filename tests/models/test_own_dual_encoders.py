"""A dual encoder of the user's own: what its vectors and its scale must be."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.core.errors import UserError
from evenhand.evidence.derivation.from_vectors import check_one_space
from evenhand.models.adapters.own_code import ObjectSource


class Colours:
    """The mean colour of an image beside the colours that a text names."""

    logit_scale = 100.0

    def embed_images(self, images):
        return np.array([image.mean(axis=(0, 1)) for image in images], np.float32)

    def embed_texts(self, texts):
        named = [[colour in text for colour in ("red", "green", "blue")] for text in texts]
        return np.array(named, np.float32) + 0.1


class LongTexts(Colours):
    def embed_texts(self, texts):
        return np.ones((len(texts), 4), np.float32)


class FlatImages(Colours):
    def embed_images(self, images):
        return np.ones(len(images), np.float32)


class SilentImages(Colours):
    def embed_images(self, images):
        return np.zeros((len(images), 3), np.float32)


class EqualTexts(Colours):
    def embed_texts(self, texts):
        return np.ones((len(texts), 3), np.float32)


@pytest.fixture
def table(tmp_path):
    """Twelve plain images, red or blue, of two lights."""
    rows = []
    for number in range(12):
        label = ("red", "blue")[number % 2]
        colour = (200, 10, 10) if label == "red" else (10, 10, 200)
        Image.new("RGB", (8, 8), colour).save(tmp_path / f"{number}.png")
        rows.append({"path": f"{number}.png", "label": label, "light": ("day", "night")[number % 3 == 0]})
    pl.DataFrame(rows).write_csv(tmp_path / "images.csv")
    return tmp_path / "images.csv"


def classify(table, model):
    given = {"image": "path", "truth": "label", "by": "light"}
    return eh.run("classification", model=model, data=table, parameters=given)


@pytest.mark.parametrize(
    ("model", "widths"),
    [(LongTexts(), "3 numbers, those of texts 4"), (FlatImages(), "1 numbers, those of texts 3")],
)
def test_vectors_of_two_lengths_are_one_line_that_names_both_methods(table, model, widths) -> None:
    with pytest.raises(UserError, match=widths) as problem:
        classify(table, model)
    text = str(problem.value)
    assert all(word in text for word in ("embed_images()", "embed_texts()", "version"))
    assert "\n" not in text


@pytest.mark.parametrize("scale", ["big", (1.0, 2.0), float("nan"), float("inf"), True, object()])
def test_a_scale_that_is_no_number_is_refused_before_anything_is_asked(scale) -> None:
    model = Colours()
    model.logit_scale = scale
    with pytest.raises(UserError, match=r"logit_scale of 'Colours' .*number, such as 100\.0") as problem:
        ObjectSource(model, "Colours").load()
    assert "\n" not in str(problem.value)


@pytest.mark.parametrize("scale", [1, 100.0, np.float32(14.3), np.array(2.0)])
def test_a_scale_of_any_number_type_is_taken(scale) -> None:
    model = Colours()
    model.logit_scale = scale
    assert ObjectSource(model, "Colours").load() is model


def test_vectors_that_prefer_no_label_are_warned_of(table) -> None:
    assert _codes(classify(table, Colours())) == []
    silent, equal = classify(table, SilentImages()), classify(table, EqualTexts())
    assert _codes(silent) == ["tied_scores"]
    assert _tied(silent).startswith("12 of 12 vectors of 'images' are 0")
    assert _codes(equal) == ["tied_scores"]
    assert _tied(equal).startswith("all 2 vectors of 'texts' are equal")


def _tied(run) -> str:
    return next(warning.message for warning in run.findings.warnings if warning.code == "tied_scores")


def _codes(run) -> list[str]:
    codes = [warning.code for warning in run.findings.warnings]
    return [code for code in codes if code != "repeated_images"]  # plain colours repeat


def test_only_vectors_of_one_length_are_one_space() -> None:
    with pytest.raises(UserError, match="images have 3 numbers, those of texts 4"):
        check_one_space([3, 3], 4)
    check_one_space([4, 4], 4)
    check_one_space([], 4)
