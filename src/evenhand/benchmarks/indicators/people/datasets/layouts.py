"""Pictures of people in any layout that a user may have."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

from evenhand.benchmarks.datasets.listing import Layout, Listing, list_files
from evenhand.benchmarks.indicators.people import table as people_table
from evenhand.benchmarks.indicators.people.datasets import (
    casual_conversations,
    casual_conversations_v2,
    fairface,
    fairface_shards,
    miap,
    utkface,
)
from evenhand.benchmarks.indicators.people.samples import People
from evenhand.core.errors import InputError, UnknownName, first_few

__all__ = ["KINDS", "People", "kind_of", "list_people", "read_people"]


KINDS: dict[str, Layout] = {
    casual_conversations.NAME: Layout(
        casual_conversations.LAYOUT, lambda listing: casual_conversations.annotation_file(listing) is not None
    ),
    casual_conversations_v2.NAME: Layout(
        casual_conversations_v2.LAYOUT,
        lambda listing: bool(listing.named("casualconversationsv2", ending="v2.json")),
    ),
    miap.NAME: Layout(miap.LAYOUT, lambda listing: bool(listing.named(miap.START, ending=".csv"))),
    fairface.NAME: Layout(
        fairface.LAYOUT, lambda listing: bool(listing.named(fairface.START, ending=".csv"))
    ),
    fairface_shards.NAME: Layout(fairface_shards.LAYOUT, fairface_shards.looks_like),
    utkface.NAME: Layout(utkface.LAYOUT, utkface.looks_like),
    people_table.NAME: Layout(people_table.LAYOUT, lambda listing: len(listing.own_tables) == 1),
}
"""The layouts by name, in the order in which a folder is compared with them."""


def read_people(
    data: Path,  # an unpacked folder, or the table in it that is meant
    kind: str = "auto",  # one of ``KINDS``, or ``auto``
    *,
    unknown: str = "keep",  # see ``People.with_unknown``
    crop: str = "code",  # of MIAP, see ``read_miap``
    split: str = "",  # of data that has splits; empty: all, but of MIAP as ``read_miap``
    attributes: tuple[str, ...] = (),  # columns of a user's table; empty: all
) -> People:
    """Read pictures of people with all that is annotated about them; no image is decoded yet."""
    listing = list_files(Path(data))
    name = kind_of(listing, data) if kind == "auto" else kind
    people = list_people(listing, name, data, crop=crop, split=split, attributes=attributes)
    if split and name != miap.NAME:
        if "split" not in people.attributes:
            raise InputError(f"{name} has no splits; leave -p split= out")
        people = people.where("split", [split])
    if not len(people.images):
        raise InputError(_nothing(listing, name, people, data))
    return people.with_unknown(unknown)


def kind_of(listing: Listing, data: Path) -> str:
    """Of which kind a folder is, or the table that ``data`` names."""
    table = Path(data).name.casefold() if not Path(data).expanduser().is_dir() else ""
    name = next(
        (name for name, kind in KINDS.items() if name != people_table.NAME and kind.fits(listing)), None
    )
    if name == utkface.NAME and table:  # the user gave a table, so the names of images do not matter
        name = None
    if name is None and KINDS[people_table.NAME].fits(listing):
        name = people_table.NAME
    if name is None and listing.own_tables:
        raise InputError(_several(listing, data))
    if name is None:
        layouts = "; ".join(f"{name}: {kind.layout}" for name, kind in KINDS.items())
        raise InputError(f"{str(data)!r} is none of the layouts that are read: {layouts}")
    return name


def list_people(
    listing: Listing,
    kind: str,
    data: Path,
    *,
    crop: str = "code",  # of MIAP
    split: str = "",  # of MIAP
    attributes: tuple[str, ...] = (),  # of a user's table
) -> People:
    """As ``read_people`` of files that are listed already, and nobody at all is an answer too."""
    if kind not in KINDS:
        raise UnknownName("kind of people", kind, ("auto", *KINDS))
    if kind == miap.NAME:
        return miap.read_miap(listing, crop=crop, split=split)
    if kind == people_table.NAME:
        tables = listing.own_tables
        if len(tables) != 1:
            raise InputError(_several(listing, data))
        return people_table.read_people_table(listing.folder / tables[0], listing, attributes=attributes)
    readers: dict[str, Callable[[Listing], People]] = {
        casual_conversations.NAME: casual_conversations.read_casual_conversations,
        casual_conversations_v2.NAME: casual_conversations_v2.read_casual_conversations_v2,
        fairface.NAME: fairface.read_fairface,
        fairface_shards.NAME: fairface_shards.read_fairface_shards,
        utkface.NAME: utkface.read_utkface,
    }
    return readers[kind](listing)


def _several(listing: Listing, data: Path) -> str:
    """What to say where no table, or more than one, may be meant."""
    tables = listing.own_tables
    examples = f" ({first_few(list(map(repr, tables)), 4)})" if tables else ""
    return f"{str(data)!r} holds {len(tables)} tables{examples}; give the one that is meant as the data"


def _nothing(listing: Listing, kind: str, people: People, data: Path) -> str:
    """What to say where no image can be used."""
    reasons = ", ".join(f"{reason}: {count}" for reason, count in people.dropped.items())
    reasons = reasons or "nothing named"
    videos = (
        f"; it holds {len(listing.videos)} videos: cut faces out of them with: evenhand data faces "
        f"{shlex.quote(str(listing.folder))} -o FOLDER"
        if listing.videos
        else ""
    )
    layout = KINDS[kind].layout
    return f"no image of {str(data)!r} can be used as {kind} ({reasons}){videos}; it should hold {layout}"
