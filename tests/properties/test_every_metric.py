"""What every metric of evenhand keeps, whatever evidence it takes; a new one needs no line here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evenhand.core.findings import Findings
from evenhand.metrics.differences.models import model_differences
from evenhand.metrics.estimates import LEVEL
from evenhand.runs.run_folder import RunFolder, dump_cards
from evenhand.stats.contingency.model_summaries import SUMMARIES
from tests.properties.evidence_kinds import Asked, counted, every_metric
from tests.properties.metric_table import check_finding

pytestmark = pytest.mark.usefixtures("few_draws")
EVERY = every_metric()
MARK = "mark7"  # in front of names that are changed; in no other text


def each_metric(*options: str):
    """Metrics that have these options."""
    chosen = [asked for asked in EVERY if all(map(asked.takes, options))]
    return pytest.mark.parametrize("asked", chosen, ids=str)


@pytest.fixture(scope="module")
def findings():
    """The finding of each metric under each of its options, made when it is first wanted."""
    made = {}

    def finding_of(asked: Asked, **options):
        key = (str(asked), *options.items())
        if key not in made:
            made[key] = asked(**options)
        return made[key]

    return finding_of


def check(finding):
    """A valid finding, whose values lie in the range that its card declares."""
    check_finding(finding)
    low, high = finding.card.range
    if finding.value is not None:
        assert low is None or low <= finding.value
        assert high is None or finding.value <= high
    return finding


def numbers(finding):
    """Its value and those of its parts without their order and sign."""
    return sorted(abs(one.value) for one in (finding, *finding.parts) if one.value is not None)


@each_metric()
def test_a_finding_says_what_its_card_declares(asked, findings):
    finding, card = check(findings(asked)), asked.metric.card
    assert finding.value is not None, finding.reason
    assert finding.n > 0
    assert (finding.name, finding.card.comparing(card.of)) == (card.name, card)  # of what it compares
    assert finding.metric.partition("(")[0] == card.name
    assert (finding.direction, finding.fair_at, finding.source) == (card.direction, card.fair_at, card.source)
    assert finding.interval is None or finding.interval.level == LEVEL


@each_metric("inference")
def test_inference_none_keeps_the_values_and_skips_the_rest(asked, findings):
    full, quick = findings(asked), check(findings(asked, inference="none"))
    assert quick.value == full.value
    assert [part.value for part in quick.parts] == [part.value for part in full.parts]
    for piece in (quick, *quick.parts):
        assert piece.interval is piece.null is piece.p_value is None
    assert not any(key.startswith("p_") for key in quick.details)


@each_metric("inference", "mode")
def test_paper_mode_is_named_where_it_gives_another_finding(asked):
    usual, paper = asked(mode="default", inference="none"), check(asked(mode="paper", inference="none"))
    assert paper.params.get("mode") == "paper" or paper == usual
    assert ("mode=paper" in paper.metric) == (paper.params.get("mode") == "paper")


@each_metric()
def test_evidence_of_one_group_gives_a_value_or_a_reason(asked):
    finding = check(asked(lambda sample: sample.narrowed()))
    assert finding.value is not None or finding.reason
    assert finding.interval is None or finding.value is not None


@each_metric()
def test_the_order_of_rows_changes_nothing(asked, findings):
    assert asked(lambda sample: sample.shuffled()).model_dump_json() == findings(asked).model_dump_json()


@each_metric("inference")
def test_other_names_in_the_same_order_change_only_names(asked, findings):
    renamed = asked(
        lambda sample: sample.renamed(lambda names: {name: MARK + name for name in names}), inference="none"
    )
    assert MARK in renamed.model_dump_json()
    assert renamed.model_dump_json().replace(MARK, "") == findings(asked, inference="none").model_dump_json()


@each_metric("inference")
def test_names_in_another_order_change_at_most_signs_and_order(asked, findings):
    def reverse(names):
        return {name: f"{place:03d} {name}" for place, name in enumerate(reversed(names))}

    renamed = asked(lambda sample: sample.renamed(reverse), inference="none")
    expected = numbers(findings(asked, inference="none"))
    assert numbers(renamed) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@each_metric()
def test_another_seed_keeps_the_value(asked, findings):
    """That one seed gives one finding is seen above, where rows are in another order."""
    first, other = findings(asked), asked(seed=2)
    assert first.value == other.value
    for finding, seed in ((first, 0), (other, 2)):
        for drawn in (finding.interval, finding.null):
            assert drawn is None or not drawn.replicates or drawn.seed == seed


def test_findings_that_are_saved_are_read_as_they_were(findings, tmp_path):
    made = Findings(manifest_id="0" * 64, findings=[findings(asked) for asked in EVERY])
    for name, content in (("findings", made.dump()), ("metrics", dump_cards(made)), ("manifest", b"{}")):
        Path(tmp_path / f"{name}.json").write_bytes(content)
    read = RunFolder.read(tmp_path).findings
    assert read == made
    assert [finding.card for finding in read] == [finding.card for finding in made]
    assert all(finding.is_declared for finding in read)
    json.loads(made.dump(), parse_constant=pytest.fail)


def test_a_model_that_is_compared_with_itself_does_not_differ():
    """Of metrics of counts; tests/runner/test_compare_answers.py holds those of single answers to it."""
    compared = {asked.name for asked in EVERY if asked.metric.card.compared == "counts"}
    assert compared == set(SUMMARIES), "a card says more than is compared"
    counts = counted(5).evidence().count(["group"])
    for difference in model_differences((counts, counts), by="group"):
        check_finding(difference)
        assert difference.value == 0
        assert difference.p_value in (1, None)
        assert difference.interval is None or difference.interval.low <= 0 <= difference.interval.high
