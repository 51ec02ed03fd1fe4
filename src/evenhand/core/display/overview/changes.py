"""Headlines of comparisons: what is more or less with one model than with another, and for whom."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.cards import MetricCard
from evenhand.core.display.overview.content import Chart, Headline, Mark
from evenhand.core.display.overview.phrasing import (
    amount,
    capital,
    certainty,
    chance,
    of,
    scoped,
    size,
    title_of,
    weight,
    whole_number,
)
from evenhand.core.display.overview.subject import Subject
from evenhand.core.findings import Finding, Part
from evenhand.core.significance import is_beyond, significance_of
from evenhand.core.text.disparities import share
from evenhand.core.text.formatting import count, model_name

_COUNTED, _SHARES, _OTHERS = 0.5, 0.4, 0.3  # tiers
_SAME = "same samples"
_BETTER = {"lower is fairer": -1, "higher is fairer": 1, "higher is better": 1}

Holder = Finding | Part


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """The change over all where it was tested, and those of groups that are beyond chance."""
    holders: list[Holder] = [finding] if significance_of(finding, subject.alpha).side else []
    holders += [part for part in finding.parts if is_beyond(part, subject.alpha)]
    return [line for holder in holders if (line := _line(finding, holder, subject))]


def nothing(findings: Sequence[Finding], subject: Subject) -> str:
    """That the models do not differ."""
    models = " and ".join(subject.models) if len(subject.models) == 2 else f"{len(subject.models)} models"
    return f"Nothing differs between {models} beyond chance."


def _line(finding: Finding, holder: Holder, subject: Subject) -> Headline | None:
    first, second = (holder.details.get(name) for name in ("first", "second"))
    if not isinstance(first, int | float) or not isinstance(second, int | float):
        return None
    card = finding.card.of or finding.card
    names = _models(finding)
    group = "" if isinstance(holder, Finding) else f"{_group(finding, holder, subject)}: "
    text, tier = _text(finding, holder, (first, second), names, subject)
    title, text = title_of(finding), f"{group}{text}" if group else capital(text)
    side = significance_of(holder, subject.alpha)
    verdict = f"; {_verdict(finding, holder, names)}" if side.beyond else ", within what chance alone gives"
    scope = subject.scope(finding)
    return Headline(
        text=f"{text}.",
        sentence=scoped(f"{text}{verdict}.", scope),
        size=size(holder, f"{title}, {names[0]} minus {names[1]}", card),
        chance=chance(holder, card),
        certainty=certainty(holder, subject),
        by=finding.grouping,
        beyond=side.beyond,
        metric=finding.metric,
        weight=weight(holder, tier),
        chart=_chart(finding, card, names, (first, second), group),
        scope=scope,
    )


def _models(finding: Finding) -> tuple[str, str]:
    model = finding.params.get("model") or finding.model or "the first model"
    reference = finding.params.get("reference") or finding.reference or "the second"
    return model_name(model), model_name(reference)


def _group(finding: Finding, part: Part, subject: Subject) -> str:
    return subject.member(finding.grouping, part.key)


def _text(
    finding: Finding, holder: Holder, pair: tuple[float, float], names: tuple[str, str], subject: Subject
) -> tuple[str, float]:
    """What the two models have, counts first; and its tier."""
    card = finding.card.of or finding.card
    hits = [whole_number(value * holder.n) for value in pair]
    sentences = card.sentences
    act = sentences.hits_of(subject.noun, finding.params)
    is_counted = sentences.hits and card.compared == "counts" and finding.details.get("compared") == _SAME
    if is_counted and hits[0] is not None and hits[1] is not None:
        first = f"with {names[0]} {of(hits[0], holder.n)} {act}"
        return f"{first}, with {names[1]} {count(hits[1])}", _COUNTED
    if card.unit == "share":
        what = act if sentences.hits else title_of(finding)
        between = "of " if sentences.hits else ""
        first = f"with {names[0]} {share(pair[0])} {between}{what}"
        return f"{first}, with {names[1]} {share(pair[1])}", _SHARES
    by = f" by {subject.about(finding)}" if finding.by else ""
    if card.unit == "share difference":
        first, second = (amount(value, card) for value in pair)
        return f"{title_of(finding)}{by}: {first} with {names[0]}, {second} with {names[1]}", _SHARES
    order = "higher" if pair[0] > pair[1] else "lower"
    return f"{title_of(finding)}{by}: {order} with {names[0]} than with {names[1]}", _OTHERS


def _verdict(finding: Finding, holder: Holder, names: tuple[str, str]) -> str:
    """Which model is better, where more of it is better or worse."""
    card = finding.card.of or finding.card
    direction = card.direction if isinstance(holder, Finding) else card.parts_direction or card.direction
    sign = _BETTER.get(direction, 0) * (1 if (holder.value or 0.0) > 0 else -1)
    if not sign:
        return "more than chance gives"
    return f"{names[0]} is {'better' if sign > 0 else 'worse'}, more than chance gives"


def _chart(
    finding: Finding, card: MetricCard, names: tuple[str, str], pair: tuple[float, float], group: str
) -> Chart:
    unit = card.unit if card.unit in ("share", "share difference") else "number"
    texts = [share(value) if unit == "share" else amount(value, card) for value in pair]
    marks = [Mark(name, value, text) for name, value, text in zip(names, pair, texts, strict=True)]
    return Chart(f"{group}{title_of(finding)}", tuple(marks), unit=unit)
