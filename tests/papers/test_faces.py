"""Published figures on real predictions: FairFace labels and another model's answers."""

import pytest

import evenhand as eh
from evenhand import metrics


@pytest.fixture
def read(faces):
    return lambda of: eh.Predictions.read(faces, truth=f"true_{of}", prediction=f"pred_{of}")


def test_race_by_gender_in_paper_mode(read):
    finding = metrics.skewsize(read("race"), by="true_gender", mode="paper")
    assert finding.value == pytest.approx(0.2213, abs=5e-5)


def test_age_by_gender_changes_sign_with_yates(read):
    paper = metrics.skewsize(read("age"), by="true_gender", mode="paper")
    default = metrics.skewsize(read("age"), by="true_gender")
    assert paper.value == pytest.approx(-0.057, abs=5e-4)
    assert default.value == pytest.approx(0.399, abs=5e-4)


@pytest.mark.parametrize("mode", ["paper", "default"])
def test_each_mode_shows_the_other_as_a_contrast(read, mode):
    here = metrics.skewsize(read("age"), by="true_gender", mode=mode)
    other = "default" if mode == "paper" else "paper"
    there = metrics.skewsize(read("age"), by="true_gender", mode=other)
    assert [(c.label, c.value) for c in here.contrasts] == [(f"{other} mode", there.value)]


def test_faces_without_a_prediction_are_counted_as_dropped(read):
    finding = metrics.skewsize(read("age"), by="true_gender")
    dropped = {d.reason: d.count for d in finding.dropped}
    assert dropped["missing prediction"] == 61
    assert finding.n == 1004 - 61
    assert sum(group.n for group in finding.groups) == finding.n
