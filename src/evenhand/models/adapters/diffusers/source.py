"""``diffusers:``: a pipeline of diffusers that makes images of prompts, from the hub or from a folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from evenhand.core.errors import EvenhandError, InputError, UserError, described, one_line
from evenhand.files.hashing import sha256_inside
from evenhand.models.adapters.huggingface.snapshots import download
from evenhand.models.identity.source import ImageOptions, LoadOptions, ModelSource
from evenhand.models.weights.checkpoint import check_memory, n_numbers, stored_dtype
from evenhand.models.weights.device import resolved_dtype
from evenhand.models.weights.fetching import fetching
from evenhand.models.weights.hub import library_version, read_config

ADAPTER = "2"  # raised when images of an adapter in this file change
INDEX = "model_index.json"
_CONFIGS = ("*.json", "*.txt", "*.model")
_WEIGHTS = (
    "diffusion_pytorch_model.safetensors",
    "diffusion_pytorch_model-*-of-*.safetensors",
    "model.safetensors",
    "model-*-of-*.safetensors",
)  # what from_pretrained reads; variants such as fp16 have other names
_HUB_ID = re.compile(r"[\w.-]+(/[\w.-]+)?")


class DiffusersSource:
    """A pipeline of components, none of which is pickled or brings code; ``folder=None``: one of the hub."""

    def __init__(self, rest: str, options: LoadOptions, folder: Path | None) -> None:
        self.uri, self._options, self._local = f"diffusers:{rest}", options, folder
        self._repository, _, self._revision = rest.partition("@")

    @cached_property
    def _folder(self) -> Path:
        if self._local is not None:
            return self._local
        with fetching(self._repository):
            snapshot = download(self._repository, self._revision or None, [INDEX], [])
            names, kinds = _components(self._index_of(snapshot)), (*_CONFIGS, *_WEIGHTS)
            patterns = [f"{name}/{kind}" for name in names for kind in kinds]
            return download(self._repository, snapshot.name, [INDEX, *patterns], [])

    @cached_property
    def _dtype(self) -> str:
        return resolved_dtype(self._options, lambda: stored_dtype(self._weights()))

    def _weights(self) -> list[Path]:
        """Files of weights, the largest first: it decides the precision of all."""
        files = [file for file in self._files() if file.suffix == ".safetensors"]
        return sorted(files, key=lambda file: -file.stat().st_size)

    def _index_of(self, folder: Path) -> dict[str, Any]:
        index = read_config(folder / INDEX, self.uri, ["_class_name"])
        own_code = [index["_class_name"]] if not isinstance(index["_class_name"], str) else []
        own_code += [index[name] for name in _components(index) if _is_own(index[name][0], folder / name)]
        if own_code:
            raise UserError(
                f"{self.uri!r} needs code of its own ({one_line(own_code[0], 80)}), which is never run; "
                "give a pipeline that diffusers has, or your own class as FILE.py:object"
            )
        return index

    @cached_property
    def _index(self) -> dict[str, Any]:
        return self._index_of(self._folder)

    def identity(self) -> dict[str, str]:
        """Name, revision, sha256 of all files that decide images, scheduler, safety, settings, versions."""
        local, index = self._local is not None, self._index
        scheduler, checker = index.get("scheduler") or [None, "none"], _checker(index)
        image_options = self._options.images or ImageOptions()
        return {
            "name": self._folder.name if local else self._repository,
            "revision": "local" if local else self._folder.name,
            "sha256": sha256_inside(self._folder, self._files()),
            "pipeline": str(index["_class_name"]),
            "scheduler": str(scheduler[1]),
            "safety checker": checker,
            "requires safety checker": str(index.get("requires_safety_checker", "not said")).lower(),
            "steps": _setting_text(image_options.steps),
            "guidance": _setting_text(image_options.guidance),
            "size": _setting_text(image_options.size),
            "dtype": self._dtype,
            "library": f"diffusers {library_version('diffusers', 'diffusers', 'generate')}",
            "adapter": f"diffusers {ADAPTER}",
        }

    def capabilities(self) -> Sequence[str]:
        """Makes images."""
        return ("generates_images",)

    def load(self) -> Any:
        """The pipeline, on its device."""
        from evenhand.models.adapters.diffusers.model import PromptedPipeline

        options, weights = replace(self._options, dtype=self._dtype), self._weights()
        library_version("diffusers", "diffusers", "generate")
        check_memory(self.uri, n_numbers(weights, self._dtype), self._dtype, options)
        try:
            return PromptedPipeline(self._folder, options)
        except EvenhandError:
            raise
        except Exception as problem:
            cause = described(problem)[:300]
            raise UserError(
                f"{self.uri!r} could not be loaded: {cause}; mend its files or get them again"
            ) from problem

    def _files(self) -> list[Path]:
        """What decides images."""
        files = [self._folder / INDEX]
        for name in _components(self._index):
            folder = self._folder / name
            weights = [file for kind in _WEIGHTS for file in folder.glob(kind)]
            if (folder / "config.json").is_file() and not weights:
                raise InputError(
                    f"{self.uri!r} has no weights of {name} in safetensors ({_WEIGHTS[0]} or {_WEIGHTS[2]}), "
                    "and pickled weights are not read; take a revision that has them, or save the pipeline "
                    "with save_pretrained(FOLDER, safe_serialization=True)"
                )
            files += weights + [file for kind in _CONFIGS for file in folder.glob(kind)]
        return sorted(set(files))


def _components(index: Mapping[str, Any]) -> list[str]:
    """Names of the components that the index says are there; each is a folder."""
    return sorted(
        name
        for name, value in index.items()
        if re.fullmatch(r"[a-z]\w*", name) and isinstance(value, list) and len(value) == 2 and value[1]
    )


def _is_own(library: object, folder: Path) -> bool:
    """Whether a component's class lies in a file beside its weights, and not in a library."""
    is_name = isinstance(library, str) and re.fullmatch(r"\w+", library) is not None
    return not is_name or (folder / f"{library}.py").is_file()


def _checker(index: Mapping[str, Any]) -> str:
    """The component that looks over what was made; pipelines of later years have none."""
    entry = index.get("safety_checker")
    return str(entry[1]) if isinstance(entry, list) and len(entry) == 2 and entry[1] else "none"


def _setting_text(value: float | None) -> str:
    return "the pipeline's own" if value is None else str(value)


def open_diffusers(rest: str, options: LoadOptions) -> ModelSource:
    """The pipeline behind ``diffusers:org/name[@revision]`` or ``diffusers:FOLDER``."""
    folder = Path(rest).expanduser()
    if folder.is_dir():
        return DiffusersSource(rest, options, folder.resolve())
    here = rest.startswith((".", "~")) or folder.is_absolute()
    if here or not _HUB_ID.fullmatch(rest.partition("@")[0]):
        raise InputError(
            f"diffusers:{rest}: this is no folder that exists and no hub id; "
            "give org/name, org/name@revision or a folder"
        )
    return DiffusersSource(rest, options, None)
