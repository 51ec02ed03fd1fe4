"""HouseholdHits bound to one grouping: households, the groups they lie in, and what each adds to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from evenhand.core.errors import InputError, check_choice
from evenhand.core.results import Dropped, GroupSize, Key
from evenhand.evidence.household_hits import BUCKETS, OUTSIDE, HouseholdHits
from evenhand.metrics.prepared import By, names_of
from evenhand.stats.clustered import Cells, ClusterMean
from evenhand.stats.differences import MOST_PAIRED
from evenhand.stats.exchange import UnitRows

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

WEIGHTINGS = ("household", "image")
_CONCEPT = "concept"
_RELEASED = ("household", "country", "region", "income")  # what the released code calls a household


@dataclass(frozen=True, eq=False)
class HouseholdGroups:
    """Images (or pairs, in paper mode) by household and group.

    Attributes:
        hits: The evidence.
        by: Attributes crossed.
        weighting: ``household`` or ``image``.
        rows: The usable images or pairs, with ``_household`` and ``_group`` codes.
        pooled: One row an image where ``rows`` has several, because it stands under several concepts; the
            whole is of these.
        groups: The groups that occur: one value per attribute of ``by``; income buckets by income.
        dropped: What was left out, by reason.
    """

    hits: HouseholdHits
    by: tuple[str, ...]
    weighting: str
    rows: pl.DataFrame
    pooled: pl.DataFrame
    groups: list[tuple[str, ...]]
    dropped: list[Dropped]

    @classmethod
    def of(
        cls, evidence: Any, by: By, *, weighting: str = "household", mode: str = "default"
    ) -> HouseholdGroups:
        """Bind evidence to a grouping.

        Args:
            evidence: HouseholdHits.
            by: Attribute, or list of attributes to cross.
            weighting: ``household``: each counts once; ``image``: each image does.
            mode: ``paper`` has pairs of image and concept for rows, and a household with two incomes twice.

        Raises:
            InputError: The evidence is not HouseholdHits.
            UnknownName: An attribute that does not exist.
            ParameterError: No such weighting.
        """
        check_choice("weighting", weighting, WEIGHTINGS)
        if not isinstance(evidence, HouseholdHits):
            given = type(evidence).__name__
            raise InputError(
                f"this metric takes HouseholdHits, not {given}; make them with HouseholdHits.from_predictions"
            )
        names = names_of(by)
        for name in names:
            evidence.check_attribute(name)
        key = ("groups", names, weighting, mode)
        if key not in evidence.memo:
            pairs = mode == "paper" or _CONCEPT in names
            table = evidence.table if pairs else evidence.images
            evidence.memo[key] = cls._bound(evidence, names, weighting, table, mode)
        bound: HouseholdGroups = evidence.memo[key]
        return bound

    @classmethod
    def _bound(
        cls, evidence: HouseholdHits, names: tuple[str, ...], weighting: str, table: pl.DataFrame, mode: str
    ) -> HouseholdGroups:
        counts = dict(evidence.dropped)
        for name in ("household", *names):
            gone = table[name].is_null()
            if name == "income_bucket" and "income" in table.columns:
                outside = gone & table["income"].is_not_null()
                counts[OUTSIDE] = counts.get(OUTSIDE, 0) + int(outside.sum())
                table = table.filter(~outside)
                gone = table[name].is_null()
            lost = table.filter(gone)
            many = lost.height if mode == "paper" else lost.select("household", "image").n_unique()
            counts[f"missing {name}"] = counts.get(f"missing {name}", 0) + many
            table = table.filter(~gone)
        present = [name for name in _RELEASED if mode == "paper" and name in table.columns]
        household = pl.struct(present or ["household"]).rank("dense") if table.height else pl.lit(1)
        rows = table.with_columns(_household=household.cast(pl.Int64) - 1)
        keys = [tuple(map(str, key)) for key in rows.select(names).unique().iter_rows()] if names else [()]
        groups = sorted(keys, key=lambda key: _order(key, names))
        rows = rows.with_columns(_group=_codes(rows, names, groups))
        dropped = [Dropped(reason=reason, count=count) for reason, count in sorted(counts.items()) if count]
        pooled = _images(rows) if mode != "paper" and _CONCEPT in names else rows
        return cls(evidence, names, weighting, rows, pooled, groups, dropped)

    @property
    def n(self) -> int:
        """Images, or pairs in paper mode."""
        return self.pooled.height

    @cached_property
    def sizes(self) -> Integers:
        """Images of each group, shape (groups,)."""
        return np.bincount(self.rows["_group"].to_numpy(), minlength=len(self.groups))

    @cached_property
    def whole(self) -> Cells:
        """The cells without a grouping."""
        return self._cells([])

    @cached_property
    def cells(self) -> Cells:
        """What each household adds to each group."""
        return self._cells(["_group"])

    @cached_property
    def covered(self) -> list[float]:
        """Share that any prediction is sure of, in each group; weighted as hits are."""
        return [mean.value for mean in self._cells(["_group"], "covered").means()]

    @cached_property
    def coverage(self) -> float | None:
        """The same over all groups."""
        return self._cells([], "covered").means()[0].value if self.n else None

    def _cells(self, by: Sequence[str], column: str = "hit") -> Cells:
        rows = self.rows if by else self.pooled
        found = (
            rows.group_by("_household", *by)
            .agg(pl.col(column).sum().alias("sum"), pl.len().alias("size"))
            .sort("_household", *by)
        )
        size = found["size"].to_numpy().astype(np.float64)
        weight = np.ones(size.size) if self.weighting == "household" else size
        group = found["_group"].to_numpy() if by else np.zeros(size.size, dtype=np.int64)
        sums = found["sum"].to_numpy() / size * weight
        count = len(self.groups) if by else 1
        return Cells(sums, weight, size, found["_household"].to_numpy(), group, count)

    @cached_property
    def means(self) -> list[ClusterMean]:
        """The mean of each group."""
        return self.cells.means()

    @cached_property
    def rates(self) -> Floats:
        """The value of each, shape (groups,)."""
        return np.array([mean.value for mean in self.means])

    def units(self, codes: Integers) -> HouseholdUnits:
        """Rows of some groups by household and by what they show.

        Args:
            codes: Which groups; they are numbered anew in this order.
        """
        place = np.full(len(self.groups), -1, dtype=np.int64)
        place[codes] = np.arange(codes.size)
        rows = self.rows.filter(pl.Series(place[self.rows["_group"].to_numpy()] >= 0, dtype=pl.Boolean))
        weight = np.ones(rows.height)
        if self.weighting == "household":
            weight = 1 / rows.select(pl.len().over("_household", "_group")).to_series().to_numpy()
        found = UnitRows(
            rows["hit"].to_numpy(), place[rows["_group"].to_numpy()], codes.size,
            rows["_household"].to_numpy(), weight,
        )  # fmt: skip
        column = "_topic" if "_topic" in rows.columns else _CONCEPT
        topic = rows[column] if _CONCEPT not in self.by and column in rows.columns else None
        if topic is None or topic.n_unique() < 2:
            return HouseholdUnits(found, None)
        return HouseholdUnits(found, topic.rank("dense").fill_null(0).to_numpy().astype(np.int64))

    def key(self, code: int) -> Key:
        """A group as findings write it."""
        values = list(self.groups[code])
        return values[0] if len(values) == 1 else values

    def text(self, code: int) -> str:
        """A group as tables write it: ``low*Asia``."""
        return "*".join(self.groups[code]) if self.by else "all"

    def group_sizes(self) -> list[GroupSize]:
        """Images of each group; nothing without a grouping."""
        return [GroupSize(key=self.key(code), n=n) for code, n in enumerate(self.sizes.tolist()) if self.by]


@dataclass(frozen=True, eq=False)
class HouseholdUnits:
    """Rows of groups by household.

    Attributes:
        rows: Hits.
        topic: Code of what each row shows, shape (N,); None where all show the same or groups are concepts.
    """

    rows: UnitRows
    topic: Integers | None

    @property
    def comparable(self) -> bool:
        """Whether households can change places; with several groups each only among few groups."""
        rows = self.rows
        few = rows.groups <= MOST_PAIRED or not rows.mixed.any()
        return rows.groups > 1 and not rows.fixed and few

    @cached_property
    def adjusted(self) -> UnitRows:
        """Hits without what concepts make of them."""
        return self.rows if self.topic is None else self.rows.within(self.topic)

    @cached_property
    def expected(self) -> Floats:
        """Rate of each group that its concepts alone lead to expect, shape (G,)."""
        rows = self.rows
        left = rows.value - self.adjusted.value + rows.mean
        total = np.bincount(rows.group, rows.weights * left, rows.groups)
        return np.asarray(total / np.bincount(rows.group, rows.weights, rows.groups))


def _images(rows: pl.DataFrame) -> pl.DataFrame:
    """One row an image of a household, hit where any of its concepts is."""
    return (
        rows.group_by("_household", "image").agg(pl.col("hit", "covered").max()).sort("_household", "image")
    )


def _order(key: tuple[str, ...], names: tuple[str, ...]) -> list[tuple[int, str]]:
    """Income buckets from low to high, everything else by name."""
    return [
        (BUCKETS.index(value), "") if name == "income_bucket" and value in BUCKETS else (len(BUCKETS), value)
        for name, value in zip(names, key, strict=True)
    ]


def _codes(rows: pl.DataFrame, names: tuple[str, ...], groups: list[tuple[str, ...]]) -> pl.Series:
    place = {key: code for code, key in enumerate(groups)}
    codes = [place[tuple(map(str, key))] for key in rows.select(names).iter_rows()] if names else []
    return pl.Series("_group", codes if names else np.zeros(rows.height, dtype=np.int64), dtype=pl.Int64)
