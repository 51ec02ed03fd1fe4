"""What of a model in memory, and which files, tell it from what it was before it was trained again."""

from __future__ import annotations

import functools
import os
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import evenhand
from evenhand.models.identity.held_state import is_library, read_state
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
    assert one.arrays
    assert one == again
    assert one.arrays != other.arrays


def test_which_array_stands_where_counts() -> None:
    one, other = weights(1), weights(2)
    assert read_state(Holder([one, other])).arrays != read_state(Holder([other, one])).arrays
    assert read_state(Holder(one)).arrays != read_state(Holder(one.astype(np.float32))).arrays
    assert read_state(Holder(one)).arrays != read_state(Holder(one[:, None])).arrays


@pytest.mark.parametrize(
    "held", [None, 3, "labels", ("a", "b"), np.array(["a", "b"]), np.zeros(0), b"short", threading.Lock(), os]
)
def test_what_is_no_array_of_numbers_shows_no_training(held) -> None:
    state = read_state(Holder(held))
    assert (state.arrays, state.left_out) == ("", "")


class Refusing:
    __slots__ = ("_held",)

    def __getattribute__(self, name: str) -> object:
        if name == "_held":
            raise RuntimeError("not now")
        return super().__getattribute__(name)


def test_what_cannot_be_read_whole_is_said() -> None:
    state = read_state(Holder([weights(), Refusing()]))
    assert state.left_out == "a Refusing of it cannot be read (RuntimeError)"


def nested(held: object) -> object:
    for _ in range(5_000):
        held = [held]
    return held


def test_objects_may_lie_as_deep_in_each_other_as_they_like() -> None:
    one, again, other = (read_state(Holder(nested(weights(value)))) for value in (1.0, 1.0, 2.0))
    assert one == again
    assert one.left_out == ""
    assert one.arrays != other.arrays


def test_a_forest_of_scikit_learn_is_read_although_its_trees_are_native() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    found = [
        read_state(Holder(ensemble.RandomForestClassifier(3, random_state=0).fit(x, labels))).arrays
        for labels in (y, y, 1 - y)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_arrays_on_disk_are_known_by_their_file(tmp_path) -> None:
    found = []
    for value in (1.0, 1.0, 2.0):
        np.save(tmp_path / "weights.npy", weights(value))
        found.append(read_state(Holder(np.load(tmp_path / "weights.npy", mmap_mode="r"))).arrays)
    assert found[0] == found[1]
    assert found[0] != found[2]


def test_texts_and_paths_that_name_files_stand_for_what_is_in_them(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    held = ["cat", "net.onnx", {"path": tmp_path / "more.onnx"}, "missing.onnx", "a sentence. Or two.\0"]
    found = []
    for name, content in (("net.onnx", "1"), ("more.onnx", "1"), ("cat", "no path"), ("net.onnx", "2")):
        Path(name).write_text(content)
        found.append(read_state(Holder([weights(), *held])).sha256)
    assert len(set(found)) == 3
    assert found[1] == found[2]


def test_counters_are_no_arrays_and_drawing_at_random_is_no_training() -> None:
    held = SimpleNamespace(calls=0, weights=weights(), rng=np.random.default_rng(0), lock=threading.Lock())
    before = read_state(Holder(held))
    held.calls += 1
    held.rng.normal()
    after = read_state(Holder(held))
    assert after.arrays == before.arrays != ""
    assert after.sha256 != before.sha256
    assert after.left_out == ""


def test_libraries_and_the_package_itself_are_not_the_users(tmp_path) -> None:
    assert all(is_library(str(file)) for file in (np.__file__, os.__file__, evenhand.__file__))
    assert not any(is_library(str(file)) for file in (__file__, tmp_path / "own.py"))


def test_an_object_that_is_trained_on_in_python_is_another_model() -> None:
    model = Holder(SimpleNamespace(weights=weights()))
    before = resolve(model).identity()
    assert resolve(model).identity() == before
    model.held.weights += 1
    assert resolve(model).identity() != before


class Refuses:
    """Stands for an object of a library whose weights lie outside Python."""

    __module__ = "a_library"

    def __reduce_ex__(self, protocol: int) -> object:
        raise TypeError("cannot be stored")


def test_what_refuses_to_show_its_state_is_not_taken_for_empty() -> None:
    state = read_state(Holder([weights(), Refuses()]))
    assert state.left_out == "a Refuses of it cannot be read (TypeError)"
