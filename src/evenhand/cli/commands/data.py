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
from evenhand.core.errors import Incomplete, first_few

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

    for listing in list_data():
        removed = f", {listing.removed} removed" if listing.removed else ""
        typer.echo(f"{listing.name}: {listing.title}")
        typer.echo(f"  licence  {listing.licence}")
        typer.echo(f"  size     {listing.size}")
        typer.echo(f"  source   {listing.home}")
        if listing.form:
            typer.echo(f"  opt out  {listing.form}")
        has = f"has {listing.tables} tables, {listing.images} images{removed}"
        if listing.by_hand:
            has = f"to be got by hand; for what is missing type: evenhand data check {listing.name}"
        typer.echo(f"  folder   {listing.folder} ({has})")


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
        result = fetch_data(
            name, data, metadata_only=metadata_only, replace_changed=replace_changed, progress=progress
        )
    if not quiet:
        _say_tables(result)
    if result.lacking and result.by_hand and not quiet:
        typer.echo(f"{result.by_hand}; then type: evenhand data check {name}{_where(data)}", err=True)
    if metadata_only or result.parts:
        return
    _print(result.verdicts)
    typer.echo(_counted(result.actions))
    _require_complete(result, f"evenhand data fetch {name}", data)


@data_app.command()
def check(name: Name, data: Folder = None, quiet: options.Quiet = False) -> None:
    """Which URLs are dead, give another image than before, or a placeholder; nothing is written over."""
    from evenhand.workflows.data.engine import check_data

    with one_bar(quiet, "Asking every URL") as progress:
        result = check_data(name, data, progress=progress)
    if result.parts:
        _print_parts(result)
        return
    _print(result.verdicts)
    typer.echo(_counted(result.counts))
    _require_complete(result, f"evenhand data check {name}", data)


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
        result = cut_faces(videos, out, every=every, jobs=jobs or os.cpu_count() or 1, progress=progress)
    if not quiet:
        _print_without(result)
        crops = len(result.rows) - len(result.without)
        typer.echo(
            f"{crops} of {len(result.rows)} videos have a crop, {result.done_before} of them were done before"
        )
    if result.unreadable:
        raise Incomplete(
            f"{result.unreadable} of {len(result.rows)} videos could not be decoded to their end; see "
            f"{str(out / TABLE)!r}, get them again and type the same command"
        )


def _print_without(result: CutFaces) -> None:
    """A line for each video without a crop."""
    width = max((len(row["video"]) for row in result.without), default=0)
    for row in result.without:
        typer.echo(f"{row['video']:{width}}  {row['reason']}")


def _say_tables(result: FetchResult) -> None:
    if result.own:
        typer.echo(f"using the tables that are there: {', '.join(result.own)}", err=True)
    for file in result.files:
        typer.echo(f"fetched {file}, sha256 as expected", err=True)
    typer.echo(f"data in {result.folder}", err=True)


def _print(verdicts: Sequence[DataCheck]) -> None:
    """A line for each image that is not fine."""
    faulty = [verdict for verdict in verdicts if verdict.verdict != "ok"]
    width = max((len(verdict.id) for verdict in faulty), default=0)
    for verdict in faulty:
        typer.echo(f"{verdict.id:{width}}  {verdict.verdict:12}  {verdict.reason}  {verdict.url}".rstrip())


def _print_parts(result: FetchResult) -> None:
    """A line for each part; exit 3 where some are not whole."""
    width = max(len(part.name) for part in result.parts)
    for part in result.parts:
        typer.echo(f"{part.name:{width}}  {part.present:5}{part.beside}  {part.note}".rstrip())
    if result.lacking:
        lacking = first_few([part.name for part in result.lacking], 4, " and {} more")
        raise Incomplete(
            f"{len(result.lacking)} of {len(result.parts)} parts in {str(result.folder)!r} are not as "
            f"released: {lacking}; {result.by_hand}"
        )


def _where(data: Path | None) -> str:
    """The folder as it is typed."""
    return f" --data {shlex.quote(str(data))}" if data is not None else ""


def _counted(counts: Mapping[str, int]) -> str:
    listing = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    return f"{sum(counts.values())} images: {listing or 'none'}"


def _require_complete(result: FetchResult, command: str, data: Path | None) -> None:
    """Exit 3 where images are missing or doubted."""
    if result.complete:
        return
    counts = result.counts
    bad = ", ".join(
        f"{counts[state]} {state}" for state in ("dead", "changed", "placeholder?") if counts[state]
    )
    raise Incomplete(
        f"{bad} of {len(result.verdicts)} images; what came is kept in {str(result.folder)!r}; to try again, "
        f"type: {command}{_where(data)}"
    )
