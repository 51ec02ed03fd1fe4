"""Units (persons, households) drawn as a model that knows nothing of groups would show them.

A unit holds rows of one group or of several. What it adds to the groups has two parts: what its rows have in
common, of which each group gets the share of its rows, and what its groups differ by inside. Under the null
neither has to do with the groups:

* shares change places between units, so that a unit of one group changes its group as a whole (DiCiccio and
  Romano 2017, who permute what may be correlated and compare studentised);
* differences inside a unit get a random number of mean 0 and variance 1, the same for all of them, so that
  what is alike within it stays alike (cluster scores: Cameron, Gelbach and Miller 2008; Canay, Romano and
  Shaikh 2017). The six points of Webb (2023) leave few units more draws than signs do.

Both happen in one draw and every unit has choices parts; of a unit of one group the second is 0. Nothing is
supposed of how rows of a unit, or of its groups, are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Floats, Integers, Mask, keys_and_codes, ratio, sum_by
from evenhand.stats.exchange.relabelling import Relabelling, shuffled

_WEBB = np.sqrt([0.5, 1.0, 1.5])


@dataclass(frozen=True, eq=False)
class DrawnShares:
    """Shares of units in each group, as they are (R = 1) or in R draws.

    Of atoms, and of their units over all strata; choices are the same where there are no strata.
    """

    of_atoms: Floats  # shape (A, R, G)
    of_units: Floats  # shape (C, R, G)
    inside_atoms: Floats  # the number that goes with what an atom's groups differ by, shape (A, R)
    inside_units: Floats  # the same of the units, shape (C, R)


@dataclass(frozen=True, eq=False)
class UnitShares:
    """How the rows of each unit are spread over the groups.

    An atom is a unit or, of a unit of several groups, its rows of one stratum.
    """

    group: Integers  # of each row, codes below `groups`, shape (N,)
    unit: Integers  # of each row, from 0, all of which occur, shape (N,)
    weight: Floats  # of each row, shape (N,)
    groups: int  # how many groups there are
    # codes from 0 within which units change places, shape (N,); a unit of several changes places with any
    # other such, and takes its share in each of them, or, where that has none, its share of all rows
    stratum: Integers | None = None

    @cached_property
    def labels(self) -> Relabelling:
        """Which units lie in several groups, and what changes places with what."""
        return Relabelling(self.group, self.unit, self.stratum)

    @property
    def mixed(self) -> Mask:
        """Which units lie in several groups, shape (C,)."""
        return self.labels.mixed

    @cached_property
    def _keys(self) -> tuple[Integers, Integers]:
        return keys_and_codes(self.labels.inside_block)

    @property
    def atom(self) -> Integers:
        """The atom of each row, shape (N,)."""
        return self._keys[1]

    @cached_property
    def share(self) -> Floats:
        """Of the weight of each atom in each group, shape (A, G)."""
        return self._shares(self.atom, self._keys[0].size)

    @cached_property
    def of_units(self) -> Floats:
        """Of the weight of each unit in each group, shape (C, G)."""
        return (
            self.share if self.share.shape[0] == self.mixed.size else self._shares(self.unit, self.mixed.size)
        )

    def _shares(self, code: Integers, count: int) -> Floats:
        # by group in memory, in which units are many and groups few
        inside = np.bincount(self.group * count + code, self.weight, self.groups * count)
        inside = inside.reshape(self.groups, count)
        return ratio(inside, inside.sum(axis=0), 1 / self.groups).T

    @property
    def observed(self) -> DrawnShares:
        """Shares as they are, R = 1."""
        atoms, units = self.share[:, None], self.of_units[:, None]
        return DrawnShares(atoms, units, np.ones(atoms.shape[:2]), np.ones(units.shape[:2]))

    @cached_property
    def units(self) -> Integers:
        """Units of each group, as many in every draw, shape (G,)."""
        return np.asarray((self.of_units > 0).sum(axis=0))

    def added(self, values: Floats) -> UnitValues:
        """A number of each row, added up."""
        shape = self.groups, self.mixed.size
        cell = self.group * shape[1] + self.unit
        of_cells = sum_by(cell, self.weight * values, shape[0] * shape[1]).reshape(shape)
        sums = of_cells.sum(axis=0)
        inside = of_cells - self.of_units.T * sums
        return UnitValues(self, sums, sum_by(self.unit, self.weight), inside)

    def drawn(self, rng: np.random.Generator, size: int) -> DrawnShares:
        """Shares and numbers of so many draws."""
        donor = shuffled(rng, np.arange(self.mixed.size), self.labels.unit_block, size)
        signs = np.ones(donor.T.shape)
        if self.mixed.any():
            signs = np.array([-1.0, 1.0])[rng.integers(0, 2, signs.shape)]
            signs *= _WEBB[rng.integers(0, 3, signs.shape)]
        units, donor = np.take(self.of_units.T, donor, axis=1).T, donor.T
        keys = self._keys[0]
        if keys.size == self.mixed.size:
            return DrawnShares(units, units, signs, signs)
        of, stratum = np.divmod(keys, self.labels.strata)
        other = donor[of]
        donor_key = self.labels.key_of(other, stratum[:, None])
        position = np.minimum(np.searchsorted(keys, donor_key), keys.size - 1)
        choices = np.concatenate([self.share, self.of_units])
        index = np.where((keys[position] == donor_key) & self.mixed[of, None], position, keys.size + other)
        return DrawnShares(choices[index], units, signs[of], signs)


@dataclass(frozen=True, eq=False)
class UnitValues:
    """A number of each row, added up by unit."""

    shares: UnitShares  # how the rows of each unit are spread over the groups
    sums: Floats  # shape (C,)
    weights: Floats  # shape (C,)
    inside: Floats  # what groups of a unit differ by: their sums less their shares of its sum, shape (G, C)

    def spread(self, draws: DrawnShares) -> SpreadValues:
        """What groups get that have such shares of the units."""
        share = draws.of_units.T
        groups, size, units = share.shape
        added = np.empty((2, groups, size, units))
        np.multiply(share, self.sums, out=added[0])
        if self.shares.mixed.any():
            added[0] += draws.inside_units.T * self.inside[:, None]
        np.multiply(share, self.weights, out=added[1])
        flat = np.moveaxis(added.reshape(2 * groups, size, units), 1, 0)
        both, products = flat.sum(axis=2), flat @ flat.swapaxes(1, 2)
        return SpreadValues(both.reshape(size, 2, groups), products.reshape(size, 2, groups, 2, groups))


@dataclass(frozen=True, eq=False)
class SpreadValues:
    """Sums s and weights w of groups in R draws, and products of what each unit adds to them."""

    both: Floats  # s and w, shape (R, 2, G)
    products: Floats  # of s or w of one group and s or w of another, over units, shape (R, 2, G, 2, G)

    def totals(self) -> list[Floats]:
        """Sums over units of s, w, s^2, s w and w^2, shape (R, G) each."""
        same, both, p = np.arange(self.both.shape[2]), self.both, self.products
        squares = [p[:, 0, same, 0, same], p[:, 0, same, 1, same], p[:, 1, same, 1, same]]
        return [both[:, 0], both[:, 1], *squares]

    def covariance(self, rates: Floats, total: Floats) -> Floats:
        """Of the rates of each two groups, shape (R, G, G), without a correction for few units.

        Rates, which are NaN without weight, and the total weight have shape (R, G).
        """
        first, second = rates[:, :, None], rates[:, None]
        ss, sw, ws, ww = (self.products[:, a, :, b] for a in (0, 1) for b in (0, 1))
        away = ss - second * sw - first * ws + first * second * ww
        return np.asarray(away / (total[:, :, None] * total[:, None]))
