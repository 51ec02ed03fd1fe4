from __future__ import annotations

import json

import polars as pl
import pytest

import evenhand as eh
from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.findings import Findings
from evenhand.core.significance import is_beyond
from tests.conftest import make_frame
from tests.runner.edits import unsealed


def predictions(**options: object) -> eh.Predictions:
    return eh.Predictions.from_frame(make_frame(**options), truth="truth", prediction="prediction")


def test_an_audit_without_a_folder_stays_in_memory(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = eh.audit(predictions(), by=["group", ("group", "other")])
    assert list(tmp_path.iterdir()) == []
    assert run.finding("skewsize", "group").value is not None
    assert run.finding("skewsize", ["group", "other"]).by == ["group", "other"]


def test_a_run_folder_reads_back_as_it_was(tmp_path) -> None:
    run = eh.audit(predictions(), by="group", out=tmp_path / "run")
    again = eh.Run.read(tmp_path / "run")
    assert again.findings == run.findings
    assert again.manifest == json.loads(json.dumps(run.manifest))
    assert again.counts["predictions"] == run.counts["predictions"]
    assert again.tables["mistakes"].equals(run.tables["mistakes"])
    assert again.report(tmp_path / "again.html").read_bytes() == (tmp_path / "run/report.html").read_bytes()


def test_equal_inputs_give_equal_bytes_whatever_the_source(tmp_path) -> None:
    make_frame().write_csv(tmp_path / "t.csv")
    read = eh.Predictions.read(tmp_path / "t.csv", truth="truth", prediction="prediction")
    shuffled = make_frame().sample(fraction=1, shuffle=True, seed=1)
    framed = eh.Predictions.from_frame(shuffled, truth="truth", prediction="prediction")
    assert eh.audit(read, by="group").findings.dump() == eh.audit(framed, by="group").findings.dump()


def test_the_manifest_id_changes_with_what_decides_the_findings() -> None:
    ids = {
        eh.audit(predictions(), by="group", inference="none").manifest["manifest_id"],
        eh.audit(predictions(), by="group", inference="none", seed=1).manifest["manifest_id"],
        eh.audit(predictions(), by="group", inference="none", mode="paper").manifest["manifest_id"],
        eh.audit(predictions(seed=1), by="group", inference="none").manifest["manifest_id"],
    }
    assert len(ids) == 4


def test_findings_hold_no_time_and_no_path(tmp_path) -> None:
    make_frame().write_csv(tmp_path / "t.csv")
    read = eh.Predictions.read(tmp_path / "t.csv", truth="truth", prediction="prediction")
    run = eh.audit(read, by="group", inference="none")
    assert str(tmp_path) not in run.findings.dump().decode()
    assert run.manifest["source"]["path"].endswith("t.csv")
    assert "created" in run.manifest


def test_name_grouping_and_parameters_are_unique() -> None:
    findings = eh.audit(predictions(), by=["group", "other"]).findings.findings
    keys = [(f.name, tuple(f.by), json.dumps(f.params, sort_keys=True)) for f in findings]
    assert len(set(keys)) == len(keys)
    assert len({f.metric for f in findings}) == len(findings)


def test_every_grouping_has_exactly_one_skewsize_beside_its_location() -> None:
    findings = eh.audit(predictions(), by=["group", ("group", "other")]).findings.findings
    for grouping in ("group", "group+other"):
        names = [f.name for f in findings if f.grouping == grouping]
        assert names.count("skewsize") == 1
        assert {"cramers_v_mean", "cramers_v_median", "cramers_v_max", "cramers_v_corrected"} <= set(names)


def test_the_primaries_of_all_groupings_are_one_family() -> None:
    findings = eh.audit(predictions(bias=0.9), by=["group", "other"]).findings.findings
    primary = [f for f in findings if f.role == "primary"]
    assert sorted((f.name, f.grouping) for f in primary) == [
        (name, by)
        for name in ("accuracy_contrast", "cramers_v_pooled", "disparities")
        for by in ("group", "other")
    ]
    share = {"cramers_v_pooled": 0.05}  # of the level, of two groupings; the others have .225 each
    ordered = sorted(primary, key=lambda f: f.p_value / share.get(f.name, 0.225))
    first = ordered[0]
    assert first.p_adjusted == pytest.approx(min(1, first.p_value / share.get(first.name, 0.225)))
    place, widest = next((at, f) for at, f in enumerate(ordered) if f.interval is not None)
    left = sum(share.get(f.name, 0.225) for f in ordered[place:])
    assert widest.interval.level == pytest.approx(1 - 0.05 * share.get(widest.name, 0.225) / left)
    assert {"low_95", "high_95"} <= set(widest.details)
    rest = [f for f in findings if f.role not in ("primary", "secondary") and f.p_value is not None]
    assert rest
    assert all(f.role == "exploratory" and f.p_adjusted is None and not is_beyond(f) for f in rest)


def test_classes_have_verdicts_only_where_their_grouping_differs() -> None:
    findings = eh.audit(predictions(bias=0.9), by=["group", "other"]).findings.findings
    classes = {f.grouping: f.parts for f in findings if f.name == "skewsize"}
    assert any(is_beyond(part) for part in classes["group"])
    assert all(part.role == "exploratory" for part in classes["other"])
    assert not any(is_beyond(part) for part in classes["other"])


def test_newer_major_schemas_are_refused_and_unknown_fields_ignored(tmp_path) -> None:
    folder = tmp_path / "run"
    eh.audit(predictions(), by="group", inference="none", out=folder)
    content = json.loads((unsealed(folder) / "findings.json").read_text())
    (folder / "findings.json").write_text(json.dumps(content | {"news": 1}))
    assert isinstance(eh.Run.read(folder).findings, Findings)
    (folder / "findings.json").write_text(json.dumps(content | {"schema_version": "2.0"}))
    with pytest.raises(InputError, match="newer than"):
        eh.Run.read(folder)


@pytest.mark.parametrize("by", [[], [()], ""])
def test_an_audit_needs_an_attribute(by) -> None:
    with pytest.raises((ParameterError, UnknownName)):
        eh.audit(predictions(), by=by)


def test_counts_are_evidence_too() -> None:
    counts = predictions().count(["group", "other"])
    by_counts = eh.audit(counts, by="group").findings
    assert by_counts.findings == eh.audit(predictions(), by="group").findings.findings


def test_weights_of_missing_rows_are_reported_once_per_grouping() -> None:
    frame = make_frame().with_columns(
        prediction=pl.when(pl.int_range(pl.len()) < 61).then(None).otherwise(pl.col("prediction"))
    )
    run = eh.audit(eh.Predictions.from_frame(frame, truth="truth", prediction="prediction"), by="group")
    for finding in run.findings.findings:
        rows = [d for d in finding.dropped if not d.reason.startswith("class:")]
        assert [(d.reason, d.count) for d in rows] == [("missing prediction", 61)]
        assert finding.n == 600 - 61
