"""A benchmark's card as HTML: the little Markdown that cards are written in, everything else escaped."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_CODE = re.compile(r"`([^`]+)`")
_EMPHASIS = (
    (re.compile(r"\*\*([^*\n]+)\*\*"), "strong"),
    (re.compile(r"(?<![\w*])\*([^*\s](?:[^*\n]*[^*\s])?)\*(?![\w*])"), "em"),
)
_ITEM = re.compile(r"[-*] +")


def card_html(card: object) -> Markup:
    """Paragraphs and lists of a Markdown card as HTML; its title is left to the page.

    Tags are ``p``, ``ul``, ``li``, ``strong``, ``em`` and ``code`` alone; all else is shown as it is written.
    """
    blocks = re.split(r"\n\s*\n", str(card).strip()) if card else []
    return Markup("\n").join(_block(block.splitlines()) for block in blocks if not _is_title(block))


def _is_title(block: str) -> bool:
    return block.startswith("# ") and "\n" not in block


def _block(lines: list[str]) -> Markup:
    """A paragraph, with the list that may follow it."""
    before = next((index for index, line in enumerate(lines) if _ITEM.match(line)), len(lines))
    text = Markup("<p>{}</p>").format(_inline(lines[:before])) if before else Markup()
    items: list[list[str]] = []
    for line in lines[before:]:
        if _ITEM.match(line):
            items.append([_ITEM.sub("", line, count=1)])
        else:
            items[-1].append(line)
    listed = Markup().join(Markup("<li>{}</li>").format(_inline(item)) for item in items)
    return text + (Markup('<ul class="sentences">{}</ul>').format(listed) if items else Markup())


def _inline(lines: list[str]) -> Markup:
    text = str(escape(" ".join(line.strip() for line in lines).lstrip("# ")))
    codes: list[str] = []

    def keep(match: re.Match[str]) -> str:
        codes.append(f"<code>{match[1]}</code>")
        return f"\0{len(codes) - 1}\0"

    text = _CODE.sub(keep, text.replace("\0", ""))
    for pattern, tag in _EMPHASIS:
        text = pattern.sub(rf"<{tag}>\1</{tag}>", text)
    return Markup(re.sub(r"\0(\d+)\0", lambda match: codes[int(match[1])], text))  # noqa: S704 - escaped above
