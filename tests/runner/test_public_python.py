"""What users of Python type first: an audit of a frame, its findings, and what is printed."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.display.overview.content import Overview
from tests.conftest import make_frame

COLUMNS = {"truth": "truth", "prediction": "prediction"}


@pytest.fixture(scope="module")
def run() -> eh.Run:
    return eh.audit(make_frame(), **COLUMNS, by="group")


def test_a_frame_is_audited_as_predictions_are(run, tmp_path) -> None:
    evidence = eh.Predictions.from_frame(make_frame(), **COLUMNS)
    assert eh.audit(evidence, by="group").findings == run.findings
    frame = pl.DataFrame(make_frame())
    frame.write_parquet(tmp_path / "x.parquet")
    assert eh.audit(tmp_path / "x.parquet", **COLUMNS, by="group").findings.findings == run.findings.findings
    pandas = pd.DataFrame(frame.to_dict(as_series=False))
    assert eh.audit(pandas, **COLUMNS, by="group").findings == run.findings


def test_ids_and_ranks_of_a_frame_are_named_as_on_the_command_line() -> None:
    table = pl.DataFrame(make_frame()).with_columns(image=pl.int_range(pl.len()), place=pl.lit(1))
    second = table.with_columns(prediction=pl.col("truth"), place=pl.lit(2))
    ranked = eh.audit(
        pl.concat([table, second]), **COLUMNS, by="group", id="image", rank="place", inference="none"
    )
    assert (
        ranked["accuracy"].value == eh.audit(table, **COLUMNS, by="group", inference="none")["accuracy"].value
    )
    twice = eh.audit(pl.concat([table, second]), **COLUMNS, by="group", id="image", inference="none")
    assert twice.manifest["repeated_ids"] == table.height


def test_metrics_are_chosen_by_name_or_as_functions(run) -> None:
    some = eh.audit(make_frame(), **COLUMNS, by="group", metrics=["accuracy", eh.metrics.cramers_v_mean])
    assert [finding.name for finding in some.findings] == ["accuracy", "cramers_v_mean"]
    assert some["accuracy"] == run["accuracy"]
    for metric in ("accuracy", eh.metrics.accuracy):
        (finding,) = eh.audit(make_frame(), **COLUMNS, by="group", metrics=metric).findings
        assert finding == run["accuracy"]


def test_groups_are_crossed_as_on_the_command_line_unless_a_column_is_called_so() -> None:
    table = pl.DataFrame(make_frame()).with_columns(half=pl.int_range(pl.len()) % 2)
    by, options = ["group", "group+half"], {"metrics": "accuracy", "inference": "none"}
    both = eh.audit(table, **COLUMNS, by=by, **options)
    assert both["accuracy", "group+half"].by == ["group", "half"]
    assert eh.audit(table, **COLUMNS, by="group+half", **options)["accuracy"].by == ["group", "half"]
    counts = eh.Predictions.from_frame(table, **COLUMNS).count(["group", "half"])
    assert eh.audit(counts, by=[*by, ("group", "half")], **options).findings == both.findings
    named = table.rename({"half": "group+half"})
    assert eh.audit(named, **COLUMNS, by="group+half", **options)["accuracy"].by == ["group+half"]
    with pytest.raises(eh.UserError, match="there is no column 'hal'; did you mean 'half'"):
        eh.audit(table, **COLUMNS, by="group+hal")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "name the columns of this DataFrame"),
        ({**COLUMNS, "metrics": ["acuracy"]}, "did you mean 'accuracy'"),
        ({**COLUMNS, "prediction": "predicted"}, "there is no column 'predicted'"),
    ],
)
def test_what_is_missing_is_said_with_what_to_type(options, said) -> None:
    with pytest.raises(eh.UserError) as refused:
        eh.audit(make_frame(), by="group", **options)
    assert said in str(refused.value)


def test_columns_of_predictions_are_not_named_twice() -> None:
    evidence = eh.Predictions.from_frame(make_frame(), **COLUMNS)
    with pytest.raises(eh.UserError, match="truth of Predictions"):
        eh.audit(evidence, truth="truth", by="group")


def test_findings_are_iterated_counted_and_found_by_metric_and_group(run) -> None:
    assert len(run) == len(run.findings) == len(list(run.findings)) == len(run.findings.findings)
    assert run["accuracy_gap", "group"] is run["accuracy_gap"]
    assert run["accuracy_gap"].name == "accuracy_gap"
    assert list(run) == list(run.findings)
    with pytest.raises(eh.UserError, match="accuracy_gap"):
        run["acuracy_gap", "group"]


def test_a_finding_prints_a_line_and_a_run_eight(run) -> None:
    line = str(run["accuracy_gap"])
    assert "\n" not in line
    assert line.startswith(f"accuracy_gap(by=group): {run['accuracy_gap'].value:.3f}; 97.75 % interval ")
    assert "n = " in line
    assert "p = " in line or "p <0.001" in line
    assert repr(run) == str(run)
    lines = str(run).splitlines()
    assert len(lines) <= 8
    assert lines[0].startswith("Run: ")
    assert run.overview.kicker in lines
    assert any(run.overview.headlines[0].text in line for line in lines)
    assert lines[-1] == 'run.cases(1)  run.report("report.html")  run.to_frame()'


def test_a_run_without_first_lines_prints_its_findings(run, monkeypatch) -> None:
    monkeypatch.setitem(run.__dict__, "overview", Overview("", "", "", ()))
    lines = str(run).splitlines()
    assert len(lines) == 8
    assert lines[-1] == f"and {len(run.findings) - 6} more; run.findings holds all"


def test_a_finding_without_a_value_prints_its_reason() -> None:
    finding = eh.metrics.accuracy_gap(["a", "b"], ["a", "b"], groups=["f\n", "f\n"])
    assert str(finding) == "accuracy_gap(by=group): no value (single_group); n = 2"


def test_the_command_prints_its_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evenhand", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == "evenhand"
    assert done.stdout.split()[1][0].isdigit()
