"""An audit of a number that each row has, such as an overlap or an error in years."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import narwhals as nw
import polars as pl

from evenhand.core.errors import InputError, ParameterError, check_choice
from evenhand.core.findings import Finding, Findings
from evenhand.evidence.numbers import SAMPLE, Numbers
from evenhand.evidence.predictions.columns.to_polars import to_polars
from evenhand.evidence.predictions.levels import ATTRIBUTE
from evenhand.files.tables import scan as sources
from evenhand.metrics.catalogue import MetricChoice, chosen_metrics
from evenhand.metrics.classification.effect_options import EffectOptions
from evenhand.metrics.estimates import check_common
from evenhand.metrics.suites.groupings import groupings_of, names_in
from evenhand.metrics.suites.numbers import METRICS, number_findings
from evenhand.runs.manifest import make_manifest
from evenhand.runs.run_folder import MOST_CASE_ROWS, OUTCOMES
from evenhand.workflows.outputs.drilled_rows import worst_first
from evenhand.workflows.outputs.result import Run, check_out

Range: TypeAlias = tuple[float, float] | str | None
"""Least and largest possible number, or both as text: ``0,1``; None: nothing is known of them."""
_MOST_CASES = 3  # headlines whose rows are written
_USUAL = ("default", "rows", "min", "drop", "local")  # what options of labels are where nobody gave them


@dataclass(frozen=True, eq=False, repr=False)
class NumberRun(Run):
    """The run of an audit of numbers."""

    @cached_property
    def case_tables(self) -> dict[str, pl.DataFrame]:
        """The samples of the groups that are worse off in the first headlines, the worst first.

        They stand by the numbers of headlines beyond chance: sample (or ``times`` of alike ones), number,
        attributes, cluster; at most 10,000 of each.
        """
        lines = [line for line in enumerate(self.overview.headlines, 1) if line[1].beyond][:_MOST_CASES]
        findings = {finding.metric: finding for finding in self.findings}
        return {str(number): self._worst(findings[line.metric]) for number, line in lines}

    def _worst(self, finding: Finding) -> pl.DataFrame:
        names = {name: f"{ATTRIBUTE}{name}" for name in finding.by}
        rows = self.tables[OUTCOMES].filter(outcome=finding.params["value"]).drop_nulls([*names.values()])
        keys = [part.key if isinstance(part.key, str) else "*".join(part.key) for part in finding.parts]
        keys = keys or [str(finding.details[name]) for name in ("worst",) if name in finding.details]
        is_named = pl.concat_str(*names.values(), separator="*").is_in(keys) | pl.lit(not keys)
        rows = rows.filter(~is_named if finding.details.get("side") == "better" else is_named)
        columns = {name: name for name in ("sample", "times") if name in rows}
        columns |= {str(self.manifest["value"]): "value", **names}
        columns |= {str(self.manifest["cluster"]): "unit"} if self.manifest.get("cluster") else {}
        worst = worst_first(rows, self.manifest["better"]).head(MOST_CASE_ROWS)
        return worst.select(**columns)


def audit_numbers(
    evidence: Any, *, by: Any, value: str, better: Any, range: Range, unit: str,
    cluster: str | None, weight: str | None, id: str | None, alpha: float, adjustment: str, inference: Any,
    seed: int, noun: str | None, metrics: MetricChoice | None, out: str | Path | None,
    progress: Callable[[str], None] | None, **of_labels: Any,
) -> Run:  # fmt: skip
    """The run of ``audit(table, value=...)``; options that only labels have are refused."""
    refuse_labels(of_labels)
    check_common("default", inference, seed)
    EffectOptions.make("separation", {"alpha": alpha, "adjustment": adjustment})
    if better is None:
        raise ParameterError(f"say which {value!r} is good: better='high' as of an overlap, or 'low'")
    check_choice("better", better, ("high", "low"))
    check_out(out)
    asks = chosen_metrics(metrics) or METRICS
    say = progress or (lambda _: None)
    say("reading")
    source, table = _table(evidence)
    ends, column = _ends(range), id
    if id is None and source is not None:  # another number of the very same file has the same rows
        column = SAMPLE
        number = pl.int_range(table.height, eager=True).cast(pl.String) + f" of {source['sha256']}"
        table = table.with_columns(number.alias(SAMPLE))
    roles: dict[str, Any] = {"cluster": cluster, "weight": weight, "id": column}
    numbers = Numbers.from_frame(table, value=value, range=ends, unit=unit, **roles)
    if numbers.table.is_empty():
        reasons = ", ".join(f"{count} with {reason}" for reason, count in numbers.dropped.items())
        raise InputError(f"no usable row of {value!r}: {reasons or 'the table has no row'}")
    groupings = [
        names_in(numbers.attributes, names[0], "+") if len(names) == 1 else names
        for names in groupings_of(by)
    ]
    say("measuring")
    tests: dict[str, Any] = {"alpha": alpha, "adjustment": adjustment, "inference": inference, "seed": seed}
    findings = number_findings(numbers, groupings, better=better, metrics=asks, **tests)
    digest = hashlib.sha256(numbers.in_order.write_csv().encode()).hexdigest()
    settings: dict[str, Any] = {
        "kind": "numbers", "benchmark": None, "model": None, "value": value, "better": better,
        "range": ends, "unit": unit, "by": ["+".join(names) for names in groupings], "rows": table.height,
        "mode": "default", **tests, "digest": digest, "source": source,
    }  # fmt: skip
    manifest = make_manifest({}, settings) | {"noun": noun or "rows", "id": id}
    manifest |= {"cluster": cluster} if cluster else {}
    manifest |= {"weight": weight} if weight else {}
    attributes = list(dict.fromkeys(name for names in groupings for name in names))
    outcomes = pl.concat([other.outcomes(attributes) for other in (numbers, *numbers.derived.values())])
    saved = Findings(manifest_id=manifest["manifest_id"], findings=findings)
    run = NumberRun(saved, manifest, {}, {OUTCOMES: outcomes})
    if out is not None:
        say("writing")
        run.save(out)
    return run


def refuse_labels(of_labels: Mapping[str, Any]) -> None:
    """Refuse options of labels, which a number does not have."""
    wrong = [name for name, option in of_labels.items() if option and option not in _USUAL]
    if wrong:
        raise ParameterError(
            f"{', '.join(wrong)} and value= do not go together: a number has no labels; leave out one of them"
        )


def _table(evidence: Any) -> tuple[dict[str, Any] | None, pl.DataFrame]:
    """What a path or a frame holds, and where it came from."""
    if not isinstance(evidence, str | Path):
        return None, to_polars(nw.from_native(evidence))
    with sources.reading(evidence):
        lazy, files = sources.scan(evidence)
        origin = sources.origin(evidence, files)
        return {"path": origin.path, "size": origin.size, "sha256": origin.sha256}, lazy.collect()


def _ends(entry: Any) -> tuple[float, float] | None:
    """A range of Python, or as the command line has it: ``0,1``."""
    try:
        least, largest = entry.split(",") if isinstance(entry, str) else entry or (0, 0)
        return (float(least), float(largest)) if entry else None
    except (TypeError, ValueError):
        raise ParameterError(f"range {entry!r} is no range; give two numbers: --range 0,1") from None
