"""Parameters that part findings into chapters, and what their values are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from evenhand.core.findings import Finding
from evenhand.core.text.formatting import shorten

FACETS = ("context", "template", "subject", "form", "half", "answers", "objective")
"""Findings that differ in one of these answer different questions: they stand in chapters of their own."""

_VALUES: Mapping[str, Mapping[str, str]] = {
    "context": {"single": "one person", "two_person": "two persons"},
    "template": {
        "occ_first": "sentences name the occupation first",
        "par_first": "sentences name the participant first",
    },
    "subject": {"occupation": "", "participant": ""},  # the grouping says whose gender is counted
    "form": {
        "cross-modal": "images of groups, and words",
        "textual": "phrases of groups, and words",
        "visual": "images of groups, and pictures",
        "matching": "images of groups, and words that match them",
    },
    "answers": {"raw": "answers as they were said"},
    "objective": {name: f"asked for {name}" for name in ("race", "gender", "age")},
    "half": {
        "held_out": "held-out items",
        "fit": "items it was fitted on",
        "all": "all items, on which it was chosen too",
    },
    "stage": {
        "reduction": "before minus after",
        "before": "before",
        "after": "after",
        "random": "after removal at random",
    },
    "reading": {
        "per_image_joint": "each image’s likeliest words, by probability",
        "per_image_joint_share": "each image’s likeliest words, by number",
        "per_image_per_set": "each image’s likeliest words of each set",
        "per_group": "the words likeliest for the group",
    },
    "standardised": {"False": "raw difference", "True": "divided by its spread"},
    "setting": {
        "all": "all images",
        "single": "one person",
        "two_person": "two persons",
        "same": "two persons, same gender",
        "different": "two persons, different genders",
    },
    "pool": {
        "occupation": "each occupation ranks its own images",
        "all": "each occupation ranks all images",
    },
    "ask": {
        "captions": "asked by comparing images with captions",
        "match": "asked how well captions match",
        "continuations": "asked to continue a sentence",
        "first_token": "asked for the first token after a sentence",
        "choice": "asked to choose a caption, in every order",
    },
}
_REDUNDANT = {"setting": "where"}  # the first says the second in words


def facets_of(finding: Finding) -> tuple[tuple[str, str], ...]:
    """The values that tell which chapter a finding belongs to."""
    return tuple((name, str(finding.params[name])) for name in FACETS if name in finding.params)


def facet_title(facets: Iterable[tuple[str, str]]) -> str:
    """Values in words, such as ``two persons, captions name the occupation first``."""
    return ", ".join(filter(None, (in_words(name, value) for name, value in facets)))


def in_words(name: str, value: object) -> str:
    """One parameter in words; ``name=value`` where there are none."""
    if name == "groups" and isinstance(value, list) and len(value) == 2:
        return f"bias is above 0 where {value[0]} people come first, below where {value[1]} do"
    if name in ("targets", "attributes") and isinstance(value, list) and len(value) == 2:
        return (
            f"{_plain(value[0])} – {_plain(value[1])}"
            if name == "targets"
            else f"{_plain(value[0])} against {_plain(value[1])}"
        )
    if name == "target":
        return _plain(value)
    if name == "candidates":
        return f"offered: {_plain(value).replace('/', ', ')}"
    return _VALUES.get(name, {}).get(str(value), f"{name}={_plain(value)}")


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


def _plain(value: object) -> str:
    text = "/".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return shorten(text)
