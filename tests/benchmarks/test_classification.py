"""A user's own labelled images, asked of every kind of model that can name a label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName, UserError
from tests.models.tiny import build

COLOURS = {"Red": (220, 20, 20), "Green": (20, 220, 20), "Blue": (20, 20, 220)}


class ByChannel:
    """Names the strongest channel; what is dark and blue is green to it."""

    version = "1"
    labels = ("red", "green", "blue")

    def classify(self, images):
        means = np.stack([image.reshape(-1, 3).mean(axis=0) for image in images])
        dark = np.array([image.max() < 150 for image in images])
        means[dark & (means.argmax(axis=1) == 2), 1] = 255
        return means.astype(np.float32)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """120 images: three colours, bright and dark, one file that is no image, one that is not there."""
    rows = []
    for index in range(120):
        name = list(COLOURS)[index % 3]
        light = "dark" if index % 2 else "bright"
        colour = np.array(COLOURS[name]) // (2 if light == "dark" else 1)
        noise = np.random.default_rng(index).integers(0, 20, (24, 30, 3))
        path = tmp_path / "images" / f"{index}.png"
        path.parent.mkdir(exist_ok=True)
        Image.fromarray((colour + noise).astype(np.uint8)).save(path)
        rows.append({"path": f"images/{index}.png", "label": name, "light": light, "half": "ab"[index >= 60]})
    (tmp_path / "images" / "7.png").write_bytes(b"no image")
    (tmp_path / "images" / "8.png").unlink()
    pl.DataFrame(rows).write_csv(tmp_path / "images.csv")
    return tmp_path / "images.csv"


def classify(table: Path, model: object, by: str = "light", out: Path | None = None, **parameters: str):
    given = {"image": "path", "truth": "label", "by": by} | parameters
    return eh.run("classification", model=model, data=table, parameters=given, out=out)


def test_a_classifier_is_audited_by_group(table):
    run = classify(table, ByChannel(), by="light,half,light+half")
    accuracy = run.finding("accuracy", "light")
    assert accuracy.n == 118
    assert {(one.reason, one.count) for one in accuracy.dropped} == {
        ("not an image", 1),
        ("no such file", 1),
    }
    values = {part.key: part.value for part in accuracy.parts}
    assert values["bright"] == 1.0
    assert values["dark"] == pytest.approx(39 / 59)  # no dark blue is right; 7 was dark and green
    assert run.finding("skewsize", "light").part("Blue").value == pytest.approx(1.0)
    assert run.finding("skewsize", ("light", "half")).by == ["light", "half"]
    assert run.unanswered.sort("sample")["reason"].to_list() == ["not an image", "no such file"]


def test_predictions_take_the_spelling_of_the_truths(table):
    run = classify(table, ByChannel())
    assert run.evidence["predictions"].collect()["prediction"].unique().sort().to_list() == [
        "blue",
        "green",
        "red",
    ]
    assert set(run.counts["predictions"].axis("prediction").levels) >= {"Blue", "Green", "Red"}


def test_a_dual_encoder_is_asked_by_text(table):
    source = f"hf:{build('clip')}"
    run = classify(table, source, templates="a photo of {label} | {label} picture")
    vectors = run.evidence["images"].collect()
    assert vectors.height == 118
    texts = run.evidence["texts"].collect()
    assert set(texts["sample"]) == {
        form.format(name) for name in COLOURS for form in ("a photo of {}", "{} picture")
    }
    unit = np.stack(list(vectors["vector"].to_numpy())).astype(float)
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    by_text = {
        name: np.array(vector) / np.linalg.norm(vector)
        for name, vector in texts.select("sample", "vector").iter_rows()
    }
    names = sorted(COLOURS)
    means = np.stack([by_text[f"a photo of {name}"] + by_text[f"{name} picture"] for name in names])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    expected = {
        sample: names[best]
        for sample, best in zip(vectors["sample"], (unit @ means.T).argmax(axis=1), strict=True)
    }
    truth = dict(run.evidence["annotations"].select("sample", "truth").collect().iter_rows())
    right = np.mean([expected[sample] == truth[sample] for sample in expected])
    assert run.finding("accuracy", "light").value == pytest.approx(right)


def test_a_model_that_answers_in_words(table):
    class Speaker:
        version = "1"

        def answer(self, images, prompts):
            assert prompts[0] == "Blue, Green, Red?"
            said = np.stack([image.reshape(-1, 3).mean(axis=0) for image in images]).argmax(axis=1)
            words = ["It is red.", "green", "no idea"]
            return [words[one] for one in said]

    run = classify(table, Speaker(), prompt="{labels}?", ask="answer")
    dropped = {one.reason: one.count for one in run.finding("accuracy", "light").dropped}
    assert dropped == {"answer names no label": 39, "not an image": 1, "no such file": 1}
    assert run.finding("accuracy", "light").value == 1.0


def test_a_tiny_chat_model_answers_every_image(table):
    model = f"hf:{build('llava')}"
    with pytest.raises(UserError, match=r"no usable row|no predicted label|has one group"):
        classify(table, model)  # random weights name no colour; every answer is kept and counted


def test_answers_made_elsewhere_take_the_place_of_a_model(table, tmp_path):
    asked = classify(table, ByChannel(), out=tmp_path / "run")
    again = classify(table, f"table:{tmp_path / 'run' / 'evidence' / 'predictions'}")
    assert again.finding("accuracy", "light").value == asked.finding("accuracy", "light").value
    assert {one.reason for one in again.finding("accuracy", "light").dropped} == {"not in the table"}


def test_embeddings_made_elsewhere_are_classified_by_text(table, tmp_path):
    asked = classify(table, f"hf:{build('clip')}", out=tmp_path / "run")
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for name in ("images", "texts"):
        pl.read_parquet(tmp_path / "run/evidence" / name / "*.parquet").write_parquet(
            folder / f"{name}.parquet"
        )
    again = classify(table, f"table:{folder}")
    assert again.finding("accuracy", "light").value == asked.finding("accuracy", "light").value


def test_a_folder_for_each_class_gives_an_accuracy(tmp_path):
    for name, colour in COLOURS.items():
        for index in range(4):
            path = tmp_path / "classes" / name / f"{index}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (8, 8), colour).save(path)
    run = eh.run("classification", model=ByChannel(), data=tmp_path / "classes")
    assert run.finding("accuracy").value == 1.0
    assert run.finding("accuracy").n == 12


@pytest.mark.parametrize(
    ("parameters", "problem", "message"),
    [
        ({"truth": "lable"}, UnknownName, "did you mean 'label'"),
        ({"templates": "a photo"}, ParameterError, r"has no \{label\}"),
        ({"rename": "red"}, ParameterError, "no list"),
        ({"rename": "red=a,green=b,blue=c"}, UserError, "no predicted label is a true one"),
        ({"labels": "nowhere.txt"}, InputError, "no file 'nowhere.txt'"),
        ({"ask": "guess"}, ParameterError, "'zero_shot'"),
    ],
)
def test_mistakes_are_told_in_one_line(table, parameters, problem, message):
    model = f"hf:{build('clip')}" if "templates" in parameters else ByChannel()
    with pytest.raises(problem, match=message) as told:
        classify(table, model, **parameters)
    assert "\n" not in str(told.value)


def test_a_model_that_cannot_is_told_who_can(table):
    with pytest.raises(UserError, match=r"asks for embeds_images.*hf:.*clip.*ls models --can embeds_images"):
        classify(table, ByChannel(), ask="zero_shot")
