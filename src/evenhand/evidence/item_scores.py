"""Item scores: how much a model says yes to each of many items, of each image, in several wordings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.core.errors import check_known
from evenhand.evidence.predictions.columns.annotated import Annotated
from evenhand.evidence.predictions.columns.arrays import Floats
from evenhand.evidence.ranked_labels import annotated_samples


@dataclass(frozen=True, eq=False)
class ItemScores(Annotated):
    """Scores of every item and wording for every image, with what the images are."""

    noun = "scores"
    annotated: pl.DataFrame  # one row an image with all its scores, sorted by sample
    scores: Floats  # shape (N, items, wordings), in [0, 1]
    items: tuple[str, ...]
    signs: Floats  # 1 of an item that speaks well of somebody, -1 of one that does not; shape (items,)
    incomplete: int = 0  # images left out: without a score for each item and wording
    cluster: str | None = None  # column of annotated, such as the person; None: each image by itself

    @classmethod
    def join(
        cls,
        scores: pl.DataFrame,  # sample, item, wording, score
        annotations: pl.DataFrame,  # one row an image: sample and attributes, null where not annotated
        signs: Mapping[str, int],  # 1 or -1 of each item
        *,
        cluster: str | None = None,
    ) -> ItemScores:
        """Bring scores and annotations together by ``sample``.

        Values of ``cluster`` are tested as wholes; an image without one is its own unit.
        """
        check_known("column of scores", ("sample", "item", "wording", "score"), scores.columns)
        items, wordings = (scores[name].unique().sort().to_list() for name in ("item", "wording"))
        check_known("item", items, signs)
        table = annotated_samples(annotations, cluster)
        rows = scores.filter(pl.col("sample").is_in(table["sample"].implode()))
        matrix = np.full((table.height, len(items), len(wordings)), np.nan)
        at = [
            rows[name].replace_strict(values, list(range(len(values))), return_dtype=pl.Int64).to_numpy()
            for name, values in (
                ("sample", table["sample"].to_list()),
                ("item", items),
                ("wording", wordings),
            )
        ]
        matrix[tuple(at)] = rows["score"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
        complete = ~np.isnan(matrix).any(axis=(1, 2))
        there = table.filter(pl.Series(complete))
        sign = np.array([signs[item] for item in items], dtype=np.float64)
        return cls(there, matrix[complete], tuple(items), sign, table.height - there.height, cluster)
