"""What the recipes of CONTRIBUTING add, used once: test_contributing runs this file where they are typed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.models.resolve import resolve
from evenhand.workflows.execution.options import AskOptions
from evenhand.workflows.outputs.artifact import artifact, write_artifact
from evenhand.workflows.outputs.export import export
from tests.conftest import make_frame

SHAPES = ("square", "ellipse", "heart")


class ByArea:
    """Names a sprite by how much of the image it covers."""

    labels, version = SHAPES, "1"

    def classify(self, images):
        areas = np.array([(image.max(axis=2) > 0).mean() for image in images])
        return -np.abs(areas[:, None] - np.array([0.074, 0.058, 0.051])).astype(np.float32)


def run_recipe(benchmark, **more):
    return eh.run(benchmark, model=ByArea(), options=AskOptions(keep_answers=False, workers=1), **more)


@pytest.fixture(scope="module")
def sprites(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sprites") / "run"
    run_recipe("sprites", limit=300, out=folder)
    return eh.Run.read(folder)


def test_the_metric_is_what_it_says():
    frame = make_frame()
    evidence = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction")
    finding = eh.metrics.misclassification_rate(evidence, by="group")
    wrong = frame["truth"] != frame["prediction"]
    assert finding.value == pytest.approx(wrong.mean())
    for part in finding.parts:
        assert part.value == pytest.approx(wrong.filter(frame["group"] == part.key).mean())
    right = eh.metrics.accuracy(evidence, by="group")
    assert finding.interval.low == pytest.approx(1 - right.interval.high)
    assert finding.interval.low < finding.value < finding.interval.high
    called = eh.audit(
        frame, truth="truth", prediction="prediction", by="group", metrics=["misclassification_rate"]
    )
    assert called["misclassification_rate"].value == finding.value
    assert "Misclassification rate" in called.html()


def test_the_benchmark_is_run():
    run = run_recipe("sprites/halves", limit=200)
    assert {group.key for group in run.finding("accuracy", "half").groups} == {"left", "right"}
    assert run.manifest["benchmark"] == "sprites/halves"
    assert "are shapes named as well on the left as on the right?" in run.html()
    assert run.finding("accuracy", "half").n == 200


def test_the_model_family_answers_as_transformers_does(tmp_path):
    torch = pytest.importorskip("torch")
    hf = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    tower = hf.CLIPVisionModelWithProjection(
        hf.CLIPVisionConfig(**sizes, image_size=16, patch_size=8, projection_dim=12)
    ).eval()
    size = {"height": 16, "width": 16}
    pictures = hf.CLIPImageProcessorPil(size={"shortest_edge": 16}, crop_size=size)
    tower.save_pretrained(tmp_path)
    pictures.save_pretrained(tmp_path)
    image = np.random.default_rng(0).integers(0, 256, (16, 16, 3), dtype=np.uint8)
    source = resolve(f"hf:{tmp_path}")
    assert source.capabilities() == ("embeds_images",)
    found = source.load()
    with torch.inference_mode():
        wanted = tower(**pictures(image, return_tensors="pt")).image_embeds.numpy()
    assert found.embed_images([found.prepare(image)]) == pytest.approx(wanted, abs=1e-5)


def test_the_export_is_written(sprites, tmp_path):
    export([sprites.folder], format="jsonl", out=str(tmp_path / "findings.jsonl"))
    rows = [json.loads(line) for line in (tmp_path / "findings.jsonl").read_text().splitlines()]
    assert [row["metric"] for row in rows] == [finding.metric for finding in sprites.findings]
    assert [row["value"] for row in rows] == [finding.value for finding in sprites.findings]


def test_the_figure_is_drawn(sprites, tmp_path):
    points = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    made = artifact(points["evenhand.artifacts"]["sprites/accuracy"], [sprites.folder])
    rates = {part.key: part.value for part in sprites.finding("accuracy", "colour").parts}
    assert dict(made.table.select("colour", "accuracy").iter_rows()) == rates
    write_artifact(made, tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert all(colour in drawn for colour in rates)
