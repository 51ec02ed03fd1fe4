"""Someone tries to work hidden counts out of a report: from its sums, and from the numbers on the page."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.display.text.formatting import number
from evenhand.report.content import ReportInput
from evenhand.report.suppression.complementary import MarginSums
from evenhand.report.suppression.suppress import suppressed
from evenhand.workflows.outputs.evidence_rows import evidence_of
from evenhand.workflows.outputs.result import Run
from tests.metrics.test_subgroups import tickets as searchable
from tests.report import export_runs
from tests.report.suppression_attack import Attack, secrets

LEVELS = {"gender": ["f", "m", "x"], "race": ["a", "b", "c"]}
GROUPINGS = [
    ["gender"],
    ["gender", "race"],
    [("gender", "race")],
    ["gender", "race", ("gender", "race")],
]


def audited(seed, by):
    """An audit of a random table with a rare group, rare races, and people whose race is missing."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 900))
    truths = ["cat", "dog", "owl"][: rng.integers(2, 4)]
    predictions = [*truths, "elk"] if rng.random() < 0.6 else truths
    truth = rng.choice(truths, n, p=rng.dirichlet([3] * len(truths)))
    gender = rng.choice(LEVELS["gender"], n, p=rng.dirichlet([5, 4, 0.5]))
    right = rng.random(n) < np.where((gender == "f") & (seed % 3 == 0), 0.4, rng.uniform(0.4, 0.95))
    race = rng.choice(LEVELS["race"], n, p=rng.dirichlet([5, 3, 0.7])).astype(object)
    race[rng.random(n) < rng.choice([0, 0.01, 0.05])] = None
    frame = pl.DataFrame(
        {
            "truth": truth,
            "prediction": np.where(right, truth, rng.choice(predictions, n)),
            "gender": gender,
            "race": race.tolist(),
        }
    )
    run = eh.audit(
        eh.Predictions.from_frame(frame, truth="truth", prediction="prediction"), by=by, inference="none",
        search=["gender", "race"] if seed % 3 == 0 else [],
    )  # fmt: skip
    return ReportInput(run.findings, run.manifest, run.tables, evidence_of(run))


GIVEN = given(
    seed=st.integers(0, 10_000), by=st.sampled_from(GROUPINGS), fewest=st.sampled_from([3, 5, 10, 20])
)  # fmt: skip


@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow])
@GIVEN
def test_no_small_count_follows_from_all_that_is_shown(seed, by, fewest):
    assert_nothing_follows(seed, by, fewest)


@pytest.mark.nightly
@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@GIVEN
def test_no_small_count_follows_from_all_that_is_shown_of_many(seed, by, fewest):
    assert_nothing_follows(seed, by, fewest)


def assert_nothing_follows(seed, by, fewest):
    content = audited(seed, by)
    shown = suppressed(content, fewest)
    used = {axis for finding in content.findings.findings for axis in finding.by}
    attack = Attack(shown, content.evidence["predictions"], sorted(used))
    for told, asked, n in secrets(content, shown, fewest):
        low, high = attack.range(asked)
        assert low - 1e-6 <= n <= high + 1e-6
        assert high - low >= 1 - 1e-6, (told, n, low, high)


def test_what_a_search_lists_is_shown_only_where_every_cell_is_and_tells_no_small_one():
    frame = searchable(office="Lagos", channel="web", added=0.5)
    by = ["office", "channel"]
    run = eh.audit(
        eh.Predictions.from_frame(frame, truth="truth", prediction="prediction"), by=[tuple(by)], search=by,
        metrics=["accuracy"],
    )  # fmt: skip
    content = ReportInput(run.findings, run.manifest, run.tables, evidence_of(run))
    counted = [f"{part.details['mistakes']:.0f} of {part.n:.0f} (" for part in run["subgroups"].parts]
    texts = {}
    for fewest in (3, 20):
        shown = suppressed(content, fewest)
        attack = Attack(shown, content.evidence["predictions"], by)
        for told, asked, n in secrets(content, shown, fewest):
            low, high = attack.range(asked)
            assert low - 1e-6 <= n <= high + 1e-6, told
            assert high - low >= 1 - 1e-6, told
        page = run.html(suppress=fewest)
        texts[fewest] = page[page.index('<section id="search"') :].partition("</section>")[0]
    assert counted
    assert all(text in texts[3] for text in counted)
    assert not re.search(r"\d", re.sub("<[^>]*>", "", texts[20]))
    assert "What a search of office, channel lists is hidden" in texts[20]


def test_hiding_in_place_alone_would_be_undone():
    content = audited(6, ["gender"])
    told = next(one for one in content.findings.findings if one.name == "cramers_v")
    smallest = min(told.groups, key=lambda group: group.n)
    groups = [one if one is not smallest else one.model_copy(update={"n": -99.0}) for one in told.groups]
    naive = content.findings.model_copy(update={"findings": [told.model_copy(update={"groups": groups})]})
    attack = Attack(ReportInput(naive), content.evidence["predictions"], ["gender"])
    assert attack.range({"gender": smallest.key}) == pytest.approx([smallest.n, smallest.n])


def test_a_cell_that_joins_two_rings_of_hidden_cells_is_found():
    """Each line has two hidden cells, and yet one follows: all rows of one ring minus its columns."""
    sums = MarginSums(5)
    counts = {"ac": 2, "ad": 9, "bc": 9, "bd": 9, "be": 3, "fe": 9, "fg": 9, "he": 9, "hg": 9, "z": 50}
    places = {name: sums.add(n) for name, n in counts.items()}
    for row in "abfh":
        own = [name for name in places if name[0] == row]
        total = sums.add(sum(counts[name] for name in own))
        sums.relate(total, [places[name] for name in own])
    for column in "cdeg":
        own = [name for name in places if name[-1] == column]
        total = sums.add(sum(counts[name] for name in own))
        sums.relate(total, [places[name] for name in own])
    for name in ("ad", "bc", "bd", "fe", "fg", "he", "hg"):
        sums.hidden.add(places[name])
    shown = len(sums.counts) - len(sums.hidden)
    sums.settle()
    assert not sums.open
    assert len(sums.counts) - len(sums.hidden) < shown
    assert places["z"] not in sums.hidden


@pytest.fixture(scope="module", params=sorted(export_runs.KINDS))
def kind(request, run_of_kind):
    """A small real run of every kind."""
    return Run.read(run_of_kind(request.param))


PAGES = [
    pytest.param(name, fewest, marks=() if place % 2 == (fewest > 10) else pytest.mark.nightly)
    for place, name in enumerate(sorted(export_runs.KINDS))
    for fewest in (10, 40)
]
"""Of each kind one page by day, of half of them one with many hidden cells, and at night all."""


@pytest.mark.parametrize(("kind", "fewest"), PAGES, indirect=["kind"])
def test_pages_of_every_kind_of_run_hold_no_small_count_and_no_hidden_value(kind, fewest):
    content = ReportInput(kind.findings, kind.manifest, kind.all_tables, evidence_of(kind))
    shown = suppressed(content, fewest)
    page = kind.html(suppress=fewest)
    data = json.loads(re.search(r'id="run-data">(.*?)</script>', page, re.DOTALL)[1])
    for name, frame in data["frames"].items():
        counts = [
            n
            for key, column in frame["columns"].items()
            if re.fullmatch(r"n|(detail )?(n_|top_|households|persons).*", key)
            if key not in frame["text"]  # the places of words such as "hidden"
            for n in column
        ]
        assert not [n for n in counts if isinstance(n, int | float) and 0 < n < fewest], name
    text = re.sub(r"<(script|style|svg).*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)
    in_data = {float(one) for one in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", json.dumps(data["frames"]))}
    for value in hidden_values(content.findings.findings, shown):
        assert float(f"{value:.6g}") not in in_data
        found = re.search(rf"(?<![\d.−]){re.escape(number(value))}(?!\d)", text)
        assert found is None, text[found.start() - 150 : found.end() + 50]


def hidden_values(before, content):
    """Values that are gone, but for round ones and those that something shown has too."""
    after = content.findings.findings
    kept = {number(one) for finding in after for one in [*numbers(finding), *beside(finding)]}
    if "values" in content.tables:
        beside_them = content.tables["values"].select("value", "low", "high").rows()
        kept |= {number(one) for row in beside_them for one in row if one is not None}
    gone = {one for finding in before for one in numbers(finding)} - {
        one for finding in after for one in numbers(finding)
    }
    return [
        one
        for one in gone
        if number(one) not in kept and not number(one).endswith("0") and "<" not in number(one)
    ]


def numbers(finding):
    """Values and interval ends of a finding and its parts."""
    found = []
    for one in [finding, *finding.parts]:
        found += [one.value] if one.value is not None else []
        found += [one.interval.low, one.interval.high] if one.interval else []
    return found


def beside(finding):
    """Numbers that stand beside the values of a finding and its parts."""
    found = []
    for one in [finding, *finding.parts]:
        found += [one.null.low, one.null.mean, one.null.high] if one.null else []
        found += [number for number in (one.p_value, one.p_adjusted, one.mde) if number is not None]
        found += [detail for detail in one.details.values() if isinstance(detail, float)]
    return found


def test_lines_of_every_kind_of_run_hide_none_or_several(kind):
    for finding, old in zip(
        suppressed(ReportInput(kind.findings, kind.manifest), 10).findings.findings,
        kind.findings.findings,
        strict=True,
    ):
        if old.card.made_of == "mistakes" and finding.value is None:  # what is listed would tell, too
            assert (finding.parts, finding.details, finding.p_value) == ([], {}, None)
            continue
        if old.name in ("worst_class_group_accuracy", "accuracy_contrast") and finding.value is None:
            assert finding.parts == []  # which cell or groups stand there would tell the least
            continue
        for kinds in {part.kind for part in old.parts}:
            parts = [part for part in old.parts if part.kind != "item"]
            pairs = [(a.n, b.n) for a, b in zip(finding.parts, parts, strict=True) if b.kind == kinds]
            if finding.n >= 0 and abs(sum(n for _, n in pairs) - old.n) < 1e-6:
                hidden = [n for shown, n in pairs if shown < 0]
                assert not hidden or (len(hidden) > 1 and sum(hidden) >= 10), finding.metric
        assert not [one.n for one in [finding, *finding.groups, *finding.parts] if 0 < one.n < 10]


@pytest.mark.parametrize("fewest", [3, 10])
def test_details_of_every_kind_of_run_tell_neither_few_rows_nor_people_nor_single_samples(kind, fewest):
    shown = suppressed(ReportInput(kind.findings, kind.manifest, kind.all_tables, evidence_of(kind)), fewest)
    every = [one for finding in shown.findings.findings for one in [finding, *finding.parts]]
    assert not [one for one in every if getattr(one, "kind", "") == "item"]
    for one in every:
        names = set(one.details)
        assert not {name for name in names if name.startswith(("top_", "without_")) or name.endswith("_item")}
        assert not names & {"masculine", "feminine", "n_gained", "n_lost", "partitions", "mix_distance"}
        assert one.details.get("coverage", 1.0) == 1.0
        counts = {name for name in names if name.startswith("n_") or name in ("households", "units")}
        assert not {one.details[name] for name in counts} & set(map(float, range(1, fewest)))


@pytest.mark.parametrize("fewest", [10, 20])
def test_gaps_within_a_part_are_shown_only_where_both_of_their_rates_are(kind, fewest):
    gaps = ("resolution_gap", "misgendering_gap", "neutral_gap")
    findings = suppressed(ReportInput(kind.findings, kind.manifest), fewest).findings.findings
    for finding in findings:
        if not finding.name.startswith(gaps):
            continue
        rates = {tuple(part.key): part for part in finding.parts if part.kind.endswith("*gender")}
        for part in finding.parts:
            if part.kind in ("occupation", "sector", "specialisation") and part.value is not None:
                own = [rates.get((part.key, gender)) for gender in ("masculine", "feminine")]
                assert all(one is not None and one.n >= fewest for one in own), (finding.metric, part.key)
