"""A model of the tests' own that draws images of prompts, and a definition for it."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

DEFINITION = """
name: people
class_axis: occupation
attribute: gender
classes: [doctor, nurse, engineer]
groups: [woman, man]
templates: ["A photo of a(n) {gender} who is a(n) {occupation}"]
images_per_cell: 4
people: true
question: "What is this person's occupation?"
"""

PAINTER = '''
"""Draws squares that follow from prompt and seed, and notes what it was asked."""
import hashlib, time
from pathlib import Path
import numpy as np
from evenhand.core.capabilities import CheckedImage, NotAnswered

LOG = Path(__file__).with_name("asked.txt")
MODE = Path(__file__).with_name("mode.txt")

class Painter:
    version = "1"

    def generate(self, prompts, seeds):
        mode = MODE.read_text() if MODE.is_file() else ""
        made = []
        if mode == "memory" and len(prompts) > 2:
            raise MemoryError("out of memory")
        for prompt, seed in zip(prompts, seeds):
            if mode == "slow":
                time.sleep(0.05)
            with LOG.open("a") as log:
                log.write(f"{seed} {prompt}\\n")
            if mode == "broken" and "nurse" in prompt:
                raise RuntimeError("a wire is loose")
            if mode == "exit":
                raise SystemExit(0)
            made.append(self.paint(mode, prompt, seed))
        return made[1:] if mode == "short" else made

    def paint(self, mode, prompt, seed):
        key = hashlib.sha384(f"{prompt} {seed}".encode()).digest()[:48]
        image = np.frombuffer(key, np.uint8).reshape(4, 4, 3).repeat(8, 0).repeat(8, 1)
        if mode == "refuse" and "woman who is a nurse" in prompt:
            return NotAnswered("against the rules", "no nurses\\nhere")
        if mode == "busy" and "nurse" in prompt:
            return NotAnswered("busy", temporary=True)
        if mode == "grey":
            return np.full((8, 8, 3), 128, np.uint8)
        if mode == "float":
            return image / 255.0
        if mode == "check":
            return CheckedImage(image * 0 if "a woman" in prompt else image, "a woman" in prompt)
        return image
'''


def arrange(folder: Path) -> tuple[Path, str]:
    """Write both; the definition's path and the model's URI."""
    (folder / "people.yaml").write_text(DEFINITION)
    (folder / "painter.py").write_text(PAINTER)
    return folder / "people.yaml", f"{folder / 'painter.py'}:Painter"


def painted_prompts(folder: Path) -> list[str]:
    """What the painter was asked for, in order."""
    path = folder / "asked.txt"
    return path.read_text().splitlines() if path.is_file() else []


def mode(folder: Path, name: str) -> None:
    """How the painter behaves from now on."""
    (folder / "mode.txt").write_text(name)


def pixels(path: Path) -> np.ndarray:
    """The image in a file, decoded as a whole."""
    with Image.open(io.BytesIO(path.read_bytes())) as image:
        return np.asarray(image.convert("RGB"))
