"""What a run shows beside its values: each fact with the entry of the run folder that it rests on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite

from evenhand.core.findings import Finding
from evenhand.core.nouns import words_of
from evenhand.display.text.formatting import plural
from evenhand.display.text.model_names import lineage_of
from evenhand.report.exports.exported import RunView, json_text, text_of

SEX, RACE, PEOPLE = "sex", "race", "people"
"""What an attribute can be declared to be: of people at all, their sex, their race or ethnicity."""

_AFTER = frozenset(("after", "reduction"))
_Fact = Callable[[RunView, Sequence[RunView]], Iterator[str]]

LAST_WRITING = (
    "The manifest keeps the conditions of its last writing: it cannot show that results were not seen before"
)


def _gates(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    """Conditions that the manifest keeps, and how they turned out: one typed at the export alone is none."""
    if run.created is None:
        return
    for text in dict.fromkeys(gate.text for gate in run.gates if gate.in_manifest):
        same_gates = [gate for gate in run.gates if gate.text == text]
        broken = [gate.broken for gate in same_gates if gate.broken is not None]
        turned = (
            f"broken ({'; '.join(broken)})" if broken else f"held by {plural(len(same_gates), 'finding')}"
        )
        yield (
            f"manifest.json: gates holds {text_of(text)}, {text_of(turned)}; created = "
            f"{run.created.isoformat()}. {LAST_WRITING}"
        )


def _groups(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    for finding in run.estimable:
        groups = [group for group in finding.groups if group.n >= 0]
        if groups:
            yield f"{_entry(finding)}, groups: sizes of {plural(len(groups), 'group')}"


def _dropped(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    having = [finding for finding in run.findings if finding.dropped]
    for finding in having:
        yield f"{_entry(finding)}, dropped: {plural(len(finding.dropped), 'reason')}"
    if run.findings.findings and not having:
        yield "findings.json: nothing left out, dropped is empty in every finding"


def _reasons(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    for finding in run.not_estimable:
        yield f"{_entry(finding)}, reason: {text_of(finding.reason)}"
    if run.findings.findings and not run.not_estimable:
        yield f"findings.json: every finding{' that is not hidden' if run.hidden else ''} has a value"


def _intervals(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    for finding in run.estimable:
        if finding.interval is not None:
            yield f"{_entry(finding)}, interval: {finding.interval.method}"


def _chance(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    for finding in run.estimable:
        if finding.null is not None:
            yield f"{_entry(finding)}, null: {finding.null.method}"


def _sources(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    papers = {finding.name: finding.source.paper for finding in run.findings}
    for name, paper in papers.items():
        yield f"findings.json: {name}, source: {text_of(paper)}"


def _crossed(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    """Findings by two attributes or more crossed, two of which are declared to be of people."""
    people = people_in(run)
    for finding in run.estimable:
        if len(people & set(finding.by)) > 1:
            yield f"{_entry(finding)} = {finding.value:.6g}, by {' x '.join(map(text_of, finding.by))}"


def _manifest(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    """Versions and an identity, where it is the one that the findings name."""
    identity, versions = run.manifest.get("manifest_id"), run.manifest.get("versions")
    if versions and identity == run.findings.manifest_id:
        yield f"manifest.json: manifest_id = {text_of(identity)}, versions = {json_text(versions)}"


def _card(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    if run.manifest.get("card"):
        yield f"manifest.json: card, of the benchmark {run.benchmark}"


def _source(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    digest = (run.manifest.get("source") or {}).get("sha256")
    if digest:
        yield f"manifest.json: source.sha256 = {text_of(digest)}"


def _mitigation(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    """Findings after a mitigation, on the half that it was not fitted on."""
    for finding in run.estimable:
        params = finding.params
        after = finding.name == "association_reduction" or params.get("stage") in _AFTER
        if after and params.get("half", "held_out") == "held_out" and run.manifest.get("kind") == "debias":
            yield f"{_entry(finding)} = {finding.value:.6g}"


def _comparison(run: RunView, runs: Sequence[RunView]) -> Iterator[str]:
    """A comparison with an earlier run of one model: by its own manifest, or by the runs given beside it."""
    if run.manifest.get("kind") != "compare":
        return
    if run.manifest.get("over_time") and run.manifest.get("one_model"):
        yield f"manifest.json: over_time, one_model, dates = {json_text(run.manifest.get('dates'))}"
        return
    compared = run.manifest.get("compared") or []
    beside = [run for run in runs if run.findings.manifest_id in compared and run.created is not None]
    for earlier, later in pairwise(sorted(beside, key=_when)):
        lineage = lineage_of(later.manifest)
        if _when(earlier) < _when(later) and lineage_of(earlier.manifest) == lineage != "":
            yield (
                f"manifest.json: compared, {later.name} (created {later.created}) after {earlier.name} "
                f"(created {earlier.created}), both of {text_of(lineage)}"
            )


def _counts_by(roles: Collection[str], *, scores: bool = False) -> _Fact:
    """Counts of predictions by an attribute that is declared to be one of these."""

    def counts_lines(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
        if run.counts is None or (scores and not _scores(run.counts.axis("prediction").levels)):
            return
        for name in run.counts.attributes:
            if any(name in run.declared.get(role, ()) for role in roles):
                what = "predictions that are numbers" if scores else "prediction"
                yield f"counts/predictions.parquet: rows by {text_of(name)} and {what}"

    return counts_lines


def _sex_and_race(run: RunView, _: Sequence[RunView]) -> Iterator[str]:
    """Counts of predictions by sex and race together, of which impact ratios of both crossed are made."""
    names = run.counts.attributes if run.counts is not None else ()
    sex = next((name for name in names if name in run.declared.get(SEX, ())), None)
    race = next((name for name in names if name in run.declared.get(RACE, ()) and name != sex), None)
    if sex is not None and race is not None:
        yield f"counts/predictions.parquet: rows by {text_of(sex)} x {text_of(race)} and prediction"


def _scores(labels: Sequence[object]) -> bool:
    """Whether predictions can be scores: numbers, more than two of them."""
    try:
        return len(labels) > 2 and all(isfinite(float(str(label))) for label in labels)
    except ValueError:
        return False


def people_in(run: RunView) -> set[str]:
    """Attributes of people: those that the person who exports declares, and those of the benchmark."""
    declared = {name for names in run.declared.values() for name in names}
    return declared | set(words_of(run.manifest).people)


def serves_people(run: RunView, finding: Finding) -> bool:
    """Whether a finding has a value for each of several groups of people."""
    people = people_in(run)
    return any(
        part.value is not None
        and not people.isdisjoint(finding.by if part.kind == "group" else part.kind.split("*"))
        for part in finding.parts
    )


def compares_people(run: RunView, finding: Finding) -> bool:
    """Whether its groups are of people; without a grouping they are its benchmark's own."""
    people = people_in(run)
    return not people.isdisjoint(finding.by) or (not finding.by and bool(words_of(run.manifest).people))


def _entry(finding: Finding) -> str:
    return f"findings.json: {text_of(finding.metric)}"


def _when(run: RunView) -> float:
    return run.created.timestamp() if run.created is not None else 0.0


FACTS: Mapping[str, _Fact] = {
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
    "counts by sex": _counts_by((SEX,)),
    "counts by race": _counts_by((RACE,)),
    "counts by both": _sex_and_race,
    "scores": _counts_by((SEX, RACE), scores=True),
}
"""What a mapping may ask for beside findings: a line for each piece that a run has of it."""
