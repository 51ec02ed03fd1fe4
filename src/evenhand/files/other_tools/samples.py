"""What readers of other tools' files share: JSON within limits, nested fields as columns, right and wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.core.errors import InputError, one_line

MOST_BYTES = 512 * 2**20
"""Bytes of a JSON document beyond which it is refused."""

MOST_COLUMNS = 2_000
"""Fields of samples beyond which a file is refused: they are keys that differ by sample."""

ALL_RIGHT = "right"
EXPECTED, GRADED = "expected", "graded"

_DEEPEST = 6  # levels of nested fields that become columns of their own


@dataclass(frozen=True, eq=False)
class SampleTable:
    """Samples of another tool's file."""

    frame: pl.DataFrame  # a row for each sample; nested fields have dotted names, such as ``doc.gender``
    roles: Mapping[str, str]  # ``truth``, ``prediction`` and, if any, ``id`` and ``cluster``, to columns
    notes: Sequence[str] = ()  # what was left out, or should be known of the rows
    beside: Sequence[Path] = field(default=())  # other files that were read with it


def json_of(content: str | bytes, what: str) -> Any:
    """A JSON document, NaN and Infinity among its numbers allowed; ``what`` names it in errors."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as problem:
        raise InputError(f"{what} is no JSON: {one_line(problem, 120)}; write it again") from None


def json_file(path: Path) -> Any:
    """The JSON document of a file."""
    return json_of(_bytes_of(path), repr(str(path)))


def json_lines(path: Path) -> Iterator[tuple[int, Any]]:
    """The number and the JSON document of each line that is not empty."""
    check_file(path)
    with path.open("rb") as stream:
        number = 0
        while line := stream.readline(MOST_BYTES):
            number += 1
            if len(line) == MOST_BYTES:
                raise InputError(f"line {number} of {str(path)!r} has {MOST_BYTES:,} bytes or more; split it")
            if line.strip():
                yield number, json_of(line, f"line {number} of {str(path)!r}")


def check_file(path: Path) -> None:
    """Refuse what is no file."""
    if not path.is_file():
        raise InputError(f"there is no file {str(path)!r}; give the path of a single file")


def flat(prefix: str, value: Any, depth: int = 0) -> dict[str, Any]:
    """Nested fields by dotted names; lists, and what lies deeper, as JSON text."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        columns: dict[str, Any] = {}
        for name, entry in value.items():
            columns |= flat(f"{prefix}.{name}" if prefix else str(name), entry, depth + 1)
        return columns
    return {prefix: _text(value) if isinstance(value, list | Mapping) else value}


def frame_of(rows: Sequence[Mapping[str, Any]], path: Path) -> pl.DataFrame:
    """Rows as a frame: a column for each field of any row, null where a row lacks it.

    Numbers, texts and booleans keep their kind; a column that mixes kinds is text.
    """
    if not rows:
        raise InputError(f"{str(path)!r} holds no samples; give the file of an evaluation that ended")
    names = list(dict.fromkeys(name for row in rows for name in row))
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"the samples of {str(path)!r} have {len(names):,} different fields, more than {MOST_COLUMNS:,}: "
            f"fields such as {names[-1]!r} stand in few samples; take them out of the samples' metadata"
        )
    return pl.DataFrame([_column(name, [row.get(name) for row in rows]) for name in names])


def grade_of(value: Any) -> str | None:
    """``right``, ``wrong`` or ``partly right`` of a score, None of any other.

    1 and true are right, 0 and false wrong; of inspect_ai's letters C is right, P partly right, I and N wrong
    (``inspect_ai.scorer.value_to_float`` has 1, 0.5, 0 and 0).
    """
    letters = {"C": ALL_RIGHT, "P": "partly right", "I": "wrong", "N": "wrong"}
    if isinstance(value, str):
        return letters.get(value)
    return {1.0: ALL_RIGHT, 0.0: "wrong"}.get(value) if isinstance(value, int | float) else None


def roles_of(frame: pl.DataFrame, *, truth: str = "target", prediction: str = "answer") -> dict[str, str]:
    """Labels where a tool kept some, else what it graded: every truth is then ``right``."""
    if frame[prediction].is_null().all() and not frame[GRADED].is_null().all():
        return {"truth": EXPECTED, "prediction": GRADED}
    return {"truth": truth, "prediction": prediction}


def grading_notes(frame: pl.DataFrame, roles: Mapping[str, str]) -> list[str]:
    """A note where the tool's own grades are not those of labels that are equal or not."""
    if roles["prediction"] == GRADED:
        return [f"the file holds no labels: {GRADED!r} (right or wrong) is the prediction, 'right' the truth"]
    equal = pl.col(roles["truth"]) == pl.col(roles["prediction"])
    unlike = frame.filter(equal != (pl.col(GRADED) == ALL_RIGHT)).height
    if not unlike:
        return []
    return [
        f"in {unlike:,} of {frame.height:,} rows the tool's grade is another than that of equal labels "
        f"({roles['truth']!r}, {roles['prediction']!r}); merge labels with --normalize or --map, or take "
        f"the grades: --truth {EXPECTED} --prediction {GRADED}"
    ]


def times(number: int, noun: str) -> str:
    """``1 sample``, ``2 samples``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _bytes_of(path: Path) -> bytes:
    check_file(path)
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise InputError(f"{str(path)!r} has {size:,} bytes, more than {MOST_BYTES:,}; split it")
    return path.read_bytes()


def _column(name: str, values: list[Any]) -> pl.Series:
    kinds = Counter(type(value) for value in values if value is not None)
    if set(kinds) == {int, float}:
        kinds = Counter({float: 1})
    if len(kinds) == 1 and next(iter(kinds)) in (bool, int, float, str):
        kind = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}[next(iter(kinds))]
        if kind != pl.Int64 or all(value is None or abs(value) < 2**63 for value in values):
            return pl.Series(name, values, dtype=kind, strict=False)
    return pl.Series(name, [None if value is None else _text(value) for value in values], dtype=pl.String)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
