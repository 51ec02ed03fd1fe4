"""What the artifacts of VisoGender share: names of runs, numbers of findings, rows and frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.tidy import ends_of, parameters_of, table_of, tags_of
from evenhand.core.figure import Reference
from evenhand.core.findings import Finding, Part
from evenhand.display.text.model_names import model_names
from evenhand.runs.run_folder import RunFolder

Row = dict[str, Any]

OURS, PAPER = "ours", "paper"
RESOLUTION_RUNS, RETRIEVAL_RUNS = "visogender/resolution", "visogender/retrieval"
ZERO_SHOT = "imagenet_zero_shot"
"""The tag that Table 2 shows as a column."""

NO_IMAGES = "no such images in this run"
EVEN = Reference(0.0, "even")

NUMBERS = ("value", "low", "high", "null_mean", "null_low", "null_high", "p", "n")
"""Columns of numbers that a finding or a part of one fills."""

_TEXTS = frozenset(
    {"source", "model", "setting", "measure", "reason", "part", "context", "sector", "specialisation"}
    | {"occupation", "gender_pair", "template", "pairing", "shown", "counted", "how", "of", "what"}
    | {"above_zero", "participant", "object", "level", "name", "subject_gender", "quantity"}
)  # fmt: skip

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


def benchmark_of(run: RunFolder) -> str:
    """What was run."""
    return str(run.manifest.get("benchmark") or "")


def is_paper_mode(run: RunFolder) -> bool:
    """Whether the run rounds and breaks ties as the original code does."""
    return bool(parameters_of(run).get("mode") == "paper")


def labels_of(runs: Sequence[RunFolder]) -> list[str]:
    """A name for each run: its model and tags, and where those agree what else tells them apart.

    Args:
        runs: In order; runs of different benchmarks may have one name.
    """
    models = model_names(run.manifest.get("model") or "model" for run in runs)
    names = [_label(model, run) for model, run in zip(models, runs, strict=True)]
    keys = list(zip(names, map(benchmark_of, runs), strict=True))
    for key, times in Counter(keys).items():
        if times > 1:
            alike = [index for index, other in enumerate(keys) if other == key]
            for index, name in zip(alike, _told_apart([runs[index] for index in alike]), strict=True):
                names[index] = f"{names[index]} · {name}"
    return names


def _label(model: str, run: RunFolder) -> str:
    tags = [f"{key}={value}" for key, value in tags_of(run).items() if key != ZERO_SHOT]
    return " · ".join([model, *tags, *(["paper mode"] if is_paper_mode(run) else [])])


def _told_apart(runs: Sequence[RunFolder]) -> list[str]:
    """Parameters in which like-named runs differ, or their number."""
    params = [{**parameters_of(run), "seed": run.manifest.get("seed")} for run in runs]
    keys = [key for key in params[0] if len({str(run_params.get(key)) for run_params in params}) > 1]
    texts = [", ".join(f"{key}={run_params.get(key)}" for key in keys) for run_params in params]
    return texts if len(set(texts)) == len(texts) else [str(index + 1) for index in range(len(runs))]


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


def numbers(of: Finding | Part | None, reason: str = NO_IMAGES) -> Row:
    """Value, interval, what chance gives, p and n; without one, why.

    Args:
        of: What holds them.
        reason: Why there is none.
    """
    if of is None:
        return {**dict.fromkeys(NUMBERS), "reason": reason}
    return {
        "value": of.value,
        **ends_of(of),
        "null_mean": of.null.mean if of.null else None,
        "p": of.p_value,
        "n": of.n,
        "reason": of.reason,
    }


def frame(rows: Sequence[Row], columns: Sequence[str]) -> pl.DataFrame:
    """A tidy table; columns of text by their name, all others hold numbers."""
    return table_of(rows, columns, texts=_TEXTS)


def mode_notes(runs: Sequence[RunFolder]) -> tuple[str, ...]:
    """What the reader must know about runs in paper mode, and those that lack images."""
    notes = []
    if any(map(is_paper_mode, runs)):
        notes.append("Paper mode: rounding and ties are those of the released code.")
    for name, run in zip(labels_of(runs), runs, strict=True):
        coverage = run.tables.get("coverage")
        if coverage is not None and {"complete", "usable"} <= set(coverage.columns):
            complete, usable = int(coverage["complete"].sum()), int(coverage["usable"].sum())
            if usable != complete:
                notes.append(f"{name} rests on {usable} of {complete} images.")
    return tuple(dict.fromkeys(notes))
