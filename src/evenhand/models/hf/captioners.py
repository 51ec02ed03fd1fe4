"""Captioners: BLIP, GIT and BLIP-2 score how a caption goes on, and answer questions.

What a continuation is conditioned on differs by how a model was trained:

- BLIP, GIT and BLIP-2 with OPT read one sequence: the image, their start token, the prefix. Prefix and
  continuation are tokenised as one text (see ``continuations.split_together``), and no ``[SEP]`` stands between.
- BLIP for questions and BLIP-2 with Flan-T5 are encoder-decoders: the encoder reads the image and the prefix with
  its end token, the decoder speaks the continuation from its first word on, tokenised by itself.

``next_token_logits`` are the raw logits after the whole prefix, a trailing space's token included, of the first
token of each continuation tokenised by itself, as in the VisoGender code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import Floats, Images, Pixels
from evenhand.models.hf.continuations import (
    Step,
    Tokens,
    check_not_empty,
    first_token_logits,
    logits_after,
    pad_right,
    split_together,
    sum_log_probabilities,
)
from evenhand.models.hf.language_models import (
    MAX_NEW_TOKENS,
    decode_greedily,
    import_transformers,
    load_weights,
)
from evenhand.models.source import LoadOptions
from evenhand.models.torch_device import import_torch


class Captioner(ABC):
    """A model with one picture size, a tokenizer, and a decoder that speaks after the picture.

    Args:
        folder: Config, tokenizer, image processor and safetensors.
        options: Device and dtype.

    Attributes:
        max_new_tokens: Where an answer ends at the latest.
    """

    max_new_tokens = MAX_NEW_TOKENS
    separate = False  # an encoder reads the prefix, so that the continuation is a text of its own

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        library = import_transformers()
        self._torch = import_torch()
        self._tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
        # Pillow's resizing, which these models were made and published with, also where torchvision is installed
        self._images = library.AutoImageProcessor.from_pretrained(folder, local_files_only=True, backend="pil")
        self._model = load_weights(getattr(library, self._kind(folder)), folder, options)
        self._device, self._dtype = self._model.device, self._model.dtype
        decode_greedily(self._speaker(), self.max_new_tokens, self._tokenizer.pad_token_id)

    def prepare(self, image: Pixels) -> Floats:
        """An image as the model's processor resizes and normalises it, float32, shape (3, H, W)."""
        from PIL import Image

        pixels = self._images(images=Image.fromarray(image), return_tensors="np")["pixel_values"][0]
        return np.asarray(pixels, dtype=np.float32)

    def score_continuations(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Log-probability of each whole continuation: the sum over its tokens, no end token among them.

        Returns:
            float32, shape (N, K), at most 0.

        Raises:
            ParameterError: A continuation without a token.
        """
        split = [self._split(*pair) for pair in zip(prefixes, continuations, strict=True)]
        for (_, tails), texts in zip(split, continuations, strict=True):
            check_not_empty(tails, texts)
        if not split:
            return np.zeros((0, 0), dtype=np.float32)
        with self._torch.inference_mode():
            step = self._read(self._pixels(images), [context for context, _ in split])
            return sum_log_probabilities(step, [tails for _, tails in split])

    def next_token_logits(
        self, images: Images, prefixes: Sequence[str], continuations: Sequence[Sequence[str]]
    ) -> Floats:
        """Logit, right after the prefix, of the first token of each continuation tokenised by itself.

        Returns:
            float32, shape (N, K).

        Raises:
            ParameterError: A continuation without a token.
        """
        firsts = []
        for texts in continuations:
            alone = [self._words(text) for text in texts]
            check_not_empty(alone, texts)
            firsts.append([tokens[0] for tokens in alone])
        if not firsts:
            return np.zeros((0, 0), dtype=np.float32)
        with self._torch.inference_mode():
            step = self._read(self._pixels(images), [self._context(prefix) for prefix in prefixes])
            return first_token_logits(step, firsts)

    def answer(self, images: Images, prompts: Sequence[str]) -> list[str]:
        """What the model says after prompt i about image i, greedily; an empty prompt asks for a caption.

        Prompts of one length in tokens are decoded together, so that no padding comes between.
        """
        same_length: dict[int, list[int]] = defaultdict(list)
        contexts = [self._context(prompt) for prompt in prompts]
        for i, context in enumerate(contexts):
            same_length[len(context)].append(i)
        answers = [""] * len(contexts)
        for members in same_length.values():
            with self._torch.inference_mode():
                pixels = self._pixels([images[i] for i in members])
                spoken = self._speak(pixels, self._ids([contexts[i] for i in members]))
            texts = self._tokenizer.batch_decode(spoken.tolist(), skip_special_tokens=True)
            for i, text in zip(members, texts, strict=True):
                answers[i] = text.strip()
        return answers

    @abstractmethod
    def _kind(self, folder: Path) -> str:
        """The class of transformers that the folder's weights belong to."""

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
    def _speak(self, pixels: Any, ids: Any) -> Any:
        """Greedily decoded new tokens, after contexts of one length."""

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
        return self._torch.from_numpy(np.stack(ready)).to(self._device, self._dtype)


class BlipCaptioner(Captioner):
    """BLIP captioning (``BlipForConditionalGeneration``): image -> start token, prefix, continuation."""

    def _kind(self, folder: Path) -> str:
        return "BlipForConditionalGeneration"

    def _speaker(self) -> Any:
        return self._model.text_decoder

    def _context(self, prefix: str) -> Tokens:
        return [self._model.config.text_config.bos_token_id, *self._words(prefix)]

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        seen = self._model.vision_model(pixel_values=pixels).last_hidden_state
        return _blip_step(self._model.text_decoder, contexts, self._device, encoder_hidden_states=seen)

    def _speak(self, pixels: Any, ids: Any) -> Any:
        seen = self._model.vision_model(pixel_values=pixels).last_hidden_state
        return _blip_speech(self._model, ids, encoder_hidden_states=seen)


class BlipAnswerer(Captioner):
    """BLIP for questions (``BlipForQuestionAnswering``): an encoder reads image and question, a decoder answers."""

    separate = True

    def _kind(self, folder: Path) -> str:
        return "BlipForQuestionAnswering"

    def _speaker(self) -> Any:
        return self._model.text_decoder

    def _context(self, prefix: str) -> Tokens:
        return list(self._tokenizer(prefix)["input_ids"])

    def _question(self, pixels: Any, contexts: Sequence[Tokens]) -> dict[str, Any]:
        ids, mask = pad_right(contexts, self._device, self._tokenizer.pad_token_id or 0)
        seen = self._model.vision_model(pixel_values=pixels).last_hidden_state
        question = self._model.text_encoder(input_ids=ids, attention_mask=mask, encoder_hidden_states=seen)
        return {"encoder_hidden_states": question.last_hidden_state, "encoder_attention_mask": mask}

    def _starts(self, number: int) -> list[Tokens]:
        return [[self._model.config.text_config.bos_token_id]] * number

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        question = self._question(pixels, contexts)
        return _blip_step(self._model.text_decoder, self._starts(len(contexts)), self._device, **question)

    def _speak(self, pixels: Any, ids: Any) -> Any:
        question = self._question(pixels, ids.tolist())
        return _blip_speech(self._model, self._ids(self._starts(len(ids))), **question)


class GitCaptioner(Captioner):
    """GIT (``GitForCausalLM``), for captions and questions: image, ``[CLS]``, prefix, continuation."""

    def _kind(self, folder: Path) -> str:
        return "GitForCausalLM"

    def _context(self, prefix: str) -> Tokens:
        return [self._tokenizer.cls_token_id, *self._words(prefix)]

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        # the model takes no encoded image; what the vision tower said is kept in its place
        tower = _Remembered(self._model.git.image_encoder)
        seen = self._model.git.visual_projection(tower(pixels)).shape[1]

        def forward(ids: Any, mask: Any, positions: Any) -> Any:
            with tower:
                return self._model(
                    input_ids=ids,
                    attention_mask=mask,
                    pixel_values=pixels,
                    use_cache=False,
                    logits_to_keep=positions,
                ).logits

        return lambda tails: logits_after(contexts, tails, forward, self._device, before=seen)

    def _speak(self, pixels: Any, ids: Any) -> Any:
        return self._model.generate(pixel_values=pixels, input_ids=ids)[:, ids.shape[1] :]


class Blip2(Captioner):
    """BLIP-2 (``Blip2ForConditionalGeneration``), whose language model decides how a prefix is read.

    With OPT: image, start token, prefix, continuation. With Flan-T5 the encoder reads image and prefix, and the
    decoder speaks the continuation, as in the training of this model (a text cut in two).
    """

    def _kind(self, folder: Path) -> str:
        return "Blip2ForConditionalGeneration"

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        super().__init__(folder, options)
        self.separate = not self._model.config.use_decoder_only_language_model

    def _speaker(self) -> Any:
        return self._model.language_model

    def _context(self, prefix: str) -> Tokens:
        return list(self._tokenizer(prefix)["input_ids"])

    def _see(self, pixels: Any) -> Any:
        return self._model.get_image_features(pixel_values=pixels, return_dict=True).pooler_output

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        seen = self._see(pixels)
        if self.separate:
            return self._read_by_encoder(seen, contexts)

        def forward(ids: Any, mask: Any, positions: Any) -> Any:
            return self._speaker()(
                **self._after_image(seen, ids, mask), use_cache=False, logits_to_keep=positions
            ).logits

        return lambda tails: logits_after(contexts, tails, forward, self._device, before=seen.shape[1])

    def _read_by_encoder(self, seen: Any, contexts: Sequence[Tokens]) -> Step:
        inputs = self._after_image(seen, *pad_right(contexts, self._device))
        read = self._speaker().get_encoder()(**inputs, return_dict=True)
        start = [[self._speaker().config.decoder_start_token_id]] * len(contexts)

        def forward(ids: Any, mask: Any, positions: Any) -> Any:
            return self._speaker()(
                encoder_outputs=read,
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=ids,
                decoder_attention_mask=mask,
                use_cache=False,
            ).logits[:, positions]

        return lambda tails: logits_after(start, tails, forward, self._device)

    def _after_image(self, seen: Any, ids: Any, mask: Any) -> dict[str, Any]:
        words = self._speaker().get_input_embeddings()(ids)
        shown = mask.new_ones(seen.shape[:2])
        return {
            "inputs_embeds": self._torch.cat([seen.to(words.dtype), words], dim=1),
            "attention_mask": self._torch.cat([shown, mask], dim=1),
        }

    def _speak(self, pixels: Any, ids: Any) -> Any:
        inputs = self._after_image(self._see(pixels), ids, self._torch.ones_like(ids))
        return self._speaker().generate(**inputs)


class _Remembered:
    """A module that is called once; within ``with``, it answers the same again."""

    def __init__(self, module: Any) -> None:
        self._module = module
        self._said: Any = None
        self._forward: Callable[..., Any] = module.forward

    def __call__(self, pixels: Any) -> Any:
        self._said = self._module(pixels)
        return self._said.last_hidden_state

    def __enter__(self) -> None:
        self._module.forward = lambda *_, **__: self._said

    def __exit__(self, *_: object) -> None:
        self._module.forward = self._forward


def _blip_step(decoder: Any, contexts: Sequence[Tokens], device: Any, **seen: Any) -> Step:
    def forward(ids: Any, mask: Any, positions: Any) -> Any:
        return decoder(
            input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=positions, **seen
        ).logits

    return lambda tails: logits_after(contexts, tails, forward, device)


def _blip_speech(model: Any, ids: Any, **seen: Any) -> Any:
    """New tokens of BLIP's decoder, whose end is the tokenizer's ``[SEP]``."""
    text = model.config.text_config
    spoken = model.text_decoder.generate(
        input_ids=ids, eos_token_id=text.sep_token_id, pad_token_id=text.pad_token_id, **seen
    )
    return spoken[:, ids.shape[1] :]
