"""Someone tries every table of whole numbers: no value that is shown may leave a hidden cell one choice."""

from __future__ import annotations

import json
import re
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

import evenhand as eh
from evenhand.core.findings import Findings, Part
from evenhand.report.content import ReportInput
from evenhand.report.page.html import render_html
from evenhand.report.suppression.suppress import suppressed
from evenhand.report.suppression.values import aggregate_hidden
from evenhand.workflows.audit import audit_table
from evenhand.workflows.outputs.evidence_rows import evidence_of
from tests.report import report_samples as samples

CATS = {"f": (90, 25, 4, 31), "m": (70, 33, 17, 6), "k": (110, 41, 23, 28)}
DOGS = {"f": (30, 80, 14, 31), "m": (33, 75, 27, 16), "k": (41, 90, 43, 48)}
ANSWERS = ("cat", "dog", "owl", "fox")
EFFECTS = ("skewsize", "phi", "cramers_v_corrected", "skewsize_sufficiency")


def content_of(frame, by):
    evidence = eh.Predictions.from_frame(frame, truth="truth", prediction="prediction")
    run = eh.audit(evidence, by=by, inference="none")
    return ReportInput(run.findings, run.manifest, run.tables, evidence_of(run))


def counted():
    """Two cells of cats are small: one of owls, one of foxes."""
    rows = [
        {"truth": truth, "g": group, "prediction": answer}
        for truth, table in (("cat", CATS), ("dog", DOGS))
        for group, counts in table.items()
        for answer, n in zip(ANSWERS, counts, strict=True)
        for _ in range(n)
    ]
    return content_of(pl.DataFrame(rows), ["g"])


def named(content):
    return {one.name: one for one in content.findings.findings}


def cramers_v(table):
    expected = np.outer(table.sum(1), table.sum(0)) / table.sum()
    return np.sqrt(((table - expected) ** 2 / expected).sum() / table.sum() / (min(table.shape) - 1))


def fitting(values, whole=None):
    """Tables of cats that have one of these effect sizes; the sums of groups and all other cells are known.

    Args:
        values: What is shown of cats.
        whole: What is shown of cats and dogs together.
    """
    found = []
    for owls, foxes in product(range(30), range(40)):
        table = np.array([(90, 29 - owls, owls, 31), (70, 39 - foxes, 17, foxes), CATS["k"]], dtype=float)
        pairs = [(table, value) for value in values]
        pairs += [] if whole is None else [(table + np.array(list(DOGS.values())), whole)]
        if all(abs(cramers_v(own) - value) < 1e-12 for own, value in pairs):
            found.append((owls, foxes))
    return found


def of_cats(content, name):
    return [one.value for one in named(content)[name].parts if one.key == "cat" and one.value is not None]


def test_an_effect_size_does_not_choose_among_the_tables_that_fit():
    content = counted()
    shown = suppressed(content, 10)
    assert fitting(of_cats(content, "skewsize")) == [(4, 6)], "the attack itself works"
    assert fitting([], named(content)["cramers_v"].value) == [(4, 6)]
    assert len(fitting(of_cats(shown, "skewsize"), named(shown)["cramers_v"].value)) == 30 * 40
    for name in EFFECTS[:3]:
        assert of_cats(shown, name) == []
        assert named(shown)[name].value is None
    for name in ("cramers_v_mean", "cramers_v_median", "cramers_v_max"):
        assert named(shown)[name].value is None
    backward = {part.key: part.value is None for part in named(shown)["skewsize_sufficiency"].parts}
    assert backward == {"cat": False, "dog": True, "fox": True, "owl": True}, (
        "no cell of those called cats is"
    )


def random_run(seed, fewest):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(200, 900))
    truth = rng.choice(["cat", "dog"], n)
    answer = np.where(rng.random(n) < 0.75, truth, rng.choice(["cat", "dog", "owl"], n))
    g, h = rng.choice(["f", "m"], n), rng.choice(["a", "b"], n, p=[0.6, 0.4])
    by = [["g"], ["g", "h"], ["g", "h", ("g", "h")]][rng.integers(3)]
    content = content_of(pl.DataFrame({"truth": truth, "g": g, "h": h, "prediction": answer}), by)
    return content, suppressed(content, fewest)


@settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10_000), fewest=st.sampled_from([5, 10, 20]))
def test_whatever_is_made_of_cells_is_shown_only_where_none_of_them_is_small(seed, fewest):
    content, shown = random_run(seed, fewest)
    for finding in shown.findings.findings:
        cells = content.evidence["predictions"].group_by("truth", *finding.by, "prediction").agg(pl.sum("n"))
        few = cells.filter(pl.col("n") < fewest)
        values = {part.key: part.value for part in finding.parts if part.kind == "class"}
        told = {key for key, value in values.items() if value is not None}
        if finding.name in EFFECTS:
            column = "prediction" if finding.name == "skewsize_sufficiency" else "truth"
            assert not told & set(few[column]), finding.metric
            assert finding.value is None or len(told) == len(values), finding.metric
        if finding.name in ("demographic_parity", "equalized_odds", "cramers_v") and few.height:
            assert not told, "shares of all answers add up: one that is hidden would follow from the others"
            assert finding.value is None, finding.metric


def compared(folder, gained, lost, few=0):
    """A comparison of two models on 200 cats and 200 dogs; only the first model's answers to cats differ."""
    right = np.random.default_rng(3).random(400) < 0.7
    truth = np.repeat(["cat", "dog"], 200)
    other = right.copy()
    other[np.flatnonzero(right[:200])[:lost]] = False
    other[np.flatnonzero(~right[:200])[:gained]] = True
    group = np.array(["f", "m"] * 200)
    group[400 - few :] = "x"
    runs = []
    for name, own in (("one", other), ("two", right)):
        answer = np.where(own, truth, "owl")
        ids = [f"s{number}" for number in range(400)]
        frame = pl.DataFrame({"id": ids, "truth": truth, "g": group, "prediction": answer})
        frame.write_csv(folder / f"{name}.csv")
        runs.append(folder / f"{name} {gained} {lost}")
        columns = {"truth": "truth", "prediction": "prediction", "id": "id"}
        audit_table(str(folder / f"{name}.csv"), columns=columns, by=["g"], out=runs[-1], inference="none")
    made = eh.compare(runs)
    return made, ReportInput(made.findings, made.manifest, made.all_tables, evidence_of(made))


def flips(part):
    """How many samples of a part may have been gained and lost, by what is shown of it."""
    found = []
    for gained, lost in product(range(int(part.n) + 1), repeat=2):
        if gained + lost > part.n or abs((gained - lost) / part.n - part.value) > 1e-9:
            continue
        p = binomtest(gained, gained + lost).pvalue if gained + lost else 1.0
        if part.p_value is None or abs(p - part.p_value) < 1e-6:
            found.append((gained, lost))
    return found


def test_neither_a_difference_nor_its_p_tells_how_few_samples_flip(tmp_path):
    run, content = compared(tmp_path, gained=25, lost=4)
    told = named(content)["accuracy_difference"]
    shown = named(suppressed(content, 10))["accuracy_difference"]
    groups = [part for part in told.parts if part.kind == "group"]
    assert all(len(flips(part)) <= 2 for part in groups), "the attack itself works"
    for part in shown.parts:
        assert not {"n_gained", "n_lost", "q_value"} & set(part.details)
        assert (part.p_value, part.p_adjusted, part.interval, part.null) == (None, None, None, None)
        assert (part.value is None) == (part.kind == "class")
        assert part.value is None or len(flips(part)) > 10
    assert shown.value == told.value
    assert (shown.p_value, shown.interval, shown.null) == (None, None, None)
    page = run.html(suppress=10)
    data = json.loads(re.search(r'id="run-data">(.*?)</script>', page, re.DOTALL)[1])
    for name, frame in data["frames"].items():
        columns = frame["columns"]
        assert not [
            one for key in columns if "gained" in key or "lost" in key for one in columns[key] if one
        ], name
    many = named(suppressed(compared(tmp_path, gained=30, lost=40)[1], 10))["accuracy_difference"]
    assert many.p_value is not None
    assert many.interval is not None


def test_a_comparison_has_no_effect_sizes_because_nothing_says_how_small_their_cells_are(tmp_path):
    shown = named(suppressed(compared(tmp_path, gained=25, lost=30, few=4)[1], 10))
    for name in ("cramers_v_mean_difference", "cramers_v_max_difference", "skewsize_difference"):
        assert shown[name].value is None
        assert not {"first", "second", "first_own_mix"} & set(shown[name].details)
        for part in shown[name].parts:
            assert part.value is None
            assert part.details == {}


def test_the_manifest_does_not_tell_the_rows_from_which_those_that_were_left_out_would_follow():
    finding = samples.plain("accuracy", ("g",), 0.5, "higher is better")
    left_out = finding.model_copy(
        update={"n": 57.0, "groups": [], "parts": [], "dropped": [{"reason": "missing g", "count": 3.0}]}
    )
    findings = Findings.model_validate(
        samples.content([finding]).findings.model_dump() | {"findings": [left_out.model_dump(warnings=False)]}
    )
    manifest = {
        "rows": 60,
        "limit": 60,
        "seed": 7,
        "command": ["evenhand", "run", "--limit", "60", "-o", "runs/60-things"],
        "asking": {"questions": [{"question": "classify", "rows": 60, "asked": 60, "unanswered": 0}]},
    }
    hidden = suppressed(ReportInput(findings, manifest), 10)
    assert [one.count for one in hidden.findings.findings[0].dropped] == [-10.0]
    assert hidden.manifest == {
        "rows": "hidden",
        "limit": "hidden",
        "seed": 7,
        "command": ["evenhand", "run", "--limit", "hidden", "-o", "runs/60-things"],
        "asking": {
            "questions": [{"question": "classify", "rows": "hidden", "asked": "hidden", "unanswered": 0}]
        },
    }
    page = render_html(ReportInput(findings, manifest), suppress=10)
    embedded = json.loads(re.search(r'id="run-data">(.*?)</script>', page, re.DOTALL)[1])
    assert not re.search(r'"(?:rows|asked|limit)": ?60\b', json.dumps(embedded) + page)


@pytest.mark.parametrize("fewest", [5, 10])
def test_details_that_nobody_knows_go(fewest):
    details = {"accuracy": 0.5, "of_mine": 4.0, "n_right": 40.0, "n_wrong": 4.0, "low_item": "s-7"}
    finding = samples.plain("accuracy_range", ("g",), 0.5, "higher is better", details=details)
    shown = suppressed(samples.content([finding]), fewest).findings.findings[0]
    assert shown.details == {"accuracy": 0.5, "n_right": "hidden", "n_wrong": "hidden"}


def test_parts_of_few_households_have_no_value_however_many_images_they_have():
    parts = [
        Part(kind="region", key=key, value=value, n=n, details={"households": households, "coverage": 0.97})
        for key, value, n, households in (
            ("Africa", 0.2, 60, 3.0),
            ("Asia", 0.5, 80, 40.0),
            ("Europe", 0.7, 90, 50.0),
        )
    ]
    details = {"households": 93.0, "worst": "Africa"}
    finding = samples.plain(
        "worst_household_hit_rate", ("region",), 0.2, "higher is better", parts=parts, details=details
    )
    shown = suppressed(samples.content([finding]), 10).findings.findings[0]
    assert shown.value is None
    assert shown.details == {}
    for part in shown.parts:
        assert part.value is None, "three households are all of them minus those of the others"
        assert part.details == {}
        assert part.n >= 60
    many = suppressed(samples.content([finding]), 3).findings.findings[0]
    assert [one.value for one in many.parts] == [0.2, 0.5, 0.7]
    assert [one.details for one in many.parts] == [{"households": n} for n in (3.0, 40.0, 50.0)]


def test_a_mean_of_effect_sizes_stays_where_many_hidden_ones_are_in_it_and_a_median_does_not():
    values = np.linspace(0.1, 0.9, 260).tolist()
    for many, gone in ((True, [True] * 200 + [False] * 60), (False, [True] * 199 + [False] * 61)):
        for name in ("cramers_v_mean", "skewsize", "cramers_v_mean_difference"):
            finding = samples.plain(name, ("g",), 0.5, "lower is fairer")
            assert aggregate_hidden(finding, values, gone) is not many
        for name in ("cramers_v_median", "cramers_v_max", "cramers_v_max_difference"):
            assert aggregate_hidden(samples.plain(name, ("g",), 0.5, "lower is fairer"), values, gone)
    assert not aggregate_hidden(
        samples.plain("cramers_v_max", ("g",), 0.9, "lower is fairer"), values, [False] * 260
    )
