"""Where the tables and images of VisoGender come from."""

from __future__ import annotations

from pathlib import Path

from evenhand.benchmarks.datasets.download_source import DataSource, RemoteFile
from evenhand.benchmarks.visogender.data.samples import (
    IMAGE_FOLDERS,
    IMAGES,
    find_images,
    read_samples,
    tables_below,
)
from evenhand.benchmarks.visogender.data.tsv import context_of
from evenhand.files.download.downloads import Link

_REPOSITORY = "https://raw.githubusercontent.com/oxai/visogender"
_COMMITS = (
    "ecf224b2d5c6dd9b113fef2a44ec1967c4cdaf1e",  # 10 May 2025, which brought the newest table
    "51ef6c7",  # the last of that day, of which only the short name is known here
)


def _file(path: str, sha256: str, size: int) -> RemoteFile:
    urls = tuple(f"{_REPOSITORY}/{commit}/{path}" for commit in _COMMITS)
    return RemoteFile(path.rpartition("/")[2], urls, sha256, size)


FILES = (
    _file(
        "data/visogender_data/OO/OO_Visogender_10052025.tsv",
        "d5fcb91c6188ca9da147891912e5b60f5dfd07f155194fe49f9e455e7a9be003",
        39_359,
    ),
    _file(
        "data/visogender_data/OP/OP_Visogender_11012024.tsv",
        "81019344e682f00e58b5ee3a7c7eaafbd9cd4dde22ef8cf03f952380b03f5e60",
        83_865,
    ),
    _file(
        "data/US_Labor_Force_Statistics/US_Visogender_mapping_statistics_11062023.tsv",
        "6e98dfdd91cb688ebb804f771f5ccae39e5f519ae3a80f6f846aa1679b5117a8",
        2_590,
    ),
)
"""The newest release: single persons, two persons, labour statistics."""


def links(folder: Path) -> list[Link]:
    """The images that the tables of a folder name, one for each sample, and why some are to be skipped."""
    frame = read_samples(folder).frame
    paths = find_images(folder, frame["sample"].to_list()).images.paths
    image_links = []
    for sample, url, licence, path in zip(
        frame["sample"], frame["url"], frame["licence"], map(Path, paths), strict=True
    ):
        skip = "no URL" if url is None else "licence not confirmed" if licence is False else ""
        if path.is_file() and path.parent != (folder / IMAGES).absolute():
            skip = "there already, in another folder"
        image_links.append(Link(sample, url or "", skip))
    return image_links


def own_tables(folder: Path) -> list[str]:
    """Tables of another release that a folder has."""
    pinned = {file.name for file in FILES}
    tables = [path for path in tables_below(folder) if context_of(path) is not None]
    return [path.name for path in tables if path.name not in pinned or path.parent != folder]


SOURCE = DataSource(
    name="visogender",
    title="VisoGender: URLs and perceived gender of 690 images of people at work",
    licence="tables CC BY 4.0, for evaluation only, never for training; each image under its own licence",
    home="https://github.com/oxai/visogender",
    form="https://forms.gle/uD7tQfSa7jvzoqDU6",
    files=FILES,
    size="tables 123 KB; 690 images, about 60 MB",
    images=IMAGES,
    image_folders=IMAGE_FOLDERS,
    links=links,
    own_tables=own_tables,
)
"""What ``evenhand data fetch visogender`` fetches."""
