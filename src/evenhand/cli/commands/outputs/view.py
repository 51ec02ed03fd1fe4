"""``evenhand view``: a folder of runs in, one page over all of them out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options


def view(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Holds run folders, at any depth.")],
    out: Annotated[
        Path | None, typer.Option("-o", "--out", metavar="FILE", help="Default: index.html in DIR.")
    ] = None,
    allow_edited: options.AllowEdited = False,
) -> None:
    """Write one page over many runs: what was asked of which model, when, and each headline."""
    from evenhand.workflows.outputs.index import write_index

    typer.echo(f"Index: {write_index(folder, out)}")
