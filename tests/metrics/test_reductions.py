"""How much weaker an association is: the same items before and after, with an interval."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.evidence.similarities import Similarities
from evenhand.metrics import association_effect_size, association_reduction

PAIR = {"targets": ("X", "Y"), "attributes": ("A", "B")}


def vectors(seed: int, apart: float, items: int = 20, words: int = 15) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    found = {}
    for name, sign in zip("XYAB", (1, -1, 1, -1), strict=True):
        found[name] = rng.normal(size=(items if name in "XY" else words, 12))
        found[name][:, 0] += sign * apart
    return found


def evidence(given: dict[str, np.ndarray]) -> Similarities:
    targets, attributes = ({name: given[name] for name in names} for names in ("XY", "AB"))
    return Similarities.from_vectors(targets, attributes)


def without_first(given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array[:, 1:] for name, array in given.items()}


def test_it_is_the_difference_of_two_absolute_effect_sizes() -> None:
    given = vectors(0, 2.0)
    before, after = evidence(given), evidence(without_first(given))
    d = [association_effect_size(one, **PAIR).value for one in (before, after)]
    finding = association_reduction(before, after=after, **PAIR)
    assert finding.value == pytest.approx(abs(d[0]) - abs(d[1]), abs=1e-12)
    assert (finding.details["before"], finding.details["after"]) == pytest.approx(d)
    assert finding.interval.low < finding.value < finding.interval.high
    assert finding.interval.low > 0
    assert finding.n == 40


def test_x_and_y_can_be_exchanged() -> None:
    given = vectors(1, 0.6)
    before, after = evidence(given), evidence(without_first(given))
    one = association_reduction(before, after=after, **PAIR)
    other = association_reduction(before, after=after, targets=("Y", "X"), attributes=("A", "B"))
    assert one.value == pytest.approx(other.value, abs=1e-12)


def test_no_change_is_no_reduction_and_has_no_width() -> None:
    before = evidence(vectors(2, 0.5))
    finding = association_reduction(before, after=before, **PAIR)
    assert finding.value == 0
    assert finding.interval.low == pytest.approx(0, abs=1e-9)
    assert finding.interval.high == pytest.approx(0, abs=1e-9)


def test_a_change_of_sign_is_told_and_counts_by_what_is_left() -> None:
    given = vectors(3, 1.0)
    turned = dict(given, A=given["B"], B=given["A"])
    finding = association_reduction(evidence(given), after=evidence(turned), **PAIR)
    assert finding.value == pytest.approx(0, abs=1e-12)
    assert finding.details["sign"] == "changed"


def test_what_has_no_spread_has_no_value() -> None:
    given = vectors(4, 1.0)
    flat = {name: np.ones((len(array), 3)) for name, array in given.items()}
    finding = association_reduction(evidence(given), after=evidence(flat), **PAIR)
    assert (finding.value, finding.reason, finding.interval) == (None, "equal_associations", None)
    assert finding.details["before"] is not None
    assert finding.details["after"] is None
    empty = evidence({**given, "X": np.zeros((0, 12))})
    assert association_reduction(empty, after=empty, **PAIR).reason == "empty_set"


def test_sets_too_small_for_an_interval_have_a_value_without_one() -> None:
    given = vectors(5, 1.0, items=2)
    finding = association_reduction(evidence(given), after=evidence(without_first(given)), **PAIR)
    assert finding.value is not None
    assert finding.interval is None
    whole = vectors(5, 1.0)
    bare = association_reduction(evidence(whole), after=evidence(whole), **PAIR, inference="none")
    assert bare.interval is None


def test_other_items_and_unknown_sets_are_refused() -> None:
    before = evidence(vectors(6, 1.0))
    with pytest.raises(ParameterError, match="the same items before and after"):
        association_reduction(before, after=evidence(vectors(6, 1.0, items=19)), **PAIR)
    with pytest.raises(ParameterError, match="the same items before and after"):
        association_reduction(before, after=np.zeros(3), **PAIR)
    with pytest.raises(UnknownName):
        association_reduction(before, after=before, targets=("X", "Z"), attributes=("A", "B"))
    with pytest.raises(ParameterError, match="ddof"):
        association_reduction(before, after=before, **PAIR, ddof=2)
