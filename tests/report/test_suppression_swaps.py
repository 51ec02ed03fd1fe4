"""Tables that differ only in which of two hidden groups rows are of: what is shared is the same bytes."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import evenhand as eh
from evenhand.workflows.outputs.export import export

FEWEST = 10
COLUMNS = {"truth": "truth", "prediction": "prediction"}
TEXTS = ["json", "csv", "markdown", "every-eval-ever", "junit", "sarif", "controls"]
WHEN = "2024-02-03T04:05:06+00:00"

DESIGNS = {
    "a crossed grouping": {"by": ["group", ("group", "skin")]},
    "clusters": {"by": "group", "cluster": "person"},
    "clusters that count once": {"by": "group", "cluster": "person", "cluster_weights": "equal"},
    "weights": {"by": "group", "weight": "weight"},
    "a search": {"by": ["group", "skin"], "search": ["group", "skin"]},
    "bins": {"by": ["group", "age"], "bins": {"age": [30, 50]}, "inference": "none"},
}


def tables():
    """500 rows of two large groups and two of 8; in the second, three rows of these are of the other one."""
    random, n = np.random.default_rng(3), 500
    labels = ["cat", "dog", "owl"]
    truth = random.choice(labels, n)
    group = ["f"] * 260 + ["m"] * 224 + ["x"] * 8 + ["y"] * 8
    table = pl.DataFrame(
        {
            "id": range(n),
            "truth": truth,
            "prediction": np.where(random.random(n) < 0.8, truth, random.choice(labels, n)),
            "age": random.integers(18, 70, n),
            "skin": random.choice(["a", "b"], n),
            "person": [f"p{row // 3}" for row in range(n)],
            "weight": random.random(n) * 3 + 0.1,
        }
    )
    other = [*group[:484], "y", "y", *group[486:495], "x", *group[496:]]
    assert sorted(map(other.count, "fmxy")) == [7, 9, 224, 260]
    return [table.with_columns(group=pl.Series(each)) for each in (group, other)]


@cache
def audits(design):
    return [timed(eh.audit(table, **COLUMNS, **DESIGNS[design])) for table in tables()]


def timed(run):
    """The run as if made at one moment, so that only what was counted differs."""
    run.manifest["created"] = WHEN
    return run


def shared(run, format, suppress=FEWEST):
    made = export([run], format=format, suppress=suppress, parameters={}).content
    return made.decode("utf-8")


@pytest.mark.parametrize("design", DESIGNS)
def test_what_is_shared_does_not_depend_on_who_is_hidden(design):
    runs = audits(design)
    whole = [json.loads(shared(run, "json", suppress=0))["findings"] for run in runs]
    assert whole[0] != whole[1]
    for format in TEXTS:
        first, second = (shared(run, format) for run in runs)
        assert first == second, format
    first, second = (run.html(suppress=FEWEST).splitlines() for run in runs)
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
    reasons = {finding["reason"] for finding in json.loads(shared(runs[0], "json"))["findings"]}
    assert "suppressed" in reasons


def test_trackers_and_tables_do_not_depend_on_who_is_hidden_either(tmp_path):
    runs = audits("weights")
    frames = []
    for run in runs:
        export([run], format="parquet", suppress=FEWEST, out=str(tmp_path / "table.parquet"))
        frames.append(pl.read_parquet(tmp_path / "table.parquet").drop("created", strict=False))
    assert frames[0].equals(frames[1])
    mlflow = pytest.importorskip("mlflow", reason="needs evenhand[mlflow]")
    pytest.importorskip("sqlalchemy", reason="needs evenhand[mlflow]")
    store, logged = f"sqlite:///{tmp_path / 'store.db'}", []
    for run in runs:
        (id,) = [
            line.split()[-1] for line in export([run], format="mlflow", suppress=FEWEST, out=store).messages
        ]
        client = mlflow.MlflowClient(tracking_uri=store)
        data = client.get_run(id).data
        folder = Path(client.download_artifacts(id, "", str(tmp_path)))
        files = {file.name: file.read_text() for file in folder.iterdir() if file.suffix == ".json"}
        logged.append((data.metrics, data.params, data.tags, files))
    assert logged[0] == logged[1]
    assert "hidden.json" in logged[0][3]


def test_wandb_is_given_nothing_that_depends_on_who_is_hidden(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="needs evenhand[wandb]")
    monkeypatch.delenv("WANDB_MODE", raising=False)
    runs, tables_of, logs = audits("weights"), [], []
    for name, run in zip("ab", runs, strict=True):
        export([run], format="wandb", suppress=FEWEST, out=str(tmp_path / name))
    wandb.teardown()
    for name in "ab":
        (log,) = (tmp_path / name).rglob("run-*.wandb")
        logs.append(log.read_bytes())
        tables_of.append({file.name: file.read_bytes() for file in (tmp_path / name).rglob("*.table.json")})
    assert tables_of[0] == tables_of[1] != {}
    for run, log in zip(runs, logs, strict=True):
        assert b"hidden" in log
        assert run.findings.manifest_id.encode() not in log
        whole, shown = shared(run, "json", suppress=0), shared(run, "json")
        secret = set(re.findall(r"\d\.\d{9,}", whole)) - set(re.findall(r"\d\.\d{9,}", shown))
        assert len(secret) > 50
        assert not [number for number in secret if number[:12].encode() in log]


def test_a_comparison_does_not_depend_on_who_is_hidden(tmp_path):
    made = []
    for name, table in zip("ab", tables(), strict=True):
        better = pl.when(pl.col("id") % 7 == 0).then("truth").otherwise("prediction").alias("prediction")
        folders = [tmp_path / name / "old", tmp_path / name / "new"]
        for folder, each in zip(folders, (table, table.with_columns(better)), strict=True):
            eh.audit(each, **COLUMNS, by="group", id="id", cluster="person", out=folder)
        made.append(timed(eh.compare(folders)))
    for format in ("json", "csv", "markdown", "junit"):
        first, second = (shared(run, format) for run in made)
        assert first.replace("/b/", "/a/") == second.replace("/b/", "/a/"), format
    first, second = (run.html(suppress=FEWEST).replace("/b/", "/a/").splitlines() for run in made)
    assert [pair for pair in zip(first, second, strict=True) if pair[0] != pair[1]] == []
