"""What the artifacts of VisoGender share: how settings and pairs are called, parts of findings, notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.benchmarks.papers.rows import ZERO_SHOT, is_paper_mode, named_by_tags
from evenhand.benchmarks.tidy import tags_of
from evenhand.core.findings import Finding, Part
from evenhand.runs.run_folder import RunFolder

RESOLUTION_RUNS, RETRIEVAL_RUNS = "visogender/resolution", "visogender/retrieval"

SETTING_TITLES: Mapping[str, str] = {
    "overall": "overall",
    "all": "all images",
    "single": "single",
    "two_person": "two persons",
    "same": "same",
    "different": "different",
}
"""How the settings are called in tables."""

PAIR_TITLES: Mapping[str, str] = {
    "m": "m",
    "f": "f",
    "mm": "m | m",
    "ff": "f | f",
    "mf": "m | f",
    "fm": "f | m",
}
"""Gender pairs as the paper writes them, the occupation first."""


def zero_shot_of(run: RunFolder) -> float | None:
    """The tag ``imagenet_zero_shot`` as a number, if it is one."""
    try:
        return float(tags_of(run)[ZERO_SHOT])
    except (KeyError, ValueError):
        return None


def part_of(finding: Finding | None, kind: str, key: str) -> Part | None:
    """One part of a finding, if there is such a part."""
    parts = finding.parts if finding is not None else []
    return next((part for part in parts if part.kind == kind and part.key == key), None)


def mode_notes(runs: Sequence[RunFolder]) -> tuple[str, ...]:
    """What the reader must know about runs in paper mode, and those that lack images."""
    notes = []
    if any(map(is_paper_mode, runs)):
        notes.append("Paper mode: rounding and ties are those of the released code.")
    for name, run in named_by_tags(runs):
        coverage = run.tables.get("coverage")
        if coverage is not None and {"complete", "usable"} <= set(coverage.columns):
            complete, usable = int(coverage["complete"].sum()), int(coverage["usable"].sum())
            if usable != complete:
                notes.append(f"{name} rests on {usable} of {complete} images.")
    return tuple(dict.fromkeys(notes))
