"""Tests: which targets are compared, and on which attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from evenhand.benchmarks.mmbias.data.groups import PAPER_PAIRS, names_by_alias, plain
from evenhand.core.errors import ParameterError, UnknownName

PAPER, ALL = "paper", "all"


@dataclass(frozen=True)
class Test:
    """One association test: is X tied to A, rather than to B, more than Y is?"""

    __test__ = False  # not one of pytest's

    x: str  # set of targets
    y: str  # set of targets
    a: str  # set of attributes; a positive d ties X to it
    b: str  # set of attributes
    name: str = ""  # as the user's file calls it, or empty


def choose_tests(
    pairs: str, targets: Sequence[str], attributes: Sequence[str], own_tests: Sequence[Test] | None = None
) -> tuple[Test, ...]:
    """The tests that a user asks for.

    ``pairs`` is ``paper`` (those of Table 2 whose groups are there; of a user's own file, its tests), ``all``
    pairs of targets, or a list such as ``muslim:christian,arab:american``, with attributes ``x:y:a:b``.
    """
    choice = pairs.strip()
    if choice == PAPER:
        tests = tuple(own_tests) if own_tests is not None else _paper(targets, attributes)
    elif choice == ALL:
        tests = _all(targets, _contrasts(attributes, own_tests))
    else:
        tests = tuple(
            _named(parts, targets, attributes, own_tests) for parts in _split(choice, (*targets, *attributes))
        )
    if not tests:
        raise ParameterError(
            f"pairs={pairs!r} leaves no test of the sets that are there ({', '.join(targets) or 'none'}; on "
            f"{', '.join(attributes) or 'none'}); give {PAPER}, {ALL}, or a list such as x:y,x:z"
        )
    return tuple(dict.fromkeys(tests))


def _contrasts(attributes: Sequence[str], own_tests: Sequence[Test] | None) -> list[tuple[str, str]]:
    """Pairs of attributes that are in use."""
    used = dict.fromkeys((test.a, test.b) for test in own_tests or ())
    return list(used) or [(attributes[0], attributes[1])] if len(attributes) > 1 else list(used)


def _paper(targets: Sequence[str], attributes: Sequence[str]) -> tuple[Test, ...]:
    there = set(targets)
    return tuple(
        Test(x, y, a, b) for a, b in _contrasts(attributes, None) for x, y in PAPER_PAIRS if {x, y} <= there
    )


def _all(targets: Sequence[str], contrasts: Sequence[tuple[str, str]]) -> tuple[Test, ...]:
    """All pairs of targets; those of the paper in its direction."""
    turned = {(y, x) for x, y in PAPER_PAIRS}
    ordered = [(y, x) if (x, y) in turned else (x, y) for x, y in combinations(targets, 2)]
    return tuple(Test(x, y, a, b) for a, b in contrasts for x, y in ordered)


def _split(text: str, names: Sequence[str]) -> list[list[str]]:
    """Pairs, and the names in each; names of sets that hold a colon or comma stay whole."""
    marked_names = sorted({name for name in names if {":", ","} & set(name)}, key=len, reverse=True)
    marks = {f"\x00{number}\x00": name for number, name in enumerate(marked_names)}
    for mark, name in marks.items():
        text = text.replace(name, mark)
    pairs = [[part.strip() for part in pair.split(":")] for pair in text.split(",") if pair.strip()]
    return [[marks.get(part, part) for part in parts] for parts in pairs]


def _named(
    parts: Sequence[str], targets: Sequence[str], attributes: Sequence[str], own_tests: Sequence[Test] | None
) -> Test:
    text = ":".join(parts)
    if len(parts) not in (2, 4) or not all(parts):
        raise ParameterError(f"pairs has {text!r}; write each pair as x:y, or with its attributes as x:y:a:b")
    x, y = (_known(part, targets, "target set") for part in parts[:2])
    if len(parts) == 4:
        a, b = (_known(part, attributes, "attribute set") for part in parts[2:])
    else:
        a, b = _only_contrast(text, _contrasts(attributes, own_tests))
    if x == y or a == b:
        raise ParameterError(f"pairs has {text!r}, which compares a set with itself; name two sets")
    return Test(x, y, a, b)


def _only_contrast(text: str, contrasts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    if len(contrasts) != 1:
        listing = ", ".join(f"{text}:{a}:{b}" for a, b in contrasts[:4]) or "none"
        raise ParameterError(
            f"pairs has {text!r}, and there are {len(contrasts)} pairs of attributes; possible: {listing}"
        )
    return contrasts[0]


def _known(text: str, names: Sequence[str], what: str) -> str:
    if text in names:
        return text
    by_alias: Mapping[str, str] = names_by_alias(names)
    name = by_alias.get(plain(text), "")
    if name not in names:
        raise UnknownName(what, text, names)
    return name
