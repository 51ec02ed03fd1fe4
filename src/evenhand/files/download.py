"""Fill a folder with the images behind a list of URLs, so that nothing is lost and everything is listed.

What was fetched is remembered with its sha256: it is not asked for again, and what a URL gives later is compared
with it. Files that lay in the folder before are never written over.
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

from evenhand.core.errors import InputError, ParameterError, UnknownName, one_line
from evenhand.core.questions import UnreadableImage
from evenhand.files.addresses import Failed
from evenhand.files.atomic import write_bytes
from evenhand.files.hashing import sha256_each
from evenhand.files.image_manifest import ImageManifest, Record, forget, read_manifest
from evenhand.files.images import decode
from evenhand.files.web import Limits, Reply, Web

Progress = Callable[[int, int], None]

SUFFIXES: tuple[str, ...] = (
    ".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".pnm"
)  # fmt: skip
"""Endings of image files, in lower case."""

_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,120}")
_SIGNATURES = {b"\xff\xd8": ".jpg", b"\x89PNG": ".png", b"GIF8": ".gif", b"BM": ".bmp", b"RIFF": ".webp"}
_TIFF = (b"II*\x00", b"MM\x00*")
_STAND_IN = re.compile(r"unavailable|placeholder|not[-_ ]?found|removed|no[-_ ]?image|deleted", re.IGNORECASE)
_TINY = 16
_DECODERS = 2  # images may be large when they are decoded


@dataclass(frozen=True)
class Link:
    """An image to fetch.

    Attributes:
        id: What the file is called, without its ending.
        url: Where it is.
        skip: Why it is not to be asked for; empty if it is.
    """

    id: str
    url: str
    skip: str = ""


@dataclass(frozen=True)
class Step:
    """What became of one link this time.

    Attributes:
        id: Of the link.
        action: ``kept`` (there already, not asked), ``found`` (a file of the user, not asked), ``fetched``,
            ``same`` (asked again, unchanged), ``changed`` (something else than before; what was there is kept),
            ``replaced`` (as told), ``failed``, ``removed`` (by hand, not asked) or ``skipped``.
        record: What is now known of it.
    """

    id: str
    action: str
    record: Record


@dataclass(frozen=True, eq=False)
class Downloaded:
    """What became of every link, in their order.

    Attributes:
        steps: One for each link.
        stand_ins: Ids of images that look like placeholders, and why.
    """

    steps: Sequence[Step]
    stand_ins: Mapping[str, str] = field(default_factory=dict)

    @property
    def actions(self) -> Counter[str]:
        """How many links each action was taken for."""
        return Counter(step.action for step in self.steps)

    @property
    def troubles(self) -> Counter[str]:
        """How many links failed for each reason."""
        return Counter(step.record.reason for step in self.steps if step.action == "failed")


def download(
    links: Iterable[Link],
    folder: Path,
    *,
    again: bool = False,
    replace_changed: bool = False,
    limits: Limits | None = None,
    progress: Progress | None = None,
) -> Downloaded:
    """Fetch images into a folder as ``<id>.<ending>``; what is there and as remembered is not asked for.

    Not to be called from a running event loop. A process that is stopped or killed leaves whole files and a
    manifest that knows them; the same call goes on where it was.

    Args:
        links: What to fetch; ids are unique.
        folder: Made if missing; holds the images and ``manifest.jsonl``.
        again: Ask for everything again and compare, without writing what is new.
        replace_changed: Where a URL gives another image than before, take it.
        limits: How long, how much, how often and how many at once.
        progress: Called with the number of links done and of all.

    Returns:
        A step for every link, whatever happened to it.

    Raises:
        InputError: An id given twice or unfit for a file name; two files for one id; the folder is in use.
    """
    wanted = _checked(links)
    manifest = ImageManifest(folder)
    with manifest.writing():
        work = _Work(manifest, again, replace_changed, limits or Limits())
        steps = asyncio.run(work.all(wanted, progress or _silent))
    return Downloaded(steps, stand_ins(step.record for step in steps))


def fetch_file(url: str, target: Path, sha256: str, *, limits: Limits | None = None) -> None:
    """Fetch one file whose content is known, unless it is there.

    Args:
        url: Where it is.
        target: Where to write it.
        sha256: Of its content.
        limits: As for ``download``.

    Raises:
        InputError: Another file is at ``target``, the content is another one, or it cannot be had.
    """
    if target.exists():
        if hashlib.sha256(target.read_bytes()).hexdigest() == sha256:
            return
        raise InputError(
            f"{str(target)!r} is not the file of {url}: its sha256 differs; move it away, or give another folder"
        )
    try:
        reply = asyncio.run(_one(url, limits or Limits()))
    except Failed as problem:
        raise InputError(
            f"{url} cannot be fetched: {one_line(problem)}; check the network and type the same command again, "
            "or give a folder that has the files with --data DIR"
        ) from problem
    found = hashlib.sha256(reply.content).hexdigest()
    if found != sha256:
        raise InputError(
            f"{url} gives another file than expected (sha256 {found[:12]}..., not {sha256[:12]}...); nothing was "
            "written; get the file elsewhere and give its folder with --data DIR"
        )
    write_bytes(target, reply.content)


def remove_images(folder: Path, ids: Sequence[str]) -> list[str]:
    """Delete images by id, and remember not to fetch them again.

    Nothing about the image stays in the manifest but its id and that it was removed.

    Args:
        folder: Where the images are.
        ids: Of images that the folder or its manifest has.

    Returns:
        Names of the files that were deleted.

    Raises:
        UnknownName: There is no such image; then none is removed.
    """
    manifest, deleted = ImageManifest(folder), []
    with manifest.writing():
        files = files_by_id(folder)
        for each in ids:
            if each not in files and each not in manifest.records:
                raise UnknownName("image", each, sorted({*files, *manifest.records}), f"in {folder}")
        for each in ids:
            manifest.add(forget(manifest.records.get(each, Record(each, "removed")), _now()))
            for name in files.get(each, []):
                (folder / name).unlink()
                deleted.append(name)
    return deleted


def files_by_id(folder: Path) -> dict[str, list[str]]:
    """Image files of a folder by their name without the ending; several where the endings differ."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    if folder.is_dir():
        for path in sorted(folder.iterdir()):
            if path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith("."):
                found[path.stem].append(path.name)
    return dict(found)


def stand_ins(records: Iterable[Record]) -> dict[str, str]:
    """Images that look like what servers send in place of an image that is gone.

    Args:
        records: Of a whole folder: the same picture from different URLs is the best sign.

    Returns:
        Id to the reason to doubt it; somebody has to look at these.
    """
    kept = [record for record in records if record.sha256]
    urls: defaultdict[str, set[str]] = defaultdict(set)
    for record in kept:
        urls[record.sha256].add(record.url)
    found: dict[str, str] = {}
    for record in kept:
        if len(urls[record.sha256] - {""}) > 1:
            found[record.id] = "same image from several URLs"
        elif record.plain:
            found[record.id] = "one colour only"
        elif 0 < min(record.width, record.height) < _TINY:
            found[record.id] = "tiny image"
        elif record.final_url != record.url and _STAND_IN.search(record.final_url):
            found[record.id] = "redirected to a placeholder"
    return found


class _Work:
    """One call of ``download``."""

    def __init__(self, manifest: ImageManifest, again: bool, replace_changed: bool, limits: Limits) -> None:
        self.manifest, self.folder, self.limits = manifest, manifest.folder, limits
        self.again, self.replace_changed = again, replace_changed
        self.files = {each: _only(names, self.folder) for each, names in files_by_id(self.folder).items()}

    async def all(self, links: Sequence[Link], progress: Progress) -> list[Step]:
        """A step for every link, in their order."""
        self.decoding, done = asyncio.Semaphore(_DECODERS), 0
        known = self._hashes([link.id for link in links])

        async def one(web: Web, link: Link) -> Step:
            nonlocal done
            step = self._settled(link, known.get(link.id, "")) or await self._ask(web, link)
            done += 1
            progress(done, len(links))
            return step

        async with Web(self.limits) as web:
            return await asyncio.gather(*(one(web, link) for link in links))

    def _hashes(self, ids: Sequence[str]) -> dict[str, str]:
        """The sha256 of the files that are there; empty where one cannot be read."""
        there = [each for each in ids if each in self.files]
        found = sha256_each([self.folder / self.files[each] for each in there])
        return {each: "" if isinstance(sha, OSError) else sha for each, sha in zip(there, found, strict=True)}

    def _settled(self, link: Link, sha256: str) -> Step | None:
        """What needs no request."""
        record = self.manifest.records.get(link.id)
        if record is not None and record.status == "removed":
            return Step(link.id, "removed", record)
        if link.id in self.files and (record is None or record.sha256 != sha256 or not record.sha256):
            return self._keep(link, sha256)
        if link.skip:
            return self._note(link, "skipped", Record(link.id, "skipped", link.url, reason=link.skip))
        if record is not None and link.id in self.files and record.url == link.url and not self.again:
            if record.status != "changed" or not self.replace_changed:
                return Step(link.id, "kept", record)
        return None

    def _keep(self, link: Link, sha256: str) -> Step:
        """A file that was not fetched here: the user's, or one whose record a kill cut off."""
        name = self.files[link.id]
        record = Record(link.id, "found", link.url, file=name, sha256=sha256)
        try:
            content = (self.folder / name).read_bytes()
            record = replace(record, size=len(content), **_shape(content))
        except (OSError, UnreadableImage) as problem:
            reason = problem.reason if isinstance(problem, UnreadableImage) else "cannot be read"
            record = replace(record, status="failed", reason=reason, detail=one_line(problem))
        return self._note(link, record.status, record)

    async def _ask(self, web: Web, link: Link) -> Step:
        """Ask for an image and compare it with what is known."""
        before = self.manifest.records.get(link.id) or Record(link.id, "failed")
        moved_on = before.url not in ("", link.url)  # another version of the list names another image
        try:
            reply = await web.get(link.url)
            async with self.decoding:
                shape = await asyncio.to_thread(_shape, reply.content)
        except (Failed, UnreadableImage) as problem:
            failed = replace(before, status="failed", reason=problem.reason, detail=one_line(problem.detail))
            return self._note(link, "failed", failed if moved_on else replace(failed, url=link.url))
        sha256 = hashlib.sha256(reply.content).hexdigest()
        if before.sha256 == sha256 and link.id in self.files:
            return self._note(link, "same", _fine(before, link, reply))
        other = bool(before.sha256) and before.sha256 != sha256
        if other and not self.replace_changed:
            changed = replace(before, status="changed", seen_sha256=sha256, reason="another image than before")
            return self._note(link, "changed", replace(changed, detail=reply.url))
        record = Record(link.id, "fetched", link.url, sha256=sha256, size=len(reply.content), **shape)
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

    def _note(self, link: Link, action: str, record: Record) -> Step:
        record = replace(record, date=_now())
        self.manifest.add(record)
        return Step(link.id, action, record)


def _fine(record: Record, link: Link, reply: Reply) -> Record:
    """A record whose file is what the URL gives."""
    fresh = replace(record, status="fetched", url=link.url, final_url=reply.url, content_type=reply.content_type)
    return replace(fresh, reason="", detail="", seen_sha256="")


def _shape(content: bytes) -> dict[str, int]:
    """What the manifest keeps of an image's pixels; raises UnreadableImage if it cannot be decoded."""
    pixels = decode(content)
    height, width = pixels.shape[:2]
    return {"width": width, "height": height, "plain": bool((pixels == pixels[0, 0]).all())}


def _suffix(content: bytes) -> str:
    if content.startswith(_TIFF):
        return ".tif"
    return next((suffix for magic, suffix in _SIGNATURES.items() if content.startswith(magic)), ".ppm")


def _checked(links: Iterable[Link]) -> list[Link]:
    wanted = list(links)
    for each, count in Counter(link.id for link in wanted).items():
        if count > 1:
            raise InputError(f"the id {each!r} is given {count} times; give each image an id of its own")
        if not _SAFE_ID.fullmatch(each):
            raise ParameterError(f"the id {each!r} cannot name a file; use letters, digits, '_', '-' and '.'")
    return wanted


def _only(names: Sequence[str], folder: Path) -> str:
    if len(names) > 1:
        shown = " and ".join(map(repr, names[:2]))
        raise InputError(f"{str(folder)!r} has {shown} for one id; keep one of them and move the other away")
    return names[0]


async def _one(url: str, limits: Limits) -> Reply:
    async with Web(limits) as web:
        return await web.get(url)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _silent(done: int, all_: int) -> None:
    """Nobody wants to know."""
