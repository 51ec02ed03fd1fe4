"""What every metric of Similarities keeps: contract, invariances, chance, and degenerate evidence."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand import Similarities, metrics
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.metrics.catalogue import known_cards
from tests.helpers import usual
from tests.properties.association_table import ATTRIBUTES, CASES, TARGETS, Material, material
from tests.properties.metric_table import check_finding

CARDS = known_cards()

each_case = pytest.mark.parametrize("case", CASES, ids=str)
SIGNED = [case for case in CASES if case.signed]


def plain(finding):
    """A finding without the names of items."""
    without = {
        key: value
        for key, value in finding.details.items()
        if not key.endswith("_item") and not isinstance(value, float)
    }
    parts = sorted((part.value, part.n) for part in finding.parts if part.value is not None)
    return (finding.value, finding.interval, finding.null, finding.p_value, without, parts)


@each_case
def test_a_finding_says_what_it_is(case):
    finding = case(material(0, case.kind).similarities())
    check_finding(finding)
    definition = CARDS[case.name]
    assert (finding.name, finding.by, finding.n) == (case.name, [], 17 if case.both else 9)
    assert (finding.direction, finding.fair_at) == (definition.direction, definition.fair_at)
    assert finding.source == definition.source
    assert finding.params["form"] == "test"
    assert finding.params["attributes"] == ["A", "B"]
    assert finding.interval.low <= finding.value <= finding.interval.high
    assert finding.null is not None
    assert 0 < finding.p_value <= 1
    assert finding.metric.startswith(f"{case.name}(attributes=A|B")
    if case.both:
        assert finding.params["targets"] == ["X", "Y"]
        assert [(part.kind, part.key, part.n) for part in finding.parts] == [("set", "X", 9), ("set", "Y", 8)]


@each_case
def test_findings_do_not_depend_on_the_order_of_rows_or_items(case):
    given = material(2, case.kind)
    assert case(given.similarities(7)).model_dump_json() == case(given.similarities()).model_dump_json()


@each_case
def test_findings_do_not_depend_on_the_names_of_items(case):
    given = material(3, case.kind)
    assert plain(case(given.renamed().similarities())) == plain(case(given.similarities()))


@pytest.mark.parametrize("case", [case for case in CASES if case.scale_free], ids=str)
def test_values_do_not_depend_on_repetition(case):
    given = material(4, case.kind, shift=0.3)
    once, twice = (
        case(evidence.similarities(), inference="none").value for evidence in (given, given.repeated())
    )
    assert twice == pytest.approx(once, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("side", ["targets", "attributes"])
@pytest.mark.parametrize("case", SIGNED, ids=str)
def test_exchanged_sets_change_the_sign(case, side):
    if side == "targets" and not case.both:
        return
    given = material(5, case.kind, shift=0.3)
    here, there = case(given.similarities()), case(given.exchanged(side).similarities())
    assert there.value == pytest.approx(-here.value, rel=1e-9)
    assert there.p_value == pytest.approx(here.p_value, abs=0.02)
    assert there.interval.low == pytest.approx(-here.interval.high, abs=0.5 * abs(here.value) + 0.05)


@cache
def fair(seed, kind):
    """Evidence of a model without associations."""
    return material(1_000 + seed, kind, sizes=(6, 6, 7, 7)).similarities()


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [40, pytest.param(120, marks=pytest.mark.nightly)])
@each_case
def test_a_fair_model_stays_in_its_null_band_and_p_is_uniform(case, seeds):
    inside, p = 0, []
    for seed in range(seeds):
        finding = case(fair(seed, case.kind), seed=seed)
        inside += finding.null.low - 1e-12 <= finding.value <= finding.null.high + 1e-12
        p.append(finding.p_value)
    low, half = np.sum(np.array(p) <= 0.05), np.sum(np.array(p) <= 0.5)
    print(f"{case}: inside {inside}, p <= .05 in {low}, p <= .5 in {half} of {seeds}")
    assert inside >= usual(0.95, seeds)[0]
    assert low <= usual(0.05, seeds)[1]
    assert half <= usual(0.5, seeds)[1]


@each_case
def test_a_planted_association_leaves_the_null_band(case):
    finding = case(material(8, case.kind, sizes=(20, 20, 10, 10), shift=2.0).similarities())
    assert not finding.null.low <= finding.value <= finding.null.high
    assert finding.p_value < 0.05
    if case.name == "pleasant_at_k":
        assert finding.value < 0.1  # by argmax, words that are never first tie for the last places
    else:
        assert finding.interval.low > 0


@each_case
def test_wrong_options_are_refused_in_one_line(case):
    evidence = material(9, case.kind).similarities()
    with pytest.raises(ParameterError, match="inference='no' is not possible; choose one of 'auto', 'none'"):
        case(evidence, inference="no")
    with pytest.raises(ParameterError, match="choose one of 'default', 'paper'"):
        case(evidence, mode="papre")
    with pytest.raises(ParameterError, match="seed=-1 is not possible"):
        case(evidence, seed=-1)
    with pytest.raises(UnknownName, match="there is no set of attributes 'C'; possible: 'A', 'B'"):
        case(evidence, attributes=("A", "C"))
    with pytest.raises(ParameterError, match="name two different sets"):
        case(evidence, attributes=("A", "A"))
    with pytest.raises(UnknownName, match="there is no set of targets 'Z'"):
        case(evidence, **({"targets": ("X", "Z")} if case.both else {"target": "Z"}))


@each_case
def test_other_evidence_is_refused_in_one_line(case):
    with pytest.raises(ParameterError, match="takes Similarities, not object"):
        case(object())


def test_paper_mode_is_named_in_the_finding():
    for case in CASES:
        finding = case(material(3, case.kind).similarities(), mode="paper")
        assert finding.params["mode"] == "paper"
        assert "mode=paper" in finding.metric


EMPTY = [(0, 5, 6, 6), (5, 0, 6, 6), (5, 5, 0, 6), (5, 5, 6, 0), (0, 0, 0, 0)]


@pytest.mark.parametrize("sizes", EMPTY, ids=str)
@each_case
def test_an_empty_set_is_a_reason(case, sizes):
    finding = case(material(0, case.kind, sizes=sizes).similarities())
    check_finding(finding)
    if case.both or sizes != EMPTY[1]:
        assert (finding.value, finding.reason) == (None, "empty_set")
        assert any("has no usable item" in note for note in finding.notes)


@pytest.mark.parametrize(
    "sizes", [(1, 5, 6, 6), (5, 1, 6, 6), (1, 1, 6, 6), (5, 5, 1, 1), (2, 2, 1, 6)], ids=str
)
@each_case
def test_single_members_are_findings(case, sizes):
    finding = case(
        material(0, case.kind, sizes=sizes).similarities(), **({"k": 1} if "k" in case.options else {})
    )
    check_finding(finding)
    if case.name == "association_effect_size" or case.options.get("standardised"):
        assert (finding.reason == "one_member") == (1 in sizes[:2])
    else:
        assert finding.value is not None


@each_case
def test_equal_items_have_no_effect_size(case):
    given = material(0, case.kind)
    flat = Material(np.full_like(given.values, 0.5), given.targets, given.attributes, given.kind)
    finding = case(flat.similarities())
    check_finding(finding)
    if case.name == "association_effect_size" or case.options.get("standardised"):
        assert (finding.value, finding.reason) == (None, "equal_associations")
    elif case.name == "pleasant_at_k":
        assert finding.value == pytest.approx(8 / 15)  # all words tie
    else:
        assert finding.value == 0


sizes = st.tuples(*[st.integers(0, 4)] * 4)


@settings(max_examples=40, deadline=None)
@given(sizes, st.integers(0, 3), st.sampled_from([0, 1, 3]))
def test_any_tiny_evidence_is_a_finding(sizes, seed, decimals):
    evidence = {}
    for kind in {case.kind for case in CASES}:
        given = material(seed, kind, sizes=sizes)
        rounded = Material(given.values.round(decimals), given.targets, given.attributes, given.kind)
        evidence[kind] = rounded.similarities()
    for case in CASES:
        check_finding(case(evidence[case.kind], **({"k": 2} if "k" in case.options else {})))


def test_the_exported_metrics_of_similarities_are_in_the_table():
    named = {case.name for case in CASES}
    assert named <= set(metrics.__all__)
    assert (TARGETS, ATTRIBUTES) == (("X", "Y"), ("A", "B"))
    assert isinstance(material(0).similarities(), Similarities)
