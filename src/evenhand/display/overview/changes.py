"""Headlines of comparisons: what is more or less with one model than with another, and for whom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from evenhand.core.cards import MetricCard
from evenhand.core.findings import Ends, Finding, Part
from evenhand.core.significance import is_beyond, lead_of, significance_of
from evenhand.display.overview.content import Chart, Headline, Mark
from evenhand.display.overview.phrasing import (
    amount,
    capital,
    certainty,
    chance,
    defined,
    in_unit,
    models_of,
    plain_counts,
    scoped,
    size,
    title_of,
    weight,
    whole_number,
)
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import count, listing, of
from evenhand.display.text.language import _
from evenhand.display.text.reasons import verdict_text
from evenhand.display.text.statement import Statement

_COUNTED, _SHARES, _OTHERS = 0.5, 0.4, 0.3  # tiers
_SAME = "same samples"
BETTER_THAN = "{title}: {newer} is {amount} better than {older}"
WORSE_THAN = "{title}: {newer} is {amount} worse than {older}"
HIGHER = "{title}: higher with {model} than with {reference}"
LOWER = "{title}: lower with {model} than with {reference}"
IS_BETTER = "{model} is better, more than chance gives"
IS_WORSE = "{model} is worse, more than chance gives"
_BETTER = {"lower is fairer": -1, "higher is fairer": 1, "higher is better": 1, "low": -1, "high": 1}
_NUMBER = (
    "outcome"  # the unit of metrics of numbers, of which a parameter says whether ``high`` or ``low`` is good
)


@dataclass(frozen=True)
class _Change:
    """What two models have of a finding, or of one of its parts."""

    finding: Finding
    holder: Finding | Part
    pair: Ends

    @classmethod
    def of(cls, finding: Finding, holder: Finding | Part) -> _Change | None:
        """None where nothing says what the two have."""
        first, second = (holder.details.get(name) for name in ("first", "second"))
        if not isinstance(first, int | float) or not isinstance(second, int | float):
            return None
        return cls(finding, holder, (first, second))

    @property
    def card(self) -> MetricCard:
        """What the metric that is compared means."""
        return self.finding.card.of or self.finding.card

    @property
    def counts(self) -> Ends | None:
        """How many of the same samples both have; None where the values are no rates of single samples."""
        if not self.card.sentences.hits or self.finding.details.get("compared") != _SAME:
            return None
        hits = [whole_number(self.holder.details.get(f"{which}_hits")) for which in ("first", "second")]
        if self.card.compared == "counts":  # whose values are rates of all rows
            hits = [whole_number(value * self.holder.n) for value in self.pair]
        first, second = hits
        return None if first is None or second is None else (first, second)


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """The change over all where it was tested, and those of groups that are beyond chance."""
    holders: list[Finding | Part] = [finding] if significance_of(finding, subject.alpha).side else []
    holders += [part for part in finding.parts if is_beyond(part, subject.alpha)]
    changes = [_Change.of(finding, holder) for holder in holders]
    return [_line(change, subject) for change in changes if change is not None]


def nothing(findings: Sequence[Finding], subject: Subject) -> str:
    """That the models do not differ."""
    models = _("{n} models", n=len(subject.models))
    if len(subject.models) == 2:
        models = listing(subject.models)
    return _("Nothing differs between {models} beyond chance.", models=models)


def _line(change: _Change, subject: Subject) -> Headline:
    finding, holder = change.finding, change.holder
    group = subject.member(finding.grouping, holder.key) if isinstance(holder, Part) else ""
    text, tier = _text(change, subject)
    text = Statement.of("{who}: {text}", who=group, text=text) if group else capital(text)
    side = significance_of(holder, subject.alpha)
    verdict = _verdict(change) if side.beyond else _("within what chance alone gives")
    sign = "; " if side.beyond else ", "
    scope = subject.scope(finding)
    return Headline(
        text=text + ".",
        sentence=scoped(Statement.of(f"{{text}}{sign}{{verdict}}.", text=text, verdict=verdict), scope),
        size=size(holder, defined(finding), change.card),
        chance=chance(holder, change.card, subject.alpha),
        certainty=certainty(holder, subject),
        by=finding.grouping,
        beyond=side.beyond,
        metric=finding.metric,
        weight=weight(holder, tier),
        chart=_chart(change, group, side.beyond),
        scope=scope,
    )


def _text(change: _Change, subject: Subject) -> tuple[str, float]:
    """What the two models have, counts first; and its tier."""
    finding, card, counts = change.finding, change.card, change.counts
    (model, reference), title = models_of(finding), title_of(finding)
    act = card.sentences.hits_of(subject.noun, finding.params)
    if counts is not None:
        hits = {"hits": of(counts[0], change.holder.n), "other_hits": count(counts[1])}
        text = "with {model} {hits} {act}, with {reference} {other_hits}"
        return _(text, model=model, act=act, reference=reference, **hits), _COUNTED
    if card.unit == "share" and card.sentences.hits:
        first, second = map(share, change.pair)
        text = "with {model} {first} of {act}, with {reference} {second}"
        return _(text, model=model, first=first, act=act, reference=reference, second=second), _SHARES
    measured = in_unit(finding, partial(amount, card=card))
    flips = [change.holder.details.get(name) for name in ("n_gained", "n_lost")]
    gained, lost = (number if isinstance(number, float) else None for number in flips)
    if card.unit == _NUMBER and gained is not None and lost is not None:
        first, second = map(measured, change.pair)
        text = (
            "with {model} {gained} {noun} are better and {lost} worse: {what} is {first} on average, with "
            "{reference} {second}"
        )
        what = str(finding.params.get("value", _("the number")))
        rows = {"gained": of(gained, change.holder.n), "lost": count(lost), "noun": subject.noun}
        names = {"model": model, "reference": reference, "what": what, "first": first, "second": second}
        return _(text, **rows, **names), _COUNTED
    title += _(" by {by}", by=subject.about(finding)) if finding.by else ""
    if card.unit in ("share", "share difference", _NUMBER):
        first, second = (share(value) if card.unit == "share" else measured(value) for value in change.pair)
        text = "{title}: {first} with {model}, {second} with {reference}"
        return _(text, title=title, first=first, model=model, second=second, reference=reference), _SHARES
    text = HIGHER if change.pair[0] > change.pair[1] else LOWER
    return _(text, title=title, model=model, reference=reference), _OTHERS


def gain(finding: Finding, holder: Finding | Part | None = None) -> float | None:
    """By how much the first model is better than the second; None where neither side is better."""
    card, part = finding.card.of or finding.card, holder if isinstance(holder, Part) else None
    direction: str = card.direction if part is None else card.parts_direction or card.direction
    direction = str(finding.params.get("better")) if _is_number(finding) else direction
    of = part or finding
    value = lead_of(of)
    return None if value is None or direction not in _BETTER else _BETTER[direction] * value


def _is_number(finding: Finding) -> bool:
    """Whether a difference is of how good numbers are, not of how alike groups are."""
    card = finding.card.of or finding.card
    return card.unit == _NUMBER and card.direction == "descriptive"


def direction(findings: Sequence[Finding], subject: Subject) -> str:
    """Which of two models is better, by how much; empty where nothing says, or there are more models.

    What is beyond chance comes first, and of that how often a model is right.
    """

    def last(finding: Finding) -> tuple[bool, bool]:
        good = (finding.card.of or finding.card).direction == "higher is better" or _is_number(finding)
        return not significance_of(finding, subject.alpha).beyond, not good

    for finding in sorted(findings, key=last):
        change, more = _Change.of(finding, finding), gain(finding)
        if change is None or more is None or len(subject.models) != 2:
            continue
        newer, older = reversed(models_of(finding)) if subject.is_turned(finding) else models_of(finding)
        more = -more if subject.is_turned(finding) else more
        names = {"title": title_of(finding), "newer": newer, "older": older}
        if not more:
            return _("{title}: equal with {newer} and {older} in these {noun}", noun=subject.noun, **names)
        side = significance_of(finding, subject.alpha)
        standing = verdict_text(side, "what chance alone gives") or _("not tested")
        text = BETTER_THAN if more > 0 else WORSE_THAN
        write = in_unit(finding, partial(amount, card=change.card))
        text = _(text, amount=write(abs(more)), **names)
        return text if side.beyond else Statement.joined((text, standing), ", ")
    return ""


def _verdict(change: _Change) -> str:
    """Which model is better, where more of it is better or worse."""
    sign = gain(change.finding, change.holder)
    if not sign:
        return _("more than chance gives")
    return _(IS_BETTER if sign > 0 else IS_WORSE, model=models_of(change.finding)[0])


def _chart(change: _Change, group: str, beyond: bool) -> Chart:
    """Both models' values, with their counts where they have any."""
    card, n, notes = change.card, change.holder.n, list[str]()
    unit = card.unit if card.unit in ("share", "share difference") else "number"
    texts = [share(value) if unit == "share" else amount(value, card) for value in change.pair]
    if change.counts is not None:
        texts = [of(hits, n) for hits in change.counts]
        notes = plain_counts(
            (hits / n, value) for hits, value in zip(change.counts, change.pair, strict=True)
        )
    marks = [
        Mark(*mark, beyond=beyond) for mark in zip(models_of(change.finding), change.pair, texts, strict=True)
    ]
    title = Statement.joined((group, title_of(change.finding)), ": ")
    return Chart(title, tuple(marks), unit=unit, note="".join(notes))
