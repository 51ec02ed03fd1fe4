"""Frames and the videos that they are from: how their names are joined to annotations of videos."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.benchmarks.tidy import occurring

_FRAME = re.compile(r"_(?:raw_)?frame_?[0-9]+$", re.IGNORECASE)

NO_IMAGE = "video without an image"
NO_ANNOTATION = "image of a video that is not annotated"


@dataclass(frozen=True, eq=False)
class Joined:
    """Images with the video that each is from."""

    images: Sequence[str]  # paths
    videos: Sequence[str]  # for each image the key of its video
    dropped: Mapping[str, int] = field(default_factory=dict)  # videos without image, images not annotated
    notes: Mapping[str, int] = field(default_factory=dict)  # images of one video, images found by name alone


def video_key(path: str) -> str:
    """What names a video in annotations: the last three parts of its path, without its ending."""
    parts = path.replace("\\", "/").split("/")[-3:]
    return "/".join([*parts[:-1], _stem(parts[-1])])


def frame_keys(path: str) -> list[str]:
    """What may name the video of an image, the likeliest first.

    The last three parts of its path minus the final token (the number of the frame), as in the released code;
    the same with the whole name, for one image a video; then both by the file name alone.
    """
    parts = path.replace("\\", "/").split("/")[-3:]
    stem = _stem(parts[-1])
    shorter = _FRAME.sub("", stem) if _FRAME.search(stem) else stem.rpartition("_")[0]
    names = [name for name in (shorter, stem) if name]
    return ["/".join([*parts[:-1], name]) for name in names] + names


def join_frames(images: Sequence[str], folder: Path, videos: Sequence[str]) -> Joined:
    """Find the video of each image.

    Two images of one video are both kept: their name up to the final token is the same, where the released
    code keeps one row of annotations for both and then fails. The name of ``folder`` may be part of a key.
    """
    video_keys = set(videos)
    alone = Counter(key.rpartition("/")[2] for key in video_keys)
    by_name = {key.rpartition("/")[2]: key for key in video_keys if alone[key.rpartition("/")[2]] == 1}
    frames, of, strangers, named_only = [], [], 0, 0
    for image in images:
        keys = frame_keys(f"{folder.as_posix()}/{image}")
        exact = next((key for key in keys if key in video_keys), None)
        video = exact or next((by_name[key] for key in keys if key in by_name), None)
        if video is None:
            strangers += 1
            continue
        frames.append(image)
        of.append(video)
        named_only += exact is None
    several = sum(count for count in Counter(of).values() if count > 1)
    dropped = {NO_IMAGE: len(video_keys - set(of)), NO_ANNOTATION: strangers}
    notes = {"image found by its file name alone": named_only, "image that shares its video": several}
    return Joined(frames, of, occurring(dropped), occurring(notes))


def as_word(value: object) -> str | None:
    """A value of JSON as a group's name: trimmed; lists joined, None where it is empty."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        words = sorted({word for word in map(as_word, value) if word})
        return ", ".join(words) or None
    if value is None or isinstance(value, dict):
        return None
    return str(value).strip() or None


def _stem(name: str) -> str:
    return name.rpartition(".")[0] or name
