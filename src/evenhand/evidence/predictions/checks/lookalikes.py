"""Labels that look alike in print and are different texts: letters of other alphabets, unseen signs."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence, Sized

from evenhand.core.findings import TableWarning, ValueCount
from evenhand.evidence.predictions.label_rules import folded

_PRINTED = str.maketrans(
    "АВЕЅІЈКМНОРСТУХаеѕіјкорсухһԁԛԝвмнтΑΒΕΖΗΙΚΜΝΟΡΤΥΧονυικραχɑıʼ’‘‐‑‒–—−",
    "ABESIJKMHOPCTYXaesijkopcyxhdqwbmhtABEZHIKMNOPTYXovuikpaxai'''------",
)
"""Letters of Cyrillic and Greek, and signs, and what they look like in Latin."""
_ENDS, _AROUND = ".,;:!", "'\"`*«»„“”()[]{}"
"""What ends a sentence, and what stands around a quoted word: a model that answers writes both."""
_SHOWN = 6


def printed_form(text: str) -> str:
    """What a label looks like: ``folded``, in Latin letters, without quotes and the end of a sentence."""
    form = folded(text.translate(_PRINTED))
    return form.rstrip(_ENDS).strip(_AROUND).rstrip(_ENDS).strip() or form


def look_alike(
    rows_by_column: Mapping[str, Mapping[str, float]], total: Mapping[str, float]
) -> Iterable[tuple[TableWarning, str]]:
    """Labels of one space that look alike and are no spellings of one label, with what to type."""
    forms: dict[str, list[str]] = {}
    for label in sorted(total, key=lambda label: (-total[label], label)):
        forms.setdefault(printed_form(label), []).append(label)
    several = [labels for labels in forms.values() if len({folded(label) for label in labels}) > 1]
    if not several:
        return
    odd = {label for labels in several for label in labels}
    columns = [column for column, rows in rows_by_column.items() if odd & rows.keys()]
    names = columns_text(columns)
    examples = "; ".join(
        ", ".join(f"{label!a} ({total[label]:,.0f} {_noun(total[label])})" for label in labels)
        for labels in several[:_SHOWN]
    )
    more, many = more_and_many(several)
    maps = [(other, labels[0]) for labels in several[:_SHOWN] for other in labels[1:]]
    is_group = len(rows_by_column) == 1
    option = "--map" if is_group else " ".join(f"--map {shlex.quote(f'{old}={new}')}" for old, new in maps)
    yield (
        TableWarning(
            code="look_alike",
            columns=columns,
            message=(
                f"in {names} {many} written in letters or signs that only look alike: {examples}{more}. They "
                "count as different labels"
            ),
            values=[ValueCount(value=label, count=total[label]) for labels in several for label in labels],
            option=option,
        ),
        "To join them, give --map a CSV file with the columns old, new and column"
        if is_group
        else f"To join them, type: {option}",
    )


def _noun(n: float) -> str:
    return "row" if n == 1 else "rows"


def columns_text(columns: Sequence[str]) -> str:
    """Columns by their names, with the noun before them."""
    return ("columns " if len(columns) > 1 else "column ") + " and ".join(map(repr, columns))


def more_and_many(several: Sized) -> tuple[str, str]:
    """How many labels are not listed, and how many there are."""
    more = f"; and {len(several) - _SHOWN} more" if len(several) > _SHOWN else ""
    return more, f"{len(several)} labels are" if len(several) > 1 else "one label is"
