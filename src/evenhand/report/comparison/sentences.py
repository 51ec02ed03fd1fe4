"""Differences of models in plain sentences: which model has more of what, and whether it is noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.findings import Finding
from evenhand.core.significance import is_beyond
from evenhand.core.text.formatting import MINUS, listing, number, plural, quoted
from evenhand.report import glossary
from evenhand.report.comparison.answer_differences import called, none_of, surest, untested

SUFFIX = "_difference"
_NOT_TOLD = "not told apart"
# measure: (words for the model that has more, whether more is better)
_MEASURES: Mapping[str, tuple[str, bool]] = {
    "accuracy": ("is right more often", True),
    "worst_group_accuracy": ("is right more often in its worst group", True),
    "accuracy_gap": ("has the wider gap", False),
    "cramers_v_mean": ("errs more differently by group, on average over classes,", False),
    "cramers_v_median": ("errs more differently by group, in the middle class,", False),
    "cramers_v_max": ("errs more differently by group, in its worst class,", False),
}
_SHARES = ("accuracy", "worst_group_accuracy", "accuracy_gap")
_RIGHT = {"accuracy": "is right more often", "worst_group_accuracy": "in its worst group"}  # not fairness
_MOST_NAMED = 3


def points(value: float, unit: str = " points") -> str:
    """A difference of shares in points of a hundred, with one decimal."""
    written = f"{round(100 * value, 1) + 0.0:.1f}".replace("-", MINUS)
    return written + unit


def of_one_pair(findings: Sequence[Finding], alpha: float) -> str:
    """The one line about two models: which is right more often, which is fairer, or that nothing is told.

    Args:
        findings: Differences of one pair.
        alpha: Level of the tests.
    """
    beyond = [finding for finding in findings if is_beyond(finding, alpha)]
    if not beyond:
        pair = listing([quoted(findings[0].model), quoted(findings[0].reference)])
        none = none_of(findings) or f"No difference between {pair} is more than noise."
        return f"{none} That does not prove that they are alike."
    named = [difference for difference in beyond if _measure(difference) in _MEASURES]
    if not named:
        return surest(beyond, sum(finding.p_adjusted is not None for finding in findings))
    sides = {_better(difference): "" for difference in named}
    for model in sides:
        titles = {
            _measure(difference): (difference.card.of or difference.card).title
            for difference in named
            if _better(difference) == model
        }
        mine = list(titles)
        fairer = [title.lower() for name, title in titles.items() if name not in _RIGHT]
        ways = [_right(mine)] if set(mine) & set(_RIGHT) else []
        ways += [f"is fairer by {listing(fairer)}"] if fairer else []
        sides[model] = f"{quoted(model)} {listing(ways).rstrip(',')}"
    fairness = any(_measure(difference) not in _RIGHT for difference in named)
    rest = "" if fairness else " No measure of fairness tells the two apart."
    return f"{'; '.join(sides.values())}: more than noise.{rest}"


def _right(measures: Sequence[str]) -> str:
    """Where a model is right more often: that its worst group gains does not make it fairer."""
    everywhere, worst = _RIGHT
    if everywhere not in measures:
        return f"{_RIGHT[everywhere]} {_RIGHT[worst]}"
    return f"{_RIGHT[everywhere]}, also {_RIGHT[worst]}," if worst in measures else _RIGHT[everywhere]


def sentences(findings: Sequence[Finding], alpha: float) -> list[str]:
    """Each difference of one pair, told of the model that has more, with its interval.

    Args:
        findings: Differences of one pair.
        alpha: Level of the tests.
    """
    return [_sentence(finding, alpha) for finding in findings]


def _sentence(finding: Finding, alpha: float) -> str:
    title = called(finding)
    first, second = quoted(finding.model), quoted(finding.reference)
    if finding.value is None:
        return f"{title}: no difference could be estimated ({glossary.reason(finding.reason)})."
    share = _measure(finding) in _SHARES
    write = points if share else number
    ends = ""
    if is_beyond(finding, alpha):
        up = _shown(finding) > 0
        more, less = (first, second) if up else (second, first)
        if finding.interval:
            low, high = finding.interval.low, finding.interval.high
            ends = _ends(*((low, high) if up else (-high, -low)), share)
        size = write(abs(_shown(finding))) + _noise(finding)
        words = _MEASURES.get(_measure(finding))
        which = f"{more} {words[0]} than {less}" if words else f"higher for {more} than for {less}"
        return f"{title}: {which}, by {size}{ends}, more than noise."
    if finding.interval:
        ends = _ends(finding.interval.low, finding.interval.high, share)
    apart = f"{first} minus {second} is {write(_shown(finding))}{_noise(finding)}{ends}"
    if finding.p_adjusted is None:
        return f"{title}: {apart}; {untested(finding)}."
    return f"{title}: {_NOT_TOLD}; {apart}."


def _shown(finding: Finding) -> float:
    """The difference that the interval is of."""
    return (finding.value or 0.0) if finding.corrected is None else finding.corrected


def _noise(finding: Finding) -> str:
    return "" if finding.corrected is None else " without noise"


def _ends(low: float, high: float, share: bool) -> str:
    return f" ({points(low, '')} to {points(high, '')})" if share else f" ({number(low)} to {number(high)})"


def _measure(finding: Finding) -> str:
    return finding.name.removesuffix(SUFFIX)


def _better(finding: Finding) -> str:
    """The model that does better by a difference's measure."""
    first = _shown(finding) > 0
    return str(finding.model if first == _MEASURES[_measure(finding)][1] else finding.reference)


def of_many(findings: Sequence[Finding], alpha: float) -> list[str]:
    """For each measure, the models that are told apart from most others as the better ones.

    Args:
        findings: Differences of several pairs under one grouping.
        alpha: Level of the tests.
    """
    lines = []
    for name in dict.fromkeys(finding.name for finding in findings):
        mine = [finding for finding in findings if finding.name == name and finding.p_adjusted is not None]
        card = next(finding.card for finding in findings if finding.name == name)
        title = (card.of or card).title
        beyond = [difference for difference in mine if is_beyond(difference, alpha)]
        if not beyond:
            if mine:
                lines.append(f"{title}: no model is told apart from another.")
            continue
        counts = f"{len(beyond)} of {len(mine)} pairs differ by more than noise"
        if name.removesuffix(SUFFIX) not in _MEASURES:
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
        return f"{quoted(best[0])} does better than {n} of {others} others it was held against"
    who = listing(map(quoted, best)) if len(best) <= _MOST_NAMED else f"{len(best)} models"
    return f"{who} each do better than {plural(n, 'other')}, no model than more"


def one_change(row: Mapping[str, Any]) -> str:
    """One change of a class or group in words, told of the model that has more.

    Args:
        row: Of the table ``changes``, with a value.
    """
    shown = row["value"] if row["corrected"] is None else row["corrected"]
    up = shown > 0
    more, less = ("model", "reference") if up else ("reference", "model")
    share = row["measure"] == "accuracy"
    low, high = row["low"], row["high"]
    ends = "" if low is None or high is None else _ends(*((low, high) if up else (-high, -low)), share)
    if share:
        what = f"is right in {points(abs(shown))} more{ends} than"
    else:
        what = f"errs more differently by group, by {number(abs(shown))} without noise{ends}, than"
    return f"{quoted(row['key'])}: {quoted(row[more])} {what} {quoted(row[less])}"
