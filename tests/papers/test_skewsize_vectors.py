"""Every number of the SkewSize vectors: single tables, whole sets, and skewness alone."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import special

import evenhand as eh
from evenhand import metrics
from evenhand.metrics.classification.summaries import band_of
from evenhand.stats.contingency.tables import association, filter_by_expected
from evenhand.stats.skewness import skewness
from tests.helpers import one_table

FOLDER = Path(__file__).parent / "vectors" / "skewsize"
VECTORS = json.loads((FOLDER / "tables.json").read_text())
TABLES, SETS = VECTORS["tables"], VECTORS["sets"]
SKEWNESS = json.loads((FOLDER / "skewness.json").read_text())
ROWS = pl.read_parquet(FOLDER / "sets.parquet")
MEV = [(minimum, rule) for minimum in (2, 5) for rule in ("min", "mean", "max")]


def same(actual: float | None, expected: float | None, rel: float = 1e-12, absolute: float = 1e-15) -> bool:
    """Equal to ``rel``; None and NaN are the same."""
    if expected is None or actual is None or np.isnan(actual):
        return expected is None and (actual is None or bool(np.isnan(actual)))
    return actual == pytest.approx(expected, rel=rel, abs=absolute)


def statistic(table: list[list[int]], kind: str) -> float:
    return float(association(one_table(table)).statistic(kind)[0])


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(
    ("kind", "key"), [("cramers_v_yates", "v"), ("cramers_v", "v_plain"), ("phi", "phi_plain")]
)
def test_table_statistics(name, kind, key):
    assert same(statistic(TABLES[name]["table"], kind), TABLES[name][key])


@pytest.mark.parametrize("name", TABLES)
def test_table_bergsma(name):
    assert same(statistic(TABLES[name]["table"], "bergsma"), TABLES[name]["bergsma_v"])


@pytest.mark.parametrize("name", TABLES)
def test_table_chi2_p_dof_and_n(name):
    vector = TABLES[name]
    tables = association(one_table(vector["table"]))
    assert (tables.dof[0], tables.n[0]) == (vector["dof"], vector["n"])
    assert same(tables.chi2[0], vector["chi2_plain"], absolute=1e-12)
    degrees = max((tables.n_rows[0] - 1) * (tables.n_columns[0] - 1), 0)
    if degrees:
        assert same(special.chdtrc(degrees, tables.chi2[0]), vector["p_plain"], 1e-9)
        yates = tables.statistic("cramers_v_yates")[0] ** 2 * tables.n[0] * tables.dof[0]
        assert same(yates, vector["chi2"], absolute=1e-12)
        assert same(special.chdtrc(degrees, yates), vector["p"], 1e-9)
    else:
        assert (vector["chi2"], vector["p"]) == (0.0, 1.0)


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("minimum", "rule"), MEV)
def test_table_minimum_expected_value(name, minimum, rule):
    vector = TABLES[name]
    kept = association(filter_by_expected(one_table(vector["table"]), minimum, rule))
    assert kept.n_columns[0] == vector[f"cols_kept_mev{minimum}_{rule}"]
    assert same(kept.statistic("cramers_v_yates")[0], vector[f"v_mev{minimum}_{rule}"])


@pytest.mark.parametrize("index", range(len(SKEWNESS)))
def test_skewness_alone(index):
    values, expected = SKEWNESS[index]["v"], SKEWNESS[index]["skew"]
    assert same(float(skewness(np.array(values, dtype=float))), expected, 1e-12, 1e-13)


@pytest.fixture(params=SETS)
def case(request):
    rows = ROWS.filter(pl.col("case") == request.param)
    return SETS[request.param], eh.Predictions.from_frame(rows, truth="y", prediction="p")


def paper(case, metric: str, **options):
    return getattr(metrics, metric)(case[1], by="z", mode="paper", inference="none", **options)


def test_set_skewsize(case):
    finding = paper(case, "skewsize")
    used = case[0]["n_classes_used"]
    assert same(finding.value, case[0]["skewsize"], 1e-11, 1e-12)
    eq4 = None if finding.value is None else finding.value / np.sqrt(used)
    assert same(eq4, case[0]["eq4_literal"], 1e-11, 1e-12)
    assert len(finding.parts) == case[0]["n_classes"]
    assert sum(part.value is not None for part in finding.parts) == used
    assert (finding.reason is None) == (used > 2 and finding.value is not None)


def test_set_skewsize_in_default_mode(case):
    finding = metrics.skewsize(case[1], by="z", inference="none")
    if case[0]["n_classes_used"] == 2:
        assert (finding.value, finding.reason) == (None, "uninformative")
    else:
        assert same(finding.value, case[0]["skewsize_plain"], 1e-11, 1e-12)


def test_set_parts(case):
    finding = paper(case, "skewsize")
    for key, expected in case[0]["per_class"].items():
        part = finding.part(key)
        assert same(part.value, expected["v"], absolute=1e-14)
        assert part.n == expected["n"]
        if part.value is not None:
            chi2 = part.value**2 * part.n * expected["dof"]
            assert same(chi2, expected["chi2"], 1e-11, 1e-12)


def test_set_summaries_and_bands(case):
    for summary in ("mean", "median", "max"):
        assert same(paper(case, f"cramers_v_{summary}").value, case[0][f"v_{summary}"], absolute=1e-14)
    bands = [part.band for part in paper(case, "skewsize").parts]
    names = ["negligible", "small", "medium", "large"]
    assert [bands.count(name) for name in names] == case[0]["bands"]


def test_set_accuracy(case):
    expected = case[0]["accuracy"]
    accuracy = paper(case, "accuracy")
    assert accuracy.n == expected["n"]
    assert accuracy.n + sum(dropped.count for dropped in accuracy.dropped) == case[0]["n"]
    assert same(accuracy.value, expected["accuracy"])
    assert {part.key: part.value for part in accuracy.parts} == pytest.approx(expected["acc_by_z"], rel=1e-12)
    assert same(paper(case, "mean_group_accuracy").value, expected["balanced_accuracy_over_z"])
    worst = paper(case, "worst_group_accuracy")
    assert same(worst.value, expected["worst_group_z"])
    assert worst.part(expected["worst_group_z_name"]).value == worst.value
    cell = paper(case, "worst_class_group_accuracy")
    assert same(cell.value, expected["worst_group_yz"])
    assert cell.parts[0].key == expected["worst_group_yz_name"]
    assert same(paper(case, "accuracy_gap").value, expected["gap_z"])
    assert same(paper(case, "accuracy_gap", groups="yz").value, expected["gap_yz"])
    assert same(paper(case, "accuracy_range").value, expected["range_z"])


@pytest.mark.parametrize("aggregate", ["max", "mean"])
def test_set_parity_and_odds(case, aggregate):
    suffix = "_mean" if aggregate == "mean" else ""
    parity = paper(case, "demographic_parity", aggregate=aggregate)
    assert same(parity.value, case[0]["dp_eo"][f"dp{suffix}"])
    for how in ("max", "avg", "full"):
        odds = paper(case, "equalized_odds", eo=how, aggregate=aggregate)
        assert same(odds.value, case[0]["dp_eo"][f"eo_{how}{suffix}"]), how


@pytest.mark.parametrize(
    ("value", "band"),
    [(0.0, "negligible"), (0.0999, "negligible"), (0.1, "small"), (0.2999, "small"), (0.3, "medium"),
     (0.4999, "medium"), (0.5, "large"), (1.0, "large"), (None, None)],
)  # fmt: skip
def test_bands_are_closed_below(value, band):
    assert band_of(value) == band
