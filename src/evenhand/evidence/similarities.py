"""Similarities: how near each target item is to each attribute item, and which sets they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_choice, check_known
from evenhand.evidence.derivation.arrays import Floats, Integers, Mask, unmasked
from evenhand.evidence.derivation.from_vectors import normalised

Sets: TypeAlias = Mapping[str, Sequence[str]]
Losses: TypeAlias = Mapping[str, Mapping[str, str]]

ZERO = "vector of length 0"
NOT_FINITE = "vector that is not finite"
MISSING = "no answer"

_STATES = ("", MISSING, NOT_FINITE, ZERO)
_BOUNDS = {"cosine": (-1.0, 1.0), "probability": (0.0, 1.0)}
_ROUNDING = 1e-6  # scores in float32 may leave their range by so much
_CELLS = 16_777_216  # numbers of vectors that are looked at at once; fixed, so that sums round alike


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
        lost_targets: Name of a set of targets to its items that were left out, and why.
        lost_attributes: The same of attributes.
        families: Id of an attribute to its family, such as words of one root: other words of the kind would
            come as families too, so that a family is one unit of inference; one that is not named is alone.
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
    memo: dict[Any, Any] = field(default_factory=dict, repr=False)
    families: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_vectors(
        cls, targets: Mapping[str, npt.ArrayLike], attributes: Mapping[str, npt.ArrayLike], *, form: str = ""
    ) -> Similarities:
        """Cosines of vectors, set by set; items are called ``SET/NUMBER``, from 0.

        Vectors of length 0 or with NaN are dropped and counted.

        Args:
            targets: Name of each set to its vectors, shape (n, D).
            attributes: As ``targets``.
            form: What the test is called.

        Raises:
            InputError: Vectors that do not all have the same number of dimensions.
        """
        return cls._of_sides(_sets_of_arrays(targets), _sets_of_arrays(attributes), form)

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
        return cls._of_sides(
            _sets_of_embeddings(targets, target_sets), _sets_of_embeddings(attributes, attribute_sets), form
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

        Raises:
            InputError: Scores that cannot be of this kind.
            ParameterError: No such kind.
        """
        check_choice("kind", kind, _BOUNDS)
        rows, columns = _ItemSets.of(target_sets), _ItemSets.of(attribute_sets)
        table = (
            scores.select(
                pl.col("sample").cast(pl.String),
                pl.col("candidate").cast(pl.String),
                pl.col("score").cast(pl.Float64),
            )
            .join(rows.numbered("row").lazy(), on="sample", maintain_order="left")
            .join(columns.numbered("column", "candidate").lazy(), on="candidate", maintain_order="left")
            .unique(["row", "column"], keep="first", maintain_order=True)
            .collect()
        )
        values = np.full((len(rows.names), len(columns.names)), np.nan)
        values[table["row"].to_numpy(), table["column"].to_numpy()] = table["score"].to_numpy()
        there = np.isfinite(values)
        _check_range(values[there], kind)
        columns.state[~there.any(axis=0)] = _STATES.index(MISSING)
        rows.state[~there[:, columns.usable].all(axis=1)] = _STATES.index(MISSING)
        usable_values = values[np.ix_(rows.usable, columns.usable)]
        return cls._from_item_sets(usable_values, rows, columns, kind, form)

    @classmethod
    def _of_sides(cls, left: _ItemSets, right: _ItemSets, form: str) -> Similarities:
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
        return cls._from_item_sets(values, left, right, "cosine", form)

    @classmethod
    def _from_item_sets(
        cls, values: Floats, rows: _ItemSets, columns: _ItemSets, kind: str, form: str
    ) -> Similarities:
        dropped: dict[str, int] = {}
        for side in (rows, columns):
            for code, count in zip(*np.unique(side.state[~side.usable], return_counts=True), strict=True):
                dropped[_STATES[code]] = dropped.get(_STATES[code], 0) + int(count)
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
        from evenhand.core.display.html import label, number, table

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


@dataclass(eq=False)
class _ItemSets:
    """The items of all sets of targets, or of attributes.

    Attributes:
        names: Each item that is asked for, once.
        members: Name of each set to the places of its items in ``names``.
        state: Why an item cannot be used, a place in ``_STATES``; 0: it can.
        there: Places of the items that have a vector, in order.
        vectors: Their vectors, an array or a Polars column.
        width: Dimensions of the vectors.
    """

    names: pl.Series
    members: dict[str, Integers]
    state: Integers
    there: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    vectors: Any = None
    width: int = 0

    @classmethod
    def of(cls, sets: Sets) -> _ItemSets:
        """The items of the sets, in their order."""
        columns = {name: pl.Series("sample", items, dtype=pl.String) for name, items in sets.items()}
        nothing = pl.Series("sample", [], dtype=pl.String)
        names = pl.concat([nothing, *columns.values()]).unique(maintain_order=True)
        side = cls(names, {}, np.zeros(len(names), dtype=np.int64))
        numbered = side.numbered("at")
        for name, column in columns.items():
            whose = column.unique(maintain_order=True).to_frame()
            positions = whose.join(numbered, on="sample", how="left", maintain_order="left")
            side.members[name] = positions["at"].to_numpy().astype(np.int64)
        return side

    def numbered(self, number: str, name: str = "sample") -> pl.DataFrame:
        """Each item with its place."""
        return self.names.alias(name).to_frame().with_columns(pl.int_range(pl.len()).alias(number))

    @property
    def usable(self) -> Mask:
        """Which items can be used."""
        return np.asarray(self.state == 0)

    def unit(self) -> Iterator[Floats]:
        """The usable vectors at length 1, in blocks; notes which ones cannot be used."""
        rows = max(1, _CELLS // max(1, self.width))
        for start in range(0, self.there.size, rows):
            block = _matrix(self.vectors[start : start + rows], self.width)
            finite = np.asarray(np.isfinite(block).all(axis=1))
            with np.errstate(over="ignore"):
                length = np.linalg.norm(np.where(finite[:, None], block, 1), axis=1)
            finite &= np.isfinite(length)
            state = np.zeros(len(block), dtype=np.int64)
            state[length == 0] = _STATES.index(ZERO)
            state[~finite] = _STATES.index(NOT_FINITE)
            self.state[self.there[start : start + rows]] = state
            yield normalised(block[state == 0])

    def usable_ids(self) -> tuple[str, ...]:
        """Ids of the usable items."""
        return tuple(self.names.filter(pl.Series(self.usable)).to_list())

    def places(self) -> dict[str, Integers]:
        """Name of each set to the places of its usable items among all usable ones."""
        positions = np.cumsum(self.usable) - 1
        return {name: positions[indices[self.usable[indices]]] for name, indices in self.members.items()}

    def lost(self) -> dict[str, dict[str, str]]:
        """Name of each set to its items that cannot be used, and why."""
        losses = {}
        for name, places in self.members.items():
            gone = places[~self.usable[places]]
            why = [_STATES[code] for code in self.state[gone].tolist()]
            losses[name] = dict(zip(self.names.gather(gone).to_list(), why, strict=True))
        return losses


def _sets_of_arrays(sets: Mapping[str, npt.ArrayLike]) -> _ItemSets:
    """A side from vectors that lie in memory."""
    arrays: dict[str, Floats] = {}
    for name, vectors in sets.items():
        try:
            array = np.asarray(unmasked(vectors, f"the vectors of {name!r}"), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"the vectors of {name!r} are no table of numbers; give (items, dimensions)"
            ) from None
        if array.ndim != 2 and array.size:
            raise InputError(f"the vectors of {name!r} have shape {array.shape}; give (items, dimensions)")
        arrays[name] = array if array.ndim == 2 else array.reshape(0, 0)
    side = _ItemSets.of(
        {name: [f"{name}/{number}" for number in range(len(a))] for name, a in arrays.items()}
    )
    filled = {name: array for name, array in arrays.items() if len(array)}
    widths = {array.shape[1]: name for name, array in filled.items()}
    if len(widths) > 1:
        (first_width, first), (second_width, second) = list(widths.items())[:2]
        raise InputError(
            f"the vectors of {first!r} have {first_width} dimensions and those of {second!r} {second_width}; "
            "embed both with the same model"
        )
    side.there = np.arange(len(side.names))
    side.width = next(iter(widths), 0)
    side.vectors = np.concatenate(list(filled.values())) if filled else np.zeros((0, 0))
    return side


def _sets_of_embeddings(table: pl.LazyFrame, sets: Sets) -> _ItemSets:
    """A side from embeddings; the order of the table does not matter."""
    side = _ItemSets.of(sets)
    rows = (
        table.select(pl.col("sample").cast(pl.String), "vector")
        .drop_nulls("vector")
        .join(side.numbered("_place").lazy(), on="sample", maintain_order="left")
        .collect()
        .unique("_place", keep="first", maintain_order=True)
        .sort("_place")
    )
    vectors = rows["vector"]
    if isinstance(vectors.dtype, pl.Array):
        vectors = vectors.arr.to_list()
    if not isinstance(vectors.dtype, pl.List) or not vectors.dtype.inner.is_numeric():
        raise InputError(f"the column 'vector' holds {vectors.dtype!s}, not lists of numbers")
    lengths = vectors.list.len().unique()
    if len(lengths) > 1:
        least, most = lengths.sort().to_list()[:: len(lengths) - 1]
        raise InputError(f"vectors of {least} and of {most} dimensions stand in one table")
    side.there = rows["_place"].to_numpy().astype(np.int64)
    side.state[:] = _STATES.index(MISSING)
    side.state[side.there] = 0
    side.width = int(lengths[0]) if len(lengths) else 0
    side.vectors = vectors
    return side


def _matrix(block: Any, width: int) -> Floats:
    """Vectors as an array; a dimension without a number is NaN."""
    if isinstance(block, pl.Series):
        if not width:
            return np.zeros((len(block), 0))
        block = block.explode().cast(pl.Float64).to_numpy().reshape(len(block), width)
    return np.asarray(block, dtype=np.float64)


def _check_range(values: Floats, kind: str) -> None:
    if not values.size:
        return
    low, high = _BOUNDS[kind]
    least, most = float(values.min()), float(values.max())
    if least < low - _ROUNDING or most > high + _ROUNDING:
        cosine = kind == "probability" and least >= -1 - _ROUNDING and most <= 1 + _ROUNDING
        other = "; give kind='cosine'" if cosine else ""
        raise InputError(f"scores from {least:g} to {most:g} are no {kind} ({low:g} to {high:g}){other}")
