"""``evenhand artifact``: a paper's table or figure from run folders or data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options


def artifact(
    name: Annotated[str, typer.Argument(metavar="ID", help="See: evenhand ls artifacts.")],
    runs: Annotated[list[Path] | None, typer.Argument(metavar="RUN", help="Run folders.")] = None,
    data: options.Data = None,
    parameters: Annotated[
        list[str] | None, typer.Option("-p", metavar="KEY=VALUE", help="Parameter of the artifact.")
    ] = None,
    seed: options.Seed = 0,
    allow_edited: options.AllowEdited = False,
    out: Annotated[
        Path | None,
        typer.Option(
            "-o", "--out", metavar="FILE", help="csv, parquet, html, svg, png or json; default: print."
        ),
    ] = None,
) -> None:
    """Make a table or figure of a paper from runs, or from data."""
    from evenhand.cli.arguments.pairs import parse_pairs
    from evenhand.cli.summaries.artifacts import print_artifact
    from evenhand.workflows.outputs.artifact import artifact as draw
    from evenhand.workflows.outputs.artifact import check_format, write_artifact

    if out is not None:
        check_format(out)
    drawn_artifact = draw(
        name, runs or [], data=data, parameters=parse_pairs("-p", parameters or []), seed=seed
    )
    if out is None:
        print_artifact(drawn_artifact)
    else:
        write_artifact(drawn_artifact, out)
