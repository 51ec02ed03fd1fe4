"""On a GPU: the CPU's answers, batches that are halved, memory. Skipped where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.errors import ParameterError
from evenhand.core.requests import Question
from evenhand.models.identity.source import LoadOptions
from evenhand.models.resolve import resolve
from evenhand.models.weights.checkpoint import free_memory
from evenhand.models.weights.device import choose_device
from evenhand.workflows.execution.answering.batches import Batch, BatchCaller
from tests.models.everything import ask_everything
from tests.models.tiny import NAMES, build

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that torch can use")

ROOM = 2**30


@pytest.fixture
def little_memory():
    """Room for about a gibibyte."""
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(ROOM / total)
    yield
    torch.cuda.set_per_process_memory_fraction(1.0)
    torch.cuda.empty_cache()


@pytest.mark.parametrize("name", NAMES)
def test_float32_is_as_on_the_cpu(name, pictures):
    here, there = (
        ask_everything(
            resolve(f"hf:{build(name)}", LoadOptions(device=device, dtype="float32")).load(), pictures
        )
        for device in ("cpu", "cuda")
    )
    for method, answers in here.items():
        if method == "answer":
            assert there[method] == answers
        else:
            np.testing.assert_allclose(there[method], answers, rtol=0, atol=1e-5 * np.abs(answers).max())


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", ["clip", "resnet", "llava", "blip_caption"])
def test_half_precision_is_near(name, dtype, pictures):
    whole = ask_everything(resolve(f"hf:{build(name)}", LoadOptions(device="cpu")).load(), pictures)
    options = LoadOptions(device="cuda", dtype=dtype)
    half = ask_everything(resolve(f"hf:{build(name)}", options).load(), pictures)
    for method, answers in whole.items():
        if method != "answer":
            np.testing.assert_allclose(half[method], answers, rtol=0, atol=0.05 * np.abs(answers).max())


@pytest.mark.parametrize("device", ["auto", "cuda", "cpu"])
@pytest.mark.parametrize("name", ["clip", "llava"])
def test_a_model_that_is_spread_answers_as_one_that_is_whole(name, device, pictures):
    pytest.importorskip("accelerate")
    options = {"device": device, "dtype": "float32"}
    spread, whole = (
        ask_everything(resolve(f"hf:{build(name)}", LoadOptions(**options, **more)).load(), pictures)
        for more in ({"device_map": "auto"}, {})
    )
    for method, answers in whole.items():
        if method == "answer":
            assert spread[method] == answers
        else:
            np.testing.assert_allclose(spread[method], answers, rtol=0, atol=1e-5 * np.abs(answers).max())


class Hungry:
    """Needs an eighth of the room for each image."""

    labels = ("even", "odd")

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def classify(self, images):
        memory = torch.zeros(len(images) * ROOM // 8, dtype=torch.uint8, device="cuda")
        self.sizes.append(len(images))
        numbers = torch.tensor(images, device="cuda")
        return (torch.stack([numbers % 2 == 0, numbers % 2 == 1], dim=1) + memory[0]).float().cpu().numpy()


def test_a_batch_that_does_not_fit_is_halved(little_memory):
    model, ids = Hungry(), [str(number) for number in range(32)]
    caller = BatchCaller(model, Question("images", "classifies_images", ids))
    answers = caller.ask(Batch(range(32), list(range(32))))
    assert [int(np.argmax(answer)) for answer in answers] == [0, 1] * 16
    assert caller.piece == 4
    assert model.sizes == [4] * 8


def test_memory_of_a_model_that_is_gone_counts_as_free():
    before = free_memory("cuda")
    block = torch.empty(ROOM, dtype=torch.uint8, device="cuda")
    held = free_memory("cuda")
    del block
    assert held <= before - ROOM
    assert free_memory("cuda") >= held + ROOM
    torch.cuda.empty_cache()


def test_a_gpu_beyond_the_last_is_refused():
    with pytest.raises(ParameterError, match="is not here; possible: cuda:0"):
        choose_device(LoadOptions(device=f"cuda:{torch.cuda.device_count()}"))
    assert choose_device(LoadOptions()).type == "cuda"
