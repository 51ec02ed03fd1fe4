"""Casual Conversations v2: people of seven countries who describe themselves, on two scales of skin tone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.attributes import ANNOTATORS, PERSON, RECORDED, USER, AnnotatedAttribute
from evenhand.benchmarks.datasets.listing import Listing
from evenhand.benchmarks.indicators.people.ages import CC_AGES, cc_age, whole_years
from evenhand.benchmarks.indicators.people.samples import Coverage, People
from evenhand.benchmarks.indicators.people.skin import (
    FITZPATRICK,
    MONK,
    SKIN_TONES,
    fitzpatrick_type,
    monk_tone,
    skin_tone,
)
from evenhand.benchmarks.indicators.people.videos import as_word, join_frames, video_key
from evenhand.core.errors import InputError
from evenhand.evidence.label_matches import UNKNOWN
from evenhand.files.images.sources import ImageFiles
from evenhand.files.json_file import read_json

NAME = "casual_conversations_v2"
FILE = "CasualConversationsV2.json"
LAYOUT = (
    f"{FILE} and the unpacked frames <subject>/<subject>_<language>_<scripted|nonscripted>_<n>_raw_frame*.jpg"
)
GENDERS = ("cis man", "cis woman", "transgender man", "transgender woman", "non-binary")

RELEASED = {"": {"images": 264_670, "videos": 26_467, "people": 5_567}}
"""What the release has; the paper of the indicators does not use it."""

_CONFIDENCE = ("low", "medium", "high")
_KNOWN = {
    attribute.name: attribute
    for attribute in (
        AnnotatedAttribute("gender", "gender", PERSON, GENDERS),
        AnnotatedAttribute("age", "age", PERSON, CC_AGES),
        AnnotatedAttribute("perceived_skin_tone", "skin_tone", ANNOTATORS, SKIN_TONES),
        AnnotatedAttribute("perceived_fitzpatrick", "fitzpatrick", ANNOTATORS, FITZPATRICK),
        AnnotatedAttribute(
            "perceived_fitzpatrick_confidence", "fitzpatrick_confidence", ANNOTATORS, _CONFIDENCE
        ),
        AnnotatedAttribute("perceived_monk", "monk", ANNOTATORS, MONK),
        AnnotatedAttribute("perceived_monk_confidence", "monk_confidence", ANNOTATORS, _CONFIDENCE),
        AnnotatedAttribute("country", "country", PERSON),
        AnnotatedAttribute("native_language", "native_language", PERSON),
        AnnotatedAttribute("secondary_languages", "secondary_languages", PERSON),
        AnnotatedAttribute("script", "script", RECORDED, ("scripted", "nonscripted")),
    )
}
_READ = frozenset(
    (
        "video_name", "subject_id", "age", "gender", "monk_skin_tone", "fitzpatrick_skin_tone",
        "native_language", "secondary_languages",
    )
)  # fmt: skip
_NO_ATTRIBUTES = frozenset(("sample", "subject", "video", "years", "truth", "prediction", "rank", "n"))
_MOST = 1_000

Row = dict[str, Any]


def read_casual_conversations_v2(listing: Listing, table: Path | None = None) -> People:
    """The frames of annotated videos.

    Attributes: ``gender`` and ``age`` as the people gave them, ``perceived_fitzpatrick`` (and of it
    ``perceived_skin_tone``) and ``perceived_monk`` by annotators, each with its confidence, ``country``,
    ``native_language``, ``secondary_languages``, ``script``, and every other field that a video's entry has:
    fields in fields are joined with ``_``, lists with a comma. Free text (more than 1,000 different
    values) is passed over and counted. Frames belong together by ``subject``.
    """
    tables = listing.named("casualconversationsv2", ending="v2.json")
    path = table or (listing.folder / tables[0] if tables else None)
    if path is None:
        raise InputError(f"{str(listing.folder)!r} has no {FILE}; it should hold {LAYOUT}")
    content = read_json(path, "get the file again")
    if not isinstance(content, list):
        raise InputError(f"{str(path)!r} is no list of videos; give the {FILE} as released")
    dropped: Counter[str] = Counter()
    videos: dict[str, Row] = {}
    for entry in content:
        name = entry.get("video_name") if isinstance(entry, dict) else None
        if not isinstance(name, str) or video_key(name) in videos:
            dropped["video listed twice" if isinstance(name, str) else "entry that is not as released"] += 1
            continue
        videos[video_key(name)] = _row(name, entry)
    frames = join_frames(listing.images, listing.folder, list(videos))
    rows = [videos[video] for video in frames.videos]
    definitions, definition_notes = _definitions(list(videos.values()))
    return People(
        name=NAME,
        annotations=_table(rows, frames.images, frames.videos, list(definitions)),
        images=ImageFiles([listing.folder / image for image in frames.images]),
        definitions=definitions,
        clusters="subject",
        dropped={**dropped, **frames.dropped},
        notes={**listing.passed, **frames.notes, **definition_notes},
        coverage=(
            Coverage("videos with an image", len(set(frames.videos)), len(videos)),
            Coverage("people with an image", _people(rows), _people(list(videos.values()))),
        ),
        paper_counts=RELEASED,
    )


def _row(name: str, entry: dict[str, Any]) -> Row:
    monk, fitzpatrick = (_field(entry, f"{scale}_skin_tone") for scale in ("monk", "fitzpatrick"))
    age, gender = as_word(entry.get("age")), as_word(entry.get("gender"))
    refused = age is not None and age.lower() in UNKNOWN
    kind = fitzpatrick_type(as_word(fitzpatrick.get("type")))
    row: Row = {
        "subject": as_word(entry.get("subject_id")),
        "years": whole_years(age) if age is not None else None,
        "gender": None if gender is None else gender.lower(),
        "age": age.lower() if age is not None and refused else cc_age(age),
        "perceived_skin_tone": skin_tone(kind),
        "perceived_fitzpatrick": kind,
        "perceived_fitzpatrick_confidence": as_word(fitzpatrick.get("confidence")),
        "perceived_monk": monk_tone(as_word(monk.get("scale"))),
        "perceived_monk_confidence": as_word(monk.get("confidence")),
        "native_language": as_word(entry.get("native_language")),
        "secondary_languages": as_word(entry.get("secondary_languages")),
        "script": next((part for part in name.split("_") if part in ("scripted", "nonscripted")), None),
    }
    for field, value in _others({key: value for key, value in entry.items() if key not in _READ}):
        row.setdefault(field, value)
    return row


def _field(entry: dict[str, Any], name: str) -> dict[str, Any]:
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def _others(entry: dict[str, Any], start: str = "") -> Iterator[tuple[str, str | None]]:
    """Fields that are not known by name, so that nothing annotated is lost."""
    for key, value in entry.items():
        name = key if key in ("country",) else f"{start}{key}"
        if isinstance(value, dict):
            yield from _others(value, "" if key == "geo_location" else f"{name}_")
        else:
            yield name.strip().lower().replace("-", "_").replace(" ", "_"), as_word(value)


def _definitions(rows: list[Row]) -> tuple[dict[str, AnnotatedAttribute], dict[str, int]]:
    """What the attributes mean, and what is too varied to be one."""
    fields = dict.fromkeys(field for row in rows for field in row if field not in _NO_ATTRIBUTES)
    varied = {field for field in fields if len({row.get(field) for row in rows}) > _MOST}
    definitions = {
        field: _KNOWN.get(field, AnnotatedAttribute(field, field, USER))
        for field in fields
        if field not in varied
    }
    return definitions, {"field with too many values to be an attribute": len(varied)} if varied else {}


def _people(rows: list[Row]) -> int:
    return len({row["subject"] for row in rows if row["subject"] is not None})


def _table(rows: list[Row], images: Any, videos: Any, attributes: list[str]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "sample": pl.Series(list(images), dtype=pl.String),
            "video": pl.Series(list(videos), dtype=pl.String),
            "years": pl.Series([row["years"] for row in rows], dtype=pl.Int64),
            **{
                name: pl.Series([row.get(name) for row in rows], dtype=pl.String)
                for name in ("subject", *attributes)
            },
        }
    )
