"""All that a model can be asked about a few images and texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.models.conftest import TEXTS

WORDS = [" his", " her dog", " their"]


def ask_everything(model: Any, pictures: Sequence[Any]) -> dict[str, Any]:
    """Answers by the name of the method, of each that the model has."""
    images = [model.prepare(picture) if hasattr(model, "prepare") else picture for picture in pictures]
    texts = [TEXTS[number % len(TEXTS)] for number in range(len(images))]
    questions: dict[str, tuple[Any, ...]] = {
        "embed_images": (images,),
        "embed_texts": (TEXTS,),
        "classify": (images,),
        "match": (images, texts),
        "answer": (images, texts),
        "score_continuations": (images, texts, [WORDS] * len(images)),
        "next_token_logits": (images, texts, [WORDS] * len(images)),
    }
    return {name: getattr(model, name)(*given) for name, given in questions.items() if hasattr(model, name)}
