"""Findings on pronouns in plain sentences. Nothing here computes a number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.core.findings import Finding, Part
from evenhand.core.significance import ALPHA, is_beyond, p_shown
from evenhand.display.text.formatting import count, key_text, listing, number, p_value, plural
from evenhand.display.text.language import _
from evenhand.display.text.parameters import in_words
from evenhand.display.text.statement import Statement
from evenhand.report.chapters import Chapter
from evenhand.report.wording.phrases import (
    NO_PROOF,
    NOT_ESTIMABLE,
    against_null,
    is_tested,
    value_of,
    value_or_0,
)

if TYPE_CHECKING:
    import polars

_FAMILY = "pronouns"
NULL = (
    "The null band of a share is what the same choices give if they are dealt to other people of the same "
    "occupation; that of masculine minus feminine, what exchanging the genders within each occupation gives."
)


def null_in_words(chapter: Chapter) -> str:
    """What the null bands of a chapter are; nothing for other chapters."""
    return _(NULL) if _names(chapter) else ""


def verdict(chapter: Chapter, alpha: float) -> str:
    """The one line to remember; empty for other chapters."""
    return _choice_verdict(chapter, alpha) if _names(chapter) else ""


def finding_sentences(chapter: Chapter, alpha: float = ALPHA) -> list[str]:
    """What was found, each figure beside what chance alone gives; nothing for other chapters.

    Settings apart from the widest one are named where the verdict speaks of them.
    """
    if not _names(chapter):
        return []
    if chapter.by:
        return _by_groups(chapter)
    return [
        *(_rate(chapter, name) for name in _names(chapter, gaps=False)),
        *(_difference(_widest(chapter, name)) for name in _names(chapter, gaps=True)),
        *(_difference(gap, f" ({_scope(gap)})") for gap in _apart(chapter, alpha)),
    ]


def _names(chapter: Chapter, *, gaps: bool | None = None) -> list[str]:
    """Names of the metrics of pronouns in a chapter: all, or only gaps between genders, or only rates."""
    cards = {finding.name: finding.card for finding in chapter.findings if finding.card.family == _FAMILY}
    return [name for name, card in cards.items() if gaps is None or bool(card.sentences.more) is gaps]


def coverage(table: polars.DataFrame | None) -> str:
    """How many images the findings rest on; empty where the run does not say."""
    if table is None or not {"samples", "usable", "complete"} <= set(table.columns):
        return ""
    samples, usable, complete = (int(table[name].sum()) for name in ("samples", "usable", "complete"))
    short = table.filter(table["usable"] < table["complete"]).height
    sentence = _(
        "Coverage: {n} of {images} could be used, of {complete} in a complete release.",
        n=count(usable),
        images=plural(samples, "image"),
        complete=count(complete),
    )
    if short:
        fewer = (
            " {n} of {cells} cells of occupation and gender has fewer images than there should be: the "
            "findings speak of the images that are there. The run’s table “coverage” lists them."
            if short == 1
            else " {n} of {cells} cells of occupation and gender have fewer images than there should be: the "
            "findings speak of the images that are there. The run’s table “coverage” lists them."
        )
        sentence += _(fewer, n=count(short), cells=count(table.height))
    return sentence


def _choice_verdict(chapter: Chapter, alpha: float) -> str:
    if chapter.by:
        return _group_verdict(chapter, alpha)
    widest = [_widest(chapter, name) for name in _names(chapter, gaps=True)]
    widest = [gap for gap in widest if gap.value is not None]
    if not widest:
        return _(NOT_ESTIMABLE)
    sentences = [_leaning(gap) for gap in widest if is_beyond(gap, alpha)]
    apart, tested = _apart(chapter, alpha), sum(is_tested(gap) for gap in _gaps(chapter))
    if not sentences:
        also = _(" or in any other setting") if tested > len(widest) and not apart else ""
        where = _(", over {scope}{also}", scope=_scope(widest[0]), also=also) if tested > len(widest) else ""
        text = "Neither accuracy, misgendering nor the neutral pronoun differs between genders beyond chance"
        sentences = [Statement.of("{text}{where}.", text=_(text), where=where)]
        sentences += [] if apart else [_(NO_PROOF)]
    if apart:
        sentences.append(
            _("In part of the images: {sentences}", sentences=Statement.joined(map(_leaning, apart)))
        )
    return Statement.joined(sentences)


def _gaps(chapter: Chapter) -> list[Finding]:
    """Differences between genders, in every setting, that have a value."""
    names = _names(chapter, gaps=True)
    return [finding for finding in chapter.findings if finding.name in names and finding.value is not None]


def _apart(chapter: Chapter, alpha: float) -> list[Finding]:
    """Gaps of a setting beyond chance that the widest one is not, or that go the other way."""
    gaps = []
    for gap in _gaps(chapter):
        wide = _widest(chapter, gap.name)
        if gap is wide or not is_beyond(gap, alpha):
            continue
        same = (gap.value or 0.0) * (wide.value or 0.0) > 0
        if not (same and is_beyond(wide, alpha)):
            gaps.append(gap)
    return gaps


def _leaning(finding: Finding) -> str:
    """Whom a gap beyond chance favours, with its number as the list below has it."""
    facts = [_scope(finding), _("masculine minus feminine {value}", value=number(finding.value))]
    facts += [Statement.of("p {p}", p=p_value(p_shown(finding)))] if p_shown(finding) is not None else []
    return _(
        "{who} {do_more} than chance explains ({facts}).",
        who=_("Masculine subjects") if (finding.value or 0.0) > 0 else _("Feminine subjects"),
        do_more=finding.card.sentences.more,
        facts=Statement.joined(facts, ", "),
    )


def _scope(finding: Finding) -> str:
    """The setting of a finding in words."""
    setting = finding.params.get("setting")
    return in_words("setting", setting) if setting is not None else _("all images")


def _group_verdict(chapter: Chapter, alpha: float) -> str:
    """Groups whose parts differ between genders beyond chance, for each gap."""
    sentences, tested = list[str](), 0
    for name in _names(chapter, gaps=True):
        finding = _first(chapter, name)
        parts = [part for part in _groups(finding) if part.p_adjusted is not None]
        tested = max(tested, len(parts))
        hits = [part for part in parts if is_beyond(part, alpha)]
        if hits:
            names = listing(map(_name, hits[:5])) + (_(" and others") if len(hits) > 5 else "")
            sentences.append(
                _(
                    "{what} differs between genders beyond chance in {groups}.",
                    what=finding.card.sentences.topic,
                    groups=names,
                )
            )
    if not tested:
        return _("Rates by group, without tests between genders.")
    if sentences:
        return Statement.joined(sentences)
    return _(
        "In none of {groups} does accuracy, misgendering or the neutral pronoun differ between genders "
        "beyond chance.",
        groups=plural(tested, "group"),
    )


def _rate(chapter: Chapter, name: str) -> str:
    finding = _widest(chapter, name)
    what = finding.card.sentences.value
    if finding.value is None:
        return _("{what} – : not estimable.", what=what)
    gender_rates = [
        Statement.joined((number(part.value), key_text(part.key)))
        for part in finding.parts
        if part.kind == "gender"
    ]
    return Statement.of(
        "{what} {value} ({rates}){null}.",
        what=what, value=value_of(finding), rates=Statement.joined(gender_rates, ", "),
        null=against_null(finding),
    )  # fmt: skip


def _difference(finding: Finding, scope: str = "") -> str:
    what = finding.card.sentences.value
    if finding.value is None:
        return _("{what}: not estimable.", what=what)
    return _("{what} is {value}.", what=f"{what}{scope}", value=value_of(finding) + against_null(finding))


def _by_groups(chapter: Chapter) -> list[str]:
    sentences = []
    for name in _names(chapter, gaps=False):
        finding = _first(chapter, name)
        parts = _groups(finding)
        if not any(part.value is not None for part in parts):
            parts = [part for part in finding.parts if part.kind.startswith("*".join(finding.by) + "*")]
        parts = [part for part in parts if part.value is not None]
        if parts:
            low, high = (choose(parts, key=value_or_0) for choose in (min, max))
            sentences.append(
                _(
                    "{what} runs from {low} ({lowest}) to {high} ({highest}).",
                    what=finding.card.sentences.topic,
                    low=number(low.value),
                    lowest=_name(low),
                    high=number(high.value),
                    highest=_name(high),
                )
            )
    return sentences


def _name(part: Part) -> str:
    return key_text(part.key).replace("_", " ")


def _first(chapter: Chapter, name: str) -> Finding:
    return next(finding for finding in chapter.findings if finding.name == name)


def _widest(chapter: Chapter, name: str) -> Finding:
    """The finding over all images, or over the largest setting there is."""
    return max(
        (finding for finding in chapter.findings if finding.name == name), key=lambda finding: finding.n
    )


def _groups(finding: Finding) -> list[Part]:
    return [part for part in finding.parts if part.kind == "*".join(finding.by)]
