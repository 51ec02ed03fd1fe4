"""A retrained model is asked again, an unchanged one is not, and each run says which answers it reused."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.models.resolve import resolve
from evenhand.runner.options import AskOptions
from tests.cli.test_audit import type_in
from tests.runner.crash.commands import uri

ROWS = 16
START = """
from pathlib import Path
import numpy as np

def pixels(images):
    return np.stack(images).reshape(len(images), -1).astype(np.float32) / 255

def beside(suffix):
    return str(Path(__file__).with_name("weights" + suffix))
"""
MODELS = {
    "torch": """
import torch
class Net:
    def __init__(self):
        self.net = torch.nn.Linear(192, 4, bias=False)
        self.net.load_state_dict(torch.load(beside(".pt")))
    def embed_images(self, images):
        with torch.no_grad():
            return self.net(torch.from_numpy(pixels(images))).numpy()
""",
    "safetensors": """
import torch
from safetensors.torch import load_file
class Net:
    def __init__(self):
        self.net = torch.nn.Linear(192, 4, bias=False)
        self.net.load_state_dict(load_file(beside(".safetensors")))
    def embed_images(self, images):
        with torch.no_grad():
            return self.net(torch.from_numpy(pixels(images))).numpy()
""",
    "onnx": """
import onnxruntime
class Net:
    def __init__(self):
        self.session = onnxruntime.InferenceSession(beside(".onnx"), providers=["CPUExecutionProvider"])
    def embed_images(self, images):
        return self.session.run(None, {"x": pixels(images)})[0]
""",
    "numpy": """
class Net:
    def __init__(self):
        self.weight = np.load(beside(".npy"))
    def embed_images(self, images):
        return pixels(images) @ self.weight.T
""",
    "numpy in the class": """
class Net:
    weight = np.load(beside(".npy"))
    def embed_images(self, images):
        return pixels(images) @ self.weight.T
""",
    "numpy as plain lists": """
class Net:
    def __init__(self):
        self.weight = np.load(beside(".npy")).tolist()
    def embed_images(self, images):
        return pixels(images) @ np.array(self.weight).T
""",
    "numpy in a global name": """
WEIGHT = np.load(beside(".npy"))
class Net:
    def embed_images(self, images):
        return pixels(images) @ WEIGHT.T
""",
    "numpy in a module beside": """
import sys
sys.path.insert(0, str(Path(__file__).parent))
from helper_with_weights import weight
sys.path.pop(0)
class Net:
    def __init__(self):
        self.weight = weight()
    def embed_images(self, images):
        return pixels(images) @ self.weight.T
""",
    "numpy by a literal": """
class Net:
    net = None
    def embed_images(self, images):
        if self.net is None:
            with open("FOLDER/weights.npy", "rb") as stream:
                self.net = np.load(stream)
        return pixels(images) @ self.net.T
""",
}
HELPER = """
from pathlib import Path
import numpy as np
def weight():
    return np.load(Path(__file__).with_name("weights.npy"))
"""


def save_torch(folder: Path, weight: np.ndarray) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"weight": torch.from_numpy(weight)}, folder / "weights.pt")


def save_safetensors(folder: Path, weight: np.ndarray) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("safetensors.numpy").save_file({"weight": weight}, folder / "weights.safetensors")


def save_onnx(folder: Path, weight: np.ndarray) -> None:
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "net",
        [helper.make_tensor_value_info("x", kind, ["n", 192])],
        [helper.make_tensor_value_info("y", kind, ["n", 4])],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(weight.T), "w")],
    )
    opset = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), folder / "weights.onnx")


def save_numpy(folder: Path, weight: np.ndarray) -> None:
    np.save(folder / "weights.npy", weight)


SAVE: dict[str, Callable[[Path, np.ndarray], None]] = {
    "torch": save_torch,
    "safetensors": save_safetensors,
    "onnx": save_onnx,
    "numpy": save_numpy,
}


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    """Nothing is known, and a place for the model."""
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    monkeypatch.delitem(sys.modules, "helper_with_weights", raising=False)
    (tmp_path / "model").mkdir()
    return tmp_path / "model"


def trained(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(4, 192)).astype(np.float32)


def write(folder: Path, code: str) -> str:
    """The model's file; its URI."""
    (folder / "own.py").write_text(START + code.replace("FOLDER", str(folder)))
    (folder / "helper_with_weights.py").write_text(HELPER)
    return f"{folder / 'own.py'}:Net"


def ask(model: object, **options: object):
    given = {"n": str(ROWS), "ask": "embeds_images"}
    return eh.run(uri("PATTERNS"), model=model, parameters=given, options=AskOptions(**options))


def vectors(run) -> list[list[float]]:
    return run.evidence["evidence"].collect()["vector"].to_list()


def counts(run) -> tuple[int, int]:
    """Answers that were asked for, and that were reused."""
    (question,) = run.manifest["asking"]["questions"]
    return question["asked"], question["reused"]


@pytest.mark.parametrize("kind", MODELS)
def test_a_retrained_model_is_asked_again_and_an_unchanged_one_is_not(folder, kind) -> None:
    model, save = write(folder, MODELS[kind]), SAVE[kind.split()[0]]
    save(folder, trained(1))
    first = ask(model)
    again = ask(model)
    assert [counts(first), counts(again)] == [(ROWS, 0), (0, ROWS)]
    assert vectors(again) == vectors(first)
    save(folder, trained(2))
    retrained = ask(model)
    assert counts(retrained) == (ROWS, 0)
    assert not np.allclose(vectors(retrained), vectors(first))
    save(folder, trained(1))
    assert counts(ask(model)) == (0, ROWS)
