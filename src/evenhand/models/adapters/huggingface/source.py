"""``hf:``: a model of the Hugging Face hub, or one saved by transformers in a folder."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError, InputError, UserError, one_line
from evenhand.core.registry import load_object
from evenhand.files.hashing import sha256_files, sha256_text
from evenhand.models.adapters.huggingface.families import (
    DUAL_ENCODER,
    POSSIBLE,
    SENTENCE_ENCODER,
    Family,
    family_of,
    family_of_own_code,
)
from evenhand.models.adapters.huggingface.sentence_modules import MODULES, module_folders, read_layout
from evenhand.models.adapters.huggingface.snapshots import download, quiet_transformers
from evenhand.models.identity.source import LoadOptions, ModelSource
from evenhand.models.weights.hub import library_version

ADAPTER = "2"  # raised when answers of an adapter in this folder change
_PICKLE = "pytorch_model.bin"
_WEIGHTS, _INDEX = "model.safetensors", "model.safetensors.index.json"
_KINDS = ("*.safetensors", "*.json", "*.txt", "*.model", "*.jinja")
_RECORDS = {"trainer_state.json", "all_results.json", "train_results.json", "eval_results.json"}
_UNUSED = (
    "consolidated*",
    "*.fp16.safetensors",
    "*.bf16.safetensors",
)  # weights that transformers passes over
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")

TRUSTING = "read its .py files, and if you trust them add: --trust-remote-code"
"""What to do about a model with code of its own."""

_ASKS_FOR_TRUST = "trust_remote_code"  # in what transformers says where code would have to run


class HfSource:
    """A model in a folder of config, safetensors, tokenizer and processor.

    Args:
        rest: What follows ``hf:``, as the user typed it.
        options: How it will be loaded.
        folder: Where it is, for one that is on this machine.
    """

    def __init__(self, rest: str, options: LoadOptions, folder: Path | None) -> None:
        self.uri, self._options, self._local = f"hf:{rest}", options, folder
        self._repository, _, self._revision = rest.partition("@")

    @cached_property
    def _folder(self) -> Path:
        if self._local is not None:
            return self._local
        patterns = [*_KINDS, *(["*.py"] if self._options.trust_remote_code else [])]
        ignored_patterns = [*_UNUSED, *sorted(_RECORDS)]
        snapshot = download(self._repository, self._revision or None, patterns, ["*/*", *ignored_patterns])
        if (snapshot / MODULES).is_file():  # a sentence encoder, whose parts lie in folders of their own
            places = sorted({subfolder for _, subfolder in module_folders(snapshot) if subfolder})
            parts = [f"{subfolder}/{kind}" for subfolder in places for kind in patterns]
            snapshot = download(
                self._repository, snapshot.name, parts, [*(f"{p}/*/*" for p in places), *ignored_patterns]
            )
        return snapshot

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
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError:
            raise InputError(
                f"{self.uri!r} has no config.json; give a model in the format of transformers"
            ) from None
        except ValueError as problem:
            raise InputError(f"{str(path)!r} is no JSON: {one_line(problem)}; save the model again") from None
        if not isinstance(content, dict):
            raise InputError(f"{str(path)!r} is no JSON object; save the model again")
        return content

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
        """Name, revision, sha256 of all files that decide answers, dtype, versions.

        Raises:
            UserError: It cannot be had, or has no safetensors.
        """
        digests = sha256_files(self._files())
        listing = "\n".join(
            f"{file.relative_to(self._folder).as_posix()} {digest}"
            for file, digest in sorted(digests.items())
        )
        sentences = self._family is SENTENCE_ENCODER
        local = self._local is not None
        return {
            "name": self._folder.name if local else self._repository,
            "revision": "local" if local else self._folder.name,
            "sha256": sha256_text(listing),
            "dtype": self._options.dtype,
            "library": f"transformers {library_version('transformers', 'transformers', 'hf')}",
            "adapter": f"hf {ADAPTER}",
            **({"max_tokens": str(self._options.max_tokens)} if self._options.max_tokens else {}),
            **({"pooling": read_layout(self._folder).described()} if sentences else {}),
        }

    def _files(self) -> list[Path]:
        kinds = [kind for kind in _KINDS if kind != "*.safetensors"]
        kinds += ["*.py"] if self._options.trust_remote_code else []
        described = {file for kind in kinds for file in self._home.glob(kind)}
        files = {file for file in described if file.name not in _RECORDS}
        if self._family is SENTENCE_ENCODER:
            files |= self._module_files()
        return sorted(files) + self._weights()

    def _module_files(self) -> set[Path]:
        """What decides answers of a sentence encoder beside its transformer.

        Raises:
            InputError: A module that has weights, and none in safetensors.
        """
        files = set(self._folder.glob("*.json"))
        for step in read_layout(self._folder).steps:
            folder = self._folder / step.folder
            files |= {*folder.glob("*.json"), *folder.glob("*.safetensors")} if step.folder else set()
            if step.kind == "Dense" and not (folder / _WEIGHTS).is_file():
                command = shlex.join(
                    ["evenhand", "convert", f"{step.folder}/{_PICKLE}", f"{step.folder}/{_WEIGHTS}"]
                )
                raise InputError(
                    f"{self.uri!r} has no {step.folder}/{_WEIGHTS}, and pickled weights are not read; "
                    f"in a copy of the model's folder type: {command}"
                )
        return {file for file in files if file.name not in _RECORDS}

    def _weights(self) -> list[Path]:
        """The safetensors that transformers reads: one file, or the parts that an index names."""
        single_file, index = self._home / _WEIGHTS, self._home / _INDEX
        if single_file.is_file():
            return [single_file]
        if not index.is_file():
            raise InputError(
                f"{self.uri!r} has no {_WEIGHTS}, and pickled weights are not read; "
                f"type: {self._conversion()}"
            )
        try:
            names = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
        except (ValueError, KeyError, AttributeError) as problem:
            cause = one_line(f"{type(problem).__name__}: {problem}")
            raise InputError(f"{str(index)!r} is no index: {cause}; save the model again") from None
        parts = [self._home / Path(str(name)).name for name in names]
        lacking = [part.name for part in parts if not part.is_file()]
        if lacking:
            raise InputError(f"{self.uri!r} lacks {lacking[0]}, which its {_INDEX} names; get it again")
        return parts

    def _conversion(self) -> str:
        """What to type where there are pickled weights only."""
        if self._local is not None:
            folder = self._home
            return shlex.join(["evenhand", "convert", str(folder / _PICKLE), str(folder / _WEIGHTS)])
        of = f" --revision {self._revision}" if self._revision else ""
        return (
            f"hf download {self._repository}{of} --local-dir NEWFOLDER, then type: evenhand convert "
            f"NEWFOLDER/{_PICKLE} NEWFOLDER/{_WEIGHTS}, and give hf:NEWFOLDER"
        )

    def capabilities(self) -> Sequence[str]:
        """What its family can answer, from config.json alone."""
        return self._family.capabilities

    def load(self) -> Any:
        """The adapter around the model, on its device.

        Raises:
            UserError: A library is missing, or transformers cannot make the model from these files.
        """
        adapter = self._family.adapter
        self._files()
        library_version("transformers", "transformers", "hf")
        try:
            with quiet_transformers():
                return load_object(adapter)(self._folder, self._options)
        except EvenhandError:
            raise
        except Exception as problem:
            raise UserError(f"{self.uri!r} could not be loaded: {_why(problem)}") from problem


def _why(problem: BaseException) -> str:
    """What went wrong at the bottom of a chain of exceptions, and what to do about it, in one line."""
    if _ASKS_FOR_TRUST in str(problem):  # its advice names an option of its own, and hides what it does
        return f"its files name code of their own, which does not run unasked; {TRUSTING}"
    unfit = isinstance(problem, ImportError)
    while unfit and problem.__cause__ is not None:  # transformers wraps what really happened
        problem = problem.__cause__
    cause = one_line(f"{type(problem).__name__}: {problem}")
    if "torchvision::" in cause:
        return (
            f"{cause}; torchvision does not fit this torch: install its match, or pip uninstall torchvision"
        )
    if type(problem).__name__ == "OutOfMemoryError":  # torch's, which is not imported for its name
        return f"{cause}; choose --dtype bfloat16, or --device cpu"
    return f"{cause}; {'install what it needs' if unfit else 'mend its files or get them again'}"


def open_hf(rest: str, options: LoadOptions) -> ModelSource:
    """The model behind ``hf:``.

    Args:
        rest: A hub id ``org/name[@revision]``, or a folder.
        options: How it will be loaded.

    Raises:
        InputError: Neither a folder that exists nor the form of a hub id.
    """
    folder = Path(rest).expanduser()
    if folder.is_dir():
        return HfSource(rest, options, folder.resolve())
    if rest.startswith((".", "~")) or folder.is_absolute():
        raise InputError(f"hf:{rest}: there is no folder {rest!r}; give an existing folder or org/name")
    if not _HUB_ID.fullmatch(rest.partition("@")[0]):
        raise InputError(f"hf:{rest}: this is no hub id; give org/name, org/name@revision or a folder")
    return HfSource(rest, options, None)
