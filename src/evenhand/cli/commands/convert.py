"""``evenhand convert``: a pickled checkpoint in, safetensors out."""

from __future__ import annotations

from pathlib import Path

import typer

from evenhand.workflows.convert import convert


def convert_weights(source: Path, target: Path, *, key: str | None, quiet: bool) -> None:
    """Convert and say what was written.

    Args:
        source: The checkpoint.
        target: The file to write.
        key: Where in the checkpoint the weights are.
        quiet: Print nothing.
    """
    lines = convert(source, target, key)
    if not quiet:
        for line in lines:
            typer.echo(line)
