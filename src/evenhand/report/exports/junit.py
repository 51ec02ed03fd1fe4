"""JUnit XML: a gate is a test; a finding without a gate is a skipped one, for information."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree

from evenhand.core.findings import Finding
from evenhand.report.exports.exported import CAUTION, Gate, RunView, finding_sentence, json_text, xml

NO_TIME = "1970-01-01T00:00:00"


def junit(runs: Sequence[RunView]) -> bytes:
    """Every run, its gates checked, as a test suite.

    Valid by the schema of Ant and by that of Jenkins. A broken gate is a failure, one that held is a passed
    test. Findings without a gate are skipped tests, since nobody said what they should be. Times are 0 and
    the host is ``localhost``: neither says anything about a finding.
    """
    root = ElementTree.Element("testsuites")
    for index, run in enumerate(runs):
        root.append(_suite(run, index))
    ElementTree.indent(root, " ")
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _suite(run: RunView, index: int) -> ElementTree.Element:
    gated = [gate.finding for gate in run.gates]
    alone = [finding for finding in run.findings if not any(finding is other for other in gated)]
    names = dict.fromkeys((run.benchmark, run.model, run.name))  # both are the table of an audit
    suite = ElementTree.Element(
        "testsuite",
        {
            "package": "evenhand",
            "id": str(index),
            "name": " ".join(map(xml, filter(None, names))) or "run",
            "timestamp": run.created.strftime("%Y-%m-%dT%H:%M:%S") if run.created else NO_TIME,
            "hostname": "localhost",
            "tests": str(len(run.gates) + len(alone)),
            "failures": str(sum(gate.broken is not None for gate in run.gates)),
            "errors": "0",
            "skipped": str(len(alone)),
            "time": "0",
        },
    )
    properties = ElementTree.SubElement(suite, "properties")
    for name, value in _properties(run):
        ElementTree.SubElement(properties, "property", {"name": name, "value": xml(value)})
    for gate in run.gates:
        suite.append(_gate(run, gate))
    for finding in alone:
        suite.append(_informational(run, finding))
    first_lines = [run.overview.title, *(line.text for line in run.overview.beyond[1:3]), CAUTION]
    ElementTree.SubElement(suite, "system-out").text = "\n".join(map(xml, filter(None, first_lines)))
    ElementTree.SubElement(suite, "system-err")
    return suite


def _properties(run: RunView) -> Iterator[tuple[str, str]]:
    yield "evenhand", run.version
    yield "manifest_id", run.findings.manifest_id
    yield "model", run.model
    yield "benchmark", run.benchmark
    yield "parameters", json_text(run.manifest.get("parameters") or {})
    yield "suppress", str(run.fewest)


def _case(run: RunView, name: str) -> ElementTree.Element:
    benchmark = xml(run.benchmark).strip() or "evenhand"
    return ElementTree.Element("testcase", {"name": xml(name), "classname": benchmark, "time": "0"})


def _gate(run: RunView, gate: Gate) -> ElementTree.Element:
    case = _case(run, f"{gate.text} [{gate.finding.metric}]")
    if gate.broken is not None:
        failure = ElementTree.SubElement(case, "failure", {"message": xml(gate.broken), "type": "gate"})
        failure.text = xml(finding_sentence(gate.finding, run.alpha))
    return case


def _informational(run: RunView, finding: Finding) -> ElementTree.Element:
    case = _case(run, finding.metric)
    skipped = ElementTree.SubElement(case, "skipped", {"message": "no gate: for information", "type": "info"})
    skipped.text = xml(finding_sentence(finding, run.alpha))
    return case
