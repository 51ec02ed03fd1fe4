"""``adapted:``: a feature extractor with a head that ``evenhand adapt`` fitted, or fine-tuned weights."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Images, NotAnswered, PreparesImages
from evenhand.core.errors import InputError
from evenhand.files.hashing import sha256_files
from evenhand.models.adapted.folder import HEAD, NETWORK, Head, hash_of_classes, read_card, read_hashes
from evenhand.models.identity.source import LoadOptions, ModelSource
from evenhand.models.resolve import resolve
from evenhand.models.trainable import network_uri

ADAPTER = "1"  # raised when answers of this adapter change
FINE_TUNED = "fine_tuning"


class AdaptedSource:
    """A model that ``evenhand adapt`` made."""

    def __init__(self, rest: str, options: LoadOptions) -> None:
        self.uri, self._options = f"adapted:{rest}", options
        self._folder = Path(rest).expanduser().resolve()
        self.card = read_card(self._folder)

    @cached_property
    def extractor(self) -> ModelSource:
        """The model under the head; of a fine-tuned one the network in its folder."""
        if self.card["method"] == FINE_TUNED:
            uri = network_uri(str(self.card["extractor"]["uri"]), self._folder / NETWORK)
            return resolve(uri, self._options)
        return resolve(str(self.card["extractor"]["uri"]), self._options)

    def identity(self) -> dict[str, str]:
        """The extractor's identity, the hash of the head, and how it was adapted.

        Recipe, classes and images stand apart, so that equally adapted models can be recognised.
        """
        facts = {f"extractor {name}": value for name, value in self.extractor.identity().items()}
        head = self._folder / HEAD
        if self.card["method"] != FINE_TUNED:
            facts["sha256 of head"] = self._hash(head)
        training = self.card.get("training") or {}
        return facts | {
            "adaptation": str(self.card["method"]),
            "adaptation recipe": json.dumps(self.card["recipe"], sort_keys=True),
            "adaptation classes": hash_of_classes(self.card["classes"]),
            "adaptation images": str(training.get("sha256", "")),
            "adaptation seed": str(self.card["seed"]),
            "adapter": f"adapted {ADAPTER}",
        }

    def capabilities(self) -> Sequence[str]:
        """``classifies_images``, and ``embeds_images`` as the extractor does."""
        return ("classifies_images", "embeds_images")

    def training_hashes(self) -> set[str]:
        """Content hashes of the images that the model was adapted on, and its extractor too, if it was."""
        hashes = read_hashes(self._folder)
        if isinstance(self.extractor, AdaptedSource):
            hashes |= self.extractor.training_hashes()
        return hashes

    def labels(self) -> tuple[list[str], list[str]]:
        """Names of the classes in the order of the logits, and their WordNet ids or empty texts."""
        classes = self.card["classes"]
        return [entry["label"] for entry in classes], [entry["wordnet_id"] for entry in classes]

    def embedder(self) -> ModelSource:
        """Who makes the vectors: the extractor, or that of the extractor, if it has but a head of its own."""
        source = self.extractor
        while isinstance(source, AdaptedSource) and source.card["method"] != FINE_TUNED:
            source = source.extractor
        return source

    def head(self) -> Head | None:
        """The head; None of a fine-tuned model, which has its own."""
        if self.card["method"] == FINE_TUNED:
            return None
        self._check_extractor()
        head = Head.load(self._folder / HEAD)
        if len(head.offset) != len(self.card["classes"]):
            raise InputError(
                f"the head of {self.uri!r} has {len(head.offset)} outputs and its card "
                f"{len(self.card['classes'])} classes; adapt the model again"
            )
        return head

    def load(self) -> AdaptedModel:
        """Extractor and head."""
        head = self.head()
        return AdaptedModel(self.extractor.load(), head, *self.labels())

    def _hash(self, path: Path) -> str:
        try:
            return sha256_files([path])[path]
        except OSError:
            raise InputError(f"{self.uri!r} has no {path.name}; adapt the model again") from None

    def _check_extractor(self) -> None:
        """A head fits one extractor: weights and preprocessing must be those it was fitted on."""
        then = {str(name): str(value) for name, value in self.card["extractor"]["identity"].items()}
        now = dict(self.extractor.identity())
        # what an older evenhand did not know of a model cannot be compared
        comparable = {name for name in then if "sha256" in name or name.startswith("version")}
        other = sorted(name for name in comparable if then.get(name) != now.get(name))
        if other:
            raise InputError(
                f"{self.extractor.uri!r} is no longer the model that the head of {self.uri!r} was fitted on "
                f"({other[0]} differs); give back its files, or adapt it again"
            )


class AdaptedModel:
    """An extractor with a head of its own; ``head=None``: a model that classifies by itself."""

    def __init__(
        self, extractor: Any, head: Head | None, labels: Sequence[str], wordnet_ids: Sequence[str]
    ) -> None:
        self._extractor, self._head, self.labels = extractor, head, list(labels)
        if any(wordnet_ids):
            self.wordnet_ids = list(wordnet_ids)
        if isinstance(extractor, PreparesImages):
            self.prepare = extractor.prepare

    def classify(self, images: Images) -> Any:
        """Logits, float32, shape (N, len(labels)); a list where the extractor has no answer for some."""
        if self._head is None:
            return self._extractor.classify(images)
        vectors = self._extractor.embed_images(images)
        if isinstance(vectors, np.ndarray):
            return self._head.logits(vectors)
        return [
            vector if isinstance(vector, NotAnswered) else self._head.logits(np.asarray(vector)[None])[0]
            for vector in vectors
        ]

    def embed_images(self, images: Images) -> Any:
        """As of the extractor, float32, shape (N, D)."""
        return self._extractor.embed_images(images)

    def close(self) -> None:
        """Let go of what the extractor holds open, if anything."""
        if hasattr(self._extractor, "close"):
            self._extractor.close()


def open_adapted(rest: str, options: LoadOptions) -> ModelSource:
    """``adapted:FOLDER``."""
    return AdaptedSource(rest, options)
