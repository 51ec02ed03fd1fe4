from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.benchmarks.catalogue import ARTIFACTS
from evenhand.core.errors import ParameterError, UnknownName, UserError

MODEL = '''
import numpy as np
from evenhand.benchmarks.sprites.factors import SHAPES

class BySymmetry:
    """Calls what is not symmetric a heart and the rest an ellipse; a green heart is a square to it."""

    labels = SHAPES

    def identity(self):
        return {"name": "by symmetry"}

    def classify(self, images):
        logits = np.zeros((len(images), 3), dtype=np.float32)
        for row, image in enumerate(images):
            lit = image.max(axis=2) > 0
            rows, columns = np.flatnonzero(lit.any(axis=1)), np.flatnonzero(lit.any(axis=0))
            box = lit[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
            heart = (box != box[::-1, ::-1]).mean() > 0.12
            green = image[..., 1].any()
            logits[row, 1 if not heart else 0 if green else 2] = 5.0
        return logits

class Embeds:
    """The same eye, as a dual encoder."""

    version, logit_scale = "1", 100.0

    def embed_images(self, images):
        return BySymmetry().classify(images)

    def embed_texts(self, texts):
        return np.array([[float(shape in text) for shape in SHAPES] for text in texts], dtype=np.float32)

class Speaks:
    """The same eye, in words."""

    version = "1"

    def answer(self, images, prompts):
        assert all("square, ellipse, heart" in prompt for prompt in prompts)
        return [f"It is a {SHAPES[best]}." for best in BySymmetry().classify(images).argmax(axis=1)]

class Broken(BySymmetry):
    def classify(self, images):
        logits = super().classify(images)
        logits[::4] = np.nan
        return logits

class Wrong(BySymmetry):
    def classify(self, images):
        return np.zeros((len(images), 2), dtype=np.float32)
'''


@pytest.fixture
def model(tmp_path: Path) -> str:
    (tmp_path / "by_symmetry.py").write_text(MODEL)
    return f"{tmp_path / 'by_symmetry.py'}:BySymmetry"


def test_a_planted_bias_is_found_in_its_class_and_the_run_is_whole(model, tmp_path) -> None:
    out = tmp_path / "run"
    run = eh.run("sprites", model=model, parameters={"removed": "heart"}, limit=1_500, out=out)
    parts = {part.key: part for part in run.finding("skewsize", "colour").parts}
    assert parts["heart"].value > 0.5
    assert all(part.value is None or part.value < 0.5 for key, part in parts.items() if key != "heart")
    assert parts["heart"].value > parts["heart"].null.high
    assert parts["heart"].p_adjusted < 0.01
    assert run.finding("worst_group_accuracy", "colour").value == min(
        part.value for part in run.finding("accuracy", "colour").parts if part.key == "green"
    )
    assert json.loads((out / "manifest.json").read_text())["parameters"]["removed"] == "heart"
    rows = pl.read_parquet(out / "evidence" / "predictions" / "*.parquet")
    assert rows.columns == ["sample", "truth", "prediction", "rank", "confidence"]
    assert len(rows) == 1_500
    assert rows["sample"].n_unique() == 1_500
    alike = run.finding("accuracy", samples="like training")
    kept = pl.read_parquet(out / "evidence" / "annotations" / "*.parquet").filter("like_training")
    right = rows.join(kept.select("sample"), on="sample").select(
        (pl.col("truth") == pl.col("prediction")).mean()
    )
    assert alike.value == pytest.approx(right.item())


def test_dual_encoders_and_models_that_answer_see_the_same(model) -> None:
    runs = [eh.run("sprites", model=model.replace("BySymmetry", name), limit=300) for name in
            ("BySymmetry", "Embeds", "Speaks")]  # fmt: skip
    values = [[finding.value for finding in run.findings] for run in runs]
    assert values[0] == values[1] == values[2]
    assert runs[0].finding("skewsize", "colour").part("heart").value > 0.5


def test_answers_that_are_not_finite_are_dropped_and_counted(model, tmp_path) -> None:
    run = eh.run("sprites", model=model.replace("BySymmetry", "Broken"), limit=512)
    assert run.finding("accuracy", "colour").dropped[0].reason == "answer not finite"
    assert run.finding("accuracy", "colour").dropped[0].count == 128
    assert run.finding("accuracy", "colour").n == 384
    assert len(run.unanswered) == 128
    assert run.unanswered["detail"].unique().to_list() == ["3 of 3 numbers are NaN or infinite"]


def test_a_wrong_answer_shape_is_refused(model) -> None:
    with pytest.raises(UserError, match="one number for each of 3 labels"):
        eh.run("sprites", model=model.replace("BySymmetry", "Wrong"), limit=256)


def test_a_model_without_the_capability_is_refused() -> None:
    with pytest.raises(UserError, match="meets no capability"):
        eh.run("sprites", model="py:json:loads", limit=1)


def test_parameters_are_checked(model) -> None:
    with pytest.raises(UnknownName, match="did you mean 'removed'"):
        eh.run("sprites", model=model, parameters={"remove": "heart"})
    with pytest.raises(ParameterError, match="'heart'"):
        eh.run("sprites", model=model, parameters={"removed": "circle"})


def test_an_object_is_a_model_too_and_the_seed_decides_the_samples(model, tmp_path) -> None:
    first = eh.run("sprites", model=model, limit=300)
    again = eh.run("sprites", model=model, limit=300)
    other = eh.run("sprites", model=model, limit=300, seed=1)
    assert first.findings == again.findings
    assert first.findings != other.findings


def test_the_tables_of_the_paper_stand_beside_ours(model, tmp_path) -> None:
    run = eh.run("sprites", model=model, parameters={"removed": "heart"}, limit=1_500, out=tmp_path / "run")
    stored = eh.Run.read(tmp_path / "run")
    for name in ("skewsize/table1", "skewsize/table2", "skewsize/table5"):
        table = ARTIFACTS.get(name).make([stored])
        assert table.filter(pl.col("source") == "paper").height == 4
        ours = table.filter(pl.col("source") == "ours")
        assert ours.height == 1
        assert ours["V heart"].item() == run.finding("skewsize", "colour").part("heart").value
    paper = ARTIFACTS.get("skewsize/table1").make([]).row(1, named=True)
    assert (paper["accuracy"], paper["V square"], paper["EO ellipse"]) == (0.888, 0.705, 0.483)
    # the paper's own columns agree with each other: gap = accuracy - worst group
    table = ARTIFACTS.get("skewsize/table1").make([])
    gap = table["accuracy"] - table["worst_group_accuracy"]
    assert np.allclose(gap.to_numpy(), table["accuracy_gap"].to_numpy(), atol=1e-9)


def test_tables_of_sprites_refuse_other_runs(tmp_path) -> None:
    frame = pl.DataFrame({"truth": ["a", "b"] * 9, "prediction": ["a"] * 18, "g": ["x", "y", "y"] * 6})
    audit = eh.audit(eh.Predictions.from_frame(frame, truth="truth", prediction="prediction"), by="g")
    with pytest.raises(UserError, match="evenhand run sprites"):
        ARTIFACTS.get("skewsize/table1").make([audit])
