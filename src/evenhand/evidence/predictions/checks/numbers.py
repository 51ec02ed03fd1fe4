"""A column of many numbers, such as ages or confidences, whose every value stands as a group of its own."""

from __future__ import annotations

import shlex

import numpy as np

from evenhand.core.findings import TableWarning
from evenhand.evidence.predictions.columns.order import Label
from evenhand.evidence.predictions.counts import Counts

_MANY, _MANY_FRACTIONS = 20, 6  # whole and fractional numbers from which a column is no list of groups


def numbers_as_groups(counts: Counts) -> list[TableWarning]:
    """A warning for each attribute of many numbers, with the bins to type."""
    warnings = []
    for name in counts.attributes:
        numbers = _numbers(counts.axis(name).levels)
        if len(numbers) < _MANY_FRACTIONS:
            continue
        is_whole = bool((numbers % 1 == 0).all())
        if is_whole and len(numbers) < _MANY:
            continue
        rows = counts.level_counts(name)
        edges = _round_edges(numbers)
        option = f"--bins {shlex.quote(f'{name}={edges}')}"
        warnings.append(
            TableWarning(
                code="numbers_as_groups",
                columns=[name],
                message=(
                    f"column {name!r} holds {len(numbers):,} different numbers from {numbers.min():.6g} to "
                    f"{numbers.max():.6g}, each a group of its own (of {float(np.median(rows)):,.0f} rows in "
                    f"the median). To compare ranges, type: {option}, with edges of your own, or "
                    f"{shlex.quote(f'{name}=quantiles:4')}"
                ),
                option=option,
            )
        )
    return warnings


def _numbers(levels: tuple[Label, ...]) -> np.ndarray:
    """The levels as numbers; nothing where one is none."""
    if any(isinstance(level, bool) for level in levels):
        return np.array([])
    try:
        return np.array([float(level) for level in levels])
    except ValueError:
        return np.array([])


def _round_edges(numbers: np.ndarray) -> str:
    """Three edges that cut the range of the numbers in four, with two digits."""
    cuts = np.quantile(numbers, [0.25, 0.5, 0.75])
    texts = dict.fromkeys(f"{float(f'{cut:.2g}'):.15g}" for cut in cuts)
    return ",".join(texts)
