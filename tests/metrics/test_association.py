"""Association tests: published vectors, naive loops, what details mean, tables, families, paper mode."""

import dataclasses
import json
from collections import Counter
from itertools import combinations
from math import comb

import numpy as np
import polars as pl
import pytest

from evenhand import Similarities, metrics
from evenhand.benchmarks.mmbias.data.families import families_of
from evenhand.core.errors import ParameterError, UserError
from evenhand.core.significance import significance_of
from evenhand.display.text.reasons import REASONS
from evenhand.metrics.association.tables import association_tables
from evenhand.metrics.suites.families import adjust_run
from tests.conftest import SHARED
from tests.properties.association_table import material
from tests.properties.metric_table import check_finding

SETS = {"targets": ("X", "Y"), "attributes": ("A", "B")}
COMPARED = ("association_effect_size", "association_difference")


def naive(values, n, na, ddof=1):
    phi = np.array([row[:na].mean() - row[na:].mean() for row in values])
    return (phi[:n].mean() - phi[n:].mean()) / phi.std(ddof=ddof)


def vectors(seed=0, sizes=(6, 7, 5, 4), width=9, shift=0.4):
    rng = np.random.default_rng(seed)
    names = ("X", "Y", "A", "B")
    found = {name: rng.normal(size=(size, width)) for name, size in zip(names, sizes, strict=True)}
    for name, sign in zip(names, (1, -1, 1, -1), strict=True):
        found[name][:, 0] += sign * shift
    return {"X": found["X"], "Y": found["Y"]}, {"A": found["A"], "B": found["B"]}


def similarities(**more):
    return Similarities.from_vectors(*vectors(**more), form="textual")


@pytest.fixture(scope="module")
def published():
    folder = SHARED / "vectors" / "mmbias"
    if not folder.is_dir():
        pytest.skip(f"needs {folder}")
    cases = json.loads((folder / "association.json").read_text())["cases"]
    with np.load(folder / "association.npz") as arrays:
        return [(case, {key: arrays[f"{case['name']}/{key}"] for key in "XYAB"}) for case in cases]


def test_published_vectors(published):
    for case, arrays in published:
        evidence = Similarities.from_vectors(
            {key: arrays[key] for key in "XY"}, {key: arrays[key] for key in "AB"}
        )
        for ddof in (0, 1):
            finding = metrics.association_effect_size(evidence, **SETS, ddof=ddof)
            assert finding.value == pytest.approx(case[f"effect_size_ddof{ddof}"], abs=1e-12)
        assert finding.details["p_right"] == pytest.approx(case["p_right_exact"], abs=1e-12)
        assert finding.details["p_left"] == pytest.approx(case["p_left_exact"], abs=1e-12)
        assert finding.details["p_items"] == pytest.approx(case["p_two_exact"], abs=1e-12)
        assert finding.details["partitions"] == case["n_partitions"]
        assert finding.details["method"] == "exact"
        plain = metrics.association_difference(evidence, **SETS)
        assert plain.value == pytest.approx(case["mean_diff"], abs=1e-12)
        table = association_tables(evidence, [("X", "Y", "A", "B")])["single_category"]
        for name in "XY":
            items = table.filter(pl.col("set") == name, pl.col("item").is_not_null()).to_dicts()
            found = [
                by["effect_size"] for by in sorted(items, key=lambda row: int(row["item"].split("/")[1]))
            ]
            assert found == pytest.approx(case[f"sc_weat_ddof1_{name}"], abs=1e-12)


def test_what_the_details_mean():
    evidence = similarities()
    finding = metrics.association_effect_size(evidence, **SETS)
    phi = evidence.values[:, :5].mean(axis=1) - evidence.values[:, 5:].mean(axis=1)
    x, y = phi[:6], phi[6:]
    details = finding.details
    assert finding.value == pytest.approx(naive(evidence.values, 6, 5), abs=1e-12)
    assert details["difference"] == pytest.approx(x.mean() - y.mean())
    pooled = np.sqrt((5 * x.var(ddof=1) + 6 * y.var(ddof=1)) / 11)
    assert details["cohens_d"] == pytest.approx((x.mean() - y.mean()) / pooled)
    assert details["auc"] == pytest.approx(np.mean(x[:, None] > y))
    assert details["bound"] == pytest.approx(13 / np.sqrt(42) * np.sqrt(12 / 13))
    assert details["point_biserial"] == pytest.approx(np.corrcoef(phi, [1] * 6 + [0] * 7)[0, 1])
    assert details["z"] == pytest.approx(finding.value * np.sqrt(42 / 13))
    assert [part.value for part in finding.parts] == pytest.approx([x.mean(), y.mean()])
    assert [part.details["sd"] for part in finding.parts] == pytest.approx([x.std(ddof=1), y.std(ddof=1)])


def test_p_and_null_are_those_of_all_partitions():
    evidence = similarities()
    phi = evidence.values[:, :5].mean(axis=1) - evidence.values[:, 5:].mean(axis=1)
    null = []
    for chosen in combinations(range(13), 6):
        inside = np.isin(np.arange(13), chosen)
        null.append(phi[inside].mean() - phi[~inside].mean())
    null = np.array(null)
    observed = null[0]
    finding = metrics.association_difference(evidence, **SETS)
    assert finding.details["partitions"] == comb(13, 6)
    assert finding.details["p_right"] == pytest.approx(np.mean(null >= observed - 1e-12))
    assert finding.details["p_items"] == pytest.approx(np.mean(np.abs(null) >= abs(observed) - 1e-12))
    paper = metrics.association_difference(evidence, **SETS, mode="paper")
    assert (paper.null.low, paper.null.high) == pytest.approx(tuple(np.quantile(null, [0.025, 0.975])))
    assert paper.null.method == "all partitions of the targets"
    effect = metrics.association_effect_size(evidence, **SETS, mode="paper")
    assert effect.null.high == pytest.approx(paper.null.high / phi.std(ddof=1))
    for side, p in (("greater", "p_right"), ("less", "p_left")):
        found = metrics.association_difference(evidence, **SETS, alternative=side)
        assert found.details["p_items"] == effect.details[p]


@pytest.mark.parametrize("ddof", [0, 1])
def test_the_null_of_many_items_has_the_exact_spread(ddof):
    evidence = similarities(sizes=(40, 30, 5, 4), seed=3)
    finding = metrics.association_effect_size(evidence, **SETS, ddof=ddof, mode="paper")
    phi = evidence.values[:, :5].mean(axis=1) - evidence.values[:, 5:].mean(axis=1)
    rng, draws = np.random.default_rng(0), []
    for _ in range(4_000):
        mixed = rng.permutation(phi)
        draws.append((mixed[:40].mean() - mixed[40:].mean()) / phi.std(ddof=ddof))
    assert finding.null.high / 1.96 == pytest.approx(np.std(draws), rel=0.05)
    assert finding.details["method"] == "sampled"
    assert finding.details["partitions"] == 100_000
    assert finding.p_value == pytest.approx(finding.details["p_right_normal"], abs=0.01)


@pytest.mark.parametrize("name", COMPARED)
def test_the_range_without_one_item_is_that_of_full_recomputations(name):
    targets, attributes = vectors(seed=4)
    evidence = Similarities.from_vectors(targets, attributes)
    finding = getattr(metrics, name)(evidence, **SETS)
    found = {}
    for sets in (targets, attributes):
        for key, array in sets.items():
            for place in range(len(array)):
                less = {**sets, key: np.delete(array, place, axis=0)}
                given = (less, attributes) if sets is targets else (targets, less)
                again = getattr(metrics, name)(Similarities.from_vectors(*given), **SETS, inference="none")
                found[f"{key}/{place}"] = again.value
    low, high = min(found, key=found.get), max(found, key=found.get)
    assert finding.details["without_low"] == pytest.approx(found[low])
    assert finding.details["without_high"] == pytest.approx(found[high])
    assert (finding.details["without_low_item"], finding.details["without_high_item"]) == (low, high)


def test_contributions_add_up_and_say_what_happens_without_each_item():
    targets, attributes = vectors(seed=5)
    evidence = Similarities.from_vectors(targets, attributes, form="visual")
    tables = association_tables(evidence, [("X", "Y", "A", "B"), ("Y", "X", "A", "B")])
    assert tables["contributions"].columns == [
        "form", "x", "y", "a", "b", "role", "item", "association", "contribution", "without",
    ]  # fmt: skip
    one = tables["contributions"].filter(pl.col("x") == "X")
    whole = metrics.association_difference(evidence, **SETS).value
    for roles in (["x", "y"], ["a", "b"]):
        part = one.filter(pl.col("role").is_in(roles))
        assert part["contribution"].sum() == pytest.approx(whole)
    row = one.filter(pl.col("item") == "A/2").to_dicts()[0]
    less = {**attributes, "A": np.delete(attributes["A"], 2, axis=0)}
    again = metrics.association_effect_size(Similarities.from_vectors(targets, less), **SETS)
    assert row["without"] == pytest.approx(again.value)
    assert set(one["form"]) == {"visual"}
    assert len(one) == 22


def test_levels_are_means_and_spreads_of_blocks():
    evidence = similarities(seed=6)
    levels = association_tables(evidence, [("X", "Y", "A", "B")])["levels"]
    row = levels.filter(pl.col("set") == "Y", pl.col("attribute_set") == "B").to_dicts()[0]
    block = evidence.values[6:, 5:]
    assert (row["mean"], row["sd"], row["n"]) == (
        pytest.approx(block.mean()), pytest.approx(block.std(ddof=1)), 28,
    )  # fmt: skip
    assert len(levels) == 4


def test_single_sets_against_all_exchanges_of_words():
    evidence = similarities(seed=7)
    finding = metrics.single_category_association(evidence, target="X", attributes=("A", "B"))
    block = evidence.values[:6]
    phi, by_word = block[:, :5].mean(axis=1) - block[:, 5:].mean(axis=1), block.mean(axis=0)
    null = []
    for chosen in combinations(range(9), 5):
        inside = np.isin(np.arange(9), chosen)
        null.append(by_word[inside].mean() - by_word[~inside].mean())
    assert finding.value == pytest.approx(phi.mean())
    assert finding.value == pytest.approx(null[0])
    assert finding.details["p_attributes"] == pytest.approx(np.mean(np.abs(null) >= abs(null[0]) - 1e-12))
    assert finding.details["effect_size"] == pytest.approx(null[0] / by_word.std(ddof=1))
    signs = np.array(np.meshgrid(*[[1, -1]] * 6)).reshape(6, -1).T
    flipped = np.abs((signs * phi).mean(axis=1))
    assert finding.details["p_items"] == pytest.approx(np.mean(flipped >= abs(phi.mean()) - 1e-12))
    table = association_tables(evidence, [("X", "Y", "A", "B")])["single_category"]
    row = table.filter(pl.col("set") == "X", pl.col("item").is_null()).to_dicts()[0]
    assert row["p_value"] == pytest.approx(finding.details["p_attributes"])
    assert row["effect_size"] == pytest.approx(finding.details["effect_size"])
    parts = {part.key: part.value for part in finding.parts}
    items = table.filter(pl.col("set") == "X", pl.col("item").is_not_null())
    assert dict(zip(items["item"], items["effect_size"], strict=True)) == pytest.approx(parts)


def test_the_interval_of_a_single_set_covers():
    """Targets and attributes drawn anew; the truth is the difference of the population means."""
    covered, runs = 0, 150
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        rows, columns = rng.normal(size=(12, 1)), rng.normal(size=(1, 20))
        values = 0.1 * (0.3 * np.repeat([1, -1], 10) + columns + rows * np.repeat([1, -1], 10)
                        + rng.normal(size=(12, 20)))  # fmt: skip
        evidence = table_of(values, 10)
        interval = metrics.single_category_association(evidence, target="X", attributes=("A", "B")).interval
        covered += interval.low <= 0.06 <= interval.high
    print(f"single sets: {covered} of {runs} intervals cover")
    assert covered >= 0.9 * runs  # fewer by chance once in 200


def table_of(values, na):
    """Similarities of one set of targets."""
    rows, columns = values.shape
    frame = pl.DataFrame(
        {
            "sample": np.repeat([f"x{i}" for i in range(rows)], columns),
            "candidate": np.tile([f"w{i}" for i in range(columns)], rows),
            "score": values.ravel(),
        }
    )
    words = {"A": [f"w{i}" for i in range(na)], "B": [f"w{i}" for i in range(na, columns)]}
    return Similarities.from_scores(frame.lazy(), {"X": [f"x{i}" for i in range(rows)]}, words, kind="cosine")


def test_paper_mode_takes_the_right_tail_and_single_members():
    evidence = similarities()
    finding = metrics.association_effect_size(evidence, **SETS, mode="paper")
    assert finding.p_value == finding.details["p_right"]
    assert any("right tail" in note for note in finding.notes)
    one = similarities(sizes=(1, 5, 4, 4))
    assert metrics.association_effect_size(one, **SETS).value is None
    assert metrics.association_effect_size(one, **SETS, mode="paper").value == pytest.approx(
        naive(one.values, 1, 4)
    )


def test_notes_tell_what_one_must_know():
    targets, attributes = vectors(sizes=(4, 16, 5, 4))
    notes = " ".join(
        metrics.association_effect_size(Similarities.from_vectors(targets, attributes), **SETS).notes
    )
    assert "with 4 and 16 items |d| can reach 2.50" in notes
    few = metrics.association_effect_size(similarities(sizes=(2, 5, 4, 4)), **SETS)
    assert few.interval is few.p_value is None
    told = "no interval, and no p over targets and attributes: X and Y need three items each"
    assert told in few.notes
    assert 0 < few.details["p_items"] <= 1
    single = metrics.association_effect_size(similarities(sizes=(5, 5, 1, 4)), **SETS)
    assert "a set of one attribute is no sample" in single.interval.method
    words = {"sample": list("uvwxyz"), "vector": np.random.default_rng(0).normal(size=(6, 3)).tolist()}
    table = pl.DataFrame(words).lazy()
    shared = Similarities.from_embeddings(
        table, {"X": ["u", "v", "w"], "Y": ["w", "x", "y"]}, table, {"A": ["u", "z"], "B": ["z"]}
    )
    notes = metrics.association_effect_size(shared, **SETS).notes
    assert "'X' and 'Y' share 1 of their targets; they count in both" in notes
    assert "'A' and 'B' share 1 of their attributes; they count in both" in notes
    assert "targets that are attributes too, and so look tied to these: 1" in notes


def test_what_was_lost_is_counted_for_the_sets_at_hand():
    targets, attributes = vectors()
    targets["X"][0] = 0
    targets["Y"][1, 2] = np.nan
    more = Similarities.from_vectors({**targets, "Z": np.zeros((3, 9))}, attributes)
    finding = metrics.association_effect_size(more, **SETS)
    assert {one.reason: one.count for one in finding.dropped} == {
        "vector of length 0": 1, "vector that is not finite": 1,
    }  # fmt: skip
    assert [group.n for group in finding.groups] == [5, 6]


def test_undefined_is_a_reason_with_a_meaning():
    for reason in ("empty_set", "one_member", "equal_associations"):
        assert reason in REASONS
    check_finding(metrics.association_effect_size(similarities(sizes=(0, 5, 4, 4)), **SETS))


@pytest.mark.parametrize("ddof", [2, -1, True, "1"])
def test_other_ddof_are_refused(ddof):
    with pytest.raises(ParameterError, match=r"ddof=.* is not possible; choose 1"):
        metrics.association_effect_size(similarities(), **SETS, ddof=ddof)


def test_sets_are_named_as_pairs():
    with pytest.raises(ParameterError, match=r"targets='X' is not possible; name two different sets"):
        metrics.association_effect_size(similarities(), targets="X", attributes=("A", "B"))
    with pytest.raises(ParameterError, match="alternative='right' is not possible"):
        metrics.association_effect_size(similarities(), **SETS, alternative="right")


def test_tests_of_all_forms_of_a_run_are_corrected_together():
    findings = []
    for form in ("textual", "visual"):
        targets, attributes = vectors(sizes=(7, 7, 5, 5), shift=1.5)
        targets["Z"] = np.random.default_rng(1).normal(size=(7, 9))
        evidence = Similarities.from_vectors(targets, attributes, form=form)
        for pair in (("X", "Y"), ("X", "Z"), ("Y", "Z")):
            given = {"targets": pair, "attributes": ("A", "B")}
            findings += [getattr(metrics, name)(evidence, **given) for name in COMPARED]
    adjusted = adjust_run(findings, COMPARED[:1])
    family = [f for f in adjusted if f.name == COMPARED[0]]
    p = np.sort([f.p_value for f in family])
    holm = np.minimum(1, np.maximum.accumulate(np.arange(6, 0, -1) * p))
    assert sorted(f.p_adjusted for f in family) == pytest.approx(holm)
    assert {f.adjustment for f in family} == {"holm"}
    assert all(f.role == "exploratory" and f.p_adjusted is None for f in adjusted if f not in family)


def apart(seed, shift=3.0, sizes=(12, 9, 8, 7), dimensions=16):
    """Random words, and sets that differ in a direction which has nothing to do with A against B."""
    rng = np.random.default_rng(seed)
    x, y, a, b = (rng.normal(size=(size, dimensions)) for size in sizes)
    x[:, 0] += shift
    return Similarities.from_vectors({"X": x, "Y": y}, {"A": a, "B": b})


@pytest.mark.parametrize("name", COMPARED)
def test_sets_that_differ_in_what_no_word_speaks_of_are_within_chance(name):
    """With the words fixed most of these are far beyond chance; other words would have said the contrary."""
    found = [getattr(metrics, name)(apart(seed), **SETS) for seed in range(40)]
    assert sum(one.details["p_items"] <= 0.05 for one in found) >= 10
    assert sum(one.p_value <= 0.05 for one in found) <= 4
    assert not any(significance_of(one).beyond for one in found if one.interval.low <= 0 <= one.interval.high)


@pytest.mark.parametrize("name", COMPARED)
@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
def test_p_and_interval_agree_at_every_level(name, shift):
    for seed in range(5):
        finding = getattr(metrics, name)(similarities(seed=seed, shift=shift), **SETS)
        for level in (0.5, 0.8, 0.95, 0.99, 0.999):
            interval = finding.interval_at(level)
            assert (interval.low <= 0 <= interval.high) == (finding.p_value > 1 - level)


def test_p_can_pass_a_correction_for_many_pairs():
    targets, attributes = vectors(sizes=(12, 12, 10, 10), shift=4.0)
    finding = metrics.association_effect_size(Similarities.from_vectors(targets, attributes), **SETS)
    assert finding.p_value < 1e-4


def test_a_mean_difference_and_its_effect_size_share_their_partitions():
    evidence = material(0).similarities()
    first = metrics.association_effect_size(evidence, **SETS)
    second = metrics.association_difference(evidence, **SETS)
    assert first.details["p_items"] == second.details["p_items"]
    assert first.details["z"] == second.details["z"]


def test_many_targets_have_a_finding():
    rng = np.random.default_rng(0)
    targets = {"X": rng.normal(size=(12_000, 8)), "Y": rng.normal(size=(12_000, 8))}
    attributes = {"A": rng.normal(size=(3, 8)), "B": rng.normal(size=(3, 8))}
    finding = metrics.association_effect_size(Similarities.from_vectors(targets, attributes), **SETS)
    assert finding.value is not None
    assert finding.interval is not None
    assert finding.details["method"] == "normal"
    assert finding.details["p_items"] == finding.details["p_two_sided_normal"]
    check_finding(finding)


FAMILY_COLUMNS = {name: [f"{name}{word // 5}" for word in range(15)] for name in "AB"}
SINGLE = {"target": "X", "attributes": ("A", "B")}


def synonyms(rng, width=64):
    """15 words: 3 families of 5."""
    return np.repeat(rng.normal(size=(3, width)), 5, axis=0) + rng.normal(size=(15, width)) / 2


def in_families(seed, *, declared, texts=False):
    """Nothing is tied to anything: photos of two groups (or two lists of words) and two lists of words."""
    rng = np.random.default_rng(seed)
    targets = {
        name: synonyms(rng) if texts else rng.normal(size=(12, 64)) + rng.normal(size=64) / 2 for name in "XY"
    }
    columns = {name: [f"{name}{word // 5}" for word in range(15)] for name in ("ABXY" if texts else "AB")}
    return Similarities.from_vectors(
        targets, {name: synonyms(rng) for name in "AB"}, families=columns if declared else None
    )


def matched(cosines):
    """Probabilities of a match of the same items."""
    values = 1 / (1 + np.exp(-6 * cosines.values))
    return dataclasses.replace(cosines, values=values, kind="probability", memo={})


def asked_of_families(cosines, *, per_group=False):
    """Every test of associations, by name; p, and p of what is exchanged."""
    matches = matched(cosines)
    readings = ("per_image_joint", "per_image_per_set") + (("per_group",) if per_group else ())
    findings = [
        metrics.association_effect_size(cosines, **SETS),
        metrics.association_difference(cosines, **SETS),
        metrics.single_category_association(cosines, **SINGLE),
        metrics.pleasant_at_k(cosines, k=5, **SINGLE),
        *(metrics.match_association(matches, k=5, reading=reading, **SETS) for reading in readings),
    ]
    return {finding.params.get("reading", "") + finding.name: finding for finding in findings}


@pytest.mark.parametrize("texts", [False, True])
def test_words_of_one_family_are_one_unit_of_every_test(texts):
    """3 families of 5 words a set, none tied to a group: with families declared the level is kept."""
    n_draws, hits = 30, {False: Counter(), True: Counter()}
    for seed in range(n_draws):
        values = []
        for declared in (False, True):
            asked = asked_of_families(in_families(seed, declared=declared, texts=texts))
            hits[declared].update(name for name, finding in asked.items() if finding.p_value <= 0.05)
            values.append([finding.value for finding in asked.values()])
        np.testing.assert_allclose(*values, atol=1e-12)
    assert {name: count for name, count in hits[True].items() if count > 5} == {}
    assert hits[False].total() > 3 * hits[True].total()


def test_whole_families_are_exchanged_also_where_single_items_were():
    """Words that repeat say no more: p and band of 15 words in 3 families are those of 3 words."""
    rng = np.random.default_rng(1)
    targets = {name: np.repeat(rng.normal(size=(4, 16)), 3, axis=0) for name in "XY"}
    words = {name: np.repeat(rng.normal(size=(3, 16)), 5, axis=0) for name in "AB"}
    columns = {name: [str(item // 3) for item in range(12)] for name in "XY"} | FAMILY_COLUMNS
    many = Similarities.from_vectors(targets, words, families=columns)
    few = Similarities.from_vectors(
        {name: rows[::3] for name, rows in targets.items()}, {name: rows[::5] for name, rows in words.items()}
    )
    for first, second in zip(asked_of_families(many).values(), asked_of_families(few).values(), strict=True):
        if first.name in ("match_association", "pleasant_at_k"):
            continue  # their k words are others
        assert first.details["p_items"] == pytest.approx(second.details["p_items"])
        if first.name != "association_effect_size":  # d itself has another spread: 1 / (N - 1)
            assert first.p_value == pytest.approx(second.p_value)
            assert first.interval.low == pytest.approx(second.interval.low)
        if first.name == "single_category_association":
            assert first.details["p_attributes"] == pytest.approx(second.details["p_attributes"])
    nearest = metrics.pleasant_at_k(many, k=5, **SINGLE)
    assert nearest.p_value >= 0.1
    assert nearest.null.method == "all exchanges of families of words"
    assert any("no p is below 0.1" in note for note in nearest.notes)
    after = dataclasses.replace(many, values=many.values * 0.9, memo={})
    reduced = metrics.association_reduction(many, after=after, **SETS)
    assert reduced.interval.method.startswith("t over families of targets and families of attributes")
    table = association_tables(many, [("X", "Y", "A", "B")])["single_category"]
    assert table["p_value"].min() >= 0.1


def test_the_result_says_which_words_are_of_one_family_and_paper_mode_exchanges_words():
    cosines = in_families(3, declared=True)
    finding = metrics.association_effect_size(cosines, **SETS)
    (note,) = [note for note in finding.notes if "families" in note]
    assert note.startswith("30 attributes of 6 families, each of which counts as one unit: ")
    assert "unit: A0 (A/0, A/1, A/2, A/3, A/4), A1 (A/5, " in note
    assert finding.interval.method == "t over targets and families of attributes"
    paper = metrics.single_category_association(cosines, mode="paper", **SINGLE)
    alone = metrics.single_category_association(in_families(3, declared=False), mode="paper", **SINGLE)
    assert paper.p_value == alone.p_value
    assert any("single items" in note for note in paper.notes)


@pytest.mark.parametrize(
    ("families", "words"),
    [
        ({"C": ["x"]}, "there is no set 'C'"),
        ({"A": ["x", "y"]}, "the set 'A' has 15 items, and its families are a list of 2"),
        ({"A": "x"}, "its families are one text"),
        ({"A": [1] * 15}, "the family of 'A/0' in 'A' is 1"),
    ],
)
def test_columns_of_families_that_do_not_fit_are_refused(families, words):
    rng = np.random.default_rng(0)
    sets = {name: rng.normal(size=(15, 4)) for name in "AB"}
    with pytest.raises(UserError, match=words):
        Similarities.from_vectors({"X": sets["A"], "Y": sets["B"]}, sets, families=families)


def test_families_of_words_are_seen_in_the_words() -> None:
    words = ["terrorism", "terrorist", "love", "loved", "paranoid", "parasite", "word 1", "word 2"]
    assert families_of(words) == [["love", "loved"], ["terrorism", "terrorist"]]
