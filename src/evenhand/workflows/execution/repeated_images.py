"""Pictures that are in the data several times under different names, which nobody declared as one unit."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks.mmbias.data.repeated_images import RepeatedImages
from evenhand.core.errors import one_line
from evenhand.core.findings import TableWarning
from evenhand.core.requests import Question
from evenhand.files.images.chained import ChainedImages
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.perceptual import looks_of
from evenhand.files.images.sources import EncodedImages, FirstImages, ImageFiles
from evenhand.workflows.execution.missing_images import check_images

MOST_LOOKED_AT = 2_000  # pictures that are decoded once more for this
_SHOWN = 2
_OF_A_RUN = (
    "take copies out of the data, or audit a table of the predictions in which a column names what is one "
    "picture: evenhand audit TABLE --cluster COL"
)
_OF_A_TABLE = "take copies out of the table, or add a column that names what is one picture: --cluster COL"

_Place = tuple[Any, int, str]  # source, position there, name


def image_warnings(questions: Sequence[Question], *, allow_missing: bool) -> list[TableWarning]:
    """What is to be said of the images of all questions before any is asked.

    Raises:
        UserError: More of them are missing than ``check_images`` allows.
    """
    return check_images(questions, allow_missing=allow_missing) + repeated_images(questions)


def repeated_images(questions: Sequence[Question]) -> list[TableWarning]:
    """A warning where pictures of different files or rows have the same bytes, or look the same.

    One file that is asked about several times is no repetition: that is how the question is made.
    """
    return _repeats([question.images for question in questions if question.images is not None], _OF_A_RUN)


def repeated_files(column: str, paths: Sequence[Path]) -> list[TableWarning]:
    """The same of the pictures that a table names, the first of which are opened.

    Args:
        column: Of the paths.
        paths: Files, each once.
    """
    opened = paths[:MOST_LOOKED_AT]
    warnings = _repeats([ImageFiles(opened)], _OF_A_TABLE)
    if len(opened) < len(paths):
        compared = f"of {len(paths):,} pictures in {column!r} the first {len(opened):,} were compared"
        more = f"; {warnings[0].message}" if warnings else ", none of which repeats"
        option = warnings[0].option if warnings else None
        return [
            TableWarning(code="repeated_images", columns=[column], message=compared + more, option=option)
        ]
    return [warning.model_copy(update={"columns": [column]}) for warning in warnings]


def _repeats(sources: Sequence[Any], advice: str) -> list[TableWarning]:
    places = {_key(*entry): entry for images in sources for entry in _places(images, range(len(images)))}
    by_source: dict[int, list[_Place]] = {}
    for entry in places.values():
        by_source.setdefault(id(entry[0]), []).append(entry)
    names: dict[str, list[str]] = {}
    unique: list[tuple[Any, list[tuple[int, str]]]] = []
    for members in by_source.values():
        source = members[0][0]
        digests = ChosenImages(source, [index for _, index, _ in members]).digests(0, len(members))
        unique.append((source, []))
        for (_, index, name), digest in zip(members, digests, strict=True):
            if isinstance(digest, str):  # else it is unreadable, which asking about it says
                unique[-1][1].extend([(index, digest)] * (digest not in names))
                names.setdefault(digest, []).append(name)
    same_bytes = [members for members in names.values() if len(members) > 1]
    alike: dict[str, list[str]] = {}
    if len(names) <= MOST_LOOKED_AT:
        for source, hashed in unique:
            for digest, look in looks_of(source, hashed).items():
                if look:
                    alike.setdefault(look, []).append(names[digest][0])
    same_look = [members for members in alike.values() if len(members) > 1]
    return _told(len(places), same_bytes, same_look, advice)


def _key(source: Any, index: int, _: str) -> tuple[object, ...]:
    """What is one place: a path, or a row of a source."""
    return (source.paths[index],) if isinstance(source, ImageFiles) else (id(source), index)


def _told(
    total: int, same_bytes: list[list[str]], same_look: list[list[str]], advice: str
) -> list[TableWarning]:
    kinds = (("the bytes", same_bytes), ("the look (perceptual hash)", same_look))
    texts = [
        f"{sum(map(len, groups)) - len(groups):,} of {total:,} pictures have {what} of another, such as "
        + " and ".join(repr(one_line(name)) for name in groups[0][:_SHOWN])
        for what, groups in kinds
        if groups
    ]
    if not texts:
        return []
    return [
        TableWarning(
            code="repeated_images",
            message=f"{'; '.join(texts)}. Intervals and p take each as a sample of its own: {advice}",
            option="--cluster",
        )
    ]


def _index(entry: tuple[str, int]) -> int:
    return entry[1]


def _places(images: Any, indices: Sequence[int]) -> Iterator[_Place]:
    """The encoded images behind a source, each once; pictures that are drawn have none."""
    if isinstance(images, ImageFiles):
        first = {images.paths[index]: index for index in reversed(indices)}
        yield from (
            (images, index, os.path.basename(path)) for path, index in sorted(first.items(), key=_index)
        )
    if isinstance(images, EncodedImages):
        yield from ((images, index, f"picture {index + 1}") for index in indices)
    for source, inner in _inside(images, indices):
        yield from _places(source, inner)


def _inside(images: Any, indices: Sequence[int]) -> Iterator[tuple[Any, Sequence[int]]]:
    """The sources that a source is made of, and which of their images it shows."""
    if isinstance(images, ChainedImages):
        for source, end in zip(images.sources, images.ends, strict=True):
            start = end - len(source)
            yield source, [index - start for index in indices if start <= index < end]
    if isinstance(images, ChosenImages):
        yield images.source, sorted({int(images.chosen[index]) for index in indices})
    if isinstance(images, FirstImages):
        yield images.source, indices
    if isinstance(images, RepeatedImages):
        yield images.source, sorted({index // images.times for index in indices})
