"""Images that are not there: many are a refusal before anything is asked, few are a warning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.core.errors import UserError, first_few
from evenhand.core.findings import TableWarning
from evenhand.core.requests import Question

MOST_MISSING = 0.05  # share of the samples
_FOLDERS = 3  # named in a message


def check_images(questions: Sequence[Question], *, allow_missing: bool) -> list[TableWarning]:
    """Warn of samples without an image file; refuse if they are over 5 %, unless ``allow_missing``."""
    paths: dict[str, str] = {}
    samples: set[str] = set()
    for question in questions:
        if question.images is None:
            continue
        samples.update(question.samples)
        absent: dict[int, str] = getattr(question.images, "absent", dict)()
        paths |= {question.samples[index]: path for index, path in absent.items()}
    if not paths:
        return []
    share = len(paths) / len(samples)
    text = f"{len(paths):,} of {len(samples):,} samples ({share:.1%}) have no image file"
    where = f"such as {next(iter(paths.values()))!r}; looked in {_folders(paths.values())}"
    if share > MOST_MISSING and not allow_missing:
        raise UserError(
            f"{text}, {where}; put the images there, or name the folder that holds them, or go on without: "
            "--allow-missing"
        )
    return [
        TableWarning(
            code="missing_images",
            message=f"{text}, {where}. Every value is about the other samples only",
            option="--allow-missing",
        )
    ]


def _folders(paths: Iterable[str]) -> str:
    """The folders in which files were looked for, the first few."""
    folders = list(dict.fromkeys(repr(str(Path(path).parent)) for path in paths))
    return first_few(folders, _FOLDERS, " and {:,} more folders")
