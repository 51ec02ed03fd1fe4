"""Sinks: findings into MLflow and Weights & Biases, each with findings.json beside them."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, MissingExtra, one_line
from evenhand.core.findings import Finding
from evenhand.core.frames import flat
from evenhand.core.unseen import harmless, shown_in
from evenhand.report.exports.exported import RunView, chosen, json_text, why
from evenhand.report.exports.tidy import tidy_frame

PARAMETERS = {"experiment": "evenhand"}
_FORBIDDEN = re.compile(r"[^A-Za-z0-9_\-. /]")
_PLAIN = re.compile(r"\w+(\(\w+=[\w.+\-]+(, \w+=[\w.+\-]+)*\))?", re.ASCII)
_SUFFIXES = {
    "": "value", "/low": "low", "/high": "high", "/chance_low": "null_low", "/chance_high": "null_high",
    "/p_value": "p_value", "/p_adjusted": "p_adjusted", "/corrected": "corrected", "/chance_at": "chance_at",
}  # fmt: skip
_MOST = 200  # characters of a key; MLflow takes 250


def to_mlflow(runs: Sequence[RunView], where: str | None, params: Mapping[str, str]) -> list[str]:
    """Log every run as a run of MLflow; the ids of these.

    Values, interval ends and chance bands are metrics; what has no value is no metric but an entry of
    ``not_estimable.json``. findings.json is an artifact. ``where`` is a tracking address; None: what
    ``MLFLOW_TRACKING_URI`` says.
    """
    try:
        mlflow = import_module("mlflow")
    except ImportError:
        raise MissingExtra("mlflow", "mlflow") from None
    name = chosen(params, PARAMETERS, "mlflow")["experiment"]
    try:
        client = mlflow.MlflowClient(tracking_uri=where)
        existing = client.get_experiment_by_name(name)
        experiment = existing.experiment_id if existing else client.create_experiment(name, **_beside(where))
        return [_log_to_mlflow(client, experiment, run) for run in runs]
    except ImportError as problem:  # a store of databases needs libraries of its own
        raise MissingExtra(problem.name or "mlflow", "mlflow") from None
    except (mlflow.exceptions.MlflowException, OSError) as problem:
        raise InputError(
            f"MLflow refuses: {one_line(problem, 300)}; give a store with -o sqlite:///mlflow.db"
        ) from None


def _beside(where: str | None) -> dict[str, str]:
    """Files of a SQLite store lie beside it, wherever the command is typed."""
    path = (where or "").removeprefix("sqlite:///")
    if not where or path == where:
        return {}
    return {"artifact_location": (Path(path).resolve().parent / "mlartifacts").as_uri()}


def _log_to_mlflow(client: Any, experiment: str, run: RunView) -> str:
    entities = import_module("mlflow.entities")
    time = int(run.created.timestamp() * 1000) if run.created else 0
    tags = {name: text[:5000] for name, text in _facts(run).items()}
    mlflow_run = client.create_run(experiment, start_time=time, run_name=harmless(run.name), tags=tags)
    id = str(mlflow_run.info.run_id)
    settings = [entities.Param(key(name), json_text(value)[:500]) for name, value in _parameters(run).items()]
    metrics = [entities.Metric(name, value, time, 0) for name, value in numbers(run).items()]
    for start in range(0, max(len(metrics), len(settings)), 100):  # the most that a store takes at once
        client.log_batch(id, metrics[start : start + 100], settings[start : start + 100])
    client.log_text(id, run.content.decode("utf-8"), "findings.json")
    client.log_text(id, json_text(_missing(run)), "not_estimable.json")
    if run.fewest:
        client.log_text(id, json_text(_hidden(run)), "hidden.json")
    client.set_terminated(id, end_time=time)
    return id


def to_wandb(runs: Sequence[RunView], where: str | None, params: Mapping[str, str]) -> list[str]:
    """Log every run to Weights & Biases, offline unless ``WANDB_MODE`` says otherwise; the folders of these.

    Nothing leaves the machine offline; ``wandb sync FOLDER`` sends it later. Values, interval ends and chance
    bands are the run's summary, findings and parts are a table, findings.json is an artifact. ``where`` is
    the folder that ``wandb`` writes into; None: the current one.
    """
    try:
        wandb = import_module("wandb")
    except ImportError:
        raise MissingExtra("wandb", "wandb") from None
    project = chosen(params, PARAMETERS, "wandb")["experiment"]
    folder = Path(where or ".")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return [_log_to_wandb(wandb, project, folder, run) for run in runs]
    except (wandb.Error, OSError, ValueError) as problem:  # a mode it does not know
        raise InputError(f"wandb refuses: {one_line(problem, 300)}; set WANDB_MODE=offline") from None


def _log_to_wandb(wandb: Any, project: str, folder: Path, run: RunView) -> str:
    mode = os.environ.get("WANDB_MODE") or "offline"
    config = {**_facts(run), "parameters": _parameters(run), "not_estimable": _missing(run)}
    config |= {"hidden": _hidden(run)} if run.fewest else {}
    quiet = wandb.Settings(silent=True, console="off", disable_git=True)
    with wandb.init(
        project=project, name=harmless(run.name), dir=str(folder), mode=mode, config=config, settings=quiet
    ) as wandb_run:
        wandb_run.summary.update(numbers(run))
        frame = tidy_frame([run])
        # Types are known; wandb would infer them anew from each cell, seven times as slowly.
        types = [float if dtype.is_numeric() else str for dtype in frame.dtypes]
        rows = [shown_in(row) for row in frame.rows()]
        table = wandb.Table(columns=frame.columns, data=rows, dtype=types, optional=True)
        wandb_run.log({"findings": table})
        artifact = wandb.Artifact(f"findings-{run.findings.manifest_id[:32]}", type="findings")
        with artifact.new_file("findings.json", mode="wb") as file:
            file.write(run.content)
        wandb_run.log_artifact(artifact)
        return str(Path(wandb_run.dir).parent)


def numbers(run: RunView) -> dict[str, float]:
    """Every number that a tracker takes, by a key that it accepts; keys are unique."""
    return {name: value for finding in run.estimable for name, value in _numbers(finding)}


def _numbers(finding: Finding) -> Iterator[tuple[str, float]]:
    name = key(finding.metric)
    columns = flat(finding)
    for suffix, column in _SUFFIXES.items():
        if columns[column] is not None:
            yield name + suffix, columns[column]


def key(text: str) -> str:
    """A text as a key; one that had to be changed ends with a hash, so that two never become one."""
    safe = _FORBIDDEN.sub("_", _readable(text))[:_MOST].strip(" ./")
    if _PLAIN.fullmatch(text) and safe == _readable(text):
        return safe
    return f"{safe}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:8]}".lstrip("-")


def _readable(text: str) -> str:
    """``accuracy(by=gender, k=5)`` as ``accuracy/by gender/k 5``."""
    return text.removesuffix(")").replace("(", "/").replace(", ", "/").replace("=", " ").replace("+", " ")


def _facts(run: RunView) -> dict[str, str]:
    facts = {
        "model": run.model,
        "benchmark": run.benchmark,
        "manifest_id": run.findings.manifest_id,
        "evenhand": run.version,
    }
    return {name: harmless(text) for name, text in facts.items()}


def _parameters(run: RunView) -> dict[str, Any]:
    keys = ("parameters", "by", "mode", "seed", "alpha", "rows")
    return {name: shown_in(run.manifest[name]) for name in keys if run.manifest.get(name) is not None}


def _missing(run: RunView) -> dict[str, str]:
    return {harmless(finding.metric): why(finding.reason) for finding in run.not_estimable}


def _hidden(run: RunView) -> list[str]:
    return [harmless(finding.metric) for finding in run.hidden]
