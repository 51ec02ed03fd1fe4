"""Open Images MIAP: boxes around people in photos, with how their gender and age were perceived."""

from __future__ import annotations

from collections import Counter

import numpy as np
import polars as pl

from evenhand.benchmarks.attributes import ANNOTATORS, RECORDED, AnnotatedAttribute
from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.datasets.samples import filtered
from evenhand.benchmarks.indicators.people.samples import Coverage, People
from evenhand.core.errors import InputError, check_choice, check_known, one_line
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.cropped import SQUARES, CroppedImages, image_size
from evenhand.files.images.sources import ImageFiles
from evenhand.files.tables import scan as sources

NAME = "miap"
LAYOUT = "open_images_extended_miap_boxes_test.csv and the images <ImageID>.jpg in any folder"
START = "open_images_extended_miap_boxes_"
SMALLEST: int = 100
"""Boxes below so many pixels in height or width are left out, as in the paper."""

PAPER_COUNTS = {
    "": {"boxes": 43_523},
    "perceived_gender": {"female": 10_807, "male": 14_345, "unknown": 18_371},
    "perceived_age": {"young": 3_754, "middle": 23_966, "older": 986, "unknown": 14_817},
}
"""Of Table 4 of the paper, on the test split, with the unknown ones that its text leaves out (18,371 is what
is left of 43,523)."""

_PERSON = "/m/01g317"
_COORDINATES = ("XMin", "YMin", "XMax", "YMax")
_GENDERS = {"feminine": "female", "masculine": "male", "unknown": "unknown"}
_AGES = {"young": "young", "middle": "middle", "older": "older", "unknown": "unknown"}
_FLAGS = {
    "IsOccluded": "occluded",
    "IsTruncated": "truncated",
    "IsGroupOf": "group_of",
    "IsDepictionOf": "depiction_of",
    "IsInsideOf": "inside_of",
}
_YES = {"1": "yes", "0": "no", "-1": "unknown"}

DEFINITIONS = {
    attribute.name: attribute
    for attribute in (
        AnnotatedAttribute("perceived_gender", "gender", ANNOTATORS, ("female", "male")),
        AnnotatedAttribute("perceived_age", "age", ANNOTATORS, ("young", "middle", "older")),
        *(AnnotatedAttribute(name, name, ANNOTATORS, ("yes", "no")) for name in _FLAGS.values()),
        AnnotatedAttribute("split", "split", RECORDED, ("train", "val", "test")),
    )
}


def read_miap(listing: Listing, *, crop: str = "code", smallest: int = SMALLEST, split: str = "") -> People:
    """The boxes that are large enough, cut out of the images that are there.

    Attributes: ``perceived_gender`` (feminine presentation is ``female``, masculine ``male``; the released
    code calls ``unknown`` ``gender_unknown``), ``perceived_age``, what else is said of the box
    (``occluded``, ``group_of``, ...) and ``split``. Boxes of one image belong together by ``subject``, which
    is the image: nobody says which boxes show the same person. An image that is not there or cannot be read
    is counted; the released code puts a grey one in its place and scores it. Of a box far from square,
    ``crop="code"`` keeps the top if it is tall and the middle if it is wide, ``paper`` the top left.
    """
    check_choice("crop", crop, SQUARES)
    notes: Counter[str] = Counter(listing.passed)
    boxes, lost = filtered(_boxes(listing, split), _rules())
    dropped = Counter(lost)
    image_ids = boxes["ImageID"].unique(maintain_order=True).to_list()
    places = _places(listing, set(image_ids), notes)
    sizes = {image: _size(listing, path) for image, path in places.items()}
    readable = sum(not isinstance(size, UnreadableImage) for size in sizes.values())
    box_indices, spans = _large(boxes, sizes, smallest, dropped)
    table = boxes[box_indices]
    images = list(dict.fromkeys(table["ImageID"].to_list()))
    number = {image: index for index, image in enumerate(images)}
    source = ImageFiles([listing.folder / places[image] for image in images])
    of_image = [number[image] for image in table["ImageID"].to_list()]
    return People(
        name=NAME,
        annotations=_table(table),
        images=CroppedImages(source, of_image, spans, crop),
        definitions=DEFINITIONS,
        clusters="subject",
        dropped=dict(+dropped),
        notes=dict(+notes),
        coverage=(
            Coverage("images of the boxes", readable, len(image_ids)),
            *_of_list(listing, boxes),
        ),
        paper_counts=PAPER_COUNTS,
        together=("perceived_gender", "perceived_age"),
    )


def _boxes(listing: Listing, split: str) -> pl.DataFrame:
    tables = {
        table.casefold().rpartition(START)[2].removesuffix(".csv"): table
        for table in reversed(listing.named(START, ending=".csv"))
    }
    split_name = split or ("test" if "test" in tables or len(tables) != 1 else next(iter(tables)))
    if split_name not in tables:
        there = ", ".join(sorted(tables)) or "no split"
        raise InputError(
            f"{str(listing.folder)!r} has no {START}{split_name}.csv, but boxes of {there}; "
            "get it from https://storage.googleapis.com/openimages/open_images_extended_miap/"
        )
    path = listing.folder / tables[split_name]
    with sources.reading(path):
        frame = sources.scan(path)[0].collect()
    check_known(
        f"column of {path.name}",
        ("ImageID", *_COORDINATES, "GenderPresentation", "AgePresentation"),
        frame.columns,
    )
    if "LabelName" not in frame.columns:
        frame = frame.with_columns(LabelName=pl.lit(_PERSON))
    absent = [pl.lit(None, pl.String).alias(flag) for flag in _FLAGS if flag not in frame.columns]
    numbers = [pl.col(name).cast(pl.Float64, strict=False) for name in _COORDINATES]
    number = (pl.int_range(pl.len()).over("ImageID") + 1).cast(pl.String)
    return frame.with_columns(*absent, *numbers, split=pl.lit(split_name)).with_columns(
        sample=pl.col("ImageID") + "#" + number
    )


def _rules() -> dict[str, pl.Expr]:
    """Which boxes are of people, lie in their image and come once."""
    left, top, right, bottom = (pl.col(name) for name in _COORDINATES)
    inside = (left >= 0) & (top >= 0) & (right <= 1) & (bottom <= 1) & (left < right) & (top < bottom)
    return {
        "box without an image": pl.col("ImageID").is_not_null(),
        "box of something else than a person": pl.col("LabelName") == _PERSON,
        "box that does not lie in its image": inside,
        "box listed twice": pl.struct(pl.exclude("sample")).is_first_distinct(),
    }


def _places(listing: Listing, image_ids: set[str], notes: Counter[str]) -> dict[str, str]:
    places: dict[str, str] = {}
    for image in listing.images:
        stem = image.rpartition("/")[2].rpartition(".")[0]
        if stem in image_ids:
            notes["image in a second place"] += stem in places
            places.setdefault(stem, image)
    return places


def _size(listing: Listing, path: str) -> tuple[int, int] | UnreadableImage:
    try:
        return image_size(str(listing.folder / path))
    except UnreadableImage as problem:
        return problem


def _of_list(listing: Listing, boxes: pl.DataFrame) -> list[Coverage]:
    """How many images of the split's list are there, if the list is."""
    split = str(boxes["split"].first()) if boxes.height else ""
    lists = listing.named(f"open_images_extended_miap_images_{split}", ending=".lst")
    if not lists:
        return []
    try:
        lines = (listing.folder / lists[0]).read_text(encoding="utf-8").split()
    except (OSError, ValueError) as problem:
        raise InputError(f"{lists[0]!r} cannot be read: {one_line(problem)}; get the file again") from problem
    listed = {line.rpartition("/")[2] for line in lines}
    there = {image.rpartition("/")[2].rpartition(".")[0] for image in listing.images}
    return [Coverage("images of the list", len(listed & there), len(listed))]


def _large(
    boxes: pl.DataFrame,
    sizes: dict[str, tuple[int, int] | UnreadableImage],
    smallest: int,
    dropped: Counter[str],
) -> tuple[list[int], list[list[float]]]:
    """Rows of the boxes that are large enough, and where these lie in their images."""
    spans = boxes.select(_COORDINATES).to_numpy()
    extents = np.stack([spans[:, 2] - spans[:, 0], spans[:, 3] - spans[:, 1]], axis=1)
    box_indices = []
    for index, image in enumerate(boxes["ImageID"].to_list()):
        size = sizes.get(image)
        if size is None:
            dropped["no such image"] += 1
        elif isinstance(size, UnreadableImage):
            dropped[size.reason] += 1
        elif np.any(np.round(extents[index] * size, 6) < smallest):  # 0.3 - 0.2 is a little less than 0.1
            dropped[f"box below {smallest} pixels"] += 1
        else:
            box_indices.append(index)
    return box_indices, spans[box_indices].tolist()


def _table(boxes: pl.DataFrame) -> pl.DataFrame:
    last = pl.col("GenderPresentation").str.to_lowercase().str.split(" ").list.last()
    return boxes.select(
        "sample",
        pl.col("ImageID").alias("subject"),
        last.replace_strict(_GENDERS, default=None).alias("perceived_gender"),
        pl.col("AgePresentation")
        .str.to_lowercase()
        .replace_strict(_AGES, default=None)
        .alias("perceived_age"),
        *(pl.col(flag).replace_strict(_YES, default=None).alias(name) for flag, name in _FLAGS.items()),
        "split",
    )
