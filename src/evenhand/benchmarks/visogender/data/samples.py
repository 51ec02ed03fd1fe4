"""The samples of VisoGender, from any release of its tables, with every row accounted for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.visogender.data.corrections import Correction, read_amendments, read_exclusions
from evenhand.benchmarks.visogender.data.taxonomy import (
    CELL,
    OCCUPATIONS,
    PREFIXES,
    SINGLE,
    TWO,
    gender_of,
    noun_of,
)
from evenhand.benchmarks.visogender.data.tsv import RawTable, context_of, read_sheet
from evenhand.core.errors import InputError, UnknownName
from evenhand.core.frames import grouped
from evenhand.files.download.downloads import files_by_id
from evenhand.files.download.manifest import removed_ids
from evenhand.files.images.sources import ImageFiles

SCHEMA: Mapping[str, Any] = {
    "sample": pl.String,
    "context": pl.String,
    "sector": pl.String,
    "specialisation": pl.String,
    "occupation": pl.String,
    "object": pl.String,
    "object_written": pl.String,
    "participant": pl.String,
    "occupation_perceived_gender": pl.String,
    "participant_perceived_gender": pl.String,
    "gender_pair": pl.String,
    "url": pl.String,
    "licence": pl.Boolean,
    "errors": pl.String,
    "annotator": pl.String,
}
"""Columns of the samples. ``object`` is as it is read, ``object_written`` as the file has it: the original
code puts that into captions (OO_180 has ``mixing_spoon``). ``licence`` is null where nothing is said."""

IMAGES = "images"
"""The folder that a download fills."""

IMAGE_FOLDERS: tuple[str, ...] = ("", IMAGES, "OO_images", "OP_images", "OO", "OP")
"""Where images may lie in a folder of the user."""

_CLONE = "data/visogender_data"
_TABLE_FOLDERS = ("", "OO", "OP", f"{_CLONE}/OO", f"{_CLONE}/OP")
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
_GENDERS = ("occupation_perceived_gender", "participant_perceived_gender")


@dataclass(frozen=True, eq=False)
class AccountedSamples:
    """Samples with an account of every row that was read."""

    frame: pl.DataFrame  # one row a sample, of SCHEMA, in the order of the files, single persons first
    rows: int  # below the headers; each is a sample or is in dropped
    dropped: Mapping[str, int]  # rows that became no sample, by reason; excluded ones too
    amended: int = 0  # values that were changed by amend
    respelled: Mapping[str, int] = field(default_factory=dict)  # values read other than written, by column
    files: Mapping[str, Path] = field(default_factory=dict)  # by context


@dataclass(frozen=True, eq=False)
class Pictures:
    """Images of samples."""

    images: ImageFiles  # one for each sample, in their order; a missing one says so when it is read
    missing: Sequence[str]  # ids without a file, those removed too
    removed: Sequence[str]  # of these, ids removed by hand
    others: Sequence[str]  # image files that belong to no sample


def read_samples(
    source: Path | Sequence[Path],  # a folder with tables, in it or below as in releases; or the tables
    *,
    exclude: Path | None = None,
    amend: Path | None = None,
    single: str | None = None,  # file name of the table of single persons, where there are several
    two: str | None = None,  # likewise of two persons
) -> AccountedSamples:
    """Read the samples of a folder, or of given files, of any release."""
    files = find_tables(source, single=single, two=two)
    sheets = [read_sheet(path) for path in files.values()]
    ids = {cells["sample"] for sheet in sheets for cells in sheet.rows}
    excluded = read_exclusions(exclude, ids) if exclude is not None else set()
    corrections = read_amendments(amend, ids) if amend is not None else []
    account = _Account(excluded, corrections)
    for sheet in sheets:
        account.read(sheet)
    frame = pl.DataFrame(account.samples, schema=dict(SCHEMA), orient="row")
    total = sum(len(sheet.rows) + len(sheet.dropped) for sheet in sheets)
    dropped = dict(sorted(account.dropped.items()))
    return AccountedSamples(frame, total, dropped, account.amended, dict(+account.respelled), files)


def find_tables(
    source: Path | Sequence[Path], *, single: str | None = None, two: str | None = None
) -> dict[str, Path]:
    """The table of each context, single persons first, recognised by its header, not its name or folder."""
    roots = [source] if isinstance(source, Path) else list(source)
    candidates: list[Path] = []
    for root in roots:
        if not root.exists():
            raise InputError(
                f"there is no {str(root)!r}; give a folder with --data, or type: "
                "evenhand data fetch visogender"
            )
        candidates += tables_below(root) if root.is_dir() else [root]
    tables: dict[str, Path] = {}
    for context, choice, flag in ((SINGLE, single, "single"), (TWO, two, "two")):
        fitting = [path for path in candidates if context_of(path) == context]
        names = [path.name for path in fitting]
        if choice is not None:
            fitting = [path for path in fitting if choice in (path.name, path.stem, str(path))]
            if not fitting:
                raise UnknownName("table", choice, names, f"-p {flag}=NAME names a table in {roots[0]}")
        if len(fitting) > 1:
            listing = ", ".join(map(repr, names))
            raise InputError(
                f"{str(roots[0])!r} has several tables of {context} images: {listing}; choose one with "
                f"-p {flag}={fitting[-1].name}, or keep only that one there"
            )
        tables |= dict.fromkeys([context], fitting[0]) if fitting else {}
    if not tables:
        raise InputError(
            f"{str(roots[0])!r} has no VisoGender table (OO_Visogender_*.tsv, OP_Visogender_*.tsv); "
            "type: evenhand data fetch visogender"
        )
    return tables


def find_images(folder: Path, samples: Sequence[str]) -> Pictures:
    """Images called by the samples' ids, with any ending of an image that can be read."""
    images: dict[str, Path] = {}
    for below in IMAGE_FOLDERS:
        for sample, names in files_by_id(folder / below).items():
            paths = [
                *([images[sample]] if sample in images else []),
                *(folder / below / name for name in names),
            ]
            if len(paths) > 1:
                duplicates = " and ".join(repr(str(path.relative_to(folder))) for path in paths[:2])
                raise InputError(f"{str(folder)!r} has {duplicates} for {sample}; keep one of them")
            images[sample] = paths[0]
    removed = set(removed_ids(folder / IMAGES))
    for sample in removed:
        images.pop(sample, None)  # put back by hand, perhaps; whoever asked to be left out is left out
    places = [images.get(sample, folder / IMAGES / sample) for sample in samples]
    missing = [sample for sample in samples if sample not in images]
    others = sorted(str(images[sample]) for sample in images.keys() - set(samples))
    gone = [sample for sample in samples if sample in removed]
    return Pictures(ImageFiles(places), missing, gone, others)


def count_cells(frame: pl.DataFrame, have: Sequence[str] | None = None) -> pl.DataFrame:
    """How many samples each cell has: context, occupation, and gender or gender pair.

    Cells of the contexts present that have no sample left have a row too; ``complete`` is what a complete
    release has.
    """
    contexts = [context for context in (SINGLE, TWO) if context in set(frame["context"])]
    pairs = {SINGLE: ("m", "f"), TWO: ("mm", "mf", "fm", "ff")}
    keys = ["context", "occupation", "gender_pair"]
    cells = pl.DataFrame(
        [
            (context, occupation, pair)
            for context in contexts
            for occupation in OCCUPATIONS
            for pair in pairs[context]
        ],
        schema=dict.fromkeys(keys, pl.String),
        orient="row",
    ).with_columns(complete=pl.lit(CELL))
    usable = pl.lit(True) if have is None else pl.col("sample").is_in(list(have))
    cell_counts = (
        frame.with_columns(usable=usable)
        .group_by(keys, maintain_order=True)
        .agg(samples=pl.len(), usable=pl.col("usable").sum())
    )
    all_cells = cells.join(cell_counts, on=keys, how="full", coalesce=True, maintain_order="left_right")
    return all_cells.with_columns(pl.col("complete", "samples", "usable").fill_null(0).cast(pl.Int64))


class _Account:
    """Rows become samples or reasons; nothing else can happen to them."""

    def __init__(self, excluded: set[str], corrections: Sequence[Correction]) -> None:
        self.excluded = excluded
        self.corrections = grouped(corrections, lambda correction: correction.sample)
        self.samples: list[tuple[object, ...]] = []
        self.seen: set[str] = set()
        self.dropped: Counter[str] = Counter()
        self.respelled: Counter[str] = Counter()
        self.amended = 0

    def read(self, sheet: RawTable) -> None:
        """Take the rows of a file."""
        self.dropped.update(sheet.dropped)
        for cells in sheet.rows:
            self._amend(cells)
            reason = self._reason(cells, sheet.context)
            self.seen.add(cells["sample"])
            if reason:
                self.dropped[reason] += 1
            else:
                self.samples.append(self._sample(cells, sheet.context))

    def _amend(self, cells: dict[str, str]) -> None:
        for correction in self.corrections.get(cells["sample"], ()):
            self.amended += cells.get(correction.column, "") != correction.value
            cells[correction.column] = correction.value

    def _reason(self, cells: Mapping[str, str], context: str) -> str:
        """Why a row is no sample; empty if it is one."""
        sample = cells["sample"]
        noun = "object" if context == SINGLE else "participant"
        other = PREFIXES[TWO if context == SINGLE else SINGLE] + "_"
        labels = [cells.get(name, "") for name in (_GENDERS if context == TWO else _GENDERS[:1])]
        checks = (
            (not sample, "no id"),
            (not _ID.fullmatch(sample), "id that cannot name a file"),
            (sample in self.excluded, "excluded"),
            (sample in self.seen, "id given before"),
            (sample.startswith(other), "id of the other table"),
            (not cells["occupation"], "no occupation"),
            (not cells.get(noun), f"no {noun}"),
            (not all(labels), "no perceived gender"),
            (not all(map(gender_of, labels)), "unknown perceived gender"),
        )
        return next((reason for wrong, reason in checks if wrong), "")

    def _sample(self, cells: Mapping[str, str], context: str) -> tuple[object, ...]:
        read: dict[str, object] = {name: cells.get(name) or None for name in SCHEMA}
        single = context == SINGLE
        genders = [gender_of(cells[name]) for name in (_GENDERS[:1] if single else _GENDERS)]
        object_text = cells.get("object", "") if single else ""
        read |= {
            "context": context,
            "object": noun_of(object_text) or None,
            "object_written": object_text or None,
            "participant": None if single else noun_of(cells["participant"]),
            "occupation_perceived_gender": genders[0],
            "participant_perceived_gender": None if single else genders[1],
            "gender_pair": "".join(str(gender)[0] for gender in genders),
            "url": _url(cells.get("url", "")),
            "licence": _yes(cells.get("licence", "")),
        }
        for name in ("object", "participant", *_GENDERS):
            self.respelled[name] += read[name] is not None and read[name] != cells[name]
        return tuple(read[name] for name in SCHEMA)


def tables_below(folder: Path) -> list[Path]:
    """Files of a folder that may be tables of this benchmark, by their ending."""
    places = [folder / below for below in _TABLE_FOLDERS]
    tables = [path for subfolder in places if subfolder.is_dir() for path in sorted(subfolder.glob("*.tsv"))]
    return [path for path in tables if path.is_file() and not path.name.startswith(".")]


def _url(text: str) -> str | None:
    return None if text.casefold() in ("", "na", "n/a", "none") else text


def _yes(text: str) -> bool | None:
    values = {"yes": True, "y": True, "true": True, "no": False, "n": False, "false": False}
    return values.get(text.casefold())
