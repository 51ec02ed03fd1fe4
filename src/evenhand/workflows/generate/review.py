"""The quality gate of generated images: what looks wrong is flagged and counted; nothing is taken away.

Prompt: CLIPScore of Hessel et al. (2021), section 3, ``2.5 * max(cos(image, prompt), 0)``, in [0, 2.5], of
the prompt as it is, with any dual encoder. An image is flagged if another group's prompt of the same class
has a higher cosine than its own. Of G groups, images that say nothing of the group would be flagged in
``(G - 1) / G`` of all cases.

Faces: how many dlib's frontal detector finds at twice the image's size. It was made for faces seen from the
front, and misses more of them in dark light, under hats and turned away.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from math import lcm
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.core.capabilities import Floats, Pixels
from evenhand.core.errors import InputError, MissingExtra, UserError
from evenhand.core.requests import UnreadableImage
from evenhand.files.hashing import sha256_text
from evenhand.files.images.decode import decode
from evenhand.models.identity.source import ModelSource
from evenhand.models.resolve import telling_what_to_add
from evenhand.workflows.generate.folder import GeneratedFolder
from evenhand.workflows.generate.journal import Record

WEIGHT = 2.5
NOT_BEST, LOW = "prompt not best", "low clip score"
NO_FACE, SEVERAL = "no face", "several faces"
BY_MODEL, ONE_COLOUR, OTHER_SIZE = "flagged by the model", "one colour only", "another size than asked"
FLAGS: tuple[str, ...] = (BY_MODEL, ONE_COLOUR, OTHER_SIZE, NOT_BEST, LOW, NO_FACE, SEVERAL)
"""All flags, in the order of the manifest."""

Row = Mapping[str, Any]


class Review(Protocol):
    """One way of looking at images.

    Attributes:
        at_once: Images reviewed together.
    """

    at_once: int

    @property
    def kind(self) -> str:
        """Of its journal, with what tells its settings apart."""
        ...

    def look(self, rows: Sequence[Row], images: Sequence[Pixels]) -> list[Record]:
        """What is seen in each image, to be kept."""
        ...

    def manifest_facts(self) -> dict[str, Any]:
        """How it looks, for the manifest."""
        ...


@dataclass(eq=False)
class PromptReview:
    """Compares images with prompts."""

    source: ModelSource  # a dual encoder; loaded for the first image
    rivals: Mapping[str, Sequence[str]]  # prompt of an image to those of the other groups for its class
    below: float | None = None  # scores under this are flagged; None: none
    at_once: int = 16  # images embedded together
    _model: Any = field(default=None, init=False)
    _texts: dict[str, Floats] = field(default_factory=dict, init=False)

    @property
    def kind(self) -> str:
        """``clip-`` and which model looks."""
        return f"clip-{sha256_text(str(sorted(self.source.identity().items())))[:12]}"

    def look(self, rows: Sequence[Row], images: Sequence[Pixels]) -> list[Record]:
        """Score, and whether the image's own prompt is the likeliest of its class."""
        if self._model is None:
            self._model = self.source.load()
        prepare = getattr(self._model, "prepare", lambda image: image)
        vectors = _unit(self._model.embed_images([prepare(image) for image in images]))
        self._read({prompt for row in rows for prompt in (row["prompt"], *self.rivals[row["prompt"]])})
        records = []
        for row, vector in zip(rows, vectors, strict=True):
            own_score, *others = (
                float(self._texts[prompt] @ vector) for prompt in (row["prompt"], *self.rivals[row["prompt"]])
            )
            best = not others or own_score >= max(others)
            records.append(
                {"score": WEIGHT * max(own_score, 0.0), "best": best} if np.isfinite(own_score) else {}
            )
        return records

    def _read(self, prompts: set[str]) -> None:
        new = sorted(prompts - set(self._texts))
        for start in range(0, len(new), 64):
            some = new[start : start + 64]
            self._texts.update(zip(some, _unit(self._model.embed_texts(some)), strict=True))

    def manifest_facts(self) -> dict[str, Any]:
        """Model, formula and threshold."""
        return {
            "model": self.source.uri,
            "identity": dict(self.source.identity()),
            "score": "2.5 * max(cos(image, prompt), 0), Hessel et al. (2021), section 3",
            "below": self.below,
            "kind": self.kind,
        }


@dataclass(eq=False)
class FaceReview:
    """Counts faces."""

    at_once: int = 1

    @property
    def kind(self) -> str:
        """``faces-`` and which detector looks."""
        return f"faces-{sha256_text(self._detector())[:12]}"

    def look(self, rows: Sequence[Row], images: Sequence[Pixels]) -> list[Record]:
        """How many faces each image has."""
        return [{"faces": len(_detector()(np.ascontiguousarray(image), 1))} for image in images]

    def manifest_facts(self) -> dict[str, Any]:
        """Which detector."""
        return {"detector": self._detector(), "kind": self.kind}

    def _detector(self) -> str:
        return f"dlib {_dlib().__version__}, frontal, at twice the size"


def review_images(
    folder: GeneratedFolder, look: Review, rows: Sequence[Row], records_by_sample: Mapping[str, Record]
) -> Iterator[Record]:
    """Review images that were not reviewed so, or have changed.

    ``records_by_sample`` has the ``sha256`` of each image. Yields what is to be kept of each.
    """
    for start in range(0, len(rows), look.at_once):
        some = rows[start : start + look.at_once]
        images = [_read(folder.image(row["sample"])) for row in some]
        for row, review in zip(some, look.look(some, images), strict=True):
            yield {"sample": row["sample"], "sha256": records_by_sample[row["sample"]]["sha256"], **review}


def rivals_of(definition: GenerationDefinition) -> dict[str, list[str]]:
    """Each prompt with those of the other groups for its class, at its turn of templates."""
    cells = definition.cells()
    turns = min(lcm(*(len(cell.templates) for cell in cells)), definition.images_per_cell)
    prompts = definition.changed(images_per_cell=turns).prompts()
    rivals: dict[str, list[str]] = {}
    for _, rows in prompts.group_by(["class", "index"], maintain_order=True):
        texts = rows["prompt"].to_list()
        for text in texts:
            rivals[text] = list(
                dict.fromkeys([*rivals.get(text, []), *(rival for rival in texts if rival != text)])
            )
    return rivals


def check_dual_encoder(source: ModelSource) -> None:
    """Refuse a model that does not put images and texts in one space."""
    lacking = {"embeds_images", "embeds_texts"} - set(source.capabilities())
    if lacking:
        with telling_what_to_add(source):
            raise UserError(
                f"--clip {source.uri!r} has no {sorted(lacking)[0]}; give a dual encoder, such as "
                "hf:openai/clip-vit-base-patch32"
            )


def flags_of(record: Record, clip: Record, faces: Record, *, below: float | None, people: bool) -> list[str]:
    """What is flagged of one image.

    ``clip`` or ``faces`` is empty where nothing was compared or counted; ``people``: one person is meant.
    """
    is_flagged = {
        BY_MODEL: bool(record.get("flagged")),
        ONE_COLOUR: bool(record.get("one_colour")),
        OTHER_SIZE: bool(record.get("other_size")),
        NOT_BEST: clip.get("best") is False,
        LOW: below is not None and clip.get("score") is not None and clip["score"] < below,
        NO_FACE: people and faces.get("faces") == 0,
        SEVERAL: people and (faces.get("faces") or 0) > 1,
    }
    return [flag for flag in FLAGS if is_flagged[flag]]


def _read(path: Path) -> Pixels:
    try:
        return decode(path.read_bytes())
    except UnreadableImage as problem:
        raise InputError(
            f"{str(path)!r} cannot be decoded: {problem}; delete it, and the same command makes it anew"
        ) from None


def _unit(vectors: Any) -> Floats:
    """Vectors of length 1; one without a direction, or that is not finite, is NaN."""
    array = np.asarray(vectors, dtype=np.float64)
    with np.errstate(all="ignore"):
        return np.asarray(array / np.linalg.norm(array, axis=1, keepdims=True), dtype=np.float32)


@cache
def _detector() -> Any:
    return _dlib().get_frontal_face_detector()


def _dlib() -> Any:
    try:
        return import_module("dlib")
    except ImportError:
        raise MissingExtra("dlib", "faces") from None
