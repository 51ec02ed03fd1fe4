"""What changed between compared models: every class and group, samples that flip, other answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.findings import Finding, Part, key_of, low_and_high
from evenhand.display.text.formatting import key_text
from evenhand.evidence.derivation.paired import Aligned
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.differences.counts import Both, ComparedCounts, flips_of
from evenhand.stats.arrays import Floats, keys_and_codes
from evenhand.stats.contingency.model_changes import Flips
from evenhand.stats.multiplicity import adjust

MOST_PARTS = 12_000  # in findings.json, over all pairs and groupings; the table of changes has every one
MOST_CELLS = 20_000  # rows of each of the other tables, over all pairs and groupings
_LEAST = 100  # of each pair and grouping
_LEAST_OF_GROUP = 5
_MEASURES = {"accuracy_difference": "accuracy", "cramers_v_mean_difference": "cramers_v"}

_PAIR = dict.fromkeys(("by", "model", "reference"), pl.String)
_NUMBERS = (
    "value", "corrected", "low", "high", "level", "null_low", "null_high", "p", "p_adjusted", "q_value",
    "first", "second", "n", "n_gained", "n_lost",
)  # fmt: skip
CHANGES = {
    **_PAIR, **dict.fromkeys(("measure", "kind", "key"), pl.String), **dict.fromkeys(_NUMBERS, pl.Float64),
    "reason": pl.String,
}  # fmt: skip
FLIPS = {
    **_PAIR, **dict.fromkeys(("group", "class"), pl.String),
    **dict.fromkeys(("n", "n_gained", "n_lost", "p", "p_adjusted"), pl.Float64),
}  # fmt: skip
ANSWERS = {**_PAIR, **dict.fromkeys(("group", "truth", "first", "second"), pl.String), "n": pl.Float64}


@dataclass
class Changes:
    """Collects what changed, pair by pair."""

    comparisons: int  # pairs times groupings: the more, the fewer parts each finding keeps
    _changes: list[pl.DataFrame] = field(default_factory=list)
    _flips: list[pl.DataFrame] = field(default_factory=list)
    _answers: list[pl.DataFrame] = field(default_factory=list)

    def add_pair(
        self,
        findings: Sequence[Finding],  # of ``model_differences`` on this evidence
        evidence: Both,
        grouping: Sequence[str],
        names: tuple[str, str],
        *,
        tested: bool = True,  # whether samples that flip have a p: it takes them as independent
    ) -> list[Finding]:
        """The findings of a pair with the parts that findings.json has room for; all go into the tables."""
        pair = ("+".join(grouping), *names)
        for finding in findings:
            if finding.parts:
                self._changes.append(_change_rows(finding, pair))
        if isinstance(evidence, Counts):
            aligned = ComparedCounts.of(evidence, list(grouping), names).aligned
            most = max(MOST_CELLS // max(self.comparisons, 1), _LEAST)
            flips = _flip_rows(aligned, pair, most)
            untested = [pl.lit(None, FLIPS[name]).alias(name) for name in ("p", "p_adjusted")]
            self._flips.append(flips if tested else flips.with_columns(untested))
            self._answers.append(_answer_rows(aligned, pair, most))
        return [_bounded(finding, max(MOST_PARTS // (2 * self.comparisons), _LEAST)) for finding in findings]

    def tables(self) -> dict[str, pl.DataFrame]:
        """``changes``, ``flips`` and ``answer_changes``; those that have a row."""
        chunks = {"changes": self._changes, "flips": self._flips, "answer_changes": self._answers}
        merged = {name: pl.concat(frames) for name, frames in chunks.items() if frames}
        return {name: table for name, table in merged.items() if table.height}


def _change_rows(finding: Finding, pair: tuple[str, ...]) -> pl.DataFrame:
    """The parts of a finding, the surest first."""
    measure = _MEASURES.get(finding.name, finding.name)
    rows = [
        (
            *pair, measure, part.kind, key_text(part.key), part.value, part.corrected,
            *low_and_high(part.interval), part.interval and part.interval.level,
            *low_and_high(part.null),
            part.p_value, part.p_adjusted, part.details.get("q_value"), part.details.get("first"),
            part.details.get("second"), part.n, part.details.get("n_gained"), part.details.get("n_lost"),
            part.reason,
        )
        for part in sorted(finding.parts, key=_sureness)
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=CHANGES, orient="row")


def _bounded(finding: Finding, most: int) -> Finding:
    """A finding with at most so many parts: groups, then those surest to have changed, in their order."""
    if len(finding.parts) <= most:
        return finding
    ahead = sorted(finding.parts, key=lambda part: (part.kind != "group", *_sureness(part)))[:most]
    ids = {id(part) for part in ahead}
    left = float(len(finding.parts) - most)
    update = {
        "parts": [part for part in finding.parts if id(part) in ids],
        "details": {**finding.details, "parts_left_out": left},
    }
    return finding.model_copy(update=update)


def _sureness(part: Part) -> tuple[float, float, float, str]:
    """Smallest p first, then the largest change; what has no value is last."""
    return (
        2.0 if part.p_adjusted is None else part.p_adjusted,
        2.0 if part.p_value is None else part.p_value,
        -abs(part.value or 0.0),
        key_text(part.key),
    )


def _flip_rows(aligned: Aligned, pair: tuple[str, ...], most: int) -> pl.DataFrame:
    """Samples that one model alone got right: of each group, then of groups and classes that have some."""
    groups = [key_text(key_of(key)) for key in aligned.groups]
    by_group = flips_of(aligned, aligned.group, len(groups))
    cells, cell = keys_and_codes(aligned.truth * len(groups) + aligned.group)
    by_cell = flips_of(aligned, cell, cells.size)
    adjusted = adjust(by_cell.p, "holm")
    some = np.flatnonzero(by_cell.gained + by_cell.lost)
    # sorted by the last first: p, then how many flip, then label and group
    order = some[np.lexsort((cells[some], -(by_cell.gained + by_cell.lost)[some], by_cell.p[some]))][:most]
    labels = [str(aligned.labels[code]) for code in (cells[order] // len(groups)).tolist()]
    rows = _written(
        pair, groups, [None] * len(groups), by_group, adjust(by_group.p, "holm"), range(len(groups))
    )
    in_groups = [groups[code] for code in (cells[order] % len(groups)).tolist()]
    rows += _written(pair, in_groups, labels, by_cell, adjusted, order.tolist())
    return pl.DataFrame(rows, schema=FLIPS, orient="row")


def _written(
    pair: tuple[str, ...],
    groups: Sequence[str],
    labels: Sequence[str | None],
    flips: Flips,
    adjusted: Floats,
    places: Sequence[int],
) -> list[tuple[Any, ...]]:
    return [
        (
            *pair, group, label, float(flips.n[i]), float(flips.gained[i]), float(flips.lost[i]),
            float(flips.p[i]), float(adjusted[i]),
        )
        for group, label, i in zip(groups, labels, places, strict=True)
    ]  # fmt: skip


def _answer_rows(aligned: Aligned, pair: tuple[str, ...], most: int) -> pl.DataFrame:
    """The most frequent pairs of different answers of each group."""
    groups = [key_text(key_of(key)) for key in aligned.groups]
    labels = pl.Series([str(label) for label in aligned.labels], dtype=pl.String)
    codes = pl.DataFrame(
        {
            "group": aligned.group,
            "truth": aligned.truth,
            "first": aligned.answers[0],
            "second": aligned.answers[1],
            "n": aligned.n,
        }
    )
    changed = codes.filter(pl.col("first") != pl.col("second"))
    order = changed.sort("n", "group", "truth", "first", "second", descending=[True] + [False] * 4)
    per_group = max(most // len(groups), _LEAST_OF_GROUP)
    rows = (
        order.group_by("group", maintain_order=True)
        .head(per_group)
        .sort("n", descending=True, maintain_order=True)
    )
    pair_columns = [pl.lit(text).alias(name) for name, text in zip(_PAIR, pair, strict=True)]
    label_columns = [labels.gather(rows[name]).alias(name) for name in ("truth", "first", "second")]
    group = pl.Series("group", groups, dtype=pl.String).gather(rows["group"])
    return rows.select(*pair_columns, group, *label_columns, pl.col("n").cast(pl.Float64))
