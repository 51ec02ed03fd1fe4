"""Pictures that are in the data several times under different names, which nobody declared as one unit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.benchmarks.mmbias.data.repeated_images import RepeatedImages
from evenhand.core.errors import one_line
from evenhand.core.findings import TableWarning
from evenhand.core.requests import Question
from evenhand.files.images.chained import ChainedImages
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.perceptual import hash_while_loading, looks_of
from evenhand.files.images.sources import EncodedImages, FirstImages, ImageFiles

MOST_LOOKED_AT = 2_000  # pictures whose looks are hashed
_SHOWN = 2
_OF_A_RUN = (
    "take copies out of the data, or audit a table of the predictions in which a column names what is one "
    "picture: evenhand audit TABLE --cluster COL"
)
_OF_A_TABLE = "take copies out of the table, or add a column that names what is one picture: --cluster COL"

_Place = tuple[Any, int, str]  # source, position there, name


class _Hashed(NamedTuple):
    names: dict[str, list[str]]  # by digest
    unique: list[tuple[Any, list[tuple[int, str]]]]  # each source, position and digest of its first of each


class PictureRepeats:
    """Pictures of different files or rows with the same bytes, or the same look.

    One file that is asked about several times is no repetition: that is how a question is made. No picture
    is decoded for this alone that a model in this process is asked about: the sources hash it then, and
    ``warnings`` come after. Of pictures that other processes decoded it is done there.
    """

    def __init__(self, sources: Iterable[Any], advice: str) -> None:
        self._advice = advice
        places = {_key(*entry): entry for images in sources for entry in _places(images, range(len(images)))}
        self._total = len(places)
        self._by_source: dict[int, list[_Place]] = {}
        for entry in places.values():
            self._by_source.setdefault(id(entry[0]), []).append(entry)

    @classmethod
    def of(cls, questions: Sequence[Question]) -> PictureRepeats:
        """Those of the images of all questions, before these are asked."""
        repeats = cls((question.images for question in questions if question.images is not None), _OF_A_RUN)
        if repeats._total <= MOST_LOOKED_AT:  # else bytes are hashed while the model is asked, too
            for source, unique in repeats._hashed.unique:
                hash_while_loading(source, unique)
        return repeats

    @cached_property
    def _hashed(self) -> _Hashed:
        names: dict[str, list[str]] = {}
        unique: list[tuple[Any, list[tuple[int, str]]]] = []
        for members in self._by_source.values():
            source = members[0][0]
            digests = ChosenImages(source, [index for _, index, _ in members]).digests(0, len(members))
            unique.append((source, []))
            for (_, index, name), digest in zip(members, digests, strict=True):
                if isinstance(digest, str):  # else it is unreadable, which asking about it says
                    unique[-1][1].extend([(index, digest)] * (digest not in names))
                    names.setdefault(digest, []).append(name)
        return _Hashed(names, unique)

    def warnings(self) -> list[TableWarning]:
        """One with the counts of both, or none; pictures that nobody loaded since are decoded now."""
        names = self._hashed.names
        same_bytes = [members for members in names.values() if len(members) > 1]
        alike: dict[str, list[str]] = {}
        for source, unique in self._hashed.unique if len(names) <= MOST_LOOKED_AT else []:
            for digest, look in looks_of(source, unique).items():
                if look:
                    alike.setdefault(look, []).append(names[digest][0])
        same_look = [members for members in alike.values() if len(members) > 1]
        return _told(self._total, same_bytes, same_look, self._advice)


def repeated_files(column: str, paths: Sequence[Path]) -> list[TableWarning]:
    """What is to be said of pictures that a table names, the first of which are opened."""
    opened = paths[:MOST_LOOKED_AT]
    warnings = PictureRepeats([ImageFiles(opened)], _OF_A_TABLE).warnings()
    if len(opened) < len(paths):
        compared = f"of {len(paths):,} pictures in {column!r} the first {len(opened):,} were compared"
        more = f"; {warnings[0].message}" if warnings else ", none of which repeats"
        option = warnings[0].option if warnings else None
        return [
            TableWarning(code="repeated_images", columns=[column], message=compared + more, option=option)
        ]
    return [warning.model_copy(update={"columns": [column]}) for warning in warnings]


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
