"""Role choices bound to a grouping and a selection, and members of sets beside each other.

Pairs that differ in one attribute, and sets as a table of members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, UnknownName, check_known
from evenhand.core.findings import Dropped, Null
from evenhand.core.random_streams import stream
from evenhand.evidence.predictions.columns.annotated import Where
from evenhand.evidence.role_choices import OUTCOMES, UNUSABLE, RoleChoices
from evenhand.metrics import named_groups as named
from evenhand.metrics.estimates import (
    LEVEL,
    Z_LEVEL,
    Z_POWER,
    By,
    Fields,
    Inference,
    check_common,
    interval_and_p,
    names_of,
    no_value,
    number,
    wilson_method,
)
from evenhand.metrics.group_rates import ONE_CLUSTER
from evenhand.stats.arrays import (
    Floats,
    Integers,
    Mask,
    Pair,
    Rng,
    keys_and_codes,
    pair_of,
    piece_sizes,
    pieces,
    ratio,
)
from evenhand.stats.paired.differences import Deviations
from evenhand.stats.rates.clustered import FEWEST
from evenhand.stats.rates.rates import group_rates, rate_limits

_HELD = 2_000_000  # numbers of one array of draws
_DIFFERING = 6  # signs of five units all alike have p .0625, of six .031


@dataclass(frozen=True, eq=False)
class BoundRoles(named.ChosenRows):
    """Role choices under one grouping and selection."""

    choices: RoleChoices
    where: Where
    infers: bool  # whether intervals, null bands and p are wanted
    seed: int  # of the exchanges

    @classmethod
    def of(
        cls, evidence: Any, by: By, where: Where | None, inference: Inference = "auto", seed: int = 0
    ) -> BoundRoles:
        """Bind choices to a grouping and a selection."""
        check_common("default", inference, seed)
        names = named.bound_names(evidence, RoleChoices, "RoleChoices.join", by)
        counts = {"not annotated": evidence.unannotated, "no answer": evidence.unanswered}
        fields = named.bound(evidence.annotated, names, counts, evidence.selected(where or {}))
        return cls(**fields, choices=evidence, where=where or {}, infers=inference == "auto", seed=seed)

    @property
    def params(self) -> Fields:
        """The selection, which tells a finding from others of its name and grouping."""
        return {name: named.listed(value) for name, value in sorted(self.where.items())}

    def stream(self, name: str, *purpose: object) -> Rng:
        """The random stream of a metric under this grouping and selection."""
        return stream(self.seed, name, str(self.params), "+".join(self.by), *purpose)

    def codes_of(self, names: Sequence[str]) -> Integers:
        """One code for each chosen row for the crossed columns; a missing value is a value of its own."""
        return named.crossed(self.choices.annotated.filter(self.chosen), names)

    @cached_property
    def unit(self) -> Integers | None:
        """Unit of each chosen row; None where each row is its own."""
        name = self.choices.cluster
        return None if name is None else self.codes_of([name])

    @property
    def set_units(self) -> Integers:
        """The same; without clusters the set of each."""
        return self.codes_of([str(self.choices.set_)]) if self.unit is None else self.unit

    @property
    def unit_name(self) -> str:
        """What is drawn as a whole."""
        return self.choices.cluster or "sample"

    def share(self, outcome: str) -> Floats:
        """The share of each chosen row's orders with an outcome."""
        return self.choices.share(outcome)[self.chosen]

    def outcomes(self, row: Integers, value: Floats, **of_sets: Any) -> pl.DataFrame:
        """What some chosen rows count as; or their sets, which are drawn whole, with columns of their own."""
        unit = self.choices.cluster or (self.choices.set_ if of_sets else None)
        names = {
            "unit": pl.lit(None) if unit is None else pl.col(unit),
            "unit_name": pl.lit(unit or "sample"),
        }
        rows = self.choices.annotated.filter(self.chosen)[row].with_columns(**names)
        return rows.select("sample", *names, *self.by).cast(pl.String).with_columns(value=value, **of_sets)

    @cached_property
    def unusable(self) -> float:
        """The share of answers that choose no option."""
        rows = self.share(UNUSABLE)
        return float(rows.mean()) if rows.size else 0.0

    @cached_property
    def reencoded(self) -> dict[str, float]:
        """The share of answers that change with the encoding of the image; nothing where none was asked."""
        again = np.zeros(0) if self.choices.again is None else self.choices.again[self.chosen]
        return {"noise_reencoded": float(np.nanmean(again))} if np.isfinite(again).any() else {}

    def signed(self, away: Deviations, rng: Rng, scale: float = 1.0) -> Fields:
        """Fields of the mean of numbers whose sign would turn if the two compared changed places."""
        if not away.difference.size:
            return no_value("single_group")
        fields: Fields = {"value": scale * away.value}
        if not self.infers:
            return fields
        if np.unique(away.units).size < FEWEST:
            return fields | {"reason": ONE_CLUSTER}
        return fields | turned_signs(away, rng, self.seed, "the two", self.unit_name, scale=scale)


@dataclass(frozen=True, eq=False)
class PairedRows:
    """Matched pairs of rows."""

    attribute: tuple[str, ...]
    left: Integers  # rows of the first persons, among the chosen ones, shape (pairs,)
    right: Integers  # rows of the second persons
    share: Floats  # of each chosen row the outcome's
    away: Deviations  # outcome of the first minus that of the second
    unpaired: int  # sets that have one of the two only
    others: tuple[str, ...]  # the other treatments

    @classmethod
    def of(cls, bound: BoundRoles, attribute: By, first: str, second: str, outcome: str) -> PairedRows:
        """Pair the rows of each set that differ in the attribute alone."""
        table, names = members(bound), names_of(attribute)
        treatments = bound.choices.treatments
        check_known("attribute that differs within sets", names, treatments)
        keyed = table.with_columns(key=pl.concat_str(names, separator="*"))
        values = keyed["key"].unique().sort().to_list()
        for value in (first, second):
            if value not in values and len(values) > 1:  # of one group alone there is nothing to compare
                raise UnknownName(f"value of {'*'.join(names)}", value, values)
        same = ["set", *[name for name in treatments if name not in names]]
        ends = [keyed.filter(pl.col("key") == value).select("row", *same) for value in (first, second)]
        pairs = ends[0].join(ends[1], on=same, suffix="_second", maintain_order="left")
        in_sets = [set(end["set"].to_list()) for end in ends]
        alone = len((in_sets[0] | in_sets[1]) - set(pairs["set"].to_list()))
        left, right = [pairs[name].to_numpy().astype(np.int64) for name in ("row", "row_second")]
        share = bound.share(outcome)
        away = Deviations.of(share[left] - share[right], bound.set_units[left])
        return cls(names, left, right, share, away, alone, tuple(same[1:]))

    def take(self, mask: Mask) -> Deviations:
        """Some of the pairs."""
        return Deviations.of(self.away.difference[mask], self.away.units[mask])

    def outcomes(self, bound: BoundRoles, *ends: str) -> pl.DataFrame:
        """What the first and the second persons count as, who are called so."""
        row = np.concatenate([self.left, self.right])
        part, weight = (np.repeat(two, self.left.size) for two in (ends, [1.0, -1.0]))
        return bound.outcomes(row, self.share[row], part=part, weight=weight)

    def facts(self) -> Fields:
        """Details of a finding, and notes: sets that give no pair, too few units that differ for a test."""
        sums = np.bincount(self.away.units, self.away.difference)
        units, differing = sums.size, int((np.abs(sums) > 1e-12).sum())
        notes = []
        if differing < _DIFFERING:
            notes.append(f"{differing} of {units} units differ; below {_DIFFERING} none can be beyond chance")
        if self.unpaired:
            notes.append(f"{self.unpaired} sets have only one of the two and give no pair")
        return {"notes": notes, "details": {"pairs": self.left.size, "units": units}}


@dataclass(frozen=True, eq=False)
class SetMatrix:
    """Sets as rows, the combinations of treatments as columns."""

    cells: list[tuple[str, ...]]  # values of the treatments, sorted
    treatments: tuple[str, ...]
    codes: Integers  # shape (sets, cells, orders); -1 where there is no answer
    scores: Floats  # shape (sets, cells); NaN where there is no answer
    sets: pl.Series  # what the sets are called
    member: Integers  # a row of each set, among the chosen ones, shape (sets,)
    unit: Integers  # shape (sets,)
    wordings: Integers  # shape (orders,)
    dropped: list[Dropped]

    @classmethod
    def of(cls, bound: BoundRoles, *, complete: bool = False) -> SetMatrix:
        """The sets of some rows; those with a member for every cell only, where they have to be complete."""
        table, treatments = members(bound), bound.choices.treatments
        cells: list[tuple[str, ...]] = table.select(treatments).unique().sort(treatments).rows()
        names = table["set"].unique().sort()
        row = table["set"].replace_strict(names, np.arange(len(names)), return_dtype=pl.Int64).to_numpy()
        position = {cell: number for number, cell in enumerate(cells)}
        column = np.array([position[cell] for cell in table.select(treatments).rows()], dtype=np.int64)
        if np.unique(row * max(len(cells), 1) + column).size < row.size:
            raise InputError("a set has two samples of one combination of treatments; give each its own set")
        at = np.flatnonzero(bound.chosen)[table["row"].to_numpy()]
        orders = bound.choices.codes.shape[1]
        codes = np.full((len(names), len(cells), orders), -1, dtype=np.int64)
        scores, member = np.full(codes.shape[:2], np.nan), np.zeros(len(names), dtype=np.int64)
        codes[row, column] = bound.choices.codes[at]
        scores[row, column] = bound.choices.scores[at]
        member[row] = table["row"].to_numpy()
        keep = np.ones(len(names), dtype=bool)
        if complete:
            answered = np.min(codes, axis=1, initial=len(OUTCOMES)) >= 0
            codes, keep = np.where(answered[:, None], codes, -1), answered.any(axis=1)
        lost = named.dropped_of({"incomplete set": int((~keep).sum())})
        sets, member = names.filter(keep), member[keep]
        return cls(
            cells, treatments, codes[keep], scores[keep], sets, member, bound.set_units[member],
            bound.choices.wordings, lost,
        )  # fmt: skip

    @cached_property
    def _valid(self) -> Mask:
        return np.asarray((self.codes >= 0).all(axis=1))

    @property
    def flips(self) -> Floats:
        """The share of orders in which the members of each set do not answer alike, shape (sets,)."""
        unlike = (self.codes != self.codes[:, :1]).any(axis=1) & self._valid
        return np.asarray(unlike.sum(axis=1) / np.maximum(self._valid.sum(axis=1), 1))

    def random_flips(self, rng: Rng, draws: int) -> Floats:
        """The mean of ``flips`` when the answers of each order are exchanged among all members."""
        total, valid = np.zeros((draws, len(self.codes))), self._valid
        for order in range(valid.shape[1]):
            rows = valid[:, order]
            answers = self.codes[rows, :, order]
            for some in pieces(draws, _HELD, answers.size):
                repeated = np.broadcast_to(answers.ravel(), (some.stop - some.start, answers.size))
                sets = rng.permuted(repeated, axis=1).reshape(-1, *answers.shape)
                total[some, rows] += (sets != sets[..., :1]).any(axis=2)
        return np.asarray((total / np.maximum(valid.sum(axis=1), 1)).mean(axis=1))

    def noise(self) -> dict[str, float | None]:
        """How often two members of a set answer unlike in one order, and one member in two orders."""
        codes, wordings = self.codes, self.wordings
        (i, j), (a, b) = (np.triu_indices(number, 1) for number in codes.shape[1:])
        a, b = a[wordings[a] == wordings[b]], b[wordings[a] == wordings[b]]
        members_, again = _unlike(codes[:, i], codes[:, j]), _unlike(codes[..., a], codes[..., b])
        return {"pair_flips": members_, "noise_floor": again}

    def _pairs(self, attribute: By) -> tuple[Integers, Integers]:
        """Each two cells that differ in the attribute alone."""
        names = names_of(attribute)
        check_known("attribute that differs within sets", names, self.treatments)
        first, second = np.triu_indices(len(self.cells), 1)
        values = np.array(self.cells, dtype=object).reshape(-1, len(self.treatments))
        unlike = values[first] != values[second]
        alone = (unlike == np.isin(self.treatments, names)).all(axis=1)
        return first[alone], second[alone]

    def distances(self, attribute: By) -> tuple[Floats, Integers, Integers]:
        """|difference| of each matched pair, and the numbers of its set and its two cells, shape (pairs,)."""
        first, second = self._pairs(attribute)
        apart = np.abs(self.scores[:, first] - self.scores[:, second])
        of_set, pair = np.nonzero(~np.isnan(apart))
        return apart[of_set, pair], of_set, pair

    def called(self, attribute: By, of_set: Integers, pair: Integers) -> pl.Series:
        """What matched pairs are called."""
        cells = pl.Series(["-".join(cell) for cell in self.cells], dtype=pl.String)
        first, second = (cells[which[pair]] for which in self._pairs(attribute))
        return self.sets[of_set] + "/" + first + "/" + second

    def exchanged_distances(self, attribute: By, rng: Rng, draws: int) -> Floats:
        """The mean of ``distances`` with the members of each unit's sets exchanged, all sets alike."""
        units, row = keys_and_codes(self.unit)
        (first, second), result = self._pairs(attribute), []
        for size in piece_sizes(draws, _HELD, self.scores.size):
            order = rng.random((size, units.size, len(self.cells))).argsort(axis=2)[:, row]
            scores = np.take_along_axis(self.scores[None], order, axis=2)
            apart = np.abs(scores[..., first] - scores[..., second])
            result.append(ratio(np.nansum(apart, axis=(1, 2)), (~np.isnan(apart)).sum(axis=(1, 2))))
        return np.concatenate(result)


def members(bound: BoundRoles) -> pl.DataFrame:
    """The chosen rows with ``row``, ``set`` and the treatments, all there."""
    choices = bound.choices
    if choices.set_ is None or not choices.treatments:
        raise InputError(
            "these choices have no sets; give RoleChoices.join sets='COLUMN' and treatments=['gender', ...]"
        )
    rows = choices.annotated.filter(bound.chosen).with_row_index("row")
    texts = pl.col(choices.treatments).cast(pl.String)
    return rows.select("row", texts, set=pl.col(choices.set_).cast(pl.String)).drop_nulls()


def _unlike(first: Integers, second: Integers) -> float | None:
    """The share of answers that differ, among pairs that were both answered."""
    answered = (first >= 0) & (second >= 0)
    return float((first != second)[answered].mean()) if answered.any() else None


def mean_interval(
    values: Floats, unit: Integers | None, p_value: float | None = None, reference: float = 0.0
) -> Fields:
    """Interval and p of a mean in [0, 1]: Wilson's at the size that units leave; nothing below two units.

    ``p_value`` is that of a test of the reference, if there is one.
    """
    clusters = np.arange(values.size) if unit is None else unit
    if np.unique(clusters).size < FEWEST:
        return {}
    rates = group_rates(values, np.zeros(values.size, dtype=np.int64), 1, clusters)
    limits = partial(rate_limits, rates)
    return interval_and_p(limits, p_value, reference, wilson_method(unit, "units"))


def turned_signs(
    away: Deviations, rng: Rng, seed: int, who: str, unit: str, *, most: float = 1.0,
    scale: float = 1.0,
) -> Fields:  # fmt: skip
    """Interval, null band, p and smallest detectable value of a mean of differences, times a scale.

    ``who`` are exchanged in each unit, which turns the sign of its differences. Differences are at most
    ``most``.
    """
    test, ends = away.exchanged(rng), away.limits(LEVEL)

    def limits(level: float) -> Pair:
        low, high = pair_of(away.limits(level), -most, most)
        return scale * low, scale * high

    low, high, mean = (scale * np.array([*test.band(LEVEL), test.mean])).tolist()
    sampling = {"replicates": test.replicates, "seed": seed} if test.replicates else {}
    method = f"{who} exchanged by {unit}"
    error = max(test.sd, (ends[1] - ends[0]) / (2 * Z_LEVEL))
    return interval_and_p(limits, test.p_value, 0.0, f"Bonett-Price, paired, by {unit}") | {
        "null": Null(mean=mean, low=low, high=high, level=LEVEL, method=method, **sampling),
        "mde": number(scale * (Z_LEVEL + Z_POWER) * error),
    }
