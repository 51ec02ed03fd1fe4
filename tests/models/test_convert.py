"""``evenhand convert``: weights come through, code does not."""

from __future__ import annotations

import os
import pickle
from collections import OrderedDict

import numpy as np
import pytest
from safetensors.numpy import load_file

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.models.weights.pickle_conversion import convert_checkpoint
from evenhand.workflows.convert import convert

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("EVENHAND_HOME", str(tmp_path / "home"))


def weights(seed=0):
    maker = torch.Generator().manual_seed(seed)
    return OrderedDict(
        {"conv.weight": torch.randn(4, 3, 2, 2, generator=maker), "fc.bias": torch.randn(5, generator=maker)}
    )


def prefixed(prefix, seed=0):
    return {f"{prefix}{name}": tensor for name, tensor in weights(seed).items()}


def converted(tmp_path, content, key=None):
    torch.save(content, tmp_path / "in.pth")
    return convert_checkpoint(tmp_path / "in.pth", tmp_path / "out.safetensors", key)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        (weights(), ""),
        ({"state_dict": weights(), "epoch": 3}, "state_dict"),
        ({"model": weights(), "optimizer": {"state": {0: {"exp_avg": torch.ones(3)}}}, "loss": 0.1}, "model"),
        ({"model": weights(), "model_ema": weights(1)}, "model"),
        ({"state_dict": prefixed("module.")}, "state_dict"),
        ({"model": prefixed("module._orig_mod.")}, "model"),
        ({"step": torch.ones(1), "state_dict": weights()}, "state_dict"),
        ({"weights_of_mine": {"state_dict": weights()}}, "weights_of_mine.state_dict"),
    ],
)
def test_wrappers_and_prefixes_are_taken_off(tmp_path, content, key):
    made = converted(tmp_path, content)
    found = load_file(tmp_path / "out.safetensors")
    assert made.key == key
    assert (made.tensors, made.numbers) == (2, 53)
    assert set(found) == set(weights())
    for name, tensor in weights().items():
        assert np.array_equal(found[name], tensor.numpy())


def test_parts_of_one_network_keep_their_names(tmp_path):
    nested = {"classy_state_dict": {"base_model": {"model": {"trunk": weights(), "heads": weights(1)}}}}
    assert converted(tmp_path, nested).key == "classy_state_dict.base_model.model"
    assert {"trunk.conv.weight", "heads.fc.bias"} <= set(load_file(tmp_path / "out.safetensors"))


def test_one_of_several_is_chosen_by_key(tmp_path):
    content = {
        "student": prefixed("module."),
        "teacher": prefixed("module.", 1),
        "args.x": {"in.ner": weights(2)},
    }
    with pytest.raises(InputError, match="--key student, --key teacher"):
        converted(tmp_path, content)
    assert not (tmp_path / "out.safetensors").exists()
    assert converted(tmp_path, content, "teacher").key == "teacher"
    expected = weights(1)["fc.bias"].numpy()
    assert np.array_equal(load_file(tmp_path / "out.safetensors")["fc.bias"], expected)
    (tmp_path / "out.safetensors").unlink()
    assert converted(tmp_path, content, "args.x.in.ner").tensors == 2
    (tmp_path / "out.safetensors").unlink()
    with pytest.raises(UnknownName, match="did you mean 'teacher'"):
        converted(tmp_path, content, "teachr")


def test_shared_and_sliced_tensors_get_memory_of_their_own(tmp_path):
    table = torch.arange(12.0).reshape(3, 4)
    content = {"in": table, "out": table, "row": table[1], "turned": table.T, "half": table.half()}
    converted(tmp_path, content)
    found = load_file(tmp_path / "out.safetensors")
    assert {name: array.dtype.name for name, array in found.items()} == {
        "in": "float32", "out": "float32", "row": "float32", "turned": "float32", "half": "float16",
    }  # fmt: skip
    for name, tensor in content.items():
        assert np.array_equal(found[name], tensor.numpy())


class Trap:
    """Runs a command when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("old", [False, True])
def test_code_in_a_checkpoint_is_never_run(tmp_path, old):
    content = {"state_dict": weights(), "extra": Trap(tmp_path / "sprung")}
    torch.save(content, tmp_path / "in.pth", _use_new_zipfile_serialization=not old)
    with pytest.raises(InputError) as refused:
        convert_checkpoint(tmp_path / "in.pth", tmp_path / "out.safetensors")
    assert "could run code" in str(refused.value)
    assert "posix.system" in str(refused.value)
    assert "\n" not in str(refused.value)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.pth"]


def test_a_bare_pickle_and_rubbish_are_refused(tmp_path):
    for content in (pickle.dumps(Trap(tmp_path / "sprung")), b"", b"PK rubbish", os.urandom(200)):
        (tmp_path / "in.pth").write_bytes(content)
        with pytest.raises(InputError) as refused:
            convert_checkpoint(tmp_path / "in.pth", tmp_path / "out.safetensors")
        assert "\n" not in str(refused.value)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.pth"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_torchscript_is_named(tmp_path):
    torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "in.pth"))
    with pytest.raises(InputError, match="TorchScript"):
        convert_checkpoint(tmp_path / "in.pth", tmp_path / "out.safetensors")


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no tensors; it holds epoch"):
        converted(tmp_path, {"epoch": 3})
    with pytest.raises(InputError, match="sparse_coo"):
        converted(tmp_path, {"a": torch.eye(3).to_sparse()})
    with pytest.raises(InputError, match="not named tensors"):
        converted(tmp_path, [1, 2])
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["in.pth"]


def test_names_that_cannot_be_used(tmp_path):
    torch.save(weights(), tmp_path / "in.pth")
    with pytest.raises(ParameterError, match=r"ends in \.safetensors"):
        convert_checkpoint(tmp_path / "in.pth", tmp_path / "out.pth")
    with pytest.raises(InputError, match="there is no file"):
        convert_checkpoint(tmp_path / "none.pth", tmp_path / "out.safetensors")
    convert_checkpoint(tmp_path / "in.pth", tmp_path / "out.safetensors")
    with pytest.raises(ParameterError, match="exists"):
        convert_checkpoint(tmp_path / "in.pth", tmp_path / "out.safetensors")
    with pytest.raises(InputError, match="safetensors already"):
        convert_checkpoint(tmp_path / "out.safetensors", tmp_path / "again.safetensors")


def test_it_says_what_was_written(tmp_path):
    torch.save({"model": weights(), "epoch": 1, "config": {"lr": 0.1}}, tmp_path / "in.pth")
    lines = convert(tmp_path / "in.pth", tmp_path / "out.safetensors")
    assert lines[0] == f"wrote {tmp_path / 'out.safetensors'}: 2 tensors, 53 numbers from 'model'"
    assert lines[1].startswith("sha256 ")
    assert len(lines) == 2  # what lies beside the weights is not part of them
