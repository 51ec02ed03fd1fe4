"""Members of sets beside each other: pairs that differ in one attribute, and sets as a table of members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, UnknownName
from evenhand.core.findings import Dropped, Interval, Null
from evenhand.evidence.role_choices import OUTCOMES
from evenhand.metrics.estimates import agreeing, joint_p, number
from evenhand.metrics.prepared import LEVEL, By, Inference, names_of
from evenhand.metrics.roles.bound import BoundRoles
from evenhand.stats.arrays import Floats, Integers, Mask
from evenhand.stats.paired.differences import Deviations, paired_difference
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.rates.differences import normal_quantile

_POWER = 0.8416212335729143  # the .8 quantile of the normal distribution
_DIFFERING = 6  # signs of five units all alike have p .0625, of six .031


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Matched pairs of rows; arrays of shape (pairs,) unless said otherwise."""

    attribute: tuple[str, ...]
    left: Integers  # rows of the first persons, among the chosen ones
    moved: Floats  # outcome of the first minus that of the second, in [-1, 1]
    unit: Integers  # codes of what was drawn as a whole
    unpaired: int  # sets that have one of the two only
    unit_name: str

    @classmethod
    def of(cls, bound: BoundRoles, attribute: By, first: str, second: str, outcome: str) -> PairedRows:
        """Pair the rows of each set that differ in the attribute alone.

        Raises:
            UnknownName: An attribute that does not differ within sets, or a value that none has.
            InputError: The evidence has no sets.
        """
        table, names = members(bound), names_of(attribute)
        treatments = bound.choices.treatments
        for name in names:
            if name not in treatments:
                raise UnknownName("attribute that differs within sets", name, treatments)
        keyed = table.with_columns(key=pl.concat_str(names, separator="*"))
        values = keyed["key"].unique().sort().to_list()
        for value in (first, second):
            if value not in values and bound.n:
                raise UnknownName(f"value of {'*'.join(names)}", value, values)
        same = ["set", *(name for name in treatments if name not in names)]
        ends = [keyed.filter(pl.col("key") == value).select("row", *same) for value in (first, second)]
        pairs = ends[0].join(sides[1], on=same, suffix="_second", maintain_order="left")
        in_sets = [set(side["set"].to_list()) for side in ends]
        alone = len((in_sets[0] | in_sets[1]) - set(pairs["set"].to_list()))
        left, right = (pairs[name].to_numpy().astype(np.int64) for name in ("row", "row_second"))
        share, unit = bound.share(outcome), _units(bound)
        return cls(names, left, share[left] - share[right], unit[left], alone, bound.unit_name)

    def take(self, mask: Mask) -> PairedRows:
        """Some of the pairs."""
        return PairedRows(
            self.attribute, self.left[mask], self.moved[mask], self.unit[mask], 0, self.unit_name
        )

    @property
    def units(self) -> int:
        """How many were drawn as a whole."""
        return int(np.unique(self.unit).size)

    @property
    def _all(self) -> tuple[Floats, Mask, tuple[float, float], Integers]:
        return self.moved, np.zeros(self.moved.size, dtype=bool), (1.0, 0.0), self.unit

    def notes(self) -> list[str]:
        """How many sets give no pair, and whether too few units differ for a test."""
        sums = np.bincount(self.unit, self.moved)
        differing = int((np.abs(sums) > 1e-12).sum())
        few = f"{differing} of {self.units} units differ; below {_DIFFERING} none can be beyond chance"
        alone = f"{self.unpaired} sets have only one of the two and give no pair"
        return [note for note, there in ((few, differing < _DIFFERING), (alone, self.unpaired)) if there]

    def compared(self, inference: Inference, seed: int, rng: np.random.Generator) -> dict[str, Any]:
        """Value, interval, null band, p and smallest detectable difference."""
        if not self.moved.size:
            return {"value": None, "reason": "single_group"}
        fields: dict[str, Any] = {"value": float(self.moved.mean())}
        if inference == "none":
            return fields
        if self.units < FEWEST:
            return fields | {"reason": "one_cluster"}
        test, deviations = paired_difference(*self._all, rng), Deviations(*self._all)
        p_value = joint_p(test.p_value, 0.0, deviations.limits)
        low, high = test.band(LEVEL)
        sampling = {"replicates": test.replicates, "seed": seed} if test.replicates else {}
        method = f"the two exchanged by {self.unit_name}"
        band = Null(mean=test.mean, low=low, high=high, level=LEVEL, method=method, **sampling)
        ends, z = deviations.limits(LEVEL), normal_quantile(LEVEL)
        error = max(test.sd, (ends[1] - ends[0]) / (2 * z))
        return fields | {
            "interval": self.interval(LEVEL, p_value), "null": band, "p_value": p_value,
            "mde": number((z + _POWER) * error),
        }  # fmt: skip

    def interval(self, level: float, p_value: float | None) -> Interval:
        """Bonett and Price's, with pairs shrunk to what units leave of them."""
        low, high = agreeing(Deviations(*self._all).limits(level), p_value, 0.0, level)
        method = f"Bonett-Price, paired, by {self.unit_name}"
        return Interval(low=max(low, -1.0), high=min(high, 1.0), level=level, method=method)


@dataclass(frozen=True, eq=False)
class SetMatrix:
    """Sets as rows, the combinations of treatments as columns."""

    cells: list[tuple[str, ...]]  # values of the treatments, sorted
    treatments: tuple[str, ...]
    codes: Integers  # shape (sets, cells, orders); -1 where there is no answer
    scores: Floats  # shape (sets, cells); NaN where there is no answer
    unit: Integers  # shape (sets,)
    wordings: Integers  # shape (orders,)
    dropped: list[Dropped]

    @classmethod
    def of(cls, bound: BoundRoles, *, complete: bool = False) -> SetMatrix:
        """The sets of some rows; those with a member for every cell only, where they have to be complete.

        Raises:
            InputError: The evidence has no sets, or a set has two members of one combination.
        """
        table, treatments = members(bound), bound.choices.treatments
        cells: list[tuple[str, ...]] = table.select(treatments).unique().sort(treatments).rows()
        names = table["set"].unique().sort()
        row = table["set"].replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64).to_numpy()
        position = {cell: number for number, cell in enumerate(cells)}
        column = np.array([position[cell] for cell in table.select(treatments).rows()], dtype=np.int64)
        if np.unique(row * max(len(cells), 1) + column).size < row.size:
            raise InputError("a set has two samples of one combination of treatments; give each its own set")
        at = np.flatnonzero(bound.rows)[table["row"].to_numpy()]
        orders = bound.choices.codes.shape[1]
        codes = np.full((len(names), len(cells), orders), -1, dtype=np.int64)
        scores, unit = np.full(codes.shape[:2], np.nan), np.zeros(len(names), dtype=np.int64)
        codes[row, column] = bound.choices.codes[at]
        scores[row, column] = bound.choices.scores[at]
        unit[row] = _units(bound)[table["row"].to_numpy()]
        answered: Mask = np.asarray(np.min(codes, axis=1, initial=len(OUTCOMES)) >= 0)
        usable: Mask = np.asarray(answered.any(axis=1))
        keep = usable if complete else np.ones(len(names), dtype=bool)
        if complete:
            codes = np.where(answered[:, None, :], codes, -1)
        gone = int((~keep).sum())
        lost = [Dropped(reason="incomplete set", count=gone)] if gone else []
        return cls(cells, treatments, codes[keep], scores[keep], unit[keep], bound.choices.wordings, lost)

    @cached_property
    def _valid(self) -> Mask:
        return np.asarray((self.codes >= 0).all(axis=1))

    def flips(self, codes: Integers) -> Floats:
        """The share of orders in which the members of each set do not answer alike, shape (sets,)."""
        unlike = (codes != codes[:, :1]).any(axis=1) & self._valid
        return np.asarray(unlike.sum(axis=1) / np.maximum(self._valid.sum(axis=1), 1))

    def random_flips(self, rng: np.random.Generator, draws: int) -> Floats:
        """The mean of ``flips`` when the answers of each order are exchanged among all members."""
        result, codes = np.empty(draws), self.codes.copy()
        for draw in range(draws):
            for order in range(codes.shape[2]):
                valid = self._valid[:, order]
                answers = self.codes[valid, :, order]
                codes[valid, :, order] = rng.permutation(answers.ravel()).reshape(answers.shape)
            result[draw] = self.flips(codes).mean()
        return result

    def noise(self) -> dict[str, float | None]:
        """How often two members of a set answer unlike in one order, and one member in two orders."""
        cells, orders = range(self.codes.shape[1]), range(self.codes.shape[2])
        members_ = [(self.codes[:, i], self.codes[:, j]) for i, j in combinations(cells, 2)]
        again = [
            (self.codes[..., i], self.codes[..., j])
            for i, j in combinations(orders, 2)
            if self.wordings[i] == self.wordings[j]
        ]
        return {"pair_flips": _unlike(members_), "noise_floor": _unlike(again)}

    def _pairs(self, attribute: By) -> Iterator[tuple[int, int]]:
        """Cells that differ in the attribute alone."""
        names = names_of(attribute)
        for name in names:
            if name not in self.treatments:
                raise UnknownName("attribute that differs within sets", name, self.treatments)
        differs = [name in names for name in self.treatments]
        for i, j in combinations(range(len(self.cells)), 2):
            unlike = [a != b for a, b in zip(self.cells[i], self.cells[j], strict=True)]
            if unlike == differs:
                yield i, j

    def distances(self, scores: Floats, attribute: By) -> tuple[Floats, Integers]:
        """|difference| of each matched pair and its unit, shape (pairs,)."""
        pairs = list(self._pairs(attribute))
        if not pairs:
            return np.empty(0), np.empty(0, dtype=np.int64)
        apart = np.stack([np.abs(scores[:, i] - scores[:, j]) for i, j in pairs], axis=1)
        there = ~np.isnan(apart)
        return apart[there], np.repeat(self.unit[:, None], len(pairs), axis=1)[there]

    def exchanged_distances(self, attribute: By, rng: np.random.Generator, draws: int) -> Floats:
        """The mean of ``distances`` with the members of each unit's sets exchanged, all sets alike."""
        units, row = np.unique(self.unit, return_inverse=True)
        result = np.full(draws, np.nan)
        for draw in range(draws):
            order = rng.random((units.size, len(self.cells))).argsort(axis=1)[row]
            apart, _ = self.distances(np.take_along_axis(self.scores, order, axis=1), attribute)
            result[draw] = apart.mean() if apart.size else np.nan
        return result


def members(bound: BoundRoles) -> pl.DataFrame:
    """The chosen rows with ``row``, ``set`` and the treatments, all there.

    Raises:
        InputError: The evidence has no sets.
    """
    choices = bound.choices
    if choices.set_ is None or not choices.treatments:
        raise InputError(
            "these choices have no sets; give RoleChoices.join sets='COLUMN' and treatments=['gender', ...]"
        )
    rows = choices.annotated.filter(bound.rows).with_row_index("row")
    texts = [pl.col(name).cast(pl.String) for name in choices.treatments]
    return rows.select("row", *texts, set=pl.col(choices.set_).cast(pl.String)).drop_nulls()


def _units(bound: BoundRoles) -> Integers:
    """Unit of each chosen row: its cluster, else its set."""
    return bound.codes_of([str(bound.choices.set_)]) if bound.unit is None else bound.unit


def _unlike(pairs: list[tuple[Integers, Integers]]) -> float | None:
    """The share of answers that differ, among pairs that were both answered."""
    answered = sum(int(((a >= 0) & (b >= 0)).sum()) for a, b in pairs)
    if not answered:
        return None
    return sum(int(((a != b) & (a >= 0) & (b >= 0)).sum()) for a, b in pairs) / answered
