"""Text alternatives of the charts: what a reader who does not see them should know."""

from __future__ import annotations

from evenhand.report.chapters import Chapter
from evenhand.report.formats import key_text, number, plural, quoted
from evenhand.report.words import band_words


def histogram(chapter: Chapter) -> str:
    """A text alternative for the distribution of effect sizes."""
    return f"Histogram of the effect sizes of {_counted(chapter)}. The table of classes holds every value."


def classes(chapter: Chapter) -> str:
    """A text alternative for the chart of effect sizes by class."""
    usable = chapter.ranked
    if not usable:
        return "No class has an effect size."
    top, bottom = usable[0], usable[-1]
    return (
        f"Effect sizes by class with intervals and null bands, from {number(top.value)} for "
        f"{quoted(key_text(top.key))} down to {number(bottom.value)} for {quoted(key_text(bottom.key))}. "
        "The table of classes holds every value."
    )


def scatter(chapter: Chapter) -> str:
    """A text alternative for accuracy against effect size."""
    return (
        f"Accuracy against effect size of {plural(len(chapter.ranked), 'class', 'classes')}. "
        "The table of classes holds both values."
    )


def groups(chapter: Chapter) -> str:
    """A text alternative for accuracy by group."""
    parts = [f"{quoted(key_text(part.key))} {number(part.value)}" for part in chapter.ranked_groups[:12]]
    return f"Accuracy by group with intervals: {', '.join(parts)}."


def _counted(chapter: Chapter) -> str:
    usable = chapter.ranked
    return f"{plural(len(usable), 'class', 'classes')}: {band_words(usable)}"
