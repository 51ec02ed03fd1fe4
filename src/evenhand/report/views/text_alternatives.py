"""Text alternatives of the charts: what a reader who does not see them should know."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from evenhand.core.findings import Part
from evenhand.core.significance import significance_of
from evenhand.display.text.formatting import key_text, number, plural, quoted, span
from evenhand.display.text.language import _
from evenhand.report.chapters import Chapter
from evenhand.report.wording.effects import band_words

_NAMED = 12
_TABLE = "The table of classes holds every value."


def histogram(chapter: Chapter) -> str:
    """A text alternative for the distribution of effect sizes."""
    usable = chapter.ranked
    classes_text = f"{plural(len(usable), 'class', 'classes')}: {band_words(usable)}"
    sentence = _("Histogram of the effect sizes of {classes}.", classes=classes_text)
    return f"{sentence}{_typical(usable)} {_(_TABLE)}"


def classes(chapter: Chapter, alpha: float) -> str:
    """A text alternative for the chart of effect sizes by class."""
    usable = chapter.ranked
    if not usable:
        return _("No class has an effect size.")
    top, bottom = usable[0], usable[-1]
    if len(usable) == 1:
        ends = _(
            "Effect size of the one class {name}: {value}, with interval and null band.",
            name=_named(top),
            value=number(top.value),
        )
    elif number(top.value) == number(bottom.value):
        ends = _(
            "Effect sizes by class with intervals and null bands, {value} for every class.",
            value=number(top.value),
        )
    else:
        ends = _(
            "Effect sizes by class with intervals and null bands, from {high} for {highest} down to {low} "
            "for {lowest}.",
            high=number(top.value),
            highest=_named(top),
            low=number(bottom.value),
            lowest=_named(bottom),
        )
    return f"{ends}{_beyond(usable, alpha)} {_(_TABLE)}"


def scatter(chapter: Chapter, alpha: float) -> str:
    """A text alternative for accuracy against effect size."""
    usable = chapter.ranked
    sentence = _(
        "Accuracy against effect size of {classes}, each with the interval and null band of its effect size.",
        classes=plural(len(usable), "class", "classes"),
    )
    return f"{sentence}{_beyond(usable, alpha)} {_('The table of classes holds both values.')}"


def groups(chapter: Chapter, alpha: float) -> str:
    """A text alternative for accuracy by group."""
    ranked = chapter.ranked_groups
    parts = [f"{_named(part)} {number(part.value)}" for part in ranked[:_NAMED]]
    more = _(" and {n} more", n=len(ranked) - _NAMED) if len(ranked) > _NAMED else ""
    title = _("Accuracy by group with intervals")
    if any(part.null for part in ranked):
        title = _("Accuracy by group with intervals and null bands")
    return f"{title}: {', '.join(parts)}{more}.{_beyond(ranked, alpha, 'group')}"


def _named(part: Part) -> str:
    return quoted(key_text(part.key))


def _beyond(parts: Sequence[Part], alpha: float, singular: str = "class") -> str:
    """How many stand beyond chance; nothing where none could."""
    significances = [significance_of(part, alpha) for part in parts]
    tested = [significance for significance in significances if significance.side]
    if not tested:
        return ""
    many = "classes" if singular == "class" else "groups"
    hits = sum(significance.beyond for significance in tested)
    all_tested = plural(len(tested), singular, many)
    return _(" Beyond chance: {n} of {parts}.", n=hits or _("none"), parts=all_tested)


def _typical(parts: Sequence[Part]) -> str:
    bands = [part.null for part in parts if part.null is not None]
    if not bands:
        return ""
    ends = span(median(band.low for band in bands), median(band.high for band in bands))
    return _(" What chance alone gives a class in the middle of them: {ends}.", ends=ends)
