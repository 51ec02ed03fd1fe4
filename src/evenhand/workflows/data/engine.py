"""Fetch, check and remove the data of benchmarks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from evenhand.benchmarks.datasets.download_source import DATA, DataSource, SourcePart, default_folder
from evenhand.core.errors import InputError
from evenhand.files.download.downloads import (
    Downloaded,
    DownloadStep,
    download,
    fetch_file,
    files_by_id,
    remove_images,
)
from evenhand.files.download.manifest import removed_ids
from evenhand.files.download.web import Limits

Progress = Callable[[int, int], None]

_UNREACHED = frozenset({"no such host", "no connection", "too slow"})
_FINE = frozenset({"kept", "found", "fetched", "same", "alive", "replaced"})
_VERDICTS = {"changed": "changed", "failed": "dead", "removed": "removed", "skipped": "not asked"}


@dataclass(frozen=True)
class DataListing:
    """Data that can be fetched, and what of it is there."""

    name: str
    title: str
    licence: str
    size: str  # in words
    home: str  # a page of its authors
    form: str  # where people ask to be left out
    folder: Path  # where it is kept unless the user says otherwise
    tables: int  # how many are there
    images: int  # how many are there
    removed: int  # images that were removed by hand
    by_hand: bool = False  # nothing of it is fetched; then nothing is counted here either


@dataclass(frozen=True)
class DataCheck:
    """What a URL is worth now."""

    id: str  # of the sample
    verdict: str  # ok, changed, dead, placeholder?, removed or not asked
    reason: str  # why it is not ok
    url: str


@dataclass(frozen=True, eq=False)
class FetchResult:
    """What a fetch brought."""

    folder: Path
    files: Sequence[str]  # tables that were fetched; empty where they were there already
    own: Sequence[str]  # tables of another release that were there and are used instead
    verdicts: Sequence[DataCheck]  # of each image, in the order of the tables; empty: tables only
    actions: Mapping[str, int]  # how many images were fetched, kept, found, skipped, ...
    parts: Sequence[SourcePart] = ()  # of what is counted otherwise, if the data has such
    by_hand: str = ""  # what is not fetched and where to get it, if something is missing

    @property
    def counts(self) -> Counter[str]:
        """How many images have each verdict."""
        return Counter(verdict.verdict for verdict in self.verdicts)

    @property
    def complete(self) -> bool:
        """Whether every image that was to be asked for is there and not doubted, and every part whole."""
        return not {"changed", "dead", "placeholder?"} & set(self.counts) and not self.lacking

    @property
    def lacking(self) -> list[SourcePart]:
        """The parts that are not whole."""
        return [part for part in self.parts if not part.whole]


def list_data() -> list[DataListing]:
    """All data that can be fetched, sorted by name."""
    listings = []
    for name in DATA.names():
        source, folder = _source(name), default_folder(name)
        tables = sum((folder / file.name).is_file() for file in source.files)
        image_ids = {image_id for below in source.image_folders for image_id in files_by_id(folder / below)}
        removed = len(removed_ids(folder / source.images)) if source.images else 0
        listings.append(
            DataListing(
                name,
                source.title,
                source.licence,
                source.size,
                source.home,
                source.form,
                folder,
                tables,
                len(image_ids),
                removed,
                bool(source.by_hand and not source.files),
            )
        )
    return listings


def fetch_data(
    name: str | DataSource,
    folder: Path | None = None,  # None: default_folder
    *,
    metadata_only: bool = False,
    replace_changed: bool = False,  # take the new image where a URL gives another one than before
    limits: Limits | None = None,
    progress: Progress | None = None,  # images done, images in all
) -> FetchResult:
    """Fetch tables, checked by their sha256, and the images that they name.

    Tables of another release that lie in the folder are used as they are. What is there is not fetched again.
    """
    source = _source(name)
    folder = folder or default_folder(source.name)
    if source.by_hand and not source.files:
        _require_folder(source, folder)
    own_tables = source.own_tables(folder) if folder.is_dir() else []
    files = [
        file.name
        for file in (() if own_tables else source.files)
        if fetch_file(file.urls, folder / file.name, file.sha256, limits=limits)
    ]
    if metadata_only or not source.images:
        return _counted(source, folder, FetchResult(folder, files, own_tables, [], {}))
    downloaded = download(
        source.links(folder),
        folder / source.images,
        replace_changed=replace_changed,
        limits=limits,
        progress=progress,
    )
    _require_network(downloaded)
    return FetchResult(folder, files, own_tables, _verdicts(downloaded), downloaded.actions)


def check_data(
    name: str | DataSource,
    folder: Path | None = None,  # None: default_folder
    *,
    limits: Limits | None = None,
    progress: Progress | None = None,  # images done, images in all
) -> FetchResult:
    """Ask every URL again and compare with what is there; no image is written."""
    source = _source(name)
    folder = folder or default_folder(source.name)
    if not source.images:
        _require_folder(source, folder)
        return _counted(source, folder, FetchResult(folder, [], source.own_tables(folder), [], {}))
    downloaded = download(
        source.links(folder), folder / source.images, check=True, limits=limits, progress=progress
    )
    _require_network(downloaded)
    return FetchResult(folder, [], source.own_tables(folder), _verdicts(downloaded), downloaded.actions)


def remove_data(name: str | DataSource, ids: Sequence[str], folder: Path | None = None) -> list[str]:
    """Delete images by id wherever they lie in the folder, and remember not to fetch or use them again.

    Returns the deleted files, below the folder; where one id is unknown nothing is removed.
    """
    source = _source(name)
    folder = folder or default_folder(source.name)
    if not source.images:
        raise InputError(f"{source.name} has no images that are fetched")
    link_ids = [link.id for link in source.links(folder)]
    deleted = [f"{source.images}/{file}" for file in remove_images(folder / source.images, ids, link_ids)]
    for below in source.image_folders:
        files = files_by_id(folder / below)
        for file in (file for image_id in ids for file in files.get(image_id, [])):
            (folder / below / file).unlink()
            deleted.append(str(Path(below) / file))
    return deleted


def _source(name: str | DataSource) -> DataSource:
    source: DataSource = DATA.get(name) if isinstance(name, str) else name
    return source


def _require_folder(source: DataSource, folder: Path) -> None:
    """Without a folder, say how to get the data: by a command, or by hand where nothing is fetched."""
    if folder.exists():
        return
    fetch = f"type: evenhand data fetch {source.name}"
    hand = f"{source.by_hand}; then type: evenhand data check {source.name} --data DIR"
    raise InputError(f"there is no folder {str(folder)!r}; {fetch if source.files else hand}")


def _counted(source: DataSource, folder: Path, result: FetchResult) -> FetchResult:
    """With what of the data is there."""
    source_parts = source.parts(folder) if source.parts is not None else []
    return replace(result, parts=source_parts, by_hand=source.by_hand)


def _require_network(downloaded: Downloaded) -> None:
    """Where no host at all was reached and nothing was there, the images are not dead: the network is."""
    failed = [step.record for step in downloaded.steps if step.action == "failed"]
    hosts = {urlsplit(record.url).hostname for record in failed}
    alone = set(downloaded.actions) <= {"failed", "skipped", "removed"} and len(hosts) > 1
    if alone and {record.reason for record in failed} <= _UNREACHED:
        raise InputError(
            f"none of {len(hosts)} hosts could be reached ({failed[0].reason}: {failed[0].detail}); check "
            "the network (proxies of the environment are not used) and type the same command again"
        )


def _verdicts(downloaded: Downloaded) -> list[DataCheck]:
    return [_verdict(step, downloaded.stand_ins.get(step.id, "")) for step in downloaded.steps]


def _verdict(step: DownloadStep, doubt: str) -> DataCheck:
    """A placeholder is doubted whether it came new or in place of what was there."""
    record = step.record
    if doubt and step.action in (*_FINE, "changed"):
        return DataCheck(step.id, "placeholder?", doubt, record.url)
    if step.action in _FINE:
        return DataCheck(step.id, "ok", "", record.url)
    detail = f" ({record.detail})" if record.detail and step.action == "failed" else ""
    return DataCheck(step.id, _VERDICTS[step.action], record.reason + detail, record.url)
