"""``subgroups``: what is planted is listed, chance seldom is, and where nothing can be tested it says why."""

import numpy as np
import polars as pl
import pytest

import evenhand
from evenhand import Predictions, metrics
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.display.text.reasons import REASONS
from evenhand.display.text.subgroups import search_sentence, subgroup_sentence
from evenhand.report.suppression.suppress import suppressed_findings
from tests.helpers import wilson

BY = ["office", "channel", "tier"]
VALUES = {"office": ["Lagos", "Osaka"], "channel": ["mail", "phone", "web"], "tier": ["free", "pro"]}


def tickets(seed=0, rows=2_000, **planted):
    """Tickets of four classes, wrong in 10 %; in the subgroup of these values ``added`` more often."""
    rng = np.random.default_rng(seed)
    added = planted.pop("added", 0.25)
    frame = pl.DataFrame(
        {"truth": rng.choice([f"c{code}" for code in range(4)], rows)}
        | {name: rng.choice(values, rows) for name, values in VALUES.items()}
    )
    hurt = np.full(rows, bool(planted))
    for name, value in planted.items():
        hurt &= (frame[name] == value).to_numpy()
    wrong = rng.random(rows) < 0.1 + added * hurt
    return frame.with_columns(
        prediction=pl.when(pl.Series(wrong)).then(pl.lit("other")).otherwise(pl.col("truth")),
        id=pl.int_range(rows),
    )


def evidence_of(frame, **columns):
    return Predictions.from_frame(frame, truth="truth", prediction="prediction", **columns)


def keys(finding):
    return [part.key for part in finding.parts]


PLANTED = {
    "one attribute": ({"office": "Lagos", "added": 0.12}, "office = Lagos"),
    "two attributes": ({"office": "Lagos", "channel": "web"}, ["office = Lagos", "channel = web"]),
    "three attributes": (
        {"office": "Lagos", "channel": "web", "tier": "pro", "added": 0.35},
        ["office = Lagos", "channel = web", "tier = pro"],
    ),
    "one class": ({"office": "Lagos", "truth": "c1", "added": 0.35}, ["c1", "office = Lagos"]),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_subgroup_is_listed_first(name):
    planted, key = PLANTED[name]
    counts = []
    for seed in range(5):
        finding = metrics.subgroups(evidence_of(tickets(seed, **planted)), by=BY)
        assert finding.parts[0].key == key
        assert (finding.p_value, finding.details["status"]) == (0.001, "found")
        counts.append(finding.value)
    assert sum(counts) <= 8  # of many more that are beyond chance


def test_chance_seldom_lists_any():
    """60 tables: 5 % in the mean; more than 8 of 60 in one of a hundred such tests."""
    findings = [metrics.subgroups(evidence_of(tickets(seed, rows=500)), by=BY) for seed in range(60)]
    assert sum(finding.value > 0 for finding in findings) <= 8
    assert all((finding.p_value <= 0.05) == (finding.value > 0) for finding in findings)


def test_a_part_has_its_numbers():
    frame = tickets(office="Lagos", channel="web")
    finding = metrics.subgroups(evidence_of(frame), by=BY)
    part = finding.part(["office = Lagos", "channel = web"])
    inside = frame.filter(office="Lagos", channel="web")
    rest = frame.filter((pl.col("office") != "Lagos") | (pl.col("channel") != "web"))
    is_wrong = pl.col("truth") != pl.col("prediction")
    mistakes, others = (table.filter(is_wrong).height for table in (inside, rest))
    shares = frame.group_by("truth").agg(share=is_wrong.mean())
    expected = inside.join(shares, on="truth")["share"].sum()
    assert (part.kind, part.n, part.p_adjusted, part.p_value) == ("subgroup", inside.height, 0.001, None)
    numbers = {
        "group": "Lagos · web", "attributes": "office · channel", "truth": None, "mistakes": mistakes,
        "rate": mistakes / inside.height, "rest_n": rest.height, "rest_mistakes": others,
        "rest_rate": others / rest.height,
    }  # fmt: skip
    assert {name: part.details[name] for name in numbers} == numbers
    assert part.details["expected"] == pytest.approx(expected)
    assert part.value == pytest.approx((mistakes - expected) / inside.height)
    chosen_among = finding.details["beyond"] / finding.details["tested"]  # Benjamini and Yekutieli 2005
    (low, high), (rest_low, rest_high) = (
        wilson(a, n, 1 - 0.05 * chosen_among) for a, n in ((mistakes, inside.height), (others, rest.height))
    )
    rate, rest_rate = mistakes / inside.height, others / rest.height
    assert part.details["difference"] == pytest.approx(rate - rest_rate)
    assert part.details["low"] == pytest.approx(
        rate - rest_rate - np.hypot(rate - low, rest_high - rest_rate)
    )
    assert part.details["high"] == pytest.approx(
        rate - rest_rate + np.hypot(high - rate, rest_rate - rest_low)
    )
    assert finding.details["beyond"] > finding.value == len(finding.parts)


def test_depth_limits_how_many_attributes_a_subgroup_has():
    evidence = evidence_of(tickets(office="Lagos", channel="web"))
    single = metrics.subgroups(evidence, by=BY, depth=1)
    assert single.params == {"depth": 1}
    assert all(isinstance(key, str) or key[0].startswith("c") for key in keys(single))
    assert metrics.subgroups(evidence, by="office").parts[0].key == "office = Lagos"
    assert metrics.subgroups(evidence, by=BY, alpha=0.001).params == {"alpha": 0.001}


IMPOSSIBLE = [{"depth": 0}, {"depth": 4}, {"depth": 1.5}, {"depth": True}, {"alpha": 2}]


@pytest.mark.parametrize("options", IMPOSSIBLE, ids=str)
def test_options_outside_what_is_possible_are_refused(options):
    with pytest.raises(ParameterError, match="is not possible; choose"):
        metrics.subgroups(evidence_of(tickets()), by=BY, **options)


def test_predictions_counts_and_shards_give_one_finding():
    frame = tickets(office="Lagos", channel="web")
    finding = metrics.subgroups(evidence_of(frame), by=BY)
    shards = sum(evidence_of(part).count(BY) for part in (frame[:700], frame[700:]))
    assert metrics.subgroups(shards, by=BY).model_dump_json() == finding.model_dump_json()
    shuffled = evidence_of(frame.sample(fraction=1, shuffle=True, seed=1))
    assert metrics.subgroups(shuffled, by=BY) == finding
    assert metrics.subgroups(evidence_of(frame), by=BY, seed=0) == finding
    assert metrics.subgroups(evidence_of(frame), by=BY, seed=1).value == finding.value


def test_labels_in_arrays_are_searched_too():
    frame = tickets(office="Lagos", channel="web")
    groups = {name: frame[name].to_list() for name in BY}
    finding = metrics.subgroups(frame["truth"].to_list(), frame["prediction"].to_list(), groups=groups)
    assert keys(finding) == keys(metrics.subgroups(evidence_of(frame), by=BY))


def test_values_that_several_attributes_have_are_named_with_them():
    frame = tickets(office="Lagos", channel="web").with_columns(
        office=pl.when(pl.col("office") == "Lagos").then(pl.lit("yes")).otherwise(pl.lit("no")),
        tier=pl.when(pl.col("tier") == "pro").then(pl.lit("yes")).otherwise(pl.lit("no")),
    )
    part = metrics.subgroups(evidence_of(frame), by=BY).parts[0]
    assert part.details["group"] == "office = yes · web"


def test_rows_that_lack_an_attribute_are_left_out_and_counted():
    frame = tickets(office="Lagos").with_columns(
        tier=pl.when(pl.int_range(pl.len()) < 50).then(None).otherwise(pl.col("tier"))
    )
    finding = metrics.subgroups(evidence_of(frame), by=BY)
    assert (finding.n, finding.dropped[0].reason, finding.dropped[0].count) == (1_950, "missing tier", 50)


def tiny(wrong, offices=("a", "b")):
    rows = [("x", office, "y" if number < wrong else "x") for office in offices for number in range(4)]
    return pl.DataFrame(rows, schema=["truth", "office", "prediction"], orient="row")


STATES = {
    "single_group": (lambda: evidence_of(tiny(2, ("a",))), None),
    "no_mistakes": (lambda: evidence_of(tiny(0)), 0),
    "no_large_subgroup": (lambda: evidence_of(tiny(2)), None),
    "weighted": (
        lambda: evidence_of(
            tickets(office="Lagos").with_columns(w=pl.int_range(pl.len()) % 3 + 1.0), weight="w"
        ),
        None,
    ),
    "mixed_clusters": (
        lambda: evidence_of(tickets(office="Lagos").with_columns(u=pl.int_range(pl.len()) % 90), cluster="u"),
        None,
    ),
    "one_cluster": (lambda: evidence_of(tickets().with_columns(u=pl.col("office")), cluster="u"), None),
    "none_beyond_chance": (lambda: evidence_of(tickets(rows=500)), 0),
}


@pytest.mark.parametrize("status", STATES)
def test_what_came_of_it_is_said(status):
    evidence, value = STATES[status][0](), STATES[status][1]
    finding = metrics.subgroups(evidence, by="office")
    assert (finding.value, finding.details["status"], finding.parts) == (value, status, [])
    assert finding.reason == (status if value is None else None)
    assert finding.reason is None or finding.reason in REASONS
    assert (finding.p_value is None) == (status != "none_beyond_chance")
    assert search_sentence(finding.details, finding.by)


def people(seed, office_of_person=True, **planted):
    """80 persons of 25 tickets; each in one subgroup, some of them wrong much more often."""
    rng = np.random.default_rng(seed)
    frame = tickets(seed, **planted).with_columns(person=pl.int_range(2_000) // 25)
    once = {
        name: np.repeat(rng.choice(values, 80), 25)
        for name, values in VALUES.items()
        if office_of_person or name != "office"
    }
    worse = np.repeat(rng.random(80) < 0.15, 25) & (rng.random(2_000) < 0.5)
    return frame.with_columns(pl.Series(name, column) for name, column in once.items()).with_columns(
        prediction=pl.when(pl.Series(worse)).then(pl.lit("other")).otherwise(pl.col("prediction"))
    )


def test_persons_change_subgroups_as_wholes():
    """Mistakes of a few persons: beyond chance as rows in most of 12 tables, as persons in few."""
    beyond = np.zeros(2)
    for seed in range(12):
        frame = people(seed)
        for column, columns in enumerate(({}, {"cluster": "person"})):
            beyond[column] += metrics.subgroups(evidence_of(frame, **columns), by=BY).value > 0
    assert beyond[0] >= 8
    assert beyond[1] <= 3


def test_a_planted_subgroup_of_persons_is_listed():
    frame = people(1)
    hurt = (pl.col("office") == "Lagos") & (pl.int_range(pl.len()) % 5 < 2)
    frame = frame.with_columns(prediction=pl.when(hurt).then(pl.lit("other")).otherwise("prediction"))
    finding = metrics.subgroups(evidence_of(frame, cluster="person"), by=BY)
    assert "office = Lagos" in keys(finding)
    assert finding.p_value <= 0.05


def test_attributes_that_vary_within_clusters_are_named():
    finding = metrics.subgroups(evidence_of(people(0, office_of_person=False), cluster="person"), by=BY)
    assert finding.reason == "mixed_clusters"
    assert finding.notes == ["office: a value of person has several of these; search channel, tier alone"]


def test_an_audit_adds_the_search_to_its_family_and_changes_no_other_number():
    evidence = evidence_of(tickets(office="Lagos", channel="web"))
    some = {"by": "office", "metrics": ["accuracy_gap", "cramers_v_pooled", "phi"]}
    plain = evenhand.audit(evidence, **some)
    run = evenhand.audit(evidence, **some, search=BY)
    before, after = list(plain.findings), list(run.findings)[:-1]
    assert [one.p_value for one in after] == [one.p_value for one in before]
    assert all(
        one.p_adjusted >= other.p_adjusted
        for one, other in zip(after, before, strict=True)
        if other.p_adjusted is not None
    )  # one more question in the family
    searched = list(run.findings)[-1]
    assert (searched.metric, searched.role) == ("subgroups(by=office+channel+tier)", "primary")
    assert keys(searched)[0] == ["office = Lagos", "channel = web"]
    assert (run.manifest["search"], run.manifest["by"]) == (BY, ["office"])
    assert "search" not in plain.manifest


@pytest.mark.parametrize(
    ("search", "error"),
    [
        ("office,tier", ParameterError),
        (["office", "office"], ParameterError),
        (["offce"], UnknownName),
    ],
)
def test_a_search_that_is_not_possible_is_refused(search, error):
    with pytest.raises(error, match=r"name attributes in a list|twice|did you mean 'office'"):
        evenhand.audit(evidence_of(tickets()), by="office", search=search)


def test_small_counts_are_hidden():
    run = evenhand.audit(
        evidence_of(tickets(office="Lagos", channel="web")), by="office", search=BY, metrics=["accuracy"]
    )
    (finding,) = [one for one in suppressed_findings(run.findings, 10) if one.name == "subgroups"]
    assert (finding.value, finding.reason) == (None, "suppressed")
    assert not any(part.details for part in finding.parts)


def test_sentences():
    line = {
        "group": "Lagos · web", "truth": None, "n": 210, "mistakes": 61, "rate": 61 / 210, "rest_n": 1_722,
        "rest_mistakes": 190, "rest_rate": 190 / 1_722, "expected": 30.4,
    }  # fmt: skip
    assert subgroup_sentence(line, noun="tickets") == (
        "Lagos · web: 61 of 210 tickets are wrong (29 %); in all others 190 of 1,722 (11 %)."
    )
    assert subgroup_sentence({**line, "truth": "account_locked"}, noun="tickets") == (
        "Lagos · web: 61 of 210 tickets that are account_locked are wrong (29 %); in all "
        "others 190 of 1,722 (11 %)."
    )
    easier = {**line, "rest_mistakes": 600, "rest_rate": 600 / 1_722}
    assert subgroup_sentence(easier).endswith(
        "600 of 1,722 (35 %). At the rates of its classes it would be 30."
    )
    assert search_sentence({"status": "found"}, BY) is None
    assert search_sentence({"status": "none_beyond_chance", "tested": 1_230.0}, BY) == (
        "No subgroup by office, channel, tier has more mistakes than its classes give, beyond chance "
        "(1,230 comparisons)."
    )
    one = search_sentence({"status": "none_beyond_chance", "tested": 1.0}, BY)
    assert one is not None
    assert one.endswith("(1 comparison).")
