"""``evenhand ls``: names, one a line; models with what they can answer."""

from __future__ import annotations

from typing import Annotated

import typer

from evenhand.core.errors import ParameterError

_KINDS = ("benchmarks", "suites", "models", "metrics", "mitigations", "artifacts")


def ls(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help=f"{', '.join(_KINDS[:-1])} or {_KINDS[-1]}; none: these names."),
    ] = "",
    can: Annotated[str | None, typer.Option(metavar="CAPABILITY", help="Only models that have it.")] = None,
) -> None:
    """List what there is."""
    from evenhand.workflows.listings import (
        artifacts_with_titles,
        mitigations_with_meaning,
        models_that_can,
        names_of_kind,
    )
    from evenhand.workflows.suite.suite_files import suites_with_aims

    if not kind and can is None:
        for name in _KINDS:
            typer.echo(f"evenhand ls {name}")
        return
    if kind != "models" and can is not None:
        raise ParameterError(f"--can {can} asks about models; type: evenhand ls models --can {can}")
    described = {
        "suites": suites_with_aims,
        "mitigations": mitigations_with_meaning,
        "artifacts": artifacts_with_titles,
    }
    if kind in described:
        for name, meaning in described[kind]():
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
