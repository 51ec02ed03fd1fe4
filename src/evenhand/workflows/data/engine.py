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
    """Data that can be fetched, and what of it is there.

    Attributes:
        name: As it is asked for.
        title: What it is.
        licence: Under which it may be used.
        size: In words.
        home: A page of its authors.
        form: Where people ask to be left out.
        folder: Where it is kept unless the user says otherwise.
        tables: Tables that are there.
        images: Images that are there.
        removed: Images that were removed by hand.
        by_hand: Whether nothing of it is fetched; then nothing is counted here either.
    """

    name: str
    title: str
    licence: str
    size: str
    home: str
    form: str
    folder: Path
    tables: int
    images: int
    removed: int
    by_hand: bool = False


@dataclass(frozen=True)
class DataCheck:
    """What a URL is worth now.

    Attributes:
        id: Of the sample.
        verdict: ``ok``, ``changed``, ``dead``, ``placeholder?``, ``removed`` or ``not asked``.
        reason: Why it is not ``ok``.
        url: That was asked.
    """

    id: str
    verdict: str
    reason: str
    url: str


@dataclass(frozen=True, eq=False)
class FetchResult:
    """What a fetch brought.

    Attributes:
        folder: Where the data is.
        files: Tables that were fetched; empty where they were there already.
        own: Tables of another release that were there and are used instead.
        verdicts: One for each image, in the order of the tables; empty if only tables were asked for.
        actions: How many images were fetched, kept, found, skipped, ...
        parts: What is there of what is counted otherwise, if the data has such.
        by_hand: What is not fetched and where to get it, if something is missing.
    """

    folder: Path
    files: Sequence[str]
    own: Sequence[str]
    verdicts: Sequence[DataCheck]
    actions: Mapping[str, int]
    parts: Sequence[SourcePart] = ()
    by_hand: str = ""

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
    folder: Path | None = None,
    *,
    metadata_only: bool = False,
    replace_changed: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> FetchResult:
    """Fetch tables, checked by their sha256, and the images that they name.

    Tables of another release that lie in the folder are used as they are. What is there is not fetched again.

    Args:
        name: Of the data.
        folder: Where to; ``default_folder`` if not given.
        metadata_only: Tables only.
        replace_changed: Take the new image where a URL gives another one than before.
        limits: How long, how much, how often and how many at once.
        progress: Called with the number of images done and of all.

    Raises:
        UnknownName: No such data.
        InputError: A table cannot be had or is another one than expected, no host can be reached, the folder
            is in use, or it is not there and nothing of its data is fetched.
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
    folder: Path | None = None,
    *,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> FetchResult:
    """Ask every URL again and compare with what is there; no image is written.

    Args:
        name: Of the data.
        folder: Of the data; ``default_folder`` if not given.
        limits: How long, how much, how often and how many at once.
        progress: Called with the number of images done and of all.

    Raises:
        UnknownName: No such data.
        InputError: The folder has no tables, no host can be reached, or the folder is in use.
    """
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

    Args:
        name: Of the data.
        ids: Of samples.
        folder: Of the data; ``default_folder`` if not given.

    Returns:
        The files that were deleted, below the folder.

    Raises:
        UnknownName: No such data, or no such sample; then nothing is removed.
        InputError: The folder has no tables, or is in use.
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
