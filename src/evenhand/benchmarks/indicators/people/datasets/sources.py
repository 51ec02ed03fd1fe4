"""What of the pictures of people is there, beside what paper and releases have; nothing is fetched."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from evenhand.benchmarks.datasets.download_source import SourcePart
from evenhand.benchmarks.datasets.listing import list_files
from evenhand.benchmarks.datasets.local_source import counted_source, readable, remarks, shown
from evenhand.benchmarks.indicators.people.datasets import (
    casual_conversations,
    casual_conversations_v2,
    fairface,
    miap,
    utkface,
)
from evenhand.benchmarks.indicators.people.datasets.layouts import list_people
from evenhand.benchmarks.indicators.people.samples import People
from evenhand.files.images.sources import ImageFiles

_COLUMNS = {"people": "subject", "videos": "video"}


def parts(kind: str, folder: Path) -> list[SourcePart]:
    """What is in a folder, what became no sample and why, and its groups beside the paper's.

    The header of every image is read.
    """
    people = list_people(list_files(folder), kind, folder)
    source_parts = [
        SourcePart(coverage.name, coverage.present, coverage.expected) for coverage in people.coverage
    ]
    if not people.coverage:
        usable = len(people.images)
        source_parts.append(SourcePart("usable images, of those that are there", usable, max(usable, 1)))
    source_parts += [readable(people.images)] if isinstance(people.images, ImageFiles) else []
    source_parts += remarks(people.dropped, people.notes)
    table = people.annotations
    for what, count in people.paper_counts.get("", {}).items():
        column = _COLUMNS.get(what, "sample")
        source_parts.append(shown(what, table[column].n_unique() if table.height else 0, count))
    return source_parts + _groups(people)


def _groups(people: People) -> list[SourcePart]:
    """Every group, also those that only the paper has; attributes with many values without their groups."""
    source_parts = []
    for name in people.attributes:
        paper = people.paper_counts.get(name, {})
        counts = people.counts(name)
        empty = people.annotations[name].null_count()
        if len(counts) <= 20:
            defined_levels = [
                level for level in people.definitions[name].levels if level in {*counts, *paper}
            ]
            levels = dict.fromkeys((*defined_levels, *counts, *paper))
            source_parts += [
                shown(f"{name} {group}", counts.get(group, 0), paper.get(group)) for group in levels
            ]
        else:
            source_parts.append(shown(f"{name}: different values", len(counts)))
        if empty:
            source_parts.append(shown(f"{name} not annotated", empty))
    return source_parts


_source = partial(counted_source, parts=parts)

CASUAL_CONVERSATIONS = _source(
    casual_conversations.NAME,
    "Casual Conversations v1: 45,186 videos of people who gave their own age and gender",
    "by sign-up, for evaluation; nothing may be trained to tell what people are",
    "https://ai.meta.com/datasets/casual-conversations-dataset/",
    "45,186 videos; the paper uses a frame of each of 2,982",
    "sign up at https://ai.meta.com/datasets/casual-conversations-dataset/ and put annotations and frames "
    f"into one folder: {casual_conversations.LAYOUT}",
)
"""What ``evenhand data check casual_conversations`` checks."""

CASUAL_CONVERSATIONS_V2 = _source(
    casual_conversations_v2.NAME,
    "Casual Conversations v2: people of seven countries who describe themselves",
    "by sign-up, for evaluation; nothing may be trained to tell what people are",
    "https://ai.meta.com/datasets/casual-conversations-v2-dataset/",
    "annotations 12 MB, frames five times 10 GB",
    "sign up at https://ai.meta.com/datasets/casual-conversations-v2-dataset/ and unpack annotations and "
    f"frames into one folder: {casual_conversations_v2.LAYOUT}",
)
"""What ``evenhand data check casual_conversations_v2`` checks."""

MIAP = _source(
    miap.NAME,
    "Open Images MIAP: boxes around people, with how gender and age were perceived",
    "boxes CC BY 4.0; each photo under its owner's CC BY 2.0",
    "https://storage.googleapis.com/openimages/web/extended.html",
    "22,590 photos in the test split",
    "get open_images_extended_miap_boxes_test.csv and ..._images_test.lst from "
    "https://storage.googleapis.com/openimages/open_images_extended_miap/ and the images that the list names "
    f"from Open Images, and put them into one folder: {miap.LAYOUT}",
)
"""What ``evenhand data check miap`` checks."""

UTKFACE = _source(
    utkface.NAME,
    "UTKFace: faces with estimated age, gender and race",
    "non-commercial research only",
    "https://susanqq.github.io/UTKFace/",
    "24,108 faces in the wild, or some 23,700 aligned ones",
    "get the images from https://susanqq.github.io/UTKFace/ and unpack them into one folder: "
    f"{utkface.LAYOUT}",
)
"""What ``evenhand data check utkface`` checks."""

FAIRFACE = _source(
    fairface.NAME,
    "FairFace: faces balanced by race, with annotated age group, gender and race",
    "CC BY 4.0",
    "https://github.com/joojs/fairface",
    "86,744 faces for training and 10,954 for validation",
    "get tables and images from https://github.com/joojs/fairface and unpack them into one folder: "
    f"{fairface.LAYOUT}",
)
"""What ``evenhand data check fairface`` checks."""
