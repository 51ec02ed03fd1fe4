"""The order of labels: of their numbers where they are numbers or ranges of numbers, else of the alphabet."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import chain, pairwise
from typing import Any

Label = str | int | bool | float

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?"
_BELOW = r"<=?|≤|under|below|less than|up to|at most|younger than"
_ABOVE = r">=?|≥|over|above|more than|at least|from|older than"
_UP = r"\+|or more|and more|or over|and over|or older|and older|or above|and above|plus"
_DOWN = r"or less|and less|or under|and under|or younger|and younger|or below|and below"
_RANGE = re.compile(
    rf"(?:(?P<below>{_BELOW})|(?P<above>{_ABOVE}))?\s*(?P<low>{_NUMBER})"
    rf"\s*(?:(?:-|–|—|_|to|\.\.)\s*(?P<high>{_NUMBER})|(?P<up>{_UP})|(?P<down>{_DOWN}))?"
    r"\s*(?:years?|yrs?)?",
    re.IGNORECASE,
)


def ordered(labels: Iterable[Any]) -> list[Any]:
    """Distinct labels in their natural order: ``3-9, 20-29, more than 70``, and ``9, 10`` also of a text.

    Of texts that are not all numbers or ranges, such as ``class 10``, that of the alphabet.
    """
    distinct = sorted(set(labels))
    if all(isinstance(label, str) and label.isdecimal() for label in distinct):
        return sorted(distinct, key=float)
    places = dict[Any, tuple[float, int]]()
    for label in distinct:
        start = _place(label) if isinstance(label, str) else None
        if start is None:
            return distinct
        places[label] = start
    return sorted(distinct, key=places.__getitem__)


def _place(label: str) -> tuple[float, int] | None:
    """Where a range begins, and whether it lies below (-1) or above (1) that; None of another text."""
    match = _RANGE.fullmatch(label.strip())
    if match is None:
        return None
    side = 1 if match["above"] or match["up"] else 0
    return float(match["low"]), -1 if match["below"] or match["down"] else side


def merged(*orders: Sequence[Any]) -> list[Any]:
    """The labels of all, in an order that keeps each of theirs; where they contradict, the natural one."""
    natural = ordered(chain(*orders))
    if all(_keeps(natural, labels) for labels in orders):
        return natural
    after: dict[Any, dict[Any, None]] = {label: {} for label in ordered(chain(*orders))}
    for labels in orders:
        for first, second in pairwise(labels):
            after[second][first] = None
    try:
        return list(TopologicalSorter(after).static_order())
    except CycleError:
        return list(after)


def _keeps(order: Sequence[Any], labels: Sequence[Any]) -> bool:
    """Whether labels stand in an order as they stand by themselves."""
    some = set(labels)
    return list(labels) == [label for label in order if label in some]


def relabelled(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """The order of new labels, one for each old one: that of the old where it was declared, else natural."""
    labels = [label for label in new if label is not None]
    return ordered(labels) if list(old) == ordered(old) else list(dict.fromkeys(labels))
