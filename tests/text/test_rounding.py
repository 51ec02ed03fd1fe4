"""Digits are chosen so that what a verdict rests on is seen, in every form that is printed."""

import numpy as np
import polars as pl
import pytest
from simulations.battery.printed import contradictions, wrong_in

import evenhand as eh
from evenhand.core.cards import Source
from evenhand.core.findings import Finding, Interval, Null
from evenhand.core.significance import is_beyond
from evenhand.display.overview.content import Mark
from evenhand.display.overview.mistakes import _chance
from evenhand.display.text.disparities import mix_sentence, shares
from evenhand.display.text.formatting import p_text
from evenhand.display.text.rounding import Rounding, apart


def gap(value, low, high, null=None, **fields):
    interval = Interval(low=low, high=high, level=0.975, method="MOVER")
    given = {"metric": "gap(by=g)", "name": "gap", "n": 100, "direction": "lower is fairer", "fair_at": 0.0}
    given |= {"p_value": 0.012, "interval": interval, "source": Source(paper="p")}
    return Finding(value=value, null=null, **{**given, **fields})


def band(low, high):
    return Null(mean=(low + high) / 2, low=low, high=high, method="permutation")


@pytest.mark.parametrize("unit", [None, "share", "share difference"])
@pytest.mark.parametrize("low", [0.2, 0.011, 0.0041, 0.0004, 0.00002, -0.0004])
def test_an_end_never_looks_like_the_reference_that_it_leaves_out(unit, low):
    one = gap(0.23, low, 0.31)
    shown = Rounding.of(one, unit)
    texts = [shown.text(number) for number in (0.0, low, 0.23, 0.31)]
    assert len(set(texts)) == 4 if low > 0 else 3
    assert shown.span(one.interval) == f"{texts[1]} to {texts[3]}"


def test_numbers_of_a_finding_have_the_same_digits():
    shown = Rounding.of(gap(0.0097, 0.0012, 0.0186), "share difference")
    assert (shown.amount(0.0097), shown.span((0.0012, 0.0186))) == ("1.0 points", "0.1 to 1.9")
    within = gap(0.0098, -0.002, 0.02, band(0.0, 0.0094), p_value=0.2)  # though above its band
    shown = Rounding.of(within, "share difference")
    assert (shown.amount(0.0098), shown.span(within.null)) == ("1.0 points", "0.0 to 0.9")
    near = gap(0.04512, 0.01, 0.09, band(0.0, 0.04508))
    assert Rounding.of(near).text(0.04512) > Rounding.of(near).text(0.04508)
    assert Rounding.of(gap(0.3, 0.2, 0.4)).text(0.3) == "0.300"
    assert [apart([0.8901, 0.8904]).level(rate) for rate in (0.8901, 0.8904)] == ["89.01 %", "89.04 %"]
    assert shares(0.25, 0.75) == ["25 %", "75 %"]


def test_a_p_is_never_rounded_down_to_a_level():
    assert [p_text(p) for p in (0.0123, 0.05, 0.0502, 0.0496, 0.01004, 0.0004)] == [
        "0.012", "0.050", "0.0502", "0.050", "0.01004", "<0.001",
    ]  # fmt: skip


def test_counts_outside_of_a_band_do_not_look_inside():
    line = {"n": 40}
    assert _chance(Mark("g", 4 / 40, null=(0.0, 3.7 / 40)), line, 1).startswith(
        "Chance alone would give 0 to 3"
    )
    assert _chance(Mark("g", 3 / 40, null=(0.0, 3.7 / 40)), line).startswith("Chance alone would give 0 to 4")


@pytest.mark.parametrize(
    ("pieces", "sentence"),
    [
        ((0.062, 0.031, 0.031), "Of 6.2 points below the rest, 3.1 come from its mix of classes."),
        ((0.062, 0.122, -0.06), "Its classes are harder: within classes it is 6.0 points above the rest."),
        ((0.062, -0.02, 0.082), "Its classes are easier: within classes it is 8.2 points below the rest."),
        ((-0.062, -0.031, -0.031), "Of 6.2 points above the rest, 3.1 come from its mix of classes."),
        ((-0.062, -0.122, 0.06), "Its classes are easier: within classes it is 6.0 points below the rest."),
    ],
)
def test_a_mix_that_gives_more_than_the_whole_is_not_called_a_part(pieces, sentence):
    assert mix_sentence(*pieces) == sentence


def test_the_reader_of_printed_lines_finds_each_contradiction():
    beyond = {"beyond": True, "reference": 0.0}
    for text in (
        "Accuracy gap: 1 point (97.5 % interval 0 to 2).",
        "gap: 0.5; 95 % interval 0.6 to 0.7",
        "gap: 0.044; chance gives 0.005 to 0.094; p = 0.010",
        "V: 0.11 without what noise adds (95 % interval 0.01 to 0.2); 0.7 with it; chance gives 0.5 to 0.8",
    ):
        assert len(list(wrong_in(text, **beyond))) == 1, text
    right = "gap: 1.0 points (97.5 % interval 0.1 to 1.9). Chance alone would give 0.0 to 0.9 points."
    assert list(wrong_in(right, **beyond)) == []
    quiet = "gap: 1 point (95 % interval 0 to 2)"
    assert list(wrong_in(quiet, beyond=False, reference=0.0)) == []


def messy(seed, n=4000):
    """Three unequal groups, labels with blanks and commas; the smallest group is right less often."""
    rng = np.random.default_rng(seed)
    labels = np.array(["cat, small", "dog ", "Ünicode", "4"])
    group = rng.choice(["a", "b b", "c,c"], n, p=(0.6, 0.3, 0.1))
    truth = rng.integers(4, size=n)
    wrong = rng.random(n) < np.where(group == "c,c", 0.16, 0.1)
    return pl.DataFrame({"t": labels[truth], "p": labels[(truth + wrong) % 4], "g": group})


def test_nothing_that_an_audit_prints_contradicts_its_verdicts():
    n_beyond = 0
    for seed in range(6):
        run = eh.audit(messy(seed), truth="t", prediction="p", by="g")
        n_beyond += len(run.overview.beyond)
        assert contradictions(run.findings.findings, run.manifest) == []
    assert n_beyond > 3


def test_a_corrected_value_stands_before_its_interval():
    one = gap(0.72, 0.013, 0.221, band(0.4, 0.7), corrected=0.112)
    text = "0.112 without what noise adds; 97.5 % interval 0.013 to 0.221; 0.720 with it; chance gives "
    assert str(one).startswith(f"gap(by=g): {text}")
    assert contradictions([one]) == []
    assert "0.112 (corrected; plain 0.720)" in one._repr_html_()


@pytest.mark.parametrize("metric", ["accuracy_contrast", "disparities", "cramers_v_pooled"])
def test_at_a_level_above_05_no_band_and_no_interval_holds_what_is_called_beyond_chance(metric):
    beyond = 0
    for seed in range(12):
        rng = np.random.default_rng((3, seed))
        group, truth = rng.choice(3, 180, p=[0.5, 0.3, 0.2]), rng.integers(0, 2, 180)
        right = rng.random(180) < np.array([0.9, 0.85, 0.78])[group]
        said = np.where(right, truth, 1 - truth)
        frame = pl.DataFrame({"truth": truth, "said": said, "group": group}).cast(pl.String)
        columns = {"truth": "truth", "prediction": "said", "by": "group"}
        run = eh.audit(frame, **columns, alpha=0.2, metrics=[metric], seed=seed)
        finding = run.findings.findings[0]
        beyond += is_beyond(finding, 0.2) and 0.05 < finding.p_value <= 0.2
        assert contradictions([finding], run.manifest, 0.2) == []
    assert beyond >= 2  # of which a test at .05 would say nothing
