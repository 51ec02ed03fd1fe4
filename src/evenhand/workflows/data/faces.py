"""Cut faces out of all videos of a folder, in several processes, and go on where it was broken off."""

from __future__ import annotations

import csv
import io
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from evenhand.benchmarks.datasets.face_crops import UNREADABLE, FaceCrop, crop_face, face_detector
from evenhand.benchmarks.datasets.listing import VIDEOS, list_files
from evenhand.core.errors import InputError, ParameterError, one_line
from evenhand.files.atomic import write_bytes
from evenhand.files.hashing import sha256_files

TABLE = "faces.csv"
"""What of each video is there, beside the crops."""

COLUMNS: tuple[str, ...] = (
    "video", "sha256", "image", "reason", "frame", "frames", "with_face", "faces", "score", "left", "top",
    "right", "bottom", "cut", "whole", "every", "detector",
)  # fmt: skip
"""Of the table: a row for each video."""

_PAUSE = 10.0  # seconds between two writings of the table

Row = dict[str, str]


@dataclass(frozen=True, eq=False)
class CutFaces:
    """What became of the videos of a folder."""

    folder: Path  # of the crops and their table
    rows: list[Row]  # of the table
    done_before: int  # how many videos

    @property
    def without(self) -> list[Row]:
        """Rows of videos that have no crop."""
        return [row for row in self.rows if not row["image"]]

    @property
    def unreadable(self) -> int:
        """How many videos could not be decoded, wholly or to their end."""
        return sum(row["whole"] == "no" for row in self.rows)


def cut_faces(
    videos: Path,  # a folder of videos, or one video
    folder: Path,  # empty, new, or one of an earlier call
    *,
    every: int = 1,  # search every nth frame only; the paper searches all
    jobs: int = 1,  # processes, each with a video of its own
    progress: Callable[[int, int], None] | None = None,  # videos done, videos in all
) -> CutFaces:
    """Cut a face out of each video, into a tree as that of the videos, with a table of what was found.

    A video that was done before with the same settings is not processed again.
    """
    for name, value in (("every", every), ("jobs", jobs)):
        if value < 1:
            raise ParameterError(f"{name}={value} is not possible; choose 1 or more")
    detector = face_detector()
    video_paths = _videos(Path(videos))
    before = _before(folder)
    hashes = sha256_files(video_paths.values())
    expected = {name: (hashes[path], str(every), detector) for name, path in video_paths.items()}
    rows = {name: before[name] for name in video_paths if _holds(folder, before.get(name), expected[name])}
    n_done = len(rows)
    if progress is not None:
        progress(n_done, len(video_paths))
    missing = {name: path for name, path in video_paths.items() if name not in rows}
    _write(folder, {**before, **rows})
    last_written = time.monotonic()
    try:
        with closing(_cropped(missing, folder, every, jobs)) as crops:
            for name, crop in crops:
                rows[name] = _row(name, hashes[video_paths[name]], crop, every, detector)
                _forget(folder, name, before.get(name), rows[name])
                if progress is not None:
                    progress(len(rows), len(video_paths))
                if time.monotonic() - last_written > _PAUSE:
                    _write(folder, {**before, **rows})
                    last_written = time.monotonic()
    except BrokenProcessPool as problem:
        raise InputError(
            f"a process died after {len(rows)} of {len(video_paths)} videos, maybe for want of memory; what "
            f"came is kept in {str(folder)!r}: type the same again with --jobs 1"
        ) from problem
    finally:
        _write(folder, {**before, **rows})
    return CutFaces(folder, [rows[name] for name in video_paths], n_done)


def _cropped(
    videos: Mapping[str, Path], folder: Path, every: int, jobs: int
) -> Generator[tuple[str, FaceCrop], None, None]:
    """Crops as they come."""
    stems = Counter(Path(name).with_suffix("") for name in videos)
    alone = {name: stems[Path(name).with_suffix("")] == 1 for name in videos}
    targets = {name: folder / (Path(name).with_suffix("") if alone[name] else name) for name in videos}
    if jobs == 1 or len(videos) < 2:
        for name, path in videos.items():
            yield name, crop_face(path, targets[name], every=every)
        return
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(min(jobs, len(videos)), get_context("spawn"))
    try:
        futures = {
            pool.submit(crop_face, path, targets[name], every=every): name for name, path in videos.items()
        }
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _videos(videos: Path) -> dict[str, Path]:
    """Videos by their path below the folder."""
    path = videos.expanduser()
    if path.is_file() and path.suffix.lower() in VIDEOS:
        return {path.name: path}
    files = list_files(path)
    if path.is_file() or not files.videos:
        raise InputError(f"{str(videos)!r} holds no videos; give a folder with {', '.join(VIDEOS)} files")
    return {name: files.folder / name for name in files.videos}


def _before(folder: Path) -> dict[str, Row]:
    """Rows of the table of an earlier call, by video."""
    table = folder / TABLE
    if folder.is_file() or (folder.is_dir() and not table.is_file() and any(folder.iterdir())):
        raise InputError(f"{str(folder)!r} holds other files; give an empty or new folder with -o")
    if not table.is_file():
        return {}
    try:
        rows = list(csv.DictReader(io.StringIO(table.read_text(encoding="utf-8"))))
    except (OSError, ValueError, csv.Error) as problem:
        raise InputError(
            f"{str(table)!r} cannot be read: {one_line(problem)}; delete it to begin anew"
        ) from None
    if any(set(row) != set(COLUMNS) or None in row.values() for row in rows):
        raise InputError(f"{str(table)!r} is not of this command; give an empty or new folder with -o")
    return {row["video"]: row for row in rows}


def _holds(folder: Path, row: Row | None, expected: tuple[str, str, str]) -> bool:
    """Whether a row is of this video (its hash) and these settings, and what it says is still there."""
    if row is None or (row["sha256"], row["every"], row["detector"]) != expected:
        return False
    if row["image"]:
        return (folder / row["image"]).is_file()
    return not row["reason"].startswith(UNREADABLE)


def _forget(folder: Path, name: str, old: Row | None, new: Row) -> None:
    """Delete the crop of an earlier call with other settings, so that a video has one."""
    if old is None or not old["image"] or old["image"] == new["image"]:
        return
    if Path(old["image"]).parent == Path(name).parent and old["image"].endswith(".png"):
        (folder / old["image"]).unlink(missing_ok=True)


def _row(name: str, sha256: str, crop: FaceCrop, every: int, detector: str) -> Row:
    image = str(Path(name).with_name(crop.image).as_posix()) if crop.image else ""
    box = crop.box or ("", "", "", "")
    values = (
        name, sha256, image, crop.reason, crop.frame, crop.frames, crop.with_face, crop.faces, crop.score,
        *box, "yes" if crop.cut else "no", "yes" if crop.whole else "no", every, detector,
    )  # fmt: skip
    return {
        column: "" if value is None else str(value) for column, value in zip(COLUMNS, values, strict=True)
    }


def _write(folder: Path, rows: Mapping[str, Row]) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows[name] for name in sorted(rows))
    write_bytes(folder / TABLE, text.getvalue().encode())
