"""In which precision a model is loaded, what it needs, and models that are larger than one device."""

from __future__ import annotations

import logging

import numpy as np
import pytest

from evenhand.core.errors import InputError, MissingExtra, ParameterError
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from evenhand.models.weights import checkpoint, device
from tests.models.conftest import TEXTS
from tests.models.tiny import build

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")


@pytest.fixture
def accelerator(monkeypatch):
    """A device that torch says is there; nothing is moved to it."""
    monkeypatch.setattr(device, "_may_see_an_accelerator", lambda: True)
    monkeypatch.setattr(device, "choose_device", lambda _: torch.device("cuda"))


def dtype_of(model, **options):
    return resolve(f"hf:{model}", LoadOptions(**options)).identity()["dtype"]


def vectors(model, pictures):
    images = model.embed_images([model.prepare(picture) for picture in pictures])
    return np.concatenate([images, model.embed_texts(TEXTS)])


def test_auto_is_float32_on_the_cpu_and_the_checkpoints_own_elsewhere(tmp_path, accelerator, monkeypatch):
    half = tmp_path / "half"
    build("clip", half)
    config = (half / "config.json").read_text()
    for entry, expected in {
        '"torch_dtype": "float16"': "float16",
        '"dtype": "bfloat16"': "bfloat16",
        '"dtype": "float64"': "float32",
        '"note": ""': "float32",  # then the weights say it
    }.items():
        (half / "config.json").write_text(config.replace('"dtype": "float32"', entry))
        assert dtype_of(half) == expected
        assert dtype_of(half, device="cpu") == "float32"
        assert dtype_of(half, dtype="float16") == "float16"
    from safetensors.torch import load_file, save_file

    weights = {name: tensor.half() for name, tensor in load_file(half / "model.safetensors").items()}
    save_file(weights, half / "model.safetensors", metadata={"format": "pt"})
    assert dtype_of(half) == "float16"
    monkeypatch.setattr(device, "_may_see_an_accelerator", lambda: False)
    assert dtype_of(half) == "float32"
    with pytest.raises(ParameterError, match="choose one of auto, float32, bfloat16, float16"):
        dtype_of(half, dtype="int8")


def test_what_a_model_needs_is_said_before_it_is_loaded(caplog):
    caplog.set_level(logging.INFO, "evenhand")
    model = resolve(f"hf:{build('clip')}", LoadOptions(device="cpu", dtype="bfloat16")).load()
    numbers = sum(parameter.numel() for parameter in model._model.parameters())
    [line] = caplog.messages
    assert f": {numbers:,} numbers in bfloat16 need {2 * numbers / 1000:,.1f} kB, and more while it " in line
    assert "; cpu has " in line


@pytest.mark.parametrize(
    ("free", "advice"),
    [
        ({"cpu": 200_000}, r"type --dtype bfloat16 \(135\.1 kB\), or --quantize 8 \(67\.6 kB\), or "),
        ({"cpu": 50_000}, r"cpu has 50\.0 kB free; type --quantize 4 \(33\.8 kB\)$"),
        ({"cpu": 10_000}, "take a smaller model, or a larger machine$"),
        ({"cuda": 10_000, "cpu": 10**9}, r"cuda has 10\.0 kB free; type --device-map auto, or --device cpu$"),
    ],
)
def test_a_model_that_does_not_fit_is_refused_with_what_does(free, advice, monkeypatch):
    kind = next(iter(free))
    monkeypatch.setattr(checkpoint, "free_memory", lambda name, _="auto": free.get(name))
    monkeypatch.setattr(checkpoint, "choose_device", lambda _: torch.device(kind))
    with pytest.raises(InputError, match=f"numbers in float32 need 270.* {advice}") as refused:
        checkpoint.check_memory("hf:org/name", 67_553, "float32", LoadOptions(), spreads=True)
    assert "\n" not in str(refused.value)


def test_memory_that_nobody_knows_is_not_guessed(monkeypatch, caplog):
    caplog.set_level(logging.INFO, "evenhand")
    monkeypatch.setattr(checkpoint, "free_memory", lambda *_: None)
    checkpoint.check_memory("hf:org/name", 10**12, "float32", LoadOptions(device="cpu"))
    assert caplog.messages[0].endswith("need 4,000.0 GB, and more while it answers")


def test_free_memory_is_what_linux_says_and_unknown_elsewhere(monkeypatch):
    meminfo = "MemTotal: 9 kB\nMemAvailable: 5 kB\nSwapFree: 2 kB"
    monkeypatch.setattr(checkpoint.Path, "read_text", lambda *_: meminfo)
    assert checkpoint.free_memory("cpu") == 7 * 1024
    monkeypatch.setattr(checkpoint.Path, "read_text", lambda *_: "MemTotal: 9 kB")
    assert checkpoint.free_memory("cpu") is None


def test_layers_on_several_devices_give_the_same_numbers_and_identity(pictures):
    pytest.importorskip("accelerate")
    spread = resolve(f"hf:{build('clip')}", LoadOptions(device="cpu", device_map="auto"))
    plain = resolve(f"hf:{build('clip')}", LoadOptions(device="cpu"))
    assert spread.identity() == plain.identity()
    np.testing.assert_array_equal(vectors(spread.load(), pictures), vectors(plain.load(), pictures))


@pytest.mark.parametrize("bits", [8, 4])
def test_fewer_bits_are_another_model_with_nearly_its_numbers(bits, pictures):
    pytest.importorskip("bitsandbytes")
    small = resolve(f"hf:{build('clip')}", LoadOptions(device="cpu", quantize=bits))
    plain = resolve(f"hf:{build('clip')}", LoadOptions(device="cpu"))
    assert small.identity()["quantized"].startswith(f"{bits} bits, ")
    assert small.identity() != plain.identity()
    first, second = vectors(small.load(), pictures), vectors(plain.load(), pictures)
    cosines = (first * second).sum(1) / np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    assert cosines.min() > (0.99 if bits == 8 else 0.8)
    assert not np.array_equal(first, second)


def test_values_that_no_model_takes_are_refused(monkeypatch):
    for options, message in (
        ({"device_map": "balanced"}, "give auto or leave it out"),
        ({"quantize": 3}, "give 8 or 4"),
    ):
        with pytest.raises(ParameterError, match=message):
            resolve(f"hf:{build('clip')}", LoadOptions(**options))
    with pytest.raises(ParameterError, match="are for models of hf:"):
        resolve("timm:resnet18", LoadOptions(quantize=8))
    monkeypatch.setattr("evenhand.models.adapters.huggingface.quantization._LIBRARY", "no-such-library")
    with pytest.raises(MissingExtra, match=r"pip install 'evenhand\[large\]'"):
        resolve(f"hf:{build('clip')}", LoadOptions(quantize=4))
