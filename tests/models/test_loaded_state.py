"""What of a model in memory, and which files, tell it from what it was before it was trained again."""

from __future__ import annotations

import functools
import mmap
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.models.identity.loaded_state import read_state
from evenhand.models.identity.opened_files import OpenedFiles, data_files
from evenhand.models.resolve import resolve


class Holder:
    labels = ("a", "b")

    def __init__(self, held: object) -> None:
        self.held = held

    def classify(self, images):
        return np.zeros((len(images), 2))


def weights(value: float = 1.0) -> np.ndarray:
    return np.array([value, 2.0, 3.0])


def in_a_circle(value: float) -> dict:
    held: dict = {"weights": weights(value)}
    held["self"] = held
    return held


def in_a_function(value: float):
    held = weights(value)
    return lambda: held


def on_disk(value: float) -> object:
    return np.broadcast_to(weights(value)[0], (3, 3))


def in_tensor(kind: str, value: float) -> object:
    torch = pytest.importorskip("torch")
    tensor = torch.tensor([[value, 0.0], [0.0, 4.0]])
    made = {
        "bfloat16": lambda: tensor.to(torch.bfloat16),
        "one number": tensor.sum,
        "transposed": lambda: tensor.T[:, :1],
        "sparse": tensor.to_sparse,
        "complex": lambda: torch.complex(tensor, tensor).conj(),
        "bool": lambda: tensor > 1.5,
        "quantized": lambda: torch.quantize_per_tensor(tensor, 0.1, 0, torch.qint8),
        "module": lambda: module_of(torch, tensor),
        "compiled": lambda: torch.jit.trace(module_of(torch, tensor), torch.ones(1, 2)),
    }
    return made[kind]()


def module_of(torch, tensor) -> object:
    net = torch.nn.Sequential(torch.nn.Linear(2, 2, bias=False), torch.nn.ReLU())
    net[0].weight.data = tensor.clone()
    return net


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize(
    "make",
    [
        weights,
        lambda value: [({"a": [weights(value)]},)],
        lambda value: SimpleNamespace(inner=SimpleNamespace(array=weights(value))),
        lambda value: np.array([weights(value), None], dtype=object),
        lambda value: {1, "b", functools.partial(print, weights(value))},
        lambda value: functools.partial(print, weights(value)),
        lambda value: Holder(weights(value)).classify,
        lambda value: weights(value).tobytes() * 100,
        in_a_circle,
        in_a_function,
        on_disk,
        *(
            functools.partial(in_tensor, kind)
            for kind in (
                "bfloat16", "one number", "transposed", "sparse", "complex", "bool", "quantized", "module",
                "compiled",
            )
        ),
    ],
)  # fmt: skip
def test_weights_are_found_wherever_they_are_held(make) -> None:
    one, again, other = (read_state(Holder(make(value))) for value in (1.0, 1.0, 2.0))
    assert one.left_out == ""
    assert one.sha256
    assert one == again
    assert one.sha256 != other.sha256


def test_which_array_stands_where_counts() -> None:
    one, other = weights(1), weights(2)
    assert read_state(Holder([one, other])).sha256 != read_state(Holder([other, one])).sha256
    assert read_state(Holder(one)).sha256 != read_state(Holder(one.astype(np.float32))).sha256
    assert read_state(Holder(one)).sha256 != read_state(Holder(one[:, None])).sha256


@pytest.mark.parametrize(
    "held", [None, 3, "labels", ("a", "b"), np.array(["a", "b"]), np.zeros(0), b"short", threading.Lock(), os]
)
def test_what_is_no_array_of_numbers_shows_no_training(held) -> None:
    state = read_state(Holder(held))
    assert (state.sha256, state.left_out) == ("", "")


class Refusing:
    __slots__ = ("_held",)

    def __getattribute__(self, name: str) -> object:
        if name == "_held":
            raise RuntimeError("not now")
        return super().__getattribute__(name)


def nested(depth: int) -> list:
    held: list = []
    for _ in range(depth):
        held = [held]
    return held


@pytest.mark.parametrize(
    ("held", "why"),
    [(nested(200), "more than 128 deep"), (Refusing(), r"a Refusing of it cannot be read \(RuntimeError\)")],
)
def test_what_cannot_be_read_whole_is_said(held, why) -> None:
    assert why.replace("\\", "") in read_state(Holder([weights(), held])).left_out


def test_a_forest_of_scikit_learn_is_read_although_its_trees_are_native() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    found = [
        read_state(Holder(ensemble.RandomForestClassifier(3, random_state=0).fit(x, labels))).sha256
        for labels in (y, y, 1 - y)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_arrays_on_disk_are_known_by_their_file(tmp_path) -> None:
    np.save(tmp_path / "weights.npy", weights())
    state = read_state(Holder(np.load(tmp_path / "weights.npy", mmap_mode="r")))
    assert state.files == (tmp_path / "weights.npy",)
    assert state.sha256


def test_texts_and_paths_that_name_files_are_found_and_labels_are_not(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("cat", "net.onnx", "more.onnx"):
        Path(name).write_text(name)
    held = ["cat", "net.onnx", {"path": tmp_path / "more.onnx"}, "missing.onnx", "a sentence. Or two."]
    assert read_state(Holder(held)).files == (tmp_path / "more.onnx", tmp_path / "net.onnx")


def test_files_that_are_opened_or_mapped_are_seen_and_those_written_are_not(tmp_path) -> None:
    for name in ("read", "mapped", "unopened", ".hidden"):
        (tmp_path / name).write_bytes(b"x" * 5_000)
    with open(tmp_path / "unopened", "rb") as before, OpenedFiles() as opened:
        (tmp_path / "read").read_bytes()
        (tmp_path / ".hidden").read_bytes()
        Path(__file__).read_bytes()  # as libraries do with code that calls them
        (tmp_path / "written").write_bytes(b"x")
        before.read()
        handle = os.open(tmp_path / "mapped", os.O_RDONLY)
        held = mmap.mmap(handle, 0, prot=mmap.PROT_READ)
        os.close(handle)
    (tmp_path / "unopened").read_bytes()
    assert opened.data() == [tmp_path / "mapped", tmp_path / "read"]
    held.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the system does not say what is mapped")
def test_files_that_native_code_maps_are_seen(tmp_path) -> None:
    torch = pytest.importorskip("torch")
    safetensors = pytest.importorskip("safetensors.torch")
    safetensors.save_file({"w": torch.ones(2_000)}, tmp_path / "w.safetensors")
    with OpenedFiles() as opened:
        held = safetensors.load_file(tmp_path / "w.safetensors")
    assert opened.data() == [tmp_path / "w.safetensors"]
    assert held


def test_a_thread_that_watches_its_own_files_sees_no_others(tmp_path) -> None:
    for name in ("mine", "theirs"):
        (tmp_path / name).touch()
    with OpenedFiles(this_thread=True) as opened:
        other = threading.Thread(target=(tmp_path / "theirs").read_bytes)
        other.start()
        other.join()
        (tmp_path / "mine").read_bytes()
    assert opened.data() == [tmp_path / "mine"]


def test_libraries_and_the_system_are_no_weights(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "hashes.sqlite").touch()
    (tmp_path / "native.so.1").touch()
    given = [np.__file__, os.__file__, "/proc/self/maps", "/etc/hosts", tmp_path]
    assert data_files([*given, *tmp_path.rglob("*")]) == []


def test_an_object_that_is_trained_on_in_python_is_another_model() -> None:
    model = Holder(SimpleNamespace(weights=weights()))
    before = resolve(model).identity()
    assert resolve(model).identity() == before
    model.held.weights += 1
    assert resolve(model).identity() != before


def test_many_files_are_one_entry(tmp_path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02d}.bin").write_text(str(number))
    model = Holder([str(file) for file in sorted(tmp_path.iterdir())])
    before = resolve(model).identity()
    assert "sha256 of 24 more files" in before
    (tmp_path / "39.bin").write_text("changed")
    assert resolve(model).identity() != before


class Refuses:
    """Stands for an object of a library whose weights lie outside Python."""

    __module__ = "a_library"

    def __getstate__(self) -> object:
        raise TypeError("cannot be stored")


def test_what_refuses_to_show_its_state_is_not_taken_for_empty() -> None:
    state = read_state(Holder([weights(), Refuses()]))
    assert state.left_out == "a Refuses of it cannot be read (TypeError)"
