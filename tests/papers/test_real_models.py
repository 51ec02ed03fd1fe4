"""Real pretrained networks on real faces and images, from the command line to findings."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import evenhand as eh
from tests.conftest import ROOT, SHARED

pytestmark = pytest.mark.nightly

MODELS = SHARED / "assets" / "models"
GENDER = {
    "input": {"name": "image", "size": [112, 112], "filter": "bilinear", "scale": "0-255"},
    "classify": {"output": "t113", "gives": "logits", "labels": ["male", "female"]},
}


@pytest.fixture
def gender_net(tmp_path: Path) -> str:
    file = MODELS / "age_gender.onnx"
    if not file.is_file():
        pytest.skip(f"needs {file}")
    pytest.importorskip("onnxruntime")
    (tmp_path / "gender.json").write_text(json.dumps(GENDER))
    return f"onnx:{file}@{tmp_path / 'gender.json'}"


def on_faces(faces: Path, model: str, out: Path, by: str) -> eh.Run:
    given = {"image": "img_path", "truth": "true_gender", "by": by, "roots": f"{faces.parent},"}
    given["roots"] += str(faces.parent / "extra_val")
    return eh.run("classification", model=model, data=faces, parameters=given, out=out)


def test_the_gender_net_is_right_on_84_percent_of_the_faces(faces, gender_net, tmp_path):
    by = "true_gender,true_race,true_gender+true_race"
    run = on_faces(faces, gender_net, tmp_path / "run", by)
    accuracy = run.finding("accuracy", "true_race")
    assert accuracy.n == 1_004
    assert accuracy.dropped == []
    assert accuracy.value == pytest.approx(0.84, abs=0.01)
    assert {group.key for group in run.finding("accuracy", "true_gender").groups} == {"Female", "Male"}
    assert len(run.finding("accuracy", ("true_gender", "true_race")).parts) == 14
    # the findings rest on the raw answers in the folder, joined with the annotations by sample
    rows = pl.read_parquet(tmp_path / "run/evidence/predictions/*.parquet")
    right = (rows["truth"] == rows["prediction"].str.to_titlecase()).mean()
    assert accuracy.value == pytest.approx(right)
    again = on_faces(faces, gender_net, tmp_path / "again", by)
    assert again.findings == run.findings
    assert again.manifest["asking"]["questions"][0]["asked"] == 0


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """The generated pairs as a table: scene, perceived gender and skin colour of the person in it."""
    images = sorted((SHARED / "assets" / "pairs" / "data").glob("*/*/*.png"))
    if len(images) != 200:
        pytest.skip(f"needs {SHARED / 'assets' / 'pairs'}")
    rows = []
    for image in images:
        skin, _, gender = image.stem.rstrip("1").partition("_")
        rows.append({"path": str(image), "part": image.parts[-3], "skin": skin, "gender": gender})
    table = tmp_path / "pairs.csv"
    pl.DataFrame(rows).write_csv(table)
    return table


def test_mobilenet_answers_the_pairs_through_a_class_of_15_lines(pairs, monkeypatch):
    pytest.importorskip("ai_edge_litert")
    monkeypatch.setenv("MOBILENETS", str(MODELS))
    model = f"{ROOT / 'examples' / 'mobilenet_litert.py'}:MobileNet"
    given = {"image": "path", "truth": "part", "by": "gender,skin,gender+skin", "spelling": "any"}
    run = eh.run("classification", model=model, data=pairs, parameters=given)
    crossed = run.finding("skewsize", ("gender", "skin"))
    assert crossed.n == 200
    assert {tuple(group.key): group.n for group in crossed.groups} == {
        (gender, skin): 50 for gender in ("man", "woman") for skin in ("black", "white")
    }
    assert all(0 <= part.value <= 1 for part in crossed.parts)
    assert len(crossed.parts) == 3
    assert run.evidence["predictions"].collect()["prediction"].n_unique() > 20


def test_the_gender_net_on_the_pairs_by_skin_colour(pairs, gender_net):
    given = {"image": "path", "truth": "gender", "by": "skin", "rename": "male=man,female=woman"}
    run = eh.run("classification", model=gender_net, data=pairs, parameters=given)
    assert run.finding("accuracy", "skin").n == 200
    assert run.finding("skewsize", "skin").reason == "one_usable_class"  # one of the two is never mistaken
    assert run.finding("cramers_v_mean", "skin").null is not None


def test_the_expression_net_reads_every_face_and_is_audited_by_gender(faces, tmp_path):
    pytest.importorskip("onnxruntime")
    names = ["neutral", "happy", "sad", "angry", "fearful", "disgusted", "surprised"]
    sidecar = {
        "input": {"size": [112, 112], "scale": "0-255"},
        "classify": {"output": "t121", "gives": "probabilities", "labels": names},
    }
    (tmp_path / "expression.json").write_text(json.dumps(sidecar))
    model = f"onnx:{MODELS / 'face_expression.onnx'}@{tmp_path / 'expression.json'}"
    roots = f"{faces.parent},{faces.parent / 'extra_val'}"
    # expressions are not annotated: the question is whether they differ by gender within each age
    given = {"image": "img_path", "truth": "true_age", "by": "true_gender", "roots": roots, "spelling": "any"}
    run = eh.run("classification", model=model, data=faces, parameters=given)
    skewsize = run.finding("skewsize", "true_gender")
    assert skewsize.n == 1_004
    assert len(skewsize.parts) == 9
    rows = run.evidence["predictions"].collect()
    assert set(rows["prediction"]) <= set(names)
    assert rows["prediction"].n_unique() >= 5
    assert rows["confidence"].is_between(1 / 7 - 1e-6, 1).all()
