"""How near each item is to each word: what associations of single items and words rest on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from evenhand.evidence.derivation.from_vectors import normalised

if TYPE_CHECKING:
    from pathlib import Path

    from evenhand.runs.run_folder import RunFolder

MOST_PAIRS = 60_000
"""Pairs of each form; of larger sets the first items are taken."""

_VECTORS = pl.Schema({"sample": pl.String(), "vector": pl.List(pl.Float32())})
_MODALITIES = {
    "cross-modal": ("image", "text"),
    "textual": ("text", "text"),
    "visual": ("image", "image"),
}


def pairs_of(run: RunFolder) -> pl.DataFrame | None:
    """Cosines of the target items with the attribute items, for each form and pair of attribute sets.

    Columns item, word, cosine, target (the item's set), side (the word's), attributes (both sides), form;
    None where the run compared no vectors.
    """
    members, tests = run.tables.get("members"), run.tables.get("tests")
    if members is None or tests is None or run.folder is None:
        return None
    vectors = _vectors(run.folder / "evidence")
    if not vectors:
        return None
    tables = []
    for form, a, b in tests.filter("tested").select("form", "a", "b").unique(maintain_order=True).rows():
        if form in _MODALITIES:
            tables += list(_pairs(members, vectors, form, (a, b)))
    return pl.concat(tables) if tables else None


def _pairs(
    members: pl.DataFrame, vectors: dict[str, pl.DataFrame], form: str, attribute_sets: tuple[str, str]
) -> Iterator[pl.DataFrame]:
    """The pairs of each set of targets."""
    image_or_text, of_words = _MODALITIES[form]
    targets = members.filter(role="target", modality=image_or_text)
    words = members.filter(role="attribute", modality=of_words).filter(pl.col("set").is_in(attribute_sets))
    words = words.join(vectors.get(of_words, pl.DataFrame(schema=_VECTORS)), on="sample")
    target_sets = targets.partition_by("set", maintain_order=True)
    if not words.height or not target_sets:
        return
    most = max(1, MOST_PAIRS // (words.height * len(target_sets)))
    across = normalised(np.array(words["vector"].to_list()))
    for target_set in target_sets:
        items = target_set.head(most).join(
            vectors.get(image_or_text, pl.DataFrame(schema=_VECTORS)), on="sample"
        )
        if items.height:
            cosines = normalised(np.array(items["vector"].to_list())) @ across.T
            crossed = items.select("item", target="set").join(
                words.select(word="item", side="set"), how="cross", maintain_order="left_right"
            )
            yield crossed.with_columns(
                cosine=pl.Series(cosines.ravel()),
                attributes=pl.lit("/".join(attribute_sets)),
                form=pl.lit(form),
            )


def _vectors(evidence: Path) -> dict[str, pl.DataFrame]:
    """Vectors by modality; those of length 0 or without a number are left out."""
    vectors: dict[str, pl.DataFrame] = {}
    for folder in sorted(evidence.glob("*")):
        parts = sorted(folder.glob("part-*.parquet"))
        if not parts or not {"sample", "modality", "vector"} <= set(pl.scan_parquet(parts).collect_schema()):
            continue
        table = pl.read_parquet(parts)
        length = pl.col("vector").list.eval(pl.element() ** 2).list.sum()
        usable = table.filter(length.is_finite() & (length > 0)).select("sample", "modality", "vector")
        vectors |= {
            str(name[0]): modality_vectors.drop("modality")
            for name, modality_vectors in usable.partition_by("modality", as_dict=True).items()
        }
    return vectors
