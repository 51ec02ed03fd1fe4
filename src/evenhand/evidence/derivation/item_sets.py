"""The items of sets of targets or attributes: which can be used, their vectors, and their families."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_known
from evenhand.evidence.derivation.from_vectors import normalised
from evenhand.evidence.predictions.columns.arrays import Floats, Integers, Mask, unmasked

Sets: TypeAlias = Mapping[str, Sequence[str]]
FamilyColumns: TypeAlias = Mapping[str, Sequence[str | None]]

ZERO = "vector of length 0"
NOT_FINITE = "vector that is not finite"
MISSING = "no answer"

STATES = ("", MISSING, NOT_FINITE, ZERO)
_CELLS = 16_777_216  # numbers of vectors that are looked at at once; fixed, so that sums round alike


def declared_families(
    sets: Sets, columns: FamilyColumns, earlier: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Each item that has a family to it, from a column of families for each set that has one.

    A column has the family of each item, in their order; None or a blank: the item stands alone.
    """
    families = dict(earlier or {})
    for name, column in columns.items():
        check_known("set", name, sets, "families are given for a set")
        items = list(sets[name])
        if isinstance(column, str) or len(column) != len(items):
            there = "one text" if isinstance(column, str) else f"a list of {len(column)}"
            raise InputError(
                f"the set {name!r} has {len(items)} items, and its families are {there}; give a list with "
                "the family of each item, in their order, and null for one that stands alone"
            )
        for item, family in zip(items, column, strict=True):
            if not isinstance(family, str | None):
                raise InputError(f"the family of {item!r} in {name!r} is {family!r}; give a text, or null")
            key = (family or "").strip()
            if key and families.setdefault(item, key) != key:
                raise InputError(
                    f"{item!r} is of the families {families[item]!r} and {key!r}; give it one of them "
                    "everywhere"
                )
    return families


@dataclass(eq=False)
class ItemSets:
    """The items of all sets of targets, or of attributes."""

    names: pl.Series  # each item once
    members: dict[str, Integers]  # name of each set to the places of its items in names
    state: Integers  # why an item cannot be used, a place in STATES; 0: it can
    there: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # those with vectors, sorted
    vectors: Any = None  # of these, an array or a Polars column
    width: int = 0  # dimensions of the vectors

    @classmethod
    def of(cls, sets: Sets) -> ItemSets:
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
    def ids(self) -> dict[str, list[str]]:
        """Name of each set to its items."""
        return {name: self.names.gather(places).to_list() for name, places in self.members.items()}

    @property
    def usable(self) -> Mask:
        """Which items can be used."""
        return np.asarray(self.state == 0)

    def unit(self) -> Iterator[Floats]:
        """The usable vectors at length 1, in blocks; notes which ones cannot be used."""
        rows = max(1, _CELLS // max(1, self.width))
        for start in range(0, self.there.size, rows):
            block = _matrix(self.vectors[start : start + rows], self.width)
            with np.errstate(over="ignore", invalid="ignore"):
                length = np.linalg.norm(block, axis=1)
            state = np.where(
                np.isfinite(length), STATES.index(ZERO) * (length == 0), STATES.index(NOT_FINITE)
            )
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
            why = [STATES[code] for code in self.state[gone].tolist()]
            losses[name] = dict(zip(self.names.gather(gone).to_list(), why, strict=True))
        return losses


def sets_of_arrays(sets: Mapping[str, npt.ArrayLike]) -> ItemSets:
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
    side = ItemSets.of({name: [f"{name}/{number}" for number in range(len(a))] for name, a in arrays.items()})
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


def sets_of_embeddings(table: pl.LazyFrame, sets: Sets) -> ItemSets:
    """A side from embeddings; the order of the table does not matter."""
    side = ItemSets.of(sets)
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
    side.state[:] = STATES.index(MISSING)
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
