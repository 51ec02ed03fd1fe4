"""Association effect sizes without each single dimension of the embeddings, all from one matrix product.

``G = U W'`` holds the inner products of targets and attributes, ``a`` and ``b`` their squared lengths, and
``c_j`` is ``1/|A|`` or ``-1/|B|``. Without dimension k the association of target i is
``[(G R)_ik - u_ik q_k] / sqrt(a_i - u_ik^2)`` with ``R_jk = c_j / sqrt(b_j - w_jk^2)`` and
``q_k = sum_j w_jk R_jk``. Taking k away for good changes G by one outer product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from evenhand.stats.arrays import Floats, Integers, pieces

Reals = npt.NDArray[np.floating]
Test = tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike]

_BLOCK = 1 << 16  # numbers of one array of targets and dimensions held at a time
_REFRESH = 64  # removals after which everything is computed anew, against drift


class RemainingDimensions:
    """Embeddings that lose one dimension after the other. The caller's arrays stay as they are.

    Args:
        targets: Shape (N, D); their lengths do not matter.
        attributes: Shape (M, D).
        tests: P times (X, Y, A, B): rows of ``targets`` twice, rows of ``attributes`` twice.
        renormalise: Whether what remains of a vector is brought to length 1 again, so that the association is
            made of cosines; else of inner products of vectors that had length 1 with all dimensions.
        ddof: As in the standard deviation over X and Y together.
        precision: ``float64`` or ``float32``.
    """

    def __init__(
        self,
        targets: npt.ArrayLike,
        attributes: npt.ArrayLike,
        tests: Sequence[Test],
        *,
        renormalise: bool = True,
        ddof: int = 1,
        precision: str = "float64",
    ) -> None:
        left, right = _unit(targets, precision), _unit(attributes, precision)
        self.dimensions = left.shape[1]
        self._total = len(tests)
        grouped: dict[tuple[bytes, bytes], list[tuple[int, list[Integers]]]] = {}
        for number, test in enumerate(tests):
            sets = [np.asarray(rows, dtype=np.int64) for rows in test]
            if all(len(rows) for rows in sets) and len(sets[0]) + len(sets[1]) > ddof:
                grouped.setdefault((sets[2].tobytes(), sets[3].tobytes()), []).append((number, sets))
        self._parts = [_SameAttributes(left, right, group, renormalise, ddof) for group in grouped.values()]

    def effect_sizes(self) -> Floats:
        """The d of each test on the dimensions that remain, shape (P,).

        NaN where undefined: an empty set, no spread over X and Y, a vector without length.
        """
        return self._of_parts(_SameAttributes.effect_sizes)

    def without_each(self) -> Floats:
        """The d of each test when one more dimension goes, shape (P, D).

        NaN where undefined, as when an item would have no length left. For a dimension that is gone already
        it is the d of now.
        """
        return self._of_parts(_SameAttributes.without_each, self.dimensions)

    def _of_parts(self, read: Callable[[_SameAttributes], Floats], *width: int) -> Floats:
        result = np.full((self._total, *width), np.nan)
        for part in self._parts:
            result[part.numbers] = read(part)
        return result

    def remove(self, dimension: int) -> None:
        """Take one dimension away for good."""
        for part in self._parts:
            part.remove(dimension)


class _SameAttributes:
    """The tests that share A and B: one matrix product serves them all."""

    def __init__(
        self, left: Reals, right: Reals, tests: list[tuple[int, list[Integers]]], renormalise: bool, ddof: int
    ) -> None:
        self.numbers = [number for number, _ in tests]
        self._renormalise, self._ddof = renormalise, ddof
        distinct: dict[bytes, Integers] = {}
        for _, (x, y, *_) in tests:
            distinct |= {x.tobytes(): x, y.tobytes(): y}
        index = {key: at for at, key in enumerate(distinct)}
        self._x, self._y = (
            np.array([index[sets[side].tobytes()] for _, sets in tests], dtype=np.int64) for side in (0, 1)
        )
        self._n = np.array([len(rows) for rows in distinct.values()])
        self._starts = np.append(0, np.cumsum(self._n))
        self._u = left[np.concatenate(list(distinct.values()))]  # copies: columns are set to zero below
        a, b = tests[0][1][2:]
        columns = np.union1d(a, b)
        weight = np.zeros(len(right), dtype=left.dtype)
        np.add.at(weight, a, 1 / len(a))  # a word of both sets counts in both
        np.add.at(weight, b, -1 / len(b))
        self._w, self._c = right[columns], weight[columns]
        self._removals = 0
        self._refresh()

    def _refresh(self) -> None:
        self._g = self._u @ self._w.T
        self._a, self._b = (np.einsum("nd,nd->n", rows, rows) for rows in (self._u, self._w))

    def effect_sizes(self) -> Floats:
        association = self._g @ self._c
        if self._renormalise:
            association = self._g @ (self._c * _inverse_root(self._b)) * _inverse_root(self._a)
        return self._summarised(association[:, None])[:, 0]

    def without_each(self) -> Floats:
        blocks = pieces(self._u.shape[1], _BLOCK, len(self._u))
        return np.hstack([self._summarised(self._without(block)) for block in blocks])

    def _without(self, block: slice) -> Reals:
        """Association of each target without each dimension of a block, shape (rows, block)."""
        u, w = self._u[:, block], self._w[:, block]
        if not self._renormalise:
            return np.asarray((self._g @ self._c)[:, None] - u * (self._c @ w))
        r = self._c[:, None] * _inverse_root(self._b[:, None] - w * w)
        result: Reals = self._g @ r
        result -= u * np.einsum("md,md->d", w, r)
        result *= _inverse_root(self._a[:, None] - u * u)
        return result

    def _summarised(self, association: Reals) -> Floats:
        """The d of each test from the mean and the squared deviations of each set, shape (tests, block)."""
        means = np.empty((len(self._n), association.shape[1]))
        squares = np.empty_like(means)
        for at, (start, stop) in enumerate(zip(self._starts, self._starts[1:], strict=False)):
            part = association[start:stop]
            means[at] = part.mean(axis=0)
            deviation = part - part.mean(axis=0)
            squares[at] = np.einsum("nd,nd->d", deviation, deviation)
        n, m = self._n[self._x][:, None], self._n[self._y][:, None]
        difference = means[self._x] - means[self._y]
        total = squares[self._x] + squares[self._y] + n * m / (n + m) * difference**2
        spread = np.sqrt(total / (n + m - self._ddof))
        tolerance = 64 * np.finfo(association.dtype).eps  # cosines are of order 1: below it is rounding
        defined = spread > tolerance
        undefined = np.full_like(spread, np.nan)
        return np.asarray(np.divide(difference, spread, out=undefined, where=defined))

    def remove(self, dimension: int) -> None:
        u, w = self._u[:, dimension].copy(), self._w[:, dimension].copy()
        self._u[:, dimension] = 0
        self._w[:, dimension] = 0
        self._removals += 1
        if self._removals % _REFRESH == 0:
            self._refresh()
            return
        self._g -= np.outer(u, w)
        self._a -= u * u
        self._b -= w * w


def _unit(vectors: npt.ArrayLike, precision: str) -> Reals:
    """Rows of length 1, as a new array; a row of length 0, or not finite, becomes NaN."""
    array = np.asarray(vectors, dtype=np.float64)
    length = np.linalg.norm(array, axis=1, keepdims=True)
    usable = np.isfinite(length) & (length > 0)
    unit = np.divide(array, length, out=np.full_like(array, np.nan), where=usable)
    return np.asarray(unit.astype(precision, copy=False))


def _inverse_root(squares: Reals) -> Reals:
    """1 / sqrt; NaN where so little is left of a length of 1 that rounding has eaten its digits."""
    least = np.sqrt(np.finfo(squares.dtype).eps)
    rest = np.where(squares > least, squares, np.nan)
    return 1 / np.sqrt(rest, out=rest)
