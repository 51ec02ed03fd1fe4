"""Differences of models in plain sentences: which model has more of what, and whether it is noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.cards import SHARES, MetricCard
from evenhand.core.findings import Finding
from evenhand.core.significance import is_beyond
from evenhand.display.text.formatting import MINUS, count, group_name, listing, number, plural, quoted
from evenhand.display.text.rounding import Rounding
from evenhand.report import glossary
from evenhand.report.comparison.answer_differences import called, none_of, surest, untested

SUFFIX = "_difference"
_MOST_NAMED = 3


def points(value: float, unit: str = " points") -> str:
    """A difference of shares in points of a hundred, with one decimal."""
    text = f"{round(100 * value, 1) + 0.0:.1f}".replace("-", MINUS)
    return text + unit


def of_one_pair(findings: Sequence[Finding], alpha: float) -> str:
    """The one line about two models: which is right more often, which is fairer, or that nothing differs."""
    beyond = [finding for finding in findings if is_beyond(finding, alpha)]
    if not beyond:
        pair = listing([quoted(findings[0].model), quoted(findings[0].reference)])
        if apart := groups_apart(findings, alpha):
            return f"Between {pair} no difference over all rows is more than noise; in {apart} there is one."
        none = none_of(findings) or f"No difference between {pair} is more than noise."
        return f"{none} That does not prove that they are alike."
    judged = [difference for difference in beyond if _says_who_is_better(difference)]
    if not judged:
        return surest(beyond, sum(finding.p_adjusted is not None for finding in findings))
    by_model: dict[str, list[MetricCard]] = {}
    for difference in judged:
        by_model.setdefault(_better(difference), []).append(_measure(difference))
    clauses = [f"{quoted(model)} {_does_better(measures)}" for model, measures in by_model.items()]
    fairness = any(_is_of_fairness(_measure(difference)) for difference in judged)
    rest = "" if fairness else " No measure of fairness differs by more than noise."
    return f"{'; '.join(clauses)}: more than noise.{rest}"


def groups_apart(findings: Sequence[Finding], alpha: float) -> str:
    """Groups and classes in which a difference is beyond chance, the first few; empty where there is none."""
    parts = [part for finding in findings for part in finding.parts if is_beyond(part, alpha)]
    of_class = {"class": "class "}
    texts = [of_class.get(part.kind, "") + quoted(group_name(part.key)) for part in parts]
    names = list(dict.fromkeys(texts))
    more = [f"{count(len(names) - _MOST_NAMED)} more"] if len(names) > _MOST_NAMED else []
    return listing([*names[:_MOST_NAMED], *more])


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
            ways[-1] += f", also{words.removeprefix(ways[-1])},"
        else:
            ways.append(words)
    fairer = [measure.title.lower() for measure in measures if _is_of_fairness(measure)]
    return listing([*ways, *([f"is fairer by {listing(fairer)}"] if fairer else [])]).rstrip(",")


def sentences(findings: Sequence[Finding], alpha: float) -> list[str]:
    """Each difference of one pair, as a sentence about the model that has more, with its interval."""
    return [_sentence(finding, alpha) for finding in findings]


def _sentence(finding: Finding, alpha: float) -> str:
    title = called(finding)
    first, second = quoted(finding.model), quoted(finding.reference)
    if finding.value is None:
        return f"{title}: no difference could be estimated ({glossary.reason(finding.reason)})."
    share = _measure(finding).unit in SHARES
    write = points if share else number
    ends = ""
    if is_beyond(finding, alpha):
        up = _shown(finding) > 0
        more, less = (first, second) if up else (second, first)
        if finding.interval:
            low, high = finding.interval.low, finding.interval.high
            ends = _ends(*((low, high) if up else (-high, -low)), share)
        size = write(abs(_shown(finding))) + _noise(finding)
        words = _measure(finding).sentences.models
        which = f"{more} {words} than {less}" if words else f"higher for {more} than for {less}"
        return f"{title}: {which}, by {size}{ends}, more than noise."
    if finding.interval:
        ends = _ends(finding.interval.low, finding.interval.high, share)
    apart = f"{first} minus {second} is {write(_shown(finding))}{_noise(finding)}{ends}"
    if finding.p_adjusted is None:
        return f"{title}: {apart}; {untested(finding)}."
    return f"{title}: no more than noise; {apart}."


def _shown(finding: Finding) -> float:
    """The difference that the interval is of."""
    return (finding.value or 0.0) if finding.corrected is None else finding.corrected


def _noise(finding: Finding) -> str:
    return "" if finding.corrected is None else " without noise"


def _ends(low: float, high: float, share: bool) -> str:
    least = 1 if share else None
    rounding = Rounding.of_numbers(None, "share difference" if share else None, (low, high), least=least)
    return f" ({rounding.span((low, high))})"


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
                lines.append(f"{title}: no two models differ by more than noise.")
            continue
        verb = "differs" if len(beyond) == 1 else "differ"
        counts = f"{len(beyond)} of {plural(len(mine), 'pair')} {verb} by more than noise"
        if not measure.sentences.models:
            lines.append(f"{title}: {counts}.")
            continue
        lines.append(f"{title}: {_best(mine, beyond)}; {counts}.")
    return lines


def _best(tested: Sequence[Finding], beyond: Sequence[Finding]) -> str:
    """Who does better than whom: than the one reference, or the models that do better than most others."""
    reference = {str(difference.reference) for difference in tested}
    if len(reference) == 1:
        better = sum(_better(difference) == difference.model for difference in beyond)
        worse = f", {len(beyond) - better} worse" if len(beyond) > better else ""
        verb = "does" if better < 2 else "do"
        return f"{better or 'none'} of {len(tested)} {verb} better than {quoted(reference.pop())}{worse}"
    wins: dict[str, int] = {}
    for difference in beyond:
        wins[_better(difference)] = wins.get(_better(difference), 0) + 1
    n = max(wins.values())
    best = [model for model in wins if wins[model] == n]
    if len(best) == 1:
        others = sum(best[0] in (difference.model, difference.reference) for difference in tested)
        return f"{quoted(best[0])} does better than {n} of {others} others it was compared with"
    who = listing(map(quoted, best)) if len(best) <= _MOST_NAMED else f"{len(best)} models"
    return f"{who} each do better than {plural(n, 'other')}, no model than more"


def one_change(row: Mapping[str, Any]) -> str:
    """A row of ``changes`` with a value in words, about the model that has more."""
    value = row["value"] if row["corrected"] is None else row["corrected"]
    up = value > 0
    more, less = ("model", "reference") if up else ("reference", "model")
    share = row["measure"] == "accuracy"
    low, high = row["low"], row["high"]
    ends = "" if low is None or high is None else _ends(*((low, high) if up else (-high, -low)), share)
    if share:
        what = f"is right in {points(abs(value))} more{ends} than"
    else:
        what = f"errs more differently by group, by {number(abs(value))} without noise{ends}, than"
    return f"{quoted(row['key'])}: {quoted(row[more])} {what} {quoted(row[less])}"
