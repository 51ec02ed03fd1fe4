"""Findings in a real local MLflow store and a real offline run of Weights & Biases."""

import json
import re
import sys
from pathlib import Path

import pytest

from evenhand.core.errors import InputError, MissingExtra
from evenhand.report.exports import tracking
from tests.report.export_samples import samples

each_sample = pytest.mark.parametrize("name", list(samples()))


@each_sample
def test_keys_are_accepted_and_apart(name):
    run = samples()[name]
    numbers = tracking.numbers(run)
    count = sum(
        1
        + 2 * bool(f.interval)
        + 2 * bool(f.null)
        + sum(one is not None for one in (f.p_value, f.p_adjusted, f.corrected, f.chance_at))
        for f in run.estimable
    )
    assert len(numbers) == count
    assert all(key.isascii() and len(key) <= 250 for key in numbers)
    assert all(re.fullmatch(r"[A-Za-z0-9_\-. /]+", key) for key in numbers)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("accuracy", "accuracy"),
        ("accuracy_gap(by=gender+race)", "accuracy_gap/by gender race"),
        ("equalized_odds(by=gender, eo=max)", "equalized_odds/by gender/eo max"),
    ],
)
def test_plain_metrics_have_plain_keys(metric, expected):
    assert tracking.key(metric) == expected


def test_metrics_that_would_become_one_key_stay_apart():
    alike = [
        "a(by=x y)",
        "a(by=x+y)",
        "a(by=x, y=)",
        "a(by=<x>)",
        "a(by=[x])",
        "a(" + "x" * 300,
        "a(" + "x" * 301,
    ]
    assert len({tracking.key(metric) for metric in alike}) == len(alike)


def test_a_sqlite_store_of_mlflow_gets_numbers_reasons_and_the_file(tmp_path):
    mlflow = pytest.importorskip("mlflow", reason="needs evenhand[mlflow]")
    pytest.importorskip("sqlalchemy", reason="needs evenhand[mlflow]")
    where = f"sqlite:///{tmp_path / 'store.db'}"
    runs = list(samples().values())
    ids = tracking.to_mlflow(runs, where, {"experiment": "audits"})
    client = mlflow.MlflowClient(tracking_uri=where)
    assert client.get_experiment_by_name("audits") is not None
    for id, run in zip(ids, runs, strict=True):
        logged = client.get_run(id)
        assert logged.data.metrics == pytest.approx(tracking.numbers(run))
        assert logged.data.tags["manifest_id"] == run.findings.manifest_id
        assert logged.info.status == "FINISHED"
        folder = Path(client.download_artifacts(id, "", str(tmp_path / id)))
        (tmp_path / id).mkdir(exist_ok=True)
        assert (folder / "findings.json").read_bytes() == run.content
        reasons = json.loads((folder / "not_estimable.json").read_text(encoding="utf-8"))
        assert set(reasons) == {finding.metric for finding in run.not_estimable}


def test_a_store_that_is_none_is_refused_in_one_line():
    pytest.importorskip("mlflow", reason="needs evenhand[mlflow]")
    with pytest.raises(InputError, match=r"sqlite:///mlflow\.db"):
        tracking.to_mlflow([samples()["usual"]], "nothing://here", {})


def test_wandb_offline_keeps_numbers_reasons_and_the_file(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs evenhand[wandb]")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    run = samples()["usual"]
    (folder,) = tracking.to_wandb([run], str(tmp_path), {})
    wandb.teardown()  # as the end of a process does: what wandb holds back is written then
    assert Path(folder).name.startswith("offline-run-")
    (log,) = Path(folder).glob("*.wandb")
    content = log.read_bytes()
    assert b"findings.json" in content
    assert b"accuracy_gap/by perceived_gender" in content
    assert b"skewsize_sufficiency(by=perceived_gender)" in content  # among those not estimable


def test_a_mode_that_wandb_does_not_know_is_told_in_one_line(tmp_path, monkeypatch):
    pytest.importorskip("wandb", reason="needs evenhand[wandb]")
    monkeypatch.setenv("WANDB_MODE", "ofline")
    with pytest.raises(InputError, match="set WANDB_MODE=offline") as refused:
        tracking.to_wandb([samples()["usual"]], str(tmp_path), {})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("sink", "library"),
    [(tracking.to_mlflow, "mlflow"), (tracking.to_wandb, "wandb")],
    ids=["mlflow", "wandb"],
)
def test_a_missing_library_is_answered_with_what_to_type(sink, library, monkeypatch):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"pip install 'evenhand\[{library}\]'"):
        sink([samples()["usual"]], None, {})
