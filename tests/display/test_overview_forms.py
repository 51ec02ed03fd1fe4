"""Headlines of rankings, pairs, reductions, comparisons and any value, from findings alone."""

import re

import pytest

from evenhand.core.cards import MetricCard
from evenhand.core.findings import Finding, Findings, GroupSize, Interval, Part
from evenhand.display.overview.overview import overview_of
from evenhand.display.text.formatting import MINUS
from evenhand.metrics.catalogue import known_cards, with_cards
from tests.display.test_overview_rates import band, finding

TESTED = {"p_value": 0.001, "p_adjusted": 0.002, "role": "primary", "fair_at": 0.0}
WITHIN = {**TESTED, "p_value": 0.5, "p_adjusted": 0.9}
PEOPLE = {"nouns": {"query": ["job", "jobs"], "attributes": {
    "sex": {"groups": {"m": "masculine people", "f": "feminine people"}}}}}  # fmt: skip


def overview(*findings, **manifest):
    with_their_cards = [one if one.is_declared else with_cards([one])[0] for one in findings]
    return overview_of(Findings(manifest_id="m", findings=with_their_cards), {"kind": "run", **manifest})


def between(low, high):
    return Interval(low=low, high=high, method="m")


def ranking(name="bias_at_k", k=5, **fields):
    tops = {"a": (4, 1), "b": (4, 1), "c": (5, 0)}
    parts = [
        Part(kind="job", key=key, value=(m - f) / 5, n=10, details={"top_m": m, "top_f": f})
        for key, (m, f) in tops.items()
    ]
    usual = {"value": 0.73, "params": {"k": k, "groups": ["m", "f"]}, "parts": parts, **TESTED}
    groups = [GroupSize(key="f", n=15), GroupSize(key="m", n=15)]
    return finding(name, by=("sex",), groups=groups, **{**usual, **fields})


def pair(targets, value, auc, ends, name="association_effect_size", **fields):
    usual = {"params": {"form": "visual", "targets": targets, "attributes": ["bad", "good"]}, **TESTED}
    parts = [Part(kind="set", key=key, value=at, n=8) for key, at in zip(targets, (0.1, -0.1), strict=True)]
    details = {"auc": auc, "n_x": 8.0, "n_y": 8.0}
    more = {"parts": parts, "details": details, "interval": between(*ends), "null": band(-1, 1)}
    return finding(name, by=(), value=value, **{**usual, **more, **fields})


def test_who_is_ranked_first_beside_how_many_there_are():
    lines = overview(ranking(), words=PEOPLE)
    assert lines.title == "Masculine people take 13 of 15 first places, with 15 of 30 images."
    assert lines.lead == (
        "Of the first 5 places of 3 jobs, masculine people take 13 of 15 (87 %) and feminine people 2; "
        "50 % of the images are of masculine people."
    )
    chart = lines.headlines[0].chart
    assert (chart.fair, [mark.text for mark in chart.marks]) == (0.5, ["13 of 15", "2 of 15"])


def test_a_ranking_without_places_says_how_many_follow():
    parts = [Part(kind="job", key=key, value=0.2, n=10) for key in "abc"]
    lines = overview(ranking("ndkl", parts=parts, params={}), words=PEOPLE)
    assert lines.title == "Rankings of 3 jobs follow sex more than chance explains."
    assert "0.730" in lines.lead


def test_a_ranking_without_places_names_who_leads_in_how_many_where_another_finding_counts_places():
    parts = [Part(kind="job", key=key, value=0.2, n=10) for key in "abc"]
    tops = {"a": (1, 4), "b": (2, 3), "c": (5, 0)}
    counted = [
        Part(kind="job", key=key, value=0.0, n=10, details={"top_m": m, "top_f": f})
        for key, (m, f) in tops.items()
    ]
    whole = [Part(kind="job", key="a", value=0.0, n=10, details={"top_m": 5, "top_f": 5})]
    params = {"context": "single"}
    divergence = ranking("ndkl", parts=parts, params=params)
    others = [
        ranking(parts=counted, params={**params, "k": 5, "groups": ["m", "f"]}, **WITHIN),
        ranking(parts=whole, params={**params, "k": 10, "groups": ["m", "f"]}, **WITHIN),
    ]
    lines = overview(divergence, *others, words=PEOPLE)
    assert lines.title == (
        "Rankings of 3 jobs follow sex more than chance explains: feminine people lead in 2, masculine "
        "people in 1."
    )
    assert lines.lead.startswith(
        "Feminine people take more of the first 5 places in 2 of 3 jobs, masculine people in 1. The"
    )
    elsewhere = [other.model_copy(update={"params": {**other.params, "context": "pair"}}) for other in others]
    assert "lead" not in overview(divergence, *elsewhere, words=PEOPLE).title


def test_those_of_equal_text_say_what_tells_them_apart():
    parts = [Part(kind="job", key=key, value=0.2, n=10) for key in "abc"]
    alike = [
        ranking("ndkl", parts=parts, params={"context": context}) for context in ("single", "two_person")
    ]
    assert [line.text for line in overview(*alike, words=PEOPLE).headlines] == [
        "Rankings of 3 jobs follow sex more than chance explains (one person).",
        "Rankings of 3 jobs follow sex more than chance explains (two persons).",
    ]


def test_pairs_are_counted_and_ordered_by_the_end_of_the_interval_nearer_to_zero():
    far, near = pair(["x", "y"], 1.8, 1.0, (0.2, 1.9)), pair(["v", "w"], -1.5, 0.0625, (-1.9, -0.9))
    lines = overview(far, near, words={"nouns": {"sample": ["item", "items"]}})
    assert [line.text for line in lines.headlines] == [
        "w: nearer to bad than v in 60 of 64 pairs of items.",
        "x: nearer to bad than y in 64 of 64 pairs of items.",
    ]
    assert lines.lead == (
        "In 60 of 64 pairs of one w and one v item (94 %), the w one lies nearer to bad, against good."
    )


def test_a_pair_is_measured_in_numbers_even_where_the_metric_is_a_difference_of_shares():
    """Divided by its spread it is no share any more: 1.8 is not 180 points."""
    shares = pair(["x", "y"], 1.8, 1.0, (0.2, 1.9), name="matching_association")
    card = MetricCard(name="matching_association", title="Bias", unit="share difference", first_line="pairs")
    (line,) = overview(shares.with_card(card)).headlines
    assert line.size == "Bias: 1.800 (95 % interval 0.200 to 1.900)."
    assert line.chance == f"Chance alone would give {MINUS}1.000 to 1.000."


def test_each_dot_of_a_pair_is_an_item():
    params = {"form": "visual", "target": "x", "attributes": ["bad", "good"]}
    items = [Part(kind="item", key=f"x{i}", value=0.0, n=2, details={"association": i / 10}) for i in (1, 2)]
    single = finding("single_category_association", by=(), params=params, parts=items, role="exploratory")
    chart = overview(pair(["x", "y"], 1.8, 1.0, (0.2, 1.9)), single).headlines[0].chart
    assert [(mark.label, mark.value) for mark in chart.dots["x"]] == [("x1", 0.1), ("x2", 0.2)]
    assert "y" not in chart.dots


def test_no_pair_beyond_chance():
    lines = overview(
        pair(["x", "y"], 0.4, 0.6, (-1, 1), **WITHIN), pair(["v", "w"], 0.9, 0.7, (-1, 1), **WITHIN)
    )
    assert lines.title == "In none of 2 comparisons of two groups does one lie nearer to bad beyond chance."
    assert "the largest is v beside w" in lines.lead
    assert lines.beyond == ()


def test_a_value_outside_the_band_of_one_comparison_says_that_it_is_one_of_many():
    many = {**TESTED, "p_value": 0.01, "p_adjusted": 0.4}
    line = overview(pair(["x", "y"], 1.7, 1.0, (-0.2, 1.9), **many)).headlines[0]
    assert (line.beyond, line.chance) == (
        False, f"Chance alone would give {MINUS}1.000 to 1.000, in a single comparison.",
    )  # fmt: skip
    inside = overview(pair(["x", "y"], 0.7, 1.0, (-0.9, 1.9), **many)).headlines[0]
    assert inside.chance == f"Chance alone would give {MINUS}1.000 to 1.000."


def test_two_ways_to_express_a_pair_are_one_comparison():
    usual = {"form": "matching", "targets": ["x", "y"], "attributes": ["bad", "good"]}
    both = [
        pair(["x", "y"], value, 0.75, (-2, 2), "match_association", **WITHIN)
        .model_copy(update={"params": {**usual, "standardised": spread}})
        for value, spread in ((0.3, False), (1.5, True))
    ]  # fmt: skip
    lines = overview(*both)
    assert lines.title == "In the one comparison of two groups neither lies nearer to bad beyond chance."
    assert "Association by match probability (divided by its spread) 1.500" in lines.lead
    assert lines.headlines[0].size.startswith("Association by match probability, divided by its spread: 1.5")


def test_pairs_without_a_value_are_not_within_chance():
    lost = pair(["x", "y"], None, 1.0, (0, 1), reason="one_member", p_value=None, p_adjusted=None, parts=[])
    lines = overview(lost.model_copy(update={"interval": None, "null": None}))
    assert lines.title.startswith("No value can be given: a set of targets has one item")
    assert (lines.lead, lines.silent) == ("", ())
    known = pair(["v", "w"], 0.4, 0.6, (-1, 1), **WITHIN)
    assert overview(lost, known).lead.startswith("1 comparison of two groups within")


def reduction(targets, before, after, ends, aucs=(1.0, 0.75)):
    params = {"targets": targets, "attributes": ["bad", "good"], "half": "held_out"}
    details = {"before": before, "after": after, "n_x": 4.0, "n_y": 4.0}
    details |= {"auc_before": aucs[0], "auc_after": aucs[1]}
    value = abs(before) - abs(after)
    return finding(
        "association_reduction", by=(), params=params, value=value, interval=between(*ends), details=details
    )


def test_a_mitigation_is_told_by_held_out_pairs_and_without_a_verdict():
    weaker = reduction(["x", "y"], 1.5, 0.4, (0.3, 1.4))
    stronger = reduction(["v", "w"], 1.0, 1.2, (-0.9, 0.4))
    lines = overview(stronger, weaker, kind="debias", words={"nouns": {"sample": ["item", "items"]}})
    assert lines.title == (
        "After the mitigation, on held-out items: weaker in 1 of 2 pairs of groups, stronger in 1."
    )
    assert lines.lead == (
        "By an interval that leaves out 0 it is weaker for 1 and stronger for 0 of 2 pairs of groups."
    )
    assert lines.headlines[0].text == "x: nearer to bad than y in 16 of 16 held-out pairs before, 12 after."
    assert lines.beyond == ()


def test_a_mitigation_that_cannot_be_estimated_counts_nothing():
    none = reduction(["x", "y"], 1.0, 0.5, (0, 1)).model_copy(update={"value": None, "interval": None})
    lines = overview(none.model_copy(update={"reason": "suppressed", "details": {}}), kind="debias")
    assert (lines.title, lines.lead) == ("No value can be given: suppressed.", "")


def change(name="accuracy_difference", first=0.812, second=0.79, n=1000, **fields):
    details = {"compared": "same samples", "first": first, "second": second}
    usual = {"params": {"model": "A", "reference": "B"}, "details": details, "fair_at": 0.0}
    more = {"p_value": 0.001, "p_adjusted": 0.001, "interval": between(0.01, 0.04), "n": n}
    return finding(name, by=("sex",), **{"value": first - second, **usual, **more, **fields})


def test_what_got_better_with_counts_and_for_whom():
    groups = [("f", 0.9, 0.7, 0.001), ("m", 0.71, 0.7, 0.6)]
    parts = [
        Part(kind="group", key=key, value=a - b, n=100, p_value=p, p_adjusted=p,
             interval=between(a - b - 0.1, 1), null=band(-0.1, 0.1), details={"first": a, "second": b})
        for key, a, b, p in groups
    ]  # fmt: skip
    lines = overview(change(parts=parts), kind="compare", models=["A", "B"])
    assert {line.text for line in lines.headlines} == {
        "With A 812 of 1,000 images are right, with B 790.",
        "f: with A 90 of 100 images are right, with B 70.",
    }
    assert all("A is better" in line.sentence for line in lines.headlines)


def test_a_gap_of_models_is_in_points_and_other_values_are_not_in_the_text():
    lines = overview(change("accuracy_gap_difference", 0.05, 0.12), kind="compare")
    assert lines.title == "Accuracy gap by sex: 5 points with A, 12 points with B."
    assert lines.lead.endswith("A is better, more than chance gives.")
    lines = overview(change("cramers_v_mean_difference", 0.31, 0.52), kind="compare")
    assert lines.title == "Mean effect size by sex: lower with A than with B."


def test_rates_of_single_samples_are_counted_and_say_where_means_are_others():
    details = {
        "compared": "same samples",
        "first": 0.5,
        "second": 0.25,
        "first_hits": 51.0,
        "second_hits": 40.0,
    }
    lines = overview(change("household_hit_rate_difference", 0.5, 0.25, n=100, details=details))
    assert lines.title == "With A 51 of 100 images have their thing named, with B 40."
    chart = lines.headlines[0].chart
    assert [(mark.value, mark.text) for mark in chart.marks] == [(0.5, "51 of 100"), (0.25, "40 of 100")]
    assert chart.note == "A dot is the mean that is tested, the counts beside it are plain."
    halves = {name: value for name, value in details.items() if not name.endswith("hits")}
    lines = overview(change("household_hit_rate_difference", 0.5, 0.25, n=100, details=halves))
    assert lines.title == "With A 50 % of images have their thing named, with B 25 %."


def test_nothing_differs_between_models():
    quiet = {"p_value": 0.5, "p_adjusted": 0.5, "interval": between(-0.1, 0.1), "mde": 0.03}
    lines = overview(change(**quiet), kind="compare", models=["A", "B"])
    assert lines.title == "Nothing differs between A and B beyond chance."
    assert "noticed" not in lines.lead  # of models none of these would be kept (4 times in 5)


def test_any_primary_finding_has_a_first_line_by_its_value():
    card = MetricCard(name="theirs", title="Their measure", unit="ratio", fair_at=0.0)
    other = finding("theirs", by=("sex",), value=0.5, null=band(0, 0.2), interval=between(0.3, 0.7), **TESTED)
    lines = overview(other.with_card(card), words=PEOPLE)
    assert lines.title == "Their measure by sex: 0.500 (0.300 to 0.700); chance alone gives 0.000 to 0.200."
    assert lines.lead == "Their measure by sex is 0.500, above what chance alone gives."


def test_a_finding_without_any_declaration_or_test_says_what_was_measured():
    assert overview(finding("own_thing", value=0.25)).title == "Own thing by office: 0.250."
    assert overview(finding("own_thing", value=None, reason="empty")).title.startswith(
        "No value can be given: no usable row here"
    )
    assert overview().title == ""


def test_how_often_a_model_is_right_at_all_is_said_beside():
    parts = [Part(kind="gender", key=key, value=k / 345, n=345) for key, k in (("m", 259), ("f", 255))]
    right = finding(
        "resolution_accuracy", by=(), value=514 / 690, n=690, parts=parts, chance_at=0.375,
        **{**TESTED, "fair_at": None},
    )  # fmt: skip
    gap = finding("resolution_gap", by=(), value=4 / 345, parts=parts, n=690, **WITHIN)
    lines = overview(right, gap)
    assert lines.title == "Nothing differs by gender beyond chance."
    assert lines.headlines[0].text == "f: 255 of 345 images get the right pronoun; m 259 of 345."
    assert lines.silent == ("514 of 690 images get the right pronoun; answers at random would give 259.",)
    assert overview(right).title.startswith("Right pronoun: 74 %")


HOSTILE = "\u202e<b>" + "x" * 300
EMPTY = {"value": None, "reason": "suppressed", "p_value": None, "p_adjusted": None}


@pytest.mark.parametrize(
    "sample",
    [
        ranking(**EMPTY), ranking(value=0.7, parts=[]),
        pair(["x", "y"], None, None, (0, 1), p_value=None),
        reduction(["x", "y"], 1.0, 0.5, (0, 1)).model_copy(update=EMPTY | {"details": {}}),
        change(details={}), change(**EMPTY), finding("household_hit_gap", **{**TESTED, **EMPTY}),
        finding("precision_gap", details={"highest": "a", "lowest": "b"}, **TESTED),
        pair([HOSTILE, "y"], 1.8, 1.0, (0.2, 1.9)), ranking(params={"k": 5, "groups": [HOSTILE, "f"]}),
    ],
    ids=lambda one: one.name,
)  # fmt: skip
def test_missing_and_hostile_parts_do_not_crash_or_show(sample: Finding):
    lines = overview(sample, models=[HOSTILE, "b"])
    texts = [lines.title, lines.lead, lines.kicker, *lines.silent]
    texts += [text for line in lines.headlines for text in (line.text, line.sentence, line.size)]
    assert lines.title
    assert not any("\u202e" in text or re.search("x{100}|None|nan", text) for text in texts)


@pytest.mark.parametrize(
    "card",
    [card for card in known_cards().values() if card.first_line == "value"],
    ids=lambda card: card.name,
)
def test_a_value_follows_a_sentence_with_one_verb(card):
    """“groups account for is 12 %” and “lie apart by is .3” were said."""
    [line] = overview(finding(card.name, value=0.12, **TESTED)).headlines
    assert not re.search(r"\b(for|by|is|are|of) is\b|, is [\d.]", line.sentence), line.sentence
    assert re.search(r"\b(is|are|by|for|of|,) \W?[\d.]", line.sentence), line.sentence
