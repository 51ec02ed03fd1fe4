"""Text alternatives of the charts: what a reader who does not see them should know."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from evenhand.core.findings import Part
from evenhand.core.significance import significance_of
from evenhand.core.text.formatting import key_text, number, plural, quoted, span
from evenhand.report.chapters import Chapter
from evenhand.report.wording.sentences import band_words

_NAMED = 12


def histogram(chapter: Chapter) -> str:
    """A text alternative for the distribution of effect sizes."""
    usable = chapter.ranked
    classes_text = f"{plural(len(usable), 'class', 'classes')}: {band_words(usable)}"
    sentence = f"Histogram of the effect sizes of {classes_text}.{_typical(usable)}"
    return f"{sentence} The table of classes holds every value."


def classes(chapter: Chapter, alpha: float) -> str:
    """A text alternative for the chart of effect sizes by class."""
    usable = chapter.ranked
    if not usable:
        return "No class has an effect size."
    top, bottom = usable[0], usable[-1]
    if len(usable) == 1:
        ends = f"Effect size of the one class {_named(top)}: {number(top.value)}, with interval and null band"
    elif number(top.value) == number(bottom.value):
        ends = f"Effect sizes by class with intervals and null bands, {number(top.value)} for every class"
    else:
        ends = (
            f"Effect sizes by class with intervals and null bands, from {number(top.value)} for "
            f"{_named(top)} down to {number(bottom.value)} for {_named(bottom)}"
        )
    return f"{ends}.{_beyond(usable, alpha)} The table of classes holds every value."


def scatter(chapter: Chapter, alpha: float) -> str:
    """A text alternative for accuracy against effect size."""
    usable = chapter.ranked
    return (
        f"Accuracy against effect size of {plural(len(usable), 'class', 'classes')}, each with the interval "
        f"and null band of its effect size.{_beyond(usable, alpha)} The table of classes holds both values."
    )


def groups(chapter: Chapter, alpha: float) -> str:
    """A text alternative for accuracy by group."""
    ranked = chapter.ranked_groups
    parts = [f"{_named(part)} {number(part.value)}" for part in ranked[:_NAMED]]
    more = f" and {len(ranked) - _NAMED} more" if len(ranked) > _NAMED else ""
    bands = " and null bands" if any(part.null for part in ranked) else ""
    return (
        f"Accuracy by group with intervals{bands}: {', '.join(parts)}{more}.{_beyond(ranked, alpha, 'group')}"
    )


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
    return f" Beyond chance: {hits or 'none'} of {plural(len(tested), singular, many)}."


def _typical(parts: Sequence[Part]) -> str:
    bands = [part.null for part in parts if part.null is not None]
    if not bands:
        return ""
    ends = span(median(band.low for band in bands), median(band.high for band in bands))
    return f" What chance alone gives a class in the middle of them: {ends}."
