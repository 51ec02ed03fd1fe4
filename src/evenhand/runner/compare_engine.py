"""From run folders to a comparison: what is paired, differences with tests, and the order of the models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from evenhand.core.errors import InputError, ParameterError, UnknownName
from evenhand.core.results import Dropped, Finding, Findings
from evenhand.evidence.counts import Counts
from evenhand.evidence.paired_predictions import Aligned, match
from evenhand.metrics.compared_models import Both, Compared, model_differences
from evenhand.runner.compare_ranks import ranking, ranks_over_mev, ranks_over_replicates
from evenhand.runner.compare_rows import RunToCompare, called_apart
from evenhand.runner.compare_values import NO_TEST, settings_of, values_of
from evenhand.runner.compare_warnings import comparison_warnings, mix_warnings, not_joined, refuse_unlike
from evenhand.runner.manifest import make_manifest
from evenhand.runner.outcome import Run, check_out
from evenhand.stats.exchanged import SUMMARIES
from evenhand.stats.multiplicity import adjust

Progress = Callable[[str], None]

MOST_FOR_ALL_PAIRS = 10  # with more runs, each is compared with the reference only
PAIRED, UNPAIRED = "same samples", "not paired"
WEIGHTED = ", weighted to one mix of classes and groups"
_PAIRING = {
    **dict.fromkeys(("model", "reference", "compared"), pl.String),
    "samples": pl.Int64,
    "reason": pl.String,
}


def compare(
    runs: Sequence[str | Path],
    *,
    by: Sequence[str] = (),
    metrics: Sequence[str] = (),
    alpha: float = 0.05,
    reference: str | Path | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    progress: Progress | None = None,
) -> Run:
    """Compare models that were measured on the same benchmark or table.

    Runs with predictions are compared on the samples that both answered, where these can be told; else as
    independent samples, which is said. Other runs' findings are put side by side, without tests.

    Args:
        runs: Two or more run folders.
        by: Groupings, ``A+B`` crosses; default: those that all runs share.
        metrics: Names of measures, such as ``accuracy``; default: all.
        alpha: Level of the tests, corrected by Holm over the pairs and groupings of one measure.
        reference: Compare every run with this one only; default: all pairs of up to 10 runs, else the first.
        seed: Of every random stream.
        out: Folder to write the comparison to.
        progress: Called with what is being done.

    Returns:
        A run of kind ``compare``: differences, and tables ``ranking``, ``mev_ranks``, ``rank_shares`` and
        ``pairing``.

    Raises:
        UserError: Fewer than two runs, runs of different benchmarks, samples of which runs say different
            things, unknown groupings or measures.
    """
    check_out(out)
    if out is not None and Path(out).resolve() in [Path(folder).resolve() for folder in runs]:
        raise ParameterError(f"-o {str(out)!r} is one of the runs that are compared; choose another folder")
    if len(runs) < 2:
        raise ParameterError(f"{len(runs)} run is given; give two or more run folders to compare")
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha={alpha} is not possible; choose a level between 0 and 1")
    if seed < 0:
        raise ParameterError(f"seed={seed} is not possible; choose 0 or more")
    read = called_apart([RunToCompare.read(folder) for folder in runs])
    refuse_unlike(read)
    chosen = _reference(read, runs, reference)
    settings = {"alpha": alpha, "seed": seed, "adjustment": "holm"}
    warnings = comparison_warnings(read)
    if any(one.counts is None for one in read):
        values = values_of(read, by, metrics)
        said = [*warnings, NO_TEST]
        made = assembled(read, [], {}, {"values": values}, settings_of(values, settings), said)
    else:
        work = _Work(read, _pairs(read, chosen), alpha, seed, progress or (lambda _: None))
        made = work.compared(_groupings(read, by), tuple(metrics) or SUMMARIES, settings, warnings)
    if out is not None:
        made.save(out)
    return made


def _reference(
    read: Sequence[RunToCompare], runs: Sequence[str | Path], reference: str | Path | None
) -> int | None:
    if reference is None:
        return 0 if len(read) > MOST_FOR_ALL_PAIRS else None
    wanted = Path(reference).resolve()
    for place, folder in enumerate(runs):
        if Path(folder).resolve() == wanted or read[place].name == str(reference):
            return place
    raise UnknownName("run to compare with", str(reference), [str(folder) for folder in runs])


def _pairs(read: Sequence[RunToCompare], reference: int | None) -> list[tuple[int, int]]:
    """First and second of every difference."""
    if reference is None:
        return list(combinations(range(len(read)), 2))
    return [(place, reference) for place in range(len(read)) if place != reference]


def _groupings(read: Sequence[RunToCompare], by: Sequence[str]) -> list[tuple[str, ...]]:
    """The groupings asked for, or those that all runs were measured by."""
    counts = [one.counts for one in read if one.counts is not None]
    common = [name for name in counts[0].attributes if all(name in c.attributes for c in counts)]

    def names(entry: str) -> tuple[str, ...]:
        return (entry,) if entry in common else tuple(entry.split("+"))

    if by:
        for entry in by:
            for name in names(entry):
                if name not in common:
                    raise UnknownName("attribute that all runs have", name, common)
        return list(dict.fromkeys(names(entry) for entry in by))
    told = [[names(str(entry)) for entry in one.manifest.get("by") or []] for one in read]
    shared = [entry for entry in told[0] if all(entry in others for others in told)]
    if not shared:
        given = "; ".join(
            f"{one.name} by {', '.join(one.manifest.get('by') or ['nothing'])}" for one in read[:4]
        )
        raise InputError(f"the runs share no grouping ({given}); run or audit them by the same attribute")
    return shared


@dataclass(frozen=True, eq=False)
class _Work:
    """Runs with predictions, and the pairs that are compared."""

    runs: list[RunToCompare]
    pairs: list[tuple[int, int]]
    alpha: float
    seed: int
    say: Progress
    counts: dict[str, Counts] = field(default_factory=dict)
    pairing: list[tuple[Any, ...]] = field(default_factory=list)

    def compared(
        self,
        groupings: Sequence[tuple[str, ...]],
        metrics: Sequence[str],
        settings: dict[str, Any],
        warnings: Sequence[str],
    ) -> Run:
        """The comparison under every grouping."""
        attributes = list(dict.fromkeys(name for grouping in groupings for name in grouping))
        self.say("reading the answers")
        rows = [one.rows(attributes) for one in self.runs]
        findings = self._differences(rows, attributes, groupings, metrics)
        self.say("ranking")
        orders = [self._order(rows, attributes, grouping) for grouping in groupings]
        warnings = [*warnings, *mix_warnings(findings, orders)]
        tables = {
            "ranking": pl.concat([ranking(one) for one in orders]),
            "mev_ranks": pl.concat([ranks_over_mev(one) for one in orders]),
            "rank_shares": pl.concat([ranks_over_replicates(one) for one in orders]),
            "pairing": pl.DataFrame(self.pairing, schema=_PAIRING, orient="row"),
        }
        said = ["+".join(grouping) for grouping in groupings]
        how = PAIRED if all(one.joined for one in orders) else UNPAIRED
        how += WEIGHTED if any(one.standardised for one in orders) else ""
        extra = {"by": said, "rows": int(orders[0].aligned.sizes[0].sum()), "ranked_on": how}
        return assembled(self.runs, findings, self.counts, tables, {**settings, **extra}, warnings)

    def _differences(
        self,
        rows: Sequence[pl.DataFrame | str],
        attributes: Sequence[str],
        groupings: Sequence[tuple[str, ...]],
        metrics: Sequence[str],
    ) -> list[Finding]:
        findings: list[Finding] = []
        for first, second in self.pairs:
            names = (self.runs[first].name, self.runs[second].name)
            self.say(f"comparing {names[0]} with {names[1]}")
            both, lost = self._evidence(first, second, rows, attributes)
            for grouping in groupings:
                found = model_differences(
                    both, by=grouping, names=names, metrics=metrics, alpha=self.alpha, seed=self.seed,
                    family=len(self.pairs) * len(groupings),
                )  # fmt: skip
                findings += [_noted(one, lost, self.runs, first, second) for one in found]
        return _adjusted(findings)

    def _evidence(
        self, first: int, second: int, rows: Sequence[pl.DataFrame | str], attributes: Sequence[str]
    ) -> tuple[Both, list[Dropped]]:
        """The counts of two models: joined where samples can be, and what was left out."""
        a, b = self.runs[first], self.runs[second]
        mine, theirs = rows[first], rows[second]
        reasons = [f"{one.name}: {r}" for one, r in ((a, mine), (b, theirs)) if isinstance(r, str)]
        if not isinstance(mine, str) and not isinstance(theirs, str):
            matched = match([mine, theirs], attributes, [a.name, b.name])
            if matched.samples:
                counts = matched.counts(attributes)
                self.counts[f"predictions-{first + 1}-{second + 1}"] = counts
                self.pairing.append((a.name, b.name, PAIRED, matched.usable, None))
                return counts, [Dropped(reason=reason, count=count) for reason, count in matched.dropped]
            reasons = [not_joined(a, b, mine, theirs)]
        self.pairing.append((a.name, b.name, UNPAIRED, None, "; ".join(reasons)))
        return (_needed(a).project(attributes), _needed(b).project(attributes)), []

    def _order(
        self, rows: Sequence[pl.DataFrame | str], attributes: Sequence[str], grouping: tuple[str, ...]
    ) -> Compared:
        """All models over one grouping: on the samples that all answered, else each on its own."""
        names = [one.name for one in self.runs]
        tables = [one for one in rows if not isinstance(one, str)]
        if len(tables) == len(rows):
            matched = match(tables, attributes, names)
            if matched.samples:
                aligned = Aligned.of_joined(matched.table, grouping, matched.columns)
                return Compared.over(aligned, names, self.seed)
        own = [_needed(one).project(grouping).table() for one in self.runs]
        return Compared.over(Aligned.of_separate(own, grouping, names), names, self.seed)


def _needed(one: RunToCompare) -> Counts:
    if one.counts is None:
        raise InputError(f"{one.folder!r} has no counts of predictions; compare runs of one kind")
    return one.counts


def _noted(
    finding: Finding, lost: Sequence[Dropped], runs: Sequence[RunToCompare], first: int, second: int
) -> Finding:
    """A finding with the samples that were left out, and the benchmark where both runs share it."""
    benchmarks = {runs[place].manifest.get("benchmark") for place in (first, second)}
    update = {
        "dropped": [*lost, *finding.dropped],
        "benchmark": benchmarks.pop() if len(benchmarks) == 1 else None,
    }
    return finding.model_copy(update=update)


def _adjusted(findings: Sequence[Finding]) -> list[Finding]:
    """Holm over all pairs and groupings of one measure."""
    adjusted = list(findings)
    for name in dict.fromkeys(one.name for one in findings):
        family = [place for place, one in enumerate(findings) if one.name == name]
        p = np.array([np.nan if (q := findings[i].p_value) is None else q for i in family])
        for place, corrected in zip(family, adjust(p, "holm"), strict=True):
            if not np.isnan(corrected):
                update = {"p_adjusted": float(corrected), "adjustment": "holm"}
                adjusted[place] = findings[place].model_copy(update=update)
    return adjusted


def assembled(
    runs: Sequence[RunToCompare],
    findings: list[Finding],
    counts: dict[str, Counts],
    tables: dict[str, pl.DataFrame],
    settings: dict[str, Any],
    warnings: Sequence[str],
) -> Run:
    """The comparison with a manifest that says what was compared."""
    benchmarks = {one.manifest.get("benchmark") for one in runs}
    both = " and ".join(one.name for one in runs)
    manifest = make_manifest(
        counts,
        {
            "kind": "compare",
            "benchmark": benchmarks.pop() if len(benchmarks) == 1 else None,
            "model": both if len(runs) == 2 else f"{len(runs)} models compared",
            "models": [one.name for one in runs],
            "compared": [str(one.run.findings.manifest_id) for one in runs],
            **settings,
            "source": None,
        },
    )
    manifest["runs"] = [{"model": one.name, "folder": one.folder} for one in runs]
    manifest["warnings"] = list(warnings)
    return Run(Findings(manifest_id=manifest["manifest_id"], findings=findings), manifest, counts, tables)
