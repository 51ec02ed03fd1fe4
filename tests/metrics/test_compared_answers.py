"""Differences of findings of answers: what a finding of one holds."""

import numpy as np
import pytest
from scipy import stats

from evenhand.core.cards import Source
from evenhand.core.findings import Dropped, Finding, GroupSize
from evenhand.metrics.catalogue import known_cards
from evenhand.metrics.differences.answers import ALIKE, AnsweredBoth, PartOf, answer_difference
from evenhand.stats.paired.sums import PairedSums, Summary

CARDS = known_cards()

MEAN = Summary("weights", (0,), (1.0,))


def plain(name="harmful_association_rate", by=("gender",)):
    return Finding(
        metric=name, name=name, params={"threshold": 0.1}, by=list(by), value=0.5, n=40.0,
        direction="lower is fairer", source=Source(paper="p"), benchmark="indicators/label_association",
    )  # fmt: skip


def sums(first, second, summaries=(MEAN,)):
    first, second = (np.asarray(one, float).reshape(len(first), -1) for one in (first, second))
    size = np.ones(first.shape)
    return PairedSums.of(first, second, size, np.zeros(len(first), int), summaries)


def both(first, second, **more):
    return AnsweredBoth(plain(), sums(first, second), "sample", len(first), **more)


@pytest.fixture(scope="module")
def better():
    first = np.zeros(40)
    first[:4] = 1
    return both(first, np.r_[np.ones(20), np.zeros(20)], dropped=(Dropped(reason="no answer", count=3),))


def test_a_difference_holds_what_its_finding_is_called_and_both_values(better):
    found = answer_difference(better, names=("a", "b"))
    assert found.name == "harmful_association_rate_difference"
    assert found.params == {"threshold": 0.1, "model": "a", "reference": "b"}
    assert (found.model, found.reference, found.by) == ("a", "b", ["gender"])
    assert found.value == pytest.approx(0.1 - 0.5)
    assert (found.details["first"], found.details["second"]) == (0.1, 0.5)
    assert found.details["metric_direction"] == "lower is fairer"
    assert (found.fair_at, found.n) == (0.0, 40.0)
    assert found.dropped == [Dropped(reason="no answer", count=3)]
    assert found.interval.low < found.value < found.interval.high < 0
    assert found.null.low < 0 < found.null.high
    assert found.p_value <= 0.005  # exactly 2 of 65,536 exchanges are as far from 0
    assert found.mde > 0


def test_the_same_seed_gives_the_same_finding(better):
    one, again = (answer_difference(better, names=("a", "b"), seed=3) for _ in range(2))
    assert one == again


def test_a_larger_family_needs_a_larger_difference(better):
    alone, many = (answer_difference(better, family=family) for family in (1, 500))
    assert alone.p_value == many.p_value
    assert many.mde > alone.mde


def test_a_value_that_another_finding_tested_has_no_p_of_its_own(better):
    found = answer_difference(better, tested=False)
    assert (found.p_value, found.mde) == (None, None)
    assert found.interval is not None


def test_no_value_for_one_model_is_none_with_the_reason():
    empty = AnsweredBoth(plain(), _empty(), "sample", 0)
    found = answer_difference(empty, names=("a", "b"))
    assert (found.value, found.p_value, found.interval) == (None, None, None)
    assert found.reason == "no value for a and b"


def _empty():
    zero = np.zeros((3, 1))
    return PairedSums.of(zero, zero, zero, np.zeros(3, int), (MEAN,))


def test_models_that_agree_everywhere_differ_by_0_with_p_1():
    found = answer_difference(both([1, 0, 1, 1], [1, 0, 1, 1]))
    assert (found.value, found.p_value) == (0.0, 1.0)
    assert found.interval.low < 0 < found.interval.high


def test_numbers_that_are_no_shares_have_t_over_units():
    first, second = np.array([1.0, 2.5, 0.5, 3.0, 2.0]), np.array([0.5, 2.0, 0.5, 1.5, 1.5])
    found = answer_difference(both(first, second))
    wanted = stats.ttest_rel(first, second)
    low, high = wanted.confidence_interval()
    assert (found.interval.low, found.interval.high) == pytest.approx((low, high))
    assert found.p_value == pytest.approx(wanted.pvalue, rel=2e-3)


def test_numbers_that_never_differ_have_no_interval_and_a_note():
    found = answer_difference(both([1.5, 2.5, 3.0], [1.5, 2.5, 3.0]))
    assert (found.value, found.interval, found.p_value) == (0.0, None, 1.0)
    assert found.notes == [ALIKE]


def test_one_unit_cannot_tell_models_apart():
    found = answer_difference(both([1], [0]))
    assert found.p_value == 1.0
    assert "single unit" in found.notes[0]


def test_parts_have_their_own_p_corrected_among_them():
    rng = np.random.default_rng(0)
    inside = np.repeat([0, 1], 50)
    size = np.eye(2)[inside]
    first = size * (rng.random(100) < np.where(inside, 0.9, 0.5))[:, None]
    second = size * (rng.random(100) < np.where(inside, 0.2, 0.5))[:, None]
    summaries = tuple(Summary("weights", (g,), (1.0,)) for g in (0, 1))
    inner = PairedSums.of(first, second, size, inside, summaries)
    parts = tuple(PartOf("gender", key, 50) for key in ("f", "m"))
    groups = (GroupSize(key="f", n=50), GroupSize(key="m", n=50))
    whole = sums(first.sum(axis=1), second.sum(axis=1))
    made = AnsweredBoth(plain(), whole, "person", 100, parts, inner, "person", groups)
    found = answer_difference(made)
    assert [part.key for part in found.parts] == ["f", "m"]
    for at, part in enumerate(found.parts):
        rows = inside == at
        assert part.value == pytest.approx(first[rows].sum() / 50 - second[rows].sum() / 50)
        assert part.details["first"] == pytest.approx(first[rows].sum() / 50)
        assert part.p_adjusted >= part.p_value
    assert found.parts[0].p_adjusted > 0.05 > found.parts[1].p_adjusted
    assert found.groups == list(groups)


def test_ranges_of_two_fair_models_of_unequal_rates_do_not_differ():
    rng = np.random.default_rng(1)
    size = np.eye(3)[rng.integers(3, size=150)]
    for _ in range(3):
        one, other = (size * (rng.random(150) < share)[:, None] for share in (0.97, 0.5))
        kernel = PairedSums.of(one, other, size, size.argmax(axis=1), (Summary("range", (0, 1, 2)),))
        found = answer_difference(AnsweredBoth(plain(), kernel, "sample", 150))
        assert found.interval.low <= min(found.value, 0) <= max(found.value, 0) <= found.interval.high
        assert found.p_value > 0.05


def test_whole_units_are_fewer_than_their_samples():
    rng = np.random.default_rng(3)
    yes = np.repeat(rng.random((8, 2)) < 0.5, 10, axis=0)  # eight persons, each always answered alike
    singly = PairedSums.of(yes[:, :1] * 1.0, yes[:, 1:] * 1.0, np.ones((80, 1)), np.zeros(80, int), (MEAN,))
    sums = yes.reshape(8, 10, 2).sum(axis=1).astype(float)
    whole = PairedSums.of(sums[:, :1], sums[:, 1:], np.full((8, 1), 10.0), np.zeros(8, int), (MEAN,))
    found = [answer_difference(AnsweredBoth(plain(), one, "person", 80)) for one in (singly, whole)]
    assert found[0].value == found[1].value
    widths = [one.interval.high - one.interval.low for one in found]
    assert widths[1] > 2 * widths[0]


@pytest.mark.parametrize("name", ["resolution_gap", "household_hit_gap", "ndkl", "match_association"])
def test_every_metric_of_answers_has_a_difference(name):
    known = CARDS[f"{name}_difference"]
    assert (known.direction, known.fair_at) == ("descriptive", 0.0)
    assert known.source.paper == CARDS[name].source.paper
