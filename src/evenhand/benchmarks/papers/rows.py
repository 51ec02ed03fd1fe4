"""What the papers' artifacts share: rows of ours and of the paper, names of runs, typed tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from evenhand.benchmarks.tidy import parameters_of, table_of, tags_of
from evenhand.core.figure import Reference
from evenhand.core.findings import Finding, Part
from evenhand.core.frames import ends
from evenhand.display.text.model_names import model_names
from evenhand.runs.run_folder import RunFolder

Row = dict[str, Any]
Runs = Sequence[RunFolder]

OURS, PAPER = "ours", "paper"
EVEN = Reference(0.0, "even")
NO_IMAGES = "no such images in this run"
ZERO_SHOT = "imagenet_zero_shot"
"""The tag that VisoGender's Table 2 shows as a column."""

NUMBERS = ("value", "low", "high", "null_mean", "null_low", "null_high", "p", "n")
"""Columns of numbers that a finding or a part of one fills."""

_TEXTS = frozenset(
    {"source", "model", "reason", "part", "measure", "setting", "group", "by", "tags", "class", "k", "name"}
    | {"annotated_by", "answers", "association", "attribute", "attributes", "band", "benchmark", "evidence"}
    | {"chosen_on", "colour", "column", "counted", "data", "direction", "facet", "form", "from", "gained"}
    | {"gender_pair", "half", "heading", "how", "income_bucket", "indicator", "kind", "label", "level"}
    | {"annotated", "above_zero", "licence", "limits", "measures", "metric", "mev_rule", "object", "of", "on"}
    | {"occupation", "owner", "pair", "pairing", "panel", "participant", "picture", "prediction", "quantity"}
    | {"question", "recipe", "region", "right", "sample", "sector", "sentiment", "series", "shown", "stage"}
    | {"specialisation", "subject_gender", "taxonomy", "template", "training", "url", "what", "word", "x"}
    | {"context", "wordnet_id", "y"}
)  # fmt: skip


def frame(rows: Sequence[Row], columns: Sequence[str]) -> pl.DataFrame:
    """A tidy table; columns of text by their name, all others hold numbers."""
    return table_of(rows, columns, texts=_TEXTS)


def numbers(of: Finding | Part | None, reason: str = NO_IMAGES) -> Row:
    """Value, interval, what chance gives, p and n; without one, why."""
    if of is None:
        return {**dict.fromkeys(NUMBERS), "reason": reason}
    null_mean = of.null.mean if of.null else None
    return {
        "value": of.value, **ends(of), "null_mean": null_mean, "p": of.p_value, "n": of.n,
        "reason": of.reason,
    }  # fmt: skip


def benchmark_of(run: RunFolder) -> str:
    """What was run."""
    return str(run.manifest.get("benchmark") or "")


def is_paper_mode(run: RunFolder) -> bool:
    """Whether the run rounds and breaks ties as the original code does."""
    return bool(parameters_of(run).get("mode") == "paper")


def named_by_tags(runs: Runs) -> list[tuple[str, RunFolder]]:
    """Each run with its model and all its tags; where those agree, with parameters that differ, or a number.

    Runs of different benchmarks may have one name.
    """

    def label(model: str, run: RunFolder) -> str:
        tags = [f"{key}={value}" for key, value in tags_of(run).items() if key != ZERO_SHOT]
        return " · ".join([model, *tags, *(["paper mode"] if is_paper_mode(run) else [])])

    def parameters(alike: Runs) -> Iterator[list[str]]:
        facts = [{**parameters_of(run), "seed": run.manifest.get("seed")} for run in alike]
        of_first = [key for key in _differing(facts) if key in facts[0]]
        yield [", ".join(f"{key}={run_facts.get(key)}" for key in of_first) for run_facts in facts]

    names = [label(model, run) for model, run in zip(models_of(runs), runs, strict=True)]
    return _told_apart(names, list(map(benchmark_of, runs)), runs, parameters)


def named(runs: Runs) -> list[tuple[str, RunFolder]]:
    """Each run with its model's name; where those agree, with tags or parameters that differ, or a number.

    Runs of one model that are grouped differently, such as on two sets of people, may have one name.
    """

    def tags_or_parameters(alike: Runs) -> Iterator[list[str]]:
        for facts in ([tags_of(run) for run in alike], [parameters_of(run) for run in alike]):
            keys = _differing(facts)
            yield [", ".join(str(run_facts.get(key, "–")) for key in keys) for run_facts in facts]

    groupings = [frozenset(finding.grouping for finding in run.findings) for run in runs]
    kinds = list(zip(map(benchmark_of, runs), groupings, strict=True))
    return _told_apart(names_of(runs), kinds, runs, tags_or_parameters)


def models_of(runs: Runs) -> list[str]:
    """The model of each run."""
    return model_names(run.manifest.get("model") or "model" for run in runs)


def names_of(runs: Runs) -> list[str]:
    """The model of each run, and its mode where that is not the usual one."""
    modes = [" · paper mode" if is_paper_mode(run) else "" for run in runs]
    return [f"{name}{mode}" for name, mode in zip(models_of(runs), modes, strict=True)]


def _told_apart(
    names: Sequence[str],
    kinds: Sequence[object],
    runs: Runs,
    texts: Callable[[Runs], Iterator[list[str]]],
) -> list[tuple[str, RunFolder]]:
    """Like names of one kind get the first texts that are all different, else a number."""
    labels, keys = list(names), list(zip(names, kinds, strict=True))
    for key, times in Counter(keys).items():
        indices = [index for index, other in enumerate(keys) if other == key]
        if times > 1:
            numbered = [str(number + 1) for number in range(times)]
            alternatives = texts([runs[index] for index in indices])
            suffixes = next((suffixes for suffixes in alternatives if len({*suffixes}) == times), numbered)
            for index, suffix in zip(indices, suffixes, strict=True):
                labels[index] = f"{names[index]} · {suffix}"
    return list(zip(labels, runs, strict=True))


def _differing(facts: Sequence[Mapping[str, Any]]) -> list[str]:
    """The facts in which runs differ."""
    keys = dict.fromkeys(key for run_facts in facts for key in run_facts)
    return [key for key in keys if len({str(run_facts.get(key)) for run_facts in facts}) > 1]
