"""``evenhand demo``: an example table and its audit, in seconds."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.cli.commands.audit import audit

_NEXT = """Next    open the report in a browser; then audit a table of your own:
        evenhand audit TABLE --truth COL --prediction COL --by COL -o DIR"""


def demo(
    example: Annotated[
        str, typer.Argument(metavar="[EXAMPLE]", help="tickets, faces or sightings (nothing planted).")
    ] = "tickets",
    quiet: options.Quiet = False,
    verbose: options.Verbose = False,
    ascii: options.Ascii = False,
    language: options.Language = None,
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="DIR", help="Write the table and its audit here.")
    ] = Path("evenhand-demo"),
) -> None:
    """Audit an example table; needs no data and no model."""
    from evenhand.workflows.audit import write_example

    table, about, call = write_example(example, out)
    by = ["+".join([name] if isinstance(name, str) else name) for name in call["by"]]
    run = out / example
    if not quiet:
        typer.echo(f"{about}\n\n{_command(table, call, by, run)}\n")
    audit(
        str(table), by, truth=call["truth"], prediction=call["prediction"], noun=call["noun"], out=run,
        quiet=quiet, verbose=verbose, ascii=ascii,
    )  # fmt: skip
    if not quiet:
        typer.echo(_NEXT)


def _command(table: Path, call: Mapping[str, str], by: list[str], run: Path) -> str:
    """What to type for the same audit, in lines that can be copied."""
    groupings = [word for name in by for word in ("--by", name)]
    first = shlex.join(["evenhand", "audit", str(table), "--truth", call["truth"]])
    rest = ["--prediction", call["prediction"], *groupings, "--noun", call["noun"], "-o", str(run)]
    return f"{first} \\\n    {shlex.join(rest)}"
