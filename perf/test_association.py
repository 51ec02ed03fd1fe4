"""Association tests: exact p, sampled p, leave-one-out and the two-way bootstrap beside plain loops."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest
from measuring import best, seconds, show
from scipy import stats

from evenhand.stats.association.effect_size import (
    associations,
    effect_size,
    leave_one_attribute_out,
    leave_one_out,
)
from evenhand.stats.association.permutation import permutation_test

LOOPED = 1_000  # permutations of the plain loop, which is scaled up


def drawn(n: int, m: int, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    return rng.normal(0.02, 0.03, n), rng.normal(0, 0.03, m)


def plain_loop(x: Any, y: Any, draws: int) -> float:
    """As released code does it: shuffle, split, compare, one after the other."""
    rng = np.random.default_rng(1)
    both, observed, hits = np.concatenate([x, y]), x.sum() - y.sum(), 0
    for _ in range(draws):
        rng.shuffle(both)
        hits += both[: x.size].sum() - both[x.size :].sum() >= observed
    return (1 + hits) / (1 + draws)


def test_exact_p_of_20_against_20(benchmark: Any) -> None:
    x, y = drawn(20, 20)
    took, sampled = seconds(lambda: plain_loop(x, y, LOOPED))
    found = benchmark.pedantic(permutation_test, (x, y), {"rng": np.random.default_rng(0)}, rounds=5)
    assert found.partitions == comb(40, 20)
    assert found.right == pytest.approx(sampled, abs=0.05)
    every = took / LOOPED * comb(40, 20)
    show("exact p, 20 v 20 (1.4e11 partitions)", best(benchmark), every, "loop over all", "1e6x")
    assert every / best(benchmark) >= 1e6
    show("exact p, 20 v 20", best(benchmark), took * 100, "loop over 100,000", "2x")
    assert took * 100 / best(benchmark) >= 2


def test_exact_p_beside_scipys_enumeration(benchmark: Any) -> None:
    x, y = drawn(8, 8)

    def reference() -> Any:
        return stats.permutation_test(
            (x, y),
            lambda a, b, axis: a.sum(axis) - b.sum(axis),
            vectorized=True,
            alternative="greater",
            n_resamples=np.inf,
            batch=4096,
        )

    took, known = seconds(reference, rounds=3)
    permutation_test(x, y, rng=np.random.default_rng(0))  # first use imports
    found = benchmark.pedantic(permutation_test, (x, y), {"rng": np.random.default_rng(0)}, rounds=9)
    assert found.right == pytest.approx(known.pvalue, abs=1e-12)
    show("exact p, 8 v 8", best(benchmark), took, "scipy.stats.permutation_test", "5x")
    assert took / best(benchmark) >= 5


def test_100_000_sampled_permutations_of_250_against_250(benchmark: Any) -> None:
    x, y = drawn(250, 250)
    took, _ = seconds(lambda: plain_loop(x, y, LOOPED))
    found = benchmark.pedantic(permutation_test, (x, y), {"rng": np.random.default_rng(0)}, rounds=5)
    assert (found.method, found.partitions) == ("sampled", 100_000)
    assert found.right == pytest.approx(found.normal_right, abs=0.01)
    every = took * 100_000 / LOOPED
    show("100,000 permutations, 250 v 250", best(benchmark), every, "loop", "3x")
    assert every / best(benchmark) >= 3
    known, _ = seconds(
        lambda: stats.permutation_test(
            (x, y),
            lambda a, b, axis: a.sum(axis) - b.sum(axis),
            vectorized=True,
            n_resamples=10_000,
            batch=1000,
        )
    )
    show("the same", best(benchmark), 10 * known, "scipy.stats.permutation_test", "3x")
    assert 10 * known / best(benchmark) >= 3


def test_leaving_each_out(benchmark: Any) -> None:
    rng = np.random.default_rng(0)
    values = rng.uniform(-1, 1, (500, 120))
    x, y, a, b = np.arange(250), np.arange(250, 500), np.arange(60), np.arange(60, 120)

    def again() -> Any:
        phi = associations(values, a, b)
        found = [effect_size(np.delete(phi[x], i), phi[y]) for i in range(250)]
        found += [effect_size(phi[x], np.delete(phi[y], i)) for i in range(250)]
        for j in range(120):
            phi = associations(values, a[a != j], b[b != j])
            found.append(effect_size(phi[x], phi[y]))
        return np.array(found)

    def ours() -> Any:
        phi = associations(values, a, b)
        return np.r_[leave_one_out(phi[x], phi[y]), leave_one_attribute_out(values, x, y, a, b)]

    took, expected = seconds(again, rounds=3)
    found = benchmark.pedantic(ours, rounds=7)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    show("d without each of 500 targets and 120 attributes", best(benchmark), took, "all again", "5x")
    assert took / best(benchmark) >= 5
