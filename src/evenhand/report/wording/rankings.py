"""Findings on who comes first in rankings, in plain sentences. Nothing here computes a number."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.findings import Finding
from evenhand.core.nouns import Nouns
from evenhand.core.significance import is_beyond, p_shown, significance_of
from evenhand.display.text.formatting import listing, number, p_value
from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement
from evenhand.report.chapters import Chapter
from evenhand.report.wording.phrases import (
    NO_PROOF,
    NOT_ESTIMABLE,
    against_null,
    is_tested,
    members_of,
    value_of,
)

_FAMILY = "rankings"
_SIDES = {"lower is fairer": "above", "higher is fairer": "below"}
NULL = (
    "The null band is what random rankings of the same pools give: compare with it, and not with 0, which "
    "even shares in every place would give."
)


def null_in_words(chapter: Chapter) -> str:
    """What the null bands of a chapter are; nothing for other chapters."""
    return _(NULL) if _rankings(chapter) else ""


def verdict(chapter: Chapter, alpha: float) -> str:
    """Whom rankings favour on average over queries, and whether they favour anyone within them."""
    if not _rankings(chapter):
        return ""
    estimable = [finding for finding in _rankings(chapter) if finding.value is not None]
    leads = [finding for finding in estimable if finding.card.sentences.more]
    uneven = [finding for finding in estimable if finding.card.direction in _SIDES]
    if not leads and not uneven:
        return _(NOT_ESTIMABLE)
    nouns = chapter.words.nouns
    sentences = _ahead([finding for finding in leads if is_beyond(finding, alpha)], nouns)
    neither = not sentences
    if neither and leads:
        sentences = [_nobody_ahead(leads, nouns)]
    hits = [
        finding
        for finding in uneven
        if is_beyond(finding, alpha)
        and significance_of(finding, alpha).side == _SIDES[finding.card.direction]
    ]
    if hits:
        hits.sort(key=lambda finding: p_shown(finding) or 0.0)
        which = [
            Statement.of(
                "{measure} {value} (p {p})",
                measure=_measure(hit), value=number(hit.value), p=p_value(p_shown(hit)),
            )
            for hit in hits
        ]  # fmt: skip
        text = "Within {queries}, one group or another comes first more than chance gives: {measures}."
        sentences.append(_(text, queries=_(nouns.query[1]), measures=listing(which)))
    elif neither and any(map(is_tested, estimable)):
        sentences += [_("Nor does any group within them.")] if any(map(_can_differ, uneven)) else []
        sentences.append(_(NO_PROOF))
    return Statement.joined(sentences)


def finding_sentences(chapter: Chapter) -> list[str]:
    """What was found, each figure beside what chance alone gives; nothing for other chapters."""
    nouns = chapter.words.nouns
    return [_in_words(finding, nouns) for finding in _rankings(chapter) if finding.card.sentences.value]


def _rankings(chapter: Chapter) -> list[Finding]:
    return [finding for finding in chapter.findings if finding.card.family == _FAMILY]


def _can_differ(finding: Finding) -> bool:
    """Tested, and not the same for every ranking, as where k is the size of the pool."""
    fixed = finding.null is not None and finding.null.low == finding.null.high
    return is_tested(finding) and not fixed


def _members(finding: Finding, nouns: Nouns) -> tuple[str, str]:
    """How sentences call the members of the two groups that a finding compares."""
    groups = finding.params.get("groups")
    if not isinstance(groups, list) or len(groups) != 2:
        return _("the first group"), _("the second group")
    attribute = finding.by[0] if len(finding.by) == 1 else ""
    first, second = (members_of(nouns, attribute, str(group)) for group in groups)
    return first, second


def _ahead(leads: Sequence[Finding], nouns: Nouns) -> list[str]:
    """A sentence for each group that comes first beyond chance, with the places."""
    places: dict[tuple[str, str], dict[str, None]] = {}
    for lead in leads:
        centre = lead.null.mean if lead.null else 0.0
        ahead = _members(lead, nouns)[0 if (lead.value or 0.0) > centre else 1]
        places.setdefault((ahead, lead.card.sentences.more), {})[str(lead.params.get("k"))] = None
    text = "On average over {queries}, {noun} of {group} {do_more} than chance explains (first {k} places)."
    texts = {"queries": _(nouns.query[1]), "noun": _(nouns.sample[1])}
    return [
        _(text, **texts, group=ahead, do_more=more, k=listing(first))
        for (ahead, more), first in places.items()
    ]


def _nobody_ahead(leads: Sequence[Finding], nouns: Nouns) -> str:
    """That none of the groups that were tested comes first beyond chance."""
    groups = [who for lead in leads if is_tested(lead) for who in _members(lead, nouns)]
    names = list(dict.fromkeys(groups))
    if not names:
        return _("Who comes first was measured without a test.")
    queries = _(nouns.query[1])
    if len(names) != 2:
        text = "On average over {queries}, none of {groups} comes first more often than chance explains."
        return _(text, queries=queries, groups=listing(names))
    first, second = names
    text = (
        "On average over {queries}, neither {first} nor {second} come first more often than chance explains."
    )
    return _(text, queries=queries, first=first, second=second)


def _measure(finding: Finding) -> str:
    """A measure of uneven rankings with its number of places."""
    k, name = finding.params.get("k"), finding.card.sentences.symbol or finding.card.title
    return name if k is None else f"{name}@{k}"


def _in_words(finding: Finding, nouns: Nouns) -> str:
    k = finding.params.get("k")
    where = _("Among the first {k}", k=k) if k is not None else _("Over the whole ranking")
    first, second = _members(finding, nouns)
    what = finding.card.sentences.value.format(first=first, second=second)
    if finding.value is None:
        return _("{where}, {what} is not estimable.", where=where, what=what)
    value = value_of(finding, _(" on average")) + against_null(finding)
    return _("{where}, {what} is {value}.", where=where, what=what, value=value)
