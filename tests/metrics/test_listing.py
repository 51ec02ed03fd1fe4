"""SkewSize against the listing of Appendix G.2, run literally in pandas and scipy (with its ``~`` back)."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand import Predictions, metrics


def listing(frame):
    """V of every class and their skewness."""
    values = {}
    for y, rows in frame.groupby("truth"):
        crosstab = pd.crosstab(rows["group"], rows["prediction"])
        chi2 = stats.chi2_contingency(crosstab)[0]
        dof = min(crosstab.shape) - 1
        with np.errstate(invalid="ignore", divide="ignore"):
            values[y] = np.sqrt(np.float64(chi2) / (crosstab.to_numpy().sum() * np.float64(dof)))
    v = np.array(list(values.values()))
    v = v[~np.isnan(v)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return values, float(stats.skew(v))


def unlike(frame):
    """What skewsize gives otherwise than the listing, class by class and as a whole: found, expected."""
    values, expected = listing(frame)
    evidence = Predictions.from_frame(frame, truth="truth", prediction="prediction")
    finding = metrics.skewsize(evidence, by="group", mode="paper", inference="none")
    assert {part.key for part in finding.parts} == set(values)
    found = {part.key: (part.value, values[part.key]) for part in finding.parts}
    spread = np.nanstd(list(values.values())) if not np.isnan(list(values.values())).all() else 0
    if spread > 1e-6 or (np.isnan(expected) and not 0 < spread < 1e-12):  # else skewness is rounding alone
        found["skewsize"] = (finding.value, expected)
    rounding = {"skewsize": 1e-6}
    return {name: pair for name, pair in found.items() if not same(*pair, rounding.get(name, 1e-9))}


def same(found, expected, rel):
    """Undefined in both, or equal up to rounding."""
    if found is None or np.isnan(expected):
        return found is None and bool(np.isnan(expected))
    return found == pytest.approx(expected, rel=rel, abs=rel)


label = st.sampled_from(["x", "y", "z", "open vocabulary"])


@settings(max_examples=40)
@given(st.lists(st.tuples(st.sampled_from("abcde"), st.sampled_from("MFN"), label), min_size=1, max_size=60))
def test_equals_the_listing_on_small_frames(rows):
    assert unlike(pd.DataFrame(rows, columns=["truth", "group", "prediction"])) == {}


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_listing_on_larger_frames(seed):
    rng = np.random.default_rng(seed)
    n, classes = 3_000, 20
    truth = rng.integers(classes, size=n)
    wrong = rng.integers(classes + 3, size=n)
    prediction = np.where(rng.random(n) < 0.5, truth, wrong)
    group = rng.choice(["M", "F", "N"], n, p=[0.6, 0.3, 0.1])
    assert unlike(pd.DataFrame({"truth": truth, "group": group, "prediction": prediction}).astype(str)) == {}


def test_missing_values_vanish_as_in_crosstab_but_are_counted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"truth": rng.choice(list("abc"), 400), "group": rng.choice(["M", "F"], 400),
         "prediction": rng.choice(list("abcd"), 400)}
    ).astype(object)  # fmt: skip
    frame.loc[:30, "prediction"] = None
    frame.loc[350:, "group"] = None
    assert unlike(frame) == {}
    evidence = Predictions.from_frame(frame, truth="truth", prediction="prediction")
    dropped = {d.reason: d.count for d in metrics.skewsize(evidence, by="group").dropped}
    assert dropped == {"missing prediction": 31, "missing group": 50}
