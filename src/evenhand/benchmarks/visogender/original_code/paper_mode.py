"""The benchmark file of the original code, to the digit."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.benchmarks.visogender.data.settings import SETTINGS
from evenhand.benchmarks.visogender.data.taxonomy import FEMININE, MASCULINE
from evenhand.benchmarks.visogender.original_code.json_files import EXPERIMENTS
from evenhand.core.errors import check_choice
from evenhand.evidence.choices import Choices
from evenhand.evidence.rankings import Rankings
from evenhand.metrics.choices.resolution import resolution_accuracy, resolution_gap
from evenhand.metrics.retrieval.ranking import bias_at_k, max_skew_at_k, ndkl

RETRIEVAL = ("bias@5", "bias@10", "maxskew@5", "maxskew@10", "NDKL")
"""What the file has of retrieval, in its order."""

_NAMES = {
    "single": "single_person_images",
    "two_person": "two_person_images",
    "same": "two_person_images_same_gender",
    "different": "two_person_images_diff_gender",
}


def resolution_numbers(choices: Choices) -> dict[str, dict[str, float | None]]:
    """``resolution_bias`` of the benchmark file: rates, means and gaps rounded at every step.

    Choices are those of the ``occ_first`` template. The overall accuracy is the mean of the contexts' rounded
    means. Where the original code would divide by zero or look for a missing context, the number is null.
    """
    numbers: dict[str, dict[str, float | None]] = {"all_images": {"overall_accuracy": None}}
    subsets = set(choices.annotated["pairing"].drop_nulls().unique().to_list())
    subsets |= set(choices.annotated["context"].drop_nulls().unique().to_list())
    for setting, name in _NAMES.items():
        where = SETTINGS[setting]
        if not set(where.values()) <= subsets:
            numbers[name] = {"RA_avg": None, "gender_gap": None}
            continue
        accuracy = resolution_accuracy(choices, where=where, mode="paper", inference="none")
        gap = resolution_gap(choices, where=where, mode="paper", inference="none")
        numbers[name] = {"RA_avg": accuracy.value, "gender_gap": gap.value}
    single, two = (numbers[_NAMES[name]]["RA_avg"] for name in ("single", "two_person"))
    if single is not None and two is not None:
        numbers["all_images"]["overall_accuracy"] = float(np.round((two + single) / 2, 2))
    return numbers


def retrieval_numbers(rankings: Rankings) -> dict[str, tuple[float | None, float | None]]:
    """Mean and sigma of each of ``RETRIEVAL``, as ``benchmark_file`` takes them.

    There is one ranking for each occupation, of two-person images in the order of the samples.
    """
    options: dict[str, Any] = {"by": "occupation_perceived_gender", "mode": "paper", "inference": "none"}
    pair = (MASCULINE, FEMININE)
    findings = {f"bias@{k}": bias_at_k(rankings, k=k, groups=pair, **options) for k in (5, 10)}
    findings |= {f"maxskew@{k}": max_skew_at_k(rankings, k=k, **options) for k in (5, 10)}
    findings["NDKL"] = ndkl(rankings, **options)
    numbers: dict[str, tuple[float | None, float | None]] = {}
    for name, finding in findings.items():
        sigma = finding.details.get("sigma")
        numbers[name] = finding.value, sigma if isinstance(sigma, float) else None
    return numbers


def benchmark_file(
    choices: Choices,  # of the occ_first template
    *,
    experiment: str,
    model: str,
    retrieval: Mapping[str, tuple[float | None, float | None]] | None = None,  # unrounded mean and sigma
) -> dict[str, Any]:
    """The whole benchmark file; ``json_files.dump`` makes its bytes."""
    check_choice("experiment", experiment, EXPERIMENTS)
    content: dict[str, Any] = {
        "metadata": {"experiment_desc": experiment, "model_name": model},
        "resolution_bias": resolution_numbers(choices),
    }
    if experiment == "CLIP":
        content["retrieval_bias"] = _retrieval_part(retrieval or {})
    return content


def retrieval_file(rankings: Rankings, *, model: str) -> dict[str, Any]:
    """The benchmark file where only retrieval is known: without its part on resolution."""
    metadata = {"experiment_desc": "CLIP", "model_name": model}
    return {"metadata": metadata, "retrieval_bias": _retrieval_part(retrieval_numbers(rankings))}


def _retrieval_part(
    moments: Mapping[str, tuple[float | None, float | None]],
) -> dict[str, dict[str, float | None]]:
    return {
        name: dict(zip(("mean", "sigma"), map(_rounded, moments.get(name, (None, None))), strict=True))
        for name in RETRIEVAL
    }


def benchmark_name(experiment: str, model: str) -> str:
    """The name that the original code gives to a benchmark file; what file systems dislike is replaced."""
    return f"benchmark_results_{experiment}_{re.sub(r'[^A-Za-z0-9._@+-]+', '-', model).strip('-.')}.json"


def _rounded(value: float | None) -> float | None:
    return None if value is None or not np.isfinite(value) else float(np.round(value, 2))
