"""From images and prompts to what a chat model reads: its processor, its template, and where texts begin."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Images
from evenhand.core.errors import UserError, one_line
from evenhand.core.thoughts import CLOSINGS, OPENING, OPENINGS, closing_of
from evenhand.models.adapters.huggingface.decoding import import_transformers, template_errors
from evenhand.models.adapters.huggingface.language.continuations import Tokens
from evenhand.models.identity.source import LoadOptions

_WORD = "Zebra"  # which no template says by itself
_NOTHING_SAID = re.compile(rf"(?:\s|{'|'.join(map(re.escape, CLOSINGS))})*")
NOT_IMAGES = ("attention_mask", "input_ids", "labels")


@dataclass(frozen=True)
class ChatProcessor:
    """Images and texts as a processor encodes them."""

    tensors: dict[str, Any]  # everything for ``generate``, texts padded on the left
    contexts: list[Tokens]  # of each text, image tokens included, without padding
    kinds: dict[str, list[list[int]]]  # numbers beside each token, by the name of the model's argument
    images: dict[str, Any]
    unknown: tuple[str, ...] = ()  # what else has one entry for each token: it does not fit texts that go on


class ChatInputs:
    """A processor with a chat template: user turn, then the assistant's.

    A template that knows ``enable_thinking`` gets False. What the model is made to say begins where the
    template puts an answer: after the space that stands between the opening of its turn and the answer, and
    after a thought, which is closed where the opening of the turn begins one.
    """

    instruction = "Describe the image."
    kind_of_speech = 0  # the number in ``ChatProcessor.kinds`` of what the model says

    def __init__(self, processor: Any) -> None:
        self.processor, self.tokenizer = processor, processor.tokenizer
        self.tokenizer.padding_side = "left"
        template = str(getattr(processor, "chat_template", None))
        self._settings: dict[str, Any] = {"enable_thinking": False} if "enable_thinking" in template else {}
        self.opened_thought = self._opened_thought()  # the begin of one that the template opens, or empty
        marks = (*OPENINGS, *CLOSINGS)  # one that is a special token begins a mark, or is all of it
        names = [name for name in self.tokenizer.all_special_tokens if any(m.startswith(name) for m in marks)]
        self._thought_ids = set(self.tokenizer.convert_tokens_to_ids(names))

    def decode(self, rows: Sequence[Tokens]) -> list[str]:
        """What the model said, without special tokens; those around a thought stay, and so does its begin."""
        if not self._thought_ids:
            texts = self.tokenizer.batch_decode(rows, skip_special_tokens=True)
        else:
            left_out = set(self.tokenizer.all_special_ids) - self._thought_ids
            spoken = [[token for token in row if token not in left_out] for row in rows]
            texts = self.tokenizer.batch_decode(spoken, skip_special_tokens=False)
        return [f"{self.opened_thought}{text}".strip() for text in texts]

    def encode(
        self, images: Images, prompts: Sequence[str], speech: Sequence[str] | None = None
    ) -> ChatProcessor:
        """Everything that the model reads; ``speech`` begins its answers. Without images, all are None."""
        has_image = any(image is not None for image in images)
        if speech is None:
            return self._process(images, [self._opening(prompt, has_image=has_image) for prompt in prompts])
        turns = zip(prompts, speech, strict=True)
        return self._process(images, [self._begun(*turn, has_image=has_image) for turn in turns])

    def tokens(self, prompt: str, speech: str) -> Tokens:
        """The tokens of a turn without those of the image; they end as those of ``encode`` do."""
        text = self._begun(prompt, speech)
        return list(self.tokenizer(text, add_special_tokens=self._adds_special(text))["input_ids"])

    def words(self, text: str) -> Tokens:
        """The tokens of a text by itself."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _opened_thought(self) -> str:
        opening = self._opening(self.instruction)
        return OPENING.findall(opening)[-1] if closing_of(opening) else ""

    def _begun(self, prompt: str, speech: str, *, has_image: bool = True) -> str:
        """A turn of the user's, and what the model begins to say; the space before that stands there once."""
        opening, gap = self._opening(prompt, has_image=has_image), self._gap(has_image=has_image)
        if not speech:
            return opening + gap.rstrip(" ")
        return opening + gap + (speech.lstrip(" ") if gap.endswith(" ") else speech)

    @lru_cache(maxsize=16)  # noqa: B019 - the instruction is asked for again and again; models are few
    def _opening(self, prompt: str, *, has_image: bool = True) -> str:
        return self._written([_turn("user", prompt, has_image=has_image)], add_generation_prompt=True)

    @lru_cache(maxsize=2)  # noqa: B019 - with and without an image
    def _gap(self, *, has_image: bool = True) -> str:
        """What stands between the opening of the model's turn and what it says, as in a text of training.

        That text is a whole conversation in the words of the template. A template that writes such turns in
        another way than it opens them, or knows none, says nothing; a thought is closed all the same.
        """
        opening = self._opening(self.instruction, has_image=has_image)
        turns = [_turn("user", self.instruction, has_image=has_image), _turn("assistant", _WORD)]
        try:
            text = self._written(turns, add_generation_prompt=False)
        except (TypeError, ValueError, template_errors()):
            text = ""
        gap = text[len(opening) : text.rfind(_WORD)] if text.startswith(opening) else ""
        closing = closing_of(opening)
        if _NOTHING_SAID.fullmatch(gap) and not closing_of(opening + gap):
            return gap
        return f"\n{closing}\n\n" if closing else ""

    def _written(self, turns: list[dict[str, Any]], *, add_generation_prompt: bool) -> str:
        settings = {**self._settings, "add_generation_prompt": add_generation_prompt, "tokenize": False}
        return str(self.processor.apply_chat_template(turns, **settings))

    def _adds_special(self, text: str) -> bool:
        """A template that writes the first token itself must not be given another."""
        first = self.tokenizer.bos_token
        return first is None or not text.startswith(first)

    def _process(self, images: Images, texts: Sequence[str]) -> ChatProcessor:
        from PIL import Image

        inputs = self.processor(
            images=[[Image.fromarray(image)] for image in images if image is not None] or None,
            text=list(texts),
            add_special_tokens=self._adds_special(texts[0]),
            padding=True,
            return_tensors="pt",
        )
        return read_of(dict(inputs))


def _turn(role: str, text: str, *, has_image: bool = False) -> dict[str, Any]:
    """One turn of a conversation, as templates take it."""
    return {
        "role": role,
        "content": [*([{"type": "image"}] if has_image else []), {"type": "text", "text": text}],
    }


class PrefixInputs(ChatInputs):
    """PaliGemma's processor: image, start token, prompt, line break; then what the model says."""

    instruction = "caption en"
    kind_of_speech = 1

    def _opened_thought(self) -> str:
        return ""

    def encode(
        self, images: Images, prompts: Sequence[str], speech: Sequence[str] | None = None
    ) -> ChatProcessor:
        """Everything that the model reads; what it says begins after the line break."""
        read = self._process(images, [f"{self.processor.image_token}{prompt}" for prompt in prompts])
        if speech is None:
            return read
        speech_ids = [self.words(text) for text in speech]
        new = self.kind_of_speech
        contexts = [[*row, *more] for row, more in zip(read.contexts, speech_ids, strict=True)]
        kinds = {
            name: [[*row, *[new] * len(more)] for row, more in zip(rows, speech_ids, strict=True)]
            for name, rows in read.kinds.items()
        }
        return ChatProcessor(read.tensors, contexts, kinds, read.images, read.unknown)

    def tokens(self, prompt: str, speech: str) -> Tokens:
        """The tokens of the model's answer, without those of its prompt."""
        return self.words(speech)


class QwenProcessor:
    """What Qwen-VL's processor does for still images; that one refuses to exist without torchvision."""

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        library = import_transformers()
        settings = {"local_files_only": True, "trust_remote_code": options.trust_remote_code}
        self.tokenizer = library.AutoTokenizer.from_pretrained(folder, **settings)
        self._images = library.AutoImageProcessor.from_pretrained(folder, backend="pil", **settings)
        config = library.AutoConfig.from_pretrained(folder, **settings)
        self._token = self.tokenizer.convert_ids_to_tokens(config.image_token_id)
        self._id = config.image_token_id

    @property
    def chat_template(self) -> Any:
        """The template of the tokenizer, which reads the same file."""
        return self.tokenizer.chat_template

    def apply_chat_template(self, turns: list[dict[str, Any]], **settings: Any) -> Any:
        """A conversation as one text."""
        return self.tokenizer.apply_chat_template(turns, **settings)

    def __call__(
        self, *, images: Sequence[Sequence[Any]], text: Sequence[str], **settings: Any
    ) -> dict[str, Any]:
        """Token ids with a token for each merged patch, and the patches.

        Each list holds one image, each text one image token; ``settings`` are the tokenizer's.
        """
        image_inputs = self._images(images=[image for row in images for image in row], return_tensors="pt")
        patches = image_inputs["image_grid_thw"].prod(-1) // self._images.merge_size**2
        counts = [int(count) for count in patches]
        longer = [
            prompt.replace(self._token, self._token * count)
            for prompt, count in zip(text, counts, strict=True)
        ]
        words = self.tokenizer(longer, **settings)
        kinds = (words["input_ids"] == self._id).long()
        token_inputs = {name: words[name] for name in ("input_ids", "attention_mask")}
        return {**token_inputs, **image_inputs, "mm_token_type_ids": kinds}


def read_of(inputs: dict[str, Any]) -> ChatProcessor:
    """What a processor made, apart by what it belongs to."""
    ids, real = inputs["input_ids"], inputs["attention_mask"].bool()
    beside = {
        name: tensor
        for name, tensor in inputs.items()
        if name not in NOT_IMAGES and name.endswith("token_type_ids") and tensor.shape == ids.shape
    }
    images = {name: inputs[name] for name in inputs if name not in NOT_IMAGES and name not in beside}
    kinds = {
        name: [row[keep].tolist() for row, keep in zip(tensor, real, strict=True)]
        for name, tensor in beside.items()
    }
    contexts = [row[keep].tolist() for row, keep in zip(ids, real, strict=True)]
    tensors = {name: tensor for name, tensor in inputs.items() if name != "labels"}
    unknown = tuple(
        name
        for name, tensor in images.items()
        if tensor.shape[:2] == ids.shape and not name.startswith("pixel")
    )
    return ChatProcessor(tensors, contexts, kinds, images, unknown)


def open_inputs(folder: Path, options: LoadOptions) -> ChatInputs:
    """How a folder's model is spoken to."""
    settings = {"local_files_only": True, "trust_remote_code": options.trust_remote_code}
    kind = import_transformers().AutoConfig.from_pretrained(folder, **settings).model_type
    processor = _open_processor(kind, folder, options)
    if kind == "paligemma":
        return PrefixInputs(processor)
    of_processor = getattr(processor, "chat_template", None)
    template = of_processor or getattr(processor.tokenizer, "chat_template", None)
    if not template:
        raise UserError(
            f"{str(folder)!r} ({kind}) has no chat template, so nothing says how to speak to it; "
            "add chat_template.jinja to the folder, or wrap it: --model FILE.py:object"
        )
    if not of_processor:  # older folders keep it in tokenizer_config.json
        processor.chat_template = template
    return ChatInputs(processor)


def _open_processor(kind: str, folder: Path, options: LoadOptions) -> Any:
    library = import_transformers()
    settings = {"local_files_only": True, "trust_remote_code": options.trust_remote_code}
    try:
        processor = library.AutoProcessor.from_pretrained(folder, **settings)
    except ImportError as problem:
        if kind.startswith("qwen"):
            return QwenProcessor(folder, options)
        raise UserError(
            f"the processor of {kind} needs a library that is not installed ({one_line(problem, 160)}); "
            "type: pip install torchvision num2words"
        ) from None
    if not options.trust_remote_code:
        # Pillow's resizing, whether torchvision is installed or not: the same command, the same numbers
        images = library.AutoImageProcessor.from_pretrained(folder, backend="pil", **settings)
        processor.image_processor = images
    return processor
