"""Labelled images that a model is adapted on: read, narrowed to classes, divided by content."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.datasets.labelled_images import read_samples
from evenhand.benchmarks.datasets.readers.folders import is_image_name
from evenhand.core.capabilities import NotAnswered, Pixels
from evenhand.core.errors import InputError, first_few
from evenhand.core.random_streams import stream
from evenhand.core.requests import ImageSource, UnreadableImage
from evenhand.files.hashing import sha256_text
from evenhand.files.images.cropped import ChosenImages
from evenhand.files.images.sources import ImageFiles, TarImages
from evenhand.files.images.tar import members
from evenhand.stats.arrays import Integers
from evenhand.workflows.adapt.head_classes import (
    ClassSelection,
    HeadClass,
    class_text,
    classes_of,
    split_truth,
)
from evenhand.workflows.execution.engines.prefetch import load

NO_LABEL = "no label"
OUTSIDE = "label outside of the classes"
BEYOND = "beyond per_class"
TWO_LABELS = "one content under several labels"
COPIES = "copies of another image"
_AT_ONCE = 256
_TAR = re.compile(r"(n\d{8})\.tar")


@dataclass(frozen=True, eq=False)
class TrainingImages:
    """Labelled images, each content once."""

    samples: list[str]
    images: ImageSource
    codes: Integers  # index of the class of each, shape (N,)
    digests: list[str]  # content hash of each
    classes: list[HeadClass]  # what the codes stand for
    dropped: Mapping[str, int] = field(default_factory=dict)  # rows that are no training image, by reason
    not_found: tuple[str, ...] = ()  # wanted classes without an image, and classes without a readable one

    def __len__(self) -> int:
        return len(self.samples)

    def per_class(self) -> Integers:
        """Images of each class, shape (C,)."""
        return np.bincount(self.codes, minlength=len(self.classes)).astype(np.int64)

    def only(self, rows: Integers) -> TrainingImages:
        """The readable ones, at sorted ``rows``; a class that has none left is no class of the head."""
        if len(rows) == len(self):
            return self
        present = np.unique(self.codes[rows])
        if len(present) < 2:
            raise InputError(
                f"only {len(present)} of the {len(self.classes)} classes has images that could be read and "
                "answered; at least two are needed: give other images"
            )
        lost = [
            head_class for code, head_class in enumerate(self.classes) if code not in set(present.tolist())
        ]
        return replace(
            self,
            samples=[self.samples[row] for row in rows.tolist()],
            images=ChosenImages(self.images, rows),
            codes=np.searchsorted(present, self.codes[rows]).astype(np.int64),
            digests=[self.digests[row] for row in rows.tolist()],
            classes=[self.classes[code] for code in present.tolist()],
            not_found=(*self.not_found, *(_text_of_class(head_class) for head_class in lost)),
        )

    def halves(self, validation: float, seed: int) -> tuple[Integers, Integers]:
        """Rows to fit on and rows to validate on, drawn within each class.

        A class gives its share, rounded, to validation, and keeps at least one image to fit on. The draw
        depends on contents and seed alone, not on names or order.
        """
        fit, held_out = [], []
        order = np.argsort(np.asarray(self.digests))
        for code in range(len(self.classes)):
            rows = order[self.codes[order] == code]
            rows = stream(seed, "adapt", self.classes[code].truth).permutation(rows)
            count = min(round(len(rows) * validation), len(rows) - 1)
            held_out += rows[:count].tolist()
            fit += rows[count:].tolist()
        return np.array(sorted(fit), dtype=np.int64), np.array(sorted(held_out), dtype=np.int64)


def read_training(
    train: str | Path,  # as ``classification`` reads it, or a folder of n02084071.tar files (ImageNet-21k)
    *,
    image: str | None = None,  # column of the images
    truth: str | None = None,  # column of the labels
    selection: ClassSelection | None = None,  # None: all classes that are there
    per_class: int = 0,  # at most so many images of each class, chosen by a hash of their ids; 0: all
) -> TrainingImages:
    """Read labelled images and keep those of the classes; every file is hashed, none decoded."""
    samples, truths, images, dropped = _read(Path(train).expanduser(), image, truth, selection)
    classes = classes_of([label for label in truths if label is not None], selection)
    if len(classes) < 2:
        raise InputError(_too_few(str(train), truths, classes, selection))
    code = {head_class.truth: number for number, head_class in enumerate(classes)}
    codes = np.array([-1 if label is None else code.get(label, -2) for label in truths], dtype=np.int64)
    dropped[NO_LABEL] = dropped.get(NO_LABEL, 0) + int((codes == -1).sum())
    dropped[OUTSIDE] = int((codes == -2).sum())
    rows = np.flatnonzero(codes >= 0)
    if per_class:
        few = _few(samples, codes, rows, per_class)
        dropped[BEYOND] = len(rows) - len(few)
        rows = few
    selected, digests, unusable = _each_content_once(images, codes, rows)
    dropped |= unusable
    present = np.unique(codes[selected])
    if len(present) < 2:
        raise InputError(
            f"{str(train)!r} holds readable images of {len(present)} class; at least two are needed"
        )
    lost = [head_class for number, head_class in enumerate(classes) if number not in set(present.tolist())]
    classes = [classes[old] for old in present.tolist()]
    missing = (
        selection.not_found([head_class.truth for head_class in classes]) if selection is not None else ()
    )
    unread = [_text_of_class(head_class) for head_class in lost]
    return TrainingImages(
        [samples[row] for row in selected.tolist()],
        ChosenImages(images, selected),
        np.searchsorted(present, codes[selected]).astype(np.int64),
        digests,
        classes,
        {reason: count for reason, count in dropped.items() if count},
        (*missing, *(name for name in unread if name not in missing)),
    )


def readable_rows(
    training: TrainingImages, workers: int, progress: Callable[[str, int, int], None]
) -> tuple[Integers, list[str]]:
    """Rows whose image can be decoded, and why each of the others cannot.

    A network whose class has no image to learn from keeps an output that means nothing; so this is known
    before it is made.
    """
    rows, reasons = [], []
    with ThreadPoolExecutor(workers, "images") as pool:
        for start in range(0, len(training), _AT_ONCE):
            block = range(start, min(start + _AT_ONCE, len(training)))
            for row, image in zip(
                block, pool.map(lambda row: load(training.images, row, _nothing), block), strict=True
            ):
                if isinstance(image, NotAnswered):
                    reasons.append(image.reason)
                else:
                    rows.append(row)
            progress("images", block.stop, len(training))
    return np.array(rows, dtype=np.int64), reasons


def _nothing(pixels: Pixels) -> None:
    """What is kept of an image that was only checked."""


def _read(
    train: Path, image: str | None, truth: str | None, selection: ClassSelection | None
) -> tuple[list[str], list[str | None], Any, dict[str, int]]:
    """Ids, labels and images. Of folders that are named by WordNet ids, only the wanted ones are listed."""
    if train.is_dir() and image is None and truth is None:
        with os.scandir(train) as entries:
            inside = sorted(
                (entry.name, entry.is_dir()) for entry in entries if not entry.name.startswith(".")
            )
        tars = [name for name, _ in inside if _TAR.fullmatch(name)]
        folders = [name for name, is_folder in inside if is_folder and split_truth(name)[0]]
        if tars and not folders:
            return _from_tars(train, _wanted_of([name.removesuffix(".tar") for name in tars], selection))
        if selection is not None and folders and len(folders) == sum(is_folder for _, is_folder in inside):
            return _from_folders(train, _wanted_of(folders, selection))
    read = read_samples(train, image=image, truth=truth)
    table = read.annotations
    return table["sample"].to_list(), table["truth"].to_list(), read.images, dict(read.dropped)


def _wanted_of(truths: Sequence[str], selection: ClassSelection | None) -> list[str]:
    return list(truths) if selection is None else list(selection.chosen(truths))


def _from_folders(
    train: Path, names: Sequence[str]
) -> tuple[list[str], list[str | None], Any, dict[str, int]]:
    paths: list[str] = []
    truths: list[str | None] = []
    for name in names:
        class_paths = [
            os.path.join(folder, file)
            for folder, _, files in sorted(os.walk(train / name))
            for file in sorted(files)
            if is_image_name(file)
        ]
        paths += class_paths
        truths += [name] * len(class_paths)
    samples = [Path(path).relative_to(train).as_posix() for path in paths]
    return samples, truths, ImageFiles(paths), {}


def _from_tars(train: Path, names: Sequence[str]) -> tuple[list[str], list[str | None], Any, dict[str, int]]:
    shards = [train / f"{name}.tar" for name in names]
    images, samples, truths = [], [], []
    for number, (shard, name) in enumerate(zip(shards, names, strict=True)):
        for member in members(shard):
            if is_image_name(member.name.rpartition("/")[2]):
                images.append((number, member))
                samples.append(f"{name}/{member.name}")
                truths.append(name)
    return samples, list(truths), TarImages(shards, images), {}


def _few(samples: Sequence[str], codes: Integers, rows: Integers, per_class: int) -> Integers:
    """The first of each class by a hash of the id, which is the same wherever the images lie."""
    order = sorted(rows.tolist(), key=lambda row: sha256_text(samples[row]))
    counts: Counter[int] = Counter()
    selected = []
    for row in order:
        counts[int(codes[row])] += 1
        if counts[int(codes[row])] <= per_class:
            selected.append(row)
    return np.array(sorted(selected), dtype=np.int64)


def _each_content_once(
    images: Any, codes: Integers, rows: Integers
) -> tuple[Integers, list[str], dict[str, int]]:
    """Rows whose content has one label, the first of each content; their hashes; what was left out."""
    selected_images = ChosenImages(images, rows)
    dropped: Counter[str] = Counter()
    first: dict[str, int] = {}
    labels: dict[str, set[int]] = {}
    copies: Counter[str] = Counter()
    for start in range(0, len(rows), 4_096):
        stop = min(start + 4_096, len(rows))
        for row, digest in zip(rows[start:stop].tolist(), selected_images.digests(start, stop), strict=True):
            if isinstance(digest, UnreadableImage):
                dropped[digest.reason] += 1
                continue
            first.setdefault(digest, row)
            labels.setdefault(digest, set()).add(int(codes[row]))
            copies[digest] += 1
    selected = [(row, digest) for digest, row in first.items() if len(labels[digest]) == 1]
    dropped[TWO_LABELS] = sum(copies[digest] for digest, label_set in labels.items() if len(label_set) > 1)
    dropped[COPIES] = sum(copies[digest] - 1 for _, digest in selected)
    selected.sort()
    return (
        np.array([row for row, _ in selected], dtype=np.int64),
        [digest for _, digest in selected],
        dict(dropped),
    )


def _text_of_class(head_class: HeadClass) -> str:
    return class_text(head_class.label, head_class.wordnet_id)


def _too_few(
    train: str, truths: Sequence[str | None], classes: Sequence[HeadClass], selection: ClassSelection | None
) -> str:
    if not truths and selection is None:
        return f"{train!r} holds no labelled images; give --truth COLUMN, or a folder for each class"
    labels = sorted({label for label in truths if label is not None})
    label_text = first_few(list(map(repr, labels)), 4) or "none"
    if selection is None:
        return (
            f"{train!r} has {len(classes)} class ({label_text}), and at least two are needed; "
            "give --truth COLUMN"
        )
    some = ", ".join(map(repr, list(selection.names)[:4]))
    return (
        f"of the classes that were asked for ({some}, ...) {len(classes)} are in {train!r}, and at least two "
        f"are needed; its labels: {label_text}; give other --classes, or images of these"
    )
