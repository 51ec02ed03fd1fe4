"""Kernels of disparities against exact integers, and against the vectors where they are."""

import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.disparities.candidates import MISS, Candidates, Mistakes
from evenhand.stats.disparities.decomposition import Decomposition
from evenhand.stats.disparities.lines import Lines
from evenhand.stats.disparities.listing import listed
from evenhand.stats.disparities.mid_p import detectable_rate, least_mid_p, mid_p
from evenhand.stats.disparities.testing import compared_lines, tarone
from evenhand.stats.multiplicity import adjust
from tests.conftest import SHARED


@pytest.fixture(scope="module")
def kernels():
    path = SHARED / "vectors" / "disparities" / "kernels.json"
    if not path.is_file():
        pytest.skip(f"needs {path}")
    return json.loads(path.read_text(encoding="utf-8"))


def column(cells, name):
    return np.array([cell[name] for cell in cells])


def chance(x, n, total, hits):
    return Fraction(comb(hits, x) * comb(total - hits, n - x), comb(total, n))


def exact(a, n, total, hits):
    """Doubled mid-p in whole numbers."""
    if a * total < n * hits:
        a, n = hits - a, total - n
    beyond = sum((chance(x, n, total, hits) for x in range(a + 1, min(n, hits) + 1)), Fraction())
    u = chance(a, n, total, hits) + 2 * beyond
    return float(min(u, 2 - u))


def lines_of(cells, groups, **options):
    codes = np.array(sorted(cells), dtype=np.int64).T
    mistakes = Mistakes.of_cells(*codes, codes[3], groups)
    chosen = {"alpha": 0.05, "correction": "bh", **options}
    return mistakes, compared_lines(Candidates.of(mistakes, 5), **chosen)[0]


def test_p_is_that_of_whole_numbers():
    rng = np.random.default_rng(3)
    total = rng.integers(2, 120, 400)
    n, hits = rng.integers(1, total), rng.integers(1, total + 1)
    low, high = np.maximum(0, hits - (total - n)), np.minimum(n, hits)
    a = rng.integers(low, high + 1)
    expected = [exact(*map(int, row)) for row in zip(a, n, total, hits, strict=True)]
    assert mid_p(a, n, total, hits) == pytest.approx(expected, rel=1e-10, abs=1e-300)
    least = [min(exact(int(x), *map(int, row)) for x in ends) for *row, ends in
             zip(n, total, hits, np.stack([low, high], 1), strict=True)]  # fmt: skip
    assert least_mid_p(n, total, hits) == pytest.approx(least, rel=1e-10)


def test_p_of_large_tables_and_far_tails():
    rows = [
        (900, 1000, 10_000, 1000),
        (60, 100, 20_000_000, 4_000_000),
        (500_000, 1_000_000, 2_000_000, 999_000),
    ]
    for a, n, total, hits in rows:
        law = stats.hypergeom(total, hits, n)
        upper = a * total >= n * hits
        u = law.pmf(a) + 2 * (law.sf(a) if upper else law.cdf(a - 1))
        got = mid_p(*(np.array([number]) for number in (a, n, total, hits)))[0]
        assert got == pytest.approx(min(u, 2 - u), rel=1e-6)


def test_p_of_a_group_is_that_of_all_others():
    a, n, total, hits = (np.array(row) for row in ([3, 9, 0], [10, 12, 20], [50, 30, 60], [11, 17, 6]))
    assert mid_p(hits - a, total - n, total, hits).tolist() == mid_p(a, n, total, hits).tolist()


def test_kernels_are_those_of_the_vectors(kernels):
    cells = kernels["cells"]
    a, n, total, hits = (column(cells, name) for name in ("a", "n", "M", "t"))
    assert mid_p(a, n, total, hits) == pytest.approx(column(cells, "p"), rel=1e-7)
    assert least_mid_p(n, total, hits) == pytest.approx(column(cells, "least"), rel=1e-7, abs=1e-300)
    codes = np.zeros(a.size, dtype=np.int64)
    nothing = np.ones(a.size)
    lines = Lines(codes, codes, codes, codes, a, n, hits - a, total - n, nothing, nothing)
    for ends, name in zip(lines.limits, ("low", "high"), strict=True):
        assert ends == pytest.approx(column(cells, name), abs=1e-9)


def test_what_would_have_been_noticed_is_that_of_the_vectors(kernels):
    for case in kernels["detectable"]:
        rate = detectable_rate(case["n"], case["m"], case["b"], case["alpha"], case["power"])
        assert rate == pytest.approx(case["rate"], abs=1e-9)
    assert np.isnan(detectable_rate(5, 5, 1, 1e-9))
    exactly = float(mid_p(*(np.array([number]) for number in (8, 20, 100, 18)))[0])  # a p that can be had
    assert detectable_rate(20, 80, 10, exactly) == pytest.approx(stats.beta.ppf(0.8, 8, 13))
    assert detectable_rate(20, 80, 10, exactly * 0.999) == pytest.approx(stats.beta.ppf(0.8, 9, 12))


def test_tarone_counts_what_can_reach_its_share():
    rng = np.random.default_rng(0)
    for size in (0, 1, 5, 300):
        least = 10 ** -rng.uniform(0, 6, size)
        first = next(k for k in range(1, size + 2) if (least <= 0.05 / k).sum() <= k)
        assert tarone(least, 0.05) == first


def test_dependent_tests_pay_the_harmonic_sum():
    p = np.array([0.001, 0.02, 0.04, np.nan])
    assert adjust(p, "by")[:3] == pytest.approx(np.minimum(adjust(p, "bh")[:3] * (1 + 1 / 2 + 1 / 3), 1))


def test_a_miss_is_compared_beside_two_wrong_labels_and_not_beside_one():
    cells = [(0, 0, 0, 50), (0, 0, 1, 9), (0, 1, 0, 50), (0, 1, 1, 2)]
    assert lines_of(cells, 2)[1].label.tolist() == [1]
    _, lines = lines_of([*cells, (0, 1, 2, 12)], 2)
    assert sorted(lines.label.tolist()) == [MISS, 1, 2]


def test_only_the_first_of_mirror_images_is_listed():
    """Group 0 is hurt, so that 1 and 2 look spared; of two hurt groups of eight, both are listed."""
    for counts, hurt in (((60, 6, 6), [0]), ((60, 50, *[6] * 6), [0, 1])):
        cells = [(0, z, label, k if label else 200 - k) for z, k in enumerate(counts) for label in (0, 1)]
        mistakes, lines = lines_of(cells, len(counts))
        assert (lines.q <= 0.05).all()
        assert not lines.is_more[2:].any()
        assert lines.take(listed(lines, mistakes, alpha=0.05, min_rows=5)).group.tolist() == hurt


def lines_with(p, pair, rates):
    """Lines of one class with such p; a rate above .5 is more often than elsewhere."""
    p, codes, n = np.array(p), np.arange(len(p)), np.full(len(p), 200.0)
    q = adjust(p, "bh")
    return Lines(0 * codes, codes, np.array(pair), np.array(pair), n * np.array(rates), n, n / 2, n, p, q)


@pytest.mark.parametrize(
    ("ways", "lines", "counted"), [("+-----+", 6, 1), ("-+++++-", 6, 1), ("++----+", 7, 3)]
)
def test_mirror_images_do_not_help_another_mistake_to_pass(ways, lines, counted):
    """Seven of 100 lines have q <= .05; the seventh, of another mistake, needs three that count."""
    p = [1e-6, 1e-5, 1e-5, 1e-4, 1e-4, 1e-4, 0.0012, *[0.9] * 93]
    rates = [{"+": 0.8, "-": 0.2}[way] for way in ways] + [0.5] * 93
    compared = lines_with(p, [0] * 6 + [1] + [2] * 93, rates)
    assert (compared.q <= 0.05).sum() == 7
    index, count = compared.beyond(0.05)
    assert (index.tolist(), count) == (list(range(lines)), counted)
    assert compared.selected(index, 0.05).level == pytest.approx(1 - 0.05 * counted / 100)


def test_what_passes_by_its_mirror_image_alone_is_one_line():
    compared = lines_with([0.0009, 0.0009, *[0.9] * 98], [0, 0] + [1] * 98, [0.8, 0.2] + [0.5] * 98)
    assert compared.q[0] <= 0.05 < 100 * compared.p[0]
    index, count = compared.beyond(0.05)
    assert (index.tolist(), count) == ([0], 2)


def test_a_line_that_another_explains_does_not_help_a_third_to_pass():
    """Of three lines a label and its miss say one thing, so that the third needs p of .05 x 2 / 3."""
    planted = [(0, 0, 0, 60), (0, 0, 1, 40), (0, 1, 0, 95), (0, 1, 1, 3), (0, 1, 2, 2)]
    for k, low, high, count in ((9, 0.0335, 0.05, 1), (10, 0.01, 0.033, 2)):
        other = [(1, 0, 1, 100 - k), (1, 0, 2, k), (1, 1, 1, 98), (1, 1, 2, 2)]
        mistakes, lines = lines_of([*planted, *other], 2)
        assert lines.label.tolist() == [1, 2, MISS]
        assert low < lines.p[1] < high
        assert lines.beyond(0.05)[1] == 3
        assert listed(lines, mistakes, alpha=0.05, min_rows=5).tolist() == [0, 1][:count]


def listed_one_by_one(lines, cells):
    """The rule: no line is listed that is not small enough for how many are listed."""
    index, count = lines.beyond(0.05)
    while True:
        selected = unexplained_one_by_one(lines, index.tolist(), count, cells)
        holds = [r for r, i in enumerate(selected, 1) if lines.p[i] <= 0.05 * r / len(lines)]
        if not holds:
            return selected[:1]
        count = holds[-1]
        few = [i for i in index if lines.p[i] <= 0.05 * count / len(lines)]
        if len(few) == len(index):
            return selected
        index = np.array(few)


def unexplained_one_by_one(lines, index, count, cells):
    """Line by line, from the counts of a class, group and label."""
    rows, hits, selected = Counter(), Counter(), []
    for truth, group, label, n in cells:
        rows[truth, group] += n
        for mistake in (label, MISS):
            hits[truth, group, mistake] += n * (label != truth)

    def key(i):
        return tuple(part[i].item() for part in (lines.truth, lines.group, lines.label, lines.is_more))

    def holds(i, out):
        truth, _, label, is_more = key(i)
        a, n = lines.a[i], lines.n[i]
        b = lines.b[i] - sum(hits[truth, group, label] for group in out)
        m = lines.m[i] - sum(rows[truth, group] for group in out)
        if not out or m < 5:
            return not out
        p = mid_p(*(np.array([number]) for number in (a, n, n + m, a + b)))[0]
        return p <= 0.05 * count / len(lines) and (a * m > b * n) == is_more

    for i in index:
        truth, group, label, is_more = key(i)
        rivals = [
            j
            for j, (other_truth, other_group, other_label, way) in ((j, key(j)) for j in selected)
            if other_truth == truth
            and other_group != group
            and way != is_more
            and (label == other_label or MISS in (label, other_label))
        ]
        if holds(i, {key(j)[1] for j in rivals}):
            selected.append(i)
        elif is_more and not any(holds(j, {group}) for j in rivals):
            selected = [j for j in selected if j not in rivals] + [i]

    def by_labels(i):
        truth, group, label, is_more = key(i)
        named = [j for j in selected if key(j) == (truth, group, key(j)[2], is_more) and key(j)[2] != MISS]
        return label == MISS and sum(lines.excess[j] for j in named) >= lines.excess[i] / 2

    return [i for i in index if i in selected and not by_labels(i)]


TWO_LABELS_BESIDE_ONE_MISS = [
    [[73, 11, 11, 4, 7], [162, 24, 38, 4, 3], [90, 5, 2, 3, 15]],
    [[96, 14, 23, 22, 16], [46, 7, 8, 8, 4], [187, 41, 19, 5, 5]],
]

SPARED_OF_A_LABEL_BESIDE_ITS_OWN_MISS = [
    [[34, 0, 1, 5, 0], [33, 5, 9, 16, 0], [33, 9, 15, 0, 0]],
    [[31, 4, 38, 0, 37], [38, 29, 11, 0, 3], [65, 0, 38, 0, 12]],
    [[31, 35, 0, 5, 1], [54, 44, 0, 6, 9], [31, 17, 0, 11, 1]],
]


def tables_that_differ():
    """Of 3 classes, 2 to 7 groups and 5 labels.

    The first two need more than one look at a class's labels; in the third a group has more misses, of which
    one label is less often than elsewhere: neither is the image of the other.
    """
    yield from (np.array([table]) for table in TWO_LABELS_BESIDE_ONE_MISS)
    yield np.array(SPARED_OF_A_LABEL_BESIDE_ITS_OWN_MISS)
    rng = np.random.default_rng(4)
    for _ in range(60):
        chances = rng.dirichlet([40, 3, 3, 3, 1], (3, int(rng.integers(2, 8))))
        yield rng.multinomial(rng.integers(3, 300, chances.shape[:2]), chances)


def test_lines_are_listed_as_by_the_rule_one_by_one():
    compared = 0
    for table in tables_that_differ():
        cells = [(y, z, (y + k) % 5, int(table[y, z, k])) for y, z, k in zip(*table.nonzero(), strict=True)]
        mistakes, lines = lines_of(cells, table.shape[1])
        index = listed(lines, mistakes, alpha=0.05, min_rows=5)
        expected = listed_one_by_one(lines, cells)
        assert index.tolist() == sorted(expected)
        compared += len(expected)
    assert compared > 200


def test_the_order_is_by_certain_rows_or_certain_points():
    codes = np.arange(3)
    a, n, b, m = (
        np.array(row) for row in ([300, 9, 20], [1000, 10, 1000], [100, 20, 300], [1000, 1000, 1000])
    )
    lines = Lines(codes, codes, codes, codes, a, n, b, m, np.full(3, 1e-5), np.full(3, 1e-4))
    assert lines.ranked("rows").tolist() == [0, 1, 2]
    assert lines.ranked("points").tolist() == [1, 0, 2]
    assert lines.certain.tolist() == pytest.approx(
        [n[0] * lines.near[0], n[1] * lines.near[1], m[2] * lines.near[2]]
    )


def test_shares_add_up_to_the_gap():
    rng = np.random.default_rng(8)
    table = rng.integers(1, 30, (4, 6, 6)).astype(float)
    table[0, 5] = table[1:3, 4] = 0  # classes that a group lacks
    table[1:, 3] = 0  # and that only one has
    parts = Decomposition.of(table.sum(axis=2), table.diagonal(axis1=1, axis2=2))
    assert parts.gap == pytest.approx(parts.mix + parts.errors, abs=1e-12)
    for z in range(4):
        wrong = [(y, k) for y in range(6) for k in range(6) if y != k and table[z, y].any()]
        truth, label = np.array([pair for pair in wrong if pair[0] != 3]).T
        counts = table[z, truth, label], table[:, truth, label].sum(axis=0) - table[z, truth, label]
        shares, errors = parts.shares(np.full(truth.size, z), truth, counts)
        assert shares.sum() == pytest.approx(parts.errors[z], abs=1e-12)
        assert (errors > 0).all()


def test_intervals_of_the_parts_hold_their_values():
    """Coverage of 95 % intervals by the delta method, 5 classes, two groups of unlike mix and accuracy."""
    rng, mixes = np.random.default_rng(1), np.array([[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.2, 0.3, 0.3]])
    accuracy = np.array([[0.9, 0.7, 0.8, 0.6, 0.75], [0.92, 0.8, 0.85, 0.7, 0.8]])
    truth = Decomposition.of(mixes * 1e9, mixes * accuracy * 1e9)
    support = rng.multinomial(400, mixes[:, None], (2, 800))
    correct = rng.binomial(support, accuracy[:, None])
    inside = {"mix": 0, "errors": 0, "gap": 0}
    for rows, right in zip(
        support.swapaxes(0, 1).astype(float), correct.swapaxes(0, 1).astype(float), strict=True
    ):
        parts = Decomposition.of(rows, right)
        for name in inside:
            away = abs(getattr(parts, name)[0] - getattr(truth, name)[0])
            inside[name] += away <= 1.96 * getattr(parts, f"{name}_error")[0]
    assert all(0.92 <= count / 800 <= 0.98 for count in inside.values()), inside


def test_nothing_is_compared_in_an_empty_table():
    empty = np.zeros(0, dtype=np.int64)
    mistakes = Mistakes.of_cells(empty, empty, empty, empty, empty, 0)
    lines, divisor = compared_lines(Candidates.of(mistakes, 5), alpha=0.05, correction="bh")
    assert (len(lines), divisor, listed(lines, mistakes, alpha=0.05, min_rows=5).size) == (0, 1, 0)


def test_cells_are_sorted_once_and_never_dense():
    """A million possible labels of a thousand classes; every count is found again."""
    rng = np.random.default_rng(5)
    codes = np.unique(rng.integers(0, (1000, 3, 1_000_000), (20_000, 3)), axis=0)
    n = rng.integers(1, 9, len(codes))
    mistakes = Mistakes.of_cells(*codes.T, n, n, 3)
    is_label = mistakes.pair_label[mistakes.cell_pair] != MISS
    assert mistakes.cell_n[is_label].sum() == n[codes[:, 0] != codes[:, 2]].sum()
    assert all(first <= second for first, second in pairwise(mistakes.truth.tolist()))


def test_errors_of_weighted_parts_are_those_of_leaving_out_each_row():
    """Wrong rows weigh more; the linearised errors are the jackknife's, and do not depend on the scale."""
    rng, n = np.random.default_rng(6), 1200
    group, truth = rng.integers(0, 2, n), rng.integers(0, 3, n)
    right = rng.random(n) < 0.85 - 0.1 * group - 0.1 * (truth == 2)
    weight = rng.lognormal(0, 0.7, n) * np.where(right, 1, 3)

    def tables(w, some):
        cell = (group * 3 + truth)[some]
        return [np.bincount(cell, v[some], minlength=6).reshape(2, 3) for v in (w, w * right)]

    def parts_of(w, some):
        return Decomposition.of(
            *tables(w, some), (*tables(w**2, some), np.bincount(group[some]).astype(float))
        )

    every = np.ones(n, dtype=bool)
    parts, larger = parts_of(weight, every), parts_of(1000 * weight, every)
    without = [parts_of(weight, np.arange(n) != row) for row in range(n)]
    for name in ("gap", "mix", "errors"):
        left_out = np.array([getattr(part, name)[0] for part in without])
        jackknife = np.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
        assert getattr(parts, f"{name}_error")[0] == pytest.approx(jackknife, rel=0.03), name
        assert getattr(larger, f"{name}_error") == pytest.approx(getattr(parts, f"{name}_error"))


def test_weights_of_one_have_the_errors_of_plain_rows_but_for_the_last_row():
    support, correct = np.array([[30.0, 20.0], [25.0, 40.0]]), np.array([[25.0, 15.0], [20.0, 30.0]])
    plain = Decomposition.of(support, correct)
    weighted = Decomposition.of(support, correct, (support, correct, support.sum(axis=1)))
    for name in ("gap_error", "mix_error", "errors_error"):
        assert getattr(weighted, name) == pytest.approx(getattr(plain, name), rel=0.02)
        assert (getattr(weighted, name) > getattr(plain, name)).all()


def test_where_only_all_rows_would_do_the_rate_is_that_at_which_all_are_hits_so_often():
    assert detectable_rate(10, 1_000, 900, alpha=0.9) == pytest.approx(0.8**0.1)
