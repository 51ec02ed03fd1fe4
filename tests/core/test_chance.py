"""The one verdict: test and interval have to agree, and what has neither test nor reference has none."""

import pytest

from evenhand.core.cards import Source
from evenhand.core.findings import Finding, Interval, Null, Part
from evenhand.core.significance import (
    Significance,
    excludes,
    is_beyond,
    p_shown,
    reference_of,
    significance_of,
    uncorrected,
)
from evenhand.display.text.formatting import p_text
from evenhand.display.text.reasons import verdict_text

BAND = Null(mean=0.15, low=0.1, high=0.2, method="permutation")


def ends(low, high):
    return Interval(low=low, high=high, method="MOVER")


def finding(value=0.3, **fields):
    given = {"metric": "gap(by=g)", "name": "gap", "n": 100, "direction": "lower is fairer"}
    return Finding(value=value, source=Source(paper="p"), **{**given, "fair_at": 0.0, **fields})


def part(value=0.3, **fields):
    return Part(kind="class", key="a", value=value, n=10, **fields)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"p_value": 0.01, "interval": ends(0.1, 0.5)}, Significance("above")),
        ({"value": -0.3, "p_value": 0.01, "interval": ends(-0.5, -0.1)}, Significance("below")),
        ({"p_value": 0.01}, Significance("above")),  # a test without an interval: nothing speaks against it
        ({"p_value": 0.05, "interval": ends(0.1, 0.5)}, Significance("above")),  # at most alpha
        ({"p_value": 0.2, "interval": ends(-0.1, 0.5)}, Significance("within")),
        ({"p_value": 0.2, "interval": ends(0.1, 0.5)}, Significance("within")),
        ({"p_value": 0.01, "interval": ends(-0.1, 0.5)},
         Significance("within", despite=0.01)),
        ({"p_value": 1e-5, "interval": ends(0.0, 0.5)},
         Significance("within", despite=1e-5)),
        ({"p_value": 0.01, "p_adjusted": 0.06, "interval": ends(0.1, 0.5)},
         Significance("within", is_corrected=True)),
        ({"p_value": 0.2, "p_adjusted": 0.4, "interval": ends(0.1, 0.5)}, Significance("within")),
        ({"p_value": 0.01, "p_adjusted": 0.03, "interval": ends(0.1, 0.5)}, Significance("above")),
        ({"interval": ends(0.1, 0.5)}, Significance("")),  # no test
        ({"p_value": 0.01, "fair_at": None, "interval": ends(0.1, 0.5)}, Significance("")),  # no reference
        ({"p_value": 0.01, "fair_at": None, "null": BAND}, Significance("")),  # a band alone is no reference
        ({"value": None, "p_value": 0.01}, Significance("")),
        ({"p_value": 0.01, "interval": ends(0.1, 0.5), "role": "exploratory"}, Significance("")),
        ({"p_value": 0.01, "interval": ends(0.1, 0.5), "role": "primary"}, Significance("above")),
        # where chance stands elsewhere than fairness, it is what counts
        ({"p_value": 0.01, "chance_at": 0.2, "interval": ends(0.1, 0.5)},
         Significance("within", despite=0.01)),
        ({"p_value": 0.01, "chance_at": 0.6, "interval": ends(0.1, 0.5)}, Significance("below")),
        # the interval is of the corrected value, and so is the side
        ({"value": 0.3, "corrected": -0.2, "p_value": 0.01, "interval": ends(-0.3, -0.1)},
         Significance("below")),
        ({"value": 0.0, "p_value": 0.01}, Significance("beyond")),
    ],
)  # fmt: skip
def test_where_a_finding_stands(fields, expected):
    one = finding(**fields)
    assert significance_of(one) == expected
    assert is_beyond(one) is (expected.side in ("above", "below", "beyond"))


def test_the_level_is_the_runs():
    one = finding(p_value=0.03, interval=ends(0.1, 0.5))
    assert is_beyond(one, 0.05)
    assert significance_of(one, 0.01) == Significance("within")


def test_alone_passes_over_the_correction_but_not_over_the_interval():
    assert uncorrected(finding(p_value=0.01, p_adjusted=0.3, interval=ends(0.1, 0.5))).side == "above"
    assert uncorrected(finding(p_value=0.01, p_adjusted=0.3, interval=ends(-0.1, 0.5))).side == "within"
    assert uncorrected(finding(p_value=0.3, p_adjusted=0.3)).side == "within"


def test_a_part_is_compared_with_where_chance_puts_it():
    assert reference_of(part(null=BAND)) == 0.15
    assert reference_of(part(null=BAND, chance_at=0.0)) == 0.0
    assert reference_of(part()) is None
    assert reference_of(finding(null=BAND)) == 0.0
    assert reference_of(finding(null=BAND, chance_at=0.15)) == 0.15
    below = part(0.05, null=BAND, p_value=0.01, interval=ends(0.02, 0.1))
    assert significance_of(below) == Significance("below")
    assert significance_of(part(p_value=0.01)) == Significance("")
    assert significance_of(below.model_copy(update={"role": "exploratory"})) == Significance("")


def test_a_reference_on_the_edge_is_inside():
    assert not excludes(ends(0.0, 0.2), 0.0)
    assert not excludes(ends(1e-12, 0.2), 0.0)
    assert excludes(ends(0.001, 0.2), 0.0)
    assert excludes(None, 0.0)
    assert excludes(ends(0.0, 0.2), None)


def test_in_words():
    assert verdict_text(Significance("above")) == "above chance"
    assert verdict_text(Significance("within", is_corrected=True), "what chance alone gives") == (
        "within what chance alone gives, corrected for several tests"
    )
    assert verdict_text(Significance("within", despite=0.01)) == "within chance by its interval (p 0.010)"
    assert verdict_text(Significance("within", despite=1e-5)) == "within chance by its interval (p <0.001)"
    assert verdict_text(Significance("")) == ""
    assert (p_text(0.0004), p_text(0.0123)) == ("<0.001", "0.012")
    assert p_shown(finding(p_value=0.01, p_adjusted=0.02)) == 0.02
    assert p_shown(finding(p_value=0.01)) == 0.01
