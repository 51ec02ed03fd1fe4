"""How many groups and labels an audit tests: more would take hours, and is refused before it begins."""

from __future__ import annotations

import numpy as np

from evenhand.core.errors import InputError
from evenhand.evidence.grouping import Grouped

MOST_GROUPS, MOST_CLASSES, MOST_PREDICTIONS = 3_000, 30_000, 100_000
_VALUES_ALONE = "in Python, inference='none' gives values without tests"


def check_size(grouped: Grouped) -> None:
    """Refuse more groups, classes or predictions than tests and intervals can be computed for.

    Raises:
        InputError: Says how many there are, and what to type.
    """
    name = "+".join(grouped.by)
    if len(grouped.groups) > MOST_GROUPS:
        fewer = "cross fewer columns" if len(grouped.by) > 1 else (
            f"make fewer of them: --bins {name}=quantiles:4 where they are numbers, else --map FILE"
        )  # fmt: skip
        raise InputError(
            f"{name!r} has {len(grouped.groups):,} groups, and an audit tests at most {MOST_GROUPS:,}; "
            f"{fewer}; {_VALUES_ALONE}"
        )
    numbers = {
        "true": (len(grouped.classes), MOST_CLASSES),
        "predicted": (int(np.count_nonzero(np.bincount(grouped.prediction))), MOST_PREDICTIONS),
    }
    for which, (n, most) in numbers.items():
        if n > most:
            raise InputError(
                f"the table has {n:,} different {which} labels, and an audit tests at most {most:,}; join "
                f"labels with --map FILE or --normalize, or audit a part of them; {_VALUES_ALONE}"
            )
