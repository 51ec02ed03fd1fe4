"""Differences of models in plain sentences: which model has more of what, and whether it is noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from evenhand.core.cards import SHARES, MetricCard
from evenhand.core.findings import Finding
from evenhand.core.significance import is_beyond, lead_of
from evenhand.display.text.formatting import first_of, group_name, listing, number, plural, points, quoted
from evenhand.display.text.language import _, lowered, plural_of
from evenhand.display.text.rounding import Rounding
from evenhand.display.text.statement import Statement, bracketed
from evenhand.report import glossary
from evenhand.report.comparison.answer_differences import called, none_of, surest, untested

SUFFIX = "_difference"
_MOST_NAMED = 3
_points = partial(points, decimals=1)


def of_one_pair(findings: Sequence[Finding], alpha: float) -> str:
    """The one line about two models: which is right more often, which is fairer, or that nothing differs."""
    beyond = [finding for finding in findings if is_beyond(finding, alpha)]
    if not beyond:
        pair = listing([quoted(findings[0].model), quoted(findings[0].reference)])
        if apart := groups_apart(findings, alpha):
            return _(
                "Between {pair} no difference over all rows is more than noise; in {groups} there is one.",
                pair=pair,
                groups=apart,
            )
        none = none_of(findings) or _("No difference between {pair} is more than noise.", pair=pair)
        return Statement.joined((none, _("That does not prove that they are alike.")))
    judged = [difference for difference in beyond if _says_who_is_better(difference)]
    if not judged:
        return surest(beyond, sum(finding.p_adjusted is not None for finding in findings))
    by_model: dict[str, list[MetricCard]] = {}
    for difference in judged:
        by_model.setdefault(_better(difference), []).append(_measure(difference))
    clauses = [
        Statement.joined((quoted(model), _does_better(measures))) for model, measures in by_model.items()
    ]
    fairness = any(_is_of_fairness(_measure(difference)) for difference in judged)
    rest = "" if fairness else _(" No measure of fairness differs by more than noise.")
    return _("{clauses}: more than noise.{rest}", clauses=Statement.joined(clauses, "; "), rest=rest)


def groups_apart(findings: Sequence[Finding], alpha: float) -> str:
    """Groups and classes in which a difference is beyond chance, the first few; empty where there is none."""
    parts = [part for finding in findings for part in finding.parts if is_beyond(part, alpha)]
    quotations = [(part.kind, quoted(group_name(part.key))) for part in parts]
    texts = [_("class {name}", name=name) if kind == "class" else name for kind, name in quotations]
    names = list(dict.fromkeys(texts))
    return first_of(names, _MOST_NAMED)


def _says_who_is_better(difference: Finding) -> bool:
    """Whether its measure has words for the model that has more of it."""
    return bool(_measure(difference).sentences.models)


def _is_of_fairness(measure: MetricCard) -> bool:
    """A model that is right more often, if only in its worst group, is not fairer by that."""
    return measure.direction != "higher is better"


def _does_better(measures: Sequence[MetricCard]) -> str:
    """What a model does better by some measures; what is said by two of them, once."""
    ways = list[str]()
    for words in sorted(measure.sentences.models for measure in measures if not _is_of_fairness(measure)):
        if ways and words.startswith(ways[-1]):
            ways[-1] += _(", also{where},", where=words.removeprefix(ways[-1]))
        else:
            ways.append(words)
    titles = [lowered(measure.title) for measure in measures if _is_of_fairness(measure)]
    fairer = [_("is fairer by {measures}", measures=listing(titles))] if titles else []
    return listing([*ways, *fairer]).rstrip(",")


def sentences(findings: Sequence[Finding], alpha: float) -> list[str]:
    """Each difference of one pair, as a sentence about the model that has more, with its interval."""
    return [_sentence(finding, alpha) for finding in findings]


def _sentence(finding: Finding, alpha: float) -> str:
    title = called(finding)
    first, second = quoted(finding.model), quoted(finding.reference)
    if finding.value is None:
        return _(
            "{title}: no difference could be estimated ({reason}).",
            title=title,
            reason=glossary.reason(finding.reason),
        )
    share = _measure(finding).unit in SHARES
    write = _points if share else number
    ends = ""
    if is_beyond(finding, alpha):
        up = _shown(finding) > 0
        more, less = (first, second) if up else (second, first)
        if finding.interval:
            low, high = finding.interval.low, finding.interval.high
            ends = _ends(*((low, high) if up else (-high, -low)), share)
        words = _measure(finding).sentences.models
        return _(
            "{title}: {more} {words} than {less}, by {size}{ends}, more than noise."
            if words
            else "{title}: higher for {more} than for {less}, by {size}{ends}, more than noise.",
            title=title,
            more=more,
            words=words,
            less=less,
            size=_sized(write(abs(_shown(finding))), finding),
            ends=ends,
        )
    if finding.interval:
        ends = _ends(finding.interval.low, finding.interval.high, share)
    apart = _(
        "{first} minus {second} is {size}{ends}",
        first=first,
        second=second,
        size=_sized(write(_shown(finding)), finding),
        ends=ends,
    )
    if finding.p_adjusted is None:
        return Statement.of("{title}: {apart}; {why}.", title=title, apart=apart, why=untested(finding))
    return _("{title}: no more than noise; {difference}.", title=title, difference=apart)


def _shown(finding: Finding) -> float:
    return lead_of(finding) or 0.0


def _sized(size: str, finding: Finding) -> str:
    return size if finding.corrected is None else _("{size} without noise", size=size)


def _ends(low: float, high: float, share: bool) -> str:
    least = 1 if share else None
    rounding = Rounding.of_numbers(None, "share difference" if share else None, (low, high), least=least)
    return bracketed(rounding.span((low, high)))


def _measure(finding: Finding) -> MetricCard:
    """The metric that a difference compares."""
    return finding.card.of or finding.card


def _better(finding: Finding) -> str:
    """The model that does better by a difference's measure."""
    first, high = _shown(finding) > 0, _measure(finding).direction.startswith("higher")
    return str(finding.model if first == high else finding.reference)


def of_many(findings: Sequence[Finding], alpha: float) -> list[str]:
    """For each measure of one grouping, the models that are better than most others."""
    lines = []
    for name in dict.fromkeys(finding.name for finding in findings):
        mine = [finding for finding in findings if finding.name == name and finding.p_adjusted is not None]
        measure = next(_measure(finding) for finding in findings if finding.name == name)
        title = measure.title
        beyond = [difference for difference in mine if is_beyond(difference, alpha)]
        if not beyond:
            if mine:
                lines.append(_("{title}: no two models differ by more than noise.", title=title))
            continue
        counts = plural_of(
            "{n} of {pairs} differs by more than noise",
            "{n} of {pairs} differ by more than noise",
            len(beyond),
            n=len(beyond),
            pairs=plural(len(mine), "pair"),
        )
        if not measure.sentences.models:
            lines.append(Statement.of("{title}: {counts}.", title=title, counts=counts))
            continue
        text = "{title}: {best}; {counts}."
        lines.append(Statement.of(text, title=title, best=_best(mine, beyond), counts=counts))
    return lines


def _best(tested: Sequence[Finding], beyond: Sequence[Finding]) -> str:
    """Who does better than whom: than the one reference, or the models that do better than most others."""
    reference = {str(difference.reference) for difference in tested}
    if len(reference) == 1:
        better = sum(_better(difference) == difference.model for difference in beyond)
        worse = _(", {n} worse", n=len(beyond) - better) if len(beyond) > better else ""
        singular = (
            "{n} of {all} does better than {reference}{worse}"
            if better
            else "none of {all} does better than {reference}{worse}"
        )
        plural_text = "{n} of {all} do better than {reference}{worse}"
        names = {"all": len(tested), "reference": quoted(reference.pop()), "worse": worse}
        return plural_of(singular, plural_text, max(better, 1), n=better, **names)
    wins: dict[str, int] = {}
    for difference in beyond:
        wins[_better(difference)] = wins.get(_better(difference), 0) + 1
    n = max(wins.values())
    best = [model for model in wins if wins[model] == n]
    if len(best) == 1:
        all_others = sum(best[0] in (difference.model, difference.reference) for difference in tested)
        return _(
            "{model} does better than {n} of {all} others it was compared with",
            model=quoted(best[0]),
            n=n,
            all=all_others,
        )
    others = plural(n, "other")
    if len(best) > _MOST_NAMED:
        text = "{n} models each do better than {others}, no model than more"
        return _(text, n=len(best), others=others)
    text = "{models} each do better than {others}, no model than more"
    return _(text, models=listing(map(quoted, best)), others=others)


def one_change(row: Mapping[str, Any]) -> str:
    """A row of ``changes`` with a value in words, about the model that has more."""
    value = row["value"] if row["corrected"] is None else row["corrected"]
    up = value > 0
    more, less = ("model", "reference") if up else ("reference", "model")
    share = row["measure"] == "accuracy"
    low, high = row["low"], row["high"]
    ends = "" if low is None or high is None else _ends(*((low, high) if up else (-high, -low)), share)
    return _(
        "{part}: {more} is right in {size} more{ends} than {less}"
        if share
        else "{part}: {more} errs more differently by group, by {size} without noise{ends}, than {less}",
        part=quoted(row["key"]),
        more=quoted(row[more]),
        less=quoted(row[less]),
        size=_points(abs(value)) if share else number(abs(value)),
        ends=ends,
    )
