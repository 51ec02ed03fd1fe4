"""Groups so small that a headline should not rest on them: they are named beside it."""

from __future__ import annotations

from collections.abc import Iterable

FEWEST = 10
"""Units below which a group that decides a value is named."""


def few_decide(groups: Iterable[tuple[str, int]], units: str = "rows") -> list[str]:
    """A note that names those groups that are small; nothing where none is.

    ``groups`` decide the value, such as the best and the worst, and stand with the number of their ``units``,
    such as ``rows`` or the column of clusters.
    """
    words = units if units.endswith("s") or " " in units else f"values of {units}"  # of a column
    small = [f"{name} ({count})" for name, count in groups if count < FEWEST]
    return [f"fewer than {FEWEST} {words} decide this: {', '.join(small)}"] if small else []
