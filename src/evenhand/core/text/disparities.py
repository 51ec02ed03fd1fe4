"""Sentences on disparities: pure functions of a line of ``disparity_lines``, of parts and of details."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor
from typing import Any

from evenhand.core.text.formatting import MINUS, count, quoted, shorten

Line = Mapping[str, Any]
ELSEWHERE = "elsewhere"
_FEWEST = 10  # rows from which a share is written beside its counts


def share(rate: float) -> str:
    """A share in whole per cent, with one decimal below 1 %."""
    return f"{rate * 100:.{1 if 0 < rate < 0.01 else 0}f} %"


def line_sentence(line: Line, *, noun: str = "rows", elsewhere: str = "") -> str:
    """A line in full: how many rows of a class have a wrong label in a group, and how many elsewhere.

    Args:
        line: A row of ``disparity_lines``, or a mapping with its columns.
        noun: What rows are.
        elsewhere: The name of the other group where there are two; empty: there are more.
    """
    group, truth = shorten(line["group"]), _label(line["truth"])
    act = _act(line)
    hits = _of(line["a"], line["n"], line["rate"])
    if line["direction"] == "less":
        rest = f"in {shorten(elsewhere)}" if elsewhere else "in the other groups"
        return (
            f"{group} is spared: of its {count(line['n'])} {truth} {noun}, {hits} {act}; "
            f"{rest} {_others(line)}.{_repeats(line)}"
        )
    fewer = f"At the rate {_at(elsewhere)} it would be {count(round(line['excess']))} fewer"
    least = floor(line["certain"] + 1e-9)
    certain = f" (at least {count(least)})" if least else ""
    return (
        f"Of {count(line['n'])} {group} {noun} that are {truth}, {hits} {act}; {_beside(line, elsewhere)}. "
        f"{fewer}{certain}.{_repeats(line)}"
    )


def headline(line: Line, *, noun: str = "rows", elsewhere: str = "") -> str:
    """The same in at most 20 words, counts alone (names of several words count as one)."""
    group, truth = shorten(line["group"]), _label(line["truth"])
    beside = f"{shorten(elsewhere) if elsewhere else ELSEWHERE} {count(line['b'])} of {count(line['m'])}"
    hits = f"{count(line['a'])} of {count(line['n'])} {truth} {noun}"
    if line["direction"] == "less":
        group += " is spared"
    return f"{group}: {hits} {_act(line, brief=True)}; {beside}."


def gap_sentence(
    group: str, gap: Line, mix: Line, errors: Line, mistakes: tuple[Line, ...] = (), other: float = 0.0
) -> str | None:
    """Why a group's accuracy is lower than that of the rest; None where it is not beyond chance.

    Args:
        group: Its name.
        gap: ``value``, ``low``, ``high``, and ``accuracy`` and ``rest``.
        mix: ``value``: what comes from its mix of classes.
        errors: ``value``, ``low``, ``high``: what comes from mistakes within classes.
        mistakes: Those that are named: ``truth``, ``prediction``, ``value``, ``low``, ``high``.
        other: What comes from all others.
    """
    name = shorten(group)
    if gap["low"] > 0:
        texts = [
            f"{_points(part['value'])} of them ({_points(part['low'])} to {_points(part['high'])}) are "
            f"{shorten(part['truth'])} called {shorten(part['prediction'])}"
            for part in mistakes
        ]
        texts.append(f"{_points(mix['value'])} come from its mix of classes")
        rest = f"{_points(other)} from all other" if mistakes else f"{_points(errors['value'])} from"
        texts.append(f"{rest} mistakes")
        return (
            f"{name} is right in {share(gap['accuracy'])}, the rest in {share(gap['rest'])}: "
            f"{_points(gap['value'])} points lower. {'; '.join(texts)}."
        )
    if gap["high"] >= 0 and errors["low"] > 0:
        return (
            f"{name} looks level, but only because its classes are easier ({_points(mix['value'])} points); "
            f"within classes it is {_points(errors['value'])} points worse."
        )
    return None


def mix_sentence(gap: float, mix: float, errors: float) -> str:
    """How much of a lower accuracy comes from a group's mix of classes."""
    if mix < 0:
        return f"Its classes are easier: within classes it is {_points(errors)} points below the rest."
    return f"Of {_points(gap)} points below the rest, {_points(mix)} come from its mix of classes."


def status_sentence(
    details: Line, *, by: str, groups: int, n: float, noun: str = "rows", min_rows: int = 5
) -> str | None:
    """What is said where no line is listed; None where lines are.

    Args:
        details: Those of the finding ``disparities``; empty where it is hidden.
        by: What groups are of.
        groups: How many groups there are.
        n: How many rows there are.
        noun: What rows are.
        min_rows: Fewest rows of a class in a group, and elsewhere.
    """
    if "status" not in details:
        return f"What differs by {by} is hidden, because cells of few rows are."
    texts = {
        "single_group": f"{by} has one group with {noun}, so there is nothing to compare.",
        "no_mistakes": f"No mistake in {count(n)} {noun}.",
        "too_few_rows": f"No class has {min_rows} {noun} in a group and elsewhere.",
        "too_few_mistakes": "No mistake is made by so many that a difference between groups could show.",
        "weighted": f"The {noun} have weights: mistakes by class have rates and differences, but no test.",
        "one_cluster": "Each group is of one cluster, so that nothing says how clusters differ.",
        "none_beyond_chance": _none(details, by, groups, noun),
    }
    return texts.get(str(details["status"]))


def _none(details: Line, by: str, groups: int, noun: str) -> str:
    tested = count(details.get("tested"))
    text = f"No mistake differs between the {groups} groups of {by} beyond chance ({tested} comparisons)."
    if "detectable_n" not in details:
        return text
    rows = f"In a class with {count(details['detectable_n'])} {noun} of one group"
    mistake = f"a mistake made {share(details['detectable_others'])} of the time elsewhere"
    rate = details["detectable_rate"]
    if rate is None:
        return f"{text} {rows} {mistake} could not have been noticed at any rate."
    return f"{text} {rows} {mistake} would have been noticed (4 times in 5) had it been {share(rate)} there."


def _of(hits: float, rows: float, rate: float) -> str:
    """A count with its share, where there are enough rows for one."""
    return f"{count(hits)} ({share(rate)})" if rows >= _FEWEST else count(hits)


def _act(line: Line, *, brief: bool = False) -> str:
    if line["prediction"] is None:
        return "are wrong" if brief else "are wrong, under several labels"
    return f"are called {_label(line['prediction'])}"


def _label(text: object) -> str:
    """A label in a sentence; one without letters is quoted, since it would pass for a count."""
    return shorten(text) if any(map(str.isalpha, str(text))) else quoted(text)


def _others(line: Line) -> str:
    rate = f" ({share(line['others'])})" if line["m"] >= _FEWEST else ""
    return f"{count(line['b'])} of {count(line['m'])}{rate}"


def _beside(line: Line, elsewhere: str) -> str:
    if not line["b"]:
        return f"never {f'in {shorten(elsewhere)}' if elsewhere else ELSEWHERE} (0 of {count(line['m'])})"
    return f"{shorten(elsewhere) if elsewhere else ELSEWHERE} {_others(line)}"


def _at(elsewhere: str) -> str:
    return f"of {shorten(elsewhere)}" if elsewhere else ELSEWHERE


def _repeats(line: Line) -> str:
    parent = line.get("parent")
    return f" It is so in all of {shorten(parent)}." if parent else ""


def _points(value: float) -> str:
    """A difference of shares in points, with one decimal."""
    return f"{value * 100 + 0.0:.1f}".replace("-", MINUS)
