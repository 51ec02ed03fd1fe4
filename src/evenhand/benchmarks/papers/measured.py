"""Findings of several runs as one table, the cells that an artifact shows, and a paper's numbers beside them.

An artifact is a query: take what was measured, keep the cells that the paper prints, say what is missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl

from evenhand.benchmarks.papers.rows import NO_IMAGES, NUMBERS, OURS, PAPER, numbers
from evenhand.benchmarks.tidy import table_of
from evenhand.core.findings import Finding, Part
from evenhand.runs.run_folder import RunFolder

_FIGURES = (*NUMBERS, "p_adjusted")
_LEADS = ("source", "model", "metric", "by", "kind", "key")


def measured(
    runs: Iterable[tuple[str, RunFolder]], *metrics: str, details: Sequence[str] = (), **params: object
) -> pl.DataFrame:
    """Findings of these names with these parameters: a row for each, and one for each of its parts.

    A parameter given as a tuple is one of its values, None where it has none. A finding's own row has no
    ``kind`` and no ``key``. Further columns are ``source``, ``model`` (as the runs are named here),
    ``metric``, ``by`` (the grouping, empty for all), every parameter as text (those given are there even if
    nothing was found), what ``numbers`` gives with ``p_adjusted``, and ``details`` that are numbers.
    """
    choices = {key: value if isinstance(value, tuple) else (value,) for key, value in params.items()}
    results = [
        (model, finding)
        for model, run in runs
        for finding in run.findings
        if finding.name in metrics and all(finding.params.get(key) in choices[key] for key in choices)
    ]
    options = dict.fromkeys([*(key for _, finding in results for key in finding.params), *params])
    rows = [
        {
            **{key: str(value) for key, value in finding.params.items()},
            "source": OURS, "model": model, "metric": finding.name, "by": finding.grouping,
            "kind": getattr(holder, "kind", ""), "key": str(getattr(holder, "key", "")),
            **numbers(holder), "p_adjusted": holder.p_adjusted,
            **{name: holder.details.get(name) for name in details},
        }
        for model, finding in results
        for holder in _with_parts(finding)
    ]  # fmt: skip
    figures = (*_FIGURES, *details)
    return table_of(rows, [*dict.fromkeys([*_LEADS, *options]), *figures, "reason"], numbers=figures)


def _with_parts(finding: Finding) -> Sequence[Finding | Part]:
    """A finding, then its parts."""
    return (finding, *finding.parts)


def filled(
    results: pl.DataFrame,
    models: Iterable[str],
    cells: pl.DataFrame | None = None,
    reason: str | pl.Expr = NO_IMAGES,
) -> pl.DataFrame:
    """What was found for each model and cell, in their order; one row with ``reason`` where there is nothing.

    ``cells`` have some columns of ``results``, which say what belongs where, and may have more; without them,
    all that was found of a model. An expression as ``reason`` is of the row that lacks a value.
    """
    grid = pl.DataFrame({"model": [*models]}, schema={"model": pl.String})
    keys = ["model"]
    if cells is not None:
        grid = grid.join(cells, how="cross")
        keys += [name for name in cells.columns if name in results.columns]
    table = grid.join(results, on=keys, how="left", nulls_equal=True, maintain_order="left_right")
    lacks = pl.col("value").is_null() & pl.col("reason").is_null()
    missing = pl.lit(reason) if isinstance(reason, str) else reason
    return table.with_columns(source=pl.lit(OURS), reason=pl.when(lacks).then(missing).otherwise("reason"))


def beside(printed: pl.DataFrame, *ours: pl.DataFrame) -> pl.DataFrame:
    """The paper's rows, then ours; what one of them lacks is null."""
    return pl.concat([printed.with_columns(source=pl.lit(PAPER)), *ours], how="diagonal")
