"""``evenhand report``: a run folder in, its page out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options


def report(
    folder: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Default: in RUN.")] = None,
    suppress: Annotated[
        int, typer.Option(metavar="N", help="Hide cells of fewer than N rows, and what would give them away.")
    ] = 0,
    images: Annotated[
        bool, typer.Option("--images", help="Show thumbnails of samples; they may show people.")
    ] = False,
    data: options.Data = None,
    language: options.Language = None,
    allow_edited: options.AllowEdited = False,
) -> None:
    """Render a run's report again."""
    from evenhand.workflows.outputs.result import Run

    Run.read(folder).report(out or folder / "report.html", suppress=suppress, images=images, data=data)
