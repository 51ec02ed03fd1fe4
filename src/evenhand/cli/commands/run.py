"""``evenhand run``: a benchmark and a model in, a run folder out."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, ProgressColumn, Task, TaskID, TimeRemainingColumn
from rich.text import Text

from evenhand.cli.arguments.pairs import parse_pairs
from evenhand.cli.summaries.findings import print_summary, print_warnings
from evenhand.core.errors import Incomplete
from evenhand.execution.options import AskOptions
from evenhand.runs.gates import check_gate_names, check_gates
from evenhand.workflows.listings import own_cards
from evenhand.workflows.mitigated_model import Applied
from evenhand.workflows.run import AskedRun, run


def run_benchmark(
    benchmark: str,
    model: str,
    *,
    data: Path | None,
    parameters: Sequence[str],
    columns: Mapping[str, str | None],
    tags: Sequence[str],
    limit: int | None,
    seed: int,
    gates: Sequence[str],
    options: Mapping[str, Any],
    mitigation: Path | None,
    quiet: bool,
    out: Path | None,
) -> None:
    """Ask, measure, write, print, and check the gates."""
    if gates:
        check_gate_names(gates, own_cards(benchmark))
    applied = None if mitigation is None else Applied.read(mitigation)
    folder = out or default_folder(benchmark, model, "" if applied is None else applied.short_name())
    chosen_columns = {name: value for name, value in columns.items() if value is not None}
    with _bar(quiet) as progress:
        result = run(
            benchmark,
            model=model,
            data=data,
            parameters={**parse_pairs("-p", parameters), **chosen_columns},
            tags=parse_pairs("--tag", tags),
            limit=limit,
            seed=seed,
            options=AskOptions(**options),
            mitigation=None if applied is None else applied.mitigation,
            out=folder,
            progress=progress,
        )
    note = (result.manifest.get("mitigation") or {}).get("note")
    for line in [*([note] if note else []), *result.reuse_notes()]:
        print(line, file=sys.stderr)
    if quiet:
        print_warnings(result)
    else:
        print_summary(result, folder)
        if applied is not None:
            print(f"Measured after {applied.short_name()}; the evidence there is as the model gave it.")
    check_gates(result.findings.findings, gates)
    _check_complete(result)


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


class _Rate(ProgressColumn):
    """Samples a second."""

    def render(self, task: Task) -> Text:
        """The rate, once there is one."""
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.1f}/s", style="progress.data.speed")


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr, one line a question; silent when quiet or not a terminal."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield lambda _name, _done, _total: None
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        bars: dict[str, TaskID] = {}

        def show(name: str, done: int, total: int) -> None:
            if name not in bars:
                bars[name] = bar.add_task(f"asking {name}", total=total)
            bar.update(bars[name], completed=done, total=total)

        yield show
