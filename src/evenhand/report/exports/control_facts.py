"""What a run shows beside its values: each fact with the entry of the run folder that it rests on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from evenhand.core.results import Finding
from evenhand.report.exports.exported import ExportedRun, json_text, text_of
from evenhand.report.formats import plural

PEOPLE = (
    "gender", "sex", "pronoun", "race", "racial", "ethnicity", "ethnic", "skin", "age", "religion", "faith",
    "disability", "nationality", "income", "caste", "orientation", "migration", "language",
)  # fmt: skip
"""Words of a column's name that say that it is an attribute of people."""

_WORD = re.compile(r"[^\W\d_]+")
_NAME = re.compile(r"\s*(\w+)")  # of a gate
_AFTER = frozenset(("after", "reduction"))


def _gates(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    """Conditions that the run was started with: one typed at the export is chosen with results in hand."""
    names = {finding.name for finding in run.findings.findings}
    kept = run.manifest.get("gates")
    for place, gate in enumerate(kept if isinstance(kept, list) else []):
        name = _NAME.match(str(gate))
        if name is not None and name[1] in names and run.created is not None:
            yield f"manifest.json: gates[{place}] = {text_of(gate)}, created = {run.created.isoformat()}"


def _groups(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    for finding in run.findings.findings:
        if finding.groups:
            yield f"{_entry(finding)}, groups: sizes of {plural(len(finding.groups), 'group')}"


def _dropped(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    having = [finding for finding in run.findings.findings if finding.dropped]
    for finding in having:
        yield f"{_entry(finding)}, dropped: {plural(len(finding.dropped), 'reason')}"
    if run.findings.findings and not having:
        yield "findings.json: nothing left out, dropped is empty in every finding"


def _reasons(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    for finding in run.not_estimable:
        yield f"{_entry(finding)}, reason: {text_of(finding.reason)}"
    if run.findings.findings and not run.not_estimable:
        yield "findings.json: every finding has a value"


def _intervals(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    for finding in run.estimable:
        if finding.interval is not None:
            yield f"{_entry(finding)}, interval: {finding.interval.method}"


def _chance(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    for finding in run.estimable:
        if finding.null is not None:
            yield f"{_entry(finding)}, null: {finding.null.method}"


def _sources(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    told = {finding.name: finding.source.paper for finding in run.findings.findings}
    for name, paper in told.items():
        yield f"findings.json: {name}, source: {text_of(paper)}"


def _crossed(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    """Findings by two attributes or more crossed, two of which are of people by the words of their names."""
    for finding in run.estimable:
        people = [name for name in finding.by if _of_people(name)]
        if len(people) > 1:
            yield f"{_entry(finding)} = {finding.value:.6g}, by {' x '.join(map(text_of, finding.by))}"


def _manifest(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    """Versions and an identity, where it is the one that the findings name."""
    identity, versions = run.manifest.get("manifest_id"), run.manifest.get("versions")
    if versions and identity == run.findings.manifest_id:
        yield f"manifest.json: manifest_id = {text_of(identity)}, versions = {json_text(versions)}"


def _card(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    if run.manifest.get("card"):
        yield f"manifest.json: card, of the benchmark {run.benchmark}"


def _source(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    digest = (run.manifest.get("source") or {}).get("sha256")
    if digest:
        yield f"manifest.json: source.sha256 = {text_of(digest)}"


def _mitigation(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    """Findings after a mitigation, on the half that it was not fitted on."""
    for finding in run.estimable:
        params = finding.params
        after = finding.name == "association_reduction" or params.get("stage") in _AFTER
        if after and params.get("half", "held_out") == "held_out" and run.manifest.get("kind") == "debias":
            yield f"{_entry(finding)} = {finding.value:.6g}"


def _comparison(run: ExportedRun, runs: Sequence[ExportedRun]) -> Iterator[str]:
    """A comparison with an earlier run of one model: by its own manifest, or by the runs given beside it."""
    if run.manifest.get("kind") != "compare":
        return
    if run.manifest.get("over_time"):
        yield f"manifest.json: over_time, dates = {json_text(run.manifest.get('dates'))}"
        return
    compared = run.manifest.get("compared") or []
    beside = [one for one in runs if one.findings.manifest_id in compared and one.created is not None]
    for earlier, later in pairwise(sorted(beside, key=_when)):
        if _when(earlier) < _when(later) and _lineage(earlier) == _lineage(later) != "":
            yield (
                f"manifest.json: compared, {later.name} (created {later.created}) after {earlier.name} "
                f"(created {earlier.created}), both of {_lineage(later)}"
            )


def _counts(run: ExportedRun, _: Sequence[ExportedRun]) -> Iterator[str]:
    if run.counted:
        yield "counts/predictions.parquet: rows by truth, attributes and prediction"


def _entry(finding: Finding) -> str:
    return f"findings.json: {text_of(finding.metric)}"


def _of_people(name: str) -> bool:
    return any(word.lower() in PEOPLE for word in _WORD.findall(name))


def _when(run: ExportedRun) -> float:
    return run.created.timestamp() if run.created is not None else 0.0


def _lineage(run: ExportedRun) -> str:
    """Of which model a run is: by its tag ``lineage``, else its address, on the Hub without the revision."""
    tags: Mapping[str, Any] = run.manifest.get("tags") or {}
    address = str(run.manifest.get("model") or "")
    return text_of(
        tags.get("lineage") or (address.partition("@")[0] if address.startswith("hf:") else address)
    )


FACTS: Mapping[str, Callable[[ExportedRun, Sequence[ExportedRun]], Iterator[str]]] = {
    "gates": _gates,
    "groups": _groups,
    "dropped": _dropped,
    "reasons": _reasons,
    "intervals": _intervals,
    "chance": _chance,
    "sources": _sources,
    "crossed": _crossed,
    "manifest": _manifest,
    "card": _card,
    "source": _source,
    "mitigation": _mitigation,
    "comparison": _comparison,
    "counts": _counts,
}
"""What a mapping may ask for beside findings: a line for each piece that a run has of it."""
