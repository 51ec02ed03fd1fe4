"""Labelled images of a planted kind, and an extractor that sees what was planted."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from PIL import Image

EXTRACTOR = """
import numpy as np
from evenhand.core.capabilities import NotAnswered


class Extractor:
    version = "1"

    def embed_images(self, images):
        made = []
        for image in images:
            colour = image.reshape(-1, 3).mean(0) / 255
            made.append(np.concatenate([colour * 3 + 50, [image.std() / 100, 1.0]]))
        return np.stack(made).astype("f4")


class Silent(Extractor):
    version = "silent 1"

    def embed_images(self, images):
        seen = super().embed_images(images)
        return [NotAnswered("too bright") if one[:3].mean() > 52 else one for one in seen]
"""
COLOURS = {"red": (200, 60, 60), "green": (60, 200, 60), "blue": (60, 60, 200)}


def picture(colour: tuple[int, int, int], rng: np.random.Generator, noise: float = 30) -> Image.Image:
    """A noisy patch of a colour."""
    pixels = np.array(colour) + rng.normal(0, noise, (36, 40, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def write_folders(
    root: Path, counts: Mapping[str, int], seed: int = 0, colours: Mapping[str, tuple] | None = None
) -> Path:
    """A folder for each class; of classes without a colour of their own, the colours in turn."""
    rng = np.random.default_rng(seed)
    palette = list(COLOURS.values())
    for number, (name, count) in enumerate(counts.items()):
        (root / name).mkdir(parents=True, exist_ok=True)
        colour = (colours or COLOURS).get(name, palette[number % 3])
        for index in range(count):
            picture(colour, rng).save(root / name / f"{index}.png")
    return root


def write_tars(root: Path, counts: Mapping[str, int], seed: int = 0) -> Path:
    """A tar for each class, as ImageNet-21k is handed out."""
    rng = np.random.default_rng(seed)
    root.mkdir(parents=True)
    for number, (name, count) in enumerate(counts.items()):
        with tarfile.open(root / f"{name}.tar", "w") as archive:
            for index in range(count):
                stream = io.BytesIO()
                picture(list(COLOURS.values())[number % 3], rng).save(stream, "JPEG")
                info = tarfile.TarInfo(f"{name}_{index}.JPEG")
                info.size = stream.tell()
                stream.seek(0)
                archive.addfile(info, stream)
    return root


def write_extractor(folder: Path) -> str:
    """The extractor's file; its URI."""
    (folder / "own.py").write_text(EXTRACTOR)
    return f"{folder / 'own.py'}:Extractor"
