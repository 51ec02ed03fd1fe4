"""How often chance alone reaches a chi-squared, by listing every table with the same margins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from evenhand.stats.arrays import Floats, Integers
from evenhand.stats.hypergeometric import MOST_OUTCOMES, splits, unique_rows

_OF_A_STATE = 200  # work of a state of the first columns beside its pairs


@dataclass(frozen=True, eq=False)
class _Columns:
    """Every way in which some columns can fall into the rows."""

    sums: Integers  # of the columns in each row, shape (K, r)
    chi2: Floats  # their share of chi-squared, shape (K,)
    log_weight: Floats  # logarithm of the number of assignments, shape (K,)


def exact_tail(rows: Floats, columns: Floats, observed: float, most: int) -> float | None:
    """P(chi-squared >= ``observed``) of tables with these margins whose rows are exchangeable.

    A table has the probability ``prod R_i! prod C_j! / (N! prod o_ij!)``, and chi-squared is a sum over
    columns. All ways of the smaller columns are listed and sorted; for each of the second largest, and with
    it the largest, one look-up gives the probability of those that reach what is missing.

    Args:
        rows: Row sums, all above 0.
        columns: Column sums, all above 0.
        observed: The chi-squared.
        most: Steps of work at most, about 150 ns each.

    Returns:
        The probability; None where it would take more work.
    """
    rows, columns = min((rows, columns), (columns, rows), key=lambda margins: _work(*margins))
    if columns.size < 2 or rows.size < 2 or _work(rows, columns) > most:
        return None
    *first, second, last = np.sort(columns).astype(np.int64).tolist()
    sums = np.zeros((1, rows.size), dtype=np.int64)
    listed = _Columns(sums, np.zeros(1), np.zeros(1))
    for total in first:
        listed = _joined(listed, _ways(rows, total), rows)
    return min(1.0, _tail(listed, _ways(rows, second), rows, last, observed))


def _work(rows: Floats, columns: Floats) -> float:
    """Steps that it takes at most; infinite where the second largest column has too many ways."""
    parts, totals = rows.size - 1, np.sort(columns)[:-1]
    ways = special.comb(totals + parts, parts)  # of each column, each row being large enough
    with np.errstate(over="ignore"):  # infinitely many are too many
        listed, of_second = float(ways[:-1].prod()), float(ways[-1:].prod())
    states = min(listed, float(special.comb(totals[:-1].sum() + parts, parts)))
    return listed + states * (of_second + _OF_A_STATE) if of_second <= MOST_OUTCOMES else np.inf


def _ways(rows: Floats, total: int) -> _Columns:
    """Every way of one column."""
    counts = splits(tuple(rows.astype(np.int64).tolist()), total)
    expected = rows * total / rows.sum()
    log_weight = special.gammaln(total + 1) - special.gammaln(counts + 1).sum(axis=1)
    return _Columns(counts, ((counts - expected) ** 2 / expected).sum(axis=1), log_weight)


def _joined(some: _Columns, others: _Columns, rows: Floats) -> _Columns:
    """Every way of both, as far as the rows have room."""
    sums = some.sums[:, None] + others.sums
    first, second = np.nonzero((sums <= rows).all(axis=2))
    log_weight = some.log_weight[first] + others.log_weight[second]
    return _Columns(sums[first, second], some.chi2[first] + others.chi2[second], log_weight)


def _tail(listed: _Columns, second: _Columns, rows: Floats, last: int, observed: float) -> float:
    """The sum over the sums of the listed columns and the ways of the second; they leave the last column."""
    n = rows.sum()
    log_all = special.gammaln(n + 1) - special.gammaln(rows + 1).sum() - special.gammaln(last + 1)
    # what the last column adds in a row of which the others take so many
    left = rows[:, None] - np.arange(int(listed.sums.max() + second.sums.max()) + 1)
    expected = rows[:, None] * last / n
    of_last = (left - expected) ** 2 / expected
    log_ways = np.where(left >= 0, -special.gammaln(np.maximum(left, 0) + 1), -np.inf)
    state = unique_rows(listed.sums)[1]
    order = np.lexsort((listed.chi2, state))
    largest = listed.log_weight.max()
    chi2, weight = listed.chi2[order], np.exp(listed.log_weight[order] - largest)
    starts = np.flatnonzero(np.r_[True, np.diff(state[order]) != 0])
    probability = 0.0
    for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), order.size], strict=True):
        missing, log_weight = observed - second.chi2, second.log_weight + (largest - log_all)
        for row, used in enumerate((listed.sums[order[start]] + second.sums).T):
            missing, log_weight = missing - of_last[row][used], log_weight + log_ways[row][used]
        at_least = np.append(np.cumsum(weight[start:stop][::-1])[::-1], 0.0)
        probability += float(np.exp(log_weight) @ at_least[np.searchsorted(chi2[start:stop], missing)])
    return probability
