"""Whole audits of models that treat all groups alike: how often does anything at all get a verdict?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from simulations.battery.design import Design

import evenhand as eh
from evenhand.core.findings import Finding, Part

Data = tuple[pl.DataFrame, list[str | tuple[str, ...]]]


def fair_table(
    rng: np.random.Generator,
    rows: int,
    classes: int,
    attributes: Sequence[Sequence[float]],
    *,
    accuracies: tuple[float, float] = (0.7, 0.95),
) -> pl.DataFrame:
    """Predictions that depend on the class alone.

    Args:
        rng: Source of the draws.
        rows: How many.
        classes: How many; their accuracies and sizes differ.
        attributes: Shares of the groups of each attribute, named ``a``, ``b`` ...
        accuracies: Of the first and the last class.
    """
    sizes = 1 / np.arange(1, classes + 1) ** 0.5
    truth = rng.choice(classes, rows, p=sizes / sizes.sum())
    right = rng.random(rows) < np.linspace(*accuracies, classes)[truth]
    wrong = (truth + 1 + rng.geometric(0.5, rows)) % (classes + 1)
    columns = {"truth": truth, "prediction": np.where(right, truth, wrong)}
    for name, shares in zip("abc", attributes, strict=False):
        columns[name] = rng.choice(len(shares), rows, p=np.asarray(shares) / np.sum(shares))
    return pl.DataFrame(columns).cast(pl.String)


def audited(data: Data, seed: int) -> list[Finding | Part]:
    """All findings of an audit, and their parts."""
    table, by = data
    evidence = eh.Predictions.from_frame(table, truth="truth", prediction="prediction")
    findings = eh.audit(evidence, by=by, seed=seed).findings.findings
    return [holder for finding in findings for holder in (finding, *finding.parts)]


def design(
    name: str,
    rows: int,
    classes: int,
    shares: Sequence[Sequence[float]],
    by: list[str | tuple[str, ...]],
) -> Design:
    """Whole audits of one way to draw fair tables."""

    def draw(rng: np.random.Generator) -> Data:
        return fair_table(rng, rows, classes, shares), by

    return Design(name, "audits", draw, findings=audited)


THREE = ((0.6, 0.4), (0.5, 0.3, 0.2), (0.4, 0.3, 0.15, 0.1, 0.05))
"""Shares of the groups of three attributes."""

DESIGNS = (
    design("audit, 1 attribute of 3 groups", 600, 4, THREE[1:2], ["a"]),
    design("audit, 3 attributes", 1000, 5, THREE, ["a", "b", "c"]),
    design("audit, 3 attributes and 2 crossings", 1000, 5, THREE, ["a", "b", "c", ("a", "b"), ("b", "c")]),
    design("audit, 40 sparse classes, 2 attributes", 800, 40, THREE[:2], ["a", "b"]),
    design("audit, 2 classes, a group of 6 rows", 300, 2, ((0.68, 0.3, 0.02),), ["a"]),
)
