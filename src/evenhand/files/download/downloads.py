"""Fill a folder with the images behind a list of URLs, so that nothing is lost and everything is listed.

What was fetched is remembered with its sha256: it is not asked for again, and what a URL gives later is
compared with it. Files that lay in the folder before are not written over.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, ParameterError, UnknownName, one_line
from evenhand.core.requests import UnreadableImage
from evenhand.files.atomic import write_bytes
from evenhand.files.download.addresses import Failed
from evenhand.files.download.manifest import ImageManifest, Record, forget, stand_ins
from evenhand.files.download.web import Limits, Reply, Web
from evenhand.files.hashing import sha256_each
from evenhand.files.images.decode import decode

Progress = Callable[[int, int], None]

SUFFIXES: tuple[str, ...] = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm",
    ".pbm", ".pnm",
)  # fmt: skip
"""Endings of image files, in lower case."""

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
_SIGNATURES = {b"\xff\xd8": ".jpg", b"\x89PNG": ".png", b"GIF8": ".gif", b"BM": ".bmp", b"RIFF": ".webp"}
_TIFF = (b"II*\x00", b"MM\x00*")
_DECODERS = 2  # images may be large when they are decoded


@dataclass(frozen=True)
class Link:
    """An image to fetch."""

    id: str  # the file's name without its ending
    url: str
    skip: str = ""  # why it is not to be asked for; empty if it is


@dataclass(frozen=True)
class DownloadStep:
    """What became of one link this time.

    ``action``: ``kept`` (there already, not asked), ``found`` (a file of the user, not asked), ``fetched``,
    ``same`` (asked again, unchanged), ``alive`` (asked, not there, not written), ``changed`` (another than
    before; what was there is kept), ``replaced`` (on request), ``failed``, ``removed`` (by hand, not asked)
    or ``skipped``.
    """

    id: str
    action: str
    record: Record


@dataclass(frozen=True, eq=False)
class Downloaded:
    """What became of every link, in their order."""

    steps: Sequence[DownloadStep]
    stand_ins: Mapping[str, str] = field(default_factory=dict)  # id to why it is in doubt

    @property
    def actions(self) -> Counter[str]:
        """How many links each action was taken for."""
        return Counter(step.action for step in self.steps)

    @property
    def troubles(self) -> Counter[str]:
        """How many links failed for each reason."""
        return Counter(step.record.reason for step in self.steps if step.action == "failed")


def download(
    links: Iterable[Link],  # with unique ids
    folder: Path,  # made if missing; holds the images and ``manifest.jsonl``
    *,
    check: bool = False,  # ask for everything again and compare; no image is written
    replace_changed: bool = False,  # where a URL gives another image than before, take it
    limits: Limits | None = None,
    progress: Progress | None = None,  # called with the number of links done and of all
) -> Downloaded:
    """Fetch images into a folder as ``<id>.<ending>``; what is there and as remembered is not asked for.

    Not to be called from a running event loop. A process that is stopped or killed leaves whole files and a
    manifest that knows them; the same call goes on where it was.
    """
    checked_links = _checked(links)
    manifest = ImageManifest(folder)
    with manifest.writing():
        work = _DownloadJob(manifest, check, replace_changed, limits or Limits())
        steps = asyncio.run(work.all(checked_links, progress or _silent))
    return Downloaded(steps, stand_ins(step.record for step in steps))


def fetch_file(urls: Sequence[str], target: Path, sha256: str, *, limits: Limits | None = None) -> bool:
    """Fetch a file of known content from the first URL that knows it (no 404); False if it was there."""
    if target.exists():
        if hashlib.sha256(target.read_bytes()).hexdigest() == sha256:
            return False
        raise InputError(f"{str(target)!r} is not the file of {urls[0]}: its sha256 differs; move it away")
    try:
        reply = asyncio.run(_first(urls, limits or Limits()))
    except Failed as problem:
        raise InputError(
            f"{urls[0]} cannot be fetched: {one_line(problem)}; check the network and type it again, "
            "or give a folder that has the files with --data DIR"
        ) from problem
    digest = hashlib.sha256(reply.content).hexdigest()
    if digest != sha256:
        raise InputError(
            f"{reply.url} gives another file than expected (sha256 {digest[:12]}..., not {sha256[:12]}...); "
            "nothing was written; get the file elsewhere and give its folder with --data DIR"
        )
    write_bytes(target, reply.content)
    return True


def remove_images(folder: Path, ids: Sequence[str], known_ids: Iterable[str] = ()) -> list[str]:
    """Delete images by id, and remember not to fetch them again; the names of the deleted files.

    Nothing about the image stays in the manifest but its id and that it was removed. Where one id is unknown
    to the folder, its manifest and ``known_ids``, none is removed.
    """
    manifest, deleted = ImageManifest(folder), []
    with manifest.writing():
        files = files_by_id(folder)
        possible = {*files, *manifest.records, *known_ids}
        for id_ in ids:
            if id_ not in possible:
                raise UnknownName("image", id_, sorted(possible), f"images lie in {folder}")
        for id_ in ids:
            manifest.add(forget(manifest.records.get(id_, Record(id_, "removed")), _now()))
            for name in files.get(id_, []):
                (folder / name).unlink()
                deleted.append(name)
    return deleted


def files_by_id(folder: Path) -> dict[str, list[str]]:
    """Image files of a folder by their name without the ending; several where the endings differ."""
    names_by_id: defaultdict[str, list[str]] = defaultdict(list)
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith("."):
                names_by_id[path.stem].append(path.name)
    return dict(names_by_id)


class _DownloadJob:
    """One call of ``download``."""

    def __init__(self, manifest: ImageManifest, check: bool, replace_changed: bool, limits: Limits) -> None:
        self.manifest, self.folder, self.limits = manifest, manifest.folder, limits
        self.check, self.replace_changed = check, replace_changed and not check
        self.files = {id_: _only(names, self.folder) for id_, names in files_by_id(self.folder).items()}

    async def all(self, links: Sequence[Link], progress: Progress) -> list[DownloadStep]:
        """A step for every link, in their order."""
        self.decoding, n_done = asyncio.Semaphore(_DECODERS), 0
        hashes = self._hashes([link.id for link in links])

        async def handle_link(web: Web, link: Link) -> DownloadStep:
            nonlocal n_done
            step = self._settled(link, hashes.get(link.id, "")) or await self._ask(web, link)
            n_done += 1
            progress(n_done, len(links))
            return step

        async with Web(self.limits) as web:
            return await asyncio.gather(*(handle_link(web, link) for link in links))

    def _hashes(self, ids: Sequence[str]) -> dict[str, str]:
        """The sha256 of the files that are there; empty where one cannot be read."""
        there = [id_ for id_ in ids if id_ in self.files]
        results = sha256_each([self.folder / self.files[id_] for id_ in there])
        return {
            id_: "" if isinstance(result, OSError) else result[0]
            for id_, result in zip(there, results, strict=True)
        }

    def _settled(self, link: Link, sha256: str) -> DownloadStep | None:
        """What needs no request."""
        record = self.manifest.records.get(link.id)
        if record is not None and record.status == "removed":
            return DownloadStep(link.id, "removed", record)
        if link.id in self.files and (record is None or record.sha256 != sha256 or not record.sha256):
            step = self._keep(link, sha256)
            if step.action == "failed" or not self.check:
                return step
        if link.skip:
            return self._note(link, "skipped", Record(link.id, "skipped", link.url, reason=link.skip))
        if record is None or link.id not in self.files or record.url != link.url or self.check:
            return None
        return (
            None
            if record.status == "changed" and self.replace_changed
            else DownloadStep(link.id, "kept", record)
        )

    def _keep(self, link: Link, sha256: str) -> DownloadStep:
        """A file that was not fetched here: the user's, or one whose record a kill cut off."""
        name = self.files[link.id]
        before = self.manifest.records.get(link.id)
        reason = "not the file that was fetched" if before is not None and before.sha256 else ""
        record = Record(link.id, "found", link.url, file=name, sha256=sha256, reason=reason)
        try:
            content = (self.folder / name).read_bytes()
            record = replace(record, size=len(content), **_shape(content))
        except (OSError, UnreadableImage) as problem:
            reason = problem.reason if isinstance(problem, UnreadableImage) else "cannot be read"
            record = replace(record, status="failed", reason=reason, detail=one_line(problem))
        return self._note(link, record.status, record)

    async def _ask(self, web: Web, link: Link) -> DownloadStep:
        """Ask for an image and compare it with what is known."""
        before = self.manifest.records.get(link.id) or Record(link.id, "failed")
        # another version of the list may name another URL; what is there came from the one before
        url = before.url if before.sha256 else link.url
        try:
            reply = await web.get(link.url)
            async with self.decoding:
                shape = await asyncio.to_thread(_shape, reply.content)
        except (Failed, UnreadableImage) as problem:
            detail = one_line(problem.detail)
            failed = replace(before, status="failed", url=url, reason=problem.reason, detail=detail)
            return self._note(link, "failed", replace(failed, seen_sha256=""))
        sha256 = hashlib.sha256(reply.content).hexdigest()
        if before.sha256 == sha256 and link.id in self.files:
            return self._note(link, "same", _fine(before, link, reply))
        other = bool(before.sha256) and before.sha256 != sha256
        if other and not self.replace_changed:
            reason = "another image than before" if url == link.url else "another URL than before"
            changed = replace(before, status="changed", seen_sha256=sha256, reason=reason, detail=reply.url)
            return self._note(link, "changed", changed)
        record = Record(link.id, "fetched", link.url, sha256=sha256, size=len(reply.content), **shape)
        if self.check:
            return DownloadStep(link.id, "alive", replace(_fine(record, link, reply), date=_now()))
        record = replace(record, file=self._write(link.id, reply.content))
        return self._note(link, "replaced" if other else "fetched", _fine(record, link, reply))

    def _write(self, id: str, content: bytes) -> str:
        name = id + _suffix(content)
        write_bytes(self.folder / name, content)
        old = self.files.get(id)
        if old is not None and old != name:
            (self.folder / old).unlink()
        self.files[id] = name
        return name

    def _note(self, link: Link, action: str, record: Record) -> DownloadStep:
        record = replace(record, date=_now())
        self.manifest.add(record)
        return DownloadStep(link.id, action, record)


def _fine(record: Record, link: Link, reply: Reply) -> Record:
    """A record whose file is what the URL gives."""
    fresh = replace(
        record, status="fetched", url=link.url, final_url=reply.url, content_type=reply.content_type
    )
    return replace(fresh, reason="", detail="", seen_sha256="")


def _shape(content: bytes) -> dict[str, Any]:
    """What the manifest keeps of an image's pixels; raises UnreadableImage if it cannot be decoded."""
    pixels = decode(content)
    height, width = pixels.shape[:2]
    return {"width": width, "height": height, "plain": bool((pixels == pixels[0, 0]).all())}


def _suffix(content: bytes) -> str:
    if content.startswith(_TIFF):
        return ".tif"
    return next((suffix for magic, suffix in _SIGNATURES.items() if content.startswith(magic)), ".ppm")


def _checked(links: Iterable[Link]) -> list[Link]:
    all_links = list(links)
    for id_, count in Counter(link.id for link in all_links).items():
        if count > 1:
            raise InputError(f"the id {id_!r} is given {count} times; give each image an id of its own")
        if not _SAFE_ID.fullmatch(id_):
            raise ParameterError(f"the id {id_!r} cannot name a file; use letters, digits, '_', '-' and '.'")
    return all_links


def _only(names: Sequence[str], folder: Path) -> str:
    if len(names) > 1:
        examples = " and ".join(map(repr, names[:2]))
        raise InputError(
            f"{str(folder)!r} has {examples} for one id; keep one of them and move the other away"
        )
    return names[0]


async def _first(urls: Sequence[str], limits: Limits) -> Reply:
    """The first reply of several places that should have the same file."""
    async with Web(limits) as web:
        for url in urls[:-1]:
            try:
                return await web.get(url)
            except Failed as problem:
                if problem.reason != "HTTP 404":
                    raise
        return await web.get(urls[-1])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _silent(n_done: int, all_: int) -> None:
    """Nobody wants to know."""
