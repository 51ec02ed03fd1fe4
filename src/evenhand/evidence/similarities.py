"""Similarities: how near each target item is to each attribute item, and which sets they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, UnknownName
from evenhand.evidence.derive import normalised

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Sets = Mapping[str, Sequence[str]]

ZERO = "vector of length 0"
NOT_FINITE = "vector that is not finite"
MISSING = "no answer"


@dataclass(frozen=True, eq=False)
class Similarities:
    """Cosines, or probabilities of a match, of target items with attribute items.

    Make one with ``from_vectors``, ``from_embeddings`` or ``from_scores``. Items may belong to several sets.

    Attributes:
        values: float64, shape (T, A); finite.
        targets: Ids of the T target items.
        attributes: Ids of the A attribute items.
        target_sets: Name of each set of targets to its rows of ``values``, in order.
        attribute_sets: Name of each set of attributes to its columns.
        kind: ``cosine`` or ``probability``.
        form: ``cross-modal``, ``textual``, ``visual``, ``matching``, or what the user calls it.
        dropped: Items left out, by reason.
    """

    values: Floats
    targets: tuple[str, ...]
    attributes: tuple[str, ...]
    target_sets: Mapping[str, Ints]
    attribute_sets: Mapping[str, Ints]
    kind: str = "cosine"
    form: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def from_vectors(
        cls, targets: Mapping[str, npt.ArrayLike], attributes: Mapping[str, npt.ArrayLike], *, form: str = ""
    ) -> Similarities:
        """Cosines of vectors, set by set; items are called ``SET/NUMBER``, from 0.

        Args:
            targets: Name of each set to its vectors, shape (n, D).
            attributes: As ``targets``.
            form: What the test is called.

        Raises:
            InputError: Vectors that do not all have the same number of dimensions.
        """
        return cls.from_embeddings(*_tables(targets), *_tables(attributes), form=form)

    @classmethod
    def from_embeddings(
        cls,
        targets: pl.LazyFrame,
        target_sets: Sets,
        attributes: pl.LazyFrame,
        attribute_sets: Sets,
        *,
        form: str = "",
    ) -> Similarities:
        """Cosines of embeddings; items without a usable vector are dropped and counted.

        Args:
            targets: Embeddings(sample, modality, vector) that hold the target items, and may hold others.
            target_sets: Name of each set to its samples.
            attributes: Embeddings of the attribute items.
            attribute_sets: Name of each set to its samples.
            form: What the test is called.

        Raises:
            InputError: Targets and attributes of different dimensions, or a vector of another length.
        """
        dropped: dict[str, int] = {}
        rows, left = _vectors(targets, target_sets, dropped)
        columns, right = _vectors(attributes, attribute_sets, dropped)
        if rows and columns and left.shape[1] != right.shape[1]:
            raise InputError(
                f"targets have {left.shape[1]} dimensions and attributes {right.shape[1]}; "
                "embed both with the same model"
            )
        values = left @ right.T if rows and columns else np.zeros((len(rows), len(columns)))
        return cls(
            np.clip(values, -1, 1),
            tuple(rows),
            tuple(columns),
            _places(target_sets, rows),
            _places(attribute_sets, columns),
            form=form,
            dropped=dropped,
        )

    @classmethod
    def from_scores(
        cls, scores: pl.LazyFrame, target_sets: Sets, attribute_sets: Sets, *, form: str = "matching"
    ) -> Similarities:
        """Probabilities of a match; a target that lacks the score of an attribute is dropped and counted.

        Args:
            scores: Scores(sample, candidate, score): sample is the target, candidate the attribute.
            target_sets: Name of each set to its samples.
            attribute_sets: Name of each set to its candidates.
            form: What the test is called.
        """
        rows = list(dict.fromkeys(item for items in target_sets.values() for item in items))
        columns = list(dict.fromkeys(item for items in attribute_sets.values() for item in items))
        row_of, column_of = ({name: at for at, name in enumerate(names)} for names in (rows, columns))
        found = scores.select(
            row=pl.col("sample").replace_strict(row_of, default=None, return_dtype=pl.Int64),
            column=pl.col("candidate").replace_strict(column_of, default=None, return_dtype=pl.Int64),
            score=pl.col("score").cast(pl.Float64),
        ).drop_nulls(["row", "column"])
        table = found.collect()
        values = np.full((len(rows), len(columns)), np.nan)
        values[table["row"].to_numpy(), table["column"].to_numpy()] = table["score"].to_numpy()
        whole = np.isfinite(values).all(axis=1)
        kept = [name for name, fits in zip(rows, whole, strict=True) if fits]
        dropped = {MISSING: len(rows) - len(kept)} if len(kept) < len(rows) else {}
        return cls(
            values[whole],
            tuple(kept),
            tuple(columns),
            _places(target_sets, kept),
            _places(attribute_sets, columns),
            kind="probability",
            form=form,
            dropped=dropped,
        )

    def target_rows(self, name: str) -> Ints:
        """Rows of a set of targets.

        Raises:
            UnknownName: There is no such set.
        """
        if name not in self.target_sets:
            raise UnknownName("set of targets", name, self.target_sets)
        return self.target_sets[name]

    def attribute_columns(self, name: str) -> Ints:
        """Columns of a set of attributes.

        Raises:
            UnknownName: There is no such set.
        """
        if name not in self.attribute_sets:
            raise UnknownName("set of attributes", name, self.attribute_sets)
        return self.attribute_sets[name]


def _tables(sets: Mapping[str, npt.ArrayLike]) -> tuple[pl.LazyFrame, dict[str, list[str]]]:
    names: dict[str, list[str]] = {}
    vectors: list[Any] = []
    for name, given in sets.items():
        array = np.asarray(given, dtype=np.float64)
        if array.ndim != 2:
            raise InputError(f"the vectors of {name!r} have shape {array.shape}; give (items, dimensions)")
        names[name] = [f"{name}/{number}" for number in range(len(array))]
        vectors += list(array)
    everyone = [item for items in names.values() for item in items]
    frame = pl.DataFrame(
        {
            "sample": pl.Series(everyone, dtype=pl.String),
            "vector": pl.Series(vectors, dtype=pl.List(pl.Float64)),
        }
    )
    return frame.lazy(), names


def _vectors(table: pl.LazyFrame, sets: Sets, dropped: dict[str, int]) -> tuple[dict[str, int], Floats]:
    """Row of each usable item of the sets, in the order of the sets, and their vectors at length 1."""
    wanted = list(dict.fromkeys(item for items in sets.values() for item in items))
    chosen = table.filter(pl.col("sample").is_in(wanted)).select("sample", "vector").collect()
    chosen = chosen.unique("sample", keep="first")
    have = dict(zip(chosen["sample"], range(len(chosen)), strict=True))
    there = [item for item in wanted if item in have]
    _count(dropped, MISSING, len(wanted) - len(there))
    if not there:
        return {}, np.zeros((0, 0))
    lengths = chosen["vector"].list.len().unique().to_list()
    if len(lengths) > 1:
        raise InputError(f"vectors of {min(lengths)} and of {max(lengths)} dimensions stand in one table")
    vectors = np.stack([np.asarray(chosen["vector"][have[item]], dtype=np.float64) for item in there])
    finite = np.isfinite(vectors).all(axis=1)
    length = np.linalg.norm(np.where(finite[:, None], vectors, 0), axis=1)
    _count(dropped, NOT_FINITE, int((~finite).sum()))
    _count(dropped, ZERO, int((finite & (length == 0)).sum()))
    usable = finite & (length > 0)
    kept = [item for item, fits in zip(there, usable, strict=True) if fits]
    return {item: row for row, item in enumerate(kept)}, normalised(vectors[usable])


def _count(dropped: dict[str, int], reason: str, count: int) -> None:
    if count:
        dropped[reason] = dropped.get(reason, 0) + count


def _places(sets: Sets, items: Any) -> dict[str, Ints]:
    at = {name: number for number, name in enumerate(items)}
    return {
        name: np.array([at[item] for item in dict.fromkeys(members) if item in at], dtype=np.int64)
        for name, members in sets.items()
    }
