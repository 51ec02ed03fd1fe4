"""``evenhand run``: benchmarks and models in, a run folder for each pair out."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.core.errors import Incomplete

if TYPE_CHECKING:
    from evenhand.cli.suites.typed import TypedSuite
    from evenhand.workflows.execution.options import AskOptions
    from evenhand.workflows.run import AskedRun


Benchmarks = Annotated[
    list[str],
    typer.Argument(metavar="BENCHMARK...", help="See: evenhand ls benchmarks; or a suite, or suite.yaml."),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model", metavar="URI", help="hf:..., timm:..., FILE.py:object; docs/models.md; may be repeated."
    ),
]
Data = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH", help="The benchmark's data; BENCHMARK=PATH where several run."),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "-p", metavar="KEY=VALUE", help="Parameter; BENCHMARK:KEY=VALUE for that of one of several."
    ),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print samples and requests of each pair; ask nothing.")
]


def run(
    benchmark: Benchmarks,
    model: Models = None,
    data: Data = None,
    image: options.Image = None,
    truth: options.Truth = None,
    by: options.By = None,
    parameters: Parameters = None,
    mode: options.BenchmarkMode = None,
    tags: options.Tags = None,
    limit: options.Limit = None,
    mitigation: options.Mitigation = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    device_map: options.DeviceMap = None,
    quantize: options.Quantize = None,
    batch_size: options.BatchSize = None,
    workers: options.Workers = None,
    engine: options.Engine = "local",
    ray_address: options.RayAddress = None,
    keep_answers: options.KeepAnswers = True,
    allow_missing: options.AllowMissing = False,
    trust_remote_code: options.TrustRemoteCode = False,
    max_tokens: options.MaxTokens = None,
    seed: options.Seed = 0,
    fail_if: options.Gates = None,
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    ascii: options.Ascii = False,
    language: options.Language = None,
    dry_run: DryRun = False,
    out: options.Out = None,
) -> None:
    """Ask models the questions of benchmarks and audit the answers; the same command again resumes."""
    from evenhand.cli.arguments.pairs import parse_pairs
    from evenhand.cli.suites.typed import TypedSuite, print_plan, run_typed
    from evenhand.workflows.execution.options import AskOptions

    typed = TypedSuite(
        benchmark, model or [], data or [], parameters or [], _by_option(image, truth, by, mode),
        parse_pairs("--tag", tags or []), mitigation, limit, seed, fail_if or [],
    )  # fmt: skip
    asking = AskOptions(
        device=device, dtype=dtype, batch_size=batch_size, workers=workers, engine=engine,
        address=ray_address, keep_answers=keep_answers, allow_missing=allow_missing,
        trust_remote_code=trust_remote_code, max_tokens=max_tokens, device_map=device_map, quantize=quantize,
    )  # fmt: skip
    if dry_run:
        print_plan(typed, out, asking)
    elif typed.is_single:
        _run_single(typed, out, asking, quiet=quiet, verbose=verbose, ascii=ascii)
    else:
        run_typed(typed, out, asking, quiet=quiet)


def _run_single(typed: TypedSuite, out: Path | None, asking: AskOptions, **how: bool) -> None:
    """One benchmark and one model."""
    from evenhand.cli.arguments.pairs import parse_pairs
    from evenhand.cli.summaries.progress import bars
    from evenhand.runs.gates import check_gate_names, check_gates
    from evenhand.workflows.listings import own_cards
    from evenhand.workflows.mitigated_model import Applied
    from evenhand.workflows.run import run as run_benchmark

    benchmark, model, gates = typed.benchmarks[0], typed.models[0], typed.gates
    check_gate_names(gates, own_cards(benchmark) if gates else ())
    applied = None if typed.mitigation is None else Applied.read(typed.mitigation)
    short = "" if applied is None else applied.short_name()
    folder = out or default_folder(benchmark, model, short)
    with bars(how["quiet"]) as show:
        result = run_benchmark(
            benchmark, model=model, data=typed.only_data(), tags=typed.tags, limit=typed.limit,
            parameters=parse_pairs("-p", typed.parameters) | dict(typed.by_option or {}), out=folder,
            mitigation=None if applied is None else applied.mitigation, options=asking, seed=typed.seed,
            progress=lambda name, n_done, total: show(f"asking {name}", n_done, total),
        )  # fmt: skip
    _print_result(result, folder, short, **how)
    check_gates(result.findings.findings, gates, result.manifest)
    _check_complete(result)


def _by_option(
    image: str | None, truth: str | None, by: list[str] | None, mode: str | None
) -> dict[str, str]:
    """Parameters that were given by options of their own."""
    options_given = {"image": image, "truth": truth, "by": ",".join(by) if by else None, "mode": mode}
    return {key: value for key, value in options_given.items() if value}


def _print_result(result: AskedRun, folder: Path, mitigation: str, **how: bool) -> None:
    """The summary, after notes on the mitigation and on answers that were reused, which go to stderr."""
    from evenhand.cli.summaries.findings import print_run

    note = (result.manifest.get("mitigation") or {}).get("note")
    for line in [*([note] if note else []), *result.reuse_notes()]:
        print(line, file=sys.stderr)
    print_run(result, folder, **how)
    if mitigation and not how["quiet"]:
        print(f"Measured after {mitigation}; the evidence there is as the model gave it.")


def _check_complete(result: AskedRun) -> None:
    """Exit 3 if samples should be asked about again."""
    reasons = result.temporary_reasons()
    if reasons:
        listed = ", ".join(f"{reason} ({count})" for reason, count in reasons.items())
        raise Incomplete(
            f"{sum(reasons.values())} samples could not be asked about: {listed}; the rest is written; "
            "type the same command again to ask only these"
        )


def default_folder(benchmark: str, model: str, mitigation: str = "") -> Path:
    """``runs/BENCHMARK--MODEL[--MITIGATION]``, with what file systems dislike replaced."""
    return Path("runs") / "--".join(_slug(part) for part in (benchmark, model, mitigation) if part)


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name.removesuffix(".py")).strip("-.")
