"""From a benchmark and a model to a run folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from evenhand.benchmarks.catalogue import ARTIFACTS, BENCHMARKS
from evenhand.benchmarks.declaration import Artifact, Benchmark, Measured, parse_parameters
from evenhand.core.capabilities import ClassifiesImages
from evenhand.core.results import Findings
from evenhand.files.atomic import atomic_path
from evenhand.metrics.suite import adjust_headlines
from evenhand.models.resolve import require, resolve
from evenhand.runner.asking import ask_classifier
from evenhand.runner.manifest import make_manifest
from evenhand.runner.outcome import Run, check_out


@dataclass(frozen=True, eq=False)
class AskedRun(Run):
    """A run with the raw answers and annotations it was computed from."""

    evidence: dict[str, pl.DataFrame] = field(default_factory=dict)

    def write_extras(self, folder: Path) -> None:
        """Write the evidence as Parquet parts."""
        for kind, table in self.evidence.items():
            with atomic_path(folder / "evidence" / kind / "part-00000.parquet") as temporary:
                table.write_parquet(temporary)


def run(
    benchmark: str,
    *,
    model: str | ClassifiesImages,
    parameters: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    limit: int | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Ask a model a benchmark's questions, measure the answers, and write the run.

    Args:
        benchmark: Its name, or ``file.py:object``.
        model: A model URI, or an object that meets the benchmark's capability.
        parameters: The benchmark's own parameters, as text.
        tags: Facts about the model for comparisons.
        limit: Ask about the first so many samples only.
        seed: Of samples and resampling.
        out: Folder to write; default: nothing is written.
        progress: Called with samples done and samples in all.

    Raises:
        UserError: Unknown benchmark, model or parameter, or a model without the capability.
    """
    check_out(out)
    asked: Benchmark = BENCHMARKS.get(benchmark)
    values = parse_parameters(asked, parameters or {})
    uri = model if isinstance(model, str) else type(model).__name__
    answering = resolve(model) if isinstance(model, str) else model
    require(answering, ClassifiesImages, uri)
    identity = answering.identity()
    samples = asked.samples(values, seed)
    answers = ask_classifier(answering, samples, limit=limit, progress=progress or (lambda *_: None))
    annotations = samples.annotations[: len(answers)]
    measured = asked.measure(answers.join(annotations.drop("truth"), on="sample"), seed=seed)
    made = _assemble(asked, measured, {"model": uri, "model_identity": identity}, values, tags or {}, seed)
    kept = AskedRun(*made, {"predictions": answers, "annotations": annotations})
    kept.tables.update(_artifact_tables(asked, kept))
    if out is not None:
        kept.save(out)
    return kept


def _assemble(
    benchmark: Benchmark,
    measured: Measured,
    model: dict[str, Any],
    parameters: Mapping[str, Any],
    tags: Mapping[str, str],
    seed: int,
) -> tuple[Findings, dict[str, Any], dict[str, Any], dict[str, pl.DataFrame]]:
    settings = {
        "kind": "run",
        "benchmark": benchmark.name,
        **model,
        "parameters": dict(parameters),
        "tags": dict(tags),
        "truth": "truth",
        "prediction": "prediction",
        "by": list(benchmark.attributes),
        "rows": next(iter(measured.counts.values())).n_total,
        "mode": "default",
        "seed": seed,
        "source": None,
    }
    manifest = make_manifest(measured.counts, settings) | {"card": benchmark.card()}
    named = [
        finding.model_copy(update={"benchmark": benchmark.name, "model": model["model"]})
        for finding in adjust_headlines(measured.findings)
    ]
    findings = Findings(manifest_id=manifest["manifest_id"], findings=named)
    return findings, manifest, measured.counts, measured.tables


def _artifact_tables(benchmark: Benchmark, made: Run) -> dict[str, pl.DataFrame]:
    """The artifacts this run alone can fill."""
    artifacts: list[Artifact] = [ARTIFACTS.get(name) for name in benchmark.artifacts]
    return {artifact.name.replace("/", "-"): artifact.make([made]) for artifact in artifacts}
