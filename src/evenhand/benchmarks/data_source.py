"""Data of benchmarks that can be fetched: tables of known content, and images behind URLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.registry import Registry
from evenhand.files.download import Link
from evenhand.files.home import home

DATA = Registry(
    "data",
    {"visogender": "evenhand.benchmarks.visogender.source:SOURCE"},
    "evenhand.data",
)
"""What can be fetched, by name."""


@dataclass(frozen=True)
class RemoteFile:
    """A file whose content is known.

    Attributes:
        name: What it is called in the folder.
        urls: Where it is, in the order to ask.
        sha256: Of its content.
        size: In bytes.
    """

    name: str
    urls: tuple[str, ...]
    sha256: str
    size: int


@dataclass(frozen=True)
class DataSource:
    """Data of one benchmark.

    Attributes:
        name: As it is asked for.
        title: What it is.
        licence: Under which it may be used, and for what.
        home: A page of its authors.
        form: Where people in the images ask to be left out, if there is such a page.
        files: Tables.
        size: Of everything, in words.
        images: The folder below that images are fetched into; empty if there are none.
        image_folders: All folders below in which a user may have images.
        links: The images that a folder's tables name, in their order.
        own_tables: Names of tables in a folder that are there instead of ``files``, such as an older release.
    """

    name: str
    title: str
    licence: str
    home: str
    form: str
    files: Sequence[RemoteFile]
    size: str
    images: str
    image_folders: Sequence[str]
    links: Callable[[Path], list[Link]]
    own_tables: Callable[[Path], list[str]]


def default_folder(name: str) -> Path:
    """Where the data of a benchmark is kept unless the user says otherwise; it may not exist.

    Args:
        name: Of the data.
    """
    return home() / "data" / name
