"""Writes the reference: metric cards, a page for each benchmark, and every command with its options.

    python docs/make_cards.py [FOLDER]

The pages are kept, so that links to them lead somewhere in a checkout, too; ``tests/documents`` says when
they are not those of the code.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import typer

from evenhand import metrics
from evenhand.benchmarks.benchmark import Benchmark, Parameter
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.cli.main import app
from evenhand.core.cards import DIFFERENCE, SEED_SPREAD
from evenhand.core.errors import EvenhandError
from evenhand.files.atomic import write_bytes
from evenhand.metrics.catalogue import known_cards

CARDS = {  # those of installed packages are on the pages of their packages
    name: card
    for name, card in known_cards().items()
    if {name, name.removesuffix(DIFFERENCE), name.removesuffix(SEED_SPREAD)} & set(metrics.__all__)
}

FAMILIES = {  # by folder of evenhand.metrics, or by file of one
    "classification": "Effect sizes and SkewSize",
    "classification.accuracy": "Accuracy by group",
    "classification.parity": "Parity",
    "numbers": "Numbers of your own",
    "labels": "Labels on people",
    "labels.households": "Households",
    "retrieval": "Retrieval",
    "choices": "Pronoun resolution",
    "choices.roles": "Sets of like people and questions that cannot be decided",
    "association": "Associations",
}
OTHER = "Further"
OF_AUDITS = "is the model right equally often for every group, and does it make the same mistakes?"
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
    folders = file, file.rpartition(".")[0], file.partition(".")[0]
    return next((FAMILIES[name] for name in folders if name in FAMILIES), OTHER)


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


def table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of Markdown."""
    lines = [titles, ["---"] * len(titles), *rows]
    cells = [[re.sub(r"(?<!\\)\|", r"\|", " ".join(cell.split())) for cell in line] for line in lines]
    return "\n".join("| " + " | ".join(line) + " |" for line in cells)


def page_of(name: str) -> str:
    """The page of a benchmark, from ``docs``."""
    return f"benchmarks/{name.replace('/', '-')}.md"


def parameter_row(name: str, parameter: Parameter) -> tuple[str, ...]:
    """What ``-p`` can set, its default and the choices there are."""
    choices = ", ".join(f"`{choice}`" for choice in parameter.choices)
    default = f"`{parameter.default}`" if str(parameter.default) else "none"
    return f"`{name}`", default, choices or type(parameter.default).__name__, marked_up(parameter.help)


def metric_link(primary: str) -> str:
    """A primary metric with its parameters, linked to its card."""
    name, _, params = primary.partition("[")
    return f"[`{name}`](../metric_cards.md#{name})" + (f" with `{params[:-1]}`" if params else "")


def deeper(card: str) -> str:
    """A card below the heading of a page; a list begins after an empty line."""
    text = re.sub(r"^(#+ )", r"#\1", card, flags=re.MULTILINE).strip()
    return re.sub(r"(?m)^((?!- |  ).+)\n(?=- )", r"\1\n\n", text)


def benchmark_page(name: str) -> str:
    """What a benchmark asks, its parameters, headlines and limits, and its card."""
    benchmark: Benchmark[Any] = BENCHMARKS.get(name)
    question = [marked_up(benchmark.asks[:1].upper() + benchmark.asks[1:])] if benchmark.asks else []
    blocks = [f"# {name}", *question, f"```bash\nevenhand run {name} --model URI\n```"]
    if benchmark.parameters:
        rows = [parameter_row(key, parameter) for key, parameter in benchmark.parameters.items()]
        blocks += ["## Parameters", table(("`-p`", "default", "possible", "what it does"), rows)]
    if benchmark.primaries:
        lines = [f"- {metric_link(primary)}" for primary in benchmark.primaries]
        blocks += ["## Headlines", "Tested together, each with a verdict:", "\n".join(lines)]
    if benchmark.limits:
        blocks += ["## Limits", "\n".join(f"- {marked_up(limit)}" for limit in benchmark.limits)]
    card = benchmark.card()
    if card.startswith(f"# {name}\n"):
        card = "# Card" + card.removeprefix(f"# {name}")
    return GENERATED + "\n\n".join([*blocks, deeper(card)]) + "\n"


def benchmark_index() -> str:
    """The page that lists all benchmarks."""
    rows = [
        (f"[`{name}`]({page_of(name)})", marked_up(BENCHMARKS.get(name).asks or OF_AUDITS))
        for name in sorted(BENCHMARKS.builtin)
    ]
    opening = (
        "# Benchmarks\n\nThe page of each has its parameters, its headlines, where its data comes from, "
        "under which licence, and what it cannot show.\n"
        "One of your own: [Extending](extending.md#a-benchmark).\n\n"
    )
    return GENERATED + opening + table(("benchmark", "what it asks"), rows) + "\n"


def commands_of(command: Any, words: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, with what is typed for it."""
    inner = getattr(command, "commands", None)
    if not inner:
        yield words, command
        return
    for name, below in inner.items():
        yield from commands_of(below, f"{words} {name}")


def option_row(option: Any) -> tuple[str, ...]:
    """What is typed for an option or argument, its default, and what it does."""
    typed = ", ".join(f"`{text}`" for text in (*option.opts, *option.secondary_opts))
    value = option.metavar or ("" if getattr(option, "is_flag", False) else option.name.upper())
    if not option.opts[0].startswith("-"):
        typed, value = f"`{value}`", ""
    default = option.default
    is_plain = isinstance(default, str | int | float) and not isinstance(default, bool) and default != ""
    standing = "needed" if option.required else f"`{default}`" if is_plain else ""
    return typed + (f" `{value}`" if value else ""), standing, marked_up(option.help or "")


def command_reference() -> str:
    """The page of all commands, and what their exit codes mean."""
    blocks = [
        "# Commands",
        "What `evenhand COMMAND --help` prints, of every command, and what exit codes mean.",
    ]
    for words, command in commands_of(typer.main.get_command(app), "evenhand"):
        rows = [option_row(option) for option in command.params]
        blocks += [f"## {words}", marked_up(command.help or ""), table(("typed", "default", ""), rows)]
    codes: dict[int, list[str]] = {}
    for error in EvenhandError.__subclasses__():
        codes.setdefault(error.exit_code, []).append(marked_up((error.__doc__ or "").partition("\n")[0]))
    rows = [("0", "Done."), *((str(code), " ".join(texts)) for code, texts in sorted(codes.items()))]
    rows += [("130, 143", "Stopped by Ctrl-C, or by SIGTERM; the same command goes on.")]
    more = "More on each: [Questions](faq.md#what-do-the-exit-codes-mean)."
    blocks += ["## Exit codes", table(("code", ""), rows), more]
    return GENERATED + "\n\n".join(blocks) + "\n"


def pages() -> dict[str, str]:
    """All generated pages by their path in ``docs``."""
    return {
        "metric_cards.md": metric_cards(),
        "benchmark_cards.md": benchmark_index(),
        "commands.md": command_reference(),
        **{page_of(name): benchmark_page(name) for name in BENCHMARKS.builtin},
    }


def in_navigation(config: str) -> str:
    """``mkdocs.yml`` with every page of a benchmark in the navigation."""
    first = "      - All: benchmark_cards.md\n"
    lines = "".join(f"      - {page_of(name)}\n" for name in sorted(BENCHMARKS.builtin))
    return re.sub(rf"(?<={re.escape(first)})(?:      - benchmarks/.*\n)*", lines, config)


def main(folder: Path) -> None:
    """Write all pages into a folder; pages of benchmarks that are no more go."""
    made = pages()
    config = folder.parent / "mkdocs.yml"
    if config.is_file():
        write_bytes(config, in_navigation(config.read_text(encoding="utf-8")).encode())
    for path in folder.glob("benchmarks/*.md"):
        if path.relative_to(folder).as_posix() not in made:
            path.unlink()
    for name, text in made.items():
        write_bytes(folder / name, text.encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
