"""Whether numbers, names, sides and verdicts of a statement are those of what supports it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from math import isclose

from evenhand.core.findings import Finding
from evenhand.core.significance import excludes, reference_of
from evenhand.display.text.language import current_catalogue
from evenhand.display.text.statement import Slot, Statement, said
from evenhand.report.checking.printed_numbers import PrintedNumber, without_names
from evenhand.report.checking.read_back import Contradiction, plain_text
from evenhand.report.checking.support import Support, shown_p

_MORE, _FEWER = ("more than elsewhere", "more than {group}"), ("fewer than elsewhere", "fewer than {group}")


def numbers_in(text: str) -> dict[str, float]:
    """The numbers of a statement by the names of their places; of equal names the first."""
    numbers = dict[str, float]()
    for name, slot in said(text).slots():
        if isinstance(slot, Slot):
            numbers.setdefault(name, slot.value)
    return numbers


def first_number(text: str) -> float | None:
    """The first of them; None where there is none."""
    return next(iter(numbers_in(text).values()), None)


def within(text: str, *patterns: str) -> Statement | None:
    """The first statement in a text, or itself, that has one of these patterns; None: there is none."""
    return next((part for part in said(text).statements() if part.pattern in patterns), None)


def names_in(text: str, key: str = "") -> list[str]:
    """What stands in the places of a statement, or in those of this name, as it is read."""
    parts = (
        [text] if not key else [part.places[key] for part in said(text).statements() if key in part.places]
    )
    return [plain_text(str(slot)) for part in parts for _, slot in said(part).slots()]


def is_any(number: float, values: Iterable[float]) -> bool:
    """Whether a number is one of these."""
    return any(isclose(number, value, rel_tol=1e-6, abs_tol=1e-9) for value in values)


def misprinted(text: str) -> Iterator[Contradiction]:
    """Numbers that look like others than those that they stand for, in the language that is written."""
    for name, slot in said(text).slots():
        if isinstance(slot, Slot):
            printed = PrintedNumber(
                slot.removesuffix(" %").translate(current_catalogue().english_signs), slot.is_share
            )
            if not printed.stands_for(slot.value):
                yield Contradiction(text, f"{name} is {slot.value:.6g}, and not {slot}")


def unlike(
    text: str, names: Set[str], stands: Callable[[Slot], bool], *, apart: Sequence[str] = ()
) -> Iterator[Contradiction]:
    """Numbers that nothing stands for, and digits in places of names that have none.

    Places that are called like one of ``apart`` are compared elsewhere.
    """
    for name, slot in said(text).slots():
        if name in apart:
            continue
        if not isinstance(slot, Slot):
            if slot not in names and re.search(r"\d", without_names(str(slot), names)):
                yield Contradiction(text, f"{name} is no name here: {slot}")
        elif not stands(slot):
            yield Contradiction(text, f"{name} is not {slot}{' as a share' if slot.is_share else ''}")
    yield from misprinted(text)


def unsourced(text: str, support: Support, *, apart: Sequence[str] = ()) -> Iterator[Contradiction]:
    """The same of what supports a statement: numbers that it has not, or not in this unit."""
    digits = {float(name) for name in support.names if name.replace(".", "", 1).isdigit()}
    shares, numbers = support.all_shares, support.all_numbers | digits
    return unlike(
        text,
        support.names,
        lambda slot: is_any(slot.value, shares if slot.is_share else numbers),
        apart=apart,
    )


def wrong_side(size: str, support: Support) -> Iterator[Contradiction]:
    """Which side is more, by words or by the sign of the value."""
    signed = {number for number in (support.holder.value, support.holder.corrected) if number is not None}
    for part in said(size).statements():
        measured = part.places.get("measured") or ("title" in part.places and part.places.get("value"))
        value = first_number(measured) if measured else None
        if value is not None and not is_any(value, signed):
            yield Contradiction(size, f"the value is not {value:.4g}")
    if support.difference is not None and within(size, *(_FEWER if support.difference > 0 else _MORE)):
        yield Contradiction(size, f"the difference is {support.difference:+.3f}")


def truly_beyond(finding: Finding, alpha: float) -> bool:
    """Whether test and interval of a finding say so, and it is no answer to whether it guesses."""
    if finding.card.p_is_about == "guessing" or finding.role == "exploratory" or finding.value is None:
        return False
    significant = any(p <= alpha for p in shown_p(finding))
    return (
        significant
        and reference_of(finding) is not None
        and excludes(finding.interval, reference_of(finding))
    )
