"""Files as the original code of VisoGender writes them: names and records, for tests that read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from evenhand.benchmarks.visogender.data.captions import TEMPLATES
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE, NEUTRAL, PREFIXES, SINGLE
from evenhand.benchmarks.visogender.original_code.json_files import LISTS, Record, Resolution

_MEANT = (MASCULINE, FEMININE, NEUTRAL)


def resolution_name(experiment: str, model: str, context: str) -> str:
    """The name that the original code gives to model outputs."""
    return f"{experiment.lower()}_{model}_Context{PREFIXES[context]}.json"


def retrieval_name(model: str, template: str, context: str) -> str:
    """The name that the original code gives to retrieval scores."""
    return f"retrieval_bias_{model}_{template}_Context{PREFIXES[context]}.json"


def resolution_records(resolution: Resolution, context: str, *, flags: bool = False) -> dict[str, Record]:
    """Model outputs of one context as the original code writes them; incomplete samples are left out.

    Args:
        resolution: Samples and scores.
        context: ``single`` or ``two_person``.
        flags: Also what its preliminary results add: whether the choice matches the truth or is neutral.
    """
    by_sample: dict[str, dict[str, dict[str, float]]] = {}
    for sample, template, candidate, score in resolution.scores.iter_rows():
        if score is not None:
            by_sample.setdefault(sample, {}).setdefault(template, {})[candidate] = score
    records = {}
    for row in resolution.samples.filter(pl.col("context") == context).iter_rows(named=True):
        lists = {
            template: {
                candidate: values[candidate] for candidate in resolution.candidates if candidate in values
            }
            for template, values in by_sample.get(row["sample"], {}).items()
        }
        is_complete = all(len(lists.get(name, {})) == len(resolution.candidates) for name in LISTS[context])
        if is_complete:
            records[row["sample"]] = _record(row, lists, resolution, flags)
    return records


def _record(
    row: Mapping[str, Any], lists: Mapping[str, Mapping[str, float]], resolution: Resolution, flags: bool
) -> Record:
    single = row["context"] == SINGLE
    noun = (
        {"obj": row["object_written"]}
        if single
        else {"par": row["participant"], "par_gender": row["participant_perceived_gender"]}
    )
    record: Record = {
        "sector": row["sector"],
        "specialisation": row["specialisation"],
        "occ": row["occupation"],
        "occ_gender": row["occupation_perceived_gender"],
        **noun,
        **{key: dict(lists[template]) for template, key in LISTS[row["context"]].items()},
        "experiment": resolution.experiment,
        "model_name": resolution.model,
        "context": f"context_{PREFIXES[row['context']]}",
    }
    if flags:
        for template in LISTS[row["context"]]:
            record |= _flags(lists[template], template, row[TEMPLATES[template].subject])
    return record


def _flags(scores: Mapping[str, float], template: str, truth: str) -> Record:
    """The first of the highest scores is the choice; positions mean masculine, feminine and neutral."""
    choice = list(scores.values()).index(max(scores.values()))
    gender = _MEANT[choice] if choice < len(_MEANT) else ""
    return {f"neutral_check_{template}": gender == NEUTRAL, f"match_truth_{template}": gender == truth}
