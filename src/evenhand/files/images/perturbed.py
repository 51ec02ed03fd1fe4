"""Images that are changed before a model sees them: re-encoded, or with background or objects taken away.

A change is a function of the image, its regions, its strength and a seed, all of which stand in the digest:
an answer about a changed image is never taken for one about the image. No region is looked for here; a table
of yours has them.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.capabilities import Pixels
from evenhand.core.errors import InputError, ParameterError, UnknownName, check_choice
from evenhand.core.requests import Question, UnreadableImage
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.decode import decode
from evenhand.files.images.sources import Digests
from evenhand.files.tables import scan as tables

RANGES: Mapping[str, tuple[float, float]] = {
    "jpeg": (1, 95),
    "blur": (0.1, 1_000),
    "black": (0, 0),
    "mask": (0, 1),
}
"""What can be done to an image, and how strongly."""

PERSON, OBJECT = "person", "object"
NO_REGION = "no region in the table of regions"
_GRAMMAR = "write jpeg:QUALITY, blur:RADIUS, black or mask:SHARE"
_EDGES = ("left", "top", "right", "bottom")

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Region:
    """A part of an image: what it shows, and its box in pixels or the file of its mask."""

    what: str  # `PERSON` or `OBJECT`
    edges: tuple[float, ...] = ()  # left, top, right, bottom
    mask: str = ""  # path; what is not black is inside

    def inside(self, height: int, width: int) -> Mask:
        """Which pixels are in it."""
        if not self.mask:
            left, top, right, bottom = (max(round(edge), 0) for edge in self.edges)
            inside = np.zeros((height, width), dtype=bool)
            inside[top:bottom, left:right] = True
            return inside
        try:
            pixels = decode(Path(self.mask).read_bytes())
        except OSError as problem:
            raise UnreadableImage("mask that cannot be read", self.mask) from problem
        if pixels.shape[:2] != (height, width):
            raise UnreadableImage("mask of another size than its image", self.mask)
        return np.asarray(pixels.max(axis=2) > 0)

    def state(self) -> str:
        """What tells it from others, the content of its mask included."""
        path = Path(self.mask)
        content = hashlib.sha256(path.read_bytes()).hexdigest() if self.mask and path.is_file() else self.mask
        return f"{self.what},{self.edges},{content}"


@dataclass(frozen=True)
class Perturbation:
    """What is done to an image.

    ``jpeg`` encodes it anew; ``blur`` and ``black`` take the background, all but persons, away; ``mask``
    blackens a share of the objects. Pixels of a person's region are never changed by the last three.
    """

    kind: str
    strength: float = 0.0  # quality, radius of the Gaussian in pixels, or share of the objects, at least one
    seed: int = 0  # which objects

    @classmethod
    def parse(cls, text: str, seed: int = 0) -> Perturbation:
        """From ``jpeg:50``, ``blur:8``, ``black`` or ``mask:0.1``."""
        kind, _, number = text.partition(":")
        check_choice("perturb", kind, RANGES)
        low, high = RANGES[kind]
        try:
            strength = float(number or (0 if kind == "black" else "nan"))
        except ValueError:
            strength = float("nan")
        if not low <= strength <= high:
            raise ParameterError(
                f"perturb={text!r} is not possible; {_GRAMMAR} ({kind}: {low:g} to {high:g})"
            )
        return cls(kind, strength, seed)

    def of(self, image: Pixels, regions: Sequence[Region], key: str = "") -> Pixels:
        """The image, changed; uint8 RGB of the same size. ``key`` varies between images what they lose."""
        from PIL import Image, ImageFilter

        if self.kind == "jpeg":
            with io.BytesIO() as file:
                Image.fromarray(image).save(file, "JPEG", quality=round(self.strength))
                return decode(file.getvalue())
        size = image.shape[:2]
        masks: dict[str, list[Mask]] = {PERSON: [np.zeros(size, dtype=bool)], OBJECT: []}
        for region in regions:
            masks[region.what].append(region.inside(*size))
        changes = np.ones(size, dtype=bool)
        if self.kind == "mask":
            seed = hashlib.sha256(f"{self.seed}|{key}".encode()).digest()[:8]
            order = np.random.default_rng(int.from_bytes(seed, "big")).permutation(len(masks[OBJECT]))
            number = max(round(self.strength * len(order)), 1) if self.strength else 0
            changes = np.any([masks[OBJECT][at] for at in order[:number]] or [~changes], axis=0)
        changes &= ~np.any(masks[PERSON], axis=0)
        blurred = Image.fromarray(image).filter(ImageFilter.GaussianBlur(self.strength))
        instead = np.asarray(blurred) if self.kind == "blur" else np.zeros_like(image)
        return np.where(changes[..., None], instead, image)


class PerturbedImages(ChosenImages):
    """The images of a source, each changed in the same way."""

    def __init__(
        self,
        source: Any,
        how: Perturbation,
        regions: Sequence[Sequence[Region] | None] | None = None,  # of each image; None: not in the table
        keys: Sequence[str] | None = None,  # one for each image, such as its sample's id
    ) -> None:
        super().__init__(source, np.arange(len(source)))
        self.how, self.regions, self.keys = how, regions, keys

    def digest(self, index: int) -> str:
        """Of the image and of all that changes it."""
        return self._changed(super().digest(index), index)

    def digests(self, start: int, stop: int) -> Digests:
        """Of images and what changes them; in place of one, what is wrong with the image."""
        result: Digests = []
        for index, digest in enumerate(super().digests(start, stop), start):
            try:
                result.append(digest if isinstance(digest, UnreadableImage) else self._changed(digest, index))
            except UnreadableImage as problem:
                result.append(problem)
        return result

    def load(self, index: int) -> Pixels:
        """The changed pixels, uint8 RGB, shape (H, W, 3)."""
        regions = self._regions(index)
        return self.how.of(super().load(index), regions, self.keys[index] if self.keys else "")

    def _regions(self, index: int) -> Sequence[Region]:
        regions = () if self.regions is None else self.regions[index]
        if regions is None:
            raise UnreadableImage(NO_REGION, self.keys[index] if self.keys else "")
        return regions

    def _changed(self, digest: str, index: int) -> str:
        regions, how = self._regions(index), self.how
        about = [how.kind, repr(how.strength), *(region.state() for region in regions)]
        about += [str(how.seed), self.keys[index] if self.keys else ""] if how.kind == "mask" else []
        return hashlib.sha256("|".join((digest, "perturbed", *about)).encode()).hexdigest()


def perturbed(questions: Sequence[Question], values: Mapping[str, Any], seed: int) -> Sequence[Question]:
    """Questions about changed images; an image without a region in the table is not asked about.

    ``values`` has ``perturb``, as ``Perturbation.parse`` reads it, without which nothing changes; and
    ``areas``, a table with ``sample`` (as questions call it), ``what`` (``person`` or ``object``; without:
    person), and ``left``, ``top``, ``right``, ``bottom`` in pixels or ``mask``, the path of an image beside
    the table that is not black where the region is.
    """
    text, regions = str(values.get("perturb") or ""), str(values.get("areas") or "")
    if not text and not regions:
        return questions
    if not text:
        raise ParameterError(f"-p areas=FILE needs -p perturb=...; {_GRAMMAR}")
    how = Perturbation.parse(text, seed)
    if (how.kind != "jpeg") != bool(regions):
        needed = "needs -p areas=FILE" if how.kind != "jpeg" else "takes no -p areas"
        raise ParameterError(f"perturb={how.kind} {needed}, a table of persons and objects in the images")
    if all(question.images is None for question in questions):
        raise ParameterError(f"perturb={how.kind} is not possible: this benchmark asks about no image")
    by_sample = read_regions(regions) if regions else None

    def changed(question: Question) -> Question:
        if question.images is None:
            return question
        names = list(question.samples)
        of_each = None if by_sample is None else [by_sample.get(name) for name in names]
        return replace(question, images=PerturbedImages(question.images, how, of_each, names))

    return [changed(question) for question in questions]


def read_regions(path: str) -> dict[str, list[Region]]:
    """The regions of each sample; the columns of the table are those that ``perturbed`` names."""
    with tables.reading(path):
        rows = tables.scan(path)[0].collect()
    needed = ("sample", "mask") if "mask" in rows.columns else ("sample", *_EDGES)
    for name in needed:
        if name not in rows.columns:
            raise UnknownName(f"column of {path!r}", name, rows.columns)
    folder, result = Path(path).parent, dict[str, list[Region]]()
    numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in _EDGES if name in rows.columns]
    for number, row in enumerate(rows.with_columns(numbers).iter_rows(named=True), 1):
        what, mask = row.get("what") or PERSON, row.get("mask")
        edges = tuple(float(row[edge]) for edge in _EDGES if row.get(edge) is not None)
        if what not in (PERSON, OBJECT):
            raise UnknownName(f"region in row {number} of {path!r}", str(what), (PERSON, OBJECT))
        if row["sample"] is None or (not mask and len(edges) < len(_EDGES)):
            raise InputError(f"row {number} of {path!r} is no region; give sample, and a box or a mask")
        region = Region(what, mask=str(folder / mask)) if mask else Region(what, edges)
        result.setdefault(str(row["sample"]), []).append(region)
    return result
