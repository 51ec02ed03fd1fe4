"""Sentences on subgroups that a search lists: pure functions of the details of its finding and parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.display.text.disparities import ELSEWHERE, share, with_share
from evenhand.display.text.formatting import count, of, plural, short_label, shorten
from evenhand.display.text.language import _
from evenhand.display.text.statement import Statement

Line = Mapping[str, Any]


def subgroup_sentence(line: Line, *, noun: str = "rows") -> str:
    """A subgroup's mistakes beside those of all others; ``line``: ``n`` and details of its part."""
    rows = (
        noun
        if line["truth"] is None
        else _("{noun} that are {truth}", noun=noun, truth=short_label(line["truth"]))
    )
    text = _(
        "{group}: {hits} {rows} are wrong{share}; in all others {others}.",
        group=short_label(line["group"]),
        hits=of(line["mistakes"], line["n"]),
        rows=rows,
        share=with_share("", line["n"], share(line["rate"])),
        others=with_share(
            of(line["rest_mistakes"], line["rest_n"]), line["rest_n"], share(line["rest_rate"])
        ),
    )
    if line["rate"] <= line["rest_rate"]:  # it has the easier classes
        expected = _("At the rates of its classes it would be {n}.", n=count(round(line["expected"])))
        return Statement.joined((text, expected))
    return text


def subgroup_headline(line: Line, *, noun: str = "rows") -> str:
    """The same in at most 20 words, as headlines of mistakes are (names of several words count as one)."""
    rows = noun if line["truth"] is None else _("{truth} {noun}", truth=short_label(line["truth"]), noun=noun)
    beside: str = Statement.joined((_(ELSEWHERE), of(line["rest_mistakes"], line["rest_n"])))
    if line["rate"] <= line["rest_rate"]:  # it has the easier classes
        beside = _("its classes would give {n}", n=count(round(line["expected"])))
    wrong = _("{hits} {rows} are wrong", hits=of(line["mistakes"], line["n"]), rows=rows)
    group = short_label(line["group"])
    return Statement.of("{group}: {wrong}; {beside}.", group=group, wrong=wrong, beside=beside)


def search_sentence(details: Line, by: Sequence[str], *, noun: str = "rows") -> str | None:
    """What is said where no subgroup is listed; None where any is. ``details`` are of ``subgroups``."""
    names = ", ".join(map(shorten, by))
    tested = plural(details.get("tested"), "comparison")
    texts = {
        "single_group": _(
            "{names}: there is one group with {noun}, so there is nothing to search.", names=names, noun=noun
        ),
        "no_mistakes": _("There is no mistake to search for."),
        "weighted": _(
            "The {noun} have weights: subgroups are not searched, since there is no test.", noun=noun
        ),
        "mixed_clusters": _(
            "Clusters lie in several subgroups: these are not searched, since there is no test."
        ),
        "one_cluster": _("Each subgroup is of one cluster, so that nothing says how clusters differ."),
        "no_large_subgroup": _(
            "No subgroup by {names} has enough {noun} and mistakes to be tested.", names=names, noun=noun
        ),
        "none_beyond_chance": _(
            "No subgroup by {names} has more mistakes than its classes give, beyond chance ({tested}).",
            names=names,
            tested=tested,
        ),
    }
    return texts.get(str(details["status"]))
