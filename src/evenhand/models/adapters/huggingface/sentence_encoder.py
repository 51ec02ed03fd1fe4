"""Sentence encoders: a transformer for texts, and what makes one vector of its tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Floats
from evenhand.core.errors import InputError
from evenhand.models.adapters.huggingface.decoding import import_transformers
from evenhand.models.adapters.huggingface.sentence_modules import (
    SentenceModule,
    SentenceModules,
    layer_weights,
    pooling_modes,
    read_layout,
)
from evenhand.models.adapters.huggingface.towers import TextInputs, load_tower
from evenhand.models.identity.source import LoadOptions
from evenhand.models.weights.device import choose_device, import_torch, inference, to_numpy
from evenhand.models.weights.pickle_conversion import read_tensors

_ENCODER_HALVES = {"mt5": "MT5EncoderModel", "t5": "T5EncoderModel", "umt5": "UMT5EncoderModel"}


class SentenceEncoder:
    """Any encoder saved by sentence-transformers as Transformer, Pooling, Dense and Normalize.

    Its space holds texts only, and nothing was trained to read a cosine as a logit: ``logit_scale`` is 1.
    What comes after the transformer is computed in float32.
    """

    logit_scale = 1.0

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        self._layout = read_layout(folder)
        home = folder / self._layout.transformer
        library = import_transformers()
        config = library.AutoConfig.from_pretrained(
            home, local_files_only=True, trust_remote_code=options.trust_remote_code
        )
        kind = getattr(library, _ENCODER_HALVES.get(config.model_type, "AutoModel"))
        self._model, _ = load_tower(kind, home, options, spare=("pooler",))
        self._texts = TextInputs(
            home, options, self._model.config, longest=self._layout.longest, lower=self._layout.lower
        )
        self._pool = Pool(self._layout, self._texts)
        self._steps = [_change(folder, step, options) for step in self._layout.steps[1:]]

    def embed_texts(self, texts: Sequence[str]) -> Floats:
        """Vectors as the model's own modules make them, float32, shape (M, D); of length 1 if they say so.

        The model's default prompt, where it has one, goes before every text.
        """
        inputs = self._texts.batch([self._layout.prompt + text for text in texts])
        with inference():
            vectors = self._pool(self._model(**inputs).last_hidden_state, inputs["attention_mask"])
            for change in self._steps:
                vectors = change(vectors)
            return to_numpy(vectors[:, : self._layout.truncate])


class Pool:
    """Tokens to one vector, by one or several ways that are joined."""

    def __init__(self, layout: SentenceModules, texts: TextInputs) -> None:
        settings = layout.steps[0].settings
        self._modes = pooling_modes(settings, layout.steps[0].folder)
        hide = layout.prompt and not settings.get("include_prompt", True)
        self._hidden = texts.length_before(layout.prompt) if hide else 0

    def __call__(self, states: Any, mask: Any) -> Any:
        """Pooled tokens, float32, shape (N, D x number of ways), of states of shape (N, L, D).

        The mask, shape (N, L), is 1 for tokens and 0 for padding, on either side.
        """
        torch = import_torch()
        start = mask.argmax(1, keepdim=True)
        position = torch.arange(mask.shape[1], device=mask.device)[None, :] - start
        token_mask = (mask.bool() & (position >= self._hidden)).unsqueeze(-1)
        states = states.float()
        visible = states * token_mask
        ways: Mapping[str, Callable[[], Any]] = {
            "cls": lambda: _at(states, self._hidden + start),
            "max": lambda: states.masked_fill(~token_mask, float("-inf")).amax(1),
            "mean": lambda: visible.sum(1) / token_mask.sum(1).clamp(min=1),
            "mean_sqrt_len_tokens": lambda: visible.sum(1) / token_mask.sum(1).clamp(min=1).sqrt(),
            "weightedmean": lambda: _weighted(visible, (position + 1).unsqueeze(-1) * token_mask),
            "lasttoken": lambda: _at(visible, start + mask.sum(1, keepdim=True) - 1),
        }
        return torch.cat([ways[mode]() for mode in self._modes], dim=-1)


def _at(states: Any, position: Any) -> Any:
    """The token at one position of each text; position has the shape (N, 1)."""
    torch = import_torch()
    last = states.shape[1] - 1
    return states[torch.arange(len(states), device=states.device), position[:, 0].clamp(max=last)]


def _weighted(states: Any, weights: Any) -> Any:
    return (states * weights).sum(1) / weights.sum(1).clamp(min=1)


def _change(folder: Path, step: SentenceModule, options: LoadOptions) -> Callable[[Any], Any]:
    """What a Dense or a Normalize does to vectors."""
    functional = import_torch().nn.functional
    if step.kind == "Normalize":
        return lambda vectors: functional.normalize(vectors, dim=-1)
    weights = _weights_of(layer_weights(folder / step.folder), choose_device(options))
    matrix, offset = weights.get("linear.weight"), weights.get("linear.bias")
    sizes = (step.settings.get("out_features"), step.settings.get("in_features"))
    if matrix is None or tuple(matrix.shape) != sizes:
        shape = "none" if matrix is None else tuple(matrix.shape)
        raise InputError(
            f"{step.folder} has {shape} as linear.weight where its config.json says "
            f"{sizes}; get the model again"
        )
    matrix, offset = matrix.float(), None if offset is None else offset.float()
    activate = _activation(str(step.settings.get("activation_function", "Tanh")), step.folder)
    return lambda vectors: activate(functional.linear(vectors, matrix, offset))


def _weights_of(file: Path, device: Any) -> dict[str, Any]:
    if file.suffix == ".safetensors":
        from safetensors.torch import load_file

        return dict(load_file(file, device=str(device)))
    return {name: tensor.to(device) for name, tensor in read_tensors(file).items()}


def _activation(class_path: str, folder: str) -> Callable[[Any], Any]:
    """A function of torch.nn by the last part of its name; nothing else is imported for a model."""
    nn = import_torch().nn
    name = class_path.rpartition(".")[2]
    if name == "Identity":
        return nn.Identity()  # type: ignore[no-any-return]
    activation = getattr(nn.modules.activation, name, None)
    if (
        name not in nn.modules.activation.__all__
        or name in ("MultiheadAttention", "PReLU")
        or activation is None
    ):
        raise InputError(
            f"{folder}/config.json names the activation {class_path!r}; known are those of torch.nn without "
            "weights, such as Tanh and Identity"
        )
    return activation()  # type: ignore[no-any-return]
