"""The sidecar of an ONNX file: how images go in, and what its outputs mean."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evenhand.core.errors import InputError, one_line

Side = Annotated[int, Field(ge=1, le=8192)]
_MOST_PIXELS = 2048 * 2048  # 50 MB for each image of a batch as float32


class Strict(BaseModel):
    """A part of the sidecar; a field that is not known is refused, since it would be a typing mistake."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True)


class ImageInput(Strict):
    """How an image becomes the network's input."""

    name: str | None = None
    size: tuple[Side, Side]  # height and width, in pixels
    resize: Literal["squash", "crop"] = "squash"  # crop: the centre, ``crop_fraction`` of the shorter edge
    crop_fraction: Annotated[float, Field(gt=0, le=1)] = 1.0
    filter: Literal["nearest", "bilinear", "bicubic", "lanczos"] = "bilinear"
    channels: Literal["rgb", "bgr"] = "rgb"
    layout: Literal["nchw", "nhwc"] = "nchw"
    scale: Literal["0-255", "0-1"] = "0-255"  # range of the pixels before ``mean`` and ``std``
    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)  # subtracted, one a channel, in units of ``scale``
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)  # divided by then
    dtype: Literal["float32", "float16", "uint8"] = "float32"

    @model_validator(mode="after")
    def _check(self) -> ImageInput:
        height, width = self.size
        if height * width > _MOST_PIXELS:
            raise ValueError(
                f"size is {height} x {width}: {12 * height * width / 1e6:,.0f} MB for each image of a batch; "
                "at most 2048 x 2048 pixels are taken"
            )
        if 0 in self.std:
            raise ValueError("std holds a zero")
        if self.dtype == "uint8" and (self.scale != "0-255" or any(self.mean) or self.std != (1.0, 1.0, 1.0)):
            raise ValueError("a uint8 input takes pixels 0-255 as they are: leave out scale, mean and std")
        return self


class ClassOutput(Strict):
    """An output that holds one number for each class."""

    output: str
    gives: Literal["logits", "probabilities"]  # of probabilities the logarithm is taken
    labels: tuple[str, ...] | str  # names, or a text file beside the sidecar with one in each line
    wordnet_ids: tuple[str, ...] = ()  # one for each label, an empty text for none


class VectorOutput(Strict):
    """An output that holds an embedding."""

    output: str


class Sidecar(Strict):
    """What the sidecar says."""

    input: ImageInput
    classify: ClassOutput | None = None
    embed: VectorOutput | None = None

    @model_validator(mode="after")
    def _check(self) -> Sidecar:
        if self.classify is None and self.embed is None:
            raise ValueError("it names neither 'classify' nor 'embed'")
        return self


def read_sidecar(path: Path) -> tuple[Sidecar, list[Path]]:
    """A sidecar with its labels filled in, and the files it was read from."""
    try:
        sidecar = Sidecar.model_validate_json(path.read_bytes())
    except ValidationError as problem:
        raise InputError(
            f"{str(path)!r}: {_first(problem.errors(include_url=False))}; docs/models.md shows every field"
        ) from None
    files = [path]
    if sidecar.classify is not None and isinstance(sidecar.classify.labels, str):
        listed = path.parent / sidecar.classify.labels
        try:
            lines = tuple(line.strip() for line in listed.read_text(encoding="utf-8").splitlines())
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(
                f"{str(path)!r}: labels names {str(listed)!r}, which cannot be read ({one_line(problem)}); "
                "give a list, or a UTF-8 file beside the sidecar"
            ) from None
        sidecar = sidecar.model_copy(
            update={"classify": sidecar.classify.model_copy(update={"labels": lines})}
        )
        files.append(listed)
    if sidecar.classify is not None:
        _check_labels(path, sidecar.classify)
    return sidecar, files


def _check_labels(path: Path, output: ClassOutput) -> None:
    labels, ids = output.labels, output.wordnet_ids
    double = sorted({label for label in labels if list(labels).count(label) > 1})
    if len(labels) < 2:
        raise InputError(f"{str(path)!r}: labels has {len(labels)} names; a classifier has at least 2")
    if double:
        raise InputError(f"{str(path)!r}: labels has {double[0]!r} twice; give each class a name of its own")
    if ids and len(ids) != len(labels):
        raise InputError(f"{str(path)!r}: {len(ids)} wordnet_ids for {len(labels)} labels; give one for each")


def _first(problems: Any) -> str:
    """The first of pydantic's complaints in words."""
    first = problems[0]
    where = ".".join(str(part) for part in first["loc"]) or "the file"
    message = one_line(first["msg"]).removeprefix("Value error, ")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    if first["type"] == "extra_forbidden":
        return f"there is no field {where!r}{more}"
    return f"{where}: {message}{more}"
