"""Findings on associations, and on what weakens them, in plain sentences. Nothing here computes a number."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.findings import Finding
from evenhand.core.significance import is_beyond, p_shown
from evenhand.display.text.formatting import listing, number, plural, shorten, span
from evenhand.display.text.language import _
from evenhand.display.text.parameters import in_words
from evenhand.display.text.rounding import Rounding
from evenhand.report import glossary
from evenhand.report.chapters import Chapter
from evenhand.report.wording.phrases import NOT_ESTIMABLE, value_of

_FAMILY, _REDUCTIONS = "associations", "reductions"
_NULL = (
    "The null band is what other words and photos of the same kind would give by chance, not other concepts;"
)
_NAMED = 6
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
        return NOT_ESTIMABLE
    hits = [pair for pair in estimable if is_beyond(pair, alpha)]
    if not any(p_shown(pair) is not None for pair in estimable):
        return f"Associations of {plural(len(estimable), 'pair')} of groups, without tests."
    if not hits:
        return _none_beyond(estimable)
    whom = _named([f"{_worse(pair)} (against {_better(pair)})" for pair in _strongest(hits)])
    many = f" (of {plural(len(estimable), 'pair')})" if len(estimable) > 1 else ""
    return f"Tied more to {_attribute(hits[0])} than chance explains{many}: {whom}."


def finding_sentences(chapter: Chapter, alpha: float) -> list[str]:
    """What was found, each figure beside what chance alone gives; nothing for other chapters."""
    if _of(chapter, _REDUCTIONS):
        return _reductions(chapter)
    if not _compared(chapter):
        return []
    if _other_half(chapter):
        return ["They are listed below, to be compared with those of the held-out items."]
    pairs = [pair for pair in _pairs(chapter) if pair.value is not None]
    sentences = [_strongest_sentence(pairs)] if pairs else []
    tested = [pair for pair in pairs if p_shown(pair) is not None and pair.role != "exploratory"]
    if tested:
        hits = [_pair(pair) for pair in _strongest(tested) if is_beyond(pair, alpha)]
        which = "corrected p" if any(pair.p_adjusted is not None for pair in tested) else "p"
        sentences.append(
            f"The {which} is at most {alpha:g}, and the interval leaves out 0, for "
            f"{_named(hits) or 'no pair'}."
        )
    sentences += [*_near_bound(pairs), *_left_one_out(pairs), *_pleasant(chapter), *_one_reading(chapter)]
    return [*sentences, *_not_estimable(chapter)]


def null_in_words(chapter: Chapter) -> str:
    """What the null bands of a chapter are; nothing for other chapters."""
    if _of(chapter, _REDUCTIONS):
        return (
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
    first, count, attribute = estimable[0], plural(len(estimable), "pair"), _attribute(estimable[0])
    side = "greater" if first.params.get("mode") == "paper" else first.params.get("alternative")
    if side not in ("greater", "less"):
        sentence = f"In none of {count} is a group tied more to {attribute} than chance explains."
        return f"{sentence} That does not prove fairness."
    how = "more" if side == "greater" else "less"
    turned = sum((pair.value or 0.0) * (1 if side == "greater" else -1) < 0 for pair in estimable)
    return (
        f"In none of {count} is the first group tied {how} to {attribute} than the second beyond chance. p "
        f"looks at that side only; in {turned or 'none'} of them the tie goes the other way, untested."
    )


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
    return [f"All this is of one reading ({first}); {others} in the table below."]


def _other_half(chapter: Chapter) -> str:
    staged = any("stage" in finding.params for finding in chapter.findings)
    return (
        "Effect sizes on the items that the mitigation was fitted on: no evidence that it helps."
        if staged
        else ""
    )


def _reduction_verdict(reductions: Sequence[Finding]) -> str:
    estimable = [
        reduction
        for reduction in reductions
        if reduction.value is not None and reduction.interval is not None
    ]
    if not estimable:
        return "Could not be estimated. Not estimable is not the same as helpful."
    better = [
        reduction for reduction in estimable if reduction.interval is not None and reduction.interval.low > 0
    ]
    worse = [
        reduction for reduction in estimable if reduction.interval is not None and reduction.interval.high < 0
    ]
    weaker = (
        _named([_pair(reduction) for reduction in _strongest(better)])
        or f"none of {plural(len(estimable), 'pair')}"
    )
    sentence = f"On held-out items the association is weaker for {weaker}, by an interval that leaves out 0."
    return (
        f"{sentence} It is stronger for {_named([_pair(reduction) for reduction in worse])}."
        if worse
        else sentence
    )


def _reductions(chapter: Chapter) -> list[str]:
    """Before, after and reduction of the pairs with the strongest association before."""
    reductions = [finding for finding in _of(chapter, _REDUCTIONS) if finding.value is not None]
    reductions.sort(key=lambda reduction: -abs(_detail(reduction, "before") or 0.0))
    sentences = []
    for reduction in reductions[:_NAMED]:
        before, after = _detail(reduction, "before"), _detail(reduction, "after")
        ends = (
            f" from {number(before)} to {number(after)}" if before is not None and after is not None else ""
        )
        sentences.append(
            f"{_pair(reduction)}: d goes{ends}, a reduction of {value_of(reduction)}{_random(reduction)}."
        )
    left = len(reductions) - len(sentences)
    turned = [_pair(reduction) for reduction in reductions if reduction.details.get("sign") == "changed"]
    sentences += [f"{plural(left, 'more pair')} in the table below."] if left > 0 else []
    sentences += [f"The sign changed, so the tie now goes the other way: {_named(turned)}."] if turned else []
    return [*sentences, *_not_estimable(chapter)]


def _strongest_sentence(pairs: Sequence[Finding]) -> str:
    top = _strongest(pairs)[0]
    chance = f"; chance alone gives {Rounding.of(top).span(top.null)}" if top.null else ""
    value = f"{value_of(top, f' for {_pair(top)}')}{chance}"
    return f"The largest {top.card.sentences.value} is {value}."


def _near_bound(pairs: Sequence[Finding]) -> list[str]:
    """Pairs where d can hardly grow any more, with Cohen's d, which can."""
    near = []
    for pair in pairs:
        bound, other = _detail(pair, "bound"), _detail(pair, "cohens_d")
        saturates = bound is not None and abs(pair.value or 0.0) > _SATURATED * bound
        if saturates and other is not None:
            near.append(f"{_pair(pair)} (Cohen’s d {number(other)})")
    if not near:
        return []
    return [
        f"d cannot leave about ±2 and is near that end for {_named(near)}: it no longer says how far apart "
        "they are."
    ]


def _left_one_out(pairs: Sequence[Finding]) -> list[str]:
    """Where d moves most when one word or picture is left out."""
    moved = []
    for pair in pairs:
        low, high = _detail(pair, "without_low"), _detail(pair, "without_high")
        if low is not None and high is not None:
            moved.append((high - low, pair, low, high))
    if not moved:
        return []
    _, extreme, low, high = max(moved, key=lambda entry: entry[0])
    items = [extreme.details.get("without_low_item"), extreme.details.get("without_high_item")]
    item_texts = listing(f"“{shorten(str(item))}”" for item in items if item)
    words = f" ({item_texts})" if item_texts else ""
    return [
        f"One word or picture{words} moves d most for {_pair(extreme)}: without one it is {span(low, high)}."
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
    ends = [
        f"{number(share.value)} for {shorten(str(share.params.get('target')))}"
        for share in (shares[0], shares[-1])
    ]
    return [
        f"Of the {shares[0].params.get('k')} words nearest to a group’s images, the share of pleasant ones "
        f"runs from {' to '.join(ends)}."
    ]


def _not_estimable(chapter: Chapter) -> list[str]:
    missing: dict[str, list[str]] = {}
    for finding in [*_compared(chapter), *_of(chapter, _REDUCTIONS)]:
        if finding.value is None:
            missing.setdefault(glossary.reason(finding.reason), []).append(_pair(finding))
    return [f"No value for {_named(list(dict.fromkeys(pairs)))}: {why}." for why, pairs in missing.items()]


def _names(finding: Finding) -> tuple[str, str]:
    targets = finding.params.get("targets")
    target_names = (
        targets if isinstance(targets, list | tuple) and len(targets) == 2 else ("the first", "the second")
    )
    return shorten(str(target_names[0])), shorten(str(target_names[1]))


def _attribute(finding: Finding) -> str:
    """The set that a positive value speaks of."""
    sets = finding.params.get("attributes")
    return f"“{shorten(str(sets[0]))}”" if isinstance(sets, list | tuple) and sets else "the first set"


def _pair(finding: Finding) -> str:
    return " – ".join(_names(finding))


def _worse(finding: Finding) -> str:
    return _names(finding)[0 if (finding.value or 0.0) > 0 else 1]


def _better(finding: Finding) -> str:
    return _names(finding)[1 if (finding.value or 0.0) > 0 else 0]


def _strongest(findings: Sequence[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: -abs(finding.value or 0.0))


def _named(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return listing([*names[:_NAMED], *([f"{more} more"] if more > 0 else [])])


def _detail(finding: Finding, name: str) -> float | None:
    value = finding.details.get(name)
    return float(value) if isinstance(value, int | float) else None


def _random(finding: Finding) -> str:
    if finding.null is None:
        return ""
    return f"; removing as much at random gives {Rounding.of(finding).span(finding.null)}"
