"""How far the mixes of two runs are apart, in words that round nothing away."""

from __future__ import annotations

import pytest

from evenhand.core.cards import Source
from evenhand.core.findings import Finding
from evenhand.workflows.compare.warnings import mix_warnings


@pytest.mark.parametrize(
    ("distance", "told"),
    [(0.004, "(less than 1 % of them)"), (0.01, "(up to 1 % of them)"), (0.37, "(up to 37 % of them)")],
)
def test_the_distance_is_told(distance, told):
    finding = Finding(
        metric="accuracy_difference",
        name="accuracy_difference",
        value=0.1,
        n=100,
        direction="descriptive",
        source=Source(paper="a test"),
        details={"mix_distance": distance},
    )
    (warning,) = mix_warnings([finding], [])
    assert told in warning


def test_equal_mixes_are_not_spoken_of():
    assert mix_warnings([], []) == []
