"""Labels that are sets of labels, such as ``smile|hat``: an audit compares one label a row."""

from __future__ import annotations

from collections.abc import Mapping

from evenhand.core.errors import InputError, one_line
from evenhand.evidence.predictions.counts import Counts

_SEPARATORS = ("|", ";", ",")
_SHOWN = 3
_AROUND = " \t[](){}'\""


def check_one_label(counts: Counts, columns: Mapping[str, str]) -> None:
    """Refuse truths and predictions of which most are several labels in one text.

    A text with a separator may be one name (``Paris, France``; ``red|circle``). Labels are sets where their
    parts come in several numbers or places, and combine to more labels than there are parts.

    Args:
        counts: Under the rules for labels.
        columns: Axis name to the user's column name.

    Raises:
        InputError: Says what to make of them.
    """
    counts = counts.of_first()
    rows: dict[str, float] = {}
    for name in ("truth", "prediction"):
        for label, n in zip(counts.axis(name).levels, counts.level_counts(name).tolist(), strict=True):
            if isinstance(label, str) and n:
                rows[label] = rows.get(label, 0) + n
    for separator in _SEPARATORS:
        several = [label for label in rows if separator in label]
        if 2 * sum(rows[label] for label in several) > sum(rows.values()) and _are_sets(rows, separator):
            examples = sorted(several, key=lambda label: (-rows[label], label))[:_SHOWN]
            names = " and ".join(repr(columns.get(name, name)) for name in ("truth", "prediction"))
            raise InputError(
                f"most labels in {names} are several in one, separated by {separator!r}, such as "
                f"{', '.join(repr(one_line(label, 40)) for label in examples)}; an audit compares one label "
                "a row, and their order would be a mistake: audit each label as a column of its own (yes or "
                "no), or, where each set is one class, join its parts in one order with +"
            )


def _are_sets(rows: Mapping[str, float], separator: str) -> bool:
    """Whether parts come in several numbers or places, and make more labels than there are parts."""
    parts = [[part.strip(_AROUND) for part in label.split(separator)] for label in rows]
    places: dict[str, set[int]] = {}
    for split in parts:
        for position, part in enumerate(split):
            places.setdefault(part, set()).add(position)
    is_ordered = len(set(map(len, parts))) == 1 and all(len(where) == 1 for where in places.values())
    repeats_a_set = len({frozenset(split) for split in parts}) < len(parts)
    return not is_ordered and (len(places) < len(parts) or repeats_a_set)
