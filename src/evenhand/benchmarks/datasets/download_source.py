"""Data of benchmarks that can be fetched: tables of known content, and images behind URLs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.registry import Registry
from evenhand.files.download.downloads import Link
from evenhand.files.home import home

_PEOPLE = "evenhand.benchmarks.indicators.people.datasets.sources"
_FURTHER = "evenhand.benchmarks.further.sources"
_HOUSEHOLDS = "evenhand.benchmarks.indicators.households.sources"
DATA = Registry(
    "data",
    {
        "bbq_v": "evenhand.benchmarks.further.bbq_v.sources:SOURCE",
        "casual_conversations": f"{_PEOPLE}:CASUAL_CONVERSATIONS",
        "casual_conversations_v2": f"{_PEOPLE}:CASUAL_CONVERSATIONS_V2",
        "celeba": "evenhand.benchmarks.skewsize.sources:CELEBA_DATA",
        "dollar_street": f"{_HOUSEHOLDS}:DOLLAR_STREET",
        "dollar_street_mlcommons": f"{_HOUSEHOLDS}:DOLLAR_STREET_MLCOMMONS",
        "domainnet": "evenhand.benchmarks.skewsize.sources:DOMAINNET_DATA",
        "facet": f"{_FURTHER}:FACET",
        "fairface": f"{_PEOPLE}:FAIRFACE",
        "geode": f"{_FURTHER}:GEODE",
        "gras": "evenhand.benchmarks.further.gras.sources:SOURCE",
        "imagenet_star": "evenhand.benchmarks.skewsize.sources:IMAGENET_STAR",
        "miap": f"{_PEOPLE}:MIAP",
        "mmbias": "evenhand.benchmarks.mmbias.sources:SOURCE",
        "social_counterfactuals": f"{_FURTHER}:SOCIAL_COUNTERFACTUALS",
        "pairs": "evenhand.benchmarks.further.pairs.sources:SOURCE",
        "utkface": f"{_PEOPLE}:UTKFACE",
        "visogender": "evenhand.benchmarks.visogender.sources:SOURCE",
        "waterbirds": "evenhand.benchmarks.skewsize.sources:WATERBIRDS_DATA",
    },
    "evenhand.data",
)
"""What can be fetched, by name."""


@dataclass(frozen=True)
class RemoteFile:
    """A file whose content is known."""

    name: str  # in the folder
    urls: tuple[str, ...]  # in the order to ask
    sha256: str
    size: int  # in bytes


@dataclass(frozen=True)
class SourcePart:
    """A part of some data, and how much of it is there."""

    name: str
    present: int
    expected: int | None  # how many the release has; None: there is no such number
    note: str = ""  # what is wrong with it, or what was searched for; empty: it is as released
    judged: bool = True  # whether a difference means that something is missing; else it is only shown

    @property
    def whole(self) -> bool:
        """Whether it is as released, if that is judged at all."""
        return not self.judged or (self.present == self.expected and not self.note)

    @property
    def beside(self) -> str:
        """The number that its own is compared with, in words; empty if there is none."""
        if self.expected is None:
            return ""
        return f" of {self.expected:5}" if self.judged else f"  paper or release: {self.expected}"


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
        parts: What of the data is in a folder, where that is more than tables and images behind URLs.
        by_hand: What is not fetched and where to get it, if there is something.
    """

    name: str
    title: str
    licence: str
    home: str
    form: str = ""
    files: Sequence[RemoteFile] = ()
    size: str = ""
    images: str = ""
    image_folders: Sequence[str] = ()
    links: Callable[[Path], list[Link]] = lambda folder: []
    own_tables: Callable[[Path], list[str]] = lambda folder: []
    parts: Callable[[Path], list[SourcePart]] | None = None
    by_hand: str = ""


def default_folder(name: str) -> Path:
    """Where the data of a benchmark is kept unless the user says otherwise; it may not exist."""
    return home() / "data" / name
