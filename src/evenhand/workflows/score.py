"""From scores made elsewhere to a run folder: no model is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks.benchmark import (
    Benchmark,
    ReadsScores,
    Scored,
    Setting,
    parse_parameters,
    primaries_of,
    words_to_keep,
)
from evenhand.benchmarks.catalogue import BENCHMARKS
from evenhand.core.errors import InputError, UserError
from evenhand.core.findings import Dropped, Findings
from evenhand.files.hashing import sha256_files, sha256_text
from evenhand.metrics.suites.families import adjust_run
from evenhand.runs.manifest import make_manifest
from evenhand.workflows.outputs.result import Run, check_out
from evenhand.workflows.run import digest_of, named


def score(
    benchmark: str,
    *,
    evidence: str | Path | Sequence[str | Path],
    data: str | Path | None = None,
    parameters: Mapping[str, str] | None = None,
    tags: Mapping[str, str] | None = None,
    seed: int = 0,
    out: str | Path | None = None,
) -> Run:
    """Measure scores that were made elsewhere, and write the run.

    Args:
        benchmark: Its name.
        evidence: Files or folders that hold the scores.
        data: Where the benchmark's data lies, where the scores do not say enough.
        parameters: The benchmark's own parameters, as text.
        tags: Facts about the model for comparisons.
        seed: Of resampling.
        out: Folder to write.

    Returns:
        The run.

    Raises:
        UserError: Unknown benchmark or parameter, files without scores, or a benchmark that reads none.
    """
    check_out(out)
    declared: Benchmark[Any] = BENCHMARKS.get(benchmark)
    if not isinstance(declared, ReadsScores):
        raise UserError(
            f"{benchmark!r} reads no scores of files; type: evenhand run {benchmark} --model table:FILE, or "
            "score visogender/resolution or visogender/retrieval"
        )
    sources = [evidence] if isinstance(evidence, str | Path) else list(evidence)
    paths = [Path(path) for path in sources]
    if not paths:
        raise InputError("there are no scores to read; give a file or a folder with --evidence")
    where = Path(data).expanduser() if data is not None else None
    setting = Setting(parse_parameters(declared, parameters or {}), where, (), seed)
    scored = declared.score(paths, setting)
    run = _assemble(declared, scored, setting, paths, tags or {})
    if out is not None:
        run.save(out)
    return run


def _assemble(
    benchmark: Benchmark[Any],
    scored: Scored,
    setting: Setting,
    paths: Sequence[Path],
    tags: Mapping[str, str],
) -> Run:
    model = scored.model or ", ".join(path.name for path in paths)
    source = _source(paths)
    settings: dict[str, Any] = {
        "kind": "score",
        "benchmark": benchmark.name,
        "model": model,
        "parameters": dict(setting.parameters),
        "tags": dict(tags),
        "by": ["+".join(names) for names in scored.by],
        "rows": len(scored.annotations),
        "samples": digest_of(scored.annotations.sort("sample")),
        "mode": str(setting.parameters.get("mode", "default")),
        "seed": setting.seed,
        "evidence": source["sha256"],
        "source": source,
    }
    manifest = make_manifest(scored.measured.counts, settings)
    manifest |= {"card": benchmark.card(), **words_to_keep(benchmark)}
    everything = dict(scored.dropped)
    for reason, count in scored.measured.dropped.items():
        everything[reason] = everything.get(reason, 0) + count
    dropped = [Dropped(reason=reason, count=count) for reason, count in everything.items()]
    findings = adjust_run(scored.measured.findings, primaries_of(benchmark))
    findings = named(findings, benchmark.name, model, dropped)
    return Run(
        Findings(manifest_id=manifest["manifest_id"], findings=findings),
        manifest,
        scored.measured.counts,
        scored.measured.tables,
        dict(scored.measured.exports),
    )


def _source(paths: Sequence[Path]) -> dict[str, Any]:
    """What was read: names, and one hash of all files."""
    roots = [path.expanduser() for path in paths]
    files = sorted(
        {file for root in roots for file in ([root] if root.is_file() else root.rglob("*")) if file.is_file()}
    )
    hashes = sha256_files(files)
    return {
        "path": ", ".join(str(path) for path in paths),
        "size": sum(file.stat().st_size for file in files),
        "sha256": sha256_text("\n".join(str(digest) for digest in hashes.values())),
    }
