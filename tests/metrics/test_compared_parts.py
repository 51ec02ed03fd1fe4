"""Changes of single classes and groups: values, exact tests, families, intervals, what cannot be told."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats

from evenhand.core.findings import Finding, Interval
from evenhand.evidence.derivation.paired import match
from evenhand.metrics.classification.accuracy import accuracy
from evenhand.metrics.classification.effect_sizes import skewsize
from evenhand.metrics.differences.inference import null_around
from evenhand.metrics.differences.models import model_differences
from evenhand.stats.multiplicity import holm_levels

CLASSES, ROWS = 6, 1800


def joined(constant=False):
    """Two models on the same samples: the second is better in class c1 and fairer in c2."""
    rng = np.random.default_rng(0)
    truth, group = rng.integers(0, CLASSES, ROWS), rng.integers(0, 3, ROWS)
    tables = []
    for better in (False, True):
        right = rng.random(ROWS) < np.where((truth == 1) & better, 0.95, 0.6)
        wrong = rng.integers(0, CLASSES, ROWS)
        if not better:
            wrong = np.where(truth == 2, np.where(group == 0, 3, 4), wrong)
        said = np.where(right, truth, wrong)
        if constant and better:
            said = np.where(truth == 5, 5, said)
        tables.append(
            pl.DataFrame(
                {
                    "sample": [str(i) for i in range(ROWS)],
                    "truth": [f"c{code}" for code in truth],
                    "group": [f"g{code}" for code in group],
                    "prediction": [f"c{code}" for code in said],
                }
            )
        )
    return tables, match(tables, ["group"], ["a", "b"]).counts(["group"])


@pytest.fixture(scope="module")
def both():
    return joined()


@pytest.fixture(scope="module")
def differences(both):
    return {one.name: one for one in model_differences(both[1], by="group", names=("old", "new"))}


@pytest.fixture(scope="module")
def apart(both):
    evidence = (both[1].of_first(), both[1].of_second())
    return {one.name: one for one in model_differences(evidence, by="group", names=("old", "new"))}


def of_kind(finding, kind):
    return {one.key: one for one in finding.parts if one.kind == kind}


def test_only_accuracy_and_the_mean_effect_size_have_parts(differences):
    assert {name for name, one in differences.items() if one.parts} == {
        "accuracy_difference",
        "cramers_v_mean_difference",
    }
    assert [one.kind for one in differences["accuracy_difference"].parts] == ["class"] * CLASSES + [
        "group"
    ] * 3
    for one in differences.values():
        assert Finding.model_validate(json.loads(one.model_dump_json())) == one


def test_changes_of_groups_are_differences_of_their_accuracies(both, differences, apart):
    singles = [accuracy(one, by="group") for one in (both[1].of_first(), both[1].of_second())]
    for one in (differences, apart):
        for key, part in of_kind(one["accuracy_difference"], "group").items():
            first, second = (single.part(key).value for single in singles)
            assert part.value == pytest.approx(first - second)
            assert part.details["first"] == pytest.approx(first)
            assert part.details["second"] == pytest.approx(second)
            assert part.n == singles[0].part(key).n
            assert part.interval.low < part.value < part.interval.high


def test_changes_of_effect_sizes_are_differences_of_the_audits_own(both, differences, apart):
    first, second = (
        skewsize(one, by="group", inference="none") for one in (both[1].of_first(), both[1].of_second())
    )
    for one in (differences, apart):
        parts = of_kind(one["cramers_v_mean_difference"], "class")
        assert len(parts) == CLASSES
        for key, part in parts.items():
            assert part.value == pytest.approx(first.part(key).value - second.part(key).value)
        mean = np.mean([part.value for part in parts.values()])
        assert mean == pytest.approx(one["cramers_v_mean_difference"].value)


def test_flips_are_counted_and_tested_exactly(both, differences):
    old, new = both[0]
    right = [(table["truth"] == table["prediction"]).to_numpy() for table in (old, new)]
    for kind in ("class", "group"):
        column = "truth" if kind == "class" else "group"
        for key, part in of_kind(differences["accuracy_difference"], kind).items():
            mine = (old[column] == key).to_numpy()
            gained, lost = int((right[0] & ~right[1] & mine).sum()), int((right[1] & ~right[0] & mine).sum())
            assert (part.details["n_gained"], part.details["n_lost"]) == (gained, lost)
            assert part.value == pytest.approx((gained - lost) / mine.sum())
            assert part.p_value == pytest.approx(stats.binomtest(gained, gained + lost).pvalue)


@pytest.mark.parametrize("name", ["accuracy_difference", "cramers_v_mean_difference"])
def test_what_was_planted_is_found_after_holm_and_only_that(differences, apart, name):
    planted = {"accuracy_difference": "c1", "cramers_v_mean_difference": "c2"}[name]
    for one in (differences, apart):
        parts = of_kind(one[name], "class")
        beyond = {key for key, part in parts.items() if part.p_adjusted <= 0.05}
        assert beyond == {planted}
        assert not parts[planted].null.low <= parts[planted].value <= parts[planted].null.high


@pytest.mark.parametrize("name", ["accuracy_difference", "cramers_v_mean_difference"])
def test_each_kind_is_a_family_of_its_own(differences, name):
    for kind in {one.kind for one in differences[name].parts}:
        parts = sorted(of_kind(differences[name], kind).values(), key=lambda one: one.p_value)
        assert parts[0].p_adjusted == pytest.approx(min(1.0, len(parts) * parts[0].p_value))
        assert parts[-1].p_adjusted == pytest.approx(max(parts[-1].p_value, parts[-2].p_adjusted))
        assert parts[0].details["q_value"] <= parts[0].p_adjusted


def test_the_other_way_round_everything_turns(both):
    counts = both[1].of_first(), both[1].of_second()
    there = model_differences(counts, by="group", metrics=["accuracy"])[0]
    back = model_differences(counts[::-1], by="group", metrics=["accuracy"])[0]
    for one, other in zip(there.parts, back.parts, strict=True):
        assert one.value == pytest.approx(-other.value)
        assert one.p_value == pytest.approx(other.p_value)
        assert one.interval.low == pytest.approx(-other.interval.high)


def test_a_class_without_an_effect_size_says_why():
    counts = joined(constant=True)[1]
    found = model_differences(counts, by="group", metrics=["cramers_v_mean"])[0]
    part = of_kind(found, "class")["c5"]
    assert (part.value, part.reason, part.p_value, part.interval, part.null) == (
        None,
        "constant",
        None,
        None,
        None,
    )
    assert part.details["second"] is None
    assert part.details["first"] > 0


def test_too_many_classes_for_resamples_are_taken_as_uncorrelated(both, differences, monkeypatch):
    monkeypatch.setattr("evenhand.metrics.differences.counts.MOST_KEPT", 10)
    alone = model_differences(both[1], by="group", metrics=["cramers_v_mean"])[0]
    pairs = list(zip(alone.parts, differences["cramers_v_mean_difference"].parts, strict=True))
    assert all(one.corrected == other.corrected for one, other in pairs)
    assert all(one.interval.low <= one.corrected <= one.interval.high for one, _ in pairs)
    assert any(one.interval != other.interval for one, other in pairs)


@pytest.mark.parametrize("evidence", ["differences", "apart"])
def test_intervals_of_parts_have_the_level_of_their_corrected_p(evidence, request):
    for finding in request.getfixturevalue(evidence).values():
        for kind in {part.kind for part in finding.parts}:
            family = [part for part in finding.parts if part.kind == kind]
            levels = 1 - holm_levels(np.array([part.p_value for part in family]), 0.05)
            for part, level in zip(family, levels, strict=True):
                assert part.interval.level == part.null.level == pytest.approx(level)
                leaves = not part.interval.low <= 0 <= part.interval.high
                assert leaves <= (part.p_adjusted <= 0.05)
                inside = part.null.low - 1e-12 <= part.value <= part.null.high + 1e-12
                assert inside != leaves


def test_an_interval_holds_the_corrected_change_and_agrees_with_p(differences, apart):
    for one in (differences, apart):
        for part in one["cramers_v_mean_difference"].parts:
            assert part.interval.low <= part.corrected <= part.interval.high
            assert (part.p_value <= 0.05) == (not part.interval.low <= 0 <= part.interval.high)
            assert part.chance_at == 0
        for part in one["accuracy_difference"].parts:
            if part.p_value > 0.05:
                assert part.interval.low <= 0 <= part.interval.high


def test_crossed_groups_have_keys_in_order(both):
    table = both[1].to_frame().rename({"attribute:group": "group"})
    counts = type(both[1]).from_table(
        table.with_columns(other=pl.lit("x")),
        {name: name for name in ("truth", "group", "other", "prediction", "prediction_b")},
    )
    found = model_differences(counts, by=["group", "other"], metrics=["accuracy"])[0]
    assert [one.key for one in found.parts if one.kind == "group"] == [["g0", "x"], ["g1", "x"], ["g2", "x"]]


def test_equal_inputs_give_equal_parts(both, differences):
    again = {one.name: one for one in model_differences(both[1], by="group", names=("old", "new"))}
    assert again["cramers_v_mean_difference"].parts == differences["cramers_v_mean_difference"].parts


def test_a_plain_value_is_in_the_null_band_where_its_limits_hold_0():
    holding, apart = (Interval(low=low, high=0.25, level=0.95, method="any") for low in (-0.05, 0.01))
    assert null_around(0.3, 0.1, holding).mean == pytest.approx(0.2)  # noise adds this
    assert null_around(0.3, 0.1, holding).low < 0.3 < null_around(0.3, 0.1, holding).high
    assert null_around(0.3, 0.1, apart).high < 0.3
