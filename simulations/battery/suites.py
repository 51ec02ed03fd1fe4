"""Pages of suites whose models treat all groups alike: how often is a mark of a page filled?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from simulations.battery.audits import THREE, fair_table
from simulations.battery.design import Design

import evenhand as eh
from evenhand.core.findings import Finding
from evenhand.workflows.suite.overview import corrected_over_page


def page_design(name: str, rows: int, classes: int, cells: int, counted: int | None = None) -> Design:
    """Pages of so many cells: each is the gap of a blind model on a benchmark of its own.

    Any filled mark of a page counts, or of the first so many cells, which are those of one model.
    """

    def draw(rng: np.random.Generator) -> list[pl.DataFrame]:
        return [fair_table(rng, rows, classes, THREE[1:2]) for _ in range(cells)]

    def marks(tables: Sequence[pl.DataFrame], seed: int) -> list[Finding]:
        findings = []
        for table in tables:
            counts = eh.Predictions.from_frame(table, truth="truth", prediction="prediction").count(["a"])
            findings.append(eh.metrics.accuracy_gap(counts, by="a", seed=seed))
        return corrected_over_page(findings)[:counted]

    return Design(name, "audits", draw, findings=marks)


DESIGNS = (
    page_design("suite page, 10 benchmarks x 3 blind models", 300, 3, 30),
    page_design("suite page, 20 benchmarks x 5 blind models, any of one model", 300, 3, 100, counted=20),
)
