"""Why a group's accuracy differs from that of all others: its mix of classes, or mistakes within classes.

``acc_rest - acc_group = mix + sum over classes y and wrong labels k of share_yk``, with

* ``mix = sum_y (w_rest,y - w_group,y) (acc_group,y + acc_rest,y) / 2``,
* ``share_yk = (w_group,y + w_rest,y) / 2 * (p_group,yk - p_rest,yk)``,

where w are shares of classes and p rates of labels within them (Kitagawa 1955; Oaxaca-Blinder with mean
weights and dummies for classes). It is symmetric and adds up exactly. Where only one side has a class, the
other is taken to be as accurate, so that all of it is mix.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.stats.arrays import Codes, Ends, Floats, Mask, nan_without_warning, ratio


@dataclass(frozen=True, eq=False)
class Side:
    """Rows of one side of the comparison: each group, or all others beside it."""

    support: Floats  # rows by group and class, shape (G, L)
    correct: Floats  # right ones
    # with weights the sums of their squares as `support` and `correct`, and rows by group, shape (G,)
    squares: tuple[Floats, Floats, Floats] | None = None

    @cached_property
    def rows(self) -> Floats:
        """Rows of each group, shape (G, 1); NaN without any."""
        rows = self.support.sum(axis=1, keepdims=True)
        return np.where(rows > 0, rows, np.nan)

    @cached_property
    def accuracy(self) -> Floats:
        """Share of right rows, shape (G,)."""
        return np.asarray(self.correct.sum(axis=1) / self.rows[:, 0])

    @cached_property
    def weight(self) -> Floats:
        """Shares of classes, shape (G, L)."""
        return self.support / self.rows

    @cached_property
    def by_class(self) -> Floats:
        """Accuracy of each class, shape (G, L); NaN without rows."""
        return ratio(self.correct, self.support)

    def variance(self, middle: Floats, slope: Floats) -> Floats:
        """Of a part that is ``sum_y w_y middle_y`` in shares and ``sum_y slope_y acc_y`` in accuracies.

        Each row adds ``(middle_y - mean + slope_y (right - acc_y) / w_y) / rows`` to its deviation; with
        weights times its own, by Taylor linearisation as in ``Rates.of_survey`` (Woodruff 1971).
        """
        every, right = (self.support, self.correct) if self.squares is None else self.squares[:2]
        accuracy = np.nan_to_num(self.by_class)
        away = middle - (self.weight * middle).sum(axis=1, keepdims=True)
        reach = ratio(slope, self.weight, 0.0)
        of_right, of_wrong = (away + reach * (hit - accuracy) for hit in (1, 0))
        total = (right * of_right**2 + (every - right) * of_wrong**2).sum(axis=1) / self.rows[:, 0] ** 2
        if self.squares is None:
            return np.asarray(total)
        return np.asarray(total * self.squares[2] / np.maximum(self.squares[2] - 1, 1))


@dataclass(frozen=True, eq=False)
class Decomposition:
    """Each group beside all others; shape (G,) each, NaN where one of the two has no rows."""

    group: Side
    rest: Side

    @classmethod
    def of(
        cls, support: Floats, correct: Floats, squares: tuple[Floats, Floats, Floats] | None = None
    ) -> Decomposition:
        """From rows, and right ones, by group and class, shape (G, L).

        ``squares``: with weights, sums of squared weights of the same two, and rows by group, shape (G,).
        """

        def others(values: Floats) -> Floats:
            return np.asarray(values.sum(axis=0) - values)

        of_rest = None if squares is None else (others(squares[0]), others(squares[1]), others(squares[2]))
        group = Side(support, correct, squares)
        return cls(group, Side(others(support), others(correct), of_rest))

    @cached_property
    def gap(self) -> Floats:
        """Accuracy of the rest less that of the group."""
        return self.rest.accuracy - self.group.accuracy

    @cached_property
    def gap_error(self) -> Floats:
        """Its standard error, both sides being samples of their own."""
        accuracies = [np.nan_to_num(side.by_class) for side in (self.group, self.rest)]
        parts = [
            side.variance(accuracy, side.weight)
            for side, accuracy in zip((self.group, self.rest), accuracies, strict=True)
        ]
        return np.asarray(np.sqrt(np.asarray(sum(parts))))

    @cached_property
    def mix(self) -> Floats:
        """What comes from other shares of classes."""
        return np.asarray((self._step * self._middle).sum(axis=1))

    @cached_property
    def errors(self) -> Floats:
        """What comes from mistakes within classes: the sum of all shares."""
        mine, others = self._accuracies
        return np.asarray((self._mean * (others - mine)).sum(axis=1))

    @cached_property
    def mix_error(self) -> Floats:
        """Standard error by the delta method, both sides multinomial."""
        slope = np.where(self._is_shared, self._step / 2, self._step)
        return self._error(self._middle, slope)

    @cached_property
    def errors_error(self) -> Floats:
        """Standard error by the delta method."""
        mine, others = self._accuracies
        return self._error((others - mine) / 2, np.where(self._is_shared, self._mean, 0.0))

    def shares(self, group: Codes, truth: Codes, counts: Ends) -> Ends:
        """``share_yk`` of some mistakes, and its standard error, shape (N,); NaN where a side lacks a class.

        ``counts``: rows with the mistake in the group and elsewhere.
        """
        compared = (self.group, self.rest)
        w, w_rest = (side.weight[group, truth] for side in compared)
        with nan_without_warning():
            p, p_rest = (
                count / side.support[group, truth] for side, count in zip(compared, counts, strict=True)
            )
            apart, mean = p - p_rest, (w + w_rest) / 2
            parts = [
                ((apart / 2) ** 2 * share * (1 - share) + mean**2 / share * rate * (1 - rate))
                / side.rows[group, 0]
                for side, share, rate in zip(compared, (w, w_rest), (p, p_rest), strict=True)
            ]
            return mean * apart, np.sqrt(parts[0] + parts[1])

    @cached_property
    def _is_shared(self) -> Mask:
        """Classes that both sides have, shape (G, L)."""
        return (self.group.support > 0) & (self.rest.support > 0)

    @cached_property
    def _accuracies(self) -> Ends:
        """Accuracies of classes; where one side lacks the class, that of the other; 0 where both do."""
        mine, others = self.group.by_class, self.rest.by_class
        pair = np.where(np.isnan(mine), others, mine), np.where(np.isnan(others), mine, others)
        return np.nan_to_num(pair[0]), np.nan_to_num(pair[1])

    @cached_property
    def _middle(self) -> Floats:
        mine, others = self._accuracies
        return (mine + others) / 2

    @cached_property
    def _step(self) -> Floats:
        return self.rest.weight - self.group.weight

    @cached_property
    def _mean(self) -> Floats:
        return (self.rest.weight + self.group.weight) / 2

    def _error(self, middle: Floats, slope: Floats) -> Floats:
        """Of a part whose shares of classes count against the group and for the rest, or the reverse."""
        return np.sqrt(self.group.variance(-middle, slope) + self.rest.variance(middle, slope))
