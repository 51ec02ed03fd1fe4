"""What people ask to be left out or corrected: lists of ids, and tables of corrections."""

from __future__ import annotations

import csv
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from evenhand.benchmarks.visogender.data.taxonomy import LABELS, gender_of
from evenhand.benchmarks.visogender.data.tsv import COLUMNS, column_of
from evenhand.core.errors import InputError, ParameterError, UnknownName, check_known


@dataclass(frozen=True)
class Correction:
    """One value of one sample."""

    sample: str
    column: str  # by our name
    value: str


def read_exclusions(path: Path, sample_ids: AbstractSet[str]) -> set[str]:
    """Ids to leave out, one a line; what follows ``#`` is a remark.

    An id that does not exist is refused: a misspelt one would leave somebody in who asked to be left out.
    """
    ids = {line.partition("#")[0].strip() for line in _text(path, "exclude").splitlines()} - {""}
    for id_ in sorted(ids - sample_ids):
        raise UnknownName("sample", id_, sorted(sample_ids), f"ids to exclude stand in {path}, one a line")
    return ids


def read_amendments(path: Path, sample_ids: AbstractSet[str]) -> list[Correction]:
    """Corrections, in their order; of two for the same value the later one holds."""
    lines = _text(path, "amend").splitlines()
    mark = "\t" if lines and "\t" in lines[0] else ","
    reader = csv.DictReader(lines, delimiter=mark)
    if not {"id", "column", "value"} <= set(reader.fieldnames or ()):
        raise InputError(f"{str(path)!r} is no table of corrections; its first line must be: id,column,value")
    return [_correction(path, row, sample_ids) for row in reader]


def _correction(path: Path, row: dict[str, str | None], sample_ids: AbstractSet[str]) -> Correction:
    sample, name, value = ((row[key] or "").strip() for key in ("id", "column", "value"))
    check_known("sample", sample, sample_ids, f"ids to amend stand in {path}")
    column = column_of(name)
    if column is None or column == "sample":
        possible = sorted({*COLUMNS.values()} - {"sample"})
        raise UnknownName("column", name, possible, f"corrections of {sample} stand in {path}")
    if not value:
        raise ParameterError(
            f"{str(path)!r} has no {column} for {sample}; to leave a sample out, exclude its id"
        )
    if column.endswith("_perceived_gender") and gender_of(value) is None:
        labels = ", ".join(sorted(set(LABELS.values())))
        raise ParameterError(f"{value!r} for {sample} in {str(path)!r} is not a label; give one of {labels}")
    return Correction(sample, column, value)


def _text(path: Path, what: str) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"there is no file {str(path)!r}; give an existing one as -p {what}=FILE") from None
    except UnicodeDecodeError as problem:
        raise InputError(f"{str(path)!r} is not UTF-8; save it as UTF-8 text") from problem
