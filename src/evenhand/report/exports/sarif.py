"""SARIF 2.1.0: metrics are rules; broken gates and findings beyond chance are results."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from evenhand.core.findings import Finding
from evenhand.report.exports.exported import (
    CAUTION,
    RunView,
    finding_sentence,
    json_bytes,
    json_text,
    named,
    parts_judged,
    tests_of,
)
from evenhand.report.exports.judging import judged

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ESCAPES = {ord("{"): "{{", ord("}"): "}}", ord("["): "\\[", ord("]"): "\\]", ord("\\"): "\\\\"}


def sarif(runs: Sequence[RunView]) -> bytes:
    """Every run, its gates checked, as a run of SARIF.

    =============================================  ======  =======
    what                                           kind    level
    =============================================  ======  =======
    a broken gate                                  fail    error
    beyond chance on the unfair side, or a model
    that is worse than the one it is compared to   fail    warning
    only parts beyond chance                       fail    note
    beyond chance on the better side, or a model
    that is better than the other                  pass    none
    beyond chance, where no side is better         review  none
    a finding without a value                      open    none
    =============================================  ======  =======

    Other findings are no results. Each result points to findings.json and names the finding.
    """
    return json_bytes({"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(run) for run in runs]})


def _run(run: RunView) -> dict[str, Any]:
    names = list(dict.fromkeys(finding.name for finding in run.findings))
    first = {name: next(f for f in run.findings if f.name == name) for name in names}
    return {
        "tool": {
            "driver": {
                "name": "evenhand",
                "version": run.version,
                "rules": [_rule(first[name]) for name in names],
            }
        },
        "automationDetails": {
            "id": f"{run.benchmark}/{run.model}/{run.name}/",
            "description": {"text": _plain(CAUTION)},
        },
        "columnKind": "utf16CodeUnits",
        "results": [
            result
            for finding in run.findings
            if (result := _result(run, finding, names.index(finding.name))) is not None
        ],
        "properties": {
            "manifest_id": run.findings.manifest_id,
            "findings": len(run.findings.findings),
            "alpha": run.alpha,
            "suppress": run.fewest,
        },
    }


def _rule(finding: Finding) -> dict[str, Any]:
    source = ", ".join(filter(None, (finding.source.paper, finding.source.equation)))
    meaning = finding.card.summary
    return {
        "id": finding.name,
        "shortDescription": {"text": _plain(finding.card.title)},
        "fullDescription": {"text": _plain(f"{meaning[:1].upper()}{meaning[1:]}. Source: {source}.")},
        "properties": {"direction": finding.direction, "fair_at": finding.fair_at},
    }


def _result(run: RunView, finding: Finding, rule: int) -> dict[str, Any] | None:
    judged = _judged(run, finding)
    if judged is None:
        return None
    kind, level, sentences = judged
    key = f"{finding.benchmark} {finding.model} {finding.metric}"
    return {
        "ruleId": finding.name,
        "ruleIndex": rule,
        "kind": kind,
        "level": level,
        "message": {"text": _plain(" ".join([*sentences, finding_sentence(finding, run.alpha)]))},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": "findings.json"},
                    "region": {"startLine": 1},  # GitHub wants a line
                },
                "logicalLocations": [{"fullyQualifiedName": finding.metric, "kind": "finding"}],
            }
        ],
        "partialFingerprints": {"finding/v1": hashlib.sha256(key.encode()).hexdigest()},
        "properties": {
            "metric": finding.metric,
            "by": finding.by,
            "params": json_text(finding.params),
            "value": finding.value,
            "reason": finding.reason,
            "interval": finding.interval and finding.interval.model_dump(),
            "chance": finding.null and finding.null.model_dump(),
            **tests_of(finding),
            "n": finding.n,
        },
    }


def _judged(run: RunView, finding: Finding) -> tuple[str, str, list[str]] | None:
    """Kind, level and first sentences of a result; None where there is nothing to tell."""
    broken = [gate.broken for gate in run.gates if gate.finding is finding and gate.broken is not None]
    parts = parts_judged(finding, run.alpha, "worse", "unlike")
    named_parts = f"Beyond chance in {len(parts)} of {len(finding.parts)} parts: {named(parts)}."
    listed = run.headlines(finding) or ([named_parts] if parts else [])
    if broken:
        return "fail", "error", [*(f"Gate broken: {text}." for text in broken), *listed]
    verdict = judged(finding, run.alpha)
    if verdict == "worse":
        return "fail", "warning", listed
    if parts:
        return "fail", "note", listed
    kinds = {"better": "pass", "unlike": "review"}
    kind = "open" if finding.value is None else kinds.get(verdict)
    return None if kind is None else (kind, "none", [])


def _plain(text: str) -> str:
    """Text of a message: braces and brackets would be placeholders and links."""
    return text.translate(_ESCAPES)
