"""``facet`` in the released layout: signed gaps of recall against a naive count, soft tones, boxes."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.benchmarks.labelling.annotator_counts import box_of
from tests.benchmarks import further_layouts as layouts
from tests.benchmarks.indicator_models import Classifies

PEOPLE = 300
ROWS = layouts.people(PEOPLE)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return layouts.facet(tmp_path_factory.mktemp("facet"), PEOPLE)


def run_facet(called, data, **parameters):
    """A run of a classifier that calls person i by the class of number ``called[i]``."""
    model = Classifies(np.eye(3)[called], layouts.FACET_CLASSES)
    run = eh.run("facet", model=model, data=data, parameters=parameters)
    return {(finding.name, "+".join(finding.by)): finding for finding in run.findings.findings}, run


def recall(called, thing, weight):
    """The weighted share of right rows of a class."""
    of_class = [(called[n] == thing, weight(n)) for n in range(PEOPLE) if ROWS[n][0] == thing]
    return sum(right * w for right, w in of_class) / sum(w for _, w in of_class)


@pytest.fixture(scope="module")
def called():
    rng = np.random.default_rng(4)
    truth = np.array([thing for thing, _, _ in ROWS])
    return np.where(rng.random(PEOPLE) < 0.6, truth, rng.integers(3, size=PEOPLE))


def test_gaps_of_recall_are_those_of_a_naive_count(data, called) -> None:
    findings, run = run_facet(called, data, by="gender_presentation")
    gap = findings["recall_gap", "gender_presentation"]
    first, second = (layouts.FACET_GENDERS.index(gap.details[key]) for key in ("first", "second"))
    expected = [
        recall(called, thing, lambda n: ROWS[n][1] == first)
        - recall(called, thing, lambda n: ROWS[n][1] == second)
        for thing in range(3)
    ]
    parts = {part.key: part for part in gap.parts}
    for thing, value in enumerate(expected):
        assert parts[layouts.FACET_CLASSES[thing]].value == pytest.approx(value)
        assert parts[layouts.FACET_CLASSES[thing]].n == sum(t == thing and g < 3 for t, g, _ in ROWS)
    assert gap.value == pytest.approx(np.mean(expected))
    assert gap.interval.low < gap.value < gap.interval.high
    assert "na" not in {group.key for group in gap.groups}
    assert run.manifest["about"]["view"] == "crop"


def test_tones_count_by_their_annotators_or_by_a_cut(data, called) -> None:
    soft, _ = run_facet(called, data, skin="weights", by="skin_tone")
    shares = [{tone: count / sum(tones.values()) for tone, count in tones.items()} for _, _, tones in ROWS]
    parts = {part.key: part for part in soft["accuracy", "skin_tone"].parts}
    for tone in (1, 5, 10):
        weight = np.array([share.get(tone, 0) for share in shares])
        right = np.array([called[n] == ROWS[n][0] for n in range(PEOPLE)])
        assert parts[str(tone)].value == pytest.approx((weight * right).sum() / weight.sum())
    cut, _ = run_facet(called, data, lighter="3", by="skin_tone")
    lighter = [sum(count for tone, count in tones.items() if tone <= 3) > 1.5 for _, _, tones in ROWS]
    toned = [bool(tones) for _, _, tones in ROWS]
    sizes = {group.key: group.n for group in cut["accuracy", "skin_tone"].groups}
    assert sizes == {"lighter": sum(np.array(lighter) & toned), "darker": sum(~np.array(lighter) & toned)}


def test_a_blind_model_is_within_chance_and_a_planted_class_is_not(data) -> None:
    blind, _ = run_facet(np.random.default_rng(9).integers(3, size=PEOPLE), data, by="gender_presentation")
    gap = blind["recall_gap", "gender_presentation"]
    assert gap.p_value > 0.05
    assert min(part.p_adjusted for part in gap.parts) > 0.05
    assert gap.details["mean_absolute_by_chance"] > 0.02
    planted = [(thing + (thing == 1 and gender == 1)) % 3 for thing, gender, _ in ROWS]
    findings, _ = run_facet(planted, data, by="gender_presentation")
    parts = {part.key: part for part in findings["recall_gap", "gender_presentation"].parts}
    assert abs(parts["guitarist"].value) == 1
    assert parts["guitarist"].p_adjusted < 0.01
    assert parts["nurse"].value == 0


def test_a_mean_absolute_gap_without_any_bias_is_that_of_400_and_100_people() -> None:
    rng = np.random.default_rng(0)
    truth = np.repeat(["a", "b", "c", "d"], 500)
    groups = np.tile(np.repeat(["x", "y"], [400, 100]), 4)
    right = np.where(rng.random(2000) < 0.5, truth, "other")
    gap = eh.metrics.recall_gap(truth, right, groups=groups)
    assert gap.details["mean_absolute_by_chance"] == pytest.approx(0.045, abs=0.003)
    other = eh.metrics.recall_gap(
        eh.Predictions.from_arrays(truth, right, groups=groups), by="group", groups=["y", "x"]
    )
    assert other.value == pytest.approx(-gap.value)


def test_boxes_are_read_without_being_run_and_cut_out() -> None:
    assert box_of("{'x': 1, 'y': 2, 'width': 3.5, 'height': 4}") == [1, 2, 4.5, 6]
    assert box_of('{"x": 1, "y": 2, "width": 3, "height": 4}') == [1, 2, 4, 6]
    for text in ("__import__('os')", "{'x': 1}", "[1, 2]", "{'x': 0, 'y': 0, 'width': -1, 'height': 4}",
                 '{"x": NaN, "y": 0, "width": 1, "height": 1}', "(" * 900, "x" * 5_000, None):  # fmt: skip
        assert box_of(text) is None


def test_whole_images_are_those_of_one_class(data, called) -> None:
    _, run = run_facet(called, data, view="image", by="gender_presentation")
    lost = {row.reason: row.count for row in run.findings.findings[0].dropped}
    assert lost["person in an image of several classes"] == 2 * (PEOPLE // 5)
