"""Numbers as groups: cut at given edges, or into bins of equal numbers of rows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from evenhand.core.errors import ParameterError, one_line
from evenhand.evidence.predictions.levels import Label

BinsLike: TypeAlias = Mapping[str, Sequence[float] | str] | str | Sequence[str]
_QUANTILES = re.compile(r"quantiles:(\d+)")
_MOST = 1_000
_HOW = "write for instance age=18,40,65 or age=quantiles:4"


@dataclass(frozen=True)
class Bins:
    """How the numbers of one column become groups."""

    column: str
    edges: tuple[float, ...] = ()  # where a bin begins, ascending; a number at an edge lies in the upper bin
    quantiles: int = 0  # into how many bins of equal numbers of rows instead

    @property
    def written(self) -> str:
        """As it is typed."""
        text = (
            f"quantiles:{self.quantiles}"
            if self.quantiles
            else ",".join(f"{edge:.15g}" for edge in self.edges)
        )
        return f"{self.column}={text}"

    def labels(self, levels: Sequence[Label | None], rows: Sequence[float]) -> list[str | None]:
        """The bin of each level, None where it is missing."""
        pairs = zip(levels, rows, strict=True)
        numbers = [None if level is None else self._number(level, n) for level, n in pairs]
        present = [number for number in numbers if number is not None]
        edges = self._edges(numbers, rows) if self.quantiles else self.edges
        is_whole = all(number % 1 == 0 for number in (*present, *edges))
        names = _names(edges, integral=is_whole)
        places = np.searchsorted(edges, present, side="right").tolist()
        bins = iter(places)
        return [None if number is None else names[next(bins)] for number in numbers]

    def _number(self, level: Label, rows: float) -> float:
        try:
            number = float(level)
        except ValueError:
            number = np.nan
        if isinstance(level, bool) or not np.isfinite(number):
            text = one_line(level, 40)
            raise ParameterError(
                f"--bins {self.written}: column {self.column!r} holds {text!r} ({rows:,.0f} rows): no "
                f"number; if it means a missing value, type: --missing {text!r}"
            )
        return number

    def _edges(self, numbers: Sequence[float | None], rows: Sequence[float]) -> tuple[float, ...]:
        """The first number of each bin but the lowest: ties stay together, so that bins may be unequal."""
        pairs = sorted(
            (number, n) for number, n in zip(numbers, rows, strict=True) if number is not None and n
        )
        values, below = np.array([value for value, _ in pairs]), np.cumsum([0.0, *(n for _, n in pairs)])
        if values.size < 2:
            raise ParameterError(f"--bins {self.written}: the column has fewer than two numbers")
        targets = below[-1] * np.arange(1, self.quantiles) / self.quantiles
        nearest = [int(np.argmin(np.abs(below[1:-1] - target))) + 1 for target in targets]
        return tuple(dict.fromkeys(float(values[index]) for index in nearest))


def _names(edges: Sequence[float], *, integral: bool) -> list[str]:
    """What the bins are called; of whole numbers with the last one that lies in each."""
    middle = []
    for low, high in pairwise(edges):
        is_count = integral and low >= 0
        last = f"{high - 1 if is_count else high:.15g}"
        between = "-" if is_count else " to "
        middle.append(last if is_count and high - low == 1 else f"{low:.15g}{between}{last}")
    return [f"under {edges[0]:.15g}", *middle, f"{edges[-1]:.15g} or more"]


def make_bins(bins: BinsLike) -> tuple[Bins, ...]:
    """Bins as users give them: ``{"age": [18, 40, 65]}``, ``{"age": "quantiles:4"}``, ``age=18,40,65``."""
    if isinstance(bins, Mapping):
        all_bins = [_one(str(column), how) for column, how in bins.items()]
    else:
        texts = [bins] if isinstance(bins, str) else list(bins)
        all_bins = [_one(*_split(text)) for text in texts]
    columns = [entry.column for entry in all_bins]
    if len(set(columns)) < len(columns):
        raise ParameterError(f"bins={columns!r} names a column twice; give each once")
    return tuple(all_bins)


def _split(text: str) -> tuple[str, str]:
    column, sign, how = str(text).rpartition("=")
    if not sign or not column or not how:
        raise ParameterError(f"bins={text!r} is not possible; {_HOW}")
    return column, how


def _one(column: str, how: Sequence[float] | str) -> Bins:
    if isinstance(how, str) and (match := _QUANTILES.fullmatch(how)):
        if not 2 <= int(match[1]) <= _MOST:
            raise ParameterError(f"bins={column}={how}: give 2 to {_MOST:,} quantiles")
        return Bins(column, quantiles=int(match[1]))
    try:
        edges = tuple(float(edge) for edge in (how.split(",") if isinstance(how, str) else how))
    except (TypeError, ValueError):
        edges = ()
    ascending = all(low < high for low, high in pairwise(edges))
    if not edges or not ascending or not np.isfinite(edges).all():
        raise ParameterError(f"bins={column}={how}: edges are numbers that ascend; {_HOW}")
    return Bins(column, edges)
