"""Rates of many labels where rows come in units (persons, households): their limits, and units exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import (
    Ends,
    Floats,
    Integers,
    Mask,
    draw_blocks,
    keys_and_codes,
    nan_without_warning,
    pieces,
    run_starts,
    sum_by,
)
from evenhand.stats.exchange.compared_rates import ComparedRates, UnitMoments
from evenhand.stats.exchange.relabelling import DrawnShares, Relabelling, UnitShares, UnitValues
from evenhand.stats.rates.clustered import Jackknife, likeness_of
from evenhand.stats.rates.rates import Rates

_HELD = 2_000_000  # cells x replicates, or pieces x labels, held at a time
_NO_TRIAL = 1e-9  # of rows that count 1 on average
_SHARED_OF_DRAW = 100_000  # groups x groups x labels up to which draws heed it, too
_SHARED = 20_000_000  # units x labels x groups up to which what groups share is taken into account


@dataclass(frozen=True, eq=False)
class Column:
    """A number of each atom and label: one that all labels share, and what some add to it."""

    labels: int  # how many
    atoms: int  # how many
    common: Floats | None  # shape (atoms,); None for 0
    cells: object = None  # sparse, shape (labels, atoms); None for 0

    @classmethod
    def of(cls, labels: int, cells: Integers, values: Floats, atoms: int, common: Floats | None) -> Column:
        """From codes ``atom * labels + label`` and their numbers."""
        from scipy import sparse

        some = values != 0
        places = (cells[some] % labels, cells[some] // labels)
        matrix = sparse.csr_matrix((values[some], places), shape=(labels, atoms)) if some.any() else None
        return cls(labels, atoms, common, matrix)

    def dense(self, some: slice) -> Floats:
        """The numbers of some labels, shape (atoms, labels)."""
        numbers = np.zeros((self.atoms, np.arange(self.labels)[some].size))
        if self.common is not None:
            numbers += self.common[:, None]
        return numbers if self.cells is None else numbers + self.cells[some].toarray().T  # type: ignore[index]  # as below

    def summed(self, member: Floats, shape: tuple[int, int]) -> Floats:
        """Sums over the members of each group, shape (R, G, L).

        ``member`` says which atoms belong where, shape (atoms, R G); ``shape`` is R and G.
        """
        result = np.zeros((*shape, self.labels))
        if self.common is not None:
            result += (self.common @ member).reshape(*shape, 1)
        if self.cells is not None:
            result += product(self.cells, member).T.reshape(*shape, self.labels)
        return result

    def times(self, matrix: object) -> object:
        """The numbers times those of a sparse matrix of the same shape."""
        result = None if self.cells is None else self.cells.multiply(matrix).tocsr()  # type: ignore[attr-defined]  # as below
        if self.common is None:
            return matrix.multiply(0).tocsr() if result is None else result  # type: ignore[attr-defined]
        scaled = matrix.multiply(self.common[None]).tocsr()  # type: ignore[attr-defined]
        return scaled if result is None else scaled + result

    def total(self) -> Floats:
        """The sum over all atoms, shape (L,)."""
        return np.asarray(self.summed(np.ones((self.atoms, 1)), (1, 1))[0, 0])


@dataclass(frozen=True, eq=False)
class UnitColumns:
    """Hits s and trials w of each atom and label, and what groups differ by inside atoms."""

    s: Column
    w: Column
    ss: Column  # of `s^2`
    sw: Column  # of `s w`
    ww: Column  # of `w^2`
    there: Column  # 1 where there are trials
    # of each group hits less its share of the atom's, sparse, shape (labels, atoms); nothing where all atoms
    # are of one group
    inside: tuple[object, ...] = ()

    def hits_and_trials(self, share: Floats, sign: Floats) -> Ends:
        """Sums by group, shape (R, G, L), from shares, shape (A, R, G), and numbers, shape (A, R)."""
        atoms, *shape = share.shape
        member = share.reshape(atoms, -1)
        hits, trials = (column.summed(member, (shape[0], shape[1])) for column in (self.s, self.w))
        for group, matrix in enumerate(self.inside):
            hits[:, group] += product(matrix, sign).T
        return hits, trials

    def units(self, share: Floats) -> Floats:
        """How many atoms have trials in each group, shape (R, G, L)."""
        some = (share > 0).astype(np.float64) if self.inside else share
        return self.there.summed(some.reshape(len(some), -1), (some.shape[1], some.shape[2]))

    def products(
        self, share: Floats, sign: Floats, first: Integers, second: Integers
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Sums over atoms of ``s_g s_h``, ``s_g w_h``, ``w_g s_h`` and ``w_g w_h``, shape (R, K, L) each.

        The groups g and h of K pairs are ``first`` and ``second``; each with itself where nothing is inside.
        """
        if not self.inside:  # each unit is of one group
            member, shape = share.reshape(len(share), -1), (share.shape[1], share.shape[2])
            ss, sw, ww = (column.summed(member, shape) for column in (self.ss, self.sw, self.ww))
            return ss, sw, sw, ww
        of_first, of_second = share[..., first], share[..., second]
        products_of_shares = (of_first * of_second).reshape(len(share), -1)
        shape = share.shape[1], first.size
        ss, sw, ww = (column.summed(products_of_shares, shape) for column in (self.ss, self.sw, self.ww))
        ws, square = sw.copy(), sign**2
        for k, (g, h) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            mine, other = of_first[..., k] * sign, of_second[..., k] * sign
            ss[:, k] += product(self._with_s[h], mine).T + product(self._with_s[g], other).T
            ss[:, k] += product(self.inside[g].multiply(self.inside[h]), square).T
            sw[:, k] += product(self._with_w[g], other).T
            ws[:, k] += product(self._with_w[h], mine).T
        return ss, sw, ws, ww

    @cached_property
    def _with_s(self) -> list[object]:
        return [self.s.times(matrix) for matrix in self.inside]

    @cached_property
    def _with_w(self) -> list[object]:
        return [self.w.times(matrix) for matrix in self.inside]


def product(sparse: object, dense: Floats) -> Floats:
    """A sparse matrix times a dense one."""
    return np.asarray(sparse @ dense)  # type: ignore[operator]  # scipy's types are not imported here


@dataclass(frozen=True, eq=False)
class UnitRates:
    """Rows by unit, and their rates by kind.

    ``hit``: right answers; ``predicted``: answers with a label; ``true``: right ones of its truth; ``false``:
    wrong ones of the other truths.
    """

    truth: Integers  # of each row, shape (N,); codes below `labels`
    group: Integers  # below `groups`
    prediction: Integers  # below `labels`
    unit: Integers  # from 0, all of which occur
    weight: Floats  # of each row
    groups: int  # how many groups there are
    labels: int  # how many labels there are
    _column_cache: dict[tuple[str, bool, bool], UnitColumns] = field(default_factory=dict, repr=False)
    _alike: dict[str, Floats] = field(default_factory=dict, repr=False)

    @property
    def relabelling(self) -> Relabelling:
        """How groups are exchanged among all units."""
        return self._shares_over_all

    @property
    def mixed(self) -> Mask:
        """Which units lie in several groups."""
        return self.relabelling.mixed

    def regrouped(self, wider: Integers, groups: int) -> UnitRates:
        """The same rows in wider groups, that of each group below ``groups``, shape (G,)."""
        return replace(self, group=wider[self.group], groups=groups, _column_cache={}, _alike={})

    @property
    def sizes(self) -> Integers:
        """Units of each group, shape (G,)."""
        return self._shares_over_all.units

    def rates(self, kind: str) -> Rates:
        """Rates of each label and group, shape (L, G), or (1, G) of ``hit``; sizes as of ``ClusterMean``."""
        # pieces are units of one group
        key, piece = keys_and_codes(self.unit * self.groups + self.group)
        group = key % self.groups
        order = np.argsort(group, kind="stable")
        starts = run_starts(group[order])
        rows = (np.bincount(piece) / np.bincount(piece, self.weight))[order, None]
        columns = self._summed(kind, piece)[:2]
        parts = []
        for some in pieces(columns[0].labels, _HELD, key.size):
            hits, trials = (column.dense(some)[order] for column in columns)
            jackknife = Jackknife.of(hits, trials, trials * rows, starts)
            shared = self._covariance(jackknife.shift, key[order])
            parts.append(Rates(jackknife.value.T, jackknife.size.T, jackknife.freedom.T, shared))
        together = [part.covariance for part in parts if part.covariance is not None]
        value, size, freedom = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("value", "size", "freedom")
        )
        covariance = np.concatenate(together) if len(together) == len(parts) else None
        return Rates(value, size, freedom, covariance)

    def _covariance(self, shift: Floats, key: Integers) -> Floats | None:
        """Of the rates of groups that share units, shape (L, G, G)."""
        units = self.mixed.size
        if not self.mixed.any() or units * self.groups * shift.shape[1] > _SHARED:
            return None
        dense = np.zeros((units, self.groups, shift.shape[1]))
        dense[key // self.groups, key % self.groups] = shift
        return np.asarray(np.einsum("ugl,uhl->lgh", dense, dense))

    def observed(self, kind: str) -> ComparedRates:
        """The rates as they are, R = 1."""
        within = kind in ("true", "false")
        return self._compared(kind, within, self._shares(within).observed)

    def draws(
        self, rng: np.random.Generator, kinds: tuple[str, ...], replicates: int, *, within: bool
    ) -> Iterator[dict[str, ComparedRates]]:
        """Rates with units exchanged, as of ``UnitShares``, some at a time.

        All ``kinds`` are of the same draws. ``within``: only among units of one truth; a unit of several
        changes places with any other such.
        """
        shares = self._shares(within)
        width = max(self.unit.size, self.groups * self.labels, shares.share.size)
        for size in draw_blocks(replicates, width):
            spread = shares.exchanged(rng, size)
            yield {kind: self._compared(kind, within, spread) for kind in kinds}

    def _shares(self, within: bool) -> UnitShares:
        return self._shares_within if within else self._shares_over_all

    @cached_property
    def _shares_within(self) -> UnitShares:
        return UnitShares(self.group, self.unit, self.truth, weight=self.weight, groups=self.groups)

    @cached_property
    def _shares_over_all(self) -> UnitShares:
        return UnitShares(self.group, self.unit, weight=self.weight, groups=self.groups)

    def _compared(self, kind: str, within: bool, spread: DrawnShares) -> ComparedRates:
        """The rates of spread shares."""
        if kind == "hit":
            return self._right_answers(spread)
        columns = self._columns(kind, within, by_unit=False)
        hits, trials = columns.hits_and_trials(spread.of_atoms, spread.inside_atoms)
        trials = np.where(trials > _NO_TRIAL, trials, 0.0)  # weights that cancel leave their last digits
        hits = np.clip(hits, 0, trials)
        expected = None
        if kind == "false":
            support = self._columns("true", within, by_unit=False).w.summed(
                spread.of_atoms.reshape(len(spread.of_atoms), -1), hits.shape[:2]
            )
            with nan_without_warning():
                mistaken = product(self._mistaken, support.reshape(-1, self.labels).T)
                expected = mistaken.T.reshape(hits.shape) / trials
        moments = self._moments(kind, within, spread, hits, trials)
        return ComparedRates.of_units(hits, trials, moments, expected)

    @cached_property
    def _hits(self) -> UnitValues:
        return self._shares_over_all.added((self.truth == self.prediction).astype(np.float64))

    def _right_answers(self, draws: DrawnShares) -> ComparedRates:
        """The rates of right answers, as one label."""
        values, shared = self._hits.spread(draws), None
        hits, trials, *squares = values.totals()
        hits = np.clip(hits, 0, trials)
        if self.mixed.any() and self.labels * self.groups**2 <= _SHARED_OF_DRAW:
            with nan_without_warning():
                shared = values.covariance(hits / trials, trials)[..., None]
        units = self.sizes.astype(np.float64)
        ss, sw, ww, hits, trials, units = (of[..., None] for of in (*squares, hits, trials, units))
        moments = UnitMoments(ss, sw, ww, units, self._likeness("hit"), shared)
        return ComparedRates.of_units(hits, trials, moments)

    def _moments(
        self, kind: str, within: bool, spread: DrawnShares, hits: Floats, trials: Floats
    ) -> UnitMoments:
        # trials of a truth are of one atom a unit; others lie in several, and go by its share of all rows
        by_unit = kind != "true"
        columns = self._columns(kind, within, by_unit=by_unit)
        share, sign = (
            (spread.of_units, spread.inside_units) if by_unit else (spread.of_atoms, spread.inside_atoms)
        )
        every = np.arange(self.groups)
        ss, sw, _, ww = columns.products(share, sign, every, every)
        shared = None
        if columns.inside and self.labels * self.groups**2 <= _SHARED_OF_DRAW:
            first, second = np.triu_indices(self.groups, 1)
            with nan_without_warning():
                rates = hits / trials
                a, b = rates[:, first], rates[:, second]
                two, mine, other, rows = columns.products(share, sign, first, second)
                away = (two - b * mine - a * other + a * b * rows) / (trials[:, first] * trials[:, second])
            shared = np.zeros((*hits.shape[:2], *hits.shape[1:]))
            shared[:, first, second] = shared[:, second, first] = away
        return UnitMoments(ss, sw, ww, columns.units(share), self._likeness(kind), shared)

    @cached_property
    def _mistaken(self) -> object:
        """The share of a truth's rows that are taken for another label, by label and truth, sparse."""
        from scipy import sparse

        wrong = self.truth != self.prediction
        support = sum_by(self.truth, self.weight, self.labels)
        share = self.weight[wrong] / support[self.truth[wrong]]
        places = (self.prediction[wrong], self.truth[wrong])
        return sparse.csr_matrix((share, places), shape=(self.labels, self.labels))

    def _columns(self, kind: str, within: bool, *, by_unit: bool) -> UnitColumns:
        """What atoms, or units, add to rates of a kind."""
        shares = self._shares(within)
        by_unit = by_unit or shares.share is shares.of_units
        if (kind, within, by_unit) not in self._column_cache:
            key, share = (self.unit, shares.of_units) if by_unit else (shares.atom, shares.share)
            s, w, ss, sw, ww, there = self._summed(kind, key)
            columns = UnitColumns(s, w, ss, sw, ww, there, self._inside(kind, key, share))
            self._column_cache[kind, within, by_unit] = columns
        return self._column_cache[kind, within, by_unit]

    def _inside(self, kind: str, key: Integers, share: Floats) -> tuple[object, ...]:
        """Of each group hits less the share of the key's, sparse, shape (L, keys)."""
        from scipy import sparse

        right = self.truth == self.prediction
        hit = {"predicted": np.ones_like(right), "true": right, "false": ~right}[kind]
        rows = np.flatnonzero(hit & self.mixed[self.unit])
        label, shape = self.prediction[rows], (self.labels, len(share))
        matrices = []
        for group in range(self.groups if self.mixed.any() else 0):
            of_group = share[key[rows], group]
            some = np.flatnonzero(of_group > 0)
            value = self.weight[rows[some]] * ((self.group[rows[some]] == group) - of_group[some])
            places = (label[some], key[rows[some]])
            matrices.append(sparse.csr_matrix((value, places), shape=shape))
        return tuple(matrices)

    def _summed(self, kind: str, key: Integers) -> tuple[Column, ...]:
        """Hits s, trials w, s^2, s w, w^2 and whether there are trials, of each atom or other key."""
        count = int(key.max()) + 1
        right = self.weight * (self.truth == self.prediction)
        w, constant = sum_by(key, self.weight, count), np.ones(count)
        if kind == "hit":
            s = sum_by(key, right, count)
            return tuple(Column(1, count, common) for common in (s, w, s**2, s * w, w**2, constant))
        places = [key * self.labels + label for label in (self.truth, self.prediction)]
        cells, where = keys_and_codes(np.concatenate(places))
        of_truth, of_label = where[: key.size], where[key.size :]
        support, correct = (sum_by(of_truth, numbers, cells.size) for numbers in (self.weight, right))
        predicted = sum_by(of_label, self.weight, cells.size)

        def column(values: Floats, common: Floats | None = None) -> Column:
            return Column.of(self.labels, cells, values, count, common)

        if kind == "true":
            s, t = correct, support
            there = (t > 0).astype(np.float64)
            return tuple(column(numbers) for numbers in (s, t, s**2, s * t, t**2, there))
        # trials are all rows of the atom; of wrong answers, those of other truths
        total = w[cells // self.labels]
        s, less = (predicted, 0 * support) if kind == "predicted" else (predicted - correct, -support)
        t = total + less
        return (
            column(s), column(less, w), column(s**2), column(s * t), column(t**2 - total**2, w**2),
            column(-(t <= 0).astype(np.float64), constant),
        )  # fmt: skip

    def _likeness(self, kind: str) -> Floats:
        """How alike the rows of a unit are by label, in [0, 1], shape (L,)."""
        if kind not in self._alike:
            s, w, ss, sw, ww, _ = (column.total() for column in self._summed(kind, self.unit))
            self._alike[kind] = likeness_of(s, w, (ss, sw, ww))
        return self._alike[kind]
