"""The command line: thin commands; what they need is imported when they run."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NoReturn

import typer

from evenhand.cli.arguments.plain import harmless_output
from evenhand.cli.commands.adapt import adapt
from evenhand.cli.commands.audit import audit
from evenhand.cli.commands.compare import compare
from evenhand.cli.commands.convert import convert
from evenhand.cli.commands.data import data_app
from evenhand.cli.commands.debias import debias
from evenhand.cli.commands.demo import demo
from evenhand.cli.commands.generate import generate
from evenhand.cli.commands.ls import ls
from evenhand.cli.commands.outputs.artifact import artifact
from evenhand.cli.commands.outputs.export import export
from evenhand.cli.commands.outputs.report import report
from evenhand.cli.commands.outputs.view import view
from evenhand.cli.commands.reproduce import reproduce
from evenhand.cli.commands.run import run
from evenhand.cli.commands.score import score
from evenhand.cli.stopping import fail, readers_may_leave, sigterm_as_ctrl_c, usage

app = typer.Typer(
    name="evenhand",
    help="Audits vision and vision-language models for bias.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

COMMANDS = (
    demo, compare, export, audit, run, score, debias, adapt, generate, artifact, reproduce, convert, report,
    view, ls,
)  # fmt: skip
"""In the order of ``evenhand --help``."""

app.add_typer(data_app, name="data")
for command in COMMANDS:
    app.command()(command)

_COMPLETION = ("--install-completion", "--show-completion")  # of typer
_STOPPED = 130  # what typer returns after Ctrl-C
_TERMINATED = 143  # what shells report of a process that SIGTERM ended
_STOPPED_MESSAGE = "stopped; what was written before is whole; type the same command again to go on"


def _print_version(is_asked: bool) -> None:
    if is_asked:
        from importlib.metadata import version

        typer.echo(f"evenhand {version('evenhand')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Audits vision and vision-language models for bias."""


@cache
def _command() -> Callable[..., Any]:
    """The whole tree, which typer would build again for each command of one process."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command line; mistakes of the user become one line on stderr and an exit code."""
    if "_EVENHAND_COMPLETE" in os.environ or any(word in _COMPLETION for word in sys.argv[1:2]):
        _command()(prog_name="evenhand")  # which exits
    with harmless_output("stderr"):
        _run()


def _run() -> NoReturn:
    from evenhand.core.errors import EvenhandError, exits_are_errors, one_line

    try:
        with (
            readers_may_leave(), harmless_output("stdout"), sigterm_as_ctrl_c() as terminations,
            exits_are_errors("code that this command runs"),
        ):  # fmt: skip
            code = _command()(standalone_mode=False)
    except EvenhandError as problem:
        fail(str(problem), problem.exit_code)
    except typer.TyperException as problem:
        usage(problem)
    except OSError as problem:
        where = f"{str(problem.filename)!r}: " if problem.filename else ""
        fail(f"{where}{one_line(problem.strerror or problem)}; check the path, permissions and free space", 2)
    except (KeyboardInterrupt, typer.Abort):
        code = _STOPPED
    if code == _STOPPED:
        fail(_STOPPED_MESSAGE, _TERMINATED if terminations else _STOPPED)
    sys.exit(code if isinstance(code, int) else 0)


if __name__ == "__main__":
    main()
