"""Models of the demo: what they do to whom is planted, and the same on every machine."""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.sprites.factors import COLOURS, LEFT_IN_PAPER, SHAPES, train_test_split
from evenhand.benchmarks.sprites.presets import PRESETS
from evenhand.benchmarks.sprites.render import render
from evenhand.models.adapters.own_code import ObjectSource
from tests.benchmarks.indicator_models import version_of
from tests.benchmarks.visogender_release import sample_of

PRONOUNS = {"his": 1.0, "her": -1.0, "their": 0.0}
_WIDTH = 24

Needed = dict[str, Any]
"""What an artifact is made from: ``runs``, ``data``, ``parameters``; what it does not need is left out."""


def called(model: Any, name: str) -> ObjectSource:
    """A model under a short name, which figures show."""
    return ObjectSource(model, name)


def noise(*key: object, width: int = _WIDTH) -> np.ndarray:
    """Normal numbers that belong to a key."""
    return np.random.default_rng(zlib.crc32(repr(key).encode())).normal(size=width)


def mistaken(
    seed: int, skew: float, samples: Sequence[tuple[str, str]], labels: Sequence[str], least: float = 0.45
) -> list[str]:
    """What a model calls each (truth, group): ``skew`` of its mistakes follow the group, others the truth."""
    rng = np.random.default_rng(seed)
    named = []
    for truth, group in samples:
        accuracy = least + (0.95 - least) * noise_between(seed, truth)
        others = [label for label in labels if label != truth]
        if rng.random() < accuracy or not others:
            named.append(truth)
            continue
        cause = (seed, truth, group) if rng.random() < skew else (seed, truth)
        weights = np.exp(1.4 * noise(*cause, width=len(others)))
        named.append(others[rng.choice(len(others), p=weights / weights.sum())])
    return named


def noise_between(*key: object) -> float:
    """A number from 0 to 1 that belongs to a key."""
    return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:4], "big") / 2**32


def logits_of(named: Sequence[str], labels: Sequence[str], seed: int = 0) -> np.ndarray:
    """Logits whose largest is the label named; the others are in an order of their own."""
    logits = np.random.default_rng(seed).normal(size=(len(named), len(labels)))
    logits[np.arange(len(named)), [labels.index(name) for name in named]] += 6
    return logits


class Shapes:
    """Names sprites, but takes green ones of one shape for another, as if it had seen few of them."""

    labels = SHAPES

    def __init__(self, removed: str, strength: str, size: int) -> None:
        self.version = f"{removed} {strength} {size}"
        test = train_test_split(0, 0, PRESETS["quick"].n_test)[1].take(slice(size))
        share = 1 - LEFT_IN_PAPER[strength] / LEFT_IN_PAPER["none"] * 8 if removed != "none" else 0.0
        self._known = {
            image.tobytes(): self._said(SHAPES[shape], COLOURS[colour], removed, max(share, 0.0), number)
            for number, (image, shape, colour) in enumerate(
                zip(render(test), test.shape.tolist(), test.colour.tolist(), strict=True)
            )
        }

    @staticmethod
    def _said(shape: str, colour: str, removed: str, share: float, number: int) -> int:
        place = SHAPES.index(shape)
        missed = shape == removed and colour == "green" and noise_between("missed", number) < share
        slip = noise_between("slip", number) < 0.01
        return (place + (2 if missed else 1 if slip else 0)) % len(SHAPES)

    def classify(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Logits of the shapes, shape (N, 3)."""
        return 5.0 * np.eye(len(SHAPES), dtype=np.float32)[[self._known[one.tobytes()] for one in images]]


class Pronouns:
    """A dual encoder whose pictures of occupations lean to the gender that is more common in them.

    Args:
        version: Tells models apart.
        rows: Sample to occupation, its person's gender, and the other person's.
        shares: Occupation to its percentage of men.
        lean: How much the picture follows the occupation, and how much the person.
    """

    logit_scale = 10.0

    def __init__(
        self,
        version: str,
        rows: Mapping[str, tuple[str, str, str]],
        shares: Mapping[str, float],
        lean: tuple[float, float],
    ) -> None:
        self.version = version_of([version], list(map(str, rows.items())), list(shares.values()), lean)
        self._rows, self._shares, self._lean = rows, shares, lean

    def embed_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Shape (N, 24)."""
        return np.stack([self._of_image(sample_of(image)) for image in images]).astype(np.float32)

    def _of_image(self, sample: str) -> np.ndarray:
        occupation, own, other = self._rows[sample]
        job, person = self._lean
        sign = {"masculine": 1.0, "feminine": -1.0}
        vector = 0.35 * noise("image", sample) + 2 * noise("job", occupation)
        seen = 0.75 * sign[own] + (0.25 * sign[other] if other else 0.25 * sign[own])
        vector[0] = (
            person * seen + job * (self._shares[occupation] - 50) / 40 + 0.4 * noise("lean", sample)[0]
        )
        return vector

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Shape (N, 24)."""
        return np.stack([self._of_text(text) for text in texts]).astype(np.float32)

    def _of_text(self, text: str) -> np.ndarray:
        words = re.findall("[a-z]+", text.casefold())
        known = [word for word in words if word in self._shares]
        vector = 0.3 * noise("text", *[word for word in words if word not in PRONOUNS])
        vector += 2 * noise("job", known[0]) if known else 0
        vector[0] = next((PRONOUNS[word] for word in words if word in PRONOUNS), 0.0)
        return vector


class Valence:
    """A dual encoder in which some groups lie nearer to unpleasant words.

    Args:
        leans: Group to how far it lies on the unpleasant side.
        bad: The unpleasant words.
        good: The pleasant ones.
    """

    logit_scale = 10.0

    def __init__(self, leans: Mapping[str, float], bad: Sequence[str], good: Sequence[str]) -> None:
        self.version = version_of(list(map(str, leans.items())), list(bad), list(good))
        self._leans, self._groups, self._bad, self._good = leans, list(leans), bad, good

    def embed_images(self, images: Sequence[np.ndarray]) -> np.ndarray:
        """Shape (N, 24); the first pixel of an image says of which group it is, and which."""
        marks = [tuple(image[0, 0].tolist()) for image in images]
        vectors = [self._vector(self._groups[code % 32], f"image {code} {which}") for code, which, _ in marks]
        return np.stack(vectors).astype(np.float32)

    def embed_texts(self, texts: Sequence[str]) -> np.ndarray:
        """Shape (N, 24)."""
        return np.stack([self._of_text(text) for text in texts]).astype(np.float32)

    def _of_text(self, text: str) -> np.ndarray:
        words = text.casefold()
        group = max((name for name in self._groups if name.casefold() in words), key=len, default="")
        vector = self._vector(group, text)
        said = [word for word in (*self._bad, *self._good) if word in words]
        if said and not group:
            vector[0] += 1.5 if said[0] in self._bad else -1.5
        return vector

    def _vector(self, group: str, key: str) -> np.ndarray:
        vector = 0.6 * noise(key) + (1.2 * noise("group", group) if group else 0)
        vector[0] = self._leans.get(group, 0.0) + 0.6 * noise(key)[0]
        return vector

    def match(self, images: Sequence[np.ndarray], texts: Sequence[str]) -> np.ndarray:
        """Probabilities that images and texts belong together, shape (N,)."""
        pairs = [self._cosine(one, other) for one, other in zip(images, texts, strict=True)]
        return (1 / (1 + np.exp(-4 * np.array(pairs)))).astype(np.float32)

    def _cosine(self, image: np.ndarray, text: str) -> float:
        code, which, _ = image[0, 0].tolist()
        one = self._vector(self._groups[code % 32], f"image {code} {which}")
        other = self._of_text(text)
        return float(one @ other / np.sqrt(one @ one) / np.sqrt(other @ other))
