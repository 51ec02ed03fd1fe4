"""Answers in words: what became of them before they were counted, in a sentence or two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from evenhand.display.text.formatting import count, listing, plural
from evenhand.report.chapters import Chapter
from evenhand.report.facets import facets_of

if TYPE_CHECKING:
    import polars

_FOUND = {
    "exact": "by the label itself",
    "lemma": "by another form of its word",
    "synonym": "by a synonym",
    "decision": "by a person’s decision",
    "embedding": "by the embedding model’s match",
    "llm": "by the language model’s match",
}
_KINDS = {
    "refusal": ("was a refusal", "were refusals"),
    "empty": ("was empty", "were empty"),
    "other": ("was decided to be something else", "were decided to be something else"),
    "none": ("named none and stays words of its own", "named none and stay words of their own"),
}


def rested_on(chapter: Chapter, evidence: Mapping[str, polars.DataFrame]) -> dict[str, polars.DataFrame]:
    """The evidence that a chapter is about: words as they were said, or the labels that they became."""
    raw = any(("answers", "raw") in facets_of(finding) for finding in chapter.findings)
    return {name: table for name, table in evidence.items() if name.endswith("_raw") == raw}


def labelled(tables: Mapping[str, polars.DataFrame], fewest: int = 0) -> list[str]:
    """How many answers name a label and by which way, and which chapters say what; empty where none is words.

    Counts below ``fewest`` are hidden; if one is hidden, all are.
    """
    table = tables.get("answer_kinds")
    if table is None or not {"category", "matched", "several", "n"} <= set(table.columns):
        return []
    ways: Counter[str] = Counter()
    several = 0
    for category, matched, more, n in table.select("category", "matched", "several", "n").iter_rows():
        ways[matched if category == "answer" else category] += n
        several += n if more else 0
    sentences = [f"The {plural(sum(ways.values()), 'answer')} in words became labels, step by step."]
    if not any(0 < n < fewest for n in (*ways.values(), several)):
        sentences = [_counted(ways, several)]
    sentences.append(
        "Chapters “answers as they were said” take the words as they are, so that an answer is right there "
        "only if it is the label letter for letter; all others take the labels."
    )
    return sentences


def _counted(ways: Mapping[str, int], several: int) -> str:
    total = sum(ways.values())
    naming_ways = {way: n for way, n in ways.items() if way not in _KINDS}
    n_named = sum(naming_ways.values())
    how = [f"{count(n)} {_FOUND.get(way, f'by {way}')}" for way, n in sorted(naming_ways.items(), key=_most)]
    rest = [
        f"{count(ways[kind])} {words[ways[kind] != 1]}" for kind, words in _KINDS.items() if ways.get(kind)
    ]
    share = f" ({n_named / total:.1%})" if total else ""
    sentence = f"Of {plural(total, 'answer')} in words, {count(n_named)}{share} named a label"
    sentence += f": {listing(how)}" if how else ""
    sentence += f"; {listing(rest)}" if rest else ""
    more = f" {count(several)} named several labels, of which the first counts." if several else ""
    return f"{sentence}.{more}"


def _most(way: tuple[str, int]) -> tuple[int, str]:
    return -way[1], way[0]
