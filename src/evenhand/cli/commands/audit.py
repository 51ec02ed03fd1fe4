"""``evenhand audit``: a table in, findings out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console

from evenhand.cli.summaries.findings import print_summary, print_warnings
from evenhand.runs.gates import check_gate_names, check_gates
from evenhand.workflows.audit import Progress, audit_table


def run_audit(
    table: str,
    *,
    columns: dict[str, str | None],
    by: Sequence[str],
    options: dict[str, Any],
    gates: Sequence[str],
    quiet: bool,
    out: Path | None,
) -> None:
    """Read, audit, print, write, and check the gates."""
    check_gate_names(gates)
    with progress(quiet) as say:
        run = audit_table(table, columns=columns, by=by, out=out, progress=say, **options)
    if quiet:
        print_warnings(run)
    else:
        print_summary(run, out)
    check_gates(run.findings.findings, gates)


@contextmanager
def progress(quiet: bool) -> Iterator[Progress]:
    """A status line on stderr; silent when quiet or not a terminal."""
    console = Console(stderr=True, quiet=quiet)
    if not console.is_terminal or quiet:
        yield lambda _: None
        return
    with console.status("reading") as status:
        yield status.update
