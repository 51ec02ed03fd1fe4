"""``evenhand ls``: names, one a line; models with what they can answer."""

from __future__ import annotations

import typer

from evenhand.core.errors import ParameterError
from evenhand.workflows.listings import mitigations_with_meaning, models_that_can, names_of_kind


def list_kind(kind: str, can: str | None) -> None:
    """Print a listing on stdout."""
    if kind != "models" and can is not None:
        raise ParameterError(f"--can {can} asks about models; type: evenhand ls models --can {can}")
    if kind == "mitigations":
        for name, meaning in mitigations_with_meaning():
            typer.echo(f"{name:22} {meaning}")
        return
    if kind != "models":
        for name in names_of_kind(kind):
            typer.echo(name)
        return
    for adapter in models_that_can(can):
        typer.echo(f"{adapter.uri:22} {' '.join(adapter.capabilities)}")
        typer.echo(f"{'':22}   {adapter.models}")
    typer.echo("A row says what such models can answer at most; docs/models.md says more.")
