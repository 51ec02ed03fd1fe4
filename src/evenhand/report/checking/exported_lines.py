"""SARIF and JUnit, read back: what each of their lines says of the finding that it names."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from xml.etree import ElementTree

from evenhand.core.findings import Finding, ends_of
from evenhand.core.significance import excludes, p_shown, reference_of
from evenhand.display.overview.content import Overview
from evenhand.report.checking.printed_numbers import NUMBER, PrintedNumber
from evenhand.report.checking.read_back import Contradiction

_VALUE = re.compile(rf" = ({NUMBER})(?: \(corrected for chance; plain ({NUMBER})\))?(?=[;.])")
_INTERVAL = re.compile(rf"; interval ({NUMBER}) to ({NUMBER}) ")
_CHANCE = re.compile(rf"; chance alone gives ({NUMBER}) to ({NUMBER})")
_P = re.compile(r"; (?:adjusted )?p = (\d[\d.]*(?:e-\d+)?)")
_N = re.compile(rf"; n = ({NUMBER})\.$")
_BEYOND = re.compile(r"\b(?:above|below) what chance alone gives")
_WITHIN = re.compile(r"\bwithin what chance alone gives")
_CLOSE = 1e-3  # p has four digits


def exported_lines(printed: str) -> list[tuple[str, str]] | None:
    """Metric and text of each line of SARIF or JUnit; None of any other text."""
    if printed.startswith("{"):
        runs = json.loads(printed)["runs"]
        results = [result for run in runs for result in run["results"]]
        return [(result["properties"]["metric"], _unescaped(result["message"]["text"])) for result in results]
    if printed.startswith("<?xml"):
        cases = ElementTree.fromstring(printed.encode()).iter("testcase")  # noqa: S314 - written by us
        texts = [(case.get("name", ""), child.text or "") for case in cases for child in case]
        return [(name.partition(" [")[2].rstrip("]") or name, text) for name, text in texts]
    return None


def _unescaped(text: str) -> str:
    """A message of SARIF without the signs that keep it from being a template or a link."""
    return re.sub(r"\\(.)", r"\1", text.replace("{{", "{").replace("}}", "}"))


def wrong_lines(
    lines: Sequence[tuple[str, str]],  # metric and text
    where: str,  # the medium, for messages
    overview: Overview,  # a line may begin with headlines of its finding, and with none of another
    findings: Mapping[str, Finding],  # by metric
    alpha: float,
) -> Iterator[Contradiction]:
    """What lines say wrong of the findings that they name."""
    for metric, text in lines:
        finding = findings.get(metric)
        if finding is None:
            yield Contradiction(text, f"the run has no finding {metric!r}", where)
            continue
        own_texts = {headline.text for headline in overview.headlines if headline.metric == metric}
        for headline in overview.headlines:  # of all rows by each grouping the same
            if headline.text in text and headline.text not in own_texts:
                yield Contradiction(text, f"it is of {metric!r}, and speaks of {headline.metric!r}", where)
        for why in _wrong(text, finding, alpha):
            yield Contradiction(text, why, where)


def _wrong(text: str, finding: Finding, alpha: float) -> Iterator[str]:
    if finding.value is None:
        if _VALUE.search(text):
            yield "it gives a value, and the finding has none"
        return
    value = _VALUE.search(text)
    leading = finding.value if finding.corrected is None else finding.corrected
    plain = None if finding.corrected is None else finding.value
    for printed, number in zip(value.groups() if value else (None, None), (leading, plain), strict=True):
        yield from _unlike("value", printed, number)
    for name, pattern, ends in (
        ("interval", _INTERVAL, ends_of(finding.interval)),
        ("band", _CHANCE, ends_of(finding.null)),
    ):
        match = pattern.search(text)
        for printed, end in zip(match.groups() if match else (None, None), ends or (None, None), strict=True):
            yield from _unlike(name, printed, end)
    p, true_p = _P.search(text), p_shown(finding)
    if (p is None) != (true_p is None) or (
        p is not None and true_p is not None and abs(float(p[1]) - true_p) > _CLOSE * true_p
    ):
        yield f"p is {true_p}"
    n = _N.search(text)
    yield from _unlike("n", n[1] if n else None, finding.n)
    tested = true_p is not None and true_p <= alpha and finding.role != "exploratory"
    truly = tested and excludes(finding.interval, reference_of(finding))
    if _BEYOND.search(text) and not truly and finding.card.p_is_about != "guessing":
        yield "it is called beyond chance"
    if _WITHIN.search(text) and truly:
        yield "it is called within chance"


def _unlike(name: str, printed: str | None, number: float | None) -> Iterator[str]:
    if printed is None and number is not None:
        yield f"it does not give the {name}, {number:.6g}"
    elif printed is not None and (
        number is None or not PrintedNumber(printed, is_share=False).stands_for(number)
    ):
        yield f"the {name} is {number if number is None else format(number, '.6g')}, and not {printed}"
