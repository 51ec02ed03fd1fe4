"""Evidence for tests, built from tables that can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import strategies as st
from scipy import stats

from evenhand.evidence.predictions.counts import Counts
from evenhand.evidence.predictions.predictions import Predictions
from evenhand.stats.contingency.tables import TableBatch

COLUMNS = {"truth": "truth", "group": "group", "prediction": "prediction"}
CHARACTERS = st.characters(exclude_categories=("Cs",))
"""What UTF-8 can write. Hypothesis, left to itself, encodes each character there is to find the same."""


class Later:
    """A slow library, imported at its first use: every worker reads a file of tests, and one runs it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("_"):  # pytest asks whether it is a fixture
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name), attribute)


def usual(share: float, draws: int) -> tuple[float, float]:
    """The fewest and the most of the draws in which something of this chance happens, but once in 1,000."""
    return stats.binom.ppf(0.001, draws, share), stats.binom.isf(0.001, draws, share)


def predictions(rows: Sequence[tuple], **columns: str) -> Predictions:
    """Predictions from (truth, group, prediction) rows."""
    frame = pl.DataFrame(list(rows), schema=["truth", "group", "prediction"], orient="row")
    return Predictions.from_frame(frame, truth="truth", prediction="prediction", **columns)


def counts_of(tables: dict[str, Sequence[Sequence[int]]], labels: Sequence[str]) -> Counts:
    """Counts from one group x prediction table per true class; groups are called g0, g1, ..."""
    cells = [
        (truth, f"g{z}", label, int(n))
        for truth, table in tables.items()
        for z, row in enumerate(table)
        for label, n in zip(labels, row, strict=True)
        if n > 0
    ]
    frame = pl.DataFrame(cells, schema=["truth", "group", "prediction", "n"], orient="row")
    return Counts.from_table(frame, COLUMNS)


def one_table(table: object) -> TableBatch:
    """A batch of a single table."""
    return TableBatch.from_dense(np.asarray(table)[None])


def wilson(hits: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Wilson's limits as he wrote them: the p at which ``(share - p)^2 = z^2 p (1 - p) / n``."""
    z2 = stats.norm.isf((1 - level) / 2) ** 2
    low, high = sorted(np.roots([n + z2, -(2 * hits + z2), hits**2 / n]).real)
    return low, high


def random_rows(
    seed: int, *, classes: int = 3, groups: int = 2, n: int = 300, accuracy: float = 0.6
) -> list[tuple[str, str, str]]:
    """Rows of a model whose predictions depend on the class only, not on the group."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=n)
    group = rng.integers(groups, size=n)
    wrong = (truth + 1 + rng.integers(classes - 1, size=n)) % classes if classes > 1 else truth
    prediction = np.where(rng.random(n) < accuracy, truth, wrong)
    return [(f"c{y}", f"g{z}", f"c{p}") for y, z, p in zip(truth, group, prediction, strict=True)]
