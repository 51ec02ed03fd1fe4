"""What the reader must know about every audit: what its numbers are not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evenhand.core.nouns import words_of
from evenhand.display.text.formatting import attribute, listing, plain, plural, quoted
from evenhand.display.text.language import _
from evenhand.report.chapters import Chapter

# Whole words (age, not image) and stems (ethnicity, skin tone) that speak of people.
_ABOUT_PEOPLE = re.compile(
    r"(?<![a-z])((age|sex|race)(?![a-z])|gender|racial|ethnic|skin|national|religio|disab)", re.I
)
EFFECT_SIZE = (
    "Within the rows of one true class, the effect size (Cramér’s V) says how much the prediction depends "
    "on the group: 0 not at all, 1 entirely. By chance even a model that treats all groups alike shows more "
    "than 0."
)
CAUTION = (
    "These are associations, not causes: the audit shows that something differs between groups, not why. "
    "Which of these differences harm someone is a question of context that no number here answers."
)

_ALWAYS = (
    "It shows associations, not causes. Groups may differ for reasons that lie outside the model, such as "
    "how the images were taken or how the truth was assigned.",
    "It does not measure harm. A small difference may matter greatly in one use, a large one not at all.",
    "It speaks only of the rows, classes and groups in this table, and of the attributes annotated.",
)


def perceived(columns: Iterable[str], manifest: Mapping[str, Any] | None = None) -> list[str]:
    """What must be said about attributes that people saw in others, and about those that nobody vouches for.

    The manifest's ``about`` may say who gave each attribute.
    """
    names = list(dict.fromkeys(columns))
    sources = _annotation_sources(manifest or {})
    self_described = [name for name in names if sources.get(name) == "the person"]
    annotated = [name for name in names if "perceived" in name.lower() or sources.get(name) == "annotators"]
    prompted = [name for name in names if sources.get(name) == "the prompt"]
    stated = {
        *self_described,
        *annotated,
        *prompted,
        *(name for name in names if sources.get(name) == "the recording"),
    }
    unclear = [
        name
        for name in names
        if name not in stated and "self" not in name.lower() and _ABOUT_PEOPLE.search(name)
    ]
    sentences = []
    if self_described:
        sentences.append(
            _(
                "{columns} {is_or_are} what the people shown said of themselves.",
                columns=_columns(self_described),
                is_or_are=_verb(self_described),
            )
        )
    if annotated:
        sentences.append(
            _(
                "{columns} {is_or_are} perceived: annotators judged from an image, and the people shown "
                "may describe themselves differently.",
                columns=_columns(annotated),
                is_or_are=_verb(annotated),
            )
        )
    if prompted:
        sentences.append(
            _(
                "{columns} {is_or_are} what prompts of generated images asked for: nobody in them exists, "
                "and the generator has stereotypes of its own.",
                columns=_columns(prompted),
                is_or_are=_verb(prompted),
            )
        )
    if unclear:
        sentences.append(
            _(
                "The run does not say who assigned {columns}. Unless the people shown said so themselves, "
                "read {it_or_them} as perceived.",
                columns=_columns(unclear),
                it_or_them=_("it") if len(unclear) == 1 else _("them"),
            )
        )
    return sentences


def _annotation_sources(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Who gave each attribute, as far as the run says it."""
    about = manifest.get("about")
    sources = about.get("annotated_by") if isinstance(about, Mapping) else None
    return sources if isinstance(sources, Mapping) else {}


def _columns(names: Sequence[str]) -> str:
    return listing(quoted(attribute(name)) for name in names)


def _verb(names: Sequence[str]) -> str:
    return _("is") if len(names) == 1 else _("are")


def _of_tests(alpha: float, compared: bool) -> list[str]:
    """What null bands and corrected tests do not say."""
    alike = _("a model without any group difference")
    if compared:
        alike = _("the difference of two models with one distribution of answers")
    family = (
        _("One measure is corrected over all pairs of models and groupings; different measures are not.")
        if compared
        else _(
            "The classes of one grouping are corrected together, and so is one metric over all groupings; "
            "different metrics and repeated audits are not."
        )
    )
    return [
        _(
            "A value within its null band is what {alike} would often show by chance. It is "
            "absence of evidence, not evidence of absence.",
            alike=alike,
        ),
        _(
            "Tests use level {alpha}. {family} The more is examined, the more will stand out by chance.",
            alpha=plain(alpha),
            family=family,
        ),
    ]


def cannot_show(
    chapters: Sequence[Chapter], alpha: float, manifest: Mapping[str, Any] | None = None
) -> list[str]:
    """What the audit cannot show."""
    columns = [column for chapter in chapters for column in chapter.by]
    about_people = list(map(_, words_of(manifest or {}).limits))
    weak = sum(part.mde is not None and part.mde >= 0.3 for chapter in chapters for part in chapter.classes)
    sentences = [
        *map(_, _ALWAYS),
        *(about_people or perceived(columns, manifest)),
        *_of_tests(alpha, (manifest or {}).get("kind") == "compare"),
    ]
    if any(chapter.effect is not None for chapter in chapters) or not about_people:
        sentences.append(
            _(
                "SkewSize ignores how large effect sizes are: two models may share it and differ in every "
                "class."
            )
        )
    if weak:
        sentences.insert(
            5,
            _(
                "Few rows hide much: for {classes}, counted once per grouping, the smallest effect "
                "that could reliably be seen is 0.3 or more.",
                classes=plural(weak, "class", "classes"),
            ),
        )
    return sentences


def suppressed(fewest: int) -> list[str]:
    """That small cells are hidden, and what this does not protect against; nothing where none are."""
    if not fewest:
        return []
    return [
        _(
            "Counts of fewer than {fewest} rows are hidden, with as many others beside them "
            "as it takes that none follows from the counts, totals and rates of this report; "
            "“hidden” does not say which of them were small. Values made of hidden cells are "
            "hidden too, so what is missing here was not always missing in the run. A rate that is "
            "shown says how many rows are right or wrong, however few. A hidden "
            "count may still be known within bounds, and further reports on the same rows, "
            "or knowledge of some of them, may tell more. This is not differential privacy.",
            fewest=fewest,
        )
    ]
