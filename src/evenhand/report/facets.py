"""Parameters that part findings into chapters, and what their values are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evenhand.core.findings import Finding
from evenhand.display.text.parameters import in_words

FACETS = ("context", "template", "subject", "form", "half", "answers", "objective")
"""Findings that differ in one of these answer different questions: they stand in chapters of their own."""

_REDUNDANT = {"setting": "where"}  # the first says the second in words


def facets_of(finding: Finding) -> tuple[tuple[str, str], ...]:
    """The values that tell which chapter a finding belongs to."""
    return tuple((name, str(finding.params[name])) for name in FACETS if name in finding.params)


def facet_title(facets: Iterable[tuple[str, str]]) -> str:
    """Values in words, such as ``two persons, occupation first``."""
    return ", ".join(filter(None, (in_words(name, value) for name, value in facets)))


def varying(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Parameters in which findings of one metric differ; the others need to be said once only."""
    names = list(dict.fromkeys(name for finding in findings for name in finding.params))
    differing = []
    for name in names:
        by_metric: dict[str, set[str]] = {}
        for finding in findings:
            by_metric.setdefault(finding.name, set()).add(str(finding.params.get(name)))
        if any(len(values) > 1 for values in by_metric.values()):
            differing.append(name)
    return tuple(name for name in differing if not any(_REDUNDANT.get(other) == name for other in differing))


def shared(findings: Sequence[Finding]) -> str:
    """What all findings of a chapter have in common, in one sentence; empty where there is nothing."""
    changing = {*varying(findings), *FACETS, "where"}
    phrases: dict[str, str] = {}
    for finding in findings:
        for name, value in finding.params.items():
            if name not in changing and value is not None:
                phrases.setdefault(name, in_words(name, value))
    sentence = "; ".join(filter(None, phrases.values()))
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def row_params(finding: Finding, names: Sequence[str] | None) -> str:
    """The parameters of a line: those that vary, in words; all of them where nothing is hidden."""
    params = [(key, value) for key, value in finding.params.items() if value is not None]
    if names is None:
        return ", ".join(f"{key}={value}" for key, value in params)
    return ", ".join(in_words(key, value) for key, value in params if key in names)
