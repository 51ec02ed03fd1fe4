"""Which runs are one recipe over several seeds, and what a comparison finds of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.core.errors import ParameterError, UnknownName, first_few, one_line
from evenhand.core.findings import Finding
from evenhand.display.text.model_names import model_names
from evenhand.metrics.differences.ranking import RankingNotes
from evenhand.metrics.differences.seeds import Ends, OverSeeds, SeedGroup
from evenhand.workflows.compare.runs import ComparedRun

Given = Mapping[str, Sequence[str | Path]]

_OF_ONE_SEED = ("seed", "sha256", "weights", "head")  # what another seed changes in an identity
_ALIKE = ("kind", "benchmark", "mode", "parameters", "by", "mitigation", "method", "form", "tests", "halves")
_DRAWN = "drawn by the run's seed"
_MARKED, _PLAIN = r"(?i)(?<![a-z])(seed|s)([-_=/ ]?){}(?!\d)", r"(?<![\d.]){}(?!\.?\d)"
_HASH = r"([0-9a-f]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
_SHOWN, _LISTED = 4, 12


def parse_groups(entries: Sequence[str]) -> dict[str, list[str | Path]]:
    """Groups of runs from ``NAME=RUN,RUN`` texts."""
    groups: dict[str, list[str | Path]] = {}
    for entry in entries:
        name, _, listed = entry.partition("=")
        runs: list[str | Path] = [run.strip() for run in listed.split(",") if run.strip()]
        if not name.strip() or len(runs) < 2:
            raise ParameterError(
                f"--group {entry!r} cannot be read; write --group NAME=RUN,RUN with two or more run folders"
            )
        if name.strip() in groups:
            raise ParameterError(f"--group {name.strip()} is given twice; name every group once")
        groups[name.strip()] = runs
    return groups


def with_groups(runs: Sequence[str | Path], groups: Given) -> list[str | Path]:
    """The runs given, and after them those of groups that were not given already."""
    paths = {Path(run).resolve() for run in runs}
    return [
        *runs,
        *(run for members in groups.values() for run in members if Path(run).resolve() not in paths),
    ]


def in_groups(
    read: Sequence[ComparedRun], folders: Sequence[str | Path], user_groups: Given, *, by_seed: bool = True
) -> list[SeedGroup]:
    """Every run in one group, in the order of their first runs; most hold a single one.

    ``by_seed`` also makes groups of runs whose manifests say that they differ in the seed only.
    """
    groups = [_given_group(name, members, read, folders) for name, members in user_groups.items()]
    grouped_indices = [index for group in groups for index in group.places]
    twice = next((index for index in grouped_indices if grouped_indices.count(index) > 1), None)
    if twice is not None:
        raise ParameterError(f"{str(folders[twice])!r} stands in two groups; give each run to one --group")
    left = [index for index in range(len(read)) if index not in grouped_indices]
    if by_seed:
        groups += _told_groups(read, left)
        grouped_indices = [index for group in groups for index in group.places]
    groups += [
        SeedGroup(read[p].name, (p,), ("1",), seeds_known=False)
        for p in range(len(read))
        if p not in grouped_indices
    ]
    names = [group.name for group in groups]
    called = next((name for name in names if names.count(name) > 1), None)
    if called is not None:
        raise ParameterError(f"two models would be called {called!r}; give the group another name")
    return sorted(groups, key=lambda group: group.places[0])


def _given_group(
    name: str, members: Sequence[str | Path], read: Sequence[ComparedRun], folders: Sequence[str | Path]
) -> SeedGroup:
    places = [_place_of(member, folders) for member in members]
    run_seeds = [seed_of(read[index]) for index in places]
    has_seeds = None not in run_seeds and len(set(run_seeds)) == len(run_seeds)
    seeds = (
        tuple(map(str, run_seeds))
        if has_seeds
        else tuple(str(number) for number in range(1, len(places) + 1))
    )
    own_samples = _own_samples([read[index] for index in places])
    return SeedGroup(name, tuple(places), seeds, has_seeds, own_samples, by_user=True)


def _place_of(run: str | Path, folders: Sequence[str | Path]) -> int:
    path = Path(run).resolve()
    for index, folder in enumerate(folders):
        if Path(folder).resolve() == path:
            return index
    raise UnknownName("run to group", str(run), [str(folder) for folder in folders])


def _told_groups(read: Sequence[ComparedRun], places: Sequence[int]) -> list[SeedGroup]:
    """Runs whose manifests are alike but for their seeds, each seed once."""
    groups: list[SeedGroup] = []
    for members in _alike([read[index] for index in places], _recipe):
        several = [read[places[member]] for member in members]
        seeds = [str(seed_of(run)) for run in several]
        if len(set(seeds)) == len(seeds):
            name = _called(several, seeds)
            copies = sum(group.name.partition(" #")[0] == name for group in groups)
            name = f"{name} #{copies + 1}" if copies else name
            there = tuple(places[member] for member in members)
            groups.append(SeedGroup(name, there, tuple(seeds), own_samples=_own_samples(several)))
    return groups


def _alike(runs: Sequence[ComparedRun], key_of: Callable[[ComparedRun], str | None]) -> list[list[int]]:
    """Places of runs that are one recipe with two or more seeds."""
    members_by_key: dict[str, list[int]] = {}
    for index, run in enumerate(runs):
        key = key_of(run)
        if key is not None:
            members_by_key.setdefault(key, []).append(index)
    selected = []
    for key, members in members_by_key.items():
        several = [runs[index] for index in members]
        is_drawn = _DRAWN in key and several[0].manifest.get("kind") != "debias"
        if len({seed_of(run) for run in several}) > 1 and (_own_samples(several) or not is_drawn):
            selected.append(members)
    return selected


def seed_of(run: ComparedRun) -> str | None:
    """The seed that makes a run one of several: its tag, that of its model, or that of its samples."""
    tagged = (run.manifest.get("tags") or {}).get("seed")
    if tagged is not None:
        return str(tagged)
    trained = _trained(run.manifest.get("model_identity") or {})
    if trained is not None:
        return trained
    seed = run.manifest.get("seed")
    uses_seed = run.manifest.get("kind") == "debias" or run.manifest.get("samples")
    return None if seed is None or not uses_seed else str(seed)


def _trained(identity: Mapping[str, Any]) -> str | None:
    return next((str(value) for key, value in identity.items() if key.split()[-1] == "seed"), None)


def _recipe(run: ComparedRun) -> str | None:
    """Everything of a run that another seed leaves as it is; None where it tells no seed."""
    seed, manifest = seed_of(run), run.manifest
    if seed is None:
        return None
    identity = {str(key): str(value) for key, value in (manifest.get("model_identity") or {}).items()}
    tags = dict(manifest.get("tags") or {})
    tagged = tags.pop("seed", None) is not None
    fixed = {key: manifest.get(key) for key in _ALIKE} | {"tags": tags}
    if not tagged and _trained(identity) is None:
        # the model is the same: the seed chose samples, or halves of them
        return _key(
            fixed, {key: manifest.get(key) for key in ("model", "run")} | {"seed": _DRAWN, **identity}
        )
    shared = {key: value for key, value in identity.items() if not _by_seed(key)}
    if _trained(identity) is None:
        shared = {k: value if value.isdecimal() else _without(seed, value) for k, value in shared.items()}
    elif identity.get("adaptation") != "fine_tuning":
        return _key(fixed, shared)
    # hashes are the seed's own, so that only the address tells what was trained
    loose = {key: value for key, value in shared.items() if "sha256" not in key}
    return _key(fixed, {**loose, "address": _without(seed, str(manifest.get("model")))})


def _model(run: ComparedRun) -> str | None:
    """As ``_recipe``; of an adapted model all that its identity says, however it was measured."""
    identity = run.manifest.get("model_identity") or {}
    if _trained(identity) is None:
        return _recipe(run)
    return _key({}, {key: value for key, value in identity.items() if not _by_seed(key)})


def _key(fixed: Mapping[str, Any], more: Mapping[str, Any]) -> str:
    return json.dumps([fixed, more], sort_keys=True, default=str)


def _by_seed(key: str) -> bool:
    """Whether another seed changes this; an adapted model's extractor stays the same."""
    return not key.startswith("extractor") and any(word in key.split() for word in _OF_ONE_SEED)


def _without(seed: str, text: str) -> str:
    """A text without the seed: where it is marked, as in ``s3`` or ``seed=3``, else wherever it stands."""
    pieces = re.split(_HASH, text)  # every second one is a hash, which no number of a seed is read from
    marked = [re.subn(_MARKED.format(re.escape(seed)), r"\1\2*", piece) for piece in pieces[::2]]
    if any(changed for _, changed in marked):
        pieces[::2] = [piece for piece, _ in marked]
    else:
        pieces[::2] = [re.sub(_PLAIN.format(re.escape(seed)), "*", piece) for piece in pieces[::2]]
    return "".join(pieces)


def _own_samples(runs: Sequence[ComparedRun]) -> bool:
    """Whether every run was asked about other samples."""
    digests = [run.manifest.get("samples") for run in runs]
    return None not in digests and len(set(digests)) == len(digests) > 1


def _called(runs: Sequence[ComparedRun], seeds: Sequence[str]) -> str:
    """What runs of one recipe have in common, and how many seeds there are."""
    shared = {_without(seed, run.name) for seed, run in zip(seeds, runs, strict=True)}
    models = set(model_names(one_line(run.manifest.get("model") or run.name) for run in runs))
    names = shared if len(shared) == 1 else models
    if len(names) == 1:
        return f"{names.pop()} ({len(runs)} seeds)"
    return f"{runs[0].name} and {len(runs) - 1} more seed{'s' * (len(runs) > 2)}"


def seed_notes(read: Sequence[ComparedRun], groups: Sequence[SeedGroup]) -> list[str]:
    """What was made one, and which runs of one recipe were not."""
    notes = []
    for group in groups:
        if group.several:
            what = "seeds" if group.seeds_known else "runs"
            seeds = first_few(group.seeds, _LISTED)
            unlike = "; each seed has samples of its own" if group.own_samples else ""
            way_out = "" if group.by_user else "; --each-seed takes every run by itself"
            notes.append(
                f"{group.name!r} stands for {len(group.places)} runs ({what} {seeds}), compared by their "
                f"mean{unlike}{way_out}"
            )
    alone = [group.places[0] for group in groups if not group.several]
    return notes + each_seed_notes([read[index] for index in alone])


def each_seed_notes(runs: Sequence[ComparedRun]) -> list[str]:
    """Runs that differ by the seed only and are compared as if they were models."""
    notes = []
    for members in _alike(runs, _model):
        several = [runs[index] for index in members]
        seeds = list(dict.fromkeys(str(seed_of(run)) for run in several))
        names = ", ".join(repr(run.name) for run in several[:_SHOWN])
        twice = "; a seed stands twice, so they are not taken as one" if len(seeds) < len(several) else ""
        notes.append(
            f"{names} differ in the seed only ({', '.join(seeds)}): their differences are what "
            f"training again gives{twice}"
        )
    return notes


def seed_findings(
    orders: Sequence[tuple[OverSeeds, Mapping[str, Sequence[RankingNotes]]]],
    groups: Sequence[SeedGroup],
    pairs: Sequence[tuple[int, int]],  # places of groups: first and second of every difference
    metrics: Sequence[str],  # some of SUMMARIES
    alpha: float,  # of each test: the level over their number
) -> list[Finding]:
    """Spreads of groups with several seeds, and differences of all pairs in which one is.

    ``orders`` has the runs over each grouping, and each run's own values by measure.
    """
    findings: list[Finding] = []
    for compared, runs in orders:
        for metric in metrics:
            for group in groups:
                if group.several:
                    ends: list[Ends] = []
                    if metric in runs:
                        ends = [(runs[metric][p].low, runs[metric][p].high) for p in group.places]
                    findings.append(compared.spread(metric, group, ends))
            findings += [
                compared.difference(metric, groups[first], groups[second], alpha=alpha)
                for first, second in pairs
                if groups[first].several or groups[second].several
            ]
    return findings
