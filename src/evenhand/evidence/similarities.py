"""Similarities: how near each target item is to each attribute item, and which sets they belong to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_choice, check_known
from evenhand.display.html import label, number, table
from evenhand.evidence.derivation.item_sets import (
    MISSING,
    STATES,
    FamilyColumns,
    ItemSets,
    Sets,
    declared_families,
    sets_of_arrays,
    sets_of_embeddings,
)
from evenhand.evidence.predictions.columns.annotated import Remembering
from evenhand.evidence.predictions.columns.arrays import Floats, Integers

Losses: TypeAlias = Mapping[str, Mapping[str, str]]

_BOUNDS = {"cosine": (-1.0, 1.0), "probability": (0.0, 1.0)}
_ROUNDING = 1e-6  # scores in float32 may leave their range by so much


@dataclass(frozen=True, eq=False)
class Similarities(Remembering):
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
        lost_targets: Name of a set of targets to its items that were left out, and why.
        lost_attributes: The same of attributes.
        families: Id of an item to its family, such as words of one root: other words of the kind would come
            as families too, so that a family is one unit of inference; one that is not named is alone.
    """

    values: Floats
    targets: tuple[str, ...]
    attributes: tuple[str, ...]
    target_sets: Mapping[str, Integers]
    attribute_sets: Mapping[str, Integers]
    kind: str = "cosine"
    form: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    lost_targets: Losses = field(default_factory=dict)
    lost_attributes: Losses = field(default_factory=dict)
    families: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_vectors(
        cls,
        targets: Mapping[str, npt.ArrayLike],
        attributes: Mapping[str, npt.ArrayLike],
        *,
        form: str = "",
        families: FamilyColumns | None = None,
    ) -> Similarities:
        """Cosines of vectors, set by set; items are called ``SET/NUMBER``, from 0.

        Vectors of length 0 or with NaN are dropped and counted.

        Args:
            targets: Name of each set to its vectors, shape (n, D).
            attributes: As ``targets``.
            form: What the test is called.
            families: Name of a set to the family of each of its items, in their order; None: it is alone.

        Raises:
            InputError: Vectors that do not all have the same number of dimensions, or a column of families
                that does not fit its set.
        """
        left, right = sets_of_arrays(targets), sets_of_arrays(attributes)
        return cls._of_sides(left, right, form, declared_families(left.ids | right.ids, families or {}))

    @classmethod
    def from_embeddings(
        cls,
        targets: pl.LazyFrame,
        target_sets: Sets,
        attributes: pl.LazyFrame,
        attribute_sets: Sets,
        *,
        form: str = "",
        families: FamilyColumns | None = None,
    ) -> Similarities:
        """Cosines of embeddings; items without a usable vector are dropped and counted.

        Args:
            targets: Embeddings(sample, modality, vector) that hold the target items, and may hold others.
            target_sets: Name of each set to its samples.
            attributes: Embeddings of the attribute items.
            attribute_sets: Name of each set to its samples.
            form: What the test is called.
            families: As of ``from_vectors``.

        Raises:
            InputError: Targets and attributes of different dimensions, a vector of another length, or a
                column of families that does not fit its set.
        """
        return cls._of_sides(
            sets_of_embeddings(targets, target_sets),
            sets_of_embeddings(attributes, attribute_sets),
            form,
            declared_families({**target_sets, **attribute_sets}, families or {}),
        )

    @classmethod
    def from_scores(
        cls,
        scores: pl.LazyFrame,
        target_sets: Sets,
        attribute_sets: Sets,
        *,
        form: str = "matching",
        kind: str = "probability",
        families: FamilyColumns | None = None,
    ) -> Similarities:
        """Probabilities of a match, or cosines made elsewhere.

        An attribute without any score is dropped and counted, and so is a target that lacks the score of
        another attribute.

        Args:
            scores: Scores(sample, candidate, score): sample is the target, candidate the attribute.
            target_sets: Name of each set to its samples.
            attribute_sets: Name of each set to its candidates.
            form: What the test is called.
            kind: ``probability`` or ``cosine``.
            families: As of ``from_vectors``.

        Raises:
            InputError: Scores that cannot be of this kind, or a column of families that does not fit.
            ParameterError: No such kind.
        """
        check_choice("kind", kind, _BOUNDS)
        rows, columns = ItemSets.of(target_sets), ItemSets.of(attribute_sets)
        table = (
            scores.select(pl.col("sample", "candidate").cast(pl.String), pl.col("score").cast(pl.Float64))
            .join(rows.numbered("row").lazy(), on="sample", maintain_order="left")
            .join(columns.numbered("column", "candidate").lazy(), on="candidate", maintain_order="left")
            .unique(["row", "column"], keep="first", maintain_order=True)
            .collect()
        )
        values = np.full((len(rows.names), len(columns.names)), np.nan)
        values[table["row"].to_numpy(), table["column"].to_numpy()] = table["score"].to_numpy()
        there = np.isfinite(values)
        _check_range(values[there], kind)
        columns.state[~there.any(axis=0)] = STATES.index(MISSING)
        rows.state[~there[:, columns.usable].all(axis=1)] = STATES.index(MISSING)
        usable_values = values[np.ix_(rows.usable, columns.usable)]
        by_item = declared_families({**target_sets, **attribute_sets}, families or {})
        return cls._from_item_sets(usable_values, rows, columns, kind, form, by_item)

    @classmethod
    def _of_sides(
        cls, left: ItemSets, right: ItemSets, form: str, families: Mapping[str, str]
    ) -> Similarities:
        columns = np.concatenate([np.zeros((0, right.width)), *right.unit()])
        if left.width and right.width and left.width != right.width:
            raise InputError(
                f"targets have {left.width} dimensions and attributes {right.width}; "
                "embed both with the same model"
            )
        empty = np.zeros((0, len(columns)))
        products = [np.clip(block @ columns.T, -1, 1) for block in left.unit() if len(columns)]
        values = np.concatenate([empty, *products])
        if not len(columns):
            values = np.zeros((int(left.usable.sum()), 0))
        return cls._from_item_sets(values, left, right, "cosine", form, families)

    @classmethod
    def _from_item_sets(
        cls,
        values: Floats,
        rows: ItemSets,
        columns: ItemSets,
        kind: str,
        form: str,
        families: Mapping[str, str],
    ) -> Similarities:
        dropped: dict[str, int] = {}
        for side in (rows, columns):
            for code, count in zip(*np.unique(side.state[~side.usable], return_counts=True), strict=True):
                dropped[STATES[code]] = dropped.get(STATES[code], 0) + int(count)
        return cls(
            values,
            rows.usable_ids(),
            columns.usable_ids(),
            rows.places(),
            columns.places(),
            kind,
            form,
            dropped,
            rows.lost(),
            columns.lost(),
            families=families,
        )

    def target_rows(self, name: str) -> Integers:
        """Rows of a set of targets.

        Raises:
            UnknownName: There is no such set.
        """
        check_known("set of targets", name, self.target_sets)
        return self.target_sets[name]

    def attribute_columns(self, name: str) -> Integers:
        """Columns of a set of attributes.

        Raises:
            UnknownName: There is no such set.
        """
        check_known("set of attributes", name, self.attribute_sets)
        return self.attribute_sets[name]

    def _repr_html_(self) -> str:
        """Sets and how many items they have."""
        all_sets = (("target", self.target_sets), ("attribute", self.attribute_sets))
        rows = [
            [side, label(name), number(len(items))] for side, sets in all_sets for name, items in sets.items()
        ]
        size = f"{self.kind}, {len(self.targets):,} targets x {len(self.attributes):,} attributes"
        left = [f"left out, {reason}: {count:,}" for reason, count in self.dropped.items()]
        return table(f"Similarities: {size}", ["Side", "Set", "Items"], rows, left)

    def dropped_from(self, targets: Sequence[str], attributes: Sequence[str]) -> dict[str, int]:
        """Items of some sets that were left out, by reason; an item of two sets counts once.

        Args:
            targets: Names of sets of targets.
            attributes: Names of sets of attributes.
        """
        counts: dict[str, int] = {}
        for losses, names in ((self.lost_targets, targets), (self.lost_attributes, attributes)):
            items = {item: why for name in names for item, why in losses.get(name, {}).items()}
            for why in items.values():
                counts[why] = counts.get(why, 0) + 1
        return dict(sorted(counts.items()))


def _check_range(values: Floats, kind: str) -> None:
    if not values.size:
        return
    low, high = _BOUNDS[kind]
    least, most = float(values.min()), float(values.max())
    if least < low - _ROUNDING or most > high + _ROUNDING:
        cosine = kind == "probability" and least >= -1 - _ROUNDING and most <= 1 + _ROUNDING
        other = "; give kind='cosine'" if cosine else ""
        raise InputError(f"scores from {least:g} to {most:g} are no {kind} ({low:g} to {high:g}){other}")
