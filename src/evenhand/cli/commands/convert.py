"""``evenhand convert``: a pickled checkpoint in, safetensors out."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options


def convert(
    source: Annotated[Path, typer.Argument(metavar="CHECKPOINT", help=".pth, .pt, .bin or .ckpt.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A new .safetensors file.")],
    key: Annotated[
        str | None, typer.Option(metavar="KEY", help="Where the weights are; found out where not given.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Make safetensors of a pickled checkpoint, without running code in it."""
    from evenhand.workflows.convert import convert as convert_weights

    lines = convert_weights(source, target, key)
    if not quiet:
        for line in lines:
            typer.echo(line)
