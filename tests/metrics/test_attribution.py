"""Words of the first places: every reading against a loop, ties, the null, and the table."""

from fractions import Fraction
from math import comb

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand import Similarities, metrics
from evenhand.core.errors import ParameterError
from evenhand.metrics.association.nearest_words import READINGS, attribution_table
from tests.properties.association_table import Material, material

SETS = {"target": "X", "attributes": ("A", "B")}
each_reading = pytest.mark.parametrize("reading", READINGS)


def loop(values, reading, scale):
    """What a group says of each word."""
    if reading == "cosine":
        return values.mean(axis=0)
    said = np.zeros(values.shape[1])
    for row in values:
        if reading == "argmax":
            said[row.argmax()] += 1 / len(values)
        else:
            weight = np.exp(scale * row)
            said += weight / weight.sum() / len(values)
    return said


@each_reading
def test_readings_equal_a_loop(reading):
    given = material(0, sizes=(60, 5, 7, 8))
    finding = metrics.pleasant_at_k(given.similarities(), **SETS, k=4, reading=reading, scale=20)
    values = loop(given.values[:60], reading, 20)
    names = [*given.attributes["A"], *given.attributes["B"]]
    order = sorted(range(15), key=lambda w: -values[w])[:4]
    assert [part.key for part in finding.parts] == [names[w] for w in order]
    assert [part.value for part in finding.parts] == pytest.approx([values[w] for w in order])
    ranks = [1 + np.sum(values > values[w] + 1e-12) for w in order]
    assert [part.details["rank"] for part in finding.parts] == ranks
    assert [part.details["set"] for part in finding.parts] == ["AB"[w >= 7] for w in order]
    assert finding.value == pytest.approx(sum(w >= 7 for w in order) / 4)
    assert finding.params.get("scale") == (20 if reading == "softmax" else None)


def test_the_null_is_hypergeometric():
    given = material(1, sizes=(12, 5, 7, 8), shift=1.5)
    finding = metrics.pleasant_at_k(given.similarities(), **SETS, k=5)
    chance = {h: comb(8, h) * comb(7, 5 - h) / comb(15, 5) for h in range(6)}
    far = [p for h, p in chance.items() if abs(h / 5 - 8 / 15) >= abs(finding.value - 8 / 15) - 1e-12]
    assert finding.p_value == pytest.approx(sum(far))
    assert finding.null.mean == pytest.approx(8 / 15)
    inside = sum(p for h, p in chance.items() if finding.null.low <= h / 5 <= finding.null.high)
    assert inside >= 0.95
    for k in (4, 5):
        null = metrics.pleasant_at_k(given.similarities(), **SETS, k=k).null
        assert (null.low, null.high) == tuple(stats.hypergeom(15, 8, k).ppf([0.025, 0.975]) / k)


def test_limits_that_no_resample_moves_leave_one_word_either_way():
    values = np.tile(np.r_[np.linspace(0.1, 0.2, 7), np.linspace(0.3, 0.6, 8)], (20, 1))
    words = {"A": range(7), "B": range(7, 15)}
    names = [f"w{place}" for place in range(15)]
    given = Similarities(
        values, [f"i{row}" for row in range(20)], names, {"X": np.arange(20)},
        {name: np.array(places) for name, places in words.items()},
    )  # fmt: skip
    finding = metrics.pleasant_at_k(given, **SETS, k=10)
    assert finding.value == pytest.approx(0.8)
    assert (finding.interval.low, finding.interval.high) == pytest.approx((0.7, 0.9))


def test_a_model_that_says_all_words_equally_has_the_share_of_the_set():
    given = material(2)
    flat = Material(np.full_like(given.values, 0.2), given.targets, given.attributes, "cosine")
    finding = metrics.pleasant_at_k(flat.similarities(), **SETS, k=5)
    assert finding.value == pytest.approx(8 / 15)
    assert finding.p_value == 1
    assert len(finding.parts) == 15  # all may have a place


def test_words_of_both_sets_are_left_out_and_counted():
    table = pl.DataFrame(
        {"sample": list("uvwxyz"), "vector": np.random.default_rng(0).normal(size=(6, 4))}
    ).lazy()
    evidence = Similarities.from_embeddings(
        table, {"X": ["u", "v"]}, table, {"A": ["w", "x"], "B": ["x", "y", "z"]}
    )
    finding = metrics.pleasant_at_k(evidence, **SETS, k=2)
    assert finding.details["words"] == 3
    assert {part.key for part in finding.parts} <= set("wyz")
    assert {one.reason: one.count for one in finding.dropped} == {"word of both sets": 1}
    table = attribution_table(evidence, ["X"], ("A", "B"))
    assert set(table["word"]) == set("wyz")


def test_a_large_scale_turns_softmax_into_argmax_without_overflow():
    given = material(3, sizes=(300, 5, 7, 8))
    soft, hard = (
        {p.key: p.value for p in metrics.pleasant_at_k(given.similarities(), **SETS, k=5, **more).parts}
        for more in ({"scale": 1e6}, {"reading": "argmax"})
    )
    assert soft == pytest.approx(hard)


def test_the_table_holds_every_word_in_order():
    given = material(4)
    evidence = given.similarities()
    table = attribution_table(evidence, ["X", "Y"], ("A", "B"), readings=("cosine", "softmax"), scale=30)
    assert table.columns == ["group", "reading", "rank", "word", "sentiment", "value"]
    assert len(table) == 2 * 2 * 15
    one = table.filter(pl.col("group") == "Y", pl.col("reading") == "softmax")
    assert one["rank"].to_list() == list(range(1, 16))
    assert one["value"].to_list() == sorted(one["value"], reverse=True)
    assert one["value"].sum() == pytest.approx(1)
    first = metrics.pleasant_at_k(evidence, target="Y", attributes=("A", "B"), k=3, scale=30)
    assert one["word"].to_list()[:3] == [part.key for part in first.parts]
    assert set(one.filter(pl.col("word").str.starts_with("b"))["sentiment"]) == {"B"}


def test_a_group_without_images_has_no_rows():
    evidence = material(0, sizes=(0, 5, 6, 6)).similarities()
    assert attribution_table(evidence, ["X"], ("A", "B")).is_empty()


def test_more_places_than_words_are_a_reason():
    finding = metrics.pleasant_at_k(material(0).similarities(), **SETS, k=16)
    assert (finding.value, finding.reason) == (None, "k_exceeds_pool")


def test_options_are_checked():
    evidence = material(0).similarities()
    with pytest.raises(ParameterError, match="reading='top' is not possible; choose one of 'softmax'"):
        metrics.pleasant_at_k(evidence, **SETS, reading="top")
    for scale in (0, -1, float("nan")):
        with pytest.raises(ParameterError, match=r"scale=.* is not possible; give the model's logit scale"):
            metrics.pleasant_at_k(evidence, **SETS, scale=scale)
    with pytest.raises(ParameterError, match=r"target=\['X'\] is not possible; name one set"):
        metrics.pleasant_at_k(evidence, target=["X"], attributes=("A", "B"))


@pytest.mark.parametrize("reading", ["cosine", "argmax"])
def test_words_that_tie_by_their_sums_tie_in_spite_of_rounding(reading):
    rng = np.random.default_rng(3)
    for _ in range(60):
        whole = rng.integers(-5, 6, (7, 12))
        evidence = Similarities.from_scores(
            pl.DataFrame(
                [(f"t{i}", f"w{j}", whole[i, j] / 10) for i in range(7) for j in range(12)],
                schema=["sample", "candidate", "score"],
                orient="row",
            ).lazy(),
            {"X": [f"t{i}" for i in range(7)]},
            {"A": [f"w{j}" for j in range(6)], "B": [f"w{j}" for j in range(6, 12)]},
            kind="cosine",
        )
        sums = [Fraction(0)] * 12
        for row in whole.tolist():
            nearest = [j for j in range(12) if row[j] == max(row)]
            for j in range(12):
                shared = Fraction(int(j in nearest), len(nearest))
                sums[j] += row[j] if reading == "cosine" else shared
        last = sorted(sums)[-4]
        above, level = sum(one > last for one in sums), sum(one == last for one in sums)
        chances = [1 if one > last else Fraction(4 - above, level) if one == last else 0 for one in sums]
        found = metrics.pleasant_at_k(evidence, **SETS, k=4, reading=reading, inference="none")
        assert found.value == pytest.approx(float(sum(chances[6:])) / 4, abs=1e-12)
        ranks = {f"w{j}": 1 + sum(one > sums[j] for one in sums) for j in range(12)}
        assert {part.key: part.details["rank"] for part in found.parts} == {
            name: rank for name, rank in ranks.items() if chances[int(name[1:])]
        }


def test_limits_are_quantiles_of_images_drawn_again():
    given = material(4, sizes=(40, 5, 7, 8))
    finding = metrics.pleasant_at_k(given.similarities(), **SETS, k=5)
    rng, shares = np.random.default_rng(0), []
    for _ in range(2_000):
        means = given.values[:40][rng.integers(0, 40, 40)].mean(axis=0)
        shares.append((np.argsort(-means)[:5] >= 7).mean())
    low, high = np.quantile(shares, [0.025, 0.975])
    assert low < high
    assert (finding.interval.low, finding.interval.high) == pytest.approx((low, high))
