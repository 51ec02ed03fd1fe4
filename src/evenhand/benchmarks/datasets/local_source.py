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
    """How many images have a header that can be read, and what is wrong with the others.

    Args:
        images: Of which every header is read.
    """
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
    """A number that is only shown, beside that of a paper where there is one.

    Args:
        name: What is counted.
        number: How many are there.
        expected: How many the paper has.
    """
    return SourcePart(name, number, expected, judged=False)


def remarks(dropped: Mapping[str, int], notes: Mapping[str, int]) -> list[SourcePart]:
    """What was left out and what else was noted, by reason.

    Args:
        dropped: How many became no sample.
        notes: What else is worth knowing, with how many.
    """
    parts = [shown(f"left out: {reason}", count) for reason, count in sorted(dropped.items())]
    return parts + [shown(f"note: {reason}", count) for reason, count in sorted(notes.items())]


def counted_source(
    name: str,
    title: str,
    licence: str,
    home: str,
    size: str,
    by_hand: str,
    parts: Callable[[str, Path], list[SourcePart]],
) -> DataSource:
    """Data that users get themselves.

    Args:
        name: As it is asked for.
        title: What it is.
        licence: Under which it may be used, and for what.
        home: A page of its authors.
        size: Of everything, in words.
        by_hand: Where to get it, and where to put it.
        parts: From the name and a folder to what is there.
    """
    return DataSource(name, title, licence, home, size=size, parts=partial(parts, name), by_hand=by_hand)
