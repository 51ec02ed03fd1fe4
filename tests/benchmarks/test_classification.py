"""A user's own labelled images, asked of every kind of model that can name a label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

import evenhand as eh
from evenhand.benchmarks.labelling.measures import respelled
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
    assert "labels" not in run.tables  # the model's own, not the run's


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
    assert run.tables["labels"].to_dict(as_series=False) == {"label": names, "text": names}


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


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            "no idea",
            r"no answer names a label: 118 x .* no label; the first is 'no idea'; labels: '",
        ),
        ("red or green", r"no answer names a label alone: 118 x answer names several labels"),
    ],
)
def test_answers_of_which_none_names_a_label_are_refused_as_such(table, said, message):
    class Speaker:
        version = said

        def answer(self, images, prompts):
            return [said] * len(images)

    with pytest.raises(UserError, match=message):
        classify(table, Speaker(), ask="answer")


def test_a_tiny_chat_model_answers_every_image(table):
    model = f"hf:{build('llava')}"
    with pytest.raises(UserError, match=r"no answer names a label|has one group"):
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


class Embedder:
    """A dual encoder of colours; what it cannot say has no vector."""

    version = "1"
    logit_scale = 100.0

    def embed_images(self, images):
        return np.stack([image.reshape(-1, 3).mean(axis=0) for image in images]).astype(np.float32)

    def embed_texts(self, texts):
        known = {f"a photo of a {name}": colour for name, colour in COLOURS.items()}
        return np.array([known.get(text, (np.nan,) * 3) for text in texts], dtype=np.float32)


def labels_in(tmp_path: Path, content: bytes) -> str:
    (tmp_path / "labels.txt").write_bytes(content)
    return str(tmp_path / "labels.txt")


def test_a_limit_keeps_the_labels_of_the_whole_table(table):
    run = eh.run(
        "classification",
        model=Embedder(),
        data=table,
        parameters={"image": "path", "truth": "label"},
        limit=2,
    )
    assert run.finding("accuracy").n == 2
    assert len(run.evidence["texts"].collect()) == 3


def test_a_text_without_vector_is_named(table, tmp_path):
    file = labels_in(tmp_path, b"Red\nMauve\n")
    with pytest.raises(UserError, match="no finite vector for the text 'a photo of a Mauve'"):
        classify(table, Embedder(), labels=file)


@pytest.mark.parametrize(
    ("content", "problem", "message"),
    [
        (b"Red\n", UserError, "chooses among labels"),
        (b"Red\tsame\nBlue\tsame\n", ParameterError, "'Red' and 'Blue' have the same text 'same'"),
        (b"Red\n\xff\n", InputError, "UTF-8"),
        (b"Red\n\nBlue\nRed\n", InputError, "line 4 repeats the label 'Red'"),
        (b"Red\n\ttext\n", InputError, "line 2 has an empty label"),
    ],
)
def test_labels_that_cannot_be_used(table, tmp_path, content, problem, message):
    with pytest.raises(problem, match=message) as told:
        classify(table, Embedder(), labels=labels_in(tmp_path, content))
    assert "\n" not in str(told.value)


def test_a_byte_order_mark_is_no_part_of_a_label(table, tmp_path):
    file = labels_in(tmp_path, "\ufeffRed\nGreen\nBlue\n".encode())
    assert classify(table, Embedder(), labels=file).finding("accuracy", "light").n == 118


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"c\nc++\n", "'c' and 'c\\+\\+' are both 'c'"), (b"Red\n+\n", "'\\+' has no letter")],
)
def test_labels_that_an_answer_cannot_tell_apart(table, tmp_path, content, message):
    class Speaker:
        version = "1"

        def answer(self, images, prompts):
            return ["red"] * len(images)

    with pytest.raises(ParameterError, match=message):
        classify(table, Speaker(), labels=labels_in(tmp_path, content))


def test_repeated_ids_are_noted_in_the_manifest(table):
    pl.concat([pl.read_csv(table)] * 2).write_csv(table)
    run = classify(table, ByChannel())
    assert run.manifest["asking"]["notes"] == {"rows whose id stands on an earlier row": 120}


def test_ranks_of_a_table_are_not_samples(table, tmp_path):
    names = pl.read_csv(table).select(sample="path", first="label")
    ranks = [
        names.select("sample", prediction="first", rank=pl.lit(1)),
        names.select("sample", prediction=pl.lit("Red"), rank=pl.lit(2)),
    ]
    pl.concat(ranks).write_csv(tmp_path / "ranked.csv")
    found = classify(table, f"table:{tmp_path / 'ranked.csv'}").finding("accuracy", "light")
    assert (found.n, found.value) == (120, 1.0)


def test_linked_class_folders_are_not_walked(tmp_path):
    for name in ("Red", "Blue"):
        (tmp_path / "data" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8), COLOURS[name]).save(tmp_path / "data" / name / "0.png")
    (tmp_path / "data" / "All").symlink_to(tmp_path / "data")
    assert eh.run("classification", model=ByChannel(), data=tmp_path / "data").finding("accuracy").n == 2


def test_rows_of_parquet_may_give_a_path_in_place_of_bytes(tmp_path):
    (tmp_path / "img").mkdir()
    Image.new("RGB", (8, 8), COLOURS["Red"]).save(tmp_path / "img" / "0.png")
    rows = [{"image": {"bytes": None, "path": path}, "label": "Red"} for path in ("img/0.png", None)]
    kind = pl.Struct({"bytes": pl.Binary, "path": pl.String})
    pl.DataFrame(rows, schema={"image": kind, "label": pl.String}).write_parquet(tmp_path / "t.parquet")
    parameters = {"truth": "label"}
    run = eh.run("classification", model=ByChannel(), data=tmp_path / "t.parquet", parameters=parameters)
    assert run.finding("accuracy").n == 1
    assert run.unanswered["reason"].to_list() == ["no image in the row"]


def test_groups_in_two_spellings_are_named(table):
    rows = pl.read_csv(table)
    rows.with_columns(
        light=pl.when(pl.int_range(pl.len()) < 20).then(pl.col("light") + " ").otherwise("light")
    ).write_csv(table)
    run = classify(table, ByChannel())
    (warning,) = (one for one in run.findings.warnings if one.code == "spelled_alike")
    assert "'bright' (50 rows), 'bright ' (9 rows)" in warning.message
    assert "each is its own group. Mend the table of images" in warning.message


def test_labels_of_a_model_that_differ_in_case_alone_stay_two():
    frame = pl.DataFrame({"prediction": ["left", "Left", "RIGHT", "up"]}).lazy()
    told = respelled(frame, "", ["Left", "Right"]).collect()["prediction"].to_list()
    assert told == ["left", "Left", "Right", "up"]
    told = respelled(frame, "left=Left", ["Left", "Right"]).collect()["prediction"].to_list()
    assert told == ["Left", "Left", "Right", "up"]
