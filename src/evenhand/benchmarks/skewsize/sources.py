"""What of ImageNet*, DomainNet, Waterbirds and CelebA is there, beside their releases; nothing is fetched."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evenhand.benchmarks.datasets.download_source import SourcePart
from evenhand.benchmarks.datasets.generation.definitions import GenerationDefinition
from evenhand.benchmarks.datasets.listing import list_files
from evenhand.benchmarks.datasets.local_source import counted_source, remarks, shown
from evenhand.benchmarks.datasets.readers.lists import list_lines
from evenhand.benchmarks.skewsize import celeba, domainnet, waterbirds
from evenhand.benchmarks.skewsize.data.class_group_folders import classes_by_folder, plain_name, unwrapped
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples
from evenhand.core.errors import InputError
from evenhand.files.images.sources import ImageFiles

SHIFT_CLASSES, SHIFT_IMAGES = 1_000, 50
"""Of each setting of ImageNet* (its readme)."""

DOMAIN_SIZES: Mapping[str, tuple[int, int]] = {
    "clipart": (33_525, 14_604),
    "infograph": (36_023, 15_582),
    "painting": (50_416, 21_850),
    "quickdraw": (120_750, 51_750),
    "real": (120_906, 52_041),
    "sketch": (48_212, 20_916),
}
"""Lines of the official training and test lists, of the cleaned version."""

WATERBIRD_SIZES: Mapping[str, int] = {"train": 4_795, "val": 1_199, "test": 5_794}
"""Birds of each split (Sagawa et al. 2020)."""

CELEBA_SIZES: Mapping[str, int] = {"train": 162_770, "val": 19_867, "test": 19_962}
"""Faces of each split (Liu et al. 2015)."""

_SPLITS = ("train", "test")


def shift_parts(name: str, folder: Path) -> list[SourcePart]:
    """The settings of ImageNet*, with how many images each has and which classes have another number."""
    del name
    definition = GenerationDefinition.read("backgrounds")
    shift_names = [group.name for group in definition.groups]
    listed = unwrapped(list_files(folder), {*map(plain_name, shift_names), *classes_by_folder(definition)})
    counts: dict[str, Counter[str]] = {}
    loose = 0
    for path in listed.images:
        shift, _, rest = path.partition("/")
        klass, slash, _ = rest.partition("/")
        loose += not slash
        if slash:
            counts.setdefault(plain_name(shift), Counter())[klass] += 1
    parts = [_shift(shift_name, counts.pop(plain_name(shift_name), Counter())) for shift_name in shift_names]
    parts += [
        shown(f"further folder {shift_name}", sum(images_of.values()))
        for shift_name, images_of in sorted(counts.items())
    ]
    return parts + remarks({**listed.passed, **({"image in no class folder": loose} if loose else {})}, {})


def _shift(name: str, images_of: Counter[str]) -> SourcePart:
    unlike = sum(count != SHIFT_IMAGES for count in images_of.values())
    notes = [f"{len(images_of):,} of {SHIFT_CLASSES:,} classes"] if len(images_of) != SHIFT_CLASSES else []
    notes += [f"{unlike:,} classes without just {SHIFT_IMAGES} images"] if unlike else []
    return SourcePart(name, sum(images_of.values()), SHIFT_CLASSES * SHIFT_IMAGES, ", ".join(notes))


def domain_parts(name: str, folder: Path) -> list[SourcePart]:
    """The lists of DomainNet, with how many lines and images each has."""
    del name
    parts: list[SourcePart] = []
    classes: set[str] = set()
    dropped: Counter[str] = Counter()
    folder = domainnet.lists_folder(_inside(folder))
    for domain in domainnet.DOMAINS:
        for split, size in zip(_SPLITS, DOMAIN_SIZES[domain], strict=True):
            lists = [path for path in (folder / f"{domain}_{split}.txt",) if path.is_file()]
            listed = list_lines(lists)
            paths = listed.table["path"].to_list()
            classes |= set(listed.table["class"].to_list())
            dropped.update(listed.dropped)
            parts.append(SourcePart(f"{domain} {split}: lines", len(paths), size, "" if lists else "no list"))
            parts.append(SourcePart(f"{domain} {split}: images", there(folder, paths), len(paths)))
    return [SourcePart("classes", len(classes), domainnet.CLASSES), *parts, *remarks(dropped, {})]


def waterbird_parts(name: str, folder: Path) -> list[SourcePart]:
    """The splits of Waterbirds, with how many rows and images each has."""
    del name
    material = waterbirds.read_waterbirds(_inside(folder), "all")
    return _split_parts(material, WATERBIRD_SIZES)


def celeba_parts(name: str, folder: Path) -> list[SourcePart]:
    """The splits of CelebA, with how many rows and images each has."""
    del name
    return _split_parts(celeba.read_celeba(_inside(folder), "all"), CELEBA_SIZES)


def there(folder: Path, paths: Iterable[str]) -> int:
    """How many files there are."""
    return sum(os.path.isfile(folder / path) for path in paths)


def _inside(folder: Path) -> Path:
    if not folder.is_dir():
        raise InputError(f"there is no folder {str(folder)!r}; check the path")
    return folder


def _split_parts(material: LabelledSamples, sizes: Mapping[str, int]) -> list[SourcePart]:
    splits = material.annotations["split"].to_list()
    paths: Sequence[str] = material.images.paths if isinstance(material.images, ImageFiles) else ()
    parts = [SourcePart(f"{split}: rows", splits.count(split), size) for split, size in sizes.items()]
    parts.append(SourcePart("images", there(Path(), paths), len(paths)))
    counts = material.annotations.group_by("split", "truth", material.attribute).len()
    groups = [shown(f"{a}: {b}, {c}", n) for a, b, c, n in counts.sort(counts.columns[:3]).iter_rows()]
    return [*parts, *groups, *remarks(material.dropped, material.notes)]


IMAGENET_STAR = counted_source(
    "imagenet_star",
    "ImageNet*: 1,000 classes of things in 23 settings, generated",
    "MIT (the images were made by Stable Diffusion)",
    "https://huggingface.co/datasets/madrylab/imagenet-star",
    "23 archives of 50,000 images, and a base",
    "get the archives from https://huggingface.co/datasets/madrylab/imagenet-star and unpack them into one "
    "folder: SETTING/n01443537/*.png",
    shift_parts,
)
"""What ``evenhand data check imagenet_star`` checks."""

DOMAINNET_DATA = counted_source(
    "domainnet",
    "DomainNet: 345 classes of things in six domains",
    "gathered from the web, for non-commercial research",
    "http://ai.bu.edu/M3SDA/",
    "586,575 images, 18 GB",
    "get six archives (cleaned version) and twelve lists from http://ai.bu.edu/M3SDA/ and unpack them "
    f"into one folder: {domainnet.LAYOUT}",
    domain_parts,
)
"""What ``evenhand data check domainnet`` checks."""

WATERBIRDS_DATA = counted_source(
    "waterbirds",
    "Waterbirds: birds of land and water before land and water",
    "non-commercial research and education",
    "https://wilds.stanford.edu/datasets/",
    "11,788 images, 0.5 GB",
    "get waterbirds_v1.0 with the WILDS library, or from the addresses in its source, and give its folder: "
    f"{waterbirds.LAYOUT}",
    waterbird_parts,
)
"""What ``evenhand data check waterbirds`` checks."""

CELEBA_DATA = counted_source(
    "celeba",
    "CelebA: faces of celebrities with 40 attributes that annotators perceived",
    "non-commercial research only",
    "https://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
    "202,599 images, 1.4 GB",
    "get celebA_v1.0 with the WILDS library, or tables and aligned images from the authors, and give its "
    f"folder: {celeba.LAYOUT}",
    celeba_parts,
)
"""What ``evenhand data check celeba`` checks."""
