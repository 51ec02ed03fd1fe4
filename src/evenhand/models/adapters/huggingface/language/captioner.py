"""What captioners share: one picture size, a tokenizer, and a decoder that speaks after the picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.core.errors import ParameterError
from evenhand.models.adapters.huggingface.decoding import MAX_NEW_TOKENS, decode_greedily, import_transformers
from evenhand.models.adapters.huggingface.language.continuations import (
    Step,
    Tokens,
    check_not_empty,
    first_token_logits,
    pad_right,
    split_together,
    sum_log_probabilities,
)
from evenhand.models.adapters.huggingface.towers import ImageInputs, load_tower
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import import_torch, inference


class Captioner(ABC):
    """A model with one picture size, a tokenizer, and a decoder that speaks after the picture."""

    kind: ClassVar[str]  # the class of transformers that the weights belong to
    separate = False  # an encoder reads the prefix, so that the continuation is a text of its own
    masks_contexts = True  # contexts of different length can be padded: the model masks what is not real

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        library = import_transformers()
        self._torch = import_torch()
        self._tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._inputs = ImageInputs(folder, options)
        self._model, _ = load_tower(getattr(library, self.kind), folder, options)
        self._device = self._model.device
        self.max_new_tokens = options.max_tokens or MAX_NEW_TOKENS
        decode_greedily(self._speaker(), self.max_new_tokens, self._tokenizer.pad_token_id)

    def prepare(self, image: Pixels) -> Floats:
        """An image as the model's processor resizes and normalises it, float32, shape (3, H, W)."""
        return np.asarray(self._inputs.prepare(image), dtype=np.float32)

    def score_continuations(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Log-probability of each whole continuation, shape (N, K): the sum over its tokens, no end token."""
        split = [self._split(*pair) for pair in zip(prefixes, continuations, strict=True)]
        contexts, tails = [context for context, _ in split], [row for _, row in split]
        for context, row, texts in zip(contexts, tails, continuations, strict=True):
            check_not_empty(row, texts)
            self._check_room(context if self.separate else max(([*context, *tail] for tail in row), key=len))
        return self._ask(images, contexts, tails, sum_log_probabilities)

    def next_token_logits(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Logits, shape (N, K), after the prefix: of each continuation's first token, tokenised by itself."""
        contexts = self._contexts(prefixes)
        firsts: list[list[int]] = []
        for texts in continuations:
            alone = [self._words(text) for text in texts]
            check_not_empty(alone, texts)
            firsts.append([tokens[0] for tokens in alone])
        return self._ask(images, contexts, firsts, first_token_logits)

    def answer(self, images: Images, prompts: Sequence[str]) -> list[str]:
        """What the model says after prompt i about image i, greedily; an empty prompt asks for a caption.

        Prompts of one length in tokens are decoded together, so that no padding comes between.
        """
        contexts = self._contexts(prompts)
        answers = [""] * len(contexts)
        for members in _of_one_length(contexts):
            with inference():
                pixels = self._pixels([images[i] for i in members])
                ids = self._ids([contexts[i] for i in members])
                spoken = self._speak(pixels, ids, self._new_tokens(ids.shape[1]))
            texts = self._tokenizer.batch_decode(spoken.tolist(), skip_special_tokens=True)
            for i, text in zip(members, texts, strict=True):
                answers[i] = text.strip()
        return answers

    def _speaker(self) -> Any:
        """The part of the model whose ``generate`` is called."""
        return self._model

    @abstractmethod
    def _context(self, prefix: str) -> Tokens:
        """What the model reads before it speaks."""

    @abstractmethod
    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        """Encode the images once; logits after the contexts and more."""

    @abstractmethod
    def _speak(self, pixels: Any, ids: Any, longest: int) -> Any:
        """Greedily decoded new tokens, after contexts of one length."""

    def _ask(
        self,
        images: Images,
        contexts: Sequence[Tokens],
        words: Sequence[Sequence[Any]],
        measure: Callable[[Step, Any], Floats],
    ) -> Floats:
        """A measure of K continuations for each image; images are encoded once."""
        result = np.zeros((len(contexts), len(words[0]) if len(words) else 0), dtype=np.float32)
        groups = _of_one_length(contexts) if not self.masks_contexts else [list(range(len(contexts)))]
        for members in groups if result.size else []:
            with inference():
                step = self._read(self._pixels([images[i] for i in members]), [contexts[i] for i in members])
                result[members] = measure(step, [words[i] for i in members])
        return result

    def _room(self) -> int | None:
        """How many tokens of text the decoder has positions for, or None where it needs none."""
        positions = self._model.config.get_text_config().max_position_embeddings
        return int(positions)

    def _check_room(self, context: Tokens) -> None:
        room = self._room()
        if room is not None and len(context) > room:
            text = self._tokenizer.decode(context)
            raise ParameterError(
                f"a text of {len(context)} tokens is too long for this model, which reads at most {room}; "
                f"shorten {text[:60]!r}..."
            )

    def _contexts(self, prefixes: Sequence[str]) -> list[Tokens]:
        contexts = [self._context(prefix) for prefix in prefixes]
        for context in contexts:
            self._check_room(context)
        return contexts

    def _new_tokens(self, context_length: int) -> int:
        """How long an answer may be: after a long prompt, few positions are left in some models."""
        room = self._room()
        n_used = 1 if self.separate else context_length
        return self.max_new_tokens if room is None else max(1, min(self.max_new_tokens, room - n_used))

    def _split(self, prefix: str, continuations: Sequence[str]) -> tuple[Tokens, list[Tokens]]:
        context = self._context(prefix)
        if self.separate:
            return context, [self._words(text) for text in continuations]
        length, tails = split_together(context, [self._context(prefix + text) for text in continuations])
        return context[:length], tails

    def _words(self, text: str) -> Tokens:
        return list(self._tokenizer(text, add_special_tokens=False)["input_ids"])

    def _ids(self, rows: Sequence[Tokens]) -> Any:
        return pad_right(rows, self._device)[0]

    def _pixels(self, images: Images) -> Any:
        """Prepared images, or decoded ones, as a batch (N, 3, H, W)."""
        ready = [self.prepare(image) if image.dtype == np.uint8 else image for image in images]
        return self._inputs.batch(ready)["pixel_values"]


def _of_one_length(contexts: Sequence[Tokens]) -> list[list[int]]:
    """Which contexts can stand in one tensor without padding."""
    groups: dict[int, list[int]] = defaultdict(list)
    for i, context in enumerate(contexts):
        groups[len(context)].append(i)
    return list(groups.values())
