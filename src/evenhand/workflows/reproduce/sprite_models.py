"""Networks that name the shape of a sprite, trained with a bias that is planted."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load_file, save_file

from evenhand.benchmarks.sprites.factors import SHAPES, Factors, left_fraction, plant, train_test_split
from evenhand.benchmarks.sprites.presets import Preset
from evenhand.benchmarks.sprites.render import SIZE, render
from evenhand.core.errors import InputError, MissingExtra
from evenhand.files.atomic import atomic_path
from evenhand.files.hashing import sha256_file

_BLOCK = 256  # images classified at once, whatever the caller sends
_PROGRESS = 5.0  # seconds between lines


class SpriteClassifier:
    """Names the shape of a sprite; reads its weights when it is first asked.

    ``path`` is a file that ``save`` wrote; ``remedy`` ends the message where there is none.
    """

    labels: Sequence[str] = SHAPES

    def __init__(self, path: Path, remedy: str = "train one again") -> None:
        self._path, self._remedy = path, remedy
        self._network: Any = None

    def classify(self, images: Sequence[npt.NDArray[np.uint8]]) -> npt.NDArray[np.float32]:
        """Logits, shape (N, 3), in the order of ``labels``, of uint8 RGB images of shape (64, 64, 3)."""
        if self._network is None:
            self._network = self._read()
        return _logits(self._network, np.asarray(images, dtype=np.uint8).reshape(-1, SIZE, SIZE, 3))

    def identity(self) -> dict[str, str]:
        """Name, sha256 of the weights' file, architecture, and how pixels are prepared."""
        record = self.record()
        return {
            "name": f"sprites-{self._path.stem}",
            "sha256": sha256_file(self._path),
            "architecture": str(record["architecture"]),
            "preprocessing": "pixel / 255",
        }

    def record(self) -> dict[str, Any]:
        """How the model was trained: what was removed, strength, preset, seed, accuracies."""
        self._check()
        try:
            with safe_open(self._path, framework="numpy") as stream:
                record: dict[str, Any] = json.loads((stream.metadata() or {})["record"])
        except (SafetensorError, KeyError, ValueError) as error:
            raise InputError(f"{str(self._path)!r} holds no sprites model; {self._remedy}") from error
        return record

    def _read(self) -> Any:
        """Build the network and give it the weights of the file."""
        record = self.record()
        network = build_network(str(record["architecture"]))
        arrays = load_file(self._path)
        network.load_state_dict({name: _torch().from_numpy(array) for name, array in arrays.items()})
        return network.eval()

    def _check(self) -> None:
        """Say what to type when there is no such file."""
        if not self._path.is_file():
            raise InputError(f"there is no model at {str(self._path)!r}; {self._remedy}")


def train(
    size: Preset,
    *,
    removed: str,  # the shape that is removed in green, or ``none``
    strength: str,  # ``none``, ``mild``, ``medium`` or ``strong``
    seed: int,  # of the sprites, their order and the first weights
    progress: Callable[[int, int], None] | None = None,  # steps done, steps in all; None: lines of stderr
) -> tuple[Any, dict[str, Any]]:
    """Train one model; returns the network, and a record of what was done and how accurate it became."""
    torch = _torch()
    sprites, test = train_test_split(seed, size.n_train, size.n_test)
    biased_test = test
    if removed != "none":
        left = left_fraction(strength)
        sprites, biased_test = (plant(part, removed=removed, left=left) for part in (sprites, test))
    torch.manual_seed(seed)
    network = build_network(size.architecture)
    _fit(network, sprites, size, np.random.default_rng(seed), progress or _lines())
    record = {
        "removed": removed,
        "strength": "none" if removed == "none" else strength,
        "preset": size.name,
        "seed": seed,
        "architecture": size.architecture,
        "accuracy": _accuracy(network, test),
        "accuracy_when_test_is_biased_alike": _accuracy(network, biased_test),
    }
    return network, record


def save(network: Any, record: dict[str, Any], path: Path) -> None:
    """Write weights and record as one safetensors file, whole or not at all."""
    arrays = {name: tensor.contiguous().numpy() for name, tensor in network.state_dict().items()}
    with atomic_path(path) as temporary:
        # One entry: the order of several is not fixed, and equal models should have equal files.
        save_file(arrays, temporary, metadata={"record": json.dumps(record, sort_keys=True)})


@contextmanager
def fixed_threads(size: Preset) -> Iterator[None]:
    """How many threads train a small network: sums, and so weights, depend on how many share them."""
    torch = _torch()
    usual = torch.get_num_threads()
    torch.set_num_threads(2 if size.architecture == "quick" else usual)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


def _fit(
    network: Any,
    sprites: Factors,
    size: Preset,
    rng: np.random.Generator,
    progress: Callable[[int, int], None],
) -> None:
    """Minimise cross-entropy; the network ends on the CPU, ready to answer."""
    torch = _torch()
    device = "cuda" if size.architecture == "resnet18" and torch.cuda.is_available() else "cpu"
    network.to(device, memory_format=torch.channels_last).train()
    optimiser = torch.optim.AdamW(network.parameters(), lr=size.learning_rate, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: _pace(step, size.steps))
    for step, index in enumerate(_batches(len(sprites), size, rng), start=1):
        batch = sprites.take(index)
        logits = network(_pixels(render(batch)).to(device))
        loss = torch.nn.functional.cross_entropy(logits, torch.from_numpy(batch.shape).to(device))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
        progress(step, size.steps)
    network.to("cpu").eval()


def _lines() -> Callable[[int, int], None]:
    """A line of stderr with the step, every few seconds."""
    last_line = time.monotonic()

    def show(step: int, steps: int) -> None:
        nonlocal last_line
        if time.monotonic() - last_line > _PROGRESS:
            last_line = time.monotonic()
            print(f"step {step} of {steps}", file=sys.stderr, flush=True)

    return show


def _pace(step: int, steps: int) -> float:
    """The share of the highest learning rate: up in the first tenth, then down along a cosine."""
    return min((step + 1) / max(1, steps // 10), 0.5 + 0.5 * math.cos(math.pi * step / steps))


def _batches(n: int, size: Preset, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """Places of the sprites of each step; every sprite is used before one is used again."""
    order = rng.permutation(n)
    for _ in range(size.steps):
        while len(order) < size.batch:
            order = np.concatenate([order, rng.permutation(n)])
        yield order[: size.batch]
        order = order[size.batch :]


def _accuracy(network: Any, sprites: Factors) -> float:
    """The share of sprites whose shape is named, rounded so that it does not hang on the machine."""
    hits = 0
    for start in range(0, len(sprites), _BLOCK):
        block = sprites.take(slice(start, start + _BLOCK))
        hits += int((_logits(network, render(block)).argmax(axis=1) == block.shape).sum())
    return round(hits / len(sprites), 4)


def _logits(network: Any, images: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """The network's answers, block by block."""
    torch = _torch()
    answers = np.empty((len(images), len(SHAPES)), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(images), _BLOCK):
            answers[start : start + _BLOCK] = network(_pixels(images[start : start + _BLOCK])).numpy()
    return answers


def _pixels(images: npt.NDArray[np.uint8]) -> Any:
    """Images as a float tensor (N, 3, H, W), 0 to 1."""
    return _torch().from_numpy(images.astype(np.float32) / 255).permute(0, 3, 1, 2)


def build_network(architecture: str) -> Any:
    """A network with fresh weights: ``quick`` or ``resnet18``."""
    return {"quick": _quick, "resnet18": _resnet18}[architecture]()


def _quick() -> Any:
    """Three convolutions and the maximum over all places: where a sprite is cannot matter."""
    nn = _torch().nn
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=2, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1),
        nn.ReLU(),
        nn.AdaptiveMaxPool2d(1),
        nn.Flatten(),
        nn.Linear(64, len(SHAPES)),
    )


def _resnet18() -> Any:
    """ResNet-18 (He et al., 2016) with three outputs: 11,178,051 parameters."""
    nn = _torch().nn

    def convolution(inputs: int, outputs: int, size: int, stride: int) -> list[Any]:
        layer = nn.Conv2d(inputs, outputs, size, stride=stride, padding=size // 2, bias=False)
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        return [layer, nn.BatchNorm2d(outputs)]

    class Block(nn.Module):  # type: ignore[misc, name-defined]  # torch is not analysed
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            first, second = convolution(inputs, outputs, 3, stride), convolution(outputs, outputs, 3, 1)
            self.path = nn.Sequential(*first, nn.ReLU(), *second)
            resize = convolution(inputs, outputs, 1, stride) if (inputs, stride) != (outputs, 1) else []
            self.shortcut = nn.Sequential(*resize)

        def forward(self, x: Any) -> Any:
            return nn.functional.relu(self.path(x) + self.shortcut(x))

    stem = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, stride=2, padding=1)]
    widths = [(64, 64, 1), (64, 128, 2), (128, 256, 2), (256, 512, 2)]
    stages = [Block(*sizes) for a, b, stride in widths for sizes in ((a, b, stride), (b, b, 1))]
    return nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, len(SHAPES)))


def _torch() -> Any:
    """PyTorch, imported when it is needed."""
    try:
        import torch
    except ImportError as error:
        raise MissingExtra("torch", "torch") from error
    return torch
