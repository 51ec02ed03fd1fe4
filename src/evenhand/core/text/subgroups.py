"""Sentences on subgroups that a search lists: pure functions of the details of its finding and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.text.disparities import ELSEWHERE, share
from evenhand.core.text.formatting import count, shorten

_FEWEST = 10  # rows from which a share is written beside its counts

Line = Mapping[str, Any]


def subgroup_sentence(line: Line, *, noun: str = "rows") -> str:
    """A subgroup's mistakes beside those of all others, of one class where it is listed within that.

    Args:
        line: ``n`` and the details of a part of the finding ``subgroups``.
        noun: What rows are.
    """
    rows = noun if line["truth"] is None else f"{noun} that are {shorten(line['truth'])}"
    text = (
        f"{shorten(line['group'])}: {count(line['mistakes'])} of {count(line['n'])} {rows} are wrong"
        f"{_share(line['n'], line['rate'])}; in all others {count(line['rest_mistakes'])} of "
        f"{count(line['rest_n'])}{_share(line['rest_n'], line['rest_rate'])}."
    )
    if line["rate"] <= line["rest_rate"]:  # it has the easier classes
        return f"{text} At the rates of its classes it would be {count(round(line['expected']))}."
    return text


def _share(rows: float, rate: float) -> str:
    """A share in brackets, where there are enough rows for one."""
    return f" ({share(rate)})" if rows >= _FEWEST else ""


def subgroup_headline(line: Line, *, noun: str = "rows") -> str:
    """The same in at most 20 words, as headlines of mistakes are (names of several words count as one).

    Args:
        line: ``n`` and the details of a part of the finding ``subgroups``.
        noun: What rows are.
    """
    rows = noun if line["truth"] is None else f"{shorten(line['truth'])} {noun}"
    beside = f"{ELSEWHERE} {count(line['rest_mistakes'])} of {count(line['rest_n'])}"
    if line["rate"] <= line["rest_rate"]:  # it has the easier classes
        beside = f"its classes would give {count(round(line['expected']))}"
    wrong = f"{count(line['mistakes'])} of {count(line['n'])} {rows} are wrong"
    return f"{shorten(line['group'])}: {wrong}; {beside}."


def search_sentence(details: Line, by: Sequence[str], *, noun: str = "rows") -> str | None:
    """What is said where no subgroup is listed; None where any is.

    Args:
        details: Those of the finding ``subgroups``.
        by: The attributes that were searched.
        noun: What rows are.
    """
    names = ", ".join(map(shorten, by))
    tested = count(details.get("tested"))
    texts = {
        "single_group": f"{names}: there is one group with {noun}, so there is nothing to search.",
        "no_mistakes": "There is no mistake to search for.",
        "weighted": f"The {noun} have weights: subgroups are not searched, since there is no test.",
        "mixed_clusters": (
            "Clusters lie in several subgroups: these are not searched, since there is no test."
        ),
        "one_cluster": "Each subgroup is of one cluster, so that nothing says how clusters differ.",
        "no_large_subgroup": f"No subgroup by {names} has enough {noun} and mistakes to be tested.",
        "none_beyond_chance": (
            f"No subgroup by {names} has more mistakes than its classes give, beyond chance "
            f"({tested} comparisons)."
        ),
    }
    return texts.get(str(details["status"]))
