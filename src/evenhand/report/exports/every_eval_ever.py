"""Every Eval Ever: the shared JSON record of an evaluation, schema 0.3.0 of the package every-eval-ever."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from evenhand.core.errors import check_choice
from evenhand.core.findings import Finding
from evenhand.report.exports.exported import (
    RunView,
    about_one_model,
    chosen,
    json_bytes,
    json_text,
    only_run,
    tests_of,
    title,
    why,
)

SCHEMA = "0.3.0"
PARAMETERS = {
    "organization": "unknown",
    "relationship": "other",
    "developer": "",
    "availability": "unknown",
}
RELATIONSHIPS = ("first_party", "third_party", "collaborative", "other")
AVAILABILITIES = ("open_weights", "closed_weights", "unknown")
_HOSTED = ("api:",)
_LOCAL = ("hf:", "timm:", "openclip:", "onnx:", "adapted:")


def every_eval_ever(runs: Sequence[RunView], params: Mapping[str, str] | None = None) -> bytes:
    """One run as a record.

    Its format has no room for a missing score: findings without a value are listed with their reasons under
    ``source_metadata``. A metric that reads neither way says so beside ``lower_is_better``, which is then
    false because the format wants an answer. ``params`` are the ``organization`` that made the audit, its
    ``relationship`` to the model, the model's ``developer`` and ``availability``.
    """
    run = only_run(runs, "every-eval-ever", "type it once for each")
    settings = chosen(params or {}, PARAMETERS, "every-eval-ever")
    about_one_model(runs, "every-eval-ever")
    check_choice("relationship", settings["relationship"], RELATIONSHIPS)
    check_choice("availability", settings["availability"], AVAILABILITIES)
    time = run.created
    stamp = str(time.timestamp()) if time else "0.0"
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{run.benchmark}/{_id(run.model)}/{stamp}",
        **({"evaluation_timestamp": time.isoformat()} if time else {}),
        "retrieved_timestamp": stamp,
        "source_metadata": {
            "source_name": "evenhand",
            "source_type": "evaluation_run",
            "source_organization_name": settings["organization"],
            "evaluator_relationship": settings["relationship"],
            "additional_details": _additional_details(run),
        },
        "eval_library": {"name": "evenhand", "version": run.version},
        "model_info": _model(run, settings),
        "evaluation_results": [_result(run, finding) for finding in run.estimable],
    }
    return json_bytes(record)


def record_path(run: RunView, params: Mapping[str, str]) -> str:
    """Where the format's datastore wants a record: ``data/BENCHMARK/DEVELOPER/MODEL/UUID.json``.

    Without a ``developer`` in ``params`` it is that of an address such as ``hf:lab/model``; the UUID
    distinguishes runs of the same model by their names.
    """
    address = _id(run.model)
    of_hub, slash, name = address.partition("/")
    is_hub = bool(of_hub and slash) and "/" not in name and not of_hub.startswith(".")
    developer = params.get("developer") or (of_hub if is_hub else "unknown")
    key = uuid5(NAMESPACE_URL, f"evenhand {run.findings.manifest_id} {run.name}")
    parts = (run.benchmark, developer, address.rpartition("/")[2])
    safe = [re.sub(r"[^A-Za-z0-9._-]+", "-", part).strip("-.") or "unknown" for part in parts]
    return "/".join(["data", *safe, f"{key}.json"])


def _additional_details(run: RunView) -> dict[str, str]:
    missing = {finding.metric: why(finding.reason) for finding in run.not_estimable}
    hidden = [finding.metric for finding in run.hidden]
    return {
        "manifest_id": run.findings.manifest_id,
        "findings": str(len(run.findings.findings)),
        "not_estimable": json_text(missing),
        "parameters": json_text(run.manifest.get("parameters") or {}),
        **({"suppress": str(run.fewest), "hidden": json_text(hidden)} if run.fewest else {}),
    }


def _id(model: str) -> str:
    """The model as the Hub names it, where its address says so."""
    return model.partition(":")[2] if model.startswith(_LOCAL) else model


def _model(run: RunView, settings: Mapping[str, str]) -> dict[str, Any]:
    deployment = "externally_managed" if run.model.startswith(_HOSTED) else "unknown"
    deployment = "self_deployed" if run.model.startswith(_LOCAL) else deployment
    developer = {"developer": settings["developer"]} if settings["developer"] else {}
    return {
        "name": run.model,
        "id": _id(run.model),
        **developer,
        "additional_details": {
            "deployment_type": deployment,
            "model_availability": settings["availability"],
            "identity": json_text(run.manifest.get("model_identity") or {}),
        },
    }


def _result(run: RunView, finding: Finding) -> dict[str, Any]:
    key = f"{run.findings.manifest_id} {finding.benchmark} {finding.model} {finding.metric}"
    return {
        "evaluation_result_id": hashlib.sha256(key.encode()).hexdigest()[:32],
        "evaluation_name": title(finding),
        "source_data": {
            "dataset_name": run.benchmark,
            "source_type": "other",
            "additional_details": {"rows": f"{finding.n:g}" if finding.n >= 0 else "hidden"},
        },
        "metric_config": {
            "evaluation_description": finding.card.summary or title(finding),
            "metric_id": f"evenhand.{finding.name}",
            "metric_name": title(finding),
            "metric_kind": finding.name,
            "metric_parameters": {
                name: json_text(value) if isinstance(value, list) else value
                for name, value in finding.params.items()
            },
            "lower_is_better": finding.direction == "lower is fairer",
            "additional_details": {
                "direction": finding.direction,
                "paper": finding.source.paper,
                "equation": finding.source.equation,
            },
        },
        "score_details": _score(finding),
    }


def _score(finding: Finding) -> dict[str, Any]:
    interval = finding.interval
    details = {
        "by": finding.by,
        "chance": finding.null and finding.null.model_dump(exclude_none=True),
        **tests_of(finding),
        "smallest_detectable": finding.mde,
        "fair_at": finding.fair_at,
        "note": finding.reason,
        "dropped": [left_out.model_dump() for left_out in finding.dropped],
        "groups": [group.model_dump() for group in finding.groups],
    }
    score: dict[str, Any] = {
        "score": finding.value,
        "details": {
            key: value if isinstance(value, str) else json_text(value)
            for key, value in details.items()
            if value not in (None, [])
        },
    }
    if interval is not None:
        replicates = {"num_bootstrap_samples": interval.replicates} if interval.replicates else {}
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": interval.low,
                "upper": interval.high,
                "confidence_level": interval.level,
                "method": interval.method,
            },
            **({"num_samples": int(finding.n)} if finding.n >= 0 else {}),
            **replicates,
        }
    return score
