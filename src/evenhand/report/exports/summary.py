"""A summary in Markdown that a person pastes, and the section of a model card."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from evenhand.core.findings import Finding
from evenhand.core.frames import grouped
from evenhand.core.significance import p_shown
from evenhand.display.text.formatting import DASH, count, p_value, plural, shorten
from evenhand.display.text.rounding import Rounding
from evenhand.report.exports.exported import (
    CAUTION,
    RunView,
    interval_text,
    markdown,
    named,
    parts_judged,
    title,
    value_text,
    why,
)
from evenhand.report.exports.judging import Verdict, judged, reading

_BEYOND: Mapping[Verdict, str] = {
    "worse": "Beyond chance on the unfair side",
    "unlike": "Beyond chance, which side is better is for people to say",
    "better": "Beyond chance on the better side",
}
_HEADLINES, _SENTENCE = 3, 600
_MOST = 60  # lines of one table; what is left out is counted


def summary(runs: Sequence[RunView]) -> bytes:
    """Every run in one Markdown text: what was found, how sure, and what could not be estimated."""
    sections = ["# Bias audit" if len(runs) == 1 else f"# Bias audit of {len(runs)} runs"]
    sections += [section(run, "##") for run in runs]
    sections += [CAUTION]
    return ("\n\n".join(sections) + "\n").encode("utf-8")


def section(run: RunView, heading: str) -> str:
    """One run as a section; ``heading`` is its number signs, such as ``##``."""
    findings = run.findings.findings
    about = (
        f"{heading} {': '.join(dict.fromkeys(map(_label, (run.model, run.benchmark))))}"  # a table is both
    )
    lines = [about, "", *_first_lines(run), _facts(run), ""]
    top_findings = run.estimable[:_MOST]
    if top_findings:
        lines += [
            "| Finding | Value | Interval | By chance | Reading | p | Rows |",
            "|---|---:|---|---|---|---:|---:|",
            *(_line(finding, run.alpha) for finding in top_findings),
            "",
        ]
    if len(run.estimable) > len(top_findings):
        lines += [f"{len(run.estimable) - len(top_findings)} more are in findings.json.", ""]
    for verdict, words in _BEYOND.items():
        lines += _bullets(words, _beyond(run, verdict))
    lines += _bullets("Could not be estimated", (_missing(finding) for finding in run.not_estimable))
    lines += _bullets("Hidden, because cells of few rows are", (_name(finding) for finding in run.hidden))
    lines += _bullets("Left out", _dropped(findings))
    lines += _bullets("Read with care", _warnings(run))
    return "\n".join(lines).rstrip()


def _first_lines(run: RunView) -> Iterator[str]:
    """The headline, then the facts of each."""
    overview = run.overview
    if overview.title:
        yield from (f"**{markdown(shorten(overview.title, _SENTENCE))}**", "")
    for line in overview.beyond[:_HEADLINES]:
        facts = " ".join(filter(None, (line.sentence, line.size, line.chance, line.certainty)))
        yield f"- {markdown(shorten(facts, 2 * _SENTENCE))}"
    yield from (f"- {markdown(shorten(text, _SENTENCE))}" for text in overview.silent)
    if overview.beyond or overview.silent:
        yield ""


def _facts(run: RunView) -> str:
    rows = run.manifest.get("rows")
    facts = [
        plural(len(run.findings.findings), "finding"),
        *([plural(rows, "row")] if isinstance(rows, int | float) else []),
        f"evenhand {markdown(run.version)}",
        f"manifest {markdown(run.findings.manifest_id[:12])}",
        *([f"cells of fewer than {run.fewest} rows are hidden"] if run.fewest else []),
    ]
    return ", ".join(facts) + "."


def _line(finding: Finding, alpha: float) -> str:
    cells = [
        _name(finding),
        value_text(finding),
        interval_text(finding),
        Rounding.of(finding).span(finding.null),
        markdown(reading(finding, alpha)) or DASH,
        p_value(p_shown(finding)),
        count(finding.n),
    ]
    return f"| {' | '.join(cells)} |".replace("<0.001", "&lt;0.001").replace(">−0.001", "&gt;−0.001")


def _name(finding: Finding) -> str:
    return _label(title(finding))


def _beyond(run: RunView, verdict: Verdict) -> Iterator[str]:
    """Findings of a verdict, and the parts that share it, those also where the whole does not."""
    for finding in run.estimable:
        parts = parts_judged(finding, run.alpha, verdict)
        parts_text = f"{len(parts)} of its {plural(len(finding.parts), 'part')}: {markdown(named(parts))}"
        if judged(finding, run.alpha) == verdict:
            yield _name(finding) + (f", and {parts_text}" if parts else "")
        elif parts:
            yield f"{_name(finding)}: not as a whole, but {parts_text}"


def _missing(finding: Finding) -> str:
    return f"{_name(finding)}: {markdown(shorten(why(finding.reason), 240))}"


def _dropped(findings: Sequence[Finding]) -> Iterator[str]:
    """Each reason once: findings over the same rows leave out the same. A hidden count hides the others."""
    all_dropped = [dropped for finding in findings for dropped in finding.dropped]
    for reason, alike in grouped(all_dropped, lambda dropped: dropped.reason).items():
        least, *_, most = sorted([dropped.count for dropped in alike] * 2)
        yield _label(reason) + (f": up to {count(most)} of a finding" if least >= 0 else f": {count(least)}")


def _warnings(run: RunView) -> Iterator[str]:
    warnings = run.manifest.get("warnings")
    for warning in warnings if isinstance(warnings, list) else []:
        yield markdown(shorten(warning, 400))


def _bullets(heading: str, items: Iterator[str]) -> list[str]:
    lines = list(items)
    if not lines:
        return []
    more = [f"- and {len(lines) - _MOST} more, in findings.json"] if len(lines) > _MOST else []
    return [f"**{heading}** ({len(lines)})", "", *(f"- {item}" for item in lines[:_MOST]), *more, ""]


def _label(text: object) -> str:
    return markdown(shorten(text, 120))
