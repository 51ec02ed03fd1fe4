"""Folders that ``evenhand generate`` wrote: a definition, a table of annotations, and images."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.datasets.generation.definitions import FLAGGED, GenerationDefinition
from evenhand.benchmarks.datasets.samples import filtered
from evenhand.benchmarks.skewsize.data.samples import (
    INCOMPLETE,
    OUTSIDE_FOLDER,
    REPEATED,
    LabelledSamples,
    files_below,
    from_definition,
    stays,
)
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError, check_known, one_line
from evenhand.files.tables import scan as sources

DEFINITION, ANNOTATIONS, MANIFEST = "definition.yaml", "annotations.parquet", "manifest.json"
PROMPT = "the prompt"
"""Who gave a generated image its group."""
BY_GATE = "flagged by the quality gate or the generator"
_ORIGIN = ("template", "prompt", "seed", "index", "model")


def is_generated(folder: Path) -> bool:
    """Whether ``evenhand generate`` wrote a folder, or began to."""
    return (folder / DEFINITION).is_file()


def read_generated(folder: Path, *, flagged: str = "keep") -> LabelledSamples:
    """The images of a generated folder, in the order of its table.

    Images that the definition asks for and that are not in the table are dropped samples: those that the
    generator refused, by reason and group, and those that were not made, by group. ``flagged`` says whether
    to ``keep`` or ``exclude`` what the quality gate or the generator flagged; it is counted either way.
    """
    definition = GenerationDefinition.parse((folder / DEFINITION).read_bytes(), str(folder / DEFINITION))
    path, attribute = folder / ANNOTATIONS, definition.attribute
    if not path.is_file():
        raise InputError(
            f"{str(folder)!r} has a {DEFINITION} and no {ANNOTATIONS}: its images are not all made; type the "
            "same evenhand generate again"
        )
    with sources.reading(path):
        table = pl.read_parquet(path)
    check_known(
        "column",
        ("sample", "image", "truth", attribute),
        table.columns,
        f"{str(path)!r} is not as evenhand wrote it",
    )
    texts = [pl.col(name).cast(pl.String, strict=False) for name in ("sample", "image", "truth", attribute)]
    flags = _flagged(table)
    table = table.with_columns(*texts, flags.alias(FLAGGED))
    rules = {
        INCOMPLETE: pl.all_horizontal(pl.col("sample", "image", "truth", attribute).str.len_bytes() > 0),
        OUTSIDE_FOLDER: stays("image"),
        REPEATED: pl.col("sample").is_first_distinct(),
    }
    table, dropped = filtered(table, rules, +_lost(folder, definition, table))
    notes = {BY_GATE: int((table[FLAGGED] == "yes").sum())}
    if flagged == "exclude":
        notes = {}
        table, dropped = filtered(table, {BY_GATE: pl.col(FLAGGED) == "no"}, dropped)
    if not len(table):
        reasons = ", ".join(f"{reason}: {count}" for reason, count in dropped.items()) or "no row"
        raise InputError(f"no image of {str(folder)!r} can be used ({reasons}); see docs/generate.md")
    origin = [name for name in _ORIGIN if name in table.columns and name != attribute]
    annotations = table.select("sample", "truth", attribute, "image", *origin, FLAGGED)
    images = files_below(folder, table["image"].to_list())
    note_counts = occurring(notes)
    about: dict[str, Any] = {"layout": "generated", "annotated_by": {attribute: PROMPT}}
    if "model" in origin:
        about["generator"] = sorted(set(annotations["model"].cast(pl.String).drop_nulls().to_list()))
    return from_definition(definition, annotations, images, dropped, note_counts, about)


def _lost(folder: Path, definition: GenerationDefinition, table: pl.DataFrame) -> Counter[str]:
    """Images of the definition that are no row of the table; none where there is no manifest."""
    lost: Counter[str] = Counter()
    path = folder / MANIFEST
    if not path.is_file():
        return lost
    n_expected = len(definition.classes) * definition.images_per_cell
    try:
        refused = json.loads(path.read_text(encoding="utf-8")).get("refused", [])
        rows = [(str(refusal["reason"]), str(refusal["group"]), int(refusal["count"])) for refusal in refused]
    except (ValueError, TypeError, KeyError, AttributeError) as problem:
        raise InputError(f"{str(path)!r} is not as evenhand wrote it: {one_line(problem)}") from None
    left = dict.fromkeys((group.name for group in definition.groups), n_expected)
    for group, n_images in table[definition.attribute].value_counts().iter_rows():
        left[group] = left.get(group, 0) - n_images
    for reason, group, count in rows:
        lost[f"image refused for group {group} ({reason})"] += count
        left[group] = left.get(group, 0) - count
    lost.update({f"image not made for group {group}": n for group, n in left.items() if n > 0})
    return lost


def _flagged(table: pl.DataFrame) -> pl.Series:
    """``yes`` or ``no`` for each row."""
    is_flagged = pl.Series([False] * len(table), dtype=pl.Boolean)
    if "flags" in table.columns and isinstance(table.schema["flags"], pl.List):
        is_flagged = is_flagged | (table["flags"].list.len().fill_null(0) > 0)
    if table.schema.get("flagged_by_model") == pl.Boolean:
        is_flagged = is_flagged | table["flagged_by_model"].fill_null(False)
    return is_flagged.replace_strict({True: "yes", False: "no"}, return_dtype=pl.String)
