"""The example trains, writes, reads and refuses as it says."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from evenhand.benchmarks.sprites.factors import SHAPES, draw_factors
from evenhand.benchmarks.sprites.presets import preset
from evenhand.benchmarks.sprites.render import render
from evenhand.core.capabilities import ClassifiesImages
from evenhand.core.errors import InputError
from evenhand.core.registry import load_object

SCRIPT = Path(__file__).parents[2] / "examples" / "sprites_model.py"
TINY = dataclasses.replace(preset("quick"), n_train=90, n_test=18, steps=3, batch=16)

needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("sprites_model", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def images():
    return render(draw_factors(np.random.default_rng(0), 300))


def trained(example, path, *, seed=0, size=TINY, removed="heart"):
    network, record = example.train(size, removed=removed, strength="strong", seed=seed)
    example.save(network, record, path)
    return example.load(path)


def test_importing_loads_no_torch():
    code = (
        "import sys; from evenhand.core.registry import load_object;"
        f"model = load_object({f'{SCRIPT}:planted'!r}); print(model.labels); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["('square', 'ellipse', 'heart')", "False"]


def test_both_models_can_be_named_in_a_uri():
    for name in ("planted", "fair"):
        assert isinstance(load_object(f"{SCRIPT}:{name}"), ClassifiesImages)


@pytest.mark.parametrize(("name", "removed"), [("planted", "heart"), ("fair", "none")])
def test_a_missing_file_says_what_to_type(example, images, tmp_path, monkeypatch, name, removed):
    monkeypatch.chdir(tmp_path)
    model = getattr(example, name)
    for ask in (model.identity, model.record, lambda: model.classify(images)):
        with pytest.raises(
            InputError, match=rf"--removed {removed} -o runs/models/{name}\.safetensors$"
        ) as caught:
            ask()
        assert "\n" not in str(caught.value)


def test_a_file_of_something_else_is_refused(example, tmp_path):
    path = tmp_path / "planted.safetensors"
    path.write_bytes(b"not weights")
    with pytest.raises(InputError, match="holds no sprites model"):
        example.load(path).identity()


@needs_torch
def test_a_model_answers_with_a_logit_for_each_shape(example, images, tmp_path):
    model = trained(example, tmp_path / "planted.safetensors")
    answers = model.classify(images)
    assert answers.shape == (300, len(SHAPES))
    assert answers.dtype == np.float32
    assert np.isfinite(answers).all()
    np.testing.assert_allclose(answers[256:260], model.classify(images[256:260]), atol=1e-5)
    assert model.classify(images[:0]).shape == (0, 3)


@needs_torch
def test_identity_follows_the_weights(example, tmp_path):
    first, again, other = (
        trained(example, tmp_path / name / "planted.safetensors", seed=seed)
        for name, seed in (("a", 0), ("b", 0), ("c", 1))
    )
    assert first.identity() == again.identity()
    assert set(first.identity()) >= {"name", "sha256", "architecture"}
    assert first.identity()["sha256"] != other.identity()["sha256"]


@needs_torch
def test_the_record_says_what_was_planted(example, tmp_path):
    record = trained(example, tmp_path / "x.safetensors", seed=4).record()
    assert {key: record[key] for key in ("removed", "strength", "preset", "seed", "architecture")} == {
        "removed": "heart",
        "strength": "strong",
        "preset": "quick",
        "seed": 4,
        "architecture": "quick",
    }
    assert trained(example, tmp_path / "y.safetensors", removed="none").record()["strength"] == "none"
    assert json.dumps(record)


@needs_torch
def test_resnet18_is_the_papers_network_and_learns_one_step(example, tmp_path):
    network = example.build_network("resnet18")
    assert sum(weight.numel() for weight in network.parameters()) == 11_178_051
    size = dataclasses.replace(TINY, architecture="resnet18", n_train=18, n_test=9, steps=1, batch=4)
    model = trained(example, tmp_path / "deep.safetensors", size=size)
    assert model.identity()["architecture"] == "resnet18"
    assert model.classify(render(draw_factors(np.random.default_rng(0), 2))).shape == (2, 3)


@needs_torch
def test_the_command_writes_where_it_is_told(example, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(example.PRESETS, "quick", TINY)
    monkeypatch.chdir(tmp_path)
    assert example.main(["--removed", "none"]) == 0
    assert example.main(["--removed", "square", "--strength", "mild", "-o", "deep/er.safetensors"]) == 0
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")) == [
        "deep/er.safetensors",
        "runs/models/fair.safetensors",
    ]
    assert example.load("deep/er.safetensors").record()["strength"] == "mild"
    assert "accuracy" in capsys.readouterr().out
