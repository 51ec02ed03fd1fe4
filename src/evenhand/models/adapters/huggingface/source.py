"""``hf:``: a model of the Hugging Face hub, or one saved by transformers in a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError, InputError, UserError, described
from evenhand.core.registry import load_object
from evenhand.files.hashing import sha256_inside
from evenhand.files.json_file import read_json
from evenhand.models.adapters.huggingface.families import (
    DUAL_ENCODER,
    POSSIBLE,
    SENTENCE_ENCODER,
    Family,
    family_of,
    family_of_own_code,
)
from evenhand.models.adapters.huggingface.quantization import check_size_options, quantization_name
from evenhand.models.adapters.huggingface.sentence_modules import (
    MODULES,
    layer_weights,
    module_folders,
    read_layout,
)
from evenhand.models.adapters.huggingface.snapshots import (
    KINDS,
    RECORDS,
    Snapshot,
    fetch_model,
    quiet_transformers,
)
from evenhand.models.identity.source import LoadOptions, ModelSource
from evenhand.models.weights.checkpoint import (
    WEIGHTS,
    check_memory,
    n_numbers,
    needed_memory,
    parts_of,
    stored_dtype,
    weights_among,
)
from evenhand.models.weights.device import resolved_dtype
from evenhand.models.weights.hub import library_version
from evenhand.models.weights.pickle_conversion import is_refused_pickle, refusal

ADAPTER = "3"  # raised when answers of an adapter in this folder change
_OTHER_WEIGHTS = (".h5", ".msgpack", ".gguf", ".onnx", ".bin", ".pt", ".pth", ".ckpt", ".safetensors")
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")

TRUSTING = "read its .py files, and if you trust them add: --trust-remote-code"
"""What to do about a model with code of its own."""

_ASKS_FOR_TRUST = "trust_remote_code"  # in what transformers says where code would have to run


class HfSource:
    """A model in a folder of config, weights, tokenizer and processor; ``folder=None``: one of the hub."""

    def __init__(self, rest: str, options: LoadOptions, folder: Path | None) -> None:
        self.uri, self._options, self._local = f"hf:{rest}", options, folder
        self._repository, _, self._revision = rest.partition("@")

    @cached_property
    def _snapshot(self) -> Snapshot:
        if self._local is not None:
            return Snapshot(self._local)
        trusted = self._options.trust_remote_code
        return fetch_model(self._repository, self._revision or None, code=trusted)

    @property
    def _folder(self) -> Path:
        return self._snapshot.folder

    @cached_property
    def _dtype(self) -> str:
        return resolved_dtype(self._options, lambda: stored_dtype(self._weights(), self._config))

    @cached_property
    def _home(self) -> Path:
        """Where config, weights and tokenizer are: the transformer's folder of a sentence encoder."""
        inside = self._folder / MODULES
        if not inside.is_file() or (self._folder / "config.json").is_file():
            return self._folder
        return self._folder / module_folders(self._folder)[0][1]

    @cached_property
    def _config(self) -> dict[str, Any]:
        path = self._home / "config.json"
        if not path.is_file():
            raise InputError(f"{self.uri!r} has no config.json; give a model in the format of transformers")
        config: dict[str, Any] = read_json(path, "save the model again", dict)
        return config

    @cached_property
    def _family(self) -> Family:
        family = family_of(self._config)
        own_code = bool(self._config.get("auto_map"))
        if (self._folder / MODULES).is_file() and family is not DUAL_ENCODER:
            trusted = self._options.trust_remote_code or not own_code
            family = SENTENCE_ENCODER if trusted else None
        if family is None and own_code:
            if not self._options.trust_remote_code:
                raise UserError(f"{self.uri!r} runs code of its own ({self._described()}); {TRUSTING}")
            family = family_of_own_code(self._config)
        if family is None:
            raise UserError(
                f"no adapter answers for {self.uri!r} ({self._described()}); possible are "
                f"{POSSIBLE}, or your own class as FILE.py:object"
            )
        return family

    def _described(self) -> str:
        architectures = self._config.get("architectures") or ["none"]
        return f"model_type {self._config.get('model_type')!r}, architecture {architectures[0]!r}"

    def identity(self) -> dict[str, str]:
        """Name, revision, sha256 of all files that decide answers, dtype, versions."""
        sentences = self._family is SENTENCE_ENCODER
        local, pickled = self._local is not None, self._snapshot.pickled
        return {
            "name": self._folder.name if local else self._repository,
            "revision": "local" if local else self._folder.name,
            "sha256": sha256_inside(self._folder, self._files()),
            "dtype": self._dtype,
            **({"quantized": quantization_name(self._options)} if self._options.quantize else {}),
            **({"converted from": pickled} if pickled else {}),
            "library": f"transformers {library_version('transformers', 'transformers', 'hf')}",
            "adapter": f"hf {ADAPTER}",
            **({"max_tokens": str(self._options.max_tokens)} if self._options.max_tokens else {}),
            **({"pooling": read_layout(self._folder).described()} if sentences else {}),
        }

    def _files(self) -> list[Path]:
        kinds = [*KINDS, *(["*.py"] if self._options.trust_remote_code else [])]
        described = {file for kind in kinds for file in self._home.glob(kind)}
        files = {file for file in described if file.name not in RECORDS}
        if self._family is SENTENCE_ENCODER:
            files |= self._module_files()
        return sorted(files) + self._weights()

    def _module_files(self) -> set[Path]:
        """What decides answers of a sentence encoder beside its transformer."""
        files = set(self._folder.glob("*.json"))
        for step in read_layout(self._folder).steps:
            folder = self._folder / step.folder
            files |= set(folder.glob("*.json")) if step.folder else set()
            if step.kind == "Dense":
                files.add(layer_weights(folder))
        return {file for file in files if file.name not in RECORDS}

    def _weights(self) -> list[Path]:
        """The files that transformers reads: one, or the parts that an index names."""
        name = weights_among({file.name for file in self._home.iterdir()})
        if name is None:
            others = sorted(file.name for file in self._home.iterdir() if file.suffix in _OTHER_WEIGHTS)
            beside = f"it has {', '.join(others[:3])}; " if others else ""
            raise InputError(
                f"{self.uri!r} has no weights that are read ({WEIGHTS[0]} or {WEIGHTS[2]}, or parts of one); "
                f"{beside}save it with save_pretrained of transformers, or take another revision"
            )
        file = self._home / name
        if file.suffix != ".json":
            return [file]
        parts = [self._home / part for part in parts_of(file)]
        lacking = [part.name for part in parts if not part.is_file()]
        if lacking:
            raise InputError(f"{self.uri!r} lacks {lacking[0]}, which its {name} names; get it again")
        return parts

    def capabilities(self) -> Sequence[str]:
        """What its family can answer, from config.json alone."""
        return self._family.capabilities

    def _numbers(self) -> int:
        weights = self._weights()
        return n_numbers(weights, stored_dtype(weights, self._config))

    def memory(self) -> float:
        """Bytes that its weights need once loaded."""
        return needed_memory(self._numbers(), self._dtype, self._options.quantize)

    def load(self) -> Any:
        """The adapter around the model, on its device."""
        adapter = self._family.adapter
        self._files()
        weights, options = self._weights(), replace(self._options, dtype=self._dtype)
        library_version("transformers", "transformers", "hf")
        check_memory(self.uri, self._numbers(), self._dtype, options, spreads=True)
        try:
            with quiet_transformers():
                return load_object(adapter)(self._folder, options)
        except EvenhandError:
            raise
        except Exception as problem:
            if is_refused_pickle(problem):
                raise InputError(f"{self.uri!r}: {refusal(weights[0], problem)}") from None
            raise UserError(f"{self.uri!r} could not be loaded: {_why(problem)}") from problem


def _why(problem: BaseException) -> str:
    """What went wrong at the bottom of a chain of exceptions, and what to do about it, in one line."""
    if _ASKS_FOR_TRUST in str(problem):  # its advice names an option of its own, and hides what it does
        return f"its files name code of their own, which does not run unasked; {TRUSTING}"
    unfit = isinstance(problem, ImportError)
    while unfit and problem.__cause__ is not None:  # transformers wraps what really happened
        problem = problem.__cause__
    cause = described(problem)
    if "torchvision::" in cause:
        return (
            f"{cause}; torchvision does not fit this torch: install its match, or pip uninstall torchvision"
        )
    if type(problem).__name__ == "OutOfMemoryError":  # torch's, which is not imported for its name
        return f"{cause}; choose --dtype bfloat16, or --device cpu"
    return f"{cause}; {'install what it needs' if unfit else 'mend its files or get them again'}"


def open_hf(rest: str, options: LoadOptions) -> ModelSource:
    """The model behind ``hf:org/name[@revision]`` or ``hf:FOLDER``."""
    check_size_options(options)
    folder = Path(rest).expanduser()
    if folder.is_dir():
        return HfSource(rest, options, folder.resolve())
    if rest.startswith((".", "~")) or folder.is_absolute():
        raise InputError(f"hf:{rest}: there is no folder {rest!r}; give an existing folder or org/name")
    if not _HUB_ID.fullmatch(rest.partition("@")[0]):
        raise InputError(f"hf:{rest}: this is no hub id; give org/name, org/name@revision or a folder")
    return HfSource(rest, options, None)
