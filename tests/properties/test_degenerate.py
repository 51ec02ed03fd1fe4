"""Metrics never raise on degenerate evidence: undefined is None with a reason."""

from functools import cache

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.errors import InputError
from evenhand.metrics.prepared import BoundCounts
from tests.properties.metric_table import CASES, COUNTED, check_finding, frame_of, plain, ranked

pytestmark = pytest.mark.usefixtures("few_draws")
TINY = {
    "one row": [("a", "g", "a")],
    "one wrong row": [("a", "g", "b")],
    "two rows": [("a", "g", "a"), ("b", "h", "a")],
    "two equal rows": [("a", "g", "a"), ("a", "g", "a")],
    "one class": [("a", "g", "a"), ("a", "h", "b"), ("a", "g", "b"), ("a", "h", "a")] * 3,
    "one group": [("a", "g", "a"), ("b", "g", "a"), ("c", "g", "b")] * 4,
    "perfect model": [(y, z, y) for y in "abc" for z in "gh"] * 3,
    "all wrong": [(y, z, "x") for y in "abc" for z in "gh"] * 3,
    "all wrong, each its own way": [(y, z, f"{y}{z}") for y in "abc" for z in "gh"] * 3,
    "empty class": [("a", "g", "a"), ("a", "h", "b"), ("e", "g", None), ("e", "h", None)],
    "empty class first": [("e", "g", None), ("e", "h", None), ("f", "g", "f"), ("f", "h", "x")],
    "empty group": [("a", "g", "a"), ("a", "h", "b"), ("a", "i", None)],
    "groups without a common class": [("a", "g", "a"), ("a", "g", "b"), ("b", "h", "b"), ("b", "h", "a")] * 2,
    "each row its own group": [("a", str(z), "ab"[z % 2]) for z in range(12)],
    "each row its own class": [(str(y), "gh"[y % 2], str(y // 2)) for y in range(12)],
    "each row its own prediction": [("a", "gh"[i % 2], str(i)) for i in range(12)],
    "empty text": [("", "", ""), ("", "x", "y"), ("y", "", ""), ("y", "x", "y")] * 3,
}


@cache
def tiny(name, is_ranked=False):
    """Evidence of a table above; counts give what predictions give (``test_invariance``)."""
    frame = frame_of(TINY[name])
    return ranked(frame) if is_ranked else plain(frame).count(["group"])


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_tiny_evidence_is_a_finding(case, name):
    check_finding(case(tiny(name, case.ranked)))


@pytest.mark.parametrize("name", TINY)
def test_tiny_predictions_give_what_their_counts_give(name):
    assert COUNTED[0](frame_of(TINY[name])) == COUNTED[0](tiny(name))


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("case", COUNTED, ids=str)
def test_tiny_evidence_is_a_finding_in_paper_mode(case, name):
    check_finding(case(tiny(name), mode="paper", inference="none"))


@pytest.mark.parametrize("interval", ["score", "bootstrap"])
@pytest.mark.parametrize("name", ["perfect model", "one class", "one group"])
def test_every_interval_lives_with_undefined_classes(name, interval):
    from evenhand import metrics

    more = [("z", "g", "z"), ("z", "h", "z")]
    for metric in ("skewsize", "phi", "cramers_v_corrected", "cramers_v"):
        rows = plain(frame_of(TINY[name] + more))
        check_finding(getattr(metrics, metric)(rows, by="group", interval=interval))


label = st.sampled_from(["a", "b", "c", None])
rows = st.lists(st.tuples(label, st.sampled_from(["g", "h", "i", None]), label), min_size=1, max_size=14)


@settings(max_examples=40)
@given(rows)
def test_any_tiny_frame_is_a_finding_or_has_no_usable_row(rows):
    frame = frame_of(rows)
    if not any(None not in row for row in rows):
        with pytest.raises(InputError, match="no usable row by group"):
            plain_prepared(frame)
        return
    prepared = plain_prepared(frame)
    for case in COUNTED:
        if "mev" not in case.options:  # see EMPTY
            check_finding(case(prepared))


def plain_prepared(frame: pl.DataFrame) -> BoundCounts:
    return BoundCounts.of(plain(frame), "group")


@settings(max_examples=15)
@given(rows)
def test_any_tiny_ranked_frame_is_a_finding(rows):
    usable = [row for row in rows if None not in row]
    if usable:
        evidence = ranked(frame_of(usable))
        for case in CASES:
            if case.ranked:
                check_finding(case(evidence))


@pytest.mark.parametrize("case", COUNTED, ids=str)
def test_undefined_differences_are_not_zero(case):
    """One group: whatever compares groups is None by default."""
    finding = case(tiny("one group"))
    compares = finding.fair_at is not None or case.name.startswith("skewsize")
    assert (finding.value is None) == compares


@pytest.mark.parametrize("how", ["max", "avg", "full"])
def test_odds_of_groups_without_a_common_class_are_undefined(how):
    from evenhand import metrics

    evidence = plain(frame_of(TINY["groups without a common class"]))
    assert metrics.equalized_odds(evidence, by="group", eo=how).value is None
