"""From run folders to a comparison: what is paired, differences with tests, and the order of the models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, check_known
from evenhand.core.findings import Dropped, Finding, Findings
from evenhand.core.metric import Metric
from evenhand.core.nouns import WORDS
from evenhand.evidence.derivation.paired import match
from evenhand.evidence.predictions.counts import Counts
from evenhand.metrics.catalogue import NamedMetric
from evenhand.metrics.differences.changes import Changes
from evenhand.metrics.differences.counts import Both, ComparedCounts
from evenhand.metrics.differences.models import comparable, model_differences
from evenhand.metrics.differences.ranking import (
    MEASURES,
    RANKED,
    measured,
    ranking,
    ranks_over_mev,
    ranks_over_replicates,
)
from evenhand.metrics.differences.seeds import OverSeeds, SeedGroup
from evenhand.metrics.suites.families import at_level
from evenhand.runs.manifest import make_manifest
from evenhand.runs.run_folder import RunFolder
from evenhand.stats.contingency.model_summaries import SUMMARIES
from evenhand.stats.multiplicity import adjust, holm_levels
from evenhand.workflows.compare.answers import compared_answers
from evenhand.workflows.compare.pairing import ComparisonPlan, check_asked, planned
from evenhand.workflows.compare.runs import ComparedRun
from evenhand.workflows.compare.seed_values import ON_THESE, by_group, seed_values
from evenhand.workflows.compare.seeds import Given, seed_findings
from evenhand.workflows.compare.warnings import AUDITS, how_matched, mix_warnings, not_joined, unmatched
from evenhand.workflows.outputs.result import Run

Progress = Callable[[str], None]

RANKED_BY = RANKED
"""The measures that models are ranked by where no dates are compared, the most telling first."""

PAIRED, UNPAIRED = "same samples", "not paired"
WEIGHTED = ", weighted to one mix of classes and groups"
_PAIRING = {
    **dict.fromkeys(("model", "reference", "compared"), pl.String),
    "samples": pl.Int64,
    "reason": pl.String,
}


def compare(
    runs: Sequence[str | Path | RunFolder],
    *,
    by: Sequence[str] = (),
    metrics: Sequence[NamedMetric] = (),
    alpha: float = 0.05,
    reference: str | Path | None = None,
    groups: Given | None = None,
    group_seeds: bool = True,
    over_time: bool | None = None,
    dates: Mapping[str | Path, str] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Run:
    """Compare models that were measured on the same benchmark or table.

    A difference is the run typed later minus the one typed earlier (over time: by date; with a reference:
    the other minus it). Runs with predictions are compared on the samples that both answered, where these
    are known; else as independent samples, which is said. Other runs' findings are put side by side. Runs
    that differ in the seed only are one model with a spread.

    Args:
        runs: Two or more run folders, or runs that were read from them or written to them.
        by: Groupings, ``A+B`` crosses; default: those that all runs share.
        metrics: Measures, such as ``accuracy``; default: all. Of predictions any metric, with its arguments
            as ``missed_gap[label=doctor]``, or a ``functools.partial`` of it.
        alpha: Level of the tests, corrected by Holm over the pairs and groupings of one measure.
        reference: Compare every run with this one only; default: all pairs of up to 10 runs, else the first.
        groups: Runs of one recipe over several seeds, by a name for them; they need not stand in ``runs``.
        group_seeds: Also take runs as one that say that they differ in the seed only.
        over_time: Order runs by date and compare each with the one before it; None: where dates are given.
        dates: Of some runs, by folder, such as ``2026-10-01``; default: when a run was made.
        seed: Of every random stream.
        out: Folder to write the comparison to.
        progress: Called with what is being done.

    Returns:
        A run of kind ``compare``: differences, spreads of seeds, and tables ``ranking``, ``mev_ranks``,
        ``rank_shares``, ``pairing``, and ``drift`` over time.

    Raises:
        UserError: Fewer than two runs, runs of different benchmarks, samples of which runs say different
            things, unknown groupings, measures or groups.
    """
    check_asked(alpha, seed, out)
    folders, say = list(map(_folder_of, runs)), progress or (lambda _: None)
    plan = planned(
        folders, dict(groups or {}), reference, by_seed=group_seeds, over_time=over_time, dates=dates, out=out
    )
    settings = {"alpha": alpha, "seed": seed, "adjustment": "holm"}
    measured_alike = all(run.counts is not None for run in plan.runs)
    make = _by_predictions if measured_alike else _by_findings
    comparison = plan.with_groups_and_dates(make(plan, tuple(by), tuple(metrics), settings, say))
    if out is not None:
        comparison.save(out)
    return comparison


def _folder_of(run: str | Path | RunFolder) -> str | Path:
    """Comparisons read single answers, which lie in run folders only."""
    if not isinstance(run, RunFolder):
        return run
    folder = run.folder or run.saved_in
    if folder is None:
        raise InputError(
            "a run that is in memory only is not compared, as its answers are read from its folder; type: "
            "evenhand.compare([first.save('first'), second.save('second')])"
        )
    return folder


def _by_predictions(
    plan: ComparisonPlan, by: Sequence[str], metrics: Sequence[NamedMetric], settings: dict[str, Any],
    say: Progress,
) -> Run:  # fmt: skip
    """Runs with predictions: counted together and compared cell by cell."""
    compared = [comparable(metric) for metric in metrics or SUMMARIES]
    plan.check_single(metric.card.name for metric in compared if not isinstance(metric, str))
    ranked = RANKED if plan.times is None else tuple(MEASURES)  # every measure is drawn over its dates
    work = _GroupedRuns(plan.runs, plan.pairs, settings["alpha"], settings["seed"], say, plan.groups, ranked)
    return work.compared(_groupings(plan.runs, by), compared, settings, plan.warnings())


def _by_findings(
    plan: ComparisonPlan, by: Sequence[str], metrics: Sequence[NamedMetric], settings: dict[str, Any],
    say: Progress,
) -> Run:  # fmt: skip
    """Other runs: their findings, and the answers behind them where samples can be paired."""
    options: dict[str, Any] = {"by": by, "metrics": metrics, "alpha": settings["alpha"]}
    runs = plan.runs
    answers = compared_answers(runs, plan.singles(), seed=settings["seed"], say=say, **options)
    seeds = seed_values(runs, plan.groups, plan.pairs, **options)
    sentences = [*plan.warnings(), *answers.warnings, *([ON_THESE] if seeds else [])]
    tables = {**answers.tables, "values": by_group(answers.tables["values"], runs, plan.groups)}
    findings = _adjusted([*answers.findings, *seeds], settings["alpha"])
    return assembled(runs, findings, {}, tables, {**settings, **answers.settings}, sentences, plan.groups)


def _groupings(read: Sequence[ComparedRun], by: Sequence[str]) -> list[tuple[str, ...]]:
    """The groupings asked for, or those that all runs were measured by."""
    counts = [run.counts for run in read if run.counts is not None]
    common = [name for name in counts[0].attributes if all(name in c.attributes for c in counts)]

    def names(entry: str) -> tuple[str, ...]:
        return (entry,) if entry in common else tuple(entry.split("+"))

    if by:
        for entry in by:
            check_known("attribute that all runs have", names(entry), common)
        return list(dict.fromkeys(names(entry) for entry in by))
    run_groupings = [[names(str(entry)) for entry in run.manifest.get("by") or []] for run in read]
    shared = [entry for entry in run_groupings[0] if all(entry in others for others in run_groupings)]
    if not shared:
        listed = "; ".join(
            f"{run.name} by {', '.join(run.manifest.get('by') or ['nothing'])}" for run in read[:4]
        )
        raise InputError(f"the runs share no grouping ({listed}); run or audit them by the same attribute")
    return shared


@dataclass(frozen=True, eq=False)
class _GroupedRuns:
    """Runs with predictions, the groups they make, and the pairs of groups that are compared."""

    runs: list[ComparedRun]
    pairs: list[tuple[int, int]]
    alpha: float
    seed: int
    say: Progress
    groups: list[SeedGroup]
    ranked: Sequence[str]
    counts: dict[str, Counts] = field(default_factory=dict)
    pairing: list[tuple[Any, ...]] = field(default_factory=list)

    def compared(
        self,
        groupings: Sequence[tuple[str, ...]],
        metrics: Sequence[str | Metric[...]],
        settings: dict[str, Any],
        warnings: Sequence[str],
    ) -> Run:
        """The comparison under every grouping."""
        attributes = list(dict.fromkeys(name for grouping in groupings for name in grouping))
        self.say("reading the answers")
        rows = [run.rows(attributes) for run in self.runs]
        changes = Changes(len(self.pairs) * len(groupings))
        findings = self._differences(rows, attributes, groupings, metrics, changes)
        self.say("ranking")
        over = [self._order(rows, attributes, grouping) for grouping in groupings]
        orders = [over_seeds.compared for over_seeds in over]
        values = [{metric: measured(order, metric) for metric in self.ranked} for order in orders]
        strict = self.alpha / max(1, len(self.pairs) * len(groupings))
        summaries = [metric for metric in metrics if isinstance(metric, str)]
        seeds = seed_findings(
            list(zip(over, values, strict=True)), self.groups, self.pairs, summaries, strict
        )
        findings = _adjusted([*findings, *(_noted(finding, [], self.runs) for finding in seeds)], self.alpha)
        self._pair_groups(orders[0])
        warnings = [*warnings, *unmatched(self.pairing), *mix_warnings(findings, orders)]
        ranked = [
            ranking(over_seeds, self.groups, grouping_values)
            for over_seeds, grouping_values in zip(over, values, strict=True)
        ]
        tables = {
            "ranking": pl.concat(ranked),
            "mev_ranks": pl.concat([ranks_over_mev(order, self.groups) for order in orders]),
            "rank_shares": pl.concat(
                [ranks_over_replicates(order, self.groups, self.ranked) for order in orders]
            ),
            "pairing": pl.DataFrame(self.pairing, schema=_PAIRING, orient="row"),
            **changes.tables(),
        }
        grouping_names = ["+".join(grouping) for grouping in groupings]
        how = PAIRED if all(order.joined for order in orders) else UNPAIRED
        how += WEIGHTED if any(order.standardised for order in orders) else ""
        extra = {"by": grouping_names, "rows": int(orders[0].aligned.sizes[0].sum()), "ranked_on": how}
        part = "matched in part" if any(order.joined for order in orders) else "not matched"
        extra["matched"] = how_matched(self.runs) if how == PAIRED else part
        settings = {**settings, **extra}
        return assembled(self.runs, findings, self.counts, tables, settings, warnings, self.groups)

    def _differences(
        self,
        rows: Sequence[pl.DataFrame | str],
        attributes: Sequence[str],
        groupings: Sequence[tuple[str, ...]],
        metrics: Sequence[str | Metric[...]],
        changes: Changes,
    ) -> list[Finding]:
        findings: list[Finding] = []
        for first_index, second_index in self.pairs:
            if self.groups[first_index].several or self.groups[second_index].several:
                continue  # seeds are the unit: see compare_seeds
            first, second = self.groups[first_index].places[0], self.groups[second_index].places[0]
            names = (self.runs[first].name, self.runs[second].name)
            self.say(f"comparing {names[0]} with {names[1]}")
            counts, lost = self._evidence(first, second, rows, attributes)
            clusters = [run.cluster for run in (self.runs[first], self.runs[second]) if run.cluster]
            for grouping in groupings:
                differences = model_differences(
                    counts, by=grouping, names=names, metrics=metrics, alpha=self.alpha, seed=self.seed,
                    family=len(self.pairs) * len(groupings), clusters=clusters,
                )  # fmt: skip
                differences = changes.add_pair(differences, counts, grouping, names, tested=not clusters)
                findings += [_noted(difference, lost, self.runs, first, second) for difference in differences]
        return findings

    def _pair_groups(self, order: ComparedCounts) -> None:
        """How the groups with several seeds were paired."""
        how = PAIRED if order.joined else UNPAIRED
        why = None if order.joined else "not every run could be joined with all others"
        for first_index, second_index in self.pairs:
            first, second = self.groups[first_index], self.groups[second_index]
            if first.several or second.several:
                samples = int(order.aligned.sizes[0].sum()) if order.joined else None
                self.pairing.append((first.name, second.name, how, samples, why))

    def _evidence(
        self, first: int, second: int, rows: Sequence[pl.DataFrame | str], attributes: Sequence[str]
    ) -> tuple[Both, list[Dropped]]:
        """The counts of two models: joined where samples can be, and what was left out."""
        a, b = self.runs[first], self.runs[second]
        rows_a, rows_b = rows[first], rows[second]
        reasons = [f"{run.name}: {r}" for run, r in ((a, rows_a), (b, rows_b)) if isinstance(r, str)]
        if not isinstance(rows_a, str) and not isinstance(rows_b, str):
            matched = match([rows_a, rows_b], attributes, [a.name, b.name])
            if matched.samples:
                counts = matched.counts(attributes)
                self.counts[f"predictions-{first + 1}-{second + 1}"] = counts
                self.pairing.append((a.name, b.name, PAIRED, matched.usable, None))
                return counts, [Dropped(reason=reason, count=count) for reason, count in matched.dropped]
            reasons = [not_joined(a, b, rows_a, rows_b)]
        self.pairing.append((a.name, b.name, UNPAIRED, None, "; ".join(reasons)))
        return (_needed(a).project(attributes), _needed(b).project(attributes)), []

    def _order(
        self, rows: Sequence[pl.DataFrame | str], attributes: Sequence[str], grouping: tuple[str, ...]
    ) -> OverSeeds:
        """All models over one grouping: on the samples that all answered, else each on its own."""
        names = [run.name for run in self.runs]
        tables = [table for table in rows if not isinstance(table, str)]
        if len(tables) == len(rows) and not any(group.own_samples for group in self.groups):
            matched = match(tables, attributes, names)
            if matched.samples:
                compared = ComparedCounts.of_joined(
                    matched.table, grouping, matched.columns, names, self.seed
                )
                lost = [Dropped(reason=reason, count=count) for reason, count in matched.dropped]
                return OverSeeds.of(compared, lost)
        counts = [_needed(run) for run in self.runs]
        return OverSeeds.of(ComparedCounts.of_separate(counts, grouping, names, self.seed))


def _needed(run: ComparedRun) -> Counts:
    if run.counts is None:
        raise InputError(f"{run.folder!r} has no counts of predictions; compare runs of one kind")
    return run.counts


def _noted(finding: Finding, lost: Sequence[Dropped], runs: Sequence[ComparedRun], *indices: int) -> Finding:
    """A finding with the samples that were left out, and the benchmark where all runs share it."""
    benchmarks = {runs[index].manifest.get("benchmark") for index in indices or range(len(runs))}
    update = {
        "dropped": [*lost, *finding.dropped],
        "benchmark": benchmarks.pop() if len(benchmarks) == 1 else None,
    }
    return finding.model_copy(update=update)


def _adjusted(findings: Sequence[Finding], alpha: float) -> list[Finding]:
    """Holm over all pairs and groupings of one measure; what is one test has one p, and counts once.

    Intervals and null bands become those of a test's place in its family, as in audits.
    """
    adjusted = list(findings)
    for name in dict.fromkeys(finding.name for finding in findings):
        family = [index for index, finding in enumerate(findings) if finding.name == name]
        first = {_test(findings[index], index): index for index in reversed(family)}
        tests = list(first.values())
        p = np.array([np.nan if (q := findings[i].p_value) is None else q for i in tests])
        corrected = dict(zip(tests, adjust(p, "holm"), strict=True))
        levels = dict(zip(tests, holm_levels(p, alpha).tolist(), strict=True))
        for index in family:
            of = first[_test(findings[index], index)]
            if not np.isnan(corrected[of]):
                p_values = {"p_value": findings[of].p_value, "p_adjusted": float(corrected[of])}
                of_family = at_level(findings[index], 1 - levels[of])
                adjusted[index] = of_family.model_copy(update={**p_values, "adjustment": "holm"})
    return adjusted


def _test(finding: Finding, index: int) -> tuple[Any, ...]:
    """What is tested; how often two models are right on the same samples does not depend on a grouping."""
    if (
        finding.name != "accuracy_difference"
        or finding.details.get("compared") != PAIRED
        or "unit" in finding.params
    ):
        return (index,)
    return (str(finding.params), finding.n, finding.value)


def assembled(
    runs: Sequence[ComparedRun],
    findings: list[Finding],
    counts: dict[str, Counts],
    tables: dict[str, pl.DataFrame],
    settings: dict[str, Any],
    warnings: Sequence[str],
    groups: Sequence[SeedGroup] = (),
) -> Run:
    """The comparison with a manifest that says what was compared: groups of runs, or every run."""
    benchmarks = {run.manifest.get("benchmark") for run in runs}
    names = [group.name for group in groups] or [run.name for run in runs]
    manifest = make_manifest(
        counts,
        {
            "kind": "compare",
            "benchmark": benchmarks.pop() if len(benchmarks) == 1 else None,
            "model": " and ".join(names) if len(names) < 3 else f"{len(names)} models compared",
            "models": names,
            "compared": [str(compared_run.run.findings.manifest_id) for compared_run in runs],
            **settings,
            "source": None,
        },
    )
    manifest["runs"] = [{"model": run.name, "folder": run.folder} for run in runs]
    manifest["warnings"] = list(warnings)
    run_words = [compared_run.manifest.get(WORDS) for compared_run in runs]
    manifest |= (
        {WORDS: run_words[0]} if run_words[0] and all(words == run_words[0] for words in run_words) else {}
    )
    if all(compared_run.manifest.get("kind") in AUDITS for compared_run in runs):
        nouns = {str(compared_run.manifest.get("noun") or "rows") for compared_run in runs}
        manifest["noun"] = nouns.pop() if len(nouns) == 1 else "rows"
    compared = Findings(manifest_id=manifest["manifest_id"], findings=findings)
    for compared_run in runs:
        compared = compared.with_cards(compared_run.run.findings.cards)
    return Run(compared, manifest, counts, tables)
