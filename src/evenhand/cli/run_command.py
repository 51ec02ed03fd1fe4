"""``evenhand run``: a benchmark and a model in, a run folder out."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from evenhand.cli.pairs import parse_pairs
from evenhand.cli.summary import print_summary
from evenhand.runner.benchmark_engine import run
from evenhand.runner.gates import check_gate_names, check_gates


def run_benchmark(
    benchmark: str,
    model: str,
    *,
    parameters: Sequence[str],
    tags: Sequence[str],
    limit: int | None,
    seed: int,
    gates: Sequence[str],
    quiet: bool,
    out: Path | None,
) -> None:
    """Ask, measure, write, print, and check the gates."""
    check_gate_names(gates)
    folder = out or default_folder(benchmark, model)
    with _bar(quiet) as progress:
        made = run(
            benchmark,
            model=model,
            parameters=parse_pairs("-p", parameters),
            tags=parse_pairs("--tag", tags),
            limit=limit,
            seed=seed,
            out=folder,
            progress=progress,
        )
    if not quiet:
        print_summary(made, folder)
    check_gates(made.findings.findings, gates)


def default_folder(benchmark: str, model: str) -> Path:
    """``runs/BENCHMARK--MODEL``, with what file systems dislike replaced."""
    return Path("runs") / f"{_slug(benchmark)}--{_slug(model)}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name.removesuffix(".py")).strip("-.")


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr; silent when quiet or not a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _done, _total: None
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        asking = bar.add_task("asking", total=None)
        yield lambda done, total: bar.update(asking, completed=done, total=total)
