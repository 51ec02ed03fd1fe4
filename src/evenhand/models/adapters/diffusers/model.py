"""A loaded pipeline of diffusers: prompts and seeds in, images out."""

from __future__ import annotations

import importlib
import inspect
import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.capabilities import CheckedImage, NotAnswered, Pixels
from evenhand.core.errors import InputError, UserError, one_line
from evenhand.models.adapters.huggingface.snapshots import quiet_transformers
from evenhand.models.identity.source import ImageOptions, LoadOptions
from evenhand.models.weights.device import choose_device, choose_dtype, import_torch, inference
from evenhand.models.weights.hub import import_library, tensor_shapes

NOT_FINITE = "image of numbers that are not finite"
_FLAGS = ("nsfw_detected", "nsfw_content_detected")  # how pipelines call what their checker said
_NEEDED = ("prompt", "generator", "output_type")


class PromptedPipeline:
    """Makes images of prompts.

    The noise of each image comes from a generator of its own on the CPU, seeded with its seed, so that it is
    the same on every device, whatever else is in the batch. One image at a time, equal prompt and seed give
    equal pixels on one machine; in larger batches arithmetic rounds differently, by about one level of 255.
    """

    def __init__(self, folder: Path, options: LoadOptions) -> None:
        diffusers = _import_diffusers()
        with _quiet(diffusers):
            pipeline = diffusers.DiffusionPipeline.from_pretrained(
                folder, local_files_only=True, use_safetensors=True, torch_dtype=choose_dtype(options)
            )
        self._takes = inspect.signature(pipeline.__call__).parameters
        lacking = [name for name in _NEEDED if name not in self._takes]
        if lacking:
            raise UserError(
                f"{type(pipeline).__name__} takes no {lacking[0]}; give one that makes images of it"
            )
        _check_weights(pipeline, folder)
        pipeline.set_progress_bar_config(disable=True)
        self._pipeline, self._library = pipeline.to(choose_device(options)), diffusers
        self._chosen = self._arguments(options.images or ImageOptions())

    def generate(
        self, prompts: Sequence[str], seeds: Sequence[int]
    ) -> list[Pixels | CheckedImage | NotAnswered]:
        """Images of prompts, uint8 RGB, shape (H, W, 3), with what a safety checker says of them.

        An image that it objects to is black: that is all that the pipeline returns. Seeds lie in [0, 2**64).
        """
        torch = import_torch()
        generators = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        with _quiet(self._library), inference():
            output = self._pipeline(
                prompt=list(prompts), generator=generators, output_type="np", **self._chosen
            )
        images = getattr(output, "images", None)
        if images is None or len(images) != len(prompts):
            raise UserError(
                f"{type(self._pipeline).__name__} makes no images; give a pipeline that makes one of a prompt"
            )
        flagged = [None] * len(prompts)
        for name in _FLAGS:
            flagged = getattr(output, name, None) or flagged
        return [_checked(np.asarray(image), flag) for image, flag in zip(images, flagged, strict=True)]

    def safety(self) -> dict[str, str]:
        """What looks over the images, as the loaded pipeline says it."""
        checker = getattr(self._pipeline, "safety_checker", None)
        required = self._pipeline.config.get("requires_safety_checker", "not said")
        return {
            "checker": "none" if checker is None else type(checker).__name__,
            "required": str(required).lower(),
        }

    def _arguments(self, options: ImageOptions) -> dict[str, Any]:
        settings = {
            "num_inference_steps": options.steps,
            "guidance_scale": options.guidance,
            "height": options.size,
            "width": options.size,
        }
        arguments = {name: value for name, value in settings.items() if value is not None}
        for name in arguments:
            if name not in self._takes:
                raise UserError(f"{type(self._pipeline).__name__} takes no {name}; leave that option out")
        return arguments


def _checked(image: Any, flagged: bool | None) -> Pixels | CheckedImage | NotAnswered:
    """A picture of numbers in [0, 1] as pixels."""
    if not np.isfinite(image).all():
        return NotAnswered(NOT_FINITE, "half precision overflows in some models; try --dtype float32")
    pixels: Pixels = (np.clip(image, 0.0, 1.0) * 255).round().astype(np.uint8)
    return pixels if flagged is None else CheckedImage(pixels, bool(flagged))


def _check_weights(pipeline: Any, folder: Path) -> None:
    """Refuse a folder that lacks weights: the library would fill them with random numbers and only warn."""
    torch = import_torch()
    for name, part in pipeline.components.items():
        if not isinstance(part, torch.nn.Module):
            continue
        values = part.state_dict().values()
        needed = len({(value.data_ptr(), value.shape) if value.numel() else id(value) for value in values})
        n_saved = sum(len(tensor_shapes(file)) for file in (folder / name).glob("*.safetensors"))
        if n_saved < needed or any(value.is_meta for value in values):
            raise InputError(
                f"{str(folder)!r} lacks weights of {name}: {n_saved} of {needed} are there; get it again"
            )


def _import_diffusers() -> Any:
    """The library with what makes pipelines, which it imports when it is first asked for."""
    diffusers = import_library("diffusers", "generate")
    try:
        importlib.import_module("diffusers.pipelines.pipeline_utils")
    except Exception as problem:  # it wraps what really happened, several times over
        first: BaseException = problem
        while first.__cause__ is not None:
            first = first.__cause__
        cause = one_line(f"{type(first).__name__}: {first}", 200)
        fit = "torchvision does not fit this torch: install the release that does"
        remedy = fit if "torchvision" in cause else "install what it lacks"
        raise InputError(f"diffusers cannot be imported: {cause}; {remedy}") from problem
    return diffusers


@contextmanager
def _quiet(diffusers: Any) -> Iterator[None]:
    """Keep libraries from writing progress and notes to stderr, which carries ours."""
    library_logging = diffusers.utils.logging
    level, bars = library_logging.get_verbosity(), library_logging.is_progress_bar_enabled()
    library_logging.set_verbosity(logging.CRITICAL)
    library_logging.disable_progress_bar()
    try:
        with quiet_transformers(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        library_logging.set_verbosity(level)
        if bars:
            library_logging.enable_progress_bar()
