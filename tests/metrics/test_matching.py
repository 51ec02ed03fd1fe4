"""Match probabilities: every reading against a loop, ties, and what is refused."""

import itertools

import numpy as np
import polars as pl
import pytest

from evenhand import Similarities, metrics
from evenhand.core.errors import ParameterError
from evenhand.metrics.association.matching import READINGS, _best, top_weights
from tests.properties.association_table import PROBABILITY, Material, material

SETS = {"targets": ("X", "Y"), "attributes": ("A", "B")}
SIZES = (9, 8, 7, 8)
each_reading = pytest.mark.parametrize("reading", READINGS)


def loop(values, n, na, k, reading):
    """phi of every image, word by word."""
    signs = [1] * na + [-1] * (values.shape[1] - na)
    phi = []
    for group in (values[:n], values[n:]):
        average = group.mean(axis=0)
        best_of_group = sorted(range(len(signs)), key=lambda w: -average[w])[:k]
        for row in group:
            order = sorted(range(len(signs)), key=lambda w: -row[w])
            if reading == "per_image_joint":
                phi.append(sum(signs[w] * row[w] for w in order[:k]) / k)
            elif reading == "per_image_joint_share":
                phi.append(sum(signs[w] for w in order[:k]) / k)
            elif reading == "per_image_per_set":
                near = sorted(row[:na])[-k:]
                phi.append(np.mean(near) - np.mean(sorted(row[na:])[-k:]))
            else:
                phi.append(sum(signs[w] * row[w] for w in best_of_group) / k)
    return np.array(phi)


@each_reading
@pytest.mark.parametrize("k", [1, 5])
def test_readings_equal_a_loop(reading, k):
    given = material(0, PROBABILITY, shift=0.4)
    finding = metrics.match_association(given.similarities(), **SETS, k=k, reading=reading)
    phi = loop(given.values, 9, 7, k, reading)
    assert finding.value == pytest.approx(phi[:9].mean() - phi[9:].mean(), abs=1e-12)
    assert [part.value for part in finding.parts] == pytest.approx([phi[:9].mean(), phi[9:].mean()])
    assert (finding.params["k"], finding.params["reading"]) == (k, reading)
    scaled = metrics.match_association(given.similarities(), **SETS, k=k, reading=reading, standardised=True)
    assert scaled.value == pytest.approx(finding.value / phi.std(ddof=1))
    assert scaled.params["standardised"] is True


def test_p_is_that_of_all_partitions_of_the_images():
    given = material(1, PROBABILITY, sizes=(5, 4, 6, 6), shift=0.5)
    finding = metrics.match_association(given.similarities(), **SETS, k=4)
    phi = loop(given.values, 5, 6, 4, "per_image_joint")
    null = []
    for chosen in itertools.combinations(range(9), 5):
        inside = np.isin(np.arange(9), chosen)
        null.append(phi[inside].mean() - phi[~inside].mean())
    assert finding.details["p_items"] == pytest.approx(np.mean(np.abs(null) >= abs(null[0]) - 1e-12))


def test_p_of_groups_finds_their_words_anew():
    given = material(2, PROBABILITY, sizes=(4, 4, 5, 5), shift=0.5)
    finding = metrics.match_association(given.similarities(), **SETS, k=3, reading="per_group")
    null = []
    for chosen in itertools.combinations(range(8), 4):
        order = [*chosen, *(i for i in range(8) if i not in chosen)]
        phi = loop(given.values[order], 4, 5, 3, "per_group")
        null.append(phi[:4].mean() - phi[4:].mean())
    exact = np.mean(np.abs(null) >= abs(finding.value) - 1e-12)
    assert finding.details["p_items"] == pytest.approx(exact, abs=0.02)
    paper = metrics.match_association(given.similarities(), **SETS, k=3, reading="per_group", mode="paper")
    assert paper.p_value == paper.details["p_items"]
    assert paper.null.mean == pytest.approx(0, abs=0.01)


def test_tied_words_share_the_last_place():
    weights = top_weights(np.array([[3.0, 1, 1, 1, 0], [2, 2, 2, 2, 2], [5, 4, 3, 2, 1]]), 2)
    np.testing.assert_allclose(weights, [[1, 1 / 3, 1 / 3, 1 / 3, 0], [0.4] * 5, [1, 1, 0, 0, 0]])
    assert top_weights(np.arange(6.0).reshape(2, 3), 3).tolist() == [[1, 1, 1], [1, 1, 1]]
    values = np.array([[0.9, 0.5, 0.5, 0.1], [0.2, 0.2, 0.2, 0.2]])
    targets = {"X": ["x"], "Y": ["y"]}
    given = Material(values, targets, {"A": ["a0", "a1"], "B": ["b0", "b1"]}, PROBABILITY)
    finding = metrics.match_association(given.similarities(), **SETS, k=2)
    # x: .9, and half of each .5, which cancel; y: all cancel
    assert finding.value == pytest.approx(0.45)


@each_reading
def test_more_places_than_words_are_a_reason(reading):
    evidence = material(0, PROBABILITY).similarities()
    most = 7 if reading == "per_image_per_set" else 15
    whole = metrics.match_association(evidence, **SETS, k=most, reading=reading, inference="none")
    assert whole.value is not None
    finding = metrics.match_association(evidence, **SETS, k=most + 1, reading=reading)
    assert (finding.value, finding.reason) == (None, "k_exceeds_pool")
    assert finding.notes == [f"{most} words are fewer than k = {most + 1}"]


@pytest.fixture(scope="module")
def drawn_anew():
    """Evidence of samples of 30 images a group and of six words of each set, all drawn anew."""
    targets = {"X": [f"x{i}" for i in range(30)], "Y": [f"y{i}" for i in range(30)]}
    attributes = {"A": [f"a{i}" for i in range(6)], "B": [f"b{i}" for i in range(6)]}
    shift = np.outer(np.repeat([1, -1], 30), np.repeat([0.6, -0.6], 6))
    drawn = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        values = 1 / (1 + np.exp(-(rng.normal(size=12) + shift + rng.normal(size=(60, 12)))))
        drawn.append(Material(values, targets, attributes, PROBABILITY).similarities())
    return drawn


@pytest.mark.slow
@each_reading
def test_intervals_cover(reading, drawn_anew):
    values, ends = [], []
    for number, evidence in enumerate(drawn_anew):
        inference = "auto" if number < 30 else "none"
        finding = metrics.match_association(evidence, **SETS, k=4, reading=reading, inference=inference)
        values.append(finding.value)
        if number < 30:
            ends.append((finding.interval.low, finding.interval.high))
    (low, high), truth = np.array(ends).T, np.mean(values)
    covered = ((low <= truth) & (truth <= high)).sum()
    width = np.mean(high - low) / (2 * 1.96 * np.std(values))
    print(f"{reading}: {covered} of 30 intervals cover {truth:.4f}, {width:.2f} times as wide as the spread")
    assert covered >= 26
    assert 0.9 < width < 1.9  # which words match best is taken as it is, which widens readings of all words


def test_options_are_checked():
    evidence = material(0, PROBABILITY).similarities()
    with pytest.raises(ParameterError, match="reading='all' is not possible; choose one of"):
        metrics.match_association(evidence, **SETS, reading="all")
    for k in (0, 2.5, True):
        with pytest.raises(ParameterError, match=r"k=.* is not possible; choose a whole number from 1"):
            metrics.match_association(evidence, **SETS, k=k)
    cosines = Similarities.from_vectors({"X": [[1, 2]], "Y": [[2, 1]]}, {"A": [[1, 0]], "B": [[0, 1]]})
    with pytest.raises(ParameterError, match="takes probabilities, not cosines; use association_effect_size"):
        metrics.match_association(cosines, **SETS)


def test_group_means_that_tie_in_exact_arithmetic_share_the_last_place():
    rng = np.random.default_rng(3)
    for _ in range(60):
        tenths = rng.integers(0, 11, (16, 12))
        asked = {**SETS, "k": 4, "reading": "per_group", "inference": "none"}
        finding = metrics.match_association(matched(tenths / 10, 7, 6), **asked)
        assert finding.value == pytest.approx(in_tenths(tenths[:7], 4) - in_tenths(tenths[7:], 4), abs=1e-9)


def in_tenths(group, k):
    """The reading ``per_group`` in whole numbers, six words of A before six of B."""
    total = group.sum(axis=0)
    last = np.sort(total)[::-1][k - 1]
    level = total == last
    weights = (total > last) + level * (k - (total > last).sum()) / level.sum()
    return float((weights * np.where(np.arange(12) < 6, 1, -1) * total).sum() / 10 / len(group) / k)


def matched(values, n, na):
    targets, words = [f"i{at}" for at in range(len(values))], [f"w{at}" for at in range(values.shape[1])]
    pairs = {"sample": np.repeat(targets, len(words)), "candidate": words * len(targets)}
    table = pl.DataFrame({**pairs, "score": values.ravel()}).lazy()
    sets = {"X": targets[:n], "Y": targets[n:]}, {"A": words[:na], "B": words[na:]}
    return Similarities.from_scores(table, *sets)


def test_a_row_of_words_has_the_mean_of_its_best_ones():
    """Each counts by how far it is above the middle of the last that counts and the first that does not."""
    found = _best(np.array([[3.0, 2, 1, 0], [0.0, 5, 5, 1]]), 2)
    np.testing.assert_allclose(found[0], [1.5 + 1.5 * 2, 1.5 + 0.5 * 2, 1.5, 1.5])
    np.testing.assert_allclose(found[1], [3, 3 + 2 * 2, 3 + 2 * 2, 3])
    np.testing.assert_allclose(found.mean(axis=1), [2.5, 5])
