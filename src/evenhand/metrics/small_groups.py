"""Groups of so few units that a value which rests on them says little."""

from __future__ import annotations

from collections.abc import Mapping

FEW = 10
"""Units below which a group is named where it decides a value."""


def small_groups(deciding: Mapping[str, int], units: str = "rows") -> list[str]:
    """A note that names the small ones among the groups that decide a value, the smallest first.

    Args:
        deciding: Units of each group that is an extreme, the worst, or one of two that are compared.
        units: What they are: rows, or the column of clusters.
    """
    few = sorted((size, name) for name, size in deciding.items() if size < FEW)
    if not few:
        return []
    told = ", ".join(f"{name} ({size})" for size, name in few)
    return [f"fewer than {FEW} {units} decide this: {told}"]
