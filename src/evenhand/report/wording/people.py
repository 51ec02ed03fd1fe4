"""Findings on pronouns and on retrieval in plain sentences. Nothing here computes a number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import ALPHA, is_beyond, p_shown, significance_of
from evenhand.core.text.formatting import count, key_text, listing, number, p_value, percent, plural, span
from evenhand.report.chapters import Chapter
from evenhand.report.facets import in_words

if TYPE_CHECKING:
    import polars

_CHOICES = "resolution_accuracy"
_RETRIEVAL = ("bias_at_k", "skew_at_k", "max_skew_at_k", "min_skew_at_k", "ndkl")
_UNEVEN = {"ndkl": "above", "max_skew_at_k": "above", "min_skew_at_k": "below"}
_NAMES = {"ndkl": "NDKL", "max_skew_at_k": "MaxSkew", "min_skew_at_k": "MinSkew"}
_OUTCOMES = "accuracy, misgendering nor the neutral pronoun"
_GROUPED = {
    "resolution_gap": "Accuracy",
    "misgendering_gap": "Misgendering",
    "neutral_gap": "The share of neutral pronouns",
}
_GAPS = {
    "resolution_gap": "get the right pronoun more often",
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


def found(chapter: Chapter, alpha: float = ALPHA) -> list[str]:
    """What was found, each figure beside what chance alone gives; nothing for other chapters.

    Settings apart from the widest one are named where the verdict speaks of them.
    """
    kind = kind_of([chapter])
    if kind == "retrieval":
        return [_retrieved(finding) for finding in chapter.findings if finding.name != "skew_at_k"]
    if not kind:
        return []
    if chapter.by:
        return _by_groups(chapter)
    return [
        *(_rate(chapter, name) for name in ("resolution_accuracy", "misgendering_rate", "neutral_rate")),
        *(_gap(chapter, name) for name in _GAPS),
        *(_difference(gap.name, gap, f" ({_scope(gap)})") for gap in _apart(chapter, alpha)),
    ]


def null_told(chapter: Chapter) -> str:
    """What the null bands of a chapter are; nothing for other chapters."""
    return {
        "choices": "The null band of a share is what the same choices give if they are dealt to other people "
        "of the same occupation; that of masculine minus feminine, what exchanging the genders within each "
        "occupation gives.",
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
    widest = [gap for name in _GAPS if (gap := _widest(chapter, name)) is not None and gap.value is not None]
    if not widest:
        return "Could not be estimated. Not estimable is not the same as fair."
    sentences = [_leaning(gap) for gap in widest if is_beyond(gap, alpha)]
    apart, tested = _apart(chapter, alpha), sum(_tested(gap) for gap in _gaps(chapter))
    if not sentences:
        also = " or in any other setting" if tested > len(widest) and not apart else ""
        where = f", over {_scope(widest[0])}{also}" if tested > len(widest) else ""
        sentences = [f"Neither {_OUTCOMES} differs between genders beyond chance{where}."]
        sentences += [] if apart else ["That does not prove fairness."]
    if apart:
        sentences.append(f"In part of the images: {' '.join(map(_leaning, apart))}")
    return " ".join(sentences)


def _tested(finding: Finding) -> bool:
    """Whether its p decides on a verdict."""
    return p_shown(finding) is not None and finding.role != "exploratory"


def _gaps(chapter: Chapter) -> list[Finding]:
    """Differences between genders, in every setting, that have a value."""
    return [finding for finding in chapter.findings if finding.name in _GAPS and finding.value is not None]


def _apart(chapter: Chapter, alpha: float) -> list[Finding]:
    """Gaps of a setting beyond chance that the widest one is not, or that go the other way."""
    gaps = []
    for gap in _gaps(chapter):
        wide = _widest(chapter, gap.name)
        if gap is wide or wide is None or not is_beyond(gap, alpha):
            continue
        same = (gap.value or 0.0) * (wide.value or 0.0) > 0
        if not (same and is_beyond(wide, alpha)):
            gaps.append(gap)
    return gaps


def _leaning(finding: Finding) -> str:
    """Whom a gap beyond chance favours, with its number as the list below has it."""
    who = "Masculine" if (finding.value or 0.0) > 0 else "Feminine"
    facts = [_scope(finding), f"masculine minus feminine {number(finding.value)}"]
    facts += [f"p {p_value(p_shown(finding))}"] if p_shown(finding) is not None else []
    return f"{who} subjects {_GAPS[finding.name]} than chance explains ({', '.join(facts)})."


def _scope(finding: Finding) -> str:
    """The setting of a finding in words."""
    setting = finding.params.get("setting")
    return in_words("setting", setting) if setting is not None else "all images"


def _group_verdict(chapter: Chapter, alpha: float) -> str:
    """Groups whose parts differ between genders beyond chance, for each gap."""
    sentences, tested = list[str](), 0
    for name, what in _GROUPED.items():
        finding = chapter.first(name)
        parts = [part for part in (_groups(finding) if finding else []) if part.p_adjusted is not None]
        tested = max(tested, len(parts))
        hits = [part for part in parts if is_beyond(part, alpha)]
        if hits:
            names = listing(map(_name, hits[:5])) + (" and others" if len(hits) > 5 else "")
            sentences.append(f"{what} differs between genders beyond chance in {names}.")
    if not tested:
        return "Rates by group, without tests between genders."
    if sentences:
        return " ".join(sentences)
    outcomes = _OUTCOMES.replace(" nor ", " or ")
    return f"In none of {plural(tested, 'group')} does {outcomes} differ between genders beyond chance."


def _retrieval_verdict(chapter: Chapter, alpha: float) -> str:
    """Whom rankings favour on average over occupations, and whether they favour anyone within them."""
    known = [
        finding for finding in chapter.findings if finding.name in _RETRIEVAL and finding.value is not None
    ]
    if not any(finding.name == "bias_at_k" for finding in known):
        return "Could not be estimated. Not estimable is not the same as fair."
    beyond = [finding for finding in known if is_beyond(finding, alpha)]
    sentences = _ahead([finding for finding in beyond if finding.name == "bias_at_k"])
    neither = not sentences
    if neither:
        sentences = [
            "On average over occupations, neither gender is ranked first more often than chance explains."
        ]
    within = [
        finding for finding in known if finding.name in _UNEVEN and not _fixed(finding) and _tested(finding)
    ]
    uneven = [
        finding
        for finding in beyond
        if finding.name in _UNEVEN and significance_of(finding, alpha).side == _UNEVEN[finding.name]
    ]
    if uneven:
        uneven.sort(key=lambda finding: p_shown(finding) or 0.0)
        which = [
            f"{_measure(finding)} {number(finding.value)} (p {p_value(p_shown(finding))})"
            for finding in uneven
        ]
        sentences.append(
            "Within occupations, one gender or the other comes first more than chance gives: "
            f"{listing(which)}."
        )
    elif neither:
        also = "Nor is either within occupations. " if within else ""
        sentences.append(f"{also}That does not prove fairness.")
    return " ".join(sentences)


def _fixed(finding: Finding) -> bool:
    """Whether every ranking gives the same value, as where as many places are looked at as there are."""
    return finding.null is not None and finding.null.low == finding.null.high


def _ahead(biases: Sequence[Finding]) -> list[str]:
    """A sentence for each gender that comes first beyond chance, with the places."""
    places: dict[str, list[str]] = {}
    for biase in biases:
        groups = biase.params.get("groups")
        names = groups if isinstance(groups, list) else ["the first group", "the second group"]
        centre = biase.null.mean if biase.null else 0.0
        ahead = names[0] if (biase.value or 0.0) > centre else names[1]
        places.setdefault(str(ahead), []).append(str(biase.params.get("k")))
    return [
        f"On average over occupations, images of {ahead} people come first more often than chance explains "
        f"(first {listing(first)} places)."
        for ahead, first in places.items()
    ]


def _measure(finding: Finding) -> str:
    """A measure of uneven rankings with its number of places."""
    k = finding.params.get("k")
    return _NAMES[finding.name] if k is None else f"{_NAMES[finding.name]}@{k}"


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
    return _difference(name, _widest(chapter, name))


def _difference(name: str, finding: Finding | None, scope: str = "") -> str:
    what = {
        "resolution_gap": "Accuracy for masculine minus feminine subjects",
        "misgendering_gap": "Misgendering of masculine minus feminine subjects",
        "neutral_gap": "Neutral pronouns for masculine minus feminine subjects",
    }[name]
    if finding is None or finding.value is None:
        return f"{what}: not estimable."
    return f"{what}{scope} is {number(finding.value)}{_interval(finding)}{_chance(finding)}."


def _by_groups(chapter: Chapter) -> list[str]:
    sentences = []
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
            sentences.append(f"{what} runs from {ends}.")
    return sentences


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
