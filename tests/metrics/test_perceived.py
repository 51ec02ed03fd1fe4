"""Perceived shares: a judge's errors are taken out, and its few labelled samples are in the interval."""

import numpy as np
import polars as pl
import pytest

from evenhand.core.significance import is_beyond
from evenhand.evidence.judged_images import JudgedImages
from evenhand.metrics import perceived_distance, prompt_deviation, prompt_diversity
from evenhand.stats.rates.judged import Judge, corrected, distance_limits, share_draws, total_variation

JUDGE = np.array([[0.85, 0.10, 0.05], [0.08, 0.90, 0.02], [0.10, 0.15, 0.75]])
TRUTH = np.array([0.2, 0.5, 0.3])


def confused(rng, rates, labelled):
    """Counts of labelled samples, abstentions last."""
    return np.pad(rng.multinomial(labelled, rates), ((0, 0), (0, 1)))


def evidence(counts, confusion=None, names="abc", **more):
    """Counts by prompt and category, abstentions last."""
    names = tuple(names[: counts.shape[1] - 1])
    rows = [
        (f"{prompt}-{column}-{number}", f"p{prompt:02}", f"w{prompt % 2}", (*names, None)[column])
        for (prompt, column), n in np.ndenumerate(counts)
        for number in range(n)
    ]
    table = pl.DataFrame(rows, schema=["sample", "prompt", "wording", "category"], orient="row")
    known = None
    if confusion is not None:
        cells = [(names[i], (*names, None)[j], int(n)) for (i, j), n in np.ndenumerate(confusion)]
        known = pl.DataFrame(cells, schema=["true", "judged", "n"], orient="row")
    return JudgedImages.join(table, table.drop("category"), names, confusion=known, **more)


def coverage(rng, believed, runs=250, prompts=25, images=12, labelled=60):
    """How often limits hold the true share of each category, and the true distance from equal shares."""
    hits, equal = np.zeros(4), np.full(3, 1 / 3)
    for _ in range(runs):
        of_prompts = rng.dirichlet(TRUTH * 8, prompts)  # prompts differ; their mean is the truth
        counts = rng.multinomial(images, of_prompts @ JUDGE)
        judge = Judge(np.zeros((3, 4), np.int64) if believed else confused(rng, JUDGE, labelled))
        draws = share_draws(counts, judge.draws(rng, 400), rng)
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        shares = corrected(counts.sum(axis=0) / counts.sum(), judge.rates)
        reach = distance_limits(draws, shares, equal, 0.95)
        hits += [*((low <= TRUTH) & (high >= TRUTH)), reach[0] <= total_variation(TRUTH, equal) <= reach[1]]
    return hits / runs


def test_limits_hold_the_true_shares_of_prompts_like_these_only_with_the_correction():
    assert (coverage(np.random.default_rng(0), believed=False) >= 0.93).all()
    assert coverage(np.random.default_rng(1), believed=True, runs=60).min() < 0.8


def test_two_categories_are_those_of_rogan_and_gladen():
    named, known = np.array([[620, 380, 0]]), np.array([[540, 60, 0], [100, 700, 0]])
    sensitivity, specificity, q = 540 / 600, 700 / 800, 0.62
    youden = sensitivity + specificity - 1
    share = (q + specificity - 1) / youden
    variance = (
        q * (1 - q) / 1000
        + share**2 * sensitivity * (1 - sensitivity) / 600
        + (1 - share) ** 2 * specificity * (1 - specificity) / 800
    ) / youden**2
    finding = perceived_distance(evidence(named, known))
    first = finding.parts[0]
    assert first.value == pytest.approx(share)
    assert finding.value == pytest.approx(abs(share - 0.5))
    assert finding.details["uncorrected"] == pytest.approx(0.12)
    assert (first.interval.high - first.interval.low) / 2 == pytest.approx(1.96 * variance**0.5, rel=0.08)
    fewer = perceived_distance(evidence(named, known // 20))
    assert fewer.interval.high - fewer.interval.low > 1.5 * (finding.interval.high - finding.interval.low)


def test_the_deviation_of_a_fair_coin_with_nine_images_is_not_nought():
    rng = np.random.default_rng(3)
    counts = np.pad(rng.multinomial(9, [0.5, 0.5], size=60), ((0, 0), (0, 1)))
    finding = prompt_deviation(evidence(counts))
    by_hand = np.mean([np.mean(np.abs(row / row.sum() - 0.5)) for row in counts[:, :2]])
    assert finding.value == pytest.approx(by_hand)
    assert finding.chance_at == pytest.approx(0.137, abs=0.002)
    assert finding.details["excess"] == pytest.approx(by_hand - finding.chance_at)
    assert not is_beyond(finding)
    men = np.array([[9, 0, 0], [8, 1, 0], [9, 0, 0], [0, 9, 0], [7, 2, 0], [9, 0, 0]])
    assert is_beyond(prompt_deviation(evidence(men)))
    assert prompt_deviation(evidence(men[:1])).value == 0.5  # the bound of two categories
    believed, known = (prompt_deviation(evidence(men, rows)) for rows in (None, [[38, 2, 0], [2, 38, 0]]))
    assert known.value > believed.value + 0.01
    entropy = [-(p * np.log2(p) + (1 - p) * np.log2(1 - p)) if 0 < p < 1 else 0 for p in men[:, 0] / 9]
    assert prompt_diversity(evidence(men)).value == pytest.approx(np.mean(entropy))


def test_images_that_show_the_reference_are_beyond_chance_in_few_of_many_draws():
    rng, false = np.random.default_rng(4), []
    for _ in range(40):
        known = confused(rng, np.array([[0.85, 0.15], [0.1, 0.9]]), 50)
        counts = np.pad(rng.multinomial(9, [0.475, 0.525], size=12), ((0, 0), (0, 1)))
        table = evidence(counts, known)
        false.append([is_beyond(metric(table)) for metric in (perceived_distance, prompt_deviation)])
    assert (np.mean(false, axis=0) <= 0.1).all()


def test_what_cannot_be_corrected_is_undefined_and_says_why():
    counts = np.array([[5, 4, 0], [3, 6, 0], [4, 4, 1]])
    coin, once = np.array([[10, 10, 0], [10, 10, 0]]), np.array([[6, 4, 0], [5, 5, 0]])
    for known in (coin, once, np.array([[9, 1, 0], [0, 0, 0]])):
        finding = perceived_distance(evidence(counts, known))
        assert (finding.value, finding.reason, finding.p_value) == (None, "judge_at_chance", None)
    silent = evidence(counts, np.array([[19, 1, 0], [1, 19, 0]]))
    assert prompt_deviation(silent).reason == "judge_abstains"
    spoken = perceived_distance(evidence(counts, np.array([[18, 1, 1], [1, 19, 0]])))
    assert spoken.value is not None
    empty = evidence(np.array([[0, 0, 3]]))
    assert (prompt_diversity(empty).value, prompt_diversity(empty).reason) == (None, "empty")
    believed = perceived_distance(evidence(counts))
    assert (believed.n, [(d.reason, d.count) for d in believed.dropped]) == (
        26, [("image that the judge says nothing of", 1)]
    )  # fmt: skip


def test_a_judge_that_abstains_on_some_only_is_corrected_for_it():
    rates = np.array([[0.6, 0.0, 0.4], [0.0, 1.0, 0.0]])  # it is silent about two in five of the first
    counts = np.round(1000 * np.array([[0.5, 0.5]]) @ rates).astype(int)
    finding = perceived_distance(evidence(counts, np.round(500 * rates).astype(int)))
    assert finding.value == pytest.approx(0, abs=1e-9)
    assert finding.details["uncorrected"] == pytest.approx(0.125)


def test_a_reference_of_each_prompt_takes_the_place_of_equal_shares():
    counts = np.array([[9, 0, 0], [0, 9, 0]])
    shares = pl.DataFrame(
        {"prompt": ["p00", "p00", "p01", "p01"], "category": ["a", "b"] * 2, "share": [1.0, 0.0, 0.0, 1.0]}
    )
    assert prompt_deviation(evidence(counts, reference=shares)).value == 0
    assert prompt_deviation(evidence(counts)).value == 0.5
    by = prompt_deviation(evidence(counts), by="wording")
    assert [(part.key, part.value, part.n) for part in by.parts] == [("w0", 0.5, 9), ("w1", 0.5, 9)]


def test_the_draws_of_a_judge_have_the_means_of_jeffreys_prior():
    draws = Judge(np.array([[3, 1, 0], [0, 4, 0]])).draws(np.random.default_rng(0), 20_000)
    expected = np.array([[3.5, 1.5, 0], [0.5, 4.5, 0]]) / 5
    np.testing.assert_allclose(draws.mean(axis=0), expected, atol=0.005)
