"""The pages of the documentation as blocks, headings, links and commands."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.conftest import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
GENERATED = ("metric_cards.md", "benchmark_cards.md", "commands.md")
WRITTEN = [page for page in sorted(DOCS.glob("*.md")) if page.name not in GENERATED]
OTHERS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TYPED = re.compile(r"[A-Z_]+=|(?:evenhand|pip|python3?|make|pytest|npx) ")  # a block without a language
SAVED = re.compile(r"`([\w.-]+\.\w+)`:\s*\Z")


@dataclass(frozen=True)
class Block:
    """A fenced block: what it is written in, and the file that the line above it says to save it as."""

    page: str
    language: str
    text: str
    file: str | None

    @property
    def key(self) -> tuple[str, str]:
        """The page and how the block begins."""
        return self.page, " ".join(self.text.partition("\n")[0].split())[:64]


def blocks_of(page: Path) -> list[Block]:
    """Every fenced block of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        saved = SAVED.search(text[: match.start()].rstrip("\n"))
        language = match[1] or ("bash" if TYPED.match(match[2]) else "text")
        found.append(Block(page.name, language, match[2], saved[1] if saved else None))
    return found


def prose_of(page: Path) -> str:
    """A page without its fenced blocks."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def slugs_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as Python-Markdown makes them."""
    found: set[str] = set()
    for title in re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE):
        said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        plain = unicodedata.normalize("NFKD", said).encode("ascii", "ignore").decode()
        slug = first = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())
        again = 0
        while slug in found:
            again += 1
            slug = f"{first}_{again}"
        found.add(slug)
    return found


def github_slugs_of(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    found: Counter[str] = Counter()
    for title in re.findall(r"^#+ (.+)$", prose_of(page), re.MULTILINE):
        said = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")
        slug = re.sub(r"[^\w\- ]", "", said.strip().lower()).replace(" ", "-")
        found[slug] += 1
    return {slug if not again else f"{slug}-{again}" for slug, n in found.items() for again in range(n)}


def links_of(page: Path) -> list[str]:
    """Targets of all links and pictures."""
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "`code`", prose_of(page)))


def pages_of_nav() -> list[str]:
    """Every page that mkdocs.yml puts into the navigation, in order."""
    found: list[str] = []

    def walk(entry: object) -> None:
        if isinstance(entry, str):
            found.append(entry)
        elif isinstance(entry, list):
            for each in entry:
                walk(each)
        elif isinstance(entry, dict):
            for each in entry.values():
                walk(each)

    walk(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    return found


def shell_commands(text: str) -> list[list[str]]:
    """The words of every ``evenhand ...`` line of a shell block; heredocs and comments are left out."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"<<'(\w+)'.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL))
    lines = [line.split(" || ")[0].strip() for line in joined.splitlines()]
    return [shlex.split(line, comments=True) for line in lines if line.startswith("evenhand ")]


def inline_code(page: Path) -> list[str]:
    """Everything between single backticks, on one line."""
    joined = re.sub(r"`[^`]*`", lambda found: " ".join(found[0].split()), prose_of(page))
    return re.findall(r"`([^`]+)`", joined)
