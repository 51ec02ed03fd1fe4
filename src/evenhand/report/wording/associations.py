"""Findings on associations, and on what weakens them, in plain sentences. Nothing here computes a number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from evenhand.core.findings import Finding
from evenhand.core.significance import is_beyond, p_shown
from evenhand.display.text.formatting import first_of, listing, number, plain, plural, quoted, shorten, span
from evenhand.display.text.language import _
from evenhand.display.text.parameters import in_words
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement
from evenhand.report import glossary
from evenhand.report.chapters import Chapter
from evenhand.report.wording.phrases import NO_PROOF, NOT_ESTIMABLE, value_of

_FAMILY, _REDUCTIONS = "associations", "reductions"
_NULL = (
    "The null band is what other words and photos of the same kind would give by chance, not other concepts;"
)
_named = partial(first_of, most=6)
_LISTED = 6
_SATURATED = 0.85


def verdict(chapter: Chapter, alpha: float) -> str:
    """The one line to remember; empty for other chapters."""
    reductions = _of(chapter, _REDUCTIONS)
    if reductions:
        return _reduction_verdict(reductions)
    pairs = _pairs(chapter)
    if not pairs:
        return _other_half(chapter)
    estimable = [pair for pair in pairs if pair.value is not None]
    if not estimable:
        return _(NOT_ESTIMABLE)
    hits = [pair for pair in estimable if is_beyond(pair, alpha)]
    if not any(p_shown(pair) is not None for pair in estimable):
        return _("Associations of {pairs} of groups, without tests.", pairs=plural(len(estimable), "pair"))
    if not hits:
        return _none_beyond(estimable)
    whom = [
        _("{group} (against {other})", group=_worse(pair), other=_better(pair)) for pair in _strongest(hits)
    ]
    many = _(" (of {pairs})", pairs=plural(len(estimable), "pair")) if len(estimable) > 1 else ""
    return _(
        "Tied more to {attribute} than chance explains{many}: {groups}.",
        attribute=_attribute(hits[0]),
        many=many,
        groups=_named(whom),
    )


def finding_sentences(chapter: Chapter, alpha: float) -> list[str]:
    """What was found, each figure beside what chance alone gives; nothing for other chapters."""
    if _of(chapter, _REDUCTIONS):
        return _reductions(chapter)
    if not _compared(chapter):
        return []
    if _other_half(chapter):
        return [_("They are listed below, to be compared with those of the held-out items.")]
    pairs = [pair for pair in _pairs(chapter) if pair.value is not None]
    sentences = [_strongest_sentence(pairs)] if pairs else []
    tested = [pair for pair in pairs if p_shown(pair) is not None and pair.role != "exploratory"]
    if tested:
        hits = [_pair(pair) for pair in _strongest(tested) if is_beyond(pair, alpha)]
        text = (
            "The corrected p is at most {alpha}, and the interval leaves out 0, for {pairs}."
            if any(pair.p_adjusted is not None for pair in tested)
            else "The p is at most {alpha}, and the interval leaves out 0, for {pairs}."
        )
        sentences.append(_(text, alpha=plain(alpha), pairs=_named(hits) or _("no pair")))
    sentences += [*_near_bound(pairs), *_left_one_out(pairs), *_pleasant(chapter), *_one_reading(chapter)]
    return [*sentences, *_not_estimable(chapter)]


def null_in_words(chapter: Chapter) -> str:
    """What the null bands of a chapter are; nothing for other chapters."""
    if _of(chapter, _REDUCTIONS):
        return _(
            "The null band of a reduction is what removing as much at random reaches; held-out items took no "
            "part in choosing what is removed."
        )
    compared = _compared(chapter)
    if not compared:
        return ""
    positive = _("positive means that the first group is tied more to the first set of attributes.")
    if any(finding.params.get("mode") == "paper" for finding in compared):
        return f"{_('The null band is what mixing the items of both groups at random gives;')} {positive}"
    return f"{_(_NULL)} {positive}"


def _of(chapter: Chapter, family: str) -> list[Finding]:
    return [finding for finding in chapter.findings if finding.card.family == family]


def _compared(chapter: Chapter) -> list[Finding]:
    """Findings that say which of two groups is tied more to a set of attributes."""
    return [finding for finding in _of(chapter, _FAMILY) if finding.card.sentences.more]


def _none_beyond(estimable: Sequence[Finding]) -> str:
    """No p is small; of p that look at one side only, the other side is not spoken of."""
    first, texts = estimable[0], {"pairs": plural(len(estimable), "pair")}
    texts["attribute"] = _attribute(first)
    side = "greater" if first.params.get("mode") == "paper" else first.params.get("alternative")
    if side not in ("greater", "less"):
        sentence = _("In none of {pairs} is a group tied more to {attribute} than chance explains.", **texts)
        return Statement.joined((sentence, _(NO_PROOF)))
    turned = sum((pair.value or 0.0) * (1 if side == "greater" else -1) < 0 for pair in estimable)
    text = (
        "In none of {pairs} is the first group tied more to {attribute} than the second beyond chance."
        if side == "greater"
        else "In none of {pairs} is the first group tied less to {attribute} than the second beyond chance."
    )
    untested = "p looks at that side only; in {n} of them the tie goes the other way, untested."
    return Statement.joined((_(text, **texts), _(untested, n=turned or _("none"))))


def _pairs(chapter: Chapter) -> list[Finding]:
    """One finding a pair: effect sizes, else match associations of one reading, not standardised."""
    findings = [finding for finding in _compared(chapter) if "stage" not in finding.params]
    effects = [finding for finding in findings if "reading" not in finding.params]
    matches = [finding for finding in findings if not finding.params.get("standardised")]
    readings = _readings(chapter)
    return effects or [match for match in matches if match.params.get("reading") == readings[0]]


def _readings(chapter: Chapter) -> list[object]:
    """How the words of match associations were chosen, the first first."""
    all_params = (finding.params for finding in _compared(chapter))
    return list(dict.fromkeys(params["reading"] for params in all_params if "reading" in params))


def _one_reading(chapter: Chapter) -> list[str]:
    readings = _readings(chapter)
    if len(readings) < 2:
        return []
    first, others = in_words("reading", readings[0]), plural(len(readings) - 1, "more stands", "more stand")
    return [
        _("All this is of one reading ({first}); {others} in the table below.", first=first, others=others)
    ]


def _other_half(chapter: Chapter) -> str:
    staged = any("stage" in finding.params for finding in chapter.findings)
    text = "Effect sizes on the items that the mitigation was fitted on: no evidence that it helps."
    return _(text) if staged else ""


def _reduction_verdict(reductions: Sequence[Finding]) -> str:
    estimable = [
        reduction
        for reduction in reductions
        if reduction.value is not None and reduction.interval is not None
    ]
    if not estimable:
        return _("Could not be estimated. Not estimable is not the same as helpful.")
    better = [
        reduction for reduction in estimable if reduction.interval is not None and reduction.interval.low > 0
    ]
    worse = [
        reduction for reduction in estimable if reduction.interval is not None and reduction.interval.high < 0
    ]
    weaker = _named([_pair(reduction) for reduction in _strongest(better)])
    sentence = _(
        "On held-out items the association is weaker for {pairs}, by an interval that leaves out 0.",
        pairs=weaker or _("none of {pairs}", pairs=plural(len(estimable), "pair")),
    )
    stronger = _named([_pair(reduction) for reduction in worse])
    return Statement.joined((sentence, _("It is stronger for {pairs}.", pairs=stronger) if worse else ""))


def _reductions(chapter: Chapter) -> list[str]:
    """Before, after and reduction of the pairs with the strongest association before."""
    reductions = [finding for finding in _of(chapter, _REDUCTIONS) if finding.value is not None]
    reductions.sort(key=lambda reduction: -abs(_detail(reduction, "before") or 0.0))
    sentences = []
    for reduction in reductions[:_LISTED]:
        before, after = _detail(reduction, "before"), _detail(reduction, "after")
        ends = (
            _(" from {before} to {after}", before=number(before), after=number(after))
            if before is not None and after is not None
            else ""
        )
        sentences.append(
            _(
                "{pair}: d goes{ends}, a reduction of {value}{random}.",
                pair=_pair(reduction),
                ends=ends,
                value=value_of(reduction),
                random=_random(reduction),
            )
        )
    left = len(reductions) - len(sentences)
    turned = [_pair(reduction) for reduction in reductions if reduction.details.get("sign") == "changed"]
    sentences += [_("{pairs} in the table below.", pairs=plural(left, "more pair"))] if left > 0 else []
    text = "The sign changed, so the tie now goes the other way: {pairs}."
    sentences += [_(text, pairs=_named(turned))] if turned else []
    return [*sentences, *_not_estimable(chapter)]


def _strongest_sentence(pairs: Sequence[Finding]) -> str:
    top = _strongest(pairs)[0]
    chance = _("; chance alone gives {ends}", ends=Rounding.of(top).span(top.null)) if top.null else ""
    value = value_of(top, _(" for {pair}", pair=_pair(top)))
    return _("The largest {what} is {value}.", what=top.card.sentences.value, value=value + chance)


def _near_bound(pairs: Sequence[Finding]) -> list[str]:
    """Pairs where d can hardly grow any more, with Cohen's d, which can."""
    near = []
    for pair in pairs:
        bound, other = _detail(pair, "bound"), _detail(pair, "cohens_d")
        saturates = bound is not None and abs(pair.value or 0.0) > _SATURATED * bound
        if saturates and other is not None:
            near.append(_("{pair} (Cohen’s d {d})", pair=_pair(pair), d=number(other)))
    if not near:
        return []
    text = (
        "d cannot leave about ±2 and is near that end for {pairs}: it no longer says how far apart they are."
    )
    return [_(text, pairs=_named(near))]


def _left_one_out(pairs: Sequence[Finding]) -> list[str]:
    """Where d moves most when one word or picture is left out."""
    moved = []
    for pair in pairs:
        low, high = _detail(pair, "without_low"), _detail(pair, "without_high")
        if low is not None and high is not None:
            moved.append((high - low, pair, low, high))
    if not moved:
        return []
    extreme, low, high = max(moved, key=lambda entry: entry[0])[1:]
    items = [extreme.details.get("without_low_item"), extreme.details.get("without_high_item")]
    item_texts = listing(quoted(item) for item in items if item)
    return [
        _(
            "One word or picture{words} moves d most for {pair}: without one it is {ends}.",
            words=f" ({item_texts})" if item_texts else "",
            pair=_pair(extreme),
            ends=span(low, high),
        )
    ]


def _pleasant(chapter: Chapter) -> list[str]:
    shares = [
        finding
        for finding in _of(chapter, _FAMILY)
        if finding.card.unit == "share" and finding.value is not None
    ]
    if not shares:
        return []
    shares.sort(key=lambda share: share.value or 0.0)
    low, high = (
        _(
            "{value} for {group}",
            value=number(share.value),
            group=shorten(str(share.params.get("target"))),
        )
        for share in (shares[0], shares[-1])
    )
    text = (
        "Of the {k} words nearest to a group’s images, the share of pleasant ones runs from {low} to {high}."
    )
    return [_(text, k=shares[0].params.get("k"), low=low, high=high)]


def _not_estimable(chapter: Chapter) -> list[str]:
    missing: dict[str, list[str]] = {}
    for finding in [*_compared(chapter), *_of(chapter, _REDUCTIONS)]:
        if finding.value is None:
            missing.setdefault(glossary.reason(finding.reason), []).append(_pair(finding))
    return [
        _("No value for {pairs}: {why}.", pairs=_named(list(dict.fromkeys(pairs))), why=why)
        for why, pairs in missing.items()
    ]


def _names(finding: Finding) -> tuple[str, str]:
    targets = finding.params.get("targets")
    target_names = (
        targets
        if isinstance(targets, list | tuple) and len(targets) == 2
        else (_("the first"), _("the second"))
    )
    return shorten(str(target_names[0])), shorten(str(target_names[1]))


def _attribute(finding: Finding) -> str:
    """The set that a positive value speaks of."""
    sets = finding.params.get("attributes")
    return quoted(sets[0]) if isinstance(sets, list | tuple) and sets else _("the first set")


def _pair(finding: Finding) -> str:
    return " – ".join(_names(finding))


def _worse(finding: Finding) -> str:
    return _names(finding)[0 if (finding.value or 0.0) > 0 else 1]


def _better(finding: Finding) -> str:
    return _names(finding)[1 if (finding.value or 0.0) > 0 else 0]


def _strongest(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: -abs(finding.value or 0.0))


def _detail(finding: Finding, name: str) -> float | None:
    value = finding.details.get(name)
    return float(value) if isinstance(value, int | float) else None


def _random(finding: Finding) -> str:
    if finding.null is None:
        return ""
    return _("; removing as much at random gives {ends}", ends=Rounding.of(finding).span(finding.null))
