"""Controls of laws and frameworks, and which findings of a run are evidence for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from evenhand.core.errors import UnknownName, check_known
from evenhand.core.findings import Finding
from evenhand.report.exports.control_facts import (
    FACTS,
    PEOPLE,
    RACE,
    SEX,
    compares_people,
    people_in,
    serves_people,
)
from evenhand.report.exports.exported import (
    CAUTION,
    RunView,
    chosen,
    finding_sentence,
    json_bytes,
    markdown,
    title,
)

FOLDER = Path(__file__).resolve().parent / "controls"
NOTE = "Evidence, not a conformity decision."
NONE = "no evidence in this run"
NOT_HIDDEN = "some findings are hidden: export without --suppress"
PARAMETERS = {"framework": "all", PEOPLE: "", SEX: "", RACE: ""}

_HOLDS: Mapping[str, Callable[[RunView, Finding], bool]] = {
    "chance": lambda _, finding: finding.null is not None or finding.p_value is not None,
    "interval": lambda _, finding: finding.interval is not None,
    "groups of people": serves_people,
    "people": compares_people,
}
_MOST = 8  # of one need, in Markdown; the others are counted


@dataclass(frozen=True)
class Need:
    """One thing that a control asks for, and what a run has of it."""

    says: str  # what it is
    evidence: tuple[str, ...]  # findings and entries, as ``run, findings.json: metric = value``
    otherwise: str  # what to do where there is none


def frameworks() -> list[str]:
    """The names of the mappings there are."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


@cache
def mapping(name: str) -> Mapping[str, Any]:
    """One mapping as it is written; its file is read once."""
    import yaml

    if name not in frameworks():
        raise UnknownName("framework", name, ["all", *frameworks()])
    content: Mapping[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
    return content


def controls(runs: Sequence[RunView], params: Mapping[str, str]) -> list[dict[str, Any]]:
    """Every control with the evidence that the runs hold together, and what is missing.

    Every piece of evidence names the finding or the manifest's entry that it is. Only findings with a value
    are evidence; those that are not estimable are listed beside it, with their reasons, and those that are
    hidden.

    ``people``, ``sex`` and ``race`` of ``params`` are the attributes that are of people, and which of them
    say sex, and race or ethnicity. A name alone says none of that; a benchmark declares its own.
    """
    settings = chosen(params, PARAMETERS, "controls")
    name, runs = settings["framework"], _declared(runs, settings)
    names = frameworks() if name == "all" else [name]
    return [_framework(mapping(framework), runs) for framework in names]


def controls_json(mappings: Sequence[Mapping[str, Any]]) -> bytes:
    """The controls as JSON."""
    return json_bytes({"note": NOTE, "frameworks": list(mappings)})


def controls_markdown(mappings: Sequence[Mapping[str, Any]]) -> bytes:
    """The controls as Markdown."""
    lines = ["# Control mapping", "", f"**{NOTE}** {CAUTION}", ""]
    for framework in mappings:
        lines += [f"## {framework['title']}", "", f"{framework['source']}. {framework['scope']}", ""]
        for control in framework["controls"]:
            lines += [f"### {control['id']}", "", control["asks"], "", *_lines(control), ""]
    return ("\n".join(lines).rstrip() + "\n").encode("utf-8")


def _declared(runs: Sequence[RunView], settings: Mapping[str, str]) -> list[RunView]:
    """The runs with what is declared of their attributes."""
    possible = {name for run in runs for name in people_in(run)}
    findings = [finding for run in runs for finding in run.findings]
    possible |= {name for finding in findings for name in finding.by}
    possible |= {name for finding in findings for part in finding.parts for name in part.kind.split("*")}
    possible |= {name for run in runs if run.counts is not None for name in run.counts.attributes}
    declared = {}
    for role in (PEOPLE, SEX, RACE):
        text = settings[role].strip()
        declared[role] = (
            [text] if text in possible else [name for name in map(str.strip, text.split(",")) if name]
        )
        check_known("attribute", declared[role], sorted(possible), f"-p {role}= names attributes of the runs")
    return [replace(run, declared=declared) for run in runs]


def _framework(framework: Mapping[str, Any], runs: Sequence[RunView]) -> dict[str, Any]:
    return {
        **{key: framework[key] for key in ("framework", "title", "source", "scope")},
        "note": NOTE,
        "controls": [_control(control, runs) for control in framework["controls"]],
    }


def _control(control: Mapping[str, Any], runs: Sequence[RunView]) -> dict[str, Any]:
    needs = [_need(declared_need, runs) for declared_need in control["needs"]]
    return {
        "id": control["id"],
        "asks": control["asks"],
        "note": NOTE,
        "evidence": [{"says": need.says, "found": list(need.evidence)} for need in needs if need.evidence],
        "missing": [
            {"says": need.says, "found": NONE, "otherwise": need.otherwise}
            for need in needs
            if not need.evidence
        ],
        "not_estimable": sorted(
            {line for declared_need in control["needs"] for line in _undefined(declared_need, runs)}
        ),
        "hidden": sorted(
            {line for declared_need in control["needs"] for line in _hidden(declared_need, runs)}
        ),
        "elsewhere": control["elsewhere"],
    }


def _need(need: Mapping[str, Any], runs: Sequence[RunView]) -> Need:
    facts = [
        f"{run.name}, {entry}"
        for fact in need.get("facts", [])
        for run in runs
        for entry in FACTS[fact](run, runs)
    ]
    hidden = any(_hidden(need, runs)) if "tags" in need else any(run.hidden for run in runs)
    otherwise = f"{NOT_HIDDEN}; where that shows none, {need['otherwise']}"
    otherwise = otherwise if hidden else need["otherwise"]
    return Need(need["says"], (*_evidence(need, runs), *facts), otherwise)


def _is_about(finding: Finding, need: Mapping[str, Any]) -> bool:
    """Whether a finding's metric declares what a need asks for."""
    return bool(set(finding.card.tags) & set(need.get("tags", [])))


def _evidence(need: Mapping[str, Any], runs: Sequence[RunView]) -> Iterator[str]:
    holds = [_HOLDS[name] for name in need.get("holds", [])]
    for run in runs:
        for finding in run.estimable:
            if _is_about(finding, need) and all(hold(run, finding) for hold in holds):
                yield f"{run.name}, findings.json: {finding.metric} = {finding.value:.6g}"


def _undefined(need: Mapping[str, Any], runs: Sequence[RunView]) -> Iterator[str]:
    for run in runs:
        for finding in run.not_estimable:
            if _is_about(finding, need):
                yield f"{run.name}: {finding_sentence(finding, run.alpha)}"


def _hidden(need: Mapping[str, Any], runs: Sequence[RunView]) -> Iterator[str]:
    for run in runs:
        for finding in run.hidden:
            if _is_about(finding, need):
                yield f"{run.name}: {title(finding)}"


def _lines(control: Mapping[str, Any]) -> Iterator[str]:
    for evidence in control["evidence"]:
        yield f"- Evidence, {evidence['says']}:"
        yield from (f"  - {markdown(line)}" for line in evidence["found"][:_MOST])
        if len(evidence["found"]) > _MOST:
            yield f"  - and {len(evidence['found']) - _MOST} more"
    for missing in control["missing"]:
        yield f"- {NONE[:1].upper()}{NONE[1:]}, {missing['says']}: {markdown(missing['otherwise'])}"
    for line in control["not_estimable"]:
        yield f"- Not estimable, {markdown(line)}"
    for line in control["hidden"]:
        yield f"- Hidden, {markdown(line)}"
    yield f"- Not for an audit of answers to show: {markdown(control['elsewhere'])}"
    yield f"- {NOTE}"
