"""Lists of images: text files with a path and the number of a class on each line, as DomainNet is split."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import polars as pl

from evenhand.benchmarks.datasets.readers.rows import ColumnSpec, ImageRows
from evenhand.core.errors import InputError, one_line
from evenhand.files.images.sources import ImageFiles

NO_LINE = "line that is no path and number"
LEAVES = "image path that leaves the folder"
REPEATED = "image on an earlier line"
_LINE = re.compile(r"(\S.*)\s(\d{1,9})")
COLUMNS: tuple[str, ...] = ("class", "label", "folder", "list")
"""What a list says of an image: the folder that it lies in, its number, the outermost folder, the list."""


@dataclass(frozen=True, eq=False)
class Listed:
    """The lines of some lists."""

    table: pl.DataFrame  # path (below the lists' folder, once) and COLUMNS, all text
    dropped: Mapping[str, int]  # lines that are no sample, by reason


def list_lines(lists: Sequence[Path]) -> Listed:
    """Read lists of ``path number`` lines; no image is looked for."""
    dropped: Counter[str] = Counter()
    rows: dict[str, tuple[str, ...]] = {}
    for file in lists:
        try:
            lines = file.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(f"{str(file)!r} cannot be read as a list: {one_line(problem)}") from None
        before = len(rows) + dropped[REPEATED]
        for line in filter(str.strip, lines):
            match = _LINE.fullmatch(line.strip())
            path = PurePosixPath(match[1].strip()) if match else PurePosixPath()
            if match is None or len(path.parts) < 2:
                dropped[NO_LINE] += 1
            elif path.is_absolute() or ".." in path.parts or "\0" in match[1]:
                dropped[LEAVES] += 1
            elif str(path) in rows:
                dropped[REPEATED] += 1
            else:
                rows[str(path)] = (str(path), path.parts[-2], match[2], path.parts[0], file.stem)
        if len(rows) + dropped[REPEATED] == before:
            raise InputError(
                f"{str(file)!r} has no line such as 'real/axe/real_001_1.jpg 11'; give such lists"
            )
    schema = dict.fromkeys(("path", *COLUMNS), pl.String)
    return Listed(pl.DataFrame(list(rows.values()), schema=schema, orient="row"), dict(+dropped))


def read_lists(lists: Sequence[Path], spec: ColumnSpec) -> ImageRows:
    """Labelled images of lists; paths begin in the folder of the lists.

    Without ``truth`` it is the ``class``, or the ``label`` where images of one folder have several numbers.
    """
    spec.check(COLUMNS)
    folders = {file.parent for file in lists}
    if len(folders) != 1:
        raise InputError(f"the lists lie in {len(folders)} folders; their paths begin in one: give its lists")
    listed = list_lines(lists)
    table = listed.table
    numbers = table.group_by("class").agg(pl.col("label").n_unique())["label"].max()
    truth = spec.truth or ("class" if numbers == 1 else "label")
    paths = table["path"].to_list()
    images = ImageFiles([lists[0].parent / path for path in paths])
    return ImageRows(table.drop("path"), images, paths, truth, is_text=True, dropped=listed.dropped)
