"""Headlines of rates: counts k of n, of whom, beside whom, from findings alone."""

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.cards import MetricCard, Sentences, Source
from evenhand.core.findings import Dropped, Finding, Findings, GroupSize, Interval, Null, Part
from evenhand.display.overview.overview import overview_of
from evenhand.display.text.disparities import mix_sentence
from evenhand.display.text.formatting import MINUS, points
from evenhand.metrics.catalogue import with_cards
from evenhand.report.suppression.suppress import suppressed_findings

LAGOS = {"Lagos": (370, 469), "Oslo": (620, 713), "Quito": (638, 750)}


def finding(name, by=("office",), **fields):
    usual = {"metric": name, "name": name, "by": list(by), "n": 100, "direction": "descriptive"}
    return Finding(**{**usual, "value": 0.1, "source": Source(paper="p"), **fields})


def rate_parts(counts, kind="group", **more):
    return [Part(kind=kind, key=key, value=k / n, n=n, **more) for key, (k, n) in counts.items()]


def band(low, high):
    return Null(mean=(low + high) / 2, low=low, high=high, method="m")


WORST = "accuracy minus the accuracy of the worst group"


def gap_of(counts, p=0.001, ends=(0.03, 0.1), **more):
    """Accuracy and its gap, as an audit makes them."""
    total = sum(k for k, _ in counts.values()) / sum(n for _, n in counts.values())
    worst = min(k / n for k, n in counts.values())
    tested = {"p_value": p, "p_adjusted": p, "role": "primary", "fair_at": 0.0, "null": band(0, 0.02)}
    interval = Interval(low=ends[0], high=ends[1], method="m")
    groups = [GroupSize(key=key, n=n) for key, (_, n) in counts.items()]
    gap = finding("accuracy_gap", value=total - worst, interval=interval, groups=groups, **tested | more)
    return [finding("accuracy", value=total, parts=rate_parts(counts)), gap]


def overview(findings, **manifest):
    with_their_cards = [one if one.is_declared else with_cards([one])[0] for one in findings]
    return overview_of(Findings(manifest_id="m", findings=with_their_cards), {"kind": "audit", **manifest})


def test_accuracy_is_said_with_counts_where_no_mistake_is_beyond_chance():
    lines = overview(gap_of(LAGOS), noun="tickets", rows=1932)
    assert lines.title == "Lagos: 370 of 469 tickets are right; elsewhere 1,258 of 1,463."
    assert lines.lead == "Lagos: 370 of 469 tickets are right (79 %); elsewhere 1,258 of 1,463 (86 %)."
    (line,) = lines.headlines
    assert line.beyond
    assert line.size == f"Accuracy gap, {WORST}: 5 points (95 % interval 3 to 10)."
    assert line.chance == "Chance alone would give 0 to 2 points."
    assert line.certainty == "p = 0.001."
    assert line.rows == {"office": "=Lagos"}
    assert [(mark.label, mark.text, mark.named) for mark in line.chart.marks] == [
        ("Lagos", "370 of 469", True), ("Oslo", "620 of 713", False), ("Quito", "638 of 750", False),
    ]  # fmt: skip


def test_a_gap_that_small_groups_reach_by_chance_is_told_by_the_chance_of_its_own_group():
    accuracy, gap = gap_of(LAGOS, null=band(0.0, 0.2))
    (line,) = overview([accuracy, gap]).headlines
    assert line.chance == "Chance alone would give 0 to 20 points."  # groups have no band of their own
    parts = [part.model_copy(update={"null": band(0.82, 0.88)}) for part in accuracy.parts]
    (line,) = overview([accuracy.model_copy(update={"parts": parts}), gap]).headlines
    assert line.chance == "Chance alone would give 82 to 88 % in a group of 469."
    (line,) = overview([accuracy.model_copy(update={"parts": parts}), gap_of(LAGOS)[1]]).headlines
    assert line.chance == "Chance alone would give 0 to 2 points."


def test_a_gap_names_the_group_that_its_p_is_about():
    """A dozen rows have the lowest accuracy by chance; a thousand others are what lies beyond it."""
    sizes = {"large": (940, 1000), "worse": (800, 1000), "tiny": (8, 12)}
    rows = [("a", "a" if i < right else "b", group) for group, (right, n) in sizes.items() for i in range(n)]
    frame = pl.DataFrame([*rows, ("b", "b", "large")], schema=["t", "p", "g"], orient="row")
    (line,) = eh.audit(
        frame, truth="t", prediction="p", by="g", metrics=["accuracy", "accuracy_gap"]
    ).overview.beyond
    assert line.text == "worse: 800 of 1,000 rows are right; elsewhere 949 of 1,013."
    assert line.chance == "Chance alone would give 0 to 5 points."  # of the value's own statistic
    assert line.remark == "The worst group is tiny: 8 of 12, which chance alone can give in a group of 12."


def test_two_groups_are_both_named():
    assert overview(gap_of({"a": (50, 100), "b": (90, 100)})).title == (
        "a: 50 of 100 rows are right; b 90 of 100."
    )


def test_the_gap_is_silent_where_a_mistake_of_its_grouping_speaks():
    rows = [("a", "b" if i < 30 else "a", "x") for i in range(60)] + [("a", "a", "y")] * 300
    frame = pl.DataFrame([*rows, *[("b", "b", g) for g in "xy" * 60]], schema=["t", "p", "g"], orient="row")
    run = eh.audit(frame, truth="t", prediction="p", by="g")
    assert run["accuracy_gap"].p_adjusted < 0.05
    assert run.overview.title == "x: 30 of 60 a rows are called b; y 0 of 300."
    assert {line.metric for line in run.overview.headlines} == {run["disparities"].metric}


def worse_everywhere(planted=0):
    """Of 40 classes x has a wrong label in each, too few of one kind; y is planted."""
    classes = [f"c{i}" for i in range(40)]
    rows = [
        (c, classes[(i + 7 * j + 1) % 40] if wrong else c, g)
        for i, c in enumerate(classes)
        for g, misses in (("x", 4), ("y", 1), ("z", 1))
        for j, wrong in enumerate([True] * misses + [False] * (10 - misses))
    ]
    rows += [("c0", "c9" if i < planted and g == "y" else "c0", g) for g in "xyz" for i in range(planted * 2)]
    return pl.DataFrame(rows, schema=["t", "p", "g"], orient="row")


def test_a_worse_group_without_a_mistake_of_its_own_is_found():
    metrics = ["accuracy", "accuracy_gap"]
    run = eh.audit(worse_everywhere(), truth="t", prediction="p", by="g", metrics=metrics)
    assert run.overview.title == "x: 240 of 400 rows are right; elsewhere 720 of 800."


def test_a_worse_group_is_said_beside_a_mistake_of_another_one():
    lines = eh.audit(worse_everywhere(40), truth="t", prediction="p", by="g").overview
    assert lines.kicker == "2 findings by g · 3 groups · 1,440 of 1,440 rows"
    first, second = lines.beyond
    assert (first.group, second.group) == ("y", "x")
    assert lines.title.startswith("y: 40 of 90 c0 rows are called c9; elsewhere ")
    assert second.text == "x: 320 of 480 rows are right (67 %); elsewhere 840 of 960 (88 %)."
    assert second.sureness.startswith(
        "p <0.001, corrected for 3 questions of this run. None of the 20.8 points below "
    )
    assert second.remark == mix_sentence(0.875 - 2 / 3, 0.0, 0.875 - 2 / 3)


def test_a_lower_accuracy_says_how_much_of_it_is_the_mix_of_classes():
    assert mix_sentence(0.125, 0.0951, 0.0299) == (
        "Of 12.5 points below the rest, 9.5 come from its mix of classes."
    )
    assert mix_sentence(0.05, -0.02, 0.07) == (
        "Its classes are easier: within classes it is 7.0 points below the rest."
    )
    none = "None of the 5.0 points below the rest come from its mix of classes."
    assert mix_sentence(0.05, -1e-9, 0.05) == none


def test_within_chance_says_so_and_promises_no_power_that_is_not_of_the_level_of_the_run():
    lines = overview(gap_of(LAGOS, p=0.4, ends=(0, 0.1), mde=0.07))
    assert lines.title == "Nothing differs by office beyond chance."
    assert lines.lead == (
        f"Accuracy gap by office, {WORST}: 5 points, within what chance alone gives (p 0.400)."
    )
    assert [line.beyond for line in lines.headlines] == [False]
    assert lines.headlines[0].text.startswith("Lagos: 370 of 469")


def test_a_small_p_whose_interval_holds_zero_is_no_headline():
    lines = overview(gap_of(LAGOS, p=0.01, ends=(-0.01, 0.1)))
    assert (lines.title, lines.beyond) == ("Nothing differs by office beyond chance.", ())
    assert "by its interval" in lines.lead


def test_exploratory_findings_never_lead():
    accuracy, gap = gap_of(LAGOS)
    other = finding("cramers_v", role="exploratory", value=0.9, p_value=1e-9, fair_at=0.0)
    quiet = gap.model_copy(update={"p_value": 0.9, "p_adjusted": 0.9})
    assert overview([other, accuracy, quiet]).beyond == ()


def test_without_a_test_nothing_is_judged():
    lines = overview(gap_of(LAGOS, p=None))
    assert lines.title.startswith("Lagos: 370 of 469")
    assert lines.headlines[0].certainty == "Not tested."
    assert lines.beyond == ()


@pytest.mark.parametrize("groups", ["yz", "z"])
def test_a_value_that_is_not_made_of_these_rates_is_not_said_by_them(groups):
    accuracy, gap = gap_of(LAGOS)
    other = gap.model_copy(update={"value": 0.6, "params": {"groups": groups}})
    assert overview([accuracy, other]).title == (
        "Accuracy gap by office: 60 points (3 to 10); chance alone gives 0 to 2."
    )


def test_weighted_rates_are_shares():
    counts = {"a": (50.4, 100.5), "b": (90.1, 100.2), "c": (80.3, 90.1)}
    assert overview(gap_of(counts)).title == "a: 50 % of rows are right; elsewhere 90 %."


def test_hostile_names_are_short_and_visible():
    name, other = "<script>\u202e" + "x" * 200, "line\nbreak"
    lines = overview(gap_of({name: (50, 100), other: (90, 100)}))
    assert "\u202e" not in lines.title
    assert "\n" not in lines.title
    assert "[U+202E]" in lines.title
    assert "…" in lines.title
    assert len(lines.title) < 140


def test_suppressed_findings_show_no_count():
    frame = pl.DataFrame(
        [("a", "b" if i < 3 else "a", "x") for i in range(6)] + [("a", "a", "y"), ("b", "b", "y")] * 60,
        schema=["t", "p", "g"], orient="row",
    )  # fmt: skip
    run = eh.audit(frame, truth="t", prediction="p", by="g")
    hidden = suppressed_findings(run.findings, 10)
    lines = overview_of(hidden, run.manifest)
    texts = " ".join([lines.title, lines.lead, *lines.silent, *(line.text for line in lines.headlines)])
    assert " of 6" not in texts
    assert "3 of" not in texts
    assert lines.beyond == ()


def household(name, **fields):
    counts = {"low": (27, 84), "medium": (45, 84), "high": (60, 84)}
    parts = [
        Part(kind="income_bucket", key=key, value=k / n - 0.01, n=n, details={"n_hits": k})
        for key, (k, n) in counts.items()
    ]
    return finding(name, by=("income_bucket",), parts=parts, **fields)


WORDS = {
    "nouns": {
        "sample": ["photo", "photos"],
        "attributes": {"income_bucket": {"groups": {"low": "poor households", "high": "rich households"}}},
    },
    "asks": "are things recognised alike?",
}


def test_nouns_and_counts_of_the_benchmark():
    """Rates of households are means; the counts are of photos, and both are said."""
    gap = household(
        "household_hit_gap", value=33 / 84, p_value=0.001, role="primary", fair_at=0.0,
        details={"first": "high", "first_rate": 60 / 84 - 0.01, "second": "low"},
    )  # fmt: skip
    lines = overview([gap], kind="run", words=WORDS, model="/models/a.onnx", rows=252)
    assert lines.title == "Poor households: 27 of 84 photos have their thing named; rich households 60 of 84."
    assert lines.kicker == "Are things recognised alike? · a.onnx · 252 photos"
    assert "(32 %)" in lines.lead
    assert "the counts beside it are plain" in lines.headlines[0].chart.note


def test_neighbours_are_counted_by_their_own_number():
    parts = [
        Part(kind="gender", key=key, value=k / 280, n=28, details={"n_of": 280})
        for key, k in (("f", 234), ("m", 100))
    ]
    params = {"match": "gender", "k": 10}
    rates = finding("precision_at_k", by=("gender",), parts=parts, params=params, role="exploratory")
    gap = finding(
        "precision_gap", by=("gender",), value=134 / 280, params=params, p_value=0.01, role="primary",
        fair_at=0.0, details={"highest": "f", "lowest": "m"},
    )  # fmt: skip
    assert overview([rates, gap], kind="run").title == (
        "m: 100 of 280 nearest images show the same gender; f 234 of 280."
    )


def test_a_metric_of_somebody_else_declares_its_form():
    declared_here = {"first_line": "rates", "parts_direction": "lower is fairer", "unit": "share difference"}
    sentences = Sentences(hits="are missed at k = {k}")
    card = MetricCard(name="missed_gap", title="Missed, gap", sentences=sentences, **declared_here)
    gap = finding(
        "missed_gap", value=0.3, p_value=0.01, fair_at=0.0, params={"k": 3},
        parts=rate_parts({"a": (10, 100), "b": (40, 100)}),
    )  # fmt: skip
    assert overview([gap.with_card(card)]).title == "b: 40 of 100 rows are missed at k = 3; a 10 of 100."


@pytest.mark.parametrize("hits", ["{", "{0}", "{a.b}"])
def test_a_verb_that_cannot_be_filled_in_is_refused(hits):
    with pytest.raises(ValueError, match="cannot be filled in"):
        Sentences(hits=hits)


def test_a_hidden_number_of_lost_rows_is_said_to_be_hidden():
    """Suppression writes minus its limit; it stood as 0 before."""
    lost = finding("accuracy_gap", dropped=[Dropped(reason="missing truth", count=-10.0)])
    assert overview([lost]).checks == ("Left out: a hidden number without truth.",)


def test_points_are_counted_as_people_do():
    assert [points(value) for value in (0.31, 0.0101, 0.004, -0.01, 0.0)] == [
        "31 points", "1 point", "0.4 points", f"{MINUS}1 point", "0 points",
    ]  # fmt: skip


def audited(hits, offices=("Lagos", "Oslo", "Quito")):
    """100 rows of a class in each of some offices; in the first, some are called another class."""
    rows = [(name, "a", "b" if (name == "Lagos" and i < hits) or i == 0 else "a")
            for name in offices for i in range(100)]  # fmt: skip
    frame = pl.DataFrame([*rows, ("Oslo", "b", "b")], schema=["office", "truth", "prediction"], orient="row")
    metrics = ["disparities", "accuracy_gap"]
    return eh.audit(frame, truth="truth", prediction="prediction", by="office", metrics=metrics).overview


def test_bands_of_groups_outside_of_them_are_explained_without_a_cause():
    (line,) = audited(40).headlines
    assert [mark.inside for mark in line.chart.marks] == [False, False, False]
    assert line.chart.note == "Bands lie around the average of all groups, which Lagos raises."
    (of_two,) = audited(40, ("Lagos", "Oslo")).headlines
    assert of_two.chart.note == "Bands lie around the average of all groups, which Lagos raises."
    (quiet,) = audited(3).headlines
    assert quiet.chart.note == ""


def test_a_group_that_is_low_without_the_named_one_is_not_blamed_on_it():
    counts = {"A": (50, 1000), "B": (100, 500), "C": (36, 100)}
    rows = [("cat", "dog" if i < k else "cat", name) for name, (k, n) in counts.items() for i in range(n)]
    frame = pl.DataFrame([*rows, ("dog", "dog", "A")], schema=["t", "p", "g"], orient="row")
    notes = [line.chart.note for line in eh.audit(frame, truth="t", prediction="p", by="g").overview.beyond]
    assert any(note.startswith("Bands lie around the average of all groups, which ") for note in notes)
    assert "because" not in " ".join(notes)
