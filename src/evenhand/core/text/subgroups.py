"""Sentences on subgroups that a search lists: pure functions of the details of its finding and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.text.formatting import count, shorten

Line = Mapping[str, Any]


def subgroup_sentence(line: Line, *, noun: str = "rows") -> str:
    """A subgroup's mistakes beside those of all others, of one class where it is listed within that.

    Args:
        line: ``n`` and the details of a part of the finding ``subgroups``.
        noun: What rows are.
    """
    rows = noun if line["truth"] is None else f"{noun} that are {shorten(line['truth'])}"
    text = (
        f"{shorten(line['group'])}: {count(line['mistakes'])} of {count(line['n'])} {rows} are wrong; "
        f"in all others {count(line['rest_mistakes'])} of {count(line['rest_n'])}."
    )
    if line["rate"] <= line["rest_rate"]:  # it has the easier classes
        return f"{text} At the rates of its classes it would be {count(round(line['expected']))}."
    return text


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
