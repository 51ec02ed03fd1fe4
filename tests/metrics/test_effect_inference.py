"""What effect sizes say of chance: corrected values in their intervals, one test within the truth, units."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

from evenhand import Predictions, metrics
from evenhand.core.significance import significance_of
from evenhand.display.text.reasons import explain
from evenhand.metrics.classification.class_effects import pooled_squares
from evenhand.stats.contingency.summary_intervals import Squares
from tests.properties.metric_table import plain, random_frame

SUMMARIES = ("cramers_v_mean", "cramers_v_median", "cramers_v_max", "cramers_v_corrected", "phi")
SIZES = (*SUMMARIES, "cramers_v_pooled", "cramers_v")
SHAPES = ("skewsize", "skewsize_sufficiency")


def evidence(frame, **more):
    return Predictions.from_frame(frame, truth="truth", prediction="prediction", **more)


def persons(seed, *, count=40, pictures=10, gap=0.0, mixed=False, classes=4):
    """Persons whose own accuracy varies (intra-class correlation .2); the second group's is lower by gap."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(count), pictures)
    group = rng.integers(2, size=person.size) if mixed else (np.arange(count) % 2)[person]
    own = rng.beta(2.8, 1.2, count)[person] - gap * group
    truth = rng.integers(classes, size=person.size)
    wrong = (truth + rng.integers(1, classes, size=person.size)) % classes
    prediction = np.where(rng.random(person.size) < own, truth, wrong)
    return pl.DataFrame({
        "truth": truth.astype(str), "group": group.astype(str), "prediction": prediction.astype(str),
        "person": person, "weight": rng.lognormal(0, 0.8, person.size),
    })  # fmt: skip


@pytest.mark.parametrize("name", SIZES)
@pytest.mark.parametrize("seed", range(4))
def test_the_corrected_value_lies_in_the_interval_shown(name, seed):
    frame = random_frame(seed, classes=6, n=150, bias=0.2 * seed)
    finding = getattr(metrics, name)(plain(frame), by="group")
    assert finding.interval.low <= finding.corrected <= finding.interval.high
    assert finding.interval.low < finding.interval.high
    assert name == "cramers_v_corrected" or finding.corrected <= finding.value + 0.02
    assert not [note for note in finding.notes if "outside" in note]
    for part in finding.parts:
        if part.value is not None:
            assert part.interval.low <= part.corrected <= part.interval.high
            assert part.chance_at == 0


@pytest.mark.parametrize("name", SIZES)
def test_p_and_interval_say_the_same(name):
    for seed in range(6):
        frame = random_frame(seed, classes=5, n=300, bias=0.12, everywhere=True)
        finding = getattr(metrics, name)(plain(frame), by="group")
        assert (finding.p_value <= 0.05) == (finding.interval.low > 0), seed
        assert significance_of(finding).beyond == (finding.p_value <= 0.05)


@pytest.mark.parametrize("name", SIZES)
def test_band_and_p_are_of_one_side(name):
    finding = getattr(metrics, name)(plain(random_frame(1, classes=5, n=300)), by="group")
    assert 0 <= finding.null.low < finding.null.mean < finding.null.high
    if name != "cramers_v_median":  # whose p is that of half of the classes
        assert (finding.value > finding.null.high) == (finding.p_value < 0.05)


@pytest.mark.parametrize("name", SIZES)
def test_other_levels_are_made(name):
    finding = getattr(metrics, name)(plain(random_frame(2, classes=5, n=300, bias=0.6)), by="group")
    wider = finding.interval_at(0.999)
    assert wider.level == 0.999
    assert wider.low <= finding.interval.low
    assert wider.high > finding.interval.high


def test_v_of_all_classes_is_chi_squared_over_its_largest_value():
    frame = random_frame(3, classes=3, n=240)
    finding = metrics.cramers_v_pooled(plain(frame), by="group")
    chi2 = most = 0.0
    for (_,), rows in frame.group_by("truth"):
        table = rows.pivot("prediction", index="group", values="id", aggregate_function="len").fill_null(0)
        counts = table.drop("group").to_numpy().astype(float)
        expected = np.outer(counts.sum(1), counts.sum(0)) / counts.sum()
        chi2 += ((counts - expected) ** 2 / expected).sum()
        most += counts.sum() * (min(counts.shape) - 1)
    assert finding.value == pytest.approx(np.sqrt(chi2 / most))


def test_v_of_all_classes_is_undefined_without_mistakes():
    frame = pl.DataFrame({"truth": ["a", "a", "b", "b"], "group": ["x", "y"] * 2})
    finding = metrics.cramers_v_pooled(evidence(frame.with_columns(prediction="truth")), by="group")
    assert finding.value is None
    assert finding.reason == "no_usable_class"
    assert finding.interval is finding.p_value is None


def test_many_weak_effects_add_up_in_v_of_all_classes():
    frame = random_frame(8, classes=10, n=1500, bias=0.1, everywhere=True)
    finding = metrics.cramers_v_pooled(plain(frame), by="group")
    smallest = min(part.p_adjusted for part in metrics.phi(plain(frame), by="group").parts)
    assert finding.p_value < 0.001 < smallest


@pytest.mark.parametrize("name", SHAPES)
def test_skewsize_is_descriptive(name):
    finding = getattr(metrics, name)(plain(random_frame(5, classes=6, n=900, bias=0.9)), by="group")
    assert finding.direction == "descriptive"
    assert finding.p_value is None
    assert significance_of(finding).side == ""
    assert finding.interval.low <= finding.value <= finding.interval.high
    assert finding.interval.low < finding.interval.high
    assert finding.interval.method.startswith("spread over resamples")


@pytest.mark.parametrize("name", SIZES)
def test_pictures_of_one_person_are_not_independent(name):
    small = []
    for seed in range(10):
        frame = persons(seed)
        p = [getattr(metrics, name)(evidence(frame, **more), by="group").p_value
             for more in ({}, {"cluster": "person"})]  # fmt: skip
        small.append([one <= 0.05 for one in p])
    alone, clustered = np.array(small).sum(axis=0)
    assert clustered <= 2
    assert clustered <= alone


@pytest.mark.parametrize("name", ["cramers_v_pooled", "cramers_v_mean"])
@pytest.mark.parametrize("more", [{"cluster": "person"}, {"weight": "weight"}])
def test_a_planted_gap_is_seen_with_units_and_with_weights(name, more):
    finding = getattr(metrics, name)(evidence(persons(1, count=120, gap=0.3), **more), by="group")
    assert finding.p_value <= 0.001
    assert 0 < finding.interval.low < finding.corrected < finding.interval.high
    assert "Rao and Scott" in metrics.phi(evidence(persons(1), **more), by="group").parts[0].null.method


def test_units_of_several_groups_are_compared_inside():
    finding = metrics.cramers_v_pooled(evidence(persons(2, mixed=True), cluster="person"), by="group")
    assert finding.p_value > 0.05
    assert finding.interval.low == 0


@pytest.mark.parametrize("name", SIZES)
def test_one_person_a_group_says_nothing_of_others(name):
    finding = getattr(metrics, name)(evidence(persons(3, count=2, pictures=80), cluster="person"), by="group")
    assert finding.value is not None
    assert finding.p_value is finding.interval is None
    assert explain("one_cluster") in finding.notes


def test_the_noise_of_all_classes_together_is_that_of_a_weighted_mean_of_independent_classes():
    squares = Squares(*(np.array(row) for row in ([0.1, 0.2], [0.01, 0.04], *np.ones((4, 2)))))
    tables = SimpleNamespace(n=np.array([30.0, 20.0]), dof=np.array([1.0, 2.0]))  # weights 3/7 and 4/7
    shared = SimpleNamespace(units=None)
    pooled = pooled_squares(SimpleNamespace(squares=squares, tables=tables, null=None, shared=shared))
    assert pooled.noise == pytest.approx((9 * 0.01 + 16 * 0.04) / 49)
    assert pooled.centre == pytest.approx((3 * 0.1 + 4 * 0.2) / 7)
    assert pooled.slope == pytest.approx((9 * 0.1 + 16 * 0.2) / 49 / (1.1 / 7))


def test_the_largest_effect_of_sparse_classes_has_an_interval_of_some_width():
    """A class of two rows has V of 1 whoever they are of: chance gives it, too, and nothing is ruled out."""
    rng = np.random.default_rng(0)
    truth, right = rng.integers(50, size=500), rng.random(500) < 0.8
    said, group = np.where(right, truth, rng.integers(50, size=500)), rng.integers(3, size=500)
    table = pl.DataFrame({"truth": truth, "said": said, "g": group}).cast(pl.String)
    counts = Predictions.from_frame(table, truth="truth", prediction="said").count(["g"])
    largest = metrics.cramers_v_max(counts, by="g")
    assert (largest.value, largest.p_value) == (1.0, 1.0)
    assert (largest.interval.low, largest.interval.high) == (0.0, 1.0)
