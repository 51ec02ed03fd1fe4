"""Whole audits: how often does anything at all get a verdict, of fair models and of others?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import polars as pl
from simulations.battery.accuracy import Model, even, pearson, within_truth
from simulations.battery.design import Case, Design

import evenhand as eh
from evenhand.core.findings import Finding, Part
from evenhand.core.significance import is_beyond
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.suites.families import AUDIT, SEARCH

ANYTHING_FOUND = "anything found by an audit"
ALONE = 0.025  # level of the standard test: that of one of two questions
_WITHIN = "chi-squared within the truth"
_HIT = "Pearson's chi-squared at .025"

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


def audited(data: Data, seed: int, search: Sequence[str] = ()) -> list[Finding | Part]:
    """All findings of an audit and their parts; subgroups of a search count as its first lines do."""
    table, by = data
    evidence = eh.Predictions.from_frame(table, truth="truth", prediction="prediction")
    run = eh.audit(evidence, by=by, seed=seed, search=search)
    findings = [finding for finding in run.findings.findings if finding.name != SEARCH or run.overview.beyond]
    return [holder for finding in findings for holder in (finding, *finding.parts)]


def design(
    name: str,
    rows: int,
    classes: int,
    shares: Sequence[Sequence[float]],
    by: list[str | tuple[str, ...]],
    search: Sequence[str] = (),
) -> Design:
    """Whole audits of one way to draw fair tables."""

    def draw(rng: np.random.Generator) -> Data:
        return fair_table(rng, rows, classes, shares), by

    return Design(name, "audits", draw, findings=partial(audited, search=search))


def anything(counts: Counts, seed: int) -> Finding:
    """The primary with the smallest corrected p; p is 1 where the audit says nothing is beyond chance."""
    findings = eh.audit(counts, by="group", seed=seed, metrics=list(AUDIT)).findings.findings
    first = min(findings, key=lambda finding: 1.0 if finding.p_adjusted is None else finding.p_adjusted)
    p = first.p_adjusted if any(map(is_beyond, findings)) else 1.0
    return first.model_copy(update={"p_value": p, "interval": None})


def _at_its_level(counts: Counts) -> float:
    """P of Pearson's test on the scale of a level of .05."""
    return pearson(counts, "hit") * 0.05 / ALONE


def by_group(accuracies: Sequence[float], rows: int, name: str) -> Design:
    """Audits of groups of so many rows of four classes with these accuracies, beside chi-squared."""
    model = Model(
        (rows,) * len(accuracies), even(len(accuracies), 4), np.tile(np.asarray(accuracies)[:, None], 4)
    )
    case = Case(ANYTHING_FOUND, anything, standard=_at_its_level, standard_name=_HIT)
    return Design(name, "audits", model.draw, (case,))


def diffuse(rng: np.random.Generator) -> Counts:
    """Twenty classes x three groups x 60 rows; a fifth is wrong, under labels that differ by group."""
    truth, group = (codes.ravel() for codes in np.indices((20, 3, 60))[:2])
    shift = 1 + (rng.integers(0, 7, truth.size) + 2 * group) % 19
    said = np.where(rng.random(truth.size) < 0.2, (truth + shift) % 20, truth)
    frame = pl.DataFrame({"truth": truth, "said": said, "group": group})
    return eh.Predictions.from_frame(frame, truth="truth", prediction="said").count(["group"])


THREE = ((0.6, 0.4), (0.5, 0.3, 0.2), (0.4, 0.3, 0.15, 0.1, 0.05))
"""Shares of the groups of three attributes."""

DESIGNS = (
    design("audit, 1 attribute of 3 groups", 600, 4, THREE[1:2], ["a"]),
    design("audit, 3 attributes", 1000, 5, THREE, ["a", "b", "c"]),
    design("audit, 3 attributes, searched", 1000, 5, THREE, ["a", "b", "c"], search=["a", "b", "c"]),
    design("audit, 3 attributes and 2 crossings", 1000, 5, THREE, ["a", "b", "c", ("a", "b"), ("b", "c")]),
    design("audit, 40 sparse classes, 2 attributes", 800, 40, THREE[:2], ["a", "b"]),
    design("audit, 2 classes, a group of 6 rows", 300, 2, ((0.68, 0.3, 0.02),), ["a"]),
    by_group([0.99, *[0.89] * 5], 250, "audit, planted: one of 6 groups better"),
    by_group([0.80, *[0.89] * 5], 250, "audit, planted: one of 6 groups worse"),
    by_group([*[0.92] * 3, *[0.86] * 3], 250, "audit, planted: halves of 6 groups"),
    by_group(np.linspace(0.86, 0.77, 8).tolist(), 250, "audit, planted: a trend over 8 groups"),
    Design(
        "audit, planted: 20 classes, wrong labels by group", "audits", diffuse,
        (Case(ANYTHING_FOUND, anything, standard=within_truth, standard_name=_WITHIN),),
    ),
)  # fmt: skip
