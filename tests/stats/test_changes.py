"""Right answers of two models in classes and groups: exact tests against scipy, and intervals."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.contingency.model_changes import Flips, Shares


def flips(*cells):
    n, gained, lost = (np.array(column, dtype=float) for column in zip(*cells, strict=True))
    return Flips(n, gained, lost)


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (3, 0), (0, 7), (5, 5), (12, 3), (40, 21)])
def test_p_of_flips_is_the_exact_binomial_test(gained, lost):
    expected = stats.binomtest(gained, gained + lost, 0.5).pvalue if gained + lost else 1.0
    assert flips((80, gained, lost)).p[0] == pytest.approx(expected)


def test_without_samples_the_interval_is_undefined():
    found = flips((50, 6, 1), (0, 0, 0))
    assert np.isnan(found.interval(0.95)[0][1])


@pytest.mark.parametrize(
    ("up", "down", "n"), [(0.1, 0.02, 40), (0.2, 0.2, 30), (0.3, 0.05, 200), (0.01, 0.0, 50)]
)
def test_intervals_of_flips_hold_the_truth_often_enough(up, down, n):
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(n, [up, down, 1 - up - down], size=4000)
    low, high = Flips(np.full(4000, float(n)), drawn[:, 0], drawn[:, 1]).interval(0.95)
    assert ((low <= up - down) & (up - down <= high)).mean() > 0.93
    assert ((low >= -1) & (high <= 1) & (high > low)).all()


def shares(cells, units=1):
    """Cells of unit, right and rows of the first, right and rows of the second."""
    unit, a, n, b, m = (np.array(column) for column in zip(*cells, strict=True))
    return Shares(unit, np.stack([a, b]).astype(float), np.stack([n, m]).astype(float), units)


def apart(found):
    first, second = found.rates()
    return first.value - second.value


def test_one_stratum_is_dealt_as_in_fishers_test():
    found = shares([(0, 9, 12, 3, 10)])
    p = found.p
    count = stats.hypergeom(22, 12, 12)
    assert p[0] == pytest.approx(min(1.0, 2 * min(count.sf(8), count.cdf(9))))
    assert apart(found)[0] == pytest.approx(9 / 12 - 3 / 10)


def test_strata_are_dealt_each_by_itself():
    cells = [(0, 3, 4, 1, 5), (0, 2, 6, 1, 3), (0, 5, 5, 2, 4)]
    found = shares(cells)
    whole = np.ones(1)
    for _, a, n, b, m in cells:
        first = max(0, a + b - m)
        whole = np.convolve(whole, stats.hypergeom(n + m, a + b, n).pmf(np.arange(first, min(a + b, n) + 1)))
    least = sum(max(0, a + b - m) for _, a, n, b, m in cells)
    at = sum(a for _, a, *_ in cells) - least
    expected = min(1.0, 2 * min(whole[at:].sum(), whole[: at + 1].sum()))
    assert found.p[0] == pytest.approx(expected)
    weight = np.array([2 / (1 / n + 1 / m) for _, _, n, _, m in cells])
    each = np.array([a / n - b / m for _, a, n, b, m in cells])
    assert apart(found)[0] == pytest.approx((weight * each).sum() / weight.sum())


def test_many_rows_are_dealt_as_a_normal_count_of_the_same_spread():
    found = shares([(0, 2100, 4000, 2000, 4000), (1, 9, 12, 3, 10)], units=2)
    p = found.p
    count = stats.hypergeom(8000, 4100, 4000)
    assert p[0] == pytest.approx(2 * count.sf(2099), rel=0.02)
    assert p[1] == pytest.approx(shares([(0, 9, 12, 3, 10)]).p[0])


def test_intervals_of_shares_hold_the_truth_often_enough():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(1500):
        cells = [(0, rng.binomial(40, 0.8), 40, rng.binomial(15, 0.7), 15)]
        cells.append((0, rng.binomial(10, 0.5), 10, rng.binomial(30, 0.4), 30))
        low, high = shares(cells).interval(0.95)
        held.append(low[0] <= 0.1 <= high[0])
    assert np.mean(held) > 0.93
