"""``evenhand export``: run folders in, a file in a format of others out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.cli.arguments.plain import write_format


def export(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, or those of suites.")],
    *,
    format: Annotated[
        str | None,
        typer.Option(
            "--as",
            "--to",
            metavar="FORMAT",
            help="json, csv, parquet, markdown, model-card, every-eval-ever, junit, sarif, mlflow, wandb, "
            "controls or ll144; docs/exports.md. Default: what FILE's name says.",
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None, typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the format.")
    ] = None,
    fail_if: options.Gates = None,
    suppress: Annotated[
        int,
        typer.Option(
            metavar="N", help="Hide cells of fewer rows, and what would give them away; docs/exports.md."
        ),
    ] = 0,
    allow_edited: options.AllowEdited = False,
    quiet: options.Quiet = False,
    out: Annotated[
        str | None, typer.Option("-o", "--out", metavar="FILE", help="Default: print what is text.")
    ] = None,
) -> None:
    """Write findings for other tools: tables, model cards, CI, trackers, control mappings."""
    from evenhand.cli.arguments.pairs import parse_pairs
    from evenhand.core.errors import GateBroken
    from evenhand.workflows.outputs.export import export as export_runs

    exported = export_runs(
        list(runs),
        format=format,
        out=out,
        parameters=parse_pairs("-p", parameters or []),
        gates=fail_if or [],
        suppress=suppress,
    )
    if exported.content is not None and out is None:
        write_format(exported.content)
    elif not quiet:
        for sentence in (*exported.messages, *([f"wrote {out}"] if exported.content is not None else [])):
            typer.echo(sentence, err=True)
    if exported.broken:
        raise GateBroken("gate broken: " + "; ".join(exported.broken))
