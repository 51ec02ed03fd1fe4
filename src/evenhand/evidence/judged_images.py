"""Judged images: what a judge perceives in the images of each prompt, and how it does on labelled samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, check_known
from evenhand.evidence.predictions.columns.annotated import Annotated
from evenhand.evidence.predictions.columns.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class JudgedImages(Annotated):
    """Counts of perceived categories for every prompt."""

    noun, hidden = "prompts", ("prompt",)
    annotated: pl.DataFrame  # one row a prompt, sorted: prompt and the attributes
    counts: Integers  # images by category, abstentions last; shape (P, K + 1)
    categories: tuple[str, ...]
    reference: Floats  # share of each category that each prompt is compared with, shape (P, K)
    confusion: Integers  # true x named, abstentions last, shape (K, K + 1); zeros: the judge is believed

    @classmethod
    def join(
        cls,
        judged: pl.DataFrame,  # sample and category, null where the judge abstains
        annotations: pl.DataFrame,  # one row an image: sample, prompt, and attributes of the prompt
        categories: Sequence[str],  # all that can be named
        *,
        confusion: pl.DataFrame | None = None,  # true, judged (null or empty: it abstains), perhaps n
        reference: pl.DataFrame | None = None,  # category, share, perhaps prompt; None: all are equal
    ) -> JudgedImages:
        """Bring judgements and annotations together by ``sample``."""
        check_known("column", ("sample", "category"), judged.columns)
        check_known("column", ("sample", "prompt"), annotations.columns)
        names = tuple(categories)
        rows = annotations.join(judged.select("sample", "category"), on="sample")
        prompts = rows.drop("sample", "category").unique("prompt", keep="first").sort("prompt")
        at = _positions(rows["prompt"], prompts["prompt"].to_list(), "prompt")
        counts = np.zeros((prompts.height, len(names) + 1), dtype=np.int64)
        np.add.at(counts, (at, _codes(rows["category"], names)), 1)
        cells = np.zeros((len(names), len(names) + 1), dtype=np.int64)
        if confusion is not None:
            check_known("column", ("true", "judged"), confusion.columns)
            number = confusion["n"].cast(pl.Int64) if "n" in confusion.columns else pl.Series([1])
            true = _positions(confusion["true"], names, "category")
            np.add.at(cells, (true, _codes(confusion["judged"], names)), number.to_numpy())
        return cls(prompts, counts, names, _reference(reference, prompts["prompt"], names), cells)


def _positions(values: pl.Series, names: Sequence[str], what: str) -> Integers:
    check_known(what, values.unique().sort(), names)
    return np.array([names.index(value) for value in values], dtype=np.int64)


def _codes(values: pl.Series, names: Sequence[str]) -> Integers:
    """Positions of categories; of null or an empty text the one behind the last."""
    texts = values.cast(pl.String).fill_null("").to_list()
    return _positions(pl.Series(texts, dtype=pl.String), [*names, ""], "category")


def _reference(table: pl.DataFrame | None, prompts: pl.Series, names: tuple[str, ...]) -> Floats:
    """The shares of each prompt."""
    shares = np.full((len(prompts), len(names)), 1 / max(len(names), 1))
    if table is None:
        return shares
    check_known("column", ("category", "share"), table.columns)
    column = _positions(table["category"], names, "category")
    numbers = table["share"].cast(pl.Float64).to_numpy()
    for row, prompt in enumerate(prompts):
        of_prompt = (table["prompt"] == prompt).to_numpy() if "prompt" in table.columns else slice(None)
        shares[row] = np.bincount(column[of_prompt], numbers[of_prompt], minlength=len(names))
        if abs(shares[row].sum() - 1) > 1e-3 or (shares[row] < 0).any():
            raise InputError(f"shares of the prompt {prompt!r} do not sum to 1; give one of each category")
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
