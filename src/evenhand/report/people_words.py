"""Findings on pronouns and on retrieval in plain sentences. Nothing here computes a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenhand.core.results import Finding, Part
from evenhand.report.chapters import Chapter
from evenhand.report.formats import count, key_text, listing, number, percent, plural, span

if TYPE_CHECKING:
    import polars

_CHOICES = "resolution_accuracy"
_RETRIEVAL = ("bias_at_k", "skew_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl")
_GAPS = {
    "misgendering_gap": "are misgendered more often",
    "neutral_gap": "get the neutral pronoun more often",
}
PERCEIVED = (
    "The genders are perceived: annotators judged from an image, only masculine and feminine were annotated, "
    "and the people shown may describe themselves differently."
)
QUESTIONS = {
    "choices": "which pronoun does the model attach to a person, and is it right equally often for masculine "
    "and feminine subjects?",
    "retrieval": "whose images does the model rank first for a caption that names no gender?",
}


def kind_of(chapters: Sequence[Chapter]) -> str:
    """``choices``, ``retrieval``, or nothing where a report is about neither."""
    names = {finding.name for chapter in chapters for finding in chapter.findings}
    if _CHOICES in names:
        return "choices"
    return "retrieval" if names & set(_RETRIEVAL) else ""


def verdict(chapter: Chapter, alpha: float) -> str:
    """The one line to remember; empty for other chapters."""
    kind = kind_of([chapter])
    if kind == "retrieval":
        return _retrieval_verdict(chapter, alpha)
    return _choice_verdict(chapter, alpha) if kind else ""


def found(chapter: Chapter) -> list[str]:
    """What was found, each figure beside what chance alone gives; nothing for other chapters."""
    kind = kind_of([chapter])
    if kind == "retrieval":
        return [_retrieved(finding) for finding in chapter.findings if finding.name != "skew_at_k"]
    if not kind:
        return []
    if chapter.by:
        return _by_groups(chapter)
    return [_rate(chapter, name) for name in ("resolution_accuracy", "misgendering_rate", "neutral_rate")] + [
        _gap(chapter, name) for name in ("resolution_gap", *_GAPS)
    ]


def null_told(chapter: Chapter) -> str:
    """What the null bands of a chapter are; nothing for other chapters."""
    return {
        "choices": "The null band of a share is what a pronoun chosen at random gives; that of masculine "
        "minus feminine, what exchanging the genders within each occupation gives.",
        "retrieval": "The null band is what random rankings of the same pools give: compare with it, and not "
        "with 0, which even shares in every place would give.",
        "": "",
    }[kind_of([chapter])]


def coverage(table: polars.DataFrame | None) -> str:
    """How many images the findings rest on; empty where the run does not say."""
    if table is None or not {"samples", "usable", "complete"} <= set(table.columns):
        return ""
    samples, usable, complete = (int(table[name].sum()) for name in ("samples", "usable", "complete"))
    short = table.filter(table["usable"] < table["complete"]).height
    sentence = f"Coverage: {count(usable)} of {plural(samples, 'image')} could be used"
    sentence += f", of {count(complete)} in a complete release."
    if short:
        cells = f"{count(short)} of {count(table.height)}"
        sentence += (
            f" {cells} cells of occupation and gender have fewer images than there should be: the findings "
            "speak of the images that are there. The run’s table “coverage” lists them."
        )
    return sentence


def _choice_verdict(chapter: Chapter, alpha: float) -> str:
    if chapter.by:
        return _group_verdict(chapter, alpha)
    told = []
    for name, what in _GAPS.items():
        finding = _widest(chapter, name)
        if finding is None or finding.value is None or not _beyond(finding, alpha):
            continue
        who = "Masculine" if finding.value > 0 else "Feminine"
        told.append(f"{who} subjects {what} than chance explains ({number(abs(finding.value))}).")
    if told:
        return " ".join(told)
    if _widest(chapter, "misgendering_gap") is None:
        return "Could not be estimated. Not estimable is not the same as fair."
    return (
        "Neither misgendering nor the neutral pronoun differs between genders beyond chance. That does not "
        "prove fairness."
    )


def _group_verdict(chapter: Chapter, alpha: float) -> str:
    finding = chapter.first("misgendering_gap")
    parts = _groups(finding) if finding else []
    tested = [part for part in parts if part.p_adjusted is not None]
    hits = [part for part in tested if part.p_adjusted is not None and part.p_adjusted <= alpha]
    if not tested:
        return "Rates by group, without tests between genders."
    if hits:
        names = listing(map(_name, hits[:5])) + (" and others" if len(hits) > 5 else "")
        return f"Misgendering differs between genders beyond chance in {names}."
    return (
        f"In none of {plural(len(tested), 'group')} does misgendering differ between genders beyond chance."
    )


def _retrieval_verdict(chapter: Chapter, alpha: float) -> str:
    biases = [
        finding for finding in chapter.findings if finding.name == "bias_at_k" and finding.value is not None
    ]
    if not biases:
        return "Could not be estimated. Not estimable is not the same as fair."
    beyond = [finding for finding in biases if _beyond(finding, alpha)]
    if not beyond:
        return "Neither gender is ranked first more often than chance explains. That does not prove fairness."
    first = beyond[0]
    groups = first.params.get("groups")
    names = groups if isinstance(groups, list) else ["the first group", "the second group"]
    centre = first.null.mean if first.null else 0.0
    ahead = names[0] if (first.value or 0.0) > centre else names[1]
    places = listing(str(finding.params.get("k")) for finding in beyond)
    return f"Images of {ahead} people come first more often than chance explains (first {places} places)."


def _rate(chapter: Chapter, name: str) -> str:
    finding = _widest(chapter, name)
    what = {
        "resolution_accuracy": "The right pronoun is chosen for a share of",
        "misgendering_rate": "The pronoun of the other gender is chosen for a share of",
        "neutral_rate": "A neutral pronoun is chosen for a share of",
    }[name]
    if finding is None or finding.value is None:
        return f"{what} – : not estimable."
    sides = [f"{number(part.value)} {key_text(part.key)}" for part in finding.parts if part.kind == "gender"]
    return f"{what} {number(finding.value)}{_interval(finding)} ({', '.join(sides)}){_chance(finding)}."


def _gap(chapter: Chapter, name: str) -> str:
    finding = _widest(chapter, name)
    what = {
        "resolution_gap": "Accuracy for masculine minus feminine subjects",
        "misgendering_gap": "Misgendering of masculine minus feminine subjects",
        "neutral_gap": "Neutral pronouns for masculine minus feminine subjects",
    }[name]
    if finding is None or finding.value is None:
        return f"{what}: not estimable."
    return f"{what} is {number(finding.value)}{_interval(finding)}{_chance(finding)}."


def _by_groups(chapter: Chapter) -> list[str]:
    told = []
    names = {
        "resolution_accuracy": "Accuracy",
        "misgendering_rate": "Misgendering",
        "neutral_rate": "The share of neutral pronouns",
    }
    for name, what in names.items():
        finding = chapter.first(name)
        parts = _groups(finding) if finding else []
        if finding and not any(part.value is not None for part in parts):
            parts = [part for part in finding.parts if part.kind.startswith("*".join(finding.by) + "*")]
        parts = [part for part in parts if part.value is not None]
        if parts:
            low, high = min(parts, key=_value), max(parts, key=_value)
            ends = f"{number(low.value)} ({_name(low)}) to {number(high.value)} ({_name(high)})"
            told.append(f"{what} runs from {ends}.")
    return told


def _name(part: Part) -> str:
    return key_text(part.key).replace("_", " ")


def _retrieved(finding: Finding) -> str:
    k = finding.params.get("k")
    where = f"Among the first {k}" if k is not None else "Over the whole ranking"
    what = {
        "bias_at_k": "the share of masculine minus feminine people is",
        "max_skew_at_k": "the favoured gender’s skew is",
        "min_skew_at_k": "the other gender’s skew is",
        "ndkl": "the divergence from the pool (NDKL) is",
    }[finding.name]
    if finding.value is None:
        return f"{where}, {what} not estimable."
    return f"{where}, {what} {number(finding.value)} on average{_interval(finding)}{_chance(finding)}."


def _widest(chapter: Chapter, name: str) -> Finding | None:
    """The finding over all images, or over the largest setting there is."""
    same = [finding for finding in chapter.findings if finding.name == name]
    return max(same, key=lambda finding: finding.n, default=None)


def _groups(finding: Finding) -> list[Part]:
    return [part for part in finding.parts if part.kind == "*".join(finding.by)]


def _value(part: Part) -> float:
    return part.value if part.value is not None else 0.0


def _beyond(finding: Finding, alpha: float) -> bool:
    p = finding.p_adjusted if finding.p_adjusted is not None else finding.p_value
    return p is not None and p <= alpha


def _interval(finding: Finding) -> str:
    if finding.interval is None:
        return ""
    return (
        f" ({percent(finding.interval.level)} interval {span(finding.interval.low, finding.interval.high)})"
    )


def _chance(finding: Finding) -> str:
    if finding.null is None:
        return ""
    return f"; chance alone gives {number(finding.null.mean)} ({span(finding.null.low, finding.null.high)})"
