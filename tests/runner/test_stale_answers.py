"""A retrained model is asked again, an unchanged one is not, and each run says which answers it reused."""

from __future__ import annotations

import datetime
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh
from evenhand.workflows.execution.answering.answer_cache import AnswerStore
from evenhand.workflows.execution.options import AskOptions
from tests.cli.test_audit import type_in
from tests.runner.crash.commands import uri

pytestmark = pytest.mark.usefixtures("without_pages")

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
        self.weight, self.names = weight(), {"a", "b", "c", "d", "e"}
    def embed_images(self, images):
        return pixels(images) @ self.weight.T
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


ONNX = """
import onnxruntime
class Net:
    def __init__(self):
        self.session = onnxruntime.InferenceSession(beside(".onnx"), providers=["CPUExecutionProvider"])
    def embed_images(self, images):
        return self.session.run(None, {"x": pixels(images)})[0]
"""
LITERAL = """
class Net:
    net = None
    def embed_images(self, images):
        if self.net is None:
            with open("FOLDER/weights.npy", "rb") as stream:
                self.net = np.load(stream)
        return pixels(images) @ self.net.T
"""
WITHOUT = """
class Net:
    def embed_images(self, images):
        return pixels(images)[:, :4]
"""
LAZY = """
class Net:
    mean = np.array([0.5])
    net = None
    def embed_images(self, images):
        if self.net is None:
            self.net = np.load(beside(".npy"))
        return pixels(images) @ self.net.T
"""
LAZY_MAPPED = """
import torch
from safetensors.torch import load_file
class Net:
    mean = np.array([0.5])
    net = None
    def embed_images(self, images):
        if self.net is None:
            self.net = load_file(beside(".safetensors"))["weight"]
        return (torch.from_numpy(pixels(images)) @ self.net.T).numpy()
"""
WRITING = """
class Net:
    def embed_images(self, images):
        with open("FOLDER/calls.txt", "a") as stream:
            stream.write("once more")
        return pixels(images)[:, :4]
"""
REMEMBERING = """
class Net:
    def __init__(self):
        self.weight, self.last = np.load(beside(".npy")), None
    def embed_images(self, images):
        self.last = pixels(images)
        return self.last @ self.weight.T
"""


@pytest.mark.parametrize(
    ("code", "kind", "why"),
    [
        (WITHOUT, "numpy", "it holds no arrays that would show a new training"),
        (ONNX, "onnx", "of it cannot be read (TypeError)"),
        (LAZY, "numpy", "its arrays change when it is asked"),
        (LITERAL, "numpy", "it holds no arrays"),
        (LAZY_MAPPED, "safetensors", "its arrays change when it is asked"),
        (REMEMBERING, "numpy", "its arrays change when it is asked"),
        (WRITING, "numpy", "it holds no arrays"),
    ],
)
def test_a_model_that_shows_no_training_is_asked_in_each_run_and_this_is_said(
    folder, code, kind, why
) -> None:
    SAVE[kind](folder, trained(1))
    (folder / "calls.txt").touch()
    model = write(folder, code)
    runs = [ask(model), ask(model)]
    assert [counts(run) for run in runs] == [(ROWS, 0), (ROWS, 0)]
    for run in runs:
        assert why in run.manifest["asking"]["not_kept"]
        (line,) = run.reuse_notes()
        assert why in line
        assert "version = '1'" in line


@pytest.mark.parametrize(
    "code",
    [
        WITHOUT.replace("class Net:", "class Net:\n    version = '1'"),
        LAZY.replace("class Net:", "class Net:\n    version = '1'"),
        WITHOUT + "    def identity(self):\n        return {'name': 'mine'}\n",
    ],
)
def test_a_declared_version_or_identity_is_the_models_own_word(folder, code) -> None:
    save_numpy(folder, trained(1))
    model = write(folder, code)
    ask(model)
    save_numpy(folder, trained(2))
    assert counts(ask(model)) == (0, ROWS)


def test_reused_answers_are_counted_by_day_and_the_option_asks_again(folder, monkeypatch, capsys) -> None:
    save_numpy(folder, trained(1))
    model = write(folder, MODELS["numpy"])
    words = ["run", uri("PATTERNS"), "--model", model, "-p", "ask=embeds_images", "-q", "-o", folder / "run"]
    assert type_in(monkeypatch, *words, "-p", "n=8") == 0
    assert capsys.readouterr().err == ""
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    assert type_in(monkeypatch, *words, "-p", "n=128") == 0
    assert f"8 of 128 answers of {model} are reused: 8 of {day}; --forget-answers asks again\n" == (
        capsys.readouterr().err
    )
    (question,) = json.loads((folder / "run" / "manifest.json").read_text())["asking"]["questions"]
    assert question["reused_of"] == {day: 8}
    assert type_in(monkeypatch, *words, "-p", "n=128", "--forget-answers") == 0
    assert capsys.readouterr().err == ""


def test_answers_of_a_store_without_days_are_reused_and_said_so(folder) -> None:
    save_numpy(folder, trained(1))
    model = write(folder, MODELS["numpy"])
    first = ask(model)
    (store,) = (folder.parent / "home" / "answers").glob("*.sqlite")
    with closing(sqlite3.connect(store)) as connection:  # as it was made before days were kept
        connection.execute("alter table answers drop column day")
        connection.execute("alter table answers drop column run")
        connection.commit()
    again = ask(model)
    assert counts(again) == (0, ROWS)
    assert vectors(again) == vectors(first)
    assert f"{ROWS} of an unknown day" in again.reuse_notes()[0]


def test_one_image_in_two_rows_is_no_reused_answer(folder) -> None:
    save_numpy(folder, trained(1))
    store = AnswerStore(folder / "store.sqlite")
    store.put({b"a": np.zeros(2, np.float32)})
    assert store.known([b"a", b"b"]) == {b"a": None}
    store.close()
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    again = AnswerStore(folder / "store.sqlite")
    assert again.known([b"a", b"b"]) == {b"a": day}
    again.close()


IDENTITY = """
import json, sys
from evenhand.models.resolve import resolve
print(json.dumps([resolve(sys.argv[1]).identity() for _ in range(2)]))
"""


def test_a_models_identity_is_the_same_in_every_process(folder) -> None:
    """What a module imports at its top is read once in a process, and compiled once for all of them."""
    save_numpy(folder, trained(1))
    model = write(folder, MODELS["numpy in a module beside"])
    found = []
    for seed in "01":  # of the order of a set of texts
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", IDENTITY, model]
        done = subprocess.run(command, capture_output=True, check=True, env=environment)
        found += json.loads(done.stdout)
    assert found == [found[0]] * 4
    assert {"sha256 of own.py", "sha256 of helper_with_weights.py", "sha256 of what it holds"} < set(found[0])


@pytest.mark.parametrize("code", [LAZY, REMEMBERING])
def test_what_a_versioned_model_holds_by_being_asked_is_no_change_of_it(folder, code) -> None:
    save_numpy(folder, trained(1))
    model = write(folder, code.replace("class Net:", "class Net:\n    version = '1'"))
    ask(model)
    (line,) = ask(model).reuse_notes()
    assert "changed since then" not in line


def test_arrays_that_changed_under_one_version_are_said(folder) -> None:
    save_numpy(folder, trained(1))
    model = write(folder, MODELS["numpy"].replace("class Net:", "class Net:\n    version = '1'"))
    ask(model)
    save_numpy(folder, trained(2))
    (line,) = ask(model).reuse_notes()
    assert "although its arrays changed since then and its version is the same" in line


@pytest.mark.parametrize("code", [LAZY, LITERAL])
def test_a_lazy_model_that_lists_its_files_is_asked_again_when_they_change(folder, code) -> None:
    save_numpy(folder, trained(1))
    model = write(folder, code.replace("class Net:", "class Net:\n    files = (beside('.npy'),)"))
    assert [counts(ask(model)) for _ in range(2)] == [(ROWS, 0), (0, ROWS)]
    save_numpy(folder, trained(2))
    assert counts(ask(model)) == (ROWS, 0)
