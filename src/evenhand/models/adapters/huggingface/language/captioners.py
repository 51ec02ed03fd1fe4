"""Captioners: BLIP, GIT and BLIP-2 score how a caption goes on, and answer questions.

What a continuation is conditioned on differs by how a model was trained:

- BLIP, GIT and BLIP-2 with OPT read one sequence: the image, their start token, the prefix. Prefix and
  continuation are tokenised as one text (see ``continuations.split_together``); no ``[SEP]`` stands between.
- BLIP for questions and BLIP-2 with Flan-T5 are encoder-decoders: the encoder reads the image and the prefix
  with its end token, the decoder speaks the continuation from its first word on, tokenised by itself.

``next_token_logits`` are the raw logits after the whole prefix, a trailing space's token included, of the
first token of each continuation tokenised by itself, as in the VisoGender code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from evenhand.models.adapters.huggingface.language.captioner import Captioner
from evenhand.models.adapters.huggingface.language.continuations import Step, Tokens, logits_after, pad_right
from evenhand.models.identity.source import LoadOptions


class BlipCaptioner(Captioner):
    """BLIP captioning (``BlipForConditionalGeneration``): image -> start token, prefix, continuation."""

    kind = "BlipForConditionalGeneration"

    def _speaker(self) -> Any:
        return self._model.text_decoder

    def _context(self, prefix: str) -> Tokens:
        return [self._model.config.text_config.bos_token_id, *self._words(prefix)]

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        image_states = self._model.vision_model(pixel_values=pixels).last_hidden_state
        return _blip_step(
            self._model.text_decoder, contexts, self._device, encoder_hidden_states=image_states
        )

    def _speak(self, pixels: Any, ids: Any, longest: int) -> Any:
        image_states = self._model.vision_model(pixel_values=pixels).last_hidden_state
        return _blip_speech(self._model, ids, longest, encoder_hidden_states=image_states)


class BlipAnswerer(Captioner):
    """BLIP for questions (``BlipForQuestionAnswering``): an encoder reads the question, a decoder speaks."""

    kind = "BlipForQuestionAnswering"
    separate = True
    masks_contexts = False  # transformers' BLIP decoder takes a mask over the question, and does not use it

    def _speaker(self) -> Any:
        return self._model.text_decoder

    def _context(self, prefix: str) -> Tokens:
        return list(self._tokenizer(prefix)["input_ids"])

    def _question(self, pixels: Any, contexts: Sequence[Tokens]) -> dict[str, Any]:
        image_states = self._model.vision_model(pixel_values=pixels).last_hidden_state
        read = self._model.text_encoder(input_ids=self._ids(contexts), encoder_hidden_states=image_states)
        return {"encoder_hidden_states": read.last_hidden_state}

    def _starts(self, number: int) -> list[Tokens]:
        return [[self._model.config.text_config.bos_token_id]] * number

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        question = self._question(pixels, contexts)
        return _blip_step(self._model.text_decoder, self._starts(len(contexts)), self._device, **question)

    def _speak(self, pixels: Any, ids: Any, longest: int) -> Any:
        question = self._question(pixels, ids.tolist())
        return _blip_speech(self._model, self._ids(self._starts(len(ids))), longest, **question)


class GitCaptioner(Captioner):
    """GIT (``GitForCausalLM``), for captions and questions: image, ``[CLS]``, prefix, continuation."""

    kind = "GitForCausalLM"

    def _context(self, prefix: str) -> Tokens:
        return [self._tokenizer.cls_token_id, *self._words(prefix)]

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        # the model takes no encoded image; what the vision tower said is kept in its place
        tower = _Remembered(self._model.git.image_encoder)
        n_image_tokens = self._model.git.visual_projection(tower(pixels)).shape[1]

        def forward(ids: Any, mask: Any, positions: Any) -> Any:
            with tower:
                return self._model(
                    input_ids=ids,
                    attention_mask=mask,
                    pixel_values=pixels,
                    use_cache=False,
                    logits_to_keep=positions,
                ).logits

        return lambda tails: logits_after(contexts, tails, forward, self._device, before=n_image_tokens)

    def _speak(self, pixels: Any, ids: Any, longest: int) -> Any:
        spoken = self._model.generate(pixel_values=pixels, input_ids=ids, max_new_tokens=longest)
        return spoken[:, ids.shape[1] :]


class Blip2(Captioner):
    """BLIP-2 (``Blip2ForConditionalGeneration``), whose language model decides how a prefix is read.

    With OPT: image, start token, prefix, continuation. With Flan-T5 the encoder reads image and prefix, and
    the decoder speaks the continuation, as in the training of this model (a text cut in two).
    """

    kind = "Blip2ForConditionalGeneration"

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        super().__init__(folder, options)
        self.separate = not self._model.config.use_decoder_only_language_model

    def _speaker(self) -> Any:
        return self._model.language_model

    def _context(self, prefix: str) -> Tokens:
        return list(self._tokenizer(prefix)["input_ids"])

    def _room(self) -> int | None:
        if self.separate:
            return None
        return int(self._speaker().config.max_position_embeddings - self._model.config.num_query_tokens)

    def _see(self, pixels: Any) -> Any:
        return self._model.get_image_features(pixel_values=pixels, return_dict=True).pooler_output

    def _read(self, pixels: Any, contexts: Sequence[Tokens]) -> Step:
        image_states = self._see(pixels)
        if self.separate:
            return self._read_by_encoder(image_states, contexts)

        def forward(ids: Any, mask: Any, positions: Any) -> Any:
            return self._speaker()(
                **self._after_image(image_states, ids, mask), use_cache=False, logits_to_keep=positions
            ).logits

        return lambda tails: logits_after(
            contexts, tails, forward, self._device, before=image_states.shape[1]
        )

    def _read_by_encoder(self, image_states: Any, contexts: Sequence[Tokens]) -> Step:
        inputs = self._after_image(image_states, *pad_right(contexts, self._device))
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

    def _after_image(self, image_states: Any, ids: Any, mask: Any) -> dict[str, Any]:
        words = self._speaker().get_input_embeddings()(ids)
        image_mask = mask.new_ones(image_states.shape[:2])
        return {
            "inputs_embeds": self._torch.cat([image_states.to(words.dtype), words], dim=1),
            "attention_mask": self._torch.cat([image_mask, mask], dim=1),
        }

    def _speak(self, pixels: Any, ids: Any, longest: int) -> Any:
        inputs = self._after_image(self._see(pixels), ids, self._torch.ones_like(ids))
        return self._speaker().generate(**inputs, max_new_tokens=longest)


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


def _blip_step(decoder: Any, contexts: Sequence[Tokens], device: Any, **image_inputs: Any) -> Step:
    def forward(ids: Any, mask: Any, positions: Any) -> Any:
        return decoder(
            input_ids=ids, attention_mask=mask, use_cache=False, logits_to_keep=positions, **image_inputs
        ).logits

    return lambda tails: logits_after(contexts, tails, forward, device)


def _blip_speech(model: Any, ids: Any, longest: int, **image_inputs: Any) -> Any:
    """New tokens of BLIP's decoder, whose end is the tokenizer's ``[SEP]``."""
    text = model.config.text_config
    spoken = model.text_decoder.generate(
        input_ids=ids,
        eos_token_id=text.sep_token_id,
        pad_token_id=text.pad_token_id,
        max_new_tokens=longest,
        **image_inputs,
    )
    return spoken[:, ids.shape[1] :]
