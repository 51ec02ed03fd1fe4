"""What somebody should know while work is under way: bytes fetched, memory needed."""

from __future__ import annotations

import logging

NOTES = logging.getLogger("evenhand")
"""Silent unless a handler listens at level INFO; the command line writes its lines to stderr."""


def note(line: str) -> None:
    """Pass on one line."""
    NOTES.info(line)
