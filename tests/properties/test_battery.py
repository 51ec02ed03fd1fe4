"""The short battery: blind and planted models through the public metrics, a few hundred times each."""

from __future__ import annotations

import pytest
from simulations.battery.catalogue import DESIGNS, FAMILIES
from simulations.battery.running import run_design
from simulations.battery.scores import Bounds

RUNS = 200
SHORT = [design for design in DESIGNS if design.short]
# 200 runs: four standard errors beyond the bounds of the full battery
BOUNDS = Bounds(false_alarms=0.10, anything=0.10, coverage=0.90, disagreements=0.06, width=1.8, power=0.55)


@pytest.mark.parametrize("design", SHORT, ids=lambda design: design.name)
def test_what_is_said_of_blind_and_planted_models_keeps_its_bounds(design) -> None:
    rows = run_design(design, RUNS)
    assert rows
    missed = {row.metric: (row.missed(BOUNDS), row) for row in rows if row.missed(BOUNDS)}
    assert not missed


def test_every_family_has_a_short_design_and_a_planted_one() -> None:
    assert {design.family for design in SHORT} == set(FAMILIES)
    planted = {design.family for design in DESIGNS for case in design.cases if case.standard is not None}
    assert planted == set(FAMILIES) - {"audits"}
