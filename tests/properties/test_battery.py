"""The short battery: blind and planted models through the public metrics, 26 to 200 times each."""

from __future__ import annotations

import pytest
from simulations.battery.catalogue import DESIGNS, FAMILIES
from simulations.battery.short import SHORT, failed

pytestmark = pytest.mark.nightly


@pytest.mark.parametrize("design", SHORT, ids=lambda design: design.name)
def test_what_is_said_of_blind_and_planted_models_keeps_its_bounds(design) -> None:
    assert failed(design) == {}


def test_every_family_has_short_designs_and_a_planted_one() -> None:
    assert len(SHORT) >= 30
    assert {design.family for design in SHORT} == set(FAMILIES)
    planted = {design.family for design in DESIGNS for case in design.cases if case.standard is not None}
    assert planted == set(FAMILIES)
