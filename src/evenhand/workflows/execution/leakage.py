"""No model is measured on images that it was fitted on: the hashes of their contents identify them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from evenhand.core.errors import InputError, one_line
from evenhand.core.requests import Question, UnreadableImage
from evenhand.files.images.chained import ChainedImages
from evenhand.files.images.cropped import ChosenImages, CroppedImages
from evenhand.files.images.perturbed import PerturbedImages
from evenhand.models.identity.source import ModelSource

_AT_ONCE = 4_096


def refuse_training_images(source: ModelSource, questions: Sequence[Question]) -> None:
    """Refuse to ask an adapted model about images that it was adapted on.

    A crop counts as the image that it was cut from. Models that were not adapted here pass.
    """
    if not hasattr(source, "training_hashes"):
        return
    training_hashes: set[str] = source.training_hashes()
    if not training_hashes:
        return
    for question in questions:
        if question.images is None:
            continue
        common = {digest: index for digest, index in hashes_of(question.images) if digest in training_hashes}
        if common:
            first = question.samples[min(common.values())] if len(question) == len(question.images) else ""
            such = f", such as {one_line(first)!r}" if first else ""
            raise InputError(
                f"{source.uri!r} was fitted on {len(common):,} of these images{such}, and what it says about "
                "them shows nothing; leave them out of --data, or adapt the model again with "
                "--evaluation on these images"
            )


def hashes_of(images: Any) -> Iterator[tuple[str, int]]:
    """Content hash and position of every readable image; of crops, also that of the whole image.

    A changed image counts as the image that it was.
    """
    if isinstance(images, PerturbedImages):
        yield from hashes_of(images.source)
        return
    if isinstance(images, ChainedImages):
        start = 0
        for source in images.sources:
            yield from ((digest, start + index) for digest, index in hashes_of(source))
            start += len(source)
        return
    for start in range(0, len(images), _AT_ONCE):
        for index, digest in enumerate(_digests(images, start, min(start + _AT_ONCE, len(images))), start):
            if isinstance(digest, str):
                yield digest, index
    if isinstance(images, CroppedImages):
        rows, places = np.unique(images.chosen, return_index=True)
        for digest, index in hashes_of(ChosenImages(images.source, rows)):
            yield digest, int(places[index])


def _digests(images: Any, start: int, stop: int) -> Sequence[str | UnreadableImage]:
    if hasattr(images, "digests"):
        digests: Sequence[str | UnreadableImage] = images.digests(start, stop)
        return digests
    listed: list[str | UnreadableImage] = []
    for index in range(start, stop):
        try:
            listed.append(str(images.digest(index)))
        except UnreadableImage as problem:
            listed.append(problem)
    return listed


def refuse_evaluation_images(
    samples: Sequence[str], digests: Sequence[str], evaluation: Collection[str], where: str
) -> None:
    """Refuse to fit on images that will be measured on; ``digests`` and ``evaluation`` are content hashes."""
    common = [sample for sample, digest in zip(samples, digests, strict=True) if digest in evaluation]
    if common:
        raise InputError(
            f"{len(common):,} of {len(samples):,} training images are in --evaluation {where!r} too, such as "
            f"{one_line(common[0])!r}; a model is not fitted on what it is measured on: take them out of one"
        )
