"""Faces cut out of videos, as the paper prepares Casual Conversations; one crop a video.

No code for it was released. The paper says: dlib on every frame at half size, boxes scaled up by 2 and
enlarged by 1.5 about their centre, crops resized to 256 x 256, the middle frame that has one. What it leaves
open is decided here: of several faces in a frame the one that the detector is surest of; a box ends where the
frame does; of an even number of frames with a face the earlier of the middle two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from evenhand.core.capabilities import Pixels
from evenhand.core.errors import MissingExtra, one_line
from evenhand.files.atomic import atomic_path
from evenhand.files.images.decode import MAX_PIXELS

SHRINK: int = 2
"""Frames are searched at half of their height and width."""

ENLARGE: float = 1.5
"""Boxes grow by this about their centre, so that hair and clothes are in the crop too."""

SIDE: int = 256
"""Height and width of a crop in pixels."""

NO_FACE = "no face in any frame"
UNREADABLE = "video that cannot be decoded"
NO_PICTURES = "file without pictures"
TOO_LARGE = "frames of too many pixels"

_FORMATS = (
    "mov,mp4,matroska,webm,avi"  # what endings promise; nothing that names other files, such as playlists
)
_ENOUGH = 0.9  # of the length that the header gives; sound may go on for longer

Box = tuple[int, int, int, int]


@dataclass(frozen=True)
class FaceCrop:
    """What became of a video."""

    image: str = ""  # file name of the crop; empty: there is none
    reason: str = ""  # why there is none, or why the video ends early
    frame: int | None = None  # its number, from 0
    frames: int = 0  # in the video
    with_face: int = 0  # examined frames that show a face
    faces: int = 0  # in the frame
    score: float | None = None  # how sure the detector is; it has no upper bound
    box: Box | None = None  # left, top, right, bottom in the upright frame, the last two not included
    cut: bool = False  # whether the frame ends before the enlarged box, so that the crop is distorted
    whole: bool = True  # whether the video could be decoded to its end


def face_detector() -> str:
    """What finds faces here, with its version: the same in two runs means the same boxes."""
    for library in ("dlib", "av"):
        _library(library)
    return f"dlib {_library('dlib').__version__}"


def crop_box(face: Box, width: int, height: int) -> tuple[Box, bool]:
    """Where a crop lies in the whole frame, and whether the frame cuts it off.

    ``face`` is in the frame at half size; its right and bottom edges are not included.
    """
    left, top, right, bottom = (SHRINK * edge for edge in face)
    middle, half = ((left + right) / 2, (top + bottom) / 2), ENLARGE / 2
    wide, high = half * (right - left), half * (bottom - top)
    box = (
        round(middle[0] - wide),
        round(middle[1] - high),
        round(middle[0] + wide),
        round(middle[1] + high),
    )
    inside = (max(box[0], 0), max(box[1], 0), min(box[2], width), min(box[3], height))
    return inside, inside != box


def crop_face(video: Path, target: Path, *, every: int = 1) -> FaceCrop:
    """Cut a face out of a video; the number of the frame and ``.png`` are added to the name of ``target``.

    Only every nth frame (``every``) is searched; the paper searches all. The frames are decoded twice: once
    to find faces, once up to the frame that is taken, so that memory holds a frame at a time.
    """
    face_detector()
    detections: list[tuple[int, Box, int, float]] = []
    n_frames = 0
    try:
        for number, frame in _frames(video):
            n_frames = number + 1
            face = _surest(frame) if number % every == 0 else None
            detections += [(number, *face)] if face else []
        fault = ""
    except _Unfit as problem:
        return FaceCrop(reason=str(problem))
    except Exception as problem:  # decoders of damaged files raise whatever they stumble over
        fault = f"{UNREADABLE}: {one_line(getattr(problem, 'strerror', None) or problem, 120)}"
    crop = FaceCrop(frames=n_frames, with_face=len(detections), whole=not fault)
    if not detections:
        return replace(crop, reason=fault or (NO_FACE if n_frames else NO_PICTURES))
    number, box, faces, score = detections[(len(detections) - 1) // 2]
    frames = (frame for at, frame in _frames(video) if at == number)
    pixels = next(_upright(frame, frame.width, frame.height) for frame in frames)
    region, cut = crop_box(box, pixels.shape[1], pixels.shape[0])
    path = target.with_name(f"{target.name}_{number}.png")
    _write(pixels, region, path)
    return replace(
        crop, image=path.name, reason=fault, frame=number, faces=faces, score=score, box=region, cut=cut
    )


class _Unfit(Exception):  # noqa: N818 - a verdict on a file
    """A file that is no video of ours."""


def _frames(video: Path) -> Iterator[tuple[int, Any]]:
    """Frames with their numbers; a file that names others is not followed."""
    av = _library("av")
    options = {"format_whitelist": _FORMATS, "protocol_whitelist": "none"}
    with open(video, "rb") as stream, av.open(stream, options=options) as container:
        if not container.streams.video:
            raise _Unfit(NO_PICTURES)
        pictures = container.streams.video[0]
        if pictures.width * pictures.height > MAX_PIXELS:
            raise _Unfit(f"{TOO_LARGE}: {pictures.width} x {pictures.height}")
        pictures.thread_type = "AUTO"
        last = None
        for number, frame in enumerate(container.decode(pictures)):
            last = frame.time
            yield number, frame
        seconds = (container.duration or 0) / av.time_base
        if last is not None and last + 1 / (pictures.average_rate or 1) < _ENOUGH * seconds:
            raise EOFError(f"ends after {last:.1f} of {seconds:.1f} seconds")


def _surest(frame: Any) -> tuple[Box, int, float] | None:
    """The face that the detector is surest of, how many there are, and how sure it is."""
    small = _upright(frame, max(frame.width // SHRINK, 1), max(frame.height // SHRINK, 1))
    boxes, scores, _ = _detector().run(small, 0, 0.0)
    if not len(boxes):
        return None
    best = max(range(len(boxes)), key=lambda index: float(scores[index]))
    box = boxes[best]
    return (box.left(), box.top(), box.right() + 1, box.bottom() + 1), len(boxes), float(scores[best])


def _upright(frame: Any, width: int, height: int) -> Pixels:
    """The pixels of a frame in a size, turned as the camera noted."""
    import numpy as np

    pixels: Pixels = frame.to_ndarray(width=width, height=height, format="rgb24")
    turns = round((frame.rotation or 0) / 90) % 4
    return np.ascontiguousarray(np.rot90(pixels, turns))


def _write(pixels: Pixels, box: Box, path: Path) -> None:
    from PIL import Image

    crop = Image.fromarray(pixels).resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=box)
    with atomic_path(path) as temporary:
        crop.save(temporary, format="PNG")


@cache
def _detector() -> Any:
    return _library("dlib").get_frontal_face_detector()


def _library(name: str) -> Any:
    """A library that is needed here only: dlib or av."""
    try:
        return import_module(name)
    except ImportError as problem:
        raise MissingExtra(name, "faces") from problem
