"""The battery's lines put together: for each metric its worst line of every kind, with the design."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from simulations.battery.scores import ANYTHING, Row

HEADER = ("metric", "lines", "FA", "cov", "disagree", "power beside standard", "width", "missed")


def worst_lines(rows: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """One line a metric, whatever its parameters: the worst of its lines, each with the design it is of."""
    metrics: dict[str, list[Row]] = {}
    for row in rows:
        name = row.metric if row.metric == ANYTHING else re.split(r"[\[,/ ]", row.metric)[0]
        metrics.setdefault(name, []).append(row)
    for name, own in metrics.items():
        missed = sum(bool(row.missed()) for row in own)
        yield (
            name, str(len(own)),
            _worst(own, lambda row: row.false_alarms, max),
            _worst(own, lambda row: row.coverage, min),
            f"{100 * max(row.disagreements for row in own):.1f}",
            _power(own),
            _width(own),
            str(missed) if missed else "",
        )  # fmt: skip


def _worst(
    rows: Sequence[Row], value: Callable[[Row], float | None], choose: Callable[..., tuple[float, str]]
) -> str:
    known = [(one, row.design) for row in rows if (one := value(row)) is not None]
    if not known:
        return ""
    share, design = choose(known)
    return f"{100 * share:.1f} ({design})"


def _power(rows: Sequence[Row]) -> str:
    known = [(row.power, row.standard_power) for row in rows if row.power is not None and row.standard_power]
    if not known:
        return ""
    ours, standard = min(known, key=lambda pair: pair[0] / pair[1])
    return f"{100 * ours:.0f} beside {100 * standard:.0f}"


def _width(rows: Sequence[Row]) -> str:
    known = [(row.width, row.design) for row in rows if row.width is not None]
    return f"{max(known)[0]:.1f} ({max(known)[1]})" if known else ""
