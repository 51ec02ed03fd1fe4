"""What is compared with what: runs in order, in groups of seeds, in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

from evenhand.core.errors import ParameterError, UnknownName
from evenhand.metrics.differences.seeds import SeedGroup
from evenhand.workflows.compare.answers import mitigation_notes
from evenhand.workflows.compare.over_time import DRIFT, Times, drift, in_time, typed_notes
from evenhand.workflows.compare.runs import ComparedRun, called_apart
from evenhand.workflows.compare.seeds import Given, in_groups, with_groups
from evenhand.workflows.compare.warnings import comparison_warnings, refuse_unlike
from evenhand.workflows.outputs.result import Run, check_out

MOST_FOR_ALL_PAIRS = 10  # with more models, each is compared with the reference only


@dataclass(frozen=True, eq=False)
class ComparisonPlan:
    """Runs that are compared."""

    runs: list[ComparedRun]  # as typed; over time oldest first
    groups: list[SeedGroup]  # every run in one of them; most hold a single run
    pairs: list[tuple[int, int]]  # places of groups: newer and older of every difference, newer minus older
    times: Times | None  # where runs are compared over time
    reference: str | None = None  # the group that the user compares all others with; None: nobody said
    order_notes: Sequence[str] = ()  # what is to be known of the order

    def singles(self) -> list[tuple[int, int]]:
        """Pairs of groups that are single runs, as places of the runs."""
        pairs = [(self.groups[first], self.groups[second]) for first, second in self.pairs]
        return [(a.places[0], b.places[0]) for a, b in pairs if not a.several and not b.several]

    def check_single(self, metrics: Iterable[str]) -> None:
        """Refuse metrics that need the answers of single runs, where some are taken as seeds of one model."""
        names = ", ".join(metrics)
        if names and any(group.several for group in self.groups):
            raise ParameterError(
                f"{names} of several seeds is not compared; compare single runs with --each-seed and without "
                "--group, in Python with group_seeds=False"
            )

    def warnings(self) -> list[str]:
        """One sentence for each thing that must be said before the results."""
        sentences = [*mitigation_notes(self.runs), *comparison_warnings(self.runs, self.groups)]
        return [*sentences, *self.order_notes]

    def with_groups_and_dates(self, comparison: Run) -> Run:
        """A comparison that says which runs were taken as one, and when each was made."""
        for group in self.groups:
            for index, seed in zip(group.places, group.seeds, strict=True):
                if group.several:
                    comparison.manifest["runs"][index] |= {"group": group.name, "seed": seed}
        comparison.manifest.update({"reference": self.reference} if self.reference else {})
        if self.times is None:
            return comparison
        comparison.manifest.update(self.times.manifest_facts())
        dates = {group.name: self.times.of_group(group.name, sorted(group.places)) for group in self.groups}
        table = drift(comparison.tables, comparison.findings.findings, dates)
        return replace(comparison, tables={**comparison.tables, DRIFT: table})


def check_asked(alpha: float, seed: int, out: str | Path | None) -> None:
    """Refuse what cannot be, before anything is read."""
    check_out(out)
    if not 0 < alpha < 1:
        raise ParameterError(f"alpha={alpha} is not possible; choose a level between 0 and 1")
    if seed < 0:
        raise ParameterError(f"seed={seed} is not possible; choose 0 or more")


def planned(
    runs: Sequence[str | Path],
    user_groups: Given,
    reference: str | Path | None,  # the run or group that all are compared with
    *,
    by_seed: bool,  # also make groups of runs that say that they differ in the seed only
    over_time: bool | None,  # compare each run with the one before it by date; None: where dates are given
    dates: Mapping[str | Path, str] | None,  # of some runs, by folder
    out: str | Path | None,
) -> ComparisonPlan:
    """Read the runs and put them in order."""
    folders = with_groups(runs, user_groups)
    if out is not None and Path(out).resolve() in [Path(folder).resolve() for folder in folders]:
        raise ParameterError(f"-o {str(out)!r} is one of the runs that are compared; choose another folder")
    if len(folders) < 2:
        raise ParameterError(f"{len(folders)} run is given; give two or more run folders to compare")
    if reference is not None and (over_time or dates):
        raise ParameterError(
            "over time each run is compared with the one before it; leave out --reference, or the dates"
        )
    read = [ComparedRun.read(folder) for folder in folders]
    times, order_notes = in_time(read, folders, over_time, dates), list[str]()
    if times is not None:
        read, folders, order_notes = times.runs, times.folders, times.notes()
    elif over_time is None and reference is None:
        order_notes = typed_notes(read, folders)
    read = called_apart(read)
    refuse_unlike(read)
    groups = in_groups(read, folders, user_groups, by_seed=by_seed and times is None)
    reference_index = _reference(groups, read, folders, reference)
    if times is not None:
        for group in groups:
            times.of_group(group.name, sorted(group.places))
        pairs = [(index, index - 1) for index in range(1, len(groups))]
        return ComparisonPlan(read, groups, pairs, times, order_notes=order_notes)
    if reference_index is None:
        pairs = [(newer, older) for older, newer in combinations(range(len(groups)), 2)]
        return ComparisonPlan(read, groups, pairs, None, order_notes=order_notes)
    pairs = [(index, reference_index) for index in range(len(groups)) if index != reference_index]
    name = None if reference is None else groups[reference_index].name
    return ComparisonPlan(read, groups, pairs, None, name, order_notes)


def _reference(
    groups: Sequence[SeedGroup],
    read: Sequence[ComparedRun],
    folders: Sequence[str | Path],
    reference: str | Path | None,
) -> int | None:
    """The place of the group that all others are compared with; None: all pairs."""
    if reference is None:
        return 0 if len(groups) > MOST_FOR_ALL_PAIRS else None
    reference_path = Path(reference).resolve()
    for index, group in enumerate(groups):
        names = [group.name, *(read[run].name for run in group.places)]
        if str(reference) in names or reference_path in [
            Path(folders[run]).resolve() for run in group.places
        ]:
            return index
    raise UnknownName("run to compare with", str(reference), [str(folder) for folder in folders])
