"""Sums over units of hits and trials, by group and label, from shares of the units in the groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Ends, Floats, Integers


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
