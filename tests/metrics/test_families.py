"""One family for a run: Holm over its primaries, intervals of their places, all else exploratory."""

import pickle

import pytest

from evenhand.core.cards import Source
from evenhand.core.findings import Finding, Interval, Part
from evenhand.core.significance import Significance, is_beyond, significance_of
from evenhand.metrics.catalogue import card_of
from evenhand.metrics.suites.families import AUDIT, adjust_run


def finding_of(name, p, *, value=0.3, half=0.1, by=("g",), levels=True, **fields):
    """A finding whose interval is wider the higher its level."""

    def at(level):
        wide = half * level / 0.95
        return Interval(low=value - wide, high=value + wide, level=level, method="m")

    given = {"fair_at": 0.0, "n": 50, "direction": "lower is fairer", "source": Source(paper="p"), **fields}
    one = Finding(metric=name, name=name, by=list(by), value=value, interval=at(0.95), p_value=p, **given)
    one = one if card_of(name) is None else one.with_card(card_of(name))
    return one.with_levels(at) if levels else one


def classes(*p):
    return [
        Part(kind="class", key=f"c{i}", value=0.4, chance_at=0.0, p_value=q, n=9) for i, q in enumerate(p)
    ]


def levels(findings):
    return [round(one.interval.level, 6) for one in findings]


def test_every_primary_of_every_grouping_is_one_family():
    primaries = [
        finding_of("disparities", 0.001),
        finding_of("accuracy_contrast", 0.04),
        finding_of("disparities", 0.02, by=("h",)),
        finding_of("accuracy_contrast", 0.6, by=("h",)),
    ]
    found = adjust_run([*primaries, finding_of("phi", 0.001)], AUDIT)
    assert [one.p_adjusted for one in found] == pytest.approx([0.004, 0.08, 0.06, 0.6, None])
    assert [one.adjustment for one in found] == ["holm"] * 4 + [None]
    assert [one.role for one in found] == ["primary"] * 4 + ["exploratory"]
    assert [is_beyond(one) for one in found] == [True, False, False, False, False]


def test_the_three_questions_of_an_audit_spend_the_error_by_their_weights():
    """.45, .45 and .1 of the level; what a test leaves goes to the others by their weights (Holm)."""
    names = ("disparities", "accuracy_contrast", "cramers_v_pooled")
    found = adjust_run(
        [finding_of(name, p) for name, p in zip(names, (0.02, 0.04, 0.001), strict=True)], AUDIT
    )
    # p over weight: .0444, .0889 and .01: the pooled test first, with all of the weight left
    assert [one.p_adjusted for one in found] == pytest.approx([0.04, 0.04, 0.01])
    assert levels(found) == pytest.approx([1 - 0.025, 0.95, 1 - 0.005])
    assert is_beyond(found[2])


def test_a_secondary_test_has_a_verdict_only_beside_its_primary():
    for p, expected, verdict in ((0.001, 0.03, True), (0.2, 0.2, False)):
        found = adjust_run([finding_of("accuracy_contrast", p), finding_of("accuracy_gap", 0.03)], AUDIT)
        assert [one.role for one in found] == ["primary", "secondary"]
        assert found[1].p_adjusted == expected
        assert is_beyond(found[1]) == verdict
    (alone,) = adjust_run([finding_of("accuracy_gap", 0.03)], AUDIT)  # its primary was not asked for
    assert (alone.role, alone.p_adjusted) == ("primary", 0.03)
    of_cells = finding_of("accuracy_gap", 0.001, params={"groups": "yz"})  # another hypothesis
    assert adjust_run([finding_of("accuracy_contrast", 0.001), of_cells], AUDIT)[1].role == "exploratory"


def test_intervals_have_the_level_of_their_place():
    found = adjust_run([finding_of("a", 0.04), finding_of("a", 0.001), finding_of("a", 0.02)], ("a",))
    assert levels(found) == pytest.approx([0.95, 1 - 0.05 / 3, 0.975], abs=1e-6)
    assert (found[1].interval.low, found[1].interval.high) != (found[1].details["low_95"],
                                                               found[1].details["high_95"])  # fmt: skip
    assert found[1].details == pytest.approx({"low_95": 0.2, "high_95": 0.4})
    assert found[0].details == {}  # shown at 95 % as it is
    assert levels(adjust_run([finding_of("a", 0.001), finding_of("a", 0.02)], ("a",), alpha=0.1)) == [
        0.95,
        0.9,
    ]


def test_p_and_interval_shown_decide_together():
    """An interval that leaves out the fair value at 95 %, but not at the level of the family."""
    edge = finding_of("a", 0.001, half=0.295)
    assert is_beyond(adjust_run([edge], ("a",))[0])
    (first, _) = adjust_run([edge, finding_of("a", 0.6)], ("a",))
    assert first.interval.low < 0 < first.details["low_95"]
    assert first.p_value == 0.001
    level = 0.95 * 0.3 / 0.295  # at which the interval ends at the fair value
    assert first.p_adjusted == pytest.approx(2 * (1 - level), abs=1e-5)
    assert significance_of(first) == Significance("within", is_corrected=True)


def test_what_cannot_change_its_level_keeps_its_interval():
    found = adjust_run([finding_of("a", 0.001, levels=False), finding_of("a", 0.02)], ("a",))
    assert levels(found) == [0.95, 0.95]
    assert found[0].details == {}


def test_without_a_test_a_primary_takes_no_place():
    found = adjust_run([finding_of("a", None), finding_of("a", 0.03)], ("a",))
    assert [one.role for one in found] == ["primary", "primary"]
    assert [one.p_adjusted for one in found] == [None, 0.03]
    assert levels(found) == [0.95, 0.95]


def test_primaries_are_chosen_by_their_parameters():
    small, large = (finding_of("gap", 0.01, params={"k": k, "threshold": 0.1}) for k in (5, 10))
    found = adjust_run([small, large], ("gap[k=10,threshold=0.1]",))
    assert [one.role for one in found] == ["exploratory", "primary"]
    assert [one.role for one in adjust_run([small, large], ("gap[k=10,threshold=0.2]",))] == [
        "exploratory"
    ] * 2
    assert [one.role for one in adjust_run([small, large], ("gap",))] == ["primary", "primary"]


def test_without_a_list_everything_that_can_have_a_verdict_is_primary():
    rate, gap = finding_of("accuracy", 0.01, fair_at=None), finding_of("gap", 0.01)
    found = adjust_run([rate, gap, finding_of("other", None)], None)
    assert [one.role for one in found] == ["exploratory", "primary", None]
    assert found[1].p_adjusted == 0.01


def test_a_role_that_is_there_stays():
    given = finding_of("a", 0.001, role="exploratory")
    first, second = adjust_run([given, finding_of("a", 0.03)], ("a",))
    assert (first.role, first.p_adjusted, second.p_adjusted) == ("exploratory", None, 0.03)


def test_parts_are_looked_into_after_a_primary_of_their_grouping():
    passed = finding_of("skewsize", None, parts=classes(0.001, 0.4), fair_at=None)
    other = finding_of("skewsize", None, parts=classes(0.001, 0.4), by=("h",), fair_at=None)
    said = finding_of("skewsize", None, parts=classes(0.001), params={"answers": "raw"}, fair_at=None)
    primaries = [finding_of("disparities", 0.001), finding_of("disparities", 0.3, by=("h",))]
    found = adjust_run([passed, other, said, *primaries], AUDIT)
    assert [[part.role for part in one.parts] for one in found[:3]] == [
        [None, None], ["exploratory"] * 2, ["exploratory"],
    ]  # fmt: skip
    assert [is_beyond(part) for part in found[0].parts] == [True, False]
    assert not is_beyond(found[1].parts[0])


def test_a_small_p_whose_interval_disagrees_opens_no_parts():
    primary = finding_of("disparities", 0.001, half=0.4)
    found = adjust_run([primary, finding_of("skewsize", None, parts=classes(0.001), fair_at=None)], AUDIT)
    assert found[1].parts[0].role == "exploratory"


@pytest.mark.parametrize(("method", "expected"), [("bh", [0.02, 0.02]), ("none", [0.01, 0.02])])
def test_other_corrections_keep_the_usual_level(method, expected):
    found = adjust_run([finding_of("a", 0.01), finding_of("a", 0.02)], ("a",), method=method)
    assert [one.p_adjusted for one in found] == expected
    assert levels(found) == [0.95, 0.95]


def test_a_finding_makes_its_interval_at_other_levels():
    one = finding_of("a", 0.01)
    assert one.interval_at(0.95) is one.interval
    assert one.interval_at(0.99).level == 0.99
    assert one.interval_at(0.99).low < one.interval.low
    plain = finding_of("a", 0.01, levels=False)
    assert plain.interval_at(0.99) is None
    assert plain.interval_at(0.95) == plain.interval


def test_how_intervals_are_made_is_no_part_of_a_finding():
    one, plain = finding_of("a", 0.01), finding_of("a", 0.01, levels=False)
    assert one == plain
    assert one.model_dump() == plain.model_dump()
    assert plain.with_levels(lambda level: None).interval_at(0.99) is None
    again = pickle.loads(pickle.dumps(one))  # noqa: S301 - made here
    assert again == one
    assert again.interval_at(0.99) is None
    assert one.interval_at(0.99) is not None
