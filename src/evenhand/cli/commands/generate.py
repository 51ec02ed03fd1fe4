"""``evenhand generate``: a definition in, a folder of images and their annotations out."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TimeRemainingColumn

from evenhand.cli.summaries.text import clean
from evenhand.core.errors import Incomplete, ParameterError
from evenhand.execution.options import AskOptions
from evenhand.workflows.generate.engine import Generated, ReviewRule, generate

_COLUMN = 14


def generate_images(
    definition: str,
    model: str,
    *,
    out: Path | None,
    numbers: Mapping[str, int | None],
    images: Mapping[str, Any],
    shard: str | None,
    options: Mapping[str, Any],
    gate: Mapping[str, Any],
    quiet: bool,
) -> None:
    """Make what is missing, and print what is there."""
    if out is None:
        raise ParameterError("generate writes images, and needs to know where; add -o DIR")
    load = AskOptions(**options).image_options(**images)
    with _bars(quiet) as progress:
        generated = generate(
            definition,
            model,
            out,
            **numbers,
            shard=parse_shard(shard),
            options=load,
            gate=ReviewRule(**gate),
            progress=progress,
        )
    if not quiet:
        print_generated(generated)
    _check_complete(generated, sharded=shard is not None)


def parse_shard(text: str | None) -> tuple[int, int]:
    """``I/N`` as two numbers; None is all.

    Raises:
        ParameterError: It has another form.
    """
    if text is None:
        return (1, 1)
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    if match is None:
        raise ParameterError(f"--shard {text!r} is not possible; give I/N such as 1/4 to 4/4")
    return (int(match[1]), int(match[2]))


def print_generated(generated: Generated) -> None:
    """Images, what was refused, flags by group, and what to type next."""
    definition, names = generated.definition, [group.name for group in generated.definition.groups]
    cells = f"{len(definition.classes)} classes, {len(names)} groups, {definition.images_per_cell} a cell"
    print(f"{clean(definition.name, 60)}: {generated.made:,} of {generated.wanted:,} images ({cells})")
    for row in generated.refused.iter_rows(named=True):
        example = f" ({clean(row['detail'], 80)})" if row["detail"] else ""
        print(f"not made, {row['group']}: {row['count']:,} {clean(row['reason'], 60)}{example}")
    for flag in generated.flags["flag"].unique(maintain_order=True):
        rows = generated.flags.filter(flag=flag).iter_rows(named=True)
        shares = ", ".join(_share(row) for row in rows if row["of"])
        print(f"{flag}: {shares}")
    if len(generated.flags):
        print("Flagged images are kept. One group flagged more than another is a finding about the images.")
    if generated.written:
        print(f"Images and annotations.parquet are in {shlex.quote(str(generated.folder))}")


def _share(row: Mapping[str, Any]) -> str:
    return f"{clean(row['group'], _COLUMN)} {row['count']:,}/{row['of']:,} ({row['count'] / row['of']:.0%})"


def _check_complete(generated: Generated, *, sharded: bool) -> None:
    """Exit 3 while images are missing that may still come."""
    if not generated.missing:
        return
    why = ", ".join(f"{reason} ({count})" for reason, count in generated.failed.items())
    others = "the other shards, or the same command again" if sharded else "the same command again"
    raise Incomplete(
        f"{generated.missing:,} of {generated.wanted:,} images are missing{f': {why}' if why else ''}; "
        f"what was made is kept; {others} makes the rest"
    )


@contextmanager
def _bars(quiet: bool) -> Iterator[Callable[[str, int, int], None] | None]:
    """Progress on stderr, a line for each kind of work; None when quiet or not a terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    columns = (*Progress.get_default_columns()[:2], MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        lines: dict[str, Any] = {}

        def show(what: str, done: int, of: int) -> None:
            line = lines.setdefault(what, None)
            if line is None:
                line = lines[what] = bar.add_task(what, total=of)
            bar.update(line, completed=done)

        yield show
