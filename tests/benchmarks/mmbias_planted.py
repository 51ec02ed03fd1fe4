"""A user's own association tests with images, and models of one's own that have known associations."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
from PIL import Image

SETS = ("left", "right", "bad", "good")
ITEMS = 5
TESTS = [["left", "right", "bad", "good"]]

OWN = '''
import re
import zlib
from pathlib import Path

import numpy as np

SETS = ("left", "right", "bad", "good")
PULL = {"left": (1.0, 0.2), "right": (0.2, 1.0), "bad": (1.0, 0.0), "good": (0.0, 1.0)}


def vector(name, number, kind):
    """Towards the axis of bad or of good, with noise of its own in the other dimensions."""
    rng = np.random.default_rng(zlib.crc32(f"{kind}{name}{number}".encode()))
    pull = np.zeros(8)
    pull[:2] = PULL[name]
    return pull + 0.4 * rng.normal(size=8)


def note(things):
    with open(Path(__file__).parent / "seen.txt", "a") as seen:
        seen.writelines(f"{thing}\\n" for thing in things)


def of_image(image):
    return SETS[int(image[0, 0, 0]) // 50], int(image[0, 0, 1])


def of_text(text):
    name, number = re.search("(left|right|bad|good)([0-9]+)", text).groups()
    return name, int(number)


class Words:
    version = "1"  # the code says nothing of a training
    logit_scale = 20.0

    def embed_texts(self, texts):
        note(texts)
        extra = [len(text) % 7 / 20 for text in texts]  # a template changes a vector a little
        made = [vector(*of_text(text), "text") + more for text, more in zip(texts, extra)]
        return np.stack(made).astype("f4")


class Pictures:
    version = "1"

    def embed_images(self, images):
        note(["/".join(map(str, of_image(image))) for image in images])
        return np.stack([vector(*of_image(image), "image") for image in images]).astype("f4")


class Both(Words, Pictures):
    pass


class Flawed(Both):
    def embed_texts(self, texts):
        made = super().embed_texts(texts)
        made[[text == "This is left3." for text in texts]] = np.nan
        made[[text == "bad1" for text in texts]] = 0
        return made


class Constant(Both):
    def embed_texts(self, texts):
        return np.ones((len(texts), 8), dtype="f4")

    def embed_images(self, images):
        return np.ones((len(images), 8), dtype="f4")


class NoLeft(Both):
    def embed_texts(self, texts):
        made = super().embed_texts(texts)
        made[["left" in text for text in texts]] = 0
        return made


class Wider(Both):
    def embed_texts(self, texts):
        return np.pad(super().embed_texts(texts), ((0, 0), (0, 3)))


class Matches:
    version = "1"
    lost = ()

    def match(self, images, texts):
        note([f"{'/'.join(map(str, of_image(image)))} {text}" for image, text in zip(images, texts)])
        pairs = [
            vector(*of_image(image), "image") @ vector(*of_text(text), "text")
            for image, text in zip(images, texts)
        ]
        told = (1 / (1 + np.exp(-np.array(pairs)))).astype("f4")
        told[[text in self.lost for text in texts]] = np.nan
        return told


class Forgetful(Matches):
    lost = ("bad1",)
'''


def planted(folder: Path, images: bool = True) -> Path:
    """Write a file of tests, its images, and ``own.py`` beside them; tell the file of tests."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "own.py").write_text(f"{OWN}\n# {folder}\n")  # answers to other tests are not known here
    sets = {}
    for code, name in enumerate(SETS):
        sets[name] = {"phrases": [f"{name}{number}" for number in range(ITEMS)]}
        if images:
            sets[name]["images"] = f"pictures/{name}"
            paint(folder / "pictures" / name, code)
    content = {
        "targets": {name: sets[name] for name in SETS[:2]},
        "attributes": {name: sets[name] for name in SETS[2:]},
        "tests": TESTS,
    }
    (folder / "tests.json").write_text(json.dumps(content))
    return folder / "tests.json"


def paint(folder: Path, code: int, items: int = ITEMS) -> None:
    """Pictures whose first pixel says of which set they are, and which."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(items):
        pixels = np.full((6, 8, 3), 128, dtype=np.uint8)
        pixels[0, 0] = (50 * code, number, 7)
        Image.fromarray(pixels).save(folder / f"{number}.png")


def cosine(one, other) -> float:
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    return float(one @ other / np.sqrt(one @ one) / np.sqrt(other @ other))


def naive_phi(vectors: dict, items, a, b) -> list[float]:
    """Mean cosine with A minus mean cosine with B, item by item."""
    return [
        float(np.mean([cosine(vectors[item], vectors[word]) for word in a]))
        - float(np.mean([cosine(vectors[item], vectors[word]) for word in b]))
        for item in items
    ]


def naive_d(x, y) -> float:
    """The effect size of associations."""
    return float((np.mean(x) - np.mean(y)) / np.std([*x, *y], ddof=1))


def naive_p(x, y) -> float:
    """The two-sided p by going through all partitions."""
    everyone = np.array([*x, *y])
    observed = abs(np.mean(x) - np.mean(y))
    found = []
    for chosen in combinations(range(len(everyone)), len(x)):
        other = np.delete(everyone, list(chosen))
        found.append(abs(everyone[list(chosen)].mean() - other.mean()) >= observed - 1e-12)
    return float(np.mean(found))
