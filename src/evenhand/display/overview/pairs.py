"""Headlines of pairs of sets: how often an item of the one lies nearer to something than one of the other.

Of mitigations: how often before, and how often after, on held-out items.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evenhand.core.findings import Ends, Finding
from evenhand.core.significance import excludes, is_beyond, p_shown, significance_of
from evenhand.display.overview import values
from evenhand.display.overview.content import Chart, Headline, Mark
from evenhand.display.overview.phrasing import (
    of_finding,
    scoped,
    title_of,
    weight,
    whole_number,
)
from evenhand.display.overview.subject import Subject
from evenhand.display.text.disparities import share
from evenhand.display.text.formatting import count, key_text, number, of, p_value, plural, shorten
from evenhand.display.text.language import _
from evenhand.display.text.parameters import in_words
from evenhand.display.text.rounding import Rounding

LARGEST_PAIR = (
    "{comparisons} of two groups within what chance alone gives; the largest{name}: {title} {value} (p {p})."
)
UNCHANGED = "By an interval that leaves out 0 it is changed for none of {pairs} of groups."
CHANGED = (
    "By an interval that leaves out 0 it is weaker for {weaker} and stronger for {stronger} of {pairs} "
    "of groups."
)
_TIER = 0.5
_WHEN = ("before", "after")
_COMPARED = ("targets", "attributes", "form", "half", "stage")


@dataclass(frozen=True)
class Sets:
    """Two sets, and to what the first lies nearer than the second."""

    near: str
    far: str
    to: str  # what ``near`` lies nearer to
    than: str  # what it lies farther from

    @classmethod
    def of(cls, finding: Finding, turned: bool) -> Sets | None:
        """Those of a finding; ``turned``: the second lies nearer. None where it does not name them."""
        targets, attributes = (finding.params.get(name) for name in ("targets", "attributes"))
        if not isinstance(targets, list) or not isinstance(attributes, list):
            return None
        if len(targets) != 2 or len(attributes) != 2:
            return None
        near, far = targets[::-1] if turned else targets
        return cls(*map(shorten, (near, far, *attributes)))


def headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """One: in how many of all pairs of items the item of one set lies nearer."""
    turned = (finding.value or 0.0) < 0
    sets, hits = Sets.of(finding, turned), hits_of(finding, "auc", turned)
    card = finding.card.model_copy(update={"unit": None})  # divided by its spread it is no share
    if finding.value is None or sets is None or hits is None:
        is_divided = finding.params.get("standardised")
        return values.headlines(finding.with_card(card) if is_divided else finding, subject)
    near, pairs = hits
    scope = subject.scope(finding)
    texts = {"near": sets.near, "far": sets.far, "to": sets.to, "hits": of(near, pairs)}
    return [
        of_finding(
            finding,
            subject,
            card=card,
            text=_(
                "{near}: nearer to {to} than {far} in {hits} pairs of {noun}.", **texts, noun=subject.noun
            ),
            sentence=scoped(
                _(
                    "In {hits} pairs of one {near} and one {far} {noun} ({share}), the {near} one lies "
                    "nearer to {to}, against {than}.",
                    **texts,
                    noun=_sample_noun(subject),
                    share=share(near / pairs),
                    than=sets.than,
                ),
                scope,
            ),
            weight=weight(finding, _TIER),
            chart=_chart(finding, sets, subject),
            scope=scope,
            title=_measured(finding),
        )
    ]


def hits_of(finding: Finding, detail: str, turned: bool) -> Ends | None:
    """Pairs in which the one lies nearer, and all pairs; None where the details do not say.

    A tie counts half, so that the number may end in .5.
    """
    share_of, n_x, n_y = (finding.details.get(name) for name in (detail, "n_x", "n_y"))
    if not isinstance(share_of, float) or not isinstance(n_x, float) or not isinstance(n_y, float):
        return None
    pairs = n_x * n_y
    halves = whole_number(2 * pairs * (1 - share_of if turned else share_of))
    return None if halves is None or not pairs else (halves / 2, pairs)


def silence(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """How many pairs of sets are within chance, and the largest of them."""
    beyond = _comparisons(finding for finding in findings if is_beyond(finding, subject.alpha))
    tested = [finding for finding in findings if significance_of(finding, subject.alpha).side]
    within = [finding for finding in tested if _comparison(finding) not in beyond]
    if not within:
        return []
    largest = max(within, key=lambda finding: weight(finding, _TIER))
    sets = Sets.of(largest, (largest.value or 0.0) < 0)
    name = _(" is {near} beside {far}", near=sets.near, far=sets.far) if sets else ""
    value, p, scope = number(largest.value), p_value(p_shown(largest)), subject.scope(largest)
    return [
        _(
            LARGEST_PAIR,
            comparisons=plural(len(_comparisons(within)), "comparison"),
            name=name,
            title=scoped(title_of(largest), scope, ""),
            value=value,
            p=p,
        )
    ]


def nothing(findings: Sequence[Finding], subject: Subject) -> str:
    """That no pair of sets is beyond chance."""
    ends = {sets.to for finding in findings if (sets := Sets.of(finding, False))}
    to = _(" to {set}", set=ends.pop()) if len(ends) == 1 else ""
    tested = [finding for finding in findings if significance_of(finding, subject.alpha).side]
    if len(_comparisons(tested)) == 1:
        return _("In the one comparison of two groups neither lies nearer{to} beyond chance.", to=to)
    many = plural(len(_comparisons(tested)), "comparison")
    text = "In none of {comparisons} of two groups does one lie nearer{to} beyond chance."
    return _(text, comparisons=many, to=to)


def _comparison(finding: Finding) -> str:
    """Which two groups are compared over what: one, however its value is expressed."""
    return repr([finding.params.get(name) for name in _COMPARED])


def _comparisons(findings: Iterable[Finding]) -> set[str]:
    return {_comparison(finding) for finding in findings}


def _measured(finding: Finding) -> str:
    """What is measured; of a difference of probabilities, whether it is divided by its spread."""
    spread = f", {in_words('standardised', True)}" if finding.params.get("standardised") else ""
    return f"{title_of(finding)}{spread}"


def _sample_noun(subject: Subject) -> str:
    return _(subject.nouns.sample[0])


def _chart(finding: Finding, sets: Sets, subject: Subject) -> Chart:
    """The mean of both sets, and each item as a dot."""
    parts = [part for part in finding.parts if part.kind == "set" and part.value is not None]
    beyond = is_beyond(finding, subject.alpha)
    marks = tuple(Mark(key_text(part.key), part.value or 0.0, named=True, beyond=beyond) for part in parts)
    dots = {mark.label: _items(finding, mark.label, subject) for mark in marks}
    return Chart(
        _("How much nearer {noun} lie to {to} than to {than}", noun=subject.noun, to=sets.to, than=sets.than),
        marks,
        unit="number",
        fair=0.0,
        note=_dot_is(_sample_noun(subject)) if any(dots.values()) else "",
        dots={label: items for label, items in dots.items() if items},
    )


def _items(finding: Finding, name: str, subject: Subject) -> tuple[Mark, ...]:
    """Items of a set, from the finding that holds them."""
    params = {"target": name} | {key: finding.params.get(key) for key in ("form", "attributes")}
    for other in subject.findings:
        same = all(other.params.get(key) == value for key, value in params.items())
        if other.name == finding.card.parts_of and same:
            nearer = [(key_text(part.key), part.details.get("association")) for part in other.parts]
            return tuple(Mark(key, at) for key, at in nearer if isinstance(at, float))
    return ()


def _dot_is(noun: str) -> str:
    return _("Each dot is an {noun}." if noun[:1].lower() in "aeiou" else "Each dot is a {noun}.", noun=noun)


def reduction_headlines(finding: Finding, subject: Subject) -> list[Headline]:
    """One: in how many pairs of items one lies nearer before, and in how many after."""
    turned = _before(finding) < 0
    sets = Sets.of(finding, turned)
    before, after = (hits_of(finding, f"auc_{when}", turned) for when in _WHEN)
    if finding.value is None or sets is None or before is None or after is None:
        return values.headlines(finding, subject)
    texts = {"near": sets.near, "far": sets.far, "to": sets.to, "hits": of(*before), "half": _half(finding)}
    return [
        of_finding(
            finding,
            subject,
            text=_(
                "{near}: nearer to {to} than {far} in {hits} {half}pairs before, {later} after.",
                **texts,
                later=count(after[0]),
            ),
            sentence=_(
                "On {half}{noun}, {near} lies nearer to {to} than {far} in {hits} pairs before and in "
                "{later} after; d goes from {d} to {later_d}.",
                **texts,
                noun=subject.noun,
                later=count(after[0]),
                d=number(_before(finding)),
                later_d=number(_detail(finding, "after")),
            ),
            weight=_reduction_weight(finding),
            random=_at_random(finding),
            chart=_before_after(finding, sets, is_beyond(finding, subject.alpha)),
        )
    ]


def reduction_silence(findings: Sequence[Finding], subject: Subject) -> list[str]:
    """For how many pairs the interval leaves 0 out, and on which side."""
    estimable = [finding for finding in findings if finding.interval is not None]
    if not estimable:
        return []
    clear = [finding for finding in estimable if excludes(finding.interval, 0.0)]
    weaker = sum((finding.value or 0.0) > 0 for finding in clear)
    stronger = len(clear) - weaker
    pairs = plural(len(estimable), "pair")
    if not clear:
        return [_(UNCHANGED, pairs=pairs)]
    return [_(CHANGED, weaker=count(weaker), stronger=count(stronger), pairs=pairs)]


def _at_random(finding: Finding) -> str:
    """What removing as much at random reaches; empty where nothing says."""
    if finding.null is None:
        return ""
    return _("Removing as much at random would give {ends}.", ends=Rounding.of(finding).span(finding.null))


def reduction_nothing(findings: Sequence[Finding], subject: Subject) -> str:
    """In how many pairs of groups the association is weaker afterwards, without a verdict."""
    weaker = sum((finding.value or 0.0) > 0 for finding in findings)
    stronger = sum((finding.value or 0.0) < 0 for finding in findings)
    return _(
        "After the mitigation, on {half}{noun}: weaker in {weaker} pairs of groups, stronger in {stronger}.",
        half=_half(findings[0]),
        noun=subject.noun,
        weaker=of(weaker, len(findings)),
        stronger=count(stronger),
    )


def _before(finding: Finding) -> float:
    return _detail(finding, "before") or 0.0


def _detail(finding: Finding, name: str) -> float | None:
    value = finding.details.get(name)
    return value if isinstance(value, float) else None


def _half(finding: Finding) -> str:
    half = finding.params.get("half")
    return _(f"{half} ".replace("_", "-")) if half else ""


def _reduction_weight(finding: Finding) -> tuple[float, ...]:
    """By the end of the interval nearer to 0, then by how strong the association was before."""
    tier, nearer, _ = weight(finding, _TIER)
    return tier, nearer, abs(_before(finding))


def _before_after(finding: Finding, sets: Sets, beyond: bool) -> Chart:
    values = {when: at for when in _WHEN if (at := _detail(finding, when)) is not None}
    marks = [Mark(_(when), at, named=True, beyond=beyond) for when, at in values.items()]
    text = "Effect size d: {near} nearer to {to} than {far}"
    title = _(text, near=sets.near, to=sets.to, far=sets.far)
    return Chart(title, tuple(marks), unit="number", fair=0.0)
