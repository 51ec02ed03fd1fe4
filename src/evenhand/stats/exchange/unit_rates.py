"""Rates of many labels where rows come in units (persons, households): their limits, and units exchanged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Ends, Floats, Integers, Mask
from evenhand.stats.contingency.tables import sum_by
from evenhand.stats.exchange.rates import Tally, UnitMoments
from evenhand.stats.exchange.relabelling import Relabelling, units_in
from evenhand.stats.rates.clustered import Jackknife
from evenhand.stats.rates.rates import Rates

_HELD = 2_000_000  # cells x replicates, or pieces x labels, held at a time
_NO_TRIAL = 1e-9  # of rows that count 1 on average
_SHARED = 20_000_000  # units x labels x groups up to which what groups share is taken into account


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
    _column_cache: dict[str, tuple[_Column, ...]] = field(default_factory=dict, repr=False)
    _alike: dict[str, Ends] = field(default_factory=dict, repr=False)

    @cached_property
    def relabelling(self) -> Relabelling:
        """How groups are exchanged among all units."""
        return Relabelling(self.group, self.unit)

    @property
    def mixed(self) -> Mask:
        """Which units lie in several groups."""
        return self.relabelling.mixed

    def ungrouped(self) -> UnitRates:
        """The same rows as one group."""
        return replace(self, group=np.zeros_like(self.group), groups=1, _column_cache={}, _alike={})

    @cached_property
    def sizes(self) -> Integers:
        """Units of each group, shape (G,)."""
        return units_in(self.unit, self.group, self.groups)

    def rates(self, kind: str) -> Rates:
        """Rates of each label and group, shape (L, G), or (1, G) of ``hit``; sizes as of ``ClusterMean``."""
        # pieces are units of one group
        key, piece = np.unique(self.unit * self.groups + self.group, return_inverse=True)
        group = key % self.groups
        order = np.argsort(group, kind="stable")
        starts = np.flatnonzero(np.diff(group[order], prepend=-1))
        rows = (np.bincount(piece) / np.bincount(piece, self.weight))[order, None]
        columns = self._summed(kind, piece)[:2]
        step = max(1, _HELD // key.size)
        parts = []
        for start in range(0, columns[0].labels, step):
            hits, trials = (column.dense(slice(start, start + step))[order] for column in columns)
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

    def observed(self, kind: str) -> Tally:
        """The tally as it is, R = 1."""
        return self._tally(kind, self.group[None])

    def draws(
        self, rng: np.random.Generator, kinds: tuple[str, ...], replicates: int, *, within: bool
    ) -> Iterator[dict[str, Tally]]:
        """Tallies with units exchanged, in pieces that fit in memory.

        Units of one group change places as a whole, those of several have the groups of their rows exchanged.
        All ``kinds`` are of the same draws. ``within``: only among units, or rows of a unit, of one truth; a
        unit of several changes places with any other such.
        """
        labels = Relabelling(self.group, self.unit, self.truth) if within else self.relabelling
        step = max(1, _HELD // max(self.unit.size, self.groups * self.labels, self._atoms.size * self.groups))
        for start in range(0, replicates, step):
            codes = labels.drawn(rng, min(step, replicates - start))
            yield {kind: self._tally(kind, codes) for kind in kinds}

    @cached_property
    def _atoms(self) -> Integers:
        """What changes places with each row: its unit or, where units lie in several groups, it alone."""
        return np.arange(self.unit.size) if self.mixed.any() else self.unit

    def _tally(self, kind: str, codes: Integers) -> Tally:
        """The tally of drawn groups of rows, shape (R, N)."""
        columns = self._columns(kind)
        atoms = int(self._atoms.max()) + 1
        of_atom = np.zeros((len(codes), atoms), dtype=np.int64)
        of_atom[:, self._atoms] = codes
        member = np.zeros((atoms, len(codes) * self.groups))
        position = np.arange(len(codes))[:, None] * self.groups + of_atom
        member[np.arange(atoms), position] = 1
        shape = (len(codes), self.groups)
        hits, trials, *rest = [column.summed(member, shape) for column in columns]
        trials = np.where(trials > _NO_TRIAL, trials, 0.0)  # weights that cancel leave their last digits
        hits = np.clip(hits, 0, trials)
        expected = None
        if kind == "false":
            support = self._columns("true")[1].summed(member, shape)
            with np.errstate(divide="ignore", invalid="ignore"):
                mistaken = _product(self._mistaken, support.reshape(-1, self.labels).T)
                expected = mistaken.T.reshape(hits.shape) / trials
        alike, inflated = self._likeness(kind)
        if self.mixed.any():
            return Tally(hits, trials, expected, inflated=inflated)
        return Tally(hits, trials, expected, UnitMoments(rest[0], rest[1], rest[2], rest[3], alike))

    @cached_property
    def _mistaken(self) -> object:
        """The share of a truth's rows that are taken for another label, by label and truth, sparse."""
        from scipy import sparse

        wrong = self.truth != self.prediction
        support = sum_by(self.truth, self.weight, self.labels)
        share = self.weight[wrong] / support[self.truth[wrong]]
        places = (self.prediction[wrong], self.truth[wrong])
        return sparse.csr_matrix((share, places), shape=(self.labels, self.labels))

    def _columns(self, kind: str) -> tuple[_Column, ...]:
        if kind not in self._column_cache:
            self._column_cache[kind] = self._summed(kind, self._atoms)
        return self._column_cache[kind]

    def _summed(self, kind: str, key: Integers) -> tuple[_Column, ...]:
        """Hits s, trials w, s^2, s w, w^2 and whether there are trials, of each atom or other key."""
        count = int(key.max()) + 1
        right = self.weight * (self.truth == self.prediction)
        w, constant = sum_by(key, self.weight, count), np.ones(count)
        if kind == "hit":
            s = sum_by(key, right, count)
            return tuple(_Column(1, count, common) for common in (s, w, s**2, s * w, w**2, constant))
        places = [key * self.labels + label for label in (self.truth, self.prediction)]
        cells, where = np.unique(np.concatenate(places), return_inverse=True)
        of_truth, of_label = where[: key.size], where[key.size :]
        support, correct = (sum_by(of_truth, numbers, cells.size) for numbers in (self.weight, right))
        predicted = sum_by(of_label, self.weight, cells.size)

        def column(values: Floats, common: Floats | None = None) -> _Column:
            return _Column.of(self.labels, cells, values, count, common)

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

    def _likeness(self, kind: str) -> Ends:
        """How alike the rows of a unit are by label, in [0, 1], and how much more rates vary for it."""
        if kind not in self._alike:
            s, w, ss, sw, ww, _ = (column.total() for column in self._summed(kind, self.unit))
            with np.errstate(divide="ignore", invalid="ignore"):
                mean = s / w
                noise, pairs = mean * (1 - mean), ww - w
                likeness = (ss - 2 * mean * sw + mean**2 * ww - w * noise) / (pairs * noise)
                alike = np.clip(np.nan_to_num(likeness, nan=0.0, posinf=0.0, neginf=0.0), 0, 1)
                inflated = 1 + alike * np.maximum(np.nan_to_num(ww / w) - 1, 0)
            self._alike[kind] = alike, inflated
        return self._alike[kind]


@dataclass(frozen=True, eq=False)
class _Column:
    """A number of each atom and label: one that all labels share, and what some add to it."""

    labels: int  # how many
    atoms: int  # how many
    common: Floats | None  # shape (atoms,); None for 0
    cells: object = None  # sparse, shape (labels, atoms); None for 0

    @classmethod
    def of(cls, labels: int, cells: Integers, values: Floats, atoms: int, common: Floats | None) -> _Column:
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
            result += _product(self.cells, member).T.reshape(*shape, self.labels)
        return result

    def total(self) -> Floats:
        """The sum over all atoms, shape (L,)."""
        return np.asarray(self.summed(np.ones((self.atoms, 1)), (1, 1))[0, 0])


def _product(sparse: object, dense: Floats) -> Floats:
    """A sparse matrix times a dense one."""
    return np.asarray(sparse @ dense)  # type: ignore[operator]  # scipy's types are not imported here
