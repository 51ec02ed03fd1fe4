"""Columns that are not what they are taken for: numbers as groups, sets of labels; and those of pictures."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

import narwhals as nw
import numpy as np
import polars as pl

from evenhand.core.errors import InputError, one_line
from evenhand.core.findings import TableWarning
from evenhand.evidence.predictions.checks.rows import is_small
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.levels import Label
from evenhand.evidence.predictions.predictions import Predictions

_MANY, _MANY_FRACTIONS = 20, 6  # whole and fractional numbers from which a column is no list of groups


COLUMNS = ("image_path", "img_path", "file_path", "filepath", "image", "img", "path", "file", "filename",
           "file_name")  # fmt: skip
_TRIED = 20  # names of which most have to be pictures, before the rest is looked for
_SEPARATORS = ("|", ";", ",")
_SHOWN = 3
_AROUND = " \t[](){}'\""


def numbers_as_groups(counts: Counts) -> list[TableWarning]:
    """A warning for each attribute of many numbers, with the bins to type."""
    warnings = []
    for name in counts.attributes:
        numbers = _numbers(counts.axis(name).levels)
        if len(numbers) < _MANY_FRACTIONS:
            continue
        is_whole = bool((numbers % 1 == 0).all())
        if is_whole and len(numbers) < _MANY:
            continue
        rows = counts.level_counts(name)
        edges = _round_edges(numbers)
        option = f"--bins {shlex.quote(f'{name}={edges}')}"
        warnings.append(
            TableWarning(
                code="numbers_as_groups",
                columns=[name],
                message=(
                    f"column {name!r} holds {len(numbers):,} different numbers from {numbers.min():.6g} to "
                    f"{numbers.max():.6g}, each a group of its own (of {float(np.median(rows)):,.0f} rows in "
                    f"the median). To compare ranges, type: {option}, with edges of your own, or "
                    f"{shlex.quote(f'{name}=quantiles:4')}"
                ),
                option=option,
            )
        )
    return warnings


def _numbers(levels: tuple[Label, ...]) -> np.ndarray:
    """The levels as numbers; nothing where one is none."""
    if any(isinstance(level, bool) for level in levels):
        return np.array([])
    try:
        return np.array([float(level) for level in levels])
    except ValueError:
        return np.array([])


def _round_edges(numbers: np.ndarray) -> str:
    """Three edges that cut the range of the numbers in four, with two digits."""
    cuts = np.quantile(numbers, [0.25, 0.5, 0.75])
    texts = dict.fromkeys(f"{float(f'{cut:.2g}'):.15g}" for cut in cuts)
    return ",".join(texts)


def picture_files(predictions: Predictions, counts: Counts) -> tuple[str, list[Path]]:
    """The column of pictures' paths, and the files that exist, each once, in the order of their names.

    A path begins in the folder of the table, else in the current one. Nothing is opened. Both are empty where
    no column names local pictures, or where reading the table once more costs much.
    """
    columns = {column.casefold(): column for column in reversed(predictions.columns)}
    column = next((columns[name] for name in COLUMNS if name in columns), None)
    if column is None or not is_small(predictions, counts):
        return "", []
    from evenhand.files.download.downloads import SUFFIXES

    names = to_polars(predictions.frame.select(nw.col(column).alias("name")).unique())["name"]
    if names.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return "", []
    paths = [name for name in sorted(names.cast(pl.String).drop_nulls()) if name.lower().endswith(SUFFIXES)]
    files = predictions.origin.files if predictions.origin is not None else ()
    folders = [*dict.fromkeys(file.parent for file in files[:1]), Path()]
    tried = _existing(paths[:_TRIED], folders)
    if 2 * len(tried) <= min(_TRIED, len(paths)):
        return "", []
    return column, _existing(paths, folders)


def _existing(names: Sequence[str], folders: Sequence[Path]) -> list[Path]:
    candidates = ([folder / name for folder in folders] for name in names if "\0" not in name)
    existing = (next((path for path in paths if path.is_file()), None) for paths in candidates)
    return [path for path in dict.fromkeys(existing) if path is not None]


def check_one_label(counts: Counts, columns: Mapping[str, str]) -> None:
    """Refuse truths and predictions of which most are several labels in one text.

    A text with a separator may be one name (``Paris, France``; ``red|circle``). Labels are sets where their
    parts come in several numbers or places, and combine to more labels than there are parts.
    """
    counts = counts.of_first()
    rows: dict[str, float] = {}
    for name in ("truth", "prediction"):
        for label, n in zip(counts.axis(name).levels, counts.level_counts(name).tolist(), strict=True):
            if isinstance(label, str) and n:
                rows[label] = rows.get(label, 0) + n
    for separator in _SEPARATORS:
        several = [label for label in rows if separator in label]
        if 2 * sum(rows[label] for label in several) > sum(rows.values()) and _are_sets(rows, separator):
            examples = sorted(several, key=lambda label: (-rows[label], label))[:_SHOWN]
            names = " and ".join(repr(columns.get(name, name)) for name in ("truth", "prediction"))
            raise InputError(
                f"most labels in {names} are several in one, separated by {separator!r}, such as "
                f"{', '.join(repr(one_line(label, 40)) for label in examples)}; an audit compares one label "
                "a row, and their order would be a mistake: audit each label as a column of its own (yes or "
                "no), or, where each set is one class, join its parts in one order with +"
            )


def _are_sets(rows: Mapping[str, float], separator: str) -> bool:
    """Whether parts come in several numbers or places, and make more labels than there are parts."""
    parts = [[part.strip(_AROUND) for part in label.split(separator)] for label in rows]
    places: dict[str, set[int]] = {}
    for split in parts:
        for position, part in enumerate(split):
            places.setdefault(part, set()).add(position)
    is_ordered = len(set(map(len, parts))) == 1 and all(len(where) == 1 for where in places.values())
    repeats_a_set = len({frozenset(split) for split in parts}) < len(parts)
    return not is_ordered and (len(places) < len(parts) or repeats_a_set)
