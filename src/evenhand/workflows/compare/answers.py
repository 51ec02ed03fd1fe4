"""Runs without predictions: findings side by side, and their differences on the samples of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.findings import Dropped, Finding, GroupSize
from evenhand.metrics.differences.answers import (
    NOT_SAME,
    SAME_SAMPLES,
    AnsweredBoth,
    Pairs,
    PartOf,
    answer_difference,
)
from evenhand.stats.paired.sums import PairedEffects, PairedSums, Summary, strata_of
from evenhand.workflows.compare.compare_cells import Combination, Contributions, cells_of
from evenhand.workflows.compare.compare_numbers import NUMBERS, compared_numbers
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.compare.values import settings_of, values_of, wanted_findings
from evenhand.workflows.compare.warnings import unmatched

Progress = Callable[[str], None]

NOT_TESTED = "side by side"
_PAIRING = {
    **dict.fromkeys(("model", "reference", "compared"), pl.String),
    "samples": pl.Int64,
    "reason": pl.String,
}
_UNTESTED = dict.fromkeys(("model", "reference", "metric", "by", "params", "reason"), pl.String)
_OF_QUERIES = "rankings"  # the family whose findings count queries
_SHOWN = 6  # reasons in one sentence
_SAME = 1e-6  # as which a finding's value is found again


@dataclass(frozen=True, eq=False)
class AnswersCompared:
    """What comparing runs without predictions gives."""

    findings: list[Finding]  # differences; p not yet corrected over pairs
    tables: dict[str, pl.DataFrame]  # values, pairing, untested
    settings: dict[str, Any]  # for the manifest
    warnings: list[str]


def compared_answers(
    runs: Sequence[ComparedRun],  # of one benchmark, without counts of predictions
    pairs: Sequence[tuple[int, int]],  # first and second of every difference
    *,
    by: Sequence[str] = (),  # empty: all groupings
    metrics: Sequence[str] = (),  # empty: all
    alpha: float = 0.05,
    seed: int = 0,
    say: Progress = lambda _: None,
) -> AnswersCompared:
    """Every finding that runs have alike, side by side, and its difference where samples can be paired."""
    values = values_of(runs, by, metrics)
    work = _PairedAnswers(list(runs), [wanted_findings(run, by, metrics) for run in runs], alpha, seed)
    for first, second in pairs:
        say(f"comparing {runs[first].name} with {runs[second].name}")
        work.pair(first, second)
    findings = work.differences()
    tables = {
        "values": values,
        "pairing": pl.DataFrame(work.pairing, schema=_PAIRING, orient="row"),
        "untested": pl.DataFrame(work.untested, schema=_UNTESTED, orient="row"),
    }
    settings = settings_of(values, {})
    samples = [finding.n for finding in findings if (finding.card.of or finding.card).family != _OF_QUERIES]
    if samples:
        settings["rows"] = int(max(samples))
    apart = unmatched([row for row in work.pairing if row[2] == NOT_SAME])
    return AnswersCompared(findings, tables, settings, [*apart, *_untested_notes(work)])


@dataclass(eq=False)
class _PairedAnswers:
    """Findings that are paired one by one; what a run's answers come to is read once."""

    runs: list[ComparedRun]
    findings: list[dict[tuple[str, str, str], Finding]]
    alpha: float
    seed: int
    pairs: list[tuple[AnsweredBoth, tuple[str, str], bool]] = field(default_factory=list)
    pairing: list[tuple[Any, ...]] = field(default_factory=list)
    untested: list[tuple[Any, ...]] = field(default_factory=list)
    memo: dict[tuple[int, tuple[str, str, str]], Contributions | str] = field(default_factory=dict)

    def pair(self, first: int, second: int) -> None:
        """Everything that two runs have alike."""
        names = (self.runs[first].name, self.runs[second].name)
        most, apart, before = 0, "", len(self.untested)
        seen = dict[tuple[str, str, Combination, int], str]()
        for key, finding in self.findings[first].items():
            if key not in self.findings[second]:
                continue
            result = self._both(first, second, key)
            if isinstance(result, str):
                self.untested.append((*names, *key, result))
                continue
            combination, pair = result
            again = (key[0], key[2], combination, pair.n)
            tested = again not in seen or combination.how != "weights"
            if not tested:
                where = f"by {seen[again]}" if seen[again] else "without a grouping"
                note = f"the value itself is the same as {where}, where it is tested"
                pair = replace(pair, notes=(*pair.notes, note))
            seen.setdefault(again, finding.grouping)
            self.pairs.append((pair, names, tested))
            most, apart = max(most, 0 if pair.apart else pair.n), apart or pair.apart
        how = SAME_SAMPLES if most else NOT_SAME if apart else NOT_TESTED
        reason = apart or _why(self.untested[before:])
        self.pairing.append((*names, how, most or None, reason or None))

    def differences(self) -> list[Finding]:
        """A finding for each, with as many exchanges as its family of tests needs."""
        sizes: dict[str, int] = {}
        for pair, _, tested in self.pairs:
            sizes[pair.of.name] = sizes.get(pair.of.name, 0) + tested
        return [
            answer_difference(
                pair, names=names, family=max(sizes[pair.of.name], 1), alpha=self.alpha, seed=self.seed,
                tested=tested,
            )
            for pair, names, tested in self.pairs
        ]  # fmt: skip

    def _cells(self, index: int, key: tuple[str, str, str]) -> Contributions | str:
        if (index, key) not in self.memo:
            run, finding = self.runs[index], self.findings[index][key]
            self.memo[index, key] = _checked(cells_of(run, finding), finding)
        return self.memo[index, key]

    def _both(
        self, first: int, second: int, key: tuple[str, str, str]
    ) -> tuple[Combination, AnsweredBoth] | str:
        names = (self.runs[first].name, self.runs[second].name)
        if self.findings[first][key].card.family == NUMBERS:
            findings = (self.findings[index][key] for index in (first, second))
            return compared_numbers(self.runs[first], self.runs[second], *findings)
        cells = [self._cells(index, key) for index in (first, second)]
        for index, contributions in zip((first, second), cells, strict=True):
            if isinstance(contributions, str):
                return (
                    f"{self.runs[index].name}: {contributions}"
                    if len(set(map(str, cells))) > 1
                    else contributions
                )
        a, b = (contributions for contributions in cells if isinstance(contributions, Contributions))
        return _joined(a, b, self.findings[first][key], names)


def _checked(cells: Contributions | str, finding: Finding) -> Contributions | str:
    """Answers that give the run's own value; else nothing is paired that the run did not measure."""
    if isinstance(cells, str):
        return cells
    lacking = set(cells.combination.columns) - set(cells.table["column"].to_list())
    if lacking:
        return "its answers do not give its value"
    alone = cells.table.with_columns(second="value").rename({"value": "first"})
    value = float(_pairs(alone, [cells.combination], cells)[0].observed()[0, 0])
    near = finding.value is not None and abs(value - finding.value) <= _SAME
    return cells if near else "its answers do not give its value"


def _joined(
    a: Contributions, b: Contributions, finding: Finding, names: tuple[str, str]
) -> tuple[Combination, AnsweredBoth] | str:
    """The samples of both, in the columns that they have in both."""
    other = b.table.select("sample", "column", second="value")
    paired_rows = a.table.rename({"value": "first"}).join(
        other, on=["sample", "column"], how="inner", maintain_order="left"
    )
    if not paired_rows.height:
        return "no sample is in both"
    there = set(paired_rows["column"].to_list())
    combination = a.combination
    if combination.how in ("range", "least"):
        combination = replace(
            combination, columns=tuple(column for column in combination.columns if column in there)
        )
    if len(combination.columns) < len(a.combination.columns) and len(combination.columns) < 2:
        return "samples of fewer than two groups are in both"
    if set(combination.columns) - there:
        return "a group has no sample in both"
    parts = [part for part in a.parts if set(part.combination.columns) <= there]
    pairs, unit = _pairs(paired_rows, [combination], a)
    inner, inner_unit = (None, "")
    if parts:
        inner, inner_unit = _pairs(paired_rows, [part.combination for part in parts], a)
    sizes = [_samples(paired_rows, part.combination.columns) for part in parts]
    return combination, AnsweredBoth(
        finding,
        pairs,
        unit,
        _samples(paired_rows, combination.columns),
        tuple(
            PartOf(part.kind, part.key, n, _hits(paired_rows, part.combination, finding))
            for part, n in zip(parts, sizes, strict=True)
        ),
        inner,
        inner_unit,
        tuple(GroupSize(key=part.key, n=n) for part, n in zip(parts, sizes, strict=True) if finding.by),
        tuple(_dropped(a, b, names)),
        details=_hits(paired_rows, combination, finding),
    )


def _samples(paired_rows: pl.DataFrame, columns: Sequence[str]) -> int:
    return paired_rows.filter(pl.col("column").is_in(list(columns)))["sample"].n_unique()


def _hits(paired_rows: pl.DataFrame, combination: Combination, finding: Finding) -> dict[str, float]:
    """How many samples a rate counts with each model; nothing where it counts parts of samples."""
    if finding.card.unit != "share" or not finding.card.sentences.hits:
        return {}
    rows = paired_rows.filter(pl.col("column").is_in(list(combination.columns)))
    values = [rows["first"], rows["second"]]
    if rows["sample"].n_unique() < rows.height or not all(
        column.is_in([0.0, 1.0]).all() for column in values
    ):
        return {}
    return {"first_hits": float(values[0].sum()), "second_hits": float(values[1].sum())}


def _dropped(a: Contributions, b: Contributions, names: tuple[str, str]) -> list[Dropped]:
    """Samples that one run lacks, and those that the runs count in different groups."""
    samples_a, samples_b = (set(contributions.table["sample"].to_list()) for contributions in (a, b))
    counts = {
        f"not answered by {names[1]}": len(samples_a - samples_b),
        f"not answered by {names[0]}": len(samples_b - samples_a),
    }
    regrouped = a.table.join(b.table, on=["sample", "column"], how="anti").filter(
        pl.col("sample").is_in(samples_b)
    )
    counts["not of the same group in both runs"] = regrouped["sample"].n_unique()
    return [Dropped(reason=reason, count=count) for reason, count in counts.items() if count]


def _pairs(
    paired_rows: pl.DataFrame, combinations: Sequence[Combination], cells: Contributions
) -> tuple[Pairs, str]:
    """The kernel of some numbers, and what it exchanges.

    Units are whole however few they are; a sample that names none is its own.
    """
    used = sorted({column for combination in combinations for column in combination.columns})
    rows = paired_rows.filter(pl.col("column").is_in(used))
    if combinations[0].how == "effect_size":
        x, _ = combinations[0].columns
        first, second = (rows[name].to_numpy() for name in ("first", "second"))
        return PairedEffects(
            first, second, (rows["column"] == x).to_numpy(), int(combinations[0].weights[0]),
            rows["unit"].rank("dense").cast(pl.Int64).to_numpy(),
        ), cells.unit  # fmt: skip
    unit = pl.coalesce(pl.col("unit"), pl.concat_str(pl.lit("\x1f"), "sample"))
    by_unit = rows["unit"].null_count() < rows.height
    rows = rows.with_columns(_unit=(unit if by_unit else pl.col("sample")).rank("dense").cast(pl.Int64) - 1)
    at = {column: index for index, column in enumerate(used)}
    column = rows["column"].replace_strict(at, return_dtype=pl.Int64).to_numpy()
    cell = rows["_unit"].to_numpy() * len(used) + column
    shape = (int(rows["_unit"].n_unique()), len(used))
    size, first, second = (
        np.bincount(cell, weight, shape[0] * shape[1]).astype(np.float64).reshape(shape)
        for weight in (np.ones(cell.size), rows["first"].to_numpy(), rows["second"].to_numpy())
    )
    samples = size
    if cells.once:
        some = np.maximum(size, 1)
        size, first, second = (size > 0).astype(np.float64), first / some, second / some
    summaries = [_summary(combination, at) for combination in combinations]
    sums = PairedSums.of(first, second, size, strata_of(size), summaries, samples)
    return sums, cells.unit if by_unit else "sample"


def _summary(combination: Combination, at: Mapping[str, int]) -> Summary:
    return Summary(combination.how, tuple(at[column] for column in combination.columns), combination.weights)


def mitigation_notes(runs: Sequence[ComparedRun]) -> list[str]:
    """Which runs are of one model before and after a mitigation."""
    plain = {_identity(run): run for run in runs if not run.manifest.get("mitigation")}
    notes = []
    for run in runs:
        mitigation = run.manifest.get("mitigation")
        before = plain.get(_identity(run)) if isinstance(mitigation, Mapping) else None
        if before is not None and isinstance(mitigation, Mapping):
            notes.append(
                f"before and after mitigation {mitigation.get('name')}: {run.name!r} is the model of "
                f"{before.name!r} with it; on what it was fitted on it does more than elsewhere, so read the "
                "held-out half of its evenhand debias run too"
            )
    return notes


def _identity(run: ComparedRun) -> str:
    identity = run.manifest.get("model_identity") or str(run.manifest.get("model")).split(" + ")[0]
    return str(sorted(identity.items()) if isinstance(identity, Mapping) else identity)


def _untested_notes(work: _PairedAnswers) -> list[str]:
    """How many findings stand without a test, and why."""
    if not work.untested:
        return []
    tested, untested = len(work.pairs), len(work.untested)
    return [
        f"no test for {untested:,} of {tested + untested:,} differences, which stand side by side with the "
        f"interval of each run: {_why(work.untested)}"
    ]


def _why(untested: Sequence[tuple[Any, ...]]) -> str:
    """The metrics without a test, and for each reason which."""
    reasons: dict[str, dict[str, None]] = {}
    for row in untested:
        reasons.setdefault(row[-1], {})[row[2]] = None
    return "; ".join(f"{', '.join(names)} ({reason})" for reason, names in list(reasons.items())[:_SHOWN])
