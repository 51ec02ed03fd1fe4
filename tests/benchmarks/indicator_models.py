"""Models of one's own that know each image by the number in its first pixel, and images with such numbers."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
from PIL import Image

import evenhand as eh


def numbered_image(path, number):
    """A small image that holds a number below 65,536; without loss, whatever its name says."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((8, 8, 3), dtype=np.uint8)
    pixels[..., 0], pixels[..., 1] = number // 256, number % 256
    Image.fromarray(pixels).save(path, format="PNG")
    return path


def number_of(image):
    return int(image[0, 0, 0]) * 256 + int(image[0, 0, 1])


def version_of(*given):
    """Answers are kept by version, so models that answer differently need different ones."""
    return hashlib.sha256(repr([np.asarray(one).tolist() for one in given]).encode()).hexdigest()


class Classifies:
    """Logits by the number of the image."""

    def __init__(self, logits, labels, wordnet_ids=None):
        self.version = version_of(logits, labels, wordnet_ids)
        self.logits = np.asarray(logits, dtype=np.float32)
        self.labels = list(labels)
        if wordnet_ids is not None:
            self.wordnet_ids = list(wordnet_ids)
        self.seen = []

    def classify(self, images):
        numbers = [number_of(image) for image in images]
        self.seen += numbers
        return self.logits[numbers]


class Embeds:
    """Vectors by the number of the image."""

    def __init__(self, vectors):
        self.version = version_of(vectors)
        self.vectors = np.asarray(vectors, dtype=np.float32)

    def embed_images(self, images):
        return self.vectors[[number_of(image) for image in images]]


class Answers:
    """Texts by the number of the image."""

    def __init__(self, texts):
        self.version = version_of(texts)
        self.texts = list(texts)
        self.prompts = set()

    def answer(self, images, prompts):
        self.prompts |= set(prompts)
        return [self.texts[number_of(image)] for image in images]


class Compares:
    """Image i lies where the i-th word lies; each word of its own has an axis of its own."""

    version = "1"
    logit_scale = 10.0

    def __init__(self, words, of_image):
        self.version = version_of(words, of_image)
        self.words, self.of_image = list(words), list(of_image)
        self.texts = []

    def embed_images(self, images):
        return np.stack([self._axis(self.of_image[number_of(image)]) for image in images])

    def embed_texts(self, texts):
        self.texts += texts
        return np.stack([self._axis(text.removeprefix("a photo of a ")) for text in texts])

    def _axis(self, word):
        place = self.words.index(word) if word in self.words else len(self.words)
        return np.eye(len(self.words) + 1, dtype=np.float32)[place]


def ask(benchmark, model, data, out=None, limit=None, **parameters):
    """A run with parameters as words, so that ``by="gender"`` is ``-p by=gender``."""
    given = {name: str(value) for name, value in parameters.items()}
    run = eh.run(f"indicators/{benchmark}", model=model, data=data, parameters=given, out=out, limit=limit)
    printed = [(finding.metric, finding.grouping) for finding in run.findings.findings]
    assert len(set(printed)) == len(printed)  # no two findings are called the same
    return run


def keys_of(finding, between="_"):
    return {part.key if isinstance(part.key, str) else between.join(part.key): part for part in finding.parts}
