"""The numbers that two runs kept of their samples: joined sample by sample where they can be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.findings import Dropped, Finding
from evenhand.evidence.numbers import ATTRIBUTE, CLUSTER, VALUE, WEIGHT, Numbers
from evenhand.metrics.differences.answers import AnsweredBoth
from evenhand.metrics.differences.numbers import FIGURES, BothNumbers
from evenhand.metrics.prepared import get_or_make
from evenhand.runs.run_folder import OUTCOMES
from evenhand.workflows.compare.compare_cells import ALL, Combination
from evenhand.workflows.compare.runs import ComparedRun, with_plain_ids
from evenhand.workflows.compare.warnings import not_joined

NUMBERS = "numbers"
"""The family of metrics of numbers."""


def compared_numbers(
    a: ComparedRun, b: ComparedRun, finding: Finding
) -> tuple[Combination, AnsweredBoth] | str:
    """What both come to under a finding of the first, or why nothing does.

    Args:
        a: The first run.
        b: The second one.
        finding: Of the first run; the second has its like.
    """
    if finding.name not in FIGURES:
        return finding.card.why_not_compared
    for run in (a, b):
        if OUTCOMES not in run.run.tables:
            return "it keeps no numbers of single samples; audit its table again"
    key = (NUMBERS, b.folder, finding.grouping)
    numbers = get_or_make(a.memo, key, lambda: _joined(a, b, finding.by) or _apart(a, b, finding.by))
    if isinstance(numbers, str):
        return numbers
    how = "weights" if finding.name == "mean" else finding.name
    return Combination(how, (ALL,), (1.0,)), numbers.answered(finding)


def _joined(a: ComparedRun, b: ComparedRun, by: list[str]) -> BothNumbers | None:
    """The rows of both in the same group, and how many are not; None where there is none."""
    first, second = (with_plain_ids(_outcomes(run).drop_nulls("sample")) for run in (a, b))
    on = ["sample", *(f"{ATTRIBUTE}{name}" for name in by), "unit", "weight"]
    rows = first.join(second.select(*on, second="value"), on=on, nulls_equal=True).sort("sample")
    if not rows.height:
        return None
    there = first.join(second, on="sample").height
    lost = {
        f"not answered by {b.name}": _outcomes(a).height - there,
        f"not answered by {a.name}": _outcomes(b).height - there,
        "not of the same group, unit or weight in both runs": there - rows.height,
    }
    return BothNumbers(
        _numbers(a, rows, by),
        _numbers(b, rows.with_columns(value="second"), by),
        tuple(by),
        a.manifest["better"],
        _dropped(lost),
    )


def _apart(a: ComparedRun, b: ComparedRun, by: list[str]) -> BothNumbers | str:
    """The rows of each in groups that both have."""
    first, second = _outcomes(a), _outcomes(b)
    columns = [f"{ATTRIBUTE}{name}" for name in by]
    rows = [
        table[np.repeat(np.arange(table.height), table["times"])].join(other, on=columns, how="semi")
        for table, other in ((first, second), (second, first))
    ]
    if not rows[0].height:
        return f"they share no group by {'+'.join(by)}"
    lost = {
        f"of a group that {run.name} has not": int(table["times"].sum()) - some.height
        for run, table, some in zip((b, a), (first, second), rows, strict=True)
    }
    return BothNumbers(
        _numbers(a, rows[0], by), _numbers(b, rows[1], by), tuple(by), a.manifest["better"],
        _dropped(lost), _why_apart(a, b),
    )  # fmt: skip


def _dropped(lost: Mapping[str, int]) -> tuple[Dropped, ...]:
    return tuple(Dropped(reason=reason, count=n) for reason, n in lost.items() if n)


def _why_apart(a: ComparedRun, b: ComparedRun) -> str:
    """Why rows are not joined."""
    for run in (a, b):
        if _outcomes(run)["sample"].null_count() and run.manifest.get("id"):
            return f"{run.name} has more rows than are kept one by one"
    if a.manifest.get("id") and b.manifest.get("id") and _outcomes(a).join(_outcomes(b), on="sample").height:
        return "no sample is of the same group, unit and weight in both; audit both with the same columns"
    return not_joined(a, b, _outcomes(a), _outcomes(b))


def _outcomes(run: ComparedRun) -> pl.DataFrame:
    """The number of each sample, or of ``times`` alike ones."""
    table = run.run.tables[OUTCOMES]
    lacking = {"sample": pl.lit(None, pl.String), "times": pl.lit(1, pl.UInt32)}
    return table.with_columns(**{name: column for name, column in lacking.items() if name not in table})


def _numbers(run: ComparedRun, rows: pl.DataFrame, by: list[str]) -> Numbers:
    """Rows of outcomes as evidence."""
    ends: Any = run.manifest.get("range") or (-np.inf, np.inf)
    cluster, is_weighted = run.manifest.get("cluster"), bool(run.manifest.get("weight"))
    table = rows.select(
        *(pl.col(f"{ATTRIBUTE}{name}").alias(name) for name in by),
        pl.col("value").alias(VALUE),
        *([pl.col("unit").alias(CLUSTER)] if cluster else []),
        *([pl.col("weight").alias(WEIGHT)] if is_weighted else []),
    )
    return Numbers(table, run.manifest["value"], tuple(ends), run.manifest.get("unit") or "", cluster)
