"""Vision-language models that chat: LLaVA, Qwen-VL, Idefics, SmolVLM, PaliGemma, Gemma 3, InternVL and more.

What an answer is conditioned on: the chat template with one user turn, the image and then the prompt, and the
opening of the assistant's turn.

What a continuation is conditioned on: the same with ``instruction`` as the prompt, and then the prefix as the
start of what the assistant says, where the template would put it in a text of training: after the space that
it writes there, if it writes one, and never inside a thought. Prefix and continuation are appended as they
are.

PaliGemma has no turns. The prompt is its prefix, which it reads in both directions up to a line break;
what it says follows, and there the prefix of a continuation stands.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats, Images
from evenhand.core.errors import UserError
from evenhand.models.adapters.huggingface.decoding import (
    MAX_NEW_TOKENS,
    THINKING_TOKENS,
    decode_greedily,
    import_transformers,
)
from evenhand.models.adapters.huggingface.language.chat_inputs import ChatInputs, ChatProcessor, open_inputs
from evenhand.models.adapters.huggingface.language.continuations import (
    Step,
    Tokens,
    check_not_empty,
    first_token_logits,
    logits_after,
    pad_right,
    split_together,
    sum_log_probabilities,
)
from evenhand.models.adapters.huggingface.towers import load_tower
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import inference


class ChatModel:
    """A model behind ``AutoModelForImageTextToText`` and its processor."""

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        library = import_transformers()
        self._inputs: ChatInputs = open_inputs(folder, options)
        self.instruction = self._inputs.instruction
        self._model, _ = load_tower(_automatic_class(library, folder, options), folder, options)
        self._device, self._dtype = self._model.device, self._model.dtype
        usual = THINKING_TOKENS if self._inputs.opened_thought else MAX_NEW_TOKENS
        self.max_new_tokens = options.max_tokens or usual
        decode_greedily(self._model, self.max_new_tokens, self._inputs.tokenizer.pad_token_id)

    def score_continuations(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Log-probability, shape (N, K), of each continuation of what the assistant says, no end token."""
        tails, dropped = [], []
        for prefix, texts in zip(prefixes, continuations, strict=True):
            alone = self._inputs.tokens(self.instruction, prefix)
            wholes = [self._inputs.tokens(self.instruction, prefix + text) for text in texts]
            length, row = split_together(alone, wholes)
            check_not_empty(row, texts)
            tails.append(row)
            dropped.append(len(alone) - length)
        if not tails:
            return np.zeros((0, 0), dtype=np.float32)
        with inference():
            return sum_log_probabilities(self._read(images, prefixes, dropped), tails)

    def next_token_logits(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Logits, shape (N, K), after the prefix: of each continuation's first token, tokenised by itself."""
        firsts: list[list[int]] = []
        for texts in continuations:
            alone = [self._inputs.words(text) for text in texts]
            check_not_empty(alone, texts)
            firsts.append([tokens[0] for tokens in alone])
        if not firsts:
            return np.zeros((0, 0), dtype=np.float32)
        with inference():
            return first_token_logits(self._read(images, prefixes, [0] * len(prefixes)), firsts)

    def answer(self, images: Images, prompts: Sequence[str]) -> list[str]:
        """What the assistant says when the user shows image i and says prompt i, greedily decoded.

        A thought is part of it, from its begin on: whoever reads the answer cuts it off.
        """
        if not prompts:
            return []
        read = self._inputs.encode(images, prompts)
        with inference():
            spoken = self._model.generate(**self._ready(read.tensors))
        new = spoken[:, read.tensors["input_ids"].shape[1] :].tolist()
        return self._inputs.decode(new)

    def _read(self, images: Images, prefixes: Sequence[str], dropped: Sequence[int]) -> Step:
        """Encode the images once; logits after prefixes that lose so many tokens at their end, and more."""
        read = self._inputs.encode(images, [self.instruction] * len(prefixes), prefixes)
        if read.unknown:
            raise UserError(
                f"{self._model.config.model_type} answers questions, but continuations cannot be scored: "
                f"it asks for {read.unknown[0]} beside each token; ask for answers, or take a model that "
                "'evenhand ls models --can scores_continuations' lists"
            )
        contexts = [row[: len(row) - lost] for row, lost in zip(read.contexts, dropped, strict=True)]
        image_inputs = self._see(self._ready(read.images))
        cuts = self._cuts_logits()

        def forward(ids: Any, mask: Any, positions: Any) -> Any:
            kinds = self._kinds(read, contexts, ids.shape[1])
            logit_options = {"logits_to_keep": positions} if cuts else {}
            logits = self._model(
                input_ids=ids, attention_mask=mask, **kinds, **image_inputs, **logit_options, use_cache=False
            ).logits
            return logits if cuts else logits[:, positions]

        return lambda tails: logits_after(contexts, tails, forward, self._device)

    def _see(self, images: dict[str, Any]) -> dict[str, Any]:
        """What the vision tower says, where the model takes that in place of the pixels; else the pixels.

        Older versions of transformers do not take it; then the images are encoded once for each pass, and
        there is more than one pass only for continuations of several tokens.
        """
        encode = getattr(self._model, "get_image_features", None)
        takes = "mm_encoder_outputs" in inspect.signature(self._model.forward).parameters
        if encode is None or not takes or "pixel_values" not in images:
            return images
        encoder_inputs = {
            name: images[name] for name in inspect.signature(encode).parameters if name in images
        }
        rest = {name: value for name, value in images.items() if name != "pixel_values"}
        return {**rest, "mm_encoder_outputs": {"image": encode(**encoder_inputs, return_dict=True)}}

    def _cuts_logits(self) -> bool:
        """Whether the model can compute logits only where they are wanted; all of them need much memory."""
        return "logits_to_keep" in inspect.signature(self._model.forward).parameters

    def _kinds(self, read: ChatProcessor, contexts: Sequence[Tokens], length: int) -> dict[str, Any]:
        """What kind of token stands where, for models that ask for it; all new ones are what it says."""
        kinds = {}
        for name, rows in read.kinds.items():
            new = self._inputs.kind_of_speech
            cut = [row[: len(c)] + [new] * (length - len(c)) for row, c in zip(rows, contexts, strict=True)]
            kinds[name] = pad_right(cut, self._device)[0]
        return kinds

    def _ready(self, tensors: dict[str, Any]) -> dict[str, Any]:
        moved = {name: tensor.to(self._device) for name, tensor in tensors.items()}
        return {
            name: tensor.to(self._dtype) if tensor.is_floating_point() else tensor
            for name, tensor in moved.items()
        }


def _automatic_class(library: Any, folder: Path, options: LoadOptions) -> Any:
    """What loads the model; code in the folder may register it as a plain language model only."""
    config = library.AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=options.trust_remote_code
    )
    own_classes = (getattr(config, "auto_map", None) or {}) if options.trust_remote_code else {}
    plain = "AutoModelForCausalLM" in own_classes and "AutoModelForImageTextToText" not in own_classes
    return library.AutoModelForCausalLM if plain else library.AutoModelForImageTextToText
