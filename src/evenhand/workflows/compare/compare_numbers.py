"""The numbers that two runs kept of their samples: joined sample by sample where they can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isclose
from typing import Any, get_args

import numpy as np
import polars as pl

from evenhand.core.cards import Statistic
from evenhand.core.findings import Dropped, Finding
from evenhand.evidence.numbers import CLUSTER, VALUE, WEIGHT, Numbers
from evenhand.evidence.predictions.levels import ATTRIBUTE
from evenhand.metrics.differences.answers import AnsweredBoth
from evenhand.metrics.differences.numbers import BothNumbers
from evenhand.metrics.estimates import get_or_make
from evenhand.runs.run_folder import OUTCOMES
from evenhand.workflows.compare.compare_cells import ALL, Combination
from evenhand.workflows.compare.runs import ComparedRun, with_plain_ids
from evenhand.workflows.compare.warnings import not_joined

NUMBERS = "numbers"
"""The family of metrics of numbers."""


def compared_numbers(
    a: ComparedRun, b: ComparedRun, finding: Finding, other: Finding
) -> tuple[Combination, AnsweredBoth] | str:
    """What both come to under a finding of the first and its like, ``other``, or why nothing does."""
    if finding.card.compared not in get_args(Statistic):
        return finding.card.why_not_compared
    for run in (a, b):
        if OUTCOMES not in run.run.tables:
            return "it keeps no numbers of single samples; audit its table again"
    first, second = _OneNumber(a, finding), _OneNumber(b, other)
    key = (NUMBERS, b.folder, finding.grouping, first.name)
    numbers = get_or_make(
        a.memo, key, lambda: _joined(first, second, finding.by) or _apart(first, second, finding.by)
    )
    if isinstance(numbers, str):
        return numbers
    answered = numbers.answered(finding)
    if finding.value is not None and not numbers.dropped and not numbers.apart:
        value = float(answered.whole.observed()[0, 0])
        if not isclose(value, finding.value, rel_tol=1e-9, abs_tol=1e-9):
            return "its numbers do not give its value"
    how = "weights" if finding.card.compared == "mean" else finding.card.compared
    return Combination(how, (ALL,), (1.0,)), answered


@dataclass(frozen=True)
class _OneNumber:
    """One number that a run kept: its own, or one that a metric made of it."""

    run: ComparedRun
    finding: Finding  # of a metric of it

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.finding.params["value"])

    @cached_property
    def outcomes(self) -> pl.DataFrame:
        """The number of each sample, or of ``times`` alike ones."""
        table = self.run.run.tables[OUTCOMES].filter(outcome=self.name)
        lacking = {"sample": pl.lit(None, pl.String), "times": pl.lit(1, pl.UInt32)}
        return table.with_columns(**{name: column for name, column in lacking.items() if name not in table})

    def numbers(self, rows: pl.DataFrame, by: list[str]) -> Numbers:
        """Rows of outcomes as evidence."""
        manifest, details = self.run.manifest, self.finding.details
        ends: Any = details.get("least", -np.inf), details.get("largest", np.inf)
        cluster, is_weighted = manifest.get("cluster"), bool(manifest.get("weight"))
        table = rows.select(
            *(pl.col(f"{ATTRIBUTE}{name}").alias(name) for name in by),
            pl.col("value").alias(VALUE),
            *([pl.col("unit").alias(CLUSTER)] if cluster else []),
            *([pl.col("weight").alias(WEIGHT)] if is_weighted else []),
        )
        return Numbers(table, self.name, ends, str(details.get("unit", "")), cluster)


def _joined(a: _OneNumber, b: _OneNumber, by: list[str]) -> BothNumbers | None:
    """The rows of both in the same group, and how many are not; None where there is none."""
    first, second = (with_plain_ids(number.outcomes.drop_nulls("sample")) for number in (a, b))
    on = ["sample", *(f"{ATTRIBUTE}{name}" for name in by), "unit", "weight"]
    rows = first.join(second.select(*on, second="value"), on=on, nulls_equal=True).sort("sample")
    if not rows.height:
        return None
    there = first.join(second, on="sample").height
    lost = {
        f"not answered by {b.run.name}": a.outcomes.height - there,
        f"not answered by {a.run.name}": b.outcomes.height - there,
        "not of the same group, unit or weight in both runs": there - rows.height,
    }
    return BothNumbers(
        a.numbers(rows, by),
        b.numbers(rows.with_columns(value="second"), by),
        tuple(by),
        a.run.manifest["better"],
        _dropped(lost),
    )


def _apart(a: _OneNumber, b: _OneNumber, by: list[str]) -> BothNumbers | str:
    """The rows of each in groups that both have."""
    first, second = a.outcomes, b.outcomes
    columns = [f"{ATTRIBUTE}{name}" for name in by]
    rows = [
        table[np.repeat(np.arange(table.height), table["times"])].join(other, on=columns, how="semi")
        for table, other in ((first, second), (second, first))
    ]
    if not rows[0].height:
        return f"they share no group by {'+'.join(by)}"
    lost = {
        f"of a group that {number.run.name} has not": int(table["times"].sum()) - some.height
        for number, table, some in zip((b, a), (first, second), rows, strict=True)
    }
    return BothNumbers(
        a.numbers(rows[0], by), b.numbers(rows[1], by), tuple(by), a.run.manifest["better"], _dropped(lost),
        _why_apart(a, b),
    )  # fmt: skip


def _dropped(lost: Mapping[str, int]) -> tuple[Dropped, ...]:
    return tuple(Dropped(reason=reason, count=n) for reason, n in lost.items() if n)


def _why_apart(a: _OneNumber, b: _OneNumber) -> str:
    """Why rows are not joined."""
    runs = a.run, b.run
    for number in (a, b):
        if number.outcomes["sample"].null_count() and number.run.manifest.get("id"):
            return f"{number.run.name} has more rows than are kept one by one"
    if all(run.manifest.get("id") for run in runs) and a.outcomes.join(b.outcomes, on="sample").height:
        return "no sample is of the same group, unit and weight in both; audit both with the same columns"
    return not_joined(*runs, a.outcomes, b.outcomes)
