"""``evenhand ls``: what there is."""

from __future__ import annotations

import typer

from evenhand.core.errors import UnknownName


def show(kind: str) -> None:
    """Print the names of one kind, one on a line."""
    listings = {"benchmarks": _benchmarks, "metrics": _metrics, "artifacts": _artifacts}
    if kind not in listings:
        raise UnknownName("listing", kind, listings)
    names: list[str] = listings[kind]()
    for name in names:
        typer.echo(name)


def _metrics() -> list[str]:
    from evenhand.metrics.definitions import DEFINITIONS

    return sorted(DEFINITIONS)


def _benchmarks() -> list[str]:
    from evenhand.benchmarks.catalogue import BENCHMARKS

    return BENCHMARKS.names()


def _artifacts() -> list[str]:
    from evenhand.benchmarks.catalogue import ARTIFACTS

    return ARTIFACTS.names()
