"""``evenhand data``: list, fetch, check, remove and prepare the data of benchmarks."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.arguments import options
from evenhand.cli.summaries.progress import one_bar
from evenhand.core.errors import Incomplete

if TYPE_CHECKING:
    from evenhand.workflows.data.engine import DataCheck, FetchResult
    from evenhand.workflows.data.faces import CutFaces

data_app = typer.Typer(
    help="Fetch, check, remove and prepare the data of benchmarks.",
    rich_markup_mode=None,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="See: evenhand data list.")]
Folder = Annotated[
    Path | None,
    typer.Option("--data", "-o", metavar="DIR", help="Folder of the data; default: see evenhand data list."),
]


@data_app.command(name="list")
def list_() -> None:
    """What can be fetched, under which licence, and where it is kept."""
    from evenhand.workflows.data.engine import list_data

    for each in list_data():
        removed = f", {each.removed} removed" if each.removed else ""
        typer.echo(f"{each.name}: {each.title}")
        typer.echo(f"  licence  {each.licence}")
        typer.echo(f"  size     {each.size}")
        typer.echo(f"  source   {each.home}")
        if each.form:
            typer.echo(f"  opt out  {each.form}")
        has = f"has {each.tables} tables, {each.images} images{removed}"
        if each.by_hand:
            has = f"to be got by hand; for what is missing type: evenhand data check {each.name}"
        typer.echo(f"  folder   {each.folder} ({has})")


@data_app.command()
def fetch(
    name: Name,
    data: Folder = None,
    metadata_only: Annotated[bool, typer.Option("--metadata-only", help="Tables only, no images.")] = False,
    replace_changed: Annotated[
        bool, typer.Option("--replace-changed", help="Take images that are not those of last time.")
    ] = False,
    quiet: options.Quiet = False,
) -> None:
    """Fetch tables and images; what is there is not asked for again."""
    from evenhand.workflows.data.engine import fetch_data

    with one_bar(quiet, "Fetching images") as progress:
        done = fetch_data(
            name, data, metadata_only=metadata_only, replace_changed=replace_changed, progress=progress
        )
    if not quiet:
        _say_tables(done)
    if done.lacking and done.by_hand and not quiet:
        typer.echo(f"{done.by_hand}; then type: evenhand data check {name}{_where(data)}", err=True)
    if metadata_only or done.parts:
        return
    _print(done.verdicts)
    typer.echo(_counted(done.actions))
    _require_complete(done, f"evenhand data fetch {name}", data)


@data_app.command()
def check(name: Name, data: Folder = None, quiet: options.Quiet = False) -> None:
    """Which URLs are dead, give another image than before, or a placeholder; nothing is written over."""
    from evenhand.workflows.data.engine import check_data

    with one_bar(quiet, "Asking every URL") as progress:
        done = check_data(name, data, progress=progress)
    if done.parts:
        _print_parts(done)
        return
    _print(done.verdicts)
    typer.echo(_counted(done.counts))
    _require_complete(done, f"evenhand data check {name}", data)


@data_app.command()
def remove(
    name: Name,
    ids: Annotated[list[str], typer.Option("--id", metavar="ID", help="Of a sample; may be repeated.")],
    data: Folder = None,
) -> None:
    """Delete images by id, and remember not to fetch or use them again."""
    from evenhand.workflows.data.engine import remove_data

    deleted = remove_data(name, ids, data)
    for file in deleted:
        typer.echo(f"deleted {file}")
    typer.echo(f"{len(deleted)} files deleted; {len(set(ids))} ids will not be fetched or used again")


@data_app.command()
def faces(
    videos: Annotated[Path, typer.Argument(metavar="VIDEOS", help="Folder of videos, or a video.")],
    out: Annotated[Path, typer.Option("-o", "--out", metavar="DIR", help="Write crops and faces.csv here.")],
    every: Annotated[int, typer.Option(min=1, metavar="N", help="Look at every Nth frame only.")] = 1,
    jobs: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Videos at once; default: one a processor.")
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Cut a face out of each video, as the paper prepares Casual Conversations; needs evenhand[faces]."""
    from evenhand.workflows.data.faces import TABLE, cut_faces

    with one_bar(quiet, "Looking for faces") as progress:
        done = cut_faces(videos, out, every=every, jobs=jobs or os.cpu_count() or 1, progress=progress)
    if not quiet:
        _print_without(done)
        crops = len(done.rows) - len(done.without)
        typer.echo(f"{crops} of {len(done.rows)} videos have a crop, {done.kept} of them were done before")
    if done.unreadable:
        raise Incomplete(
            f"{done.unreadable} of {len(done.rows)} videos could not be decoded to their end; see "
            f"{str(out / TABLE)!r}, get them again and type the same command"
        )


def _print_without(done: CutFaces) -> None:
    """A line for each video without a crop."""
    width = max((len(row["video"]) for row in done.without), default=0)
    for row in done.without:
        typer.echo(f"{row['video']:{width}}  {row['reason']}")


def _say_tables(done: FetchResult) -> None:
    if done.own:
        typer.echo(f"using the tables that are there: {', '.join(done.own)}", err=True)
    for file in done.files:
        typer.echo(f"fetched {file}, sha256 as expected", err=True)
    typer.echo(f"data in {done.folder}", err=True)


def _print(verdicts: Sequence[DataCheck]) -> None:
    """A line for each image that is not fine."""
    shown = [verdict for verdict in verdicts if verdict.verdict != "ok"]
    width = max((len(verdict.id) for verdict in shown), default=0)
    for each in shown:
        typer.echo(f"{each.id:{width}}  {each.verdict:12}  {each.reason}  {each.url}".rstrip())


def _print_parts(done: FetchResult) -> None:
    """A line for each part; exit 3 where some are not whole."""
    width = max(len(part.name) for part in done.parts)
    for part in done.parts:
        typer.echo(f"{part.name:{width}}  {part.found:5}{part.beside}  {part.note}".rstrip())
    if done.lacking:
        first = ", ".join(part.name for part in done.lacking[:4])
        more = f" and {len(done.lacking) - 4} more" if len(done.lacking) > 4 else ""
        raise Incomplete(
            f"{len(done.lacking)} of {len(done.parts)} parts in {str(done.folder)!r} are not as released: "
            f"{first}{more}; {done.by_hand}"
        )


def _where(data: Path | None) -> str:
    """The folder as it is typed."""
    return f" --data {shlex.quote(str(data))}" if data is not None else ""


def _counted(counts: Mapping[str, int]) -> str:
    listing = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    return f"{sum(counts.values())} images: {listing or 'none'}"


def _require_complete(done: FetchResult, command: str, data: Path | None) -> None:
    """Exit 3 where images are missing or doubted."""
    if done.complete:
        return
    counts = done.counts
    bad = ", ".join(f"{counts[each]} {each}" for each in ("dead", "changed", "placeholder?") if counts[each])
    raise Incomplete(
        f"{bad} of {len(done.verdicts)} images; what came is kept in {str(done.folder)!r}; to try again, "
        f"type: {command}{_where(data)}"
    )
