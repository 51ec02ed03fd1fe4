"""Tab-separated files of VisoGender, any release: raw rows by column name, none lost and none shifted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.benchmarks.visogender.data.taxonomy import SINGLE, TWO
from evenhand.core.errors import InputError

COLUMNS: Mapping[str, str] = {
    "idx": "sample",
    "id": "sample",
    "sector": "sector",
    "main category": "sector",
    "specialisation": "specialisation",
    "sub category": "specialisation",
    "occupation": "occupation",
    "object": "object",
    "participant": "participant",
    "url": "url",
    "licence": "licence",
    "license": "licence",
    "license ok": "licence",
    "licence ok": "licence",
    "occupation gender": "occupation_perceived_gender",
    "occupation perceived gender": "occupation_perceived_gender",
    "participant gender": "participant_perceived_gender",
    "participant perceived gender": "participant_perceived_gender",
    "error codes": "errors",
    "errors": "errors",
    "annotator": "annotator",
}
"""Names of columns in all releases, in lower case and without punctuation, and ours."""

_NEEDED = frozenset({"sample", "occupation", "occupation_perceived_gender"})
_LINES = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True)
class RawTable:
    """The rows of one file."""

    path: Path
    context: str  # single or two_person
    rows: Sequence[dict[str, str]]  # cells by our column name, all of them text
    dropped: Sequence[str]  # a reason for each line that could not be read as a row


def column_of(name: str) -> str | None:
    """Our name of a column; None for one that no release has."""
    plain = " ".join(re.sub(r"[^0-9a-z]+", " ", name.casefold()).split())
    return COLUMNS.get("url" if plain.startswith("url") else plain)


def context_of(path: Path) -> str | None:
    """Which context a file is of, by its header; None where it is another kind of file."""
    try:
        with path.open("rb") as stream:
            head = stream.read(4096)
    except OSError:
        return None
    header = _LINES.split(head.decode("utf-8-sig", errors="replace"))[0]
    names = {column_of(cell) for cell in header.split("\t")}
    if not names >= _NEEDED:
        return None
    if "participant" in names:
        return TWO
    return SINGLE if "object" in names else None


def read_sheet(path: Path) -> RawTable:
    """Read one file; cells are taken as they stand, quotation marks too.

    Cells that are missing at the end of a row are empty: some editors cut them off. A row with more cells
    than the header is dropped, since nobody knows where the additional one came in.
    """
    context = context_of(path)
    if context is None:
        raise InputError(
            f"{str(path)!r} is no VisoGender table: its first line must name tab-separated columns, among "
            "them IDX, Occupation, Occupation_perceived_gender, and Object or Participant"
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise InputError(
            f"{str(path)!r} is not UTF-8 at byte {problem.start}; save it as UTF-8 text"
        ) from problem
    lines = _LINES.split(text)
    if not lines[-1]:
        lines.pop()  # what follows the last line's end
    names = _names(path, lines[0])
    rows: list[dict[str, str]] = []
    dropped: list[str] = []
    for line in lines[1:]:
        cells = [cell.strip() for cell in line.split("\t")]
        if not any(cells):
            dropped.append("empty line")
        elif any(cells[len(names) :]):
            dropped.append("more cells than columns")
        else:
            cells += [""] * (len(names) - len(cells))
            rows.append({name: cell for name, cell in zip(names, cells, strict=False) if name})
    return RawTable(path, context, rows, dropped)


def _names(path: Path, header: str) -> list[str]:
    """Our names of a file's columns, empty for those of no use."""
    names = [column_of(cell) or "" for cell in header.rstrip("\t").split("\t")]
    column_names = [name for name in names if name]
    for name in column_names:
        if column_names.count(name) > 1:
            raise InputError(f"{str(path)!r} has two columns for {name}; keep one of them")
    return names
