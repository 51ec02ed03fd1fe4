"""Consoles of Rich, in whose texts nothing acts on the terminal but Rich's own styles."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from evenhand.core.unseen import harmless


class SafeConsole(Console):
    """A console that shows control and direction characters of texts as signs.

    Rich passes what it prints, and each cell of a table, through ``render_str``; it writes its own escapes to
    the stream behind ``sys.stdout``, which would show them as signs too.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """A text with its markup."""
        return super().render_str(harmless(text), **options)
