"""Two models under any metric of predictions: answers exchanged by sample, or by sampling unit."""

from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy import stats

import evenhand as eh
from evenhand import metrics
from evenhand.core.errors import ParameterError, UnknownName
from evenhand.core.significance import significance_of
from evenhand.evidence.derivation.paired import match
from evenhand.metrics.differences.exchanged import NO_INTERVAL, OWN_SAMPLES
from evenhand.metrics.differences.models import NO_CLUSTERS, model_differences
from evenhand.metrics.estimates import build
from evenhand.metrics.prepared import BoundCounts, classifier_metric
from evenhand.report.checking.check import check

PLAIN = "accuracy[mode=default]"  # an argument of its own leads past what is known of accuracy


@classifier_metric(
    title="Missed, gap", summary="how much more often a label is missed", formula="max - min of misses",
    range=(0, 1), direction="lower is fairer", fair_at=0.0, source="ours", unit="share difference",
)  # fmt: skip
def missed_gap(evidence, *, by, label, seed=0):
    rows = BoundCounts.of(evidence, by, seed)
    of_label = rows.truth == rows.labels.index(label)
    wrong = of_label & (rows.prediction != rows.truth)
    shares = [rows.n[wrong & (rows.group == z)].sum() / rows.n[of_label & (rows.group == z)].sum()
              for z in range(len(rows.groups))]  # fmt: skip
    return build(rows, "missed_gap", {"label": label}, float(max(shares) - min(shares)))


def table(n=240, wrong=0.3, seed=0, more=0.0, size=1):
    """Three unequal groups; ``more`` of the second model's answers for cats of the first group are dogs."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    truth = rng.choice(["cat", "dog", "owl"], n, p=[0.6, 0.3, 0.1])
    answers = [np.where(rng.random(n) < wrong, rng.choice(["cat", "dog", "owl"], n), truth) for _ in "xy"]
    moved = (group == "a") & (truth == "cat") & (rng.random(n) < more)
    answers[1] = np.where(moved, "dog", answers[1])
    return pl.DataFrame(
        {"id": np.arange(n), "unit": np.arange(n) // size, "group": group, "truth": truth, "old": answers[0],
         "new": answers[1]}
    )  # fmt: skip


def runs(tmp_path, frame, **columns):
    columns = {"truth": "truth", "by": "group", "id": "id", **columns}
    for name in ("old", "new"):
        eh.audit(frame, prediction=name, metrics="accuracy", out=tmp_path / name, **columns)
    return [tmp_path / "old", tmp_path / "new"]


def test_p_is_that_of_mcnemar_where_rows_are_samples(tmp_path):
    [finding] = eh.compare(runs(tmp_path, table(more=0.2)), metrics=[PLAIN]).findings.findings
    frame = table(more=0.2).with_columns(
        old_right=pl.col("old") == pl.col("truth"), new_right=pl.col("new") == pl.col("truth")
    )
    lost = frame.filter(pl.col("old_right") & ~pl.col("new_right")).height
    won = frame.filter(~pl.col("old_right") & pl.col("new_right")).height
    assert finding.value == pytest.approx((won - lost) / frame.height)
    exact = stats.binomtest(won, won + lost).pvalue
    assert finding.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 999) + 0.001)
    assert finding.null.mean == 0
    assert finding.null.high == pytest.approx(1.96 * np.sqrt(won + lost) / frame.height, rel=0.15)
    assert (finding.interval, finding.notes) == (None, [NO_INTERVAL])
    assert finding.params["mode"] == "default"


def test_units_change_places_as_wholes(tmp_path):
    """Against sign flips of the units' sums, drawn by numpy alone."""
    frame = table(more=0.3, size=8, n=400)
    [finding] = eh.compare(runs(tmp_path, frame, cluster="unit"), metrics=[PLAIN]).findings.findings
    sums = frame.group_by("unit").agg(
        ((pl.col("new") == pl.col("truth")).cast(int) - (pl.col("old") == pl.col("truth")).cast(int)).sum()
    )["new"].to_numpy()  # fmt: skip
    signs = np.random.default_rng(1).choice([-1, 1], (20_000, sums.size))
    p = np.mean(np.abs(signs @ sums) >= abs(sums.sum()))
    assert finding.p_value == pytest.approx(p, abs=4 * np.sqrt(p * (1 - p) / 999) + 0.001)
    assert "unit" in finding.null.method
    assert finding.details["units"] == 50


def test_a_cluster_may_be_called_as_samples_are(tmp_path):
    """Rows of a column called “sample” were taken one by one, and did not fit."""
    frame = table(more=0.3, size=8, n=400).rename({"unit": "sample"})
    [finding] = eh.compare(runs(tmp_path, frame, cluster="sample"), metrics=[PLAIN]).findings.findings
    whole = table(more=0.3, size=8, n=400)
    [other] = eh.compare(runs(tmp_path / "other", whole, cluster="unit"), metrics=[PLAIN]).findings.findings
    assert (finding.p_value, finding.null.high) == (other.p_value, other.null.high)


@pytest.mark.parametrize("name", ["recall_gap", "demographic_parity[aggregate=mean]", "mean_group_accuracy"])
def test_value_is_new_minus_old_of_any_metric(tmp_path, name):
    frame = table(more=0.2)
    metric, arguments = name.partition("[")[0], {"aggregate": "mean"} if "[" in name else {}
    compared = eh.compare(runs(tmp_path, frame), metrics=[name], out=tmp_path / "compared")
    [finding] = compared.findings.findings
    values = [
        getattr(metrics, metric)(
            eh.Predictions.from_frame(frame, truth="truth", prediction=answers), by="group", **arguments
        ).value
        for answers in ("new", "old")
    ]
    assert finding.name == f"{metric}_difference"
    assert finding.value == pytest.approx(values[0] - values[1])
    assert (finding.details["first"], finding.details["second"]) == pytest.approx(tuple(values))
    assert eh.Run.read(tmp_path / "compared").findings == compared.findings
    page = compared.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert check(compared.findings, compared.manifest, page=page) == []


def test_a_metric_of_a_package_with_an_argument(tmp_path):
    """It enters audits and comparisons, takes arrays, and finds what was planted."""
    frame, metric = table(n=900, more=0.5), partial(missed_gap, label="cat")
    audited = eh.audit(
        frame, truth="truth", prediction="new", by="group", metrics=[metric, "accuracy_gap"], seed=4
    )
    assert [finding.name for finding in audited.findings] == ["accuracy_gap", "missed_gap"]
    of_arrays = metric(frame["truth"], frame["new"], groups=frame["group"])
    assert audited.findings.findings[1].value == of_arrays.value > 0.2
    paths = runs(tmp_path, frame)
    [planted] = eh.compare(paths, metrics=[metric]).findings.findings
    [other] = eh.compare(paths, metrics=[partial(missed_gap, label="dog")]).findings.findings
    assert (planted.params["label"], planted.p_value) == ("cat", 0.001)
    assert significance_of(planted).beyond
    assert planted.value > planted.null.high
    assert other.p_value > 0.05


def test_what_is_not_tested_says_why(tmp_path):
    frame = table()
    own = frame.with_columns(id=pl.col("id") + 10_000)
    paths = runs(tmp_path, frame)
    eh.audit(
        own, prediction="new", truth="truth", by="group", id="id", metrics="accuracy", out=tmp_path / "own"
    )
    [finding] = eh.compare([paths[0], tmp_path / "own"], metrics=["recall_gap"]).findings.findings
    assert (finding.p_value, finding.notes) == (None, [OWN_SAMPLES])
    assert finding.value is not None
    few = model_differences(
        _counts(table(size=120)), by="group", metrics=[metrics.recall_gap], clusters=["unit"]
    )
    assert few[0].p_value is None
    assert few[0].notes == [NO_CLUSTERS.format("unit")]


def _counts(frame):
    rows = [frame.select(pl.col("id").cast(pl.String).alias("sample"), "truth", "group", prediction=name)
            for name in ("old", "new")]  # fmt: skip
    return match(rows, ["group"], ["old", "new"]).counts(["group"])


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ("ndkl", ParameterError, "not declared as a metric of predictions"),
        ("disparities", ParameterError, "depends on each model's own counts"),
        ("recal_gap", UnknownName, "did you mean 'recall_gap'"),
        ("recall_gap[labels=cat]", UnknownName, "no argument of recall_gap 'labels'"),
        ("recall_gap[labels", ParameterError, "name[key=value,key=value]"),
        (partial(missed_gap), ParameterError, "partial(missed_gap, label=...)"),
        (partial(metrics.recall_gap, "x"), ParameterError, "partial(metric, label='cat')"),
        (partial(print, end=""), ParameterError, "partial(metric, label='cat')"),
    ],
)
def test_errors_say_what_to_type(tmp_path, asked, error, says):
    with pytest.raises(error) as problem:
        eh.compare(runs(tmp_path, table(n=60)), metrics=[asked])
    assert says in str(problem.value)


def test_options_of_an_audit_reach_other_metrics():
    """A seed was refused, and ``inference`` and ``mode`` did nothing, for metrics an audit does not have."""
    columns = {"truth": "truth", "prediction": "new", "by": "group", "metrics": "recall_gap"}
    [seeded] = eh.audit(table(), seed=3, **columns).findings.findings
    assert seeded.null.seed == 3
    [plain] = eh.audit(table(), inference="none", **columns).findings.findings
    assert (plain.value, plain.null, plain.interval) == (seeded.value, None, None)
