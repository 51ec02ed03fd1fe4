"""Sentences about the effect sizes of classes, and about one table of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from evenhand.core.findings import Part
from evenhand.core.significance import is_beyond, significance_of, uncorrected
from evenhand.display.text.formatting import key_text, listing, number, p_value, plain, plural, quoted
from evenhand.display.text.language import _
from evenhand.display.text.reasons import verdict_text
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement, bracketed, reworded
from evenhand.report import glossary
from evenhand.report.chapters import Chapter
from evenhand.report.wording.phrases import value_of

CHANCE = "what chance alone gives"
"""What the verdict on a value compares it with."""

BY_P = (
    "The adjusted p is at most {alpha} in {n} of the {classes} tested, after {how} for testing many classes"
)
BY_INTERVAL = (
    "The adjusted p is at most {alpha}, and the interval leaves out what chance gives, in {n} of the "
    "{classes} tested, after {how} for testing many classes"
)
_CORRECTIONS = {
    "holm": "Holm’s correction",
    "bh": "the Benjamini–Hochberg correction",
    "bonferroni": "Bonferroni’s correction",
}


def bands(chapter: Chapter, alpha: float) -> list[str]:
    """How many effect sizes lie in which band."""
    usable = chapter.ranked
    if not usable:
        return []
    estimable = of_classes(len(usable), len(chapter.classes))
    strong = [part for part in usable if part.band in ("medium", "large") and _judged_alone(part)]
    usual = [part for part in strong if uncorrected(part, alpha).side != "above"]
    chance = _(
        " Of the medium and large ones, {usual} of {strong} are no more than chance gives.",
        usual=len(usual),
        strong=len(strong),
    )
    sentence = _(
        "Effect sizes could be estimated for {classes}: {bands}.",
        classes=estimable,
        bands=band_words(usable),
    )
    return [sentence + (chance if usual else "")]


def certainty(chapter: Chapter, alpha: float) -> list[str]:
    """How many classes differ beyond chance, corrected and each by itself."""
    usable = chapter.ranked
    tested = [part for part in usable if part.p_adjusted is not None and part.role != "exploratory"]
    banded = [part for part in usable if _judged_alone(part)]
    tests, bands = "", ""
    if tested:
        correction = chapter.effect.adjustment if chapter.effect else None
        usual = f"correction ({correction})" if correction else "correction"
        how = _(_CORRECTIONS.get(str(correction).lower(), usual))
        hits = sum(is_beyond(part, alpha) for part in tested)
        tests = _(
            BY_INTERVAL if hits < sum((part.p_adjusted or 0.0) <= alpha for part in tested) else BY_P,
            alpha=plain(alpha),
            n=hits or _("none"),
            classes=plural(len(tested), "class", "classes"),
            how=how,
        )
    elif any(part.p_value is not None for part in usable):
        tests = _(
            "No class gets a verdict of its own, since all effect sizes together show none beyond chance"
        )
    elif usable:
        tests = _("No tests were made, so nothing here says how far chance alone explains the differences")
    if banded:
        inside = sum(uncorrected(part, alpha).side == "within" for part in banded)
        bands = _(
            "each taken by itself, within what chance alone gives: {classes}",
            classes=of_classes(inside, len(banded)),
        )
    sentence = Statement.joined((tests, bands), "; ")
    return [sentence + "."] if sentence else []


def largest(chapter: Chapter, alpha: float) -> list[str]:
    """The class with the largest effect size."""
    usable = chapter.ranked
    if not usable:
        return []
    top = usable[0]
    chance = ""
    if top.null is not None:
        standing = verdict_text(significance_of(top, alpha), CHANCE) or _("chance alone gives")
        ends = Rounding.of(top).span(top.null)
        chance = Statement.of("; {standing} {ends}", standing=standing, ends=ends)
    return [
        _(
            "The largest, for {name}, is {value}{chance}.",
            value=value_of(top),
            name=quoted(key_text(top.key)),
            chance=chance,
        )
    ]


def skewsize(chapter: Chapter) -> list[str]:
    """SkewSize with what must stand beside it."""
    finding = chapter.effect
    if finding is None or finding.value is None:
        return []
    companions = [
        Statement.joined((_(word), number(other.value)))
        for word, name in (("mean", "mean"), ("median", "median"), ("maximum", "max"))
        if (other := chapter.first(f"cramers_v_{name}")) is not None and other.value is not None
    ]
    beside = _("Beside it stand their {companions}.", companions=listing(companions)) if companions else ""
    rounding = Rounding.of(finding)
    ends = rounding.span(finding.null) if finding.null else ""
    where = _("; chance alone gives {ends}", ends=ends) if ends else ""
    caveat = _(" Note: {reason}.", reason=glossary.reason(finding.reason)) if finding.reason else ""
    sentence = _(
        "SkewSize, the lopsidedness of these effect sizes, is {value}{where}.{caveat} {beside}",
        value=rounding.text(finding.value),
        where=where,
        caveat=caveat,
        beside=beside,
    )
    return [reworded(sentence, sentence.rstrip())]


def independence(chapter: Chapter) -> list[str]:
    """The one table of group by prediction, whatever the truth: its size beside what chance gives."""
    finding = chapter.made_of("one table")
    if finding is None or finding.value is None or finding.null is None:
        return []
    band = _(", {band} by its band", band=_(finding.band)) if finding.band else ""
    rounding = Rounding.of(finding)
    chance = rounding.span(finding.null)
    size = _(
        "Whatever the truth, predictions and group go together with V = {value}{band}",
        value=rounding.text(finding.value),
        band=band,
    )
    p, kind = "", bracketed(_("exploratory") if finding.role == "exploratory" else "")
    if finding.p_value is not None:
        p = Statement.of("; p {p}{kind}", p=p_value(finding.p_value), kind=kind)
    return [Statement.joined((size, _("; chance alone gives {ends}", ends=chance), p, "."), "")]


def band_words(parts: Sequence[Part]) -> str:
    """How many parts lie in each band, in a sentence."""
    counts = Counter(part.band for part in parts)
    words: list[str] = [
        Statement.of("{n} {band}", n=counts[band], band=_(band))
        for band in ("negligible", "small", "medium", "large")
    ]
    return listing([*words, *([_("{n} without a band", n=counts[None])] if counts[None] else [])])


def of_classes(some: int, total: int) -> str:
    """Some of all classes."""
    return _("{n} of {classes}", n=some or _("none"), classes=plural(total, "class", "classes"))


def _judged_alone(part: Part) -> bool:
    return part.null is not None and part.role != "exploratory"
