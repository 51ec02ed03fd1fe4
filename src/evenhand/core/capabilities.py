"""What a model can do, as Protocols. A model meets one by having the methods; nothing is inherited.

``images`` is always a sequence with one item per sample: what the model's own ``prepare`` returned, or,
where it has none, the decoded image, uint8 RGB, shape (H, W, 3), 0-255; sizes may differ within one call.

A method answers for the whole sequence, in its order. In place of one sample's answer it may give
``NotAnswered``; then it returns a list instead of an array.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import get_annotations
from types import MappingProxyType
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

Images = Sequence[Any]
Floats = npt.NDArray[np.float32]
Pixels = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class NotAnswered:
    """One sample that a model has no answer for."""

    reason: str  # a short phrase, counted in findings, such as ``refused by the server``
    detail: str = ""  # of this sample
    temporary: bool = False  # asking again may help (the same command does); until then a run is incomplete


@dataclass(frozen=True, eq=False)
class CheckedImage:
    """An image that the model that made it also looked over."""

    pixels: Pixels  # RGB, shape (H, W, 3); what the model gave out, maybe blacked out
    flagged: bool  # its own safety check objects to it


@runtime_checkable
class HasIdentity(Protocol):
    """A model that says which model it is."""

    def identity(self) -> dict[str, str]:
        """What makes two models the same: name, revision, sha256 of the weights, preprocessing."""
        ...


@runtime_checkable
class PreparesImages(Protocol):
    """Preprocessing of one image apart from the model, so that it can run in worker threads."""

    def prepare(self, image: Pixels) -> Any:
        """What the other methods take in place of the image.

        Args:
            image: uint8 RGB, shape (H, W, 3), 0-255.
        """
        ...


@runtime_checkable
class ClassifiesImages(Protocol):
    """Answers with one logit for each of its labels.

    Attributes:
        labels: Names of the classes, in the order of the logits. A model may also have ``wordnet_ids``, one
            (or an empty text) for each label.
    """

    labels: Sequence[str]

    def classify(self, images: Images) -> Floats:
        """Logits, float32, shape (N, len(labels)); any real values, larger is likelier."""
        ...


@runtime_checkable
class EmbedsImages(Protocol):
    """Turns an image into a vector."""

    def embed_images(self, images: Images) -> Floats:
        """Vectors as the model makes them, not normalised, float32, shape (N, D)."""
        ...


@runtime_checkable
class EmbedsTexts(Protocol):
    """Turns a text into a vector of the space its images lie in.

    Attributes:
        logit_scale: What a cosine is multiplied with to make a logit. A model may also have ``logit_bias``,
            which is added then (SigLIP), and ``link``, ``softmax`` or ``sigmoid``.
    """

    logit_scale: float

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Vectors as the model makes them, not normalised, float32, shape (M, D)."""
        ...


@runtime_checkable
class MatchesPairs(Protocol):
    """Says whether a text describes an image, pair by pair."""

    def match(self, images: Images, texts: Sequence[str]) -> Floats:
        """Probability of a match of image i and text i, float32, shape (N,), in [0, 1]."""
        ...


@runtime_checkable
class ScoresContinuations(Protocol):
    """Says how likely continuations of a prefix are, given an image."""

    def score_continuations(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Log-probability of each whole continuation: the sum over its tokens.

        Args:
            images: N images.
            prefixes: N texts that stand before the continuation, as they are, spaces included.
            continuations: N lists of K texts, appended to the prefix as they are.

        Returns:
            float32, shape (N, K), at most 0.
        """
        ...

    def next_token_logits(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Logit, right after the prefix, of the first token of each continuation tokenised on its own.

        Returns:
            float32, shape (N, K); any real values.
        """
        ...


@runtime_checkable
class AnswersQuestions(Protocol):
    """Answers in free text, greedily decoded."""

    def answer(self, images: Images, prompts: Sequence[str]) -> Sequence[str | NotAnswered]:
        """What the model says to prompt i about image i, special tokens and the prompt removed, N texts."""
        ...


@runtime_checkable
class GeneratesImages(Protocol):
    """Makes images from prompts."""

    def generate(
        self, prompts: Sequence[str], seeds: Sequence[int]
    ) -> Sequence[Pixels | CheckedImage | NotAnswered]:
        """N images, uint8 RGB, shape (H, W, 3) each; equal prompt and seed give equal images."""
        ...


CAPABILITIES: Mapping[str, type] = MappingProxyType(
    {
        "classifies_images": ClassifiesImages,
        "embeds_images": EmbedsImages,
        "embeds_texts": EmbedsTexts,
        "matches_pairs": MatchesPairs,
        "scores_continuations": ScoresContinuations,
        "answers_questions": AnswersQuestions,
        "generates_images": GeneratesImages,
    }
)


def capabilities_of(model: object) -> tuple[str, ...]:
    """Names of the capabilities that an object meets, in the order of ``CAPABILITIES``."""
    return tuple(name for name, protocol in CAPABILITIES.items() if isinstance(model, protocol))


_ADDED = {
    "labels": "labels, the names of the classes in the order of the logits",
    "logit_scale": "logit_scale = 100.0, what a cosine is multiplied with to make a logit (100 is CLIP's)",
}


def half_met(model: object) -> dict[str, str]:
    """Capabilities that an object meets only in part, and what its class would have to get, in a sentence."""
    sentences = {}
    for name, protocol in CAPABILITIES.items():
        methods = [var for var in vars(protocol) if not var.startswith("_") and callable(vars(protocol)[var])]
        there = [f"{method}()" for method in methods if hasattr(model, method)]
        absent = [member for member in (*methods, *get_annotations(protocol)) if not hasattr(model, member)]
        if there and absent:
            kind = (model if isinstance(model, type) else type(model)).__name__
            added = " and ".join(_ADDED.get(member, f"the method {member}()") for member in absent)
            sentences[name] = (
                f"{kind} has {' and '.join(there)} but no {' and no '.join(absent)}; give it {added}"
            )
    return sentences
