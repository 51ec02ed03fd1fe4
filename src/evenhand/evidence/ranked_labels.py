"""Ranked predictions as arrays: the first labels of each sample, checked, and which labels a term means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_known, one_line
from evenhand.evidence.derivation.from_vectors import plain
from evenhand.evidence.open_answers.answer_lemma import singular
from evenhand.evidence.predictions.columns.arrays import Codes, Floats, Integers, Mask

WORDNET = re.compile(r"n\d{8}")
"""A WordNet id, such as ``n02395003``."""

_ROUNDING = 1e-6  # confidences in float32 may leave [0, 1], or their order, by so much
_CELLS = 16_777_216  # confidences that are looked at at once


def annotated_samples(annotations: pl.DataFrame, *needed: str | None) -> pl.DataFrame:
    """Annotations sorted by sample."""
    check_known("column of annotations", ("sample", *filter(None, needed)), annotations.columns)
    table = annotations.with_columns(pl.col("sample").cast(pl.String)).sort("sample")
    twice = table["sample"].filter(table["sample"].is_duplicated())
    if len(twice):
        raise InputError(f"sample {twice[0]!r} has several rows of annotations; give each sample one row")
    return table


def first_ranks(predictions: pl.LazyFrame, depth: int) -> tuple[pl.DataFrame, bool]:
    """The first predictions of each sample, and whether any has a confidence.

    The place of a prediction, from 1 without gaps, is that of its rank; without ranks, that of its
    confidence. Without any confidence each is 1.
    """
    columns = predictions.collect_schema().names()
    check_known("column of predictions", ("sample", "prediction"), columns)
    optional_columns = [name for name in ("rank", "confidence") if name in columns]
    lazy = predictions.select(pl.col("sample", "prediction").cast(pl.String), *optional_columns)
    if "confidence" not in columns:
        lazy = lazy.with_columns(confidence=pl.lit(None, dtype=pl.Float64))
    lazy = lazy.with_columns(pl.col("confidence").cast(pl.Float64).fill_nan(None)).drop_nulls("prediction")
    by_rank = "rank" in columns
    if by_rank:
        lazy = lazy.filter(pl.col("rank").is_null() | (pl.col("rank") <= depth))
    table = lazy.collect(engine="streaming")
    confident = table["confidence"].is_not_null().any()
    if not confident:
        table = table.with_columns(confidence=pl.lit(1.0))
    if by_rank and table["rank"].null_count() < table.height:
        _check_ranks(table)
        order = pl.col("rank")
    else:
        order = -pl.col("confidence").fill_null(-1.0)
    position = order.rank("ordinal").over("sample").cast(pl.Int64)
    return table.with_columns(place=position).filter(pl.col("place") <= depth), bool(confident)


def _check_ranks(table: pl.DataFrame) -> None:
    """Refuse ranks that are missing for some, no whole numbers from 1, or twice in a sample."""
    rank = table["rank"]
    if rank.null_count() or rank.min() != 1:
        fault = "missing for some predictions" if rank.null_count() else f"numbered from {rank.min()!r}"
        raise InputError(f"ranks are {fault}; number the best prediction of each sample 1")
    if rank.dtype.is_float() and (rank % 1 != 0).any():
        raise InputError(f"ranks such as {rank.filter(rank % 1 != 0)[0]} are no whole numbers; number from 1")
    twice = table.filter(pl.struct("sample", "rank").is_duplicated())
    if twice.height:
        sample, number = twice["sample"][0], twice["rank"][0]
        raise InputError(
            f"sample {sample!r} has several predictions of rank {number}; give each its own rank"
        )


def label_codes(labels: pl.Series, vocabulary: tuple[str, ...], *, closed: bool) -> Codes:
    """Where each label stands in the vocabulary, shape of ``labels``; of a closed one, others are refused."""
    if len(set(vocabulary)) < len(vocabulary):
        raise InputError(
            "two labels of the model have the same name; give each its own, such as its WordNet id"
        )
    numbered = pl.DataFrame({"prediction": pl.Series(vocabulary, dtype=pl.String)}).with_columns(
        code=pl.int_range(pl.len(), dtype=pl.Int32)
    )
    coded = labels.to_frame("prediction").join(numbered, on="prediction", how="left", maintain_order="left")
    strange = coded.filter(pl.col("code").is_null())
    if strange.height and closed:
        raise InputError(
            f"prediction {one_line(strange['prediction'][0], 60)!r} is not among the {len(vocabulary)} "
            "labels; give all labels of the model that made these predictions"
        )
    return coded["code"].to_numpy()


def highest(matrix: npt.NDArray[Any], rows: Integers, depth: int) -> tuple[Codes, Floats]:
    """Where the ``depth`` highest numbers of some rows stand, of equal ones the first, and these numbers.

    Both descend and have shape (N, depth). The numbers of a row with NaN are NaN.
    """
    width = matrix.shape[1]
    codes, values = np.empty((rows.size, depth), dtype=np.int32), np.empty((rows.size, depth))
    step = max(1, _CELLS // max(1, width))
    for start in range(0, rows.size, step):
        chunk = rows[start : start + step]
        is_contiguous = bool((np.diff(chunk) == 1).all())
        block = matrix[chunk[0] : chunk[-1] + 1] if is_contiguous else matrix[chunk]
        inside = _columns(block, depth)
        numbers = np.take_along_axis(block, inside, axis=1).astype(np.float64)
        order = np.argsort(-numbers, axis=1, kind="stable")
        numbers[np.isnan(block.min(axis=1))] = np.nan
        codes[start : start + step] = np.take_along_axis(inside, order, axis=1)
        values[start : start + step] = np.take_along_axis(numbers, order, axis=1)
    return codes, values


def _columns(block: npt.NDArray[Any], depth: int) -> Integers:
    """Columns of the ``depth`` highest numbers of each row, ascending; of equal numbers the first ones."""
    least = np.partition(block, block.shape[1] - depth, axis=1)[:, block.shape[1] - depth, None]
    enough = block >= least
    for row in np.flatnonzero(enough.sum(axis=1) != depth):  # ties at the end, or NaN
        enough[row] = False
        enough[row, np.argsort(-block[row], kind="stable")[:depth]] = True
    return np.nonzero(enough)[1].reshape(len(block), depth)


def check_probabilities(confidences: Floats) -> None:
    """Refuse confidences outside [0, 1]."""
    for wrong in (confidences.max(initial=0.0), confidences.min(initial=0.0)):
        if not -_ROUNDING <= wrong <= 1 + _ROUNDING:
            raise InputError(
                f"confidences reach {wrong:.4g}; give probabilities in [0, 1], such as the softmax of logits"
            )


def check_confidences(confidence: Floats, samples: pl.Series) -> None:
    """Refuse confidences outside [0, 1] (-inf: there is none), or that rise with the rank; shape (N, K)."""
    check_probabilities(confidence[~np.isneginf(confidence)])
    with np.errstate(invalid="ignore"):
        rising = np.flatnonzero((np.diff(confidence, axis=1) > _ROUNDING).any(axis=1))
    if rising.size:
        raise InputError(
            f"confidences of sample {samples[int(rising[0])]!r} rise with the rank; number predictions by "
            "their confidence, the highest first"
        )


def leading_ids(labels: Sequence[str]) -> list[str]:
    """WordNet ids with which labels begin, or empty texts."""
    matches = [WORDNET.match(label) for label in labels]
    return [match[0] if match else "" for match in matches]


def belonging(terms: Sequence[str], labels: Sequence[str], ids: Sequence[str], *, free: bool) -> Mask:
    """Which labels belong to any of the terms, shape (labels,).

    Terms are WordNet ids and words. In ``free`` answers words and their plurals are searched within the text,
    and ``ids`` are not read; else a word counts as a name between commas.
    """
    wordnet_ids = {term for term in terms if WORDNET.fullmatch(term)}
    words = {plain(term) for term in terms} - {""}
    if free:
        either = "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"
        pattern = re.compile(rf"(?<!\w)(?:{either})(?!\w)")
        return np.array([_says(pattern, plain(label), words) for label in labels], dtype=bool)
    if len(ids) != len(labels):
        raise InputError(
            f"{len(ids)} WordNet ids for {len(labels)} labels; give one for each, or empty texts"
        )
    return np.array(
        [
            id_ in wordnet_ids or not words.isdisjoint(_named(label))
            for label, id_ in zip(labels, ids, strict=True)
        ],
        dtype=bool,
    )


def _says(pattern: re.Pattern[str], text: str, words: set[str]) -> bool:
    """Whether a text has one of the words, or the plural of one."""
    return bool(
        pattern.search(text) or pattern.search(" ".join(singular(word, words) for word in text.split()))
    )


def _named(label: str) -> set[str]:
    """What a label such as ``hog, pig, Sus scrofa`` is called, in plain form."""
    text = WORDNET.sub("", label, count=1) if WORDNET.match(label) else label
    return {plain(text), *(plain(part) for part in text.split(","))}
