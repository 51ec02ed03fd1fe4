"""Gates: conditions on values, on ends of intervals, and on verdicts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import GateBroken, ParameterError, UnknownName
from evenhand.core.findings import Interval
from evenhand.core.significance import significance_of
from evenhand.display.text.disparities import line_sentence
from evenhand.metrics.classification.disparities.finding import disparity_lines
from evenhand.runs.gates import Condition, check_gate_names, check_gates, gates_of, parse_gate
from tests.conftest import make_frame

BY = "perceived gender"


def predictions(**options: object) -> eh.Predictions:
    return eh.Predictions.from_frame(make_frame(**options), truth="truth", prediction="prediction")


def one_sided() -> eh.Predictions:
    """Half of the right answers of g0 turn into c0: accuracy and mistakes depend on the group."""
    frame = make_frame().rename({"group": BY})
    wrong = (pl.col(BY) == "g0") & (pl.int_range(pl.len()) % 3 > 0)
    frame = frame.with_columns(prediction=pl.when(wrong).then(pl.lit("c0")).otherwise("prediction"))
    return eh.Predictions.from_frame(frame, truth="truth", prediction="prediction")


@pytest.fixture(scope="module")
def run() -> eh.Run:
    """Its answers differ by perceived gender, and not by the other attribute."""
    return eh.audit(one_sided(), by=[BY, "other"])


def broken(run, gate, **manifest) -> str:
    """The message of a gate that breaks."""
    with pytest.raises(GateBroken) as problem:
        check_gates(run.findings.findings, [gate], run.manifest | manifest)
    return str(problem.value)


@pytest.mark.parametrize("side", ["beyond", "above"])
def test_a_gate_on_chance_breaks_by_the_verdict_and_says_the_finding(run, side) -> None:
    gap = run.finding("accuracy_gap", BY)
    assert significance_of(gap).side == "above"
    facts = str(gap).split("; ", 1)[1]
    assert "interval" in facts and "chance gives" in facts and "p <0.001" in facts  # noqa: PT018
    expected = f"gate broken: {gap.metric} = {gap.value:.4f} is above chance ({facts})"
    assert broken(run, f"accuracy_gap@{BY} {side} chance") == expected


@pytest.mark.parametrize("gate", [f"accuracy_gap@{BY} below chance", "accuracy_gap@other beyond chance"])
def test_a_gate_on_chance_holds_elsewhere(run, gate) -> None:
    check_gates(run.findings.findings, [gate], run.manifest)


def test_without_a_grouping_a_gate_on_chance_is_about_all(run) -> None:
    message = broken(run, "accuracy_gap beyond chance")
    assert f"accuracy_gap(by={BY})" in message
    assert "by=other" not in message


def test_the_level_of_a_verdict_is_that_of_the_run(run) -> None:
    gap = run.finding("accuracy_gap", BY).model_copy(update={"p_adjusted": 0.03})
    check_gates([gap], ["accuracy_gap beyond chance"], {"alpha": 0.01})
    for manifest in ({"alpha": 0.05}, {"alpha": "unreadable"}, None):
        with pytest.raises(GateBroken, match=r"p = 0\.030"):
            check_gates([gap], ["accuracy_gap beyond chance"], manifest)


def test_a_verdict_below_chance_and_one_without_a_side(run) -> None:
    ends = Interval(low=-0.3, high=-0.1, method="x")
    gap = run.finding("accuracy_gap", BY)
    below = gap.model_copy(update={"value": -0.2, "interval": ends, "fair_at": 0.0, "chance_at": None})
    check_gates([below], ["accuracy_gap above chance"])
    with pytest.raises(GateBroken, match=r"= -0\.2000 is below chance"):
        check_gates([below], ["accuracy_gap below chance"])
    level = below.model_copy(update={"value": 0.0, "interval": None})
    for side in ("beyond", "above", "below"):  # nothing says that it is on the other side
        with pytest.raises(GateBroken, match=r"= 0\.0000 is beyond chance"):
            check_gates([level], [f"accuracy_gap {side} chance"])


def test_a_gate_on_chance_without_a_verdict_says_why_and_what_has_one(run) -> None:
    message = broken(run, f"cramers_v@{BY} beyond chance")
    assert f"cramers_v(by={BY}) has no verdict (its p is exploratory" in message
    names = ("disparities", "accuracy_contrast", "accuracy_gap", "cramers_v_pooled")
    gates = [f"{name}@{by}" for by in (BY, "other") for name in names]
    assert message.endswith(f"findings that have one: {', '.join(gates[:6])} and 2 more")
    assert "has no verdict (it has no test)" in broken(run, f"accuracy@{BY} beyond chance")
    rate = run.finding("accuracy_gap", BY).model_copy(update={"fair_at": None, "chance_at": None})
    with pytest.raises(GateBroken, match=r"nothing says what chance gives.*no finding of this run has one"):
        check_gates([rate], ["accuracy_gap beyond chance"])
    lost = rate.model_copy(update={"value": None, "reason": "single_group"})
    with pytest.raises(GateBroken, match=r"has no value \(single_group\)"):
        check_gates([lost], ["accuracy_gap beyond chance"])


def test_a_gate_on_disparities_says_the_first_line(run) -> None:
    first = disparity_lines(one_sided(), by=BY).row(0, named=True)
    n_lines = run.finding("disparities", BY).value
    message = broken(run, f"disparities@{BY}>0")
    assert message.startswith(f"gate broken: disparities(by={BY}) = {n_lines:.0f} > 0 (p <0.001; n = 600): ")
    assert message.endswith(first["sentence"].rstrip("."))
    corrected = {**first, "certain": first["listed_certain"]}
    cards = line_sentence(corrected, noun="cards", elsewhere="g1").rstrip(".")
    assert broken(run, f"disparities@{BY} beyond chance", noun="cards").endswith(cards)
    check_gates(run.findings.findings, [f"disparities@{BY}>{n_lines}", "disparities@other>0"], run.manifest)
    assert broken(run, "disparities@other<1").endswith("= 0 < 1 (p = 1.000; n = 600)")


def test_several_broken_gates_are_all_said(run) -> None:
    with pytest.raises(GateBroken) as problem:
        check_gates(run.findings.findings, [f"disparities@{BY}>0", f"accuracy_gap.low@{BY}>0"], run.manifest)
    low = run.finding("accuracy_gap", BY).interval.low
    assert f"; accuracy_gap(by={BY}).low = {low:.4f} > 0 (value 0." in str(problem.value)


def test_gates_read_the_end_of_the_interval_that_is_shown(run) -> None:
    gap = run.finding("accuracy_gap", BY)
    low, high = gap.interval.low, gap.interval.high
    assert low < gap.details["low_95"] < gap.value < gap.details["high_95"] < high
    holding = [f"accuracy_gap.low@{BY}>{low + 1e-6}", f"accuracy_gap.high@{BY}<{high - 1e-6}"]
    check_gates(run.findings.findings, [*holding, f"accuracy_gap@{BY}>{gap.value + 1e-6}"], run.manifest)
    assert f".low = {low:.4f} > 0 (value {gap.value:.3f}; " in broken(run, f"accuracy_gap.low@{BY}>0")
    assert f".high = {high:.4f} > " in broken(run, f"accuracy_gap.high@{BY}>{high - 1e-6}")
    assert "value" not in broken(run, f"accuracy_gap@{BY}>{gap.value - 1e-6}")  # without an end it counts
    plain = eh.audit(one_sided(), by=BY, inference="none")
    assert "has no interval, and this gate needs its end" in broken(plain, "accuracy_gap.low>0.9")
    assert "has no verdict (it has no test)" in broken(plain, "accuracy_gap beyond chance")


def test_gates_are_read_once_into_what_they_say() -> None:
    assert parse_gate("skewsize@gender+race <= -0.5") == Condition(
        "skewsize", "gender+race", {}, "", "<=", -0.5
    )
    assert parse_gate("accuracy>.9") == Condition("accuracy", None, {}, "", ">", 0.9)
    assert parse_gate("accuracy<1e-3").number == 0.001
    read = parse_gate("d.low[stage=after, half=fit]@g>1")
    assert read == Condition("d", "g", {"stage": "after", "half": "fit"}, ".low", ">", 1.0)
    side = parse_gate("accuracy_gap[eo=max]@perceived gender  beyond chance ")
    assert side == Condition("accuracy_gap", "perceived gender", {"eo": "max"}, "", "beyond", None)
    assert parse_gate("d above chance").sign == "above"
    assert parse_gate("d@age>40 below chance").by == "age>40"
    with pytest.raises(ParameterError, match="key=value"):
        parse_gate("d[after]>1")


@pytest.mark.parametrize(
    "gate",
    [
        "", "accuracy", "accuracy>x", "0.5<accuracy", "accuracy=1", "accuracy>inf", "accuracy>>1",
        "accuracy_gap@gender beyond chnce", "accuracy_gap@gender beyond", "accuracy_gap@gender over chance",
        "accuracy_gap@genderbeyond chance", "accuracy_gap.low beyond chance", "accuracy_gap.lo>1",
    ],
)  # fmt: skip
def test_a_gate_that_cannot_be_read_shows_the_three_forms(gate) -> None:
    for check in (parse_gate, lambda text: check_gate_names([text])):
        with pytest.raises(ParameterError) as problem:
            check(gate)
        for form in (
            "accuracy_gap@gender>0.1",
            "accuracy_gap.low@gender>0.05",
            "accuracy_gap@gender beyond chance",
        ):
            assert f"'{form}'" in str(problem.value)
    assert gates_of(["evenhand", "audit", "--fail-if", gate]) == []


def test_a_gate_that_names_nothing_lists_what_there_is() -> None:
    findings = eh.audit(predictions(), by="group", inference="none").findings.findings
    with pytest.raises(UnknownName, match="accuracy_gap@group"):
        check_gates(findings, ["accuracy_gap@gruop>0"])
    with pytest.raises(UnknownName, match="no parameter of accuracy_gap 'stage'"):
        check_gates(findings, ["accuracy_gap[stage=after]@group>0"])


def test_the_manifest_keeps_the_gates_that_a_command_was_given() -> None:
    command = [
        "evenhand",
        "audit",
        "t.csv",
        "--fail-if",
        "accuracy_gap@g>0.1",
        "--fail-if=skewsize<-1",
        "--fail-if",
        "skewsize@perceived gender beyond chance",
        "--by",
        "g",
    ]
    assert gates_of(command) == [
        "accuracy_gap@g>0.1",
        "skewsize<-1",
        "skewsize@perceived gender beyond chance",
    ]
    assert gates_of(["evenhand", "audit", "t.csv", "--fail-if"]) == []
    assert gates_of(["another", "--fail-if", "no gate"]) == []


def test_a_gate_on_a_misspelled_grouping_is_refused_before_anything_is_counted() -> None:
    with pytest.raises(
        UnknownName, match=r"no grouping 'gendr'; did you mean 'gender', 'age'.* needs one of --by"
    ):
        check_gate_names(["accuracy_gap@gendr>0"], groupings=["gender", "age"])
    check_gate_names(["accuracy_gap@gender>0", "accuracy_gap>0"], groupings=["gender"])


def test_a_gate_on_getting_worse_needs_two_models(run) -> None:
    assert parse_gate("accuracy_difference@g got worse").sign == "worse"
    with pytest.raises(ParameterError, match="it compares no models; write accuracy_gap beyond chance"):
        check_gates(run.findings.findings, [f"accuracy_gap@{BY} got worse"], run.manifest)


@pytest.mark.parametrize(
    ("gate", "says"),
    [
        ("accuracy_gap@g>5", "never breaks: accuracy_gap lies in 0 to 1; for 5 points write 0.05"),
        ("accuracy_gap>1", "never breaks: accuracy_gap lies in 0 to 1; for 1 point write 0.01"),
        ("accuracy_gap.low<0", "never breaks: accuracy_gap lies in 0 to 1"),
        ("accuracy<95", "always breaks: accuracy lies in 0 to 1; for 95 % write 0.95"),
        ("cramers_v_mean>=-.1", "always breaks: cramers_v_mean lies in 0 to 1"),
        (
            "accuracy_difference<-5",
            "never breaks: accuracy_difference lies in -1 to 1; for -5 points write -0.05",
        ),
        ("flip_rate>100", "never breaks: flip_rate lies in 0 to 1"),
        ("disparities<0", "never breaks: disparities is at least 0"),
        ("accuracy==50", "never breaks: accuracy lies in 0 to 1; for 50 % write 0.5"),
    ],
)
def test_a_gate_that_no_value_or_every_value_breaks_is_refused(gate, says) -> None:
    with pytest.raises(ParameterError) as error:
        check_gate_names([gate])
    assert str(error.value) == f"--fail-if '{gate}' {says}"


def test_a_gate_that_a_value_can_break_or_hold_is_none_of_them() -> None:
    check_gate_names(["accuracy<1", "accuracy==1", "accuracy_gap>0", "accuracy_gap!=0", "disparities>5"])
    check_gate_names(["skew_at_k<-9", "skew_at_k>9", "accuracy_difference<-.5", "accuracy beyond chance"])


@pytest.mark.parametrize(
    ("persons", "why"), [(1, "of one cluster|no value"), (2, "each group is one cluster|no value")]
)
def test_a_gate_on_chance_breaks_where_one_cluster_says_nothing_of_others(persons, why) -> None:
    rng = np.random.default_rng(0)
    group = np.arange(300) % 2
    right = rng.random(300) < np.where(group, 0.6, 0.95)
    frame = pl.DataFrame(
        {"t": ["x", "y"] * 150, "p": np.where(right, ["x", "y"] * 150, "z"), "g": group.astype(str),
         "who": group * (persons - 1)}
    )  # fmt: skip
    rows = eh.Predictions.from_frame(frame, truth="t", prediction="p", cluster="who")
    findings = eh.audit(rows, by="g").findings.findings
    for gate in ("accuracy_gap beyond chance", "accuracy_gap above chance", "disparities beyond chance"):
        with pytest.raises(GateBroken, match=why):
            check_gates(findings, [gate])
    check_gates(findings, ["accuracy_gap>0.9"])
