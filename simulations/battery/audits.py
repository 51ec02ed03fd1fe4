"""Whole audits and pages of suites: how often does anything get a verdict, of fair models and of others?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import polars as pl
from simulations.battery.accuracy import WITHIN, Model, counts_of, even, pearson, within_truth
from simulations.battery.design import Case, Design, answered, called

import evenhand as eh
from evenhand.core.findings import Finding, Part
from evenhand.core.significance import EDGE, is_beyond
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.catalogue import known_cards
from evenhand.metrics.suites.families import AUDIT, SEARCH
from evenhand.stats.arrays import Rng
from evenhand.workflows.suite.overview import corrected_over_page

ANYTHING_FOUND = "anything found by an audit"
ALONE = 0.025  # level of the standard test: that of one of two questions

Data = tuple[pl.DataFrame, list[str | tuple[str, ...]]]


def fair_table(
    rng: Rng,
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

    def draw(rng: Rng) -> Data:
        return fair_table(rng, rows, classes, shares), by

    return Design(name, "audits", draw, findings=partial(audited, search=search))


def anything(counts: Counts, seed: int) -> Finding:
    """The primary with the smallest corrected p; p is 1 where the audit says nothing is beyond chance."""
    findings = eh.audit(counts, by="group", seed=seed, metrics=list(AUDIT)).findings.findings
    first = min(findings, key=lambda finding: 1.0 if finding.p_adjusted is None else finding.p_adjusted)
    p = first.p_adjusted if any(map(is_beyond, findings)) else 1.0
    return first.model_copy(update={"p_value": p, "interval": None})


def by_group(accuracies: Sequence[float], rows: int, name: str) -> Design:
    """Audits of groups of so many rows of four classes with these accuracies, beside chi-squared."""
    model = Model(
        (rows,) * len(accuracies), even(len(accuracies), 4), np.tile(np.asarray(accuracies)[:, None], 4)
    )
    case = Case(
        ANYTHING_FOUND, anything, standard=lambda counts: pearson(counts, "hit") * 0.05 / ALONE,
        standard_name="Pearson's chi-squared at .025",
    )  # fmt: skip
    return Design(name, "audits", model.draw, (case,))


def diffuse(rng: Rng) -> Counts:
    """Twenty classes x three groups x 60 rows; a fifth is wrong, under labels that differ by group."""
    truth, group = (codes.ravel() for codes in np.indices((20, 3, 60))[:2])
    shift = 1 + (rng.integers(0, 7, truth.size) + 2 * group) % 19
    said = np.where(rng.random(truth.size) < 0.2, (truth + shift) % 20, truth)
    return counts_of({"truth": truth, "said": said, "group": group})


THREE = ((0.6, 0.4), (0.5, 0.3, 0.2), (0.4, 0.3, 0.15, 0.1, 0.05))
"""Shares of the groups of three attributes."""


def page_design(name: str, rows: int, classes: int, cells: int, counted: int | None = None) -> Design:
    """Pages of so many cells: each is the gap of a blind model on a benchmark of its own.

    Any filled mark of a page counts, or of the first so many cells, which are those of one model.
    """

    def draw(rng: Rng) -> list[pl.DataFrame]:
        return [fair_table(rng, rows, classes, THREE[1:2]) for _ in range(cells)]

    def marks(tables: Sequence[pl.DataFrame], seed: int) -> list[Finding]:
        every = (eh.Predictions.from_frame(table, truth="truth", prediction="prediction") for table in tables)
        findings = [eh.metrics.accuracy_gap(one.count(["a"]), by="a", seed=seed) for one in every]
        return corrected_over_page(findings)[:counted]

    return Design(name, "audits", draw, findings=marks)


_CONTRAST = called("accuracy_contrast", by="group")
_LEVEL = 0.05 / sum(known_cards()[name].error_share for name in AUDIT)


def _with_rate(sizes: Sequence[int], others: float, rate: float, rng: Rng) -> Counts:
    """A table with this share of right answers in the group of middle size, and another one elsewhere."""
    rates = np.full(len(sizes), others)
    rates[np.argsort(sizes, kind="stable")[(len(sizes) - 1) // 2]] = rate
    return Model(sizes, even(rates.size, 4), np.tile(rates[:, None], 4)).draw(rng)


def _stated(sizes: Sequence[int], others: float, level: float, rng: Rng) -> tuple[float, float] | None:
    """The rates elsewhere and in the group of which a run of a fair table says: this would have shown.

    None where no run of twenty such tables says anything.
    """
    for _ in range(20):
        fair = _with_rate(sizes, others, others, rng)
        details = _CONTRAST(fair, int(rng.integers(2**31))).at_test_level(level).details
        if details["detectable_rate"] is not None:
            return float(details["detectable_others"]), float(details["detectable_rate"])
    return None


def shown(sizes: Sequence[int], others: float, attributes: int) -> Design:
    """What runs of fair tables say would usually have shown (4 times in 5), each planted as it is said.

    Both rates of the sentence are planted, at the level of one of so many attributes.
    """
    level = _LEVEL / attributes

    def draw(rng: Rng) -> tuple[Counts, bool]:
        stated = _stated(sizes, others, level, rng)
        return _with_rate(sizes, *(stated or (others, others)), rng), stated is None

    def call(data: tuple[Counts, bool], seed: int) -> Finding:
        finding = _CONTRAST(data[0], seed)
        p, interval = finding.p_value, finding.interval_at(1 - level)
        shows = p is not None and p <= level and interval is not None and interval.low > EDGE
        return answered(finding, yes=shows or data[1])  # where nothing is said, nothing is wrong

    name = f"shown: {' + '.join(map(str, sizes))} rows, {others:g} elsewhere, {attributes} attributes"
    return Design(name, "audits", draw, [Case("accuracy_contrast, shown", call, least=0.75)])


_SHOWN = (
    (30, 30), (40, 40), (400, 60), (100, 100, 100), (400, 150, 50), (100,) * 8,
    (400, 300, 200, 100, 80, 60, 40, 30),
)  # fmt: skip

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
        [Case(ANYTHING_FOUND, anything, standard=within_truth, standard_name=WITHIN[0])],
    ),
    page_design("suite page, 10 benchmarks x 3 blind models", 300, 3, 30),
    page_design("suite page, 20 benchmarks x 5 blind models, any of one model", 300, 3, 100, counted=20),
    *(shown(*chosen) for chosen in product(_SHOWN, (1.0, 0.9, 0.7, 0.0), (1, 10))),
)  # fmt: skip
