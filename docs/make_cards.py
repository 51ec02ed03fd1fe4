"""Writes the two generated pages: a card for each metric, from its docstring, and one for each benchmark.

    python docs/make_cards.py [FOLDER]

``make docs`` runs it before it builds. The pages are not kept: they are always those of the code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand import metrics
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.files.atomic import write_bytes
from evenhand.metrics.catalogue import known_cards

CARDS = known_cards()

FAMILIES = {  # by folder of evenhand.metrics, or by file of one
    "classification": "Effect sizes and SkewSize",
    "classification.accuracy": "Accuracy by group",
    "classification.parity": "Parity",
    "labels": "Labels on people",
    "households": "Households",
    "retrieval": "Retrieval",
    "choices": "Pronoun resolution",
    "roles": "Sets of like people and questions that cannot be decided",
    "association": "Associations",
}
OTHER = "Further"
COMPARED = "Differences between models"
HEADINGS = {"Args": "Parameters", "Returns": "Result", "Raises": "Refuses", "Source": "Source"}
SECTION = re.compile(rf"^({'|'.join(HEADINGS)}):[ \n]", re.MULTILINE)
ENTRY = re.compile(r"^(\S+): ", re.MULTILINE)
GENERATED = "<!-- made by docs/make_cards.py; edit the docstring or the card instead -->\n\n"


def marked_up(text: str) -> str:
    """A piece of docstring as Markdown: code in single backticks, nothing else taken for markup."""
    pieces = re.split(r"(``.+?``)", text, flags=re.DOTALL)
    return "".join(
        f"`{piece[2:-2]}`" if piece.startswith("``") else re.sub(r"([<*_|\[\]])", r"\\\1", piece)
        for piece in pieces
    )


def body_of(docstring: str) -> str:
    """A whole docstring as Markdown, its sections under names in bold."""
    text, *sections = SECTION.split(inspect.cleandoc(docstring) + "\n")
    made = [marked_up(text).strip()]
    for name, content in zip(sections[::2], sections[1::2], strict=True):
        said = inspect.cleandoc("\n" + content)
        if name in {"Args", "Raises"}:
            made += [f"**{HEADINGS[name]}**", _entries(said)]
        else:
            made.append(f"**{HEADINGS[name]}**: {marked_up(said)}")
    return "\n\n".join(made)


def _entries(text: str) -> str:
    """``name: what it is`` lines as a list."""
    before, *found = ENTRY.split(text)
    pairs = zip(found[::2], found[1::2], strict=True)
    items = [f"- `{name}`: {marked_up(' '.join(said.split()))}" for name, said in pairs]
    return "\n".join([*([marked_up(before)] if before.strip() else []), *items])


def signature_of(metric: Callable[..., Any]) -> str:
    """How a metric is called: names and defaults, no types; long defaults are left out."""
    made, starred = [], False
    for each in inspect.signature(metric).parameters.values():
        if each.kind is each.KEYWORD_ONLY and not starred:
            made.append("*")
            starred = True
        default = "" if each.default is each.empty else f"={each.default!r}"
        prefix = "**" if each.kind is each.VAR_KEYWORD else ""
        made.append(prefix + each.name + (default if len(default) <= 30 else "=..."))
    return f"{metric.__name__}({', '.join(made)})"


def facts_of(name: str) -> str:
    """What a metric measures, its formula, range, direction, fair value and source, as its card has them."""
    if name not in CARDS:
        return "A table, not a finding."
    known = CARDS[name]
    fair = "" if known.fair_at is None else f"; fair at {known.fair_at:g}"
    place = f", {known.source.equation}" if known.source.equation else ""
    low, high = ("no limit" if end is None else f"{end:g}" for end in known.range)
    limits = f"from {low} to {high}" if known.range != (None, None) else "any number"
    return (
        f"**{known.title}**: {marked_up(known.summary)}. *{known.direction}{fair}*; {limits}. "
        f"{marked_up(known.source.paper + place)}.\n\n`{known.formula}`"
    )


def family_of(metric: Callable[..., Any]) -> str:
    """The heading under which a metric stands."""
    file = metric.__module__.removeprefix("evenhand.metrics.")
    return FAMILIES.get(file) or FAMILIES.get(file.partition(".")[0], OTHER)


def metric_cards() -> str:
    """The page of metrics, by family."""
    names = [name for name in dir(metrics) if not name.startswith("_")]
    families: dict[str, list[str]] = {title: [] for title in [*dict.fromkeys(FAMILIES.values()), OTHER]}
    for name in names:
        metric = getattr(metrics, name)
        card = [
            f"### {name}",
            facts_of(name),
            f"```text\n{signature_of(metric)}\n```",
            body_of(metric.__doc__ or ""),
        ]
        families[family_of(metric)].append("\n\n".join(card))
    differences = [f"### {name}\n\n{facts_of(name)}" for name in sorted(set(CARDS) - set(names))]
    families[COMPARED] = ["`evenhand compare` makes these: [Comparing models](compare.md).", *differences]
    sections = [f"## {title}\n\n" + "\n\n".join(cards) for title, cards in families.items() if cards]
    opening = (
        "# Metric cards\n\nWhat each metric computes, as the docstring of `evenhand.metrics.NAME` says it.\n"
        "Which one answers which question: [Which metric](metrics.md).\n\n"
    )
    return GENERATED + opening + "\n\n".join(sections) + "\n"


def benchmark_cards() -> str:
    """The page of benchmarks; those that share a card stand together."""
    cards: dict[str, list[str]] = {}
    for name in sorted(BENCHMARKS.builtin):
        cards.setdefault(BENCHMARKS.get(name).card(), []).append(name)
    made = []
    for card, names in cards.items():
        title, _, text = card.partition("\n")
        deeper = re.sub(r"^(#+ )", r"#\1", text, flags=re.MULTILINE).strip()
        spaced = re.sub(r"(?m)^((?!- |  ).+)\n(?=- )", r"\1\n\n", deeper)  # a list begins after an empty line
        commands = ", ".join(f"`evenhand run {name}`" for name in names)
        made.append(f"## {title.removeprefix('# ')}\n\n{commands}\n\n{spaced}")
    opening = "# Benchmark cards\n\nWhere data comes from, under which licence, and what it cannot show.\n\n"
    return GENERATED + opening + "\n\n".join(made) + "\n"


def main(folder: Path) -> None:
    """Write both pages into a folder."""
    write_bytes(folder / "metric_cards.md", metric_cards().encode())
    write_bytes(folder / "benchmark_cards.md", benchmark_cards().encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
