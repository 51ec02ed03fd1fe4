"""The section of a Hugging Face model card, with its ``model-index``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.errors import MissingExtra, ParameterError
from evenhand.core.findings import Finding
from evenhand.core.unseen import harmless, shown_in
from evenhand.report.exports.exported import CAUTION, RunView, about_one_model, chosen, tests_of, title
from evenhand.report.exports.summary import section

PARAMETERS = {"pipeline": "image-classification", "name": ""}


def model_card(runs: Sequence[RunView], params: Mapping[str, str] | None = None) -> bytes:
    """Metadata and a section of text about one model, as a README.md begins.

    Findings with a value are results of the ``model-index``, whose format has no room for a missing value.
    Intervals, chance bands, p-values and numbers of rows are arguments of the metric. Findings without a
    value stand in the text with their reasons. ``pipeline`` is the kind of model as the Hub calls it.
    """
    try:
        from huggingface_hub import ModelCardData
    except ImportError:
        raise MissingExtra("huggingface_hub", "hf") from None
    settings = chosen(params or {}, PARAMETERS, "model-card")
    about_one_model(runs, "model-card")
    models = sorted({run.model for run in runs})
    if len(models) > 1 and not settings["name"]:
        raise ParameterError(
            f"a model card is about one model, these runs are of {len(models)}; give runs of one, "
            "or -p name=NAME"
        )
    results = [_result(run, finding, settings["pipeline"]) for run in runs for finding in run.estimable]
    data = ModelCardData(
        model_name=settings["name"] or harmless(models[0]), eval_results=results or None, tags=["bias-audit"]
    )
    if not results:
        data.model_name = None
    text = "\n\n".join(["## Bias audit", *(section(run, "###") for run in runs), CAUTION])
    yaml: str = data.to_yaml(line_break="\n")
    return f"---\n{yaml}\n---\n\n{text}\n".encode()


def _result(run: RunView, finding: Finding, pipeline: str) -> Any:
    from huggingface_hub import EvalResult

    return EvalResult(
        task_type=pipeline,
        dataset_type=harmless(run.benchmark),
        dataset_name=harmless(run.benchmark),
        metric_type=finding.name,
        metric_name=title(finding),
        metric_value=finding.value,
        metric_config=harmless(finding.metric),
        metric_args={**_arguments(finding), "manifest": run.findings.manifest_id},
    )


def _arguments(finding: Finding) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "by": finding.by,
        "params": finding.params,
        "interval": finding.interval,
        "chance": finding.null,
        **tests_of(finding),
        "n": finding.n if finding.n >= 0 else None,
        "direction": finding.direction,
        "note": finding.reason,
    }
    plain = {
        key: value.model_dump(exclude_none=True) if hasattr(value, "model_dump") else value
        for key, value in arguments.items()
    }
    return {key: shown_in(value) for key, value in plain.items() if value not in (None, [], {})}
