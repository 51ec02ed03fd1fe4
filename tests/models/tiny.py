"""Tiny models of every family, with random weights from a fixed seed, saved as folders that ``hf:`` opens.

    from tests.models.tiny import build
    folder = build("clip")

Weights are larger than at a usual initialisation, so that different images and texts get different answers.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.models import tiny_language, tiny_sentences, tiny_vision

BUILDERS: dict[str, Callable[[Path], tuple[Any, ...]]] = {
    **tiny_vision.BUILDERS,
    **tiny_language.BUILDERS,
    **tiny_sentences.BUILDERS,
}
NEEDS = {"smolvlm": "num2words"}  # a library that the family's processor asks for
NAMES = tuple(name for name in BUILDERS if name not in NEEDS or find_spec(NEEDS[name]))


def build(name: str, folder: Path | None = None) -> Path:
    """A saved tiny model.

    Args:
        name: One of ``NAMES``; every family whose libraries are installed.
        folder: Where it goes; without, into a folder of this process, made once and removed at its end.

    Returns:
        The folder that holds config, weights, processor and tokenizer.
    """
    target = _shelf() / name if folder is None else folder
    if not (target / "config.json").is_file():
        target.mkdir(parents=True, exist_ok=True)
        _save(name, target)
    return target


def _save(name: str, folder: Path) -> None:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(zlib.crc32(name.encode()))
        model, *others = BUILDERS[name](folder)
        enliven(model)
    model.eval().save_pretrained(folder)
    for other in others:
        other.save_pretrained(folder)


def enliven(model: Any) -> None:
    """Weights whose layers keep the size of what goes through them."""
    import torch

    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim >= 2:
                parameter.normal_(0.0, parameter[0].numel() ** -0.5)


@cache
def _shelf() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="evenhand-tiny-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
