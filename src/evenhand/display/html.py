"""Small HTML tables for notebooks: escaped, without scripts or styles of the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from evenhand.core.errors import cut
from evenhand.display.text.formatting import DASH

MOST_ROWS = 20
_LONGEST = 80
TITLE_LIMIT = 300  # of a metric with all its parameters: cut inside a number it would read as another one
_BLANK = "␣"


def label(text: object, longest: int = _LONGEST) -> str:
    """Any text as one short line of HTML that keeps its own direction; of blanks alone, signs for them."""
    line = "".join(c if c.isprintable() else "\ufffd" for c in str(text))
    line = line if line.strip() else line.replace(" ", _BLANK)
    return f"<bdi>{escape(cut(line, longest))}</bdi>"


def harmless(value: Any) -> Any:
    """A chart's specification whose texts cannot end the script that a notebook puts it into."""
    if isinstance(value, str):
        return value.replace("</", "<\u2215").replace("<!", "<\ufe57")
    if isinstance(value, dict):
        return {harmless(key): harmless(entry) for key, entry in value.items()}
    return [harmless(entry) for entry in value] if isinstance(value, list) else value


def number(value: object) -> str:
    """A number with three decimals, a whole one without; a dash where there is none."""
    if value is None:
        return DASH
    if isinstance(value, bool) or not isinstance(value, int | float):
        return label(value)
    return f"{value:,.0f}" if float(value).is_integer() and abs(value) > 1 else f"{value:z,.3f}"


def table(title: object, columns: Sequence[str], rows: Iterable[Sequence[str]], notes: Sequence[str]) -> str:
    """A table of at most ``MOST_ROWS`` rows of cells that are HTML; the others are counted below it."""
    every = list(rows)
    head = "".join(f"<th>{label(column)}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in every[:MOST_ROWS])
    more = [f"{len(every) - MOST_ROWS:,} more rows"] if len(every) > MOST_ROWS else []
    below = "".join(f"<p>{label(note)}</p>" for note in (*more, *notes))
    return (
        f"<div><p><strong>{label(title, TITLE_LIMIT)}</strong></p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}</div>"
    )
