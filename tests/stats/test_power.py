"""The minimum detectable effect has the power it promises."""

import numpy as np
import pytest
from scipy import optimize, stats

from evenhand.stats.contingency.effect_intervals import minimum_detectable_v
from evenhand.stats.contingency.tables import TableBatch, association
from evenhand.stats.rates.differences import noticed_by_exchange
from tests.helpers import one_table


@pytest.mark.parametrize(("alpha", "power"), [(0.05, 0.8), (0.01, 0.8), (0.05, 0.95)])
@pytest.mark.parametrize("shape", [(2, 2), (2, 9), (4, 4), (23, 5)])
def test_power_at_the_effect_is_as_promised(shape, alpha, power):
    tables = association(one_table(np.full(shape, 40)))
    effect = minimum_detectable_v(tables, alpha=alpha, power=power)[0]
    degrees = (shape[0] - 1) * (shape[1] - 1)
    shift = tables.n[0] * effect**2 * (min(shape) - 1)
    critical = stats.chi2.isf(alpha, degrees)
    assert stats.ncx2.sf(critical, degrees, shift) == pytest.approx(power, abs=1e-6)


def test_cohens_two_groups_example():
    # w = .3, one degree of freedom, alpha .05: about 88 rows give power .80 (Cohen 1988, table 7.4.6)
    effect = minimum_detectable_v(association(one_table([[22, 22], [22, 22]])))[0]
    assert effect == pytest.approx(0.3, abs=2e-3)


def test_more_rows_detect_less():
    batch = TableBatch.from_dense(np.stack([np.full((2, 3), n) for n in (10, 100, 1000)]))
    effects = minimum_detectable_v(association(batch))
    assert (np.diff(effects) < 0).all()
    assert effects[0] / effects[1] == pytest.approx(np.sqrt(10), rel=1e-9)


@pytest.mark.parametrize("table", [[[5], [4]], [[5, 4]], [[1, 0], [0, 1]]])
def test_nothing_can_be_detected_in_one_row_one_column_or_two_counts(table):
    assert np.isnan(minimum_detectable_v(association(one_table(table)))).all()


@pytest.mark.parametrize(("table", "n"), [([[2, 2], [2, 1]], 7), ([[2, 2], [2, 2]], 8)])
def test_what_only_more_than_a_perfect_association_would_show_is_not_detectable(table, n):
    shift = optimize.brentq(lambda shift: stats.ncx2.sf(stats.chi2.isf(0.05, 1), 1, shift) - 0.8, 1, 20)
    assert 7 < shift < 8
    found = minimum_detectable_v(association(one_table(table)))[0]
    assert found == pytest.approx(np.sqrt(shift / n) if n > shift else np.nan, nan_ok=True)


@pytest.mark.parametrize(("n", "m"), [(15, 15), (30, 30), (40, 40), (25, 75), (12, 200), (30, 170)])
def test_the_rate_that_an_exchange_of_two_groups_notices_is_noticed_4_times_in_5(n, m):
    """Exactly: every result of both groups, rejected by its own hypergeometric p."""
    first, hits = np.arange(n + 1)[:, None], np.arange(m + 1) + np.arange(n + 1)[:, None]
    apart = np.abs((hits - first) / m - first / n).round(9)
    chance = stats.hypergeom.pmf(first, n + m, hits, n)
    p = np.empty(hits.shape)
    for k in range(n + m + 1):
        at = hits == k
        p[at] = (chance[at] * (apart[at] >= apart[at][:, None])).sum(axis=1)
    found = []
    for others in (0.95, 0.9, 0.7):
        for alpha in (0.05, 0.0225, 0.00225):
            rate = noticed_by_exchange(others, n, m, alpha)
            results = stats.binom.pmf(first, n, rate) * stats.binom.pmf(np.arange(m + 1), m, others)
            found.append(float((results * (p <= alpha)).sum()))
    known = np.array(found)[~np.isnan(found)]
    assert known.size >= 8
    assert ((known >= 0.75) & (known <= 0.9)).all(), found


def test_nothing_is_noticed_where_hits_would_be_rare_or_no_result_rejects():
    assert np.isnan(noticed_by_exchange(0.5, 15, 15, 0.05))  # 0 of 15
    assert np.isnan(noticed_by_exchange(0.9, 3, 3, 0.05))  # 0 and 3 of 3: p is .1
