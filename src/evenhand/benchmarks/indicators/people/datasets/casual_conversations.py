"""Casual Conversations v1: people who gave their own age and gender, filmed in bright and in dark light."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.attributes import ANNOTATORS, PERSON, AnnotatedAttribute
from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.indicators.people.ages import CC_AGES, cc_age
from evenhand.benchmarks.indicators.people.samples import Coverage, People
from evenhand.benchmarks.indicators.people.skin import FITZPATRICK, SKIN_TONES, skin_tone
from evenhand.benchmarks.indicators.people.videos import as_word, join_frames, video_key
from evenhand.core.errors import InputError
from evenhand.files.images.sources import ImageFiles
from evenhand.files.json_file import read_json

NAME = "casual_conversations"
LAYOUT = (
    "CasualConversations.json and images <folder>/<SSSS>/<SSSS_NN>_<frame>.jpg, one or more of each video "
    "(SSSS: the person, NN: the video)"
)
START = "casualconversations"

PAPER_COUNTS = {
    "": {"images": 2_982},
    "gender": {"female": 1_627, "male": 1_294},
    "age": {"18-30": 931, "30-45": 1_046, "45-70": 870, "70+": 62},
    "perceived_skin_tone": {"lighter": 1_646, "darker": 1_329},
}
"""Of Table 4 of the paper, on one frame of each video of the mini version. The paper has 2,982 images and
says that 29 of 2,982 videos have no face; its groups by gender add up to 2,921, without others and n/a."""

DEFINITIONS = {
    attribute.name: attribute
    for attribute in (
        AnnotatedAttribute("gender", "gender", PERSON, ("female", "male", "other")),
        AnnotatedAttribute("age", "age", PERSON, CC_AGES),
        AnnotatedAttribute("perceived_skin_tone", "skin_tone", ANNOTATORS, SKIN_TONES),
        AnnotatedAttribute("perceived_fitzpatrick", "fitzpatrick", ANNOTATORS, FITZPATRICK),
        AnnotatedAttribute("lighting", "lighting", ANNOTATORS, ("bright", "dark")),
    )
}

_SAME = "video listed before with other labels"
_BROKEN = "entry that is not as released"

Row = dict[str, Any]


def annotation_file(listing: Listing) -> Path | None:
    """The table of annotations of a folder; None if there is none."""
    tables = [
        table
        for table in listing.named(START, ending=".json")
        if not table.rpartition("/")[2].casefold().startswith("casualconversationsv2")
    ]
    if len(tables) > 1:
        raise InputError(
            f"{str(listing.folder)!r} has several annotations ({', '.join(tables[:4])}); give the one that "
            "is meant as the data; images are looked for in its folder and below"
        )
    return listing.folder / tables[0] if tables else None


def read_casual_conversations(listing: Listing, table: Path | None = None) -> People:
    """The images of annotated videos.

    Attributes: ``gender`` and ``age`` as the people gave them themselves (``other`` and ``n/a`` are groups,
    an age that is no whole number is ``unknown``), ``perceived_fitzpatrick`` and ``perceived_skin_tone`` by
    annotators, ``lighting`` (null in the form of the released code, which does not have it); the columns
    ``video`` and ``years``. Images belong together by ``subject``.
    """
    path = table or annotation_file(listing)
    if path is None:
        raise InputError(f"{str(listing.folder)!r} has no CasualConversations*.json; it should hold {LAYOUT}")
    dropped: Counter[str] = Counter()
    videos: dict[str, Row] = {}
    for key, row in _rows(read_json(path, "get the file again"), path, dropped):
        if videos.setdefault(key, row) != row:
            dropped[_SAME] += 1
    frames = join_frames(listing.images, listing.folder, list(videos))
    rows = [videos[video] for video in frames.videos]
    return People(
        name=NAME,
        annotations=_table(rows, frames.images, frames.videos),
        images=ImageFiles([listing.folder / image for image in frames.images]),
        definitions=DEFINITIONS,
        clusters="subject",
        dropped={**dropped, **frames.dropped},
        notes={**listing.passed, **frames.notes},
        coverage=(Coverage("videos with an image", len(set(frames.videos)), len(videos)),),
        paper_counts=PAPER_COUNTS,
    )


def _rows(content: object, path: Path, dropped: Counter[str]) -> Iterator[tuple[str, Row]]:
    if isinstance(content, list):
        yield from _listed(content, dropped)
    elif isinstance(content, dict):
        yield from _released(content, dropped)
    else:
        raise InputError(f"{str(path)!r} holds no people; give the CasualConversations.json as released")


def _released(content: dict[str, Any], dropped: Counter[str]) -> Iterator[tuple[str, Row]]:
    for subject, entry in content.items():
        label = entry.get("label") if isinstance(entry, dict) else None
        files = [entry.get(name, []) for name in ("files", "dark_files")] if isinstance(label, dict) else []
        if not isinstance(label, dict) or not all(isinstance(entries, list) for entries in files):
            dropped[_BROKEN] += 1
            continue
        dark = {video_key(str(file)) for file in files[1]}
        for file in dict.fromkeys(map(str, (*files[0], *files[1]))):
            key = video_key(file)
            yield key, _row(subject, label, "dark" if key in dark else "bright")


def _listed(content: list[Any], dropped: Counter[str]) -> Iterator[tuple[str, Row]]:
    """The released code's form: one entry an image, joined by the path without the frame's number."""
    for entry in content:
        if not isinstance(entry, dict) or not isinstance(entry.get("img_path"), str):
            dropped[_BROKEN] += 1
            continue
        subject = as_word(entry.get("subject_id"))
        yield video_key(entry["img_path"]).rpartition("_")[0], _row(subject, entry, None)


def _row(subject: str | None, label: dict[str, Any], lighting: str | None) -> Row:
    gender, age, skin = (as_word(label.get(name)) for name in ("gender", "age", "skin-type"))
    is_known = skin in FITZPATRICK or skin is None
    return {
        "subject": subject,
        "years": int(age) if age is not None and age.isascii() and age.isdigit() else None,
        "gender": None if gender is None else gender.lower(),
        "age": cc_age(age),
        "perceived_skin_tone": skin_tone(skin),
        "perceived_fitzpatrick": skin if is_known else "unknown",
        "lighting": lighting,
    }


def _table(rows: list[Row], images: Any, videos: Any) -> pl.DataFrame:
    columns = ("subject", "years", *DEFINITIONS)
    return pl.DataFrame(
        {
            "sample": pl.Series(list(images), dtype=pl.String),
            "video": pl.Series(list(videos), dtype=pl.String),
            **{
                name: pl.Series([row[name] for row in rows], dtype=pl.Int64 if name == "years" else pl.String)
                for name in columns
            },
        }
    )
