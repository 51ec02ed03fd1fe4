"""Data that is counted and never fetched: what the sources of people and of households share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from evenhand.benchmarks.datasets.download_source import DataSource, SourcePart
from evenhand.core.requests import UnreadableImage
from evenhand.files.images.cropped import image_size
from evenhand.files.images.sources import ImageFiles


def readable(images: ImageFiles) -> SourcePart:
    """How many images have a header that can be read, and what is wrong with the others."""
    faults: dict[str, int] = {}
    for path in images.paths:
        try:
            image_size(path)
        except UnreadableImage as problem:
            faults[problem.reason] = faults.get(problem.reason, 0) + 1
    note = ", ".join(f"{count} {reason}" for reason, count in faults.items())
    return SourcePart(
        "images whose header can be read", len(images) - sum(faults.values()), len(images), note
    )


def shown(name: str, number: int, expected: int | None = None) -> SourcePart:
    """A number that is only shown, beside that of a paper where there is one."""
    return SourcePart(name, number, expected, judged=False)


def remarks(dropped: Mapping[str, int], notes: Mapping[str, int]) -> list[SourcePart]:
    """What was left out and what else was noted, by reason."""
    parts = [shown(f"left out: {reason}", count) for reason, count in sorted(dropped.items())]
    return parts + [shown(f"note: {reason}", count) for reason, count in sorted(notes.items())]


def counted_source(
    name: str,
    title: str,
    licence: str,  # under which it may be used, and for what
    home: str,
    size: str,  # of everything, in words
    by_hand: str,  # where to get it, and where to put it
    parts: Callable[[str, Path], list[SourcePart]],  # from the name and a folder to what is there
) -> DataSource:
    """Data that users get themselves."""
    return DataSource(name, title, licence, home, size=size, parts=partial(parts, name), by_hand=by_hand)
