"""Where the files of MMBias lie in a folder: phrases, URLs, and images in folders or zips of any layout."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evenhand.benchmarks.datasets.listing import folders_below
from evenhand.benchmarks.mmbias.data import phrases, urls
from evenhand.benchmarks.mmbias.data.groups import is_junk, looked_for, names_by_alias, plain
from evenhand.core.errors import InputError, one_line
from evenhand.core.requests import ImageSource
from evenhand.files.download.downloads import SUFFIXES
from evenhand.files.images.chained import ChainedImages
from evenhand.files.images.sources import ImageFiles
from evenhand.files.images.zip import ZipImages, ZipMember, zip_members

JUNK = "file that a file manager left"
NESTED = "archive in an archive, not opened"
ELSEWHERE = "image in a second place of its group"
DIFFERENT = "image in a second place of its group, of a name that the first has for another image"
TWICE = "file name twice in an archive"
NO_FILE = "not a file"
NO_TEXT = "name of a file that is not UTF-8"
UNNAMED = "image in a folder that names no group"


@dataclass(frozen=True)
class ImageFile:
    """An image and where it lies."""

    name: str  # without folders
    path: Path  # of the zip file, if it is in one
    member: ZipMember | None = None  # its place in the zip file

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return self.path.stat().st_size if self.member is None else self.member.size


@dataclass(frozen=True, eq=False)
class FolderLayout:
    """What lies in a folder."""

    path: Path  # a folder, or a single zip file
    phrases: Sequence[Path]  # files, the outermost first
    urls: Sequence[Path]  # lists, the outermost first
    images: Mapping[str, Sequence[ImageFile]]  # folder, also in a zip file -> images by number
    notes: Mapping[str, int] = field(default_factory=dict)  # what was passed over, by reason


def read_layout(root: Path) -> FolderLayout:
    """Look through a folder, or a zip file, and through the zip files in it."""
    notes: Counter[str] = Counter()
    text_files: dict[str, list[Path]] = {"phrases": [], "urls": []}
    images: dict[str, list[ImageFile]] = {}
    for path in _files(root, notes):
        name = path.name.casefold()
        if not path.is_file():  # a pipe, or a link that leads nowhere
            notes[NO_FILE] += 1
        elif name in phrases.NAMES or name in urls.NAMES:
            text_files["phrases" if name in phrases.NAMES else "urls"].append(path)
        elif name.endswith(".zip"):
            _add_zip(path, images, notes)
        elif name.endswith(SUFFIXES):
            images.setdefault(str(path.parent), []).append(ImageFile(path.name, path))
    outermost = {
        kind: sorted(paths, key=lambda path: (len(path.parts), path)) for kind, paths in text_files.items()
    }
    ordered = {folder: sorted(files, key=_number) for folder, files in sorted(images.items())}
    return FolderLayout(root, outermost["phrases"], outermost["urls"], ordered, notes)


def groups_of(
    layout: FolderLayout, extra: Sequence[str] = ()
) -> tuple[dict[str, Sequence[ImageFile]], Counter[str]]:
    """The images of each group, by the name of their folder, and how many were left out, by reason.

    A group that lies in several places has the images of the one with the most, of those of the first, and
    from the others what has a name that is not there yet. Copies (a zip file and what was unpacked from it)
    count once; an image of a known name with other content is left out, as nobody can say which is meant.
    """
    set_names = names_by_alias(extra)
    places: dict[str, list[Sequence[ImageFile]]] = {}
    left: Counter[str] = Counter()
    for folder, files in layout.images.items():
        name = set_names.get(
            plain(Path(folder).stem if folder.casefold().endswith(".zip") else Path(folder).name)
        )
        if name is None:
            left[UNNAMED] += len(files)
        else:
            places.setdefault(name, []).append(files)
    return {name: _together(several, left) for name, several in places.items()}, +left


def _together(places: Sequence[Sequence[ImageFile]], left: Counter[str]) -> Sequence[ImageFile]:
    """The images of one group from all its places; what is left out is counted."""
    if len(places) == 1:
        return places[0]
    by_name: dict[str, ImageFile] = {}
    for files in sorted(places, key=len, reverse=True):
        there = dict(by_name)
        for file in files:
            name = file.name.casefold()
            if name not in there:
                by_name[name if name not in by_name else f"{name}/{len(by_name)}"] = file  # two of one folder
            else:
                left[ELSEWHERE if file.size == there[name].size else DIFFERENT] += 1
    return sorted(by_name.values(), key=_number)


def folder_images(folder: Path) -> tuple[list[ImageFile], Counter[str]]:
    """The images of a user's own folder or zip file, those of folders in it included."""
    if not folder.exists():
        raise InputError(
            f"there is no folder {str(folder)!r}; image folders are looked for beside the file of tests"
        )
    layout = read_layout(folder)
    files = [file for files in layout.images.values() for file in files]
    if not files:
        raise InputError(f"{str(folder)!r} has no image; endings may be {', '.join(SUFFIXES)}")
    return files, Counter(layout.notes)


def image_ids(name: str, files: Sequence[ImageFile]) -> list[str]:
    """Ids such as ``muslim/12``: set and file name without its ending, unless two files share it."""
    ids: dict[str, None] = {}
    for file in files:
        stem = file.name.rpartition(".")[0] or file.name
        choices = (stem, file.name, *(f"{file.name}#{number}" for number in range(2, len(files) + 2)))
        ids[next(f"{name}/{choice}" for choice in choices if f"{name}/{choice}" not in ids)] = None
    return list(ids)


def image_source(files: Sequence[ImageFile]) -> ImageSource:
    """Images as a source, in their order; nothing is unpacked."""
    sources: list[ImageFiles | ZipImages] = []
    start = 0
    while start < len(files):
        zipped = files[start].member is not None
        stop = start
        while stop < len(files) and (files[stop].member is not None) == zipped:
            stop += 1
        sources.append(
            _zip_source(files[start:stop]) if zipped else ImageFiles([f.path for f in files[start:stop]])
        )
        start = stop
    return ChainedImages(sources)


def no_images(root: Path, names: Sequence[str], layout: FolderLayout) -> InputError:
    """What to say where groups have no images: what was looked for, and what is there."""
    expected = "; ".join(f"{name}: {' or '.join(looked_for(name))}" for name in names[:4])
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    there = ", ".join(repr(one_line(Path(folder).name)) for folder in list(layout.images)[:6]) or "none"
    nested = (
        f"; {layout.notes[NESTED]} zips inside of zips were not opened, unpack them once"
        if layout.notes.get(NESTED)
        else ""
    )
    return InputError(
        f"{str(root)!r} has no images of {', '.join(names[:4])}{more}; looked for folders, also in zips, "
        f"called {expected}{more}; folders with images there: {there}{nested}; type: evenhand data check "
        f"mmbias --data {shlex.quote(str(root))}"
    )


def _files(root: Path, notes: Counter[str]) -> Iterator[Path]:
    """All files below a folder, links followed once; what file managers left is counted."""
    if root.is_file():
        yield root
        return
    for folder, names in folders_below(root, is_junk):
        for name in sorted(names):
            if is_junk(name):
                notes[JUNK] += 1
            elif not phrases.is_text(folder + name):
                notes[NO_TEXT] += 1
            else:
                yield Path(folder) / name


def _add_zip(path: Path, images: dict[str, list[ImageFile]], notes: Counter[str]) -> None:
    names: set[str] = set()
    for member in zip_members(path):
        parts = [part for part in member.name.split("/") if part not in ("", ".")]
        ending = member.name.casefold()
        if not parts or any(map(is_junk, parts)):
            notes[JUNK] += 1
        elif member.name in names:
            notes[TWICE] += 1
        elif ending.endswith(".zip"):
            notes[NESTED] += 1
        elif ending.endswith(SUFFIXES):
            names.add(member.name)
            folder = "/".join((str(path), *parts[:-1]))
            images.setdefault(folder, []).append(ImageFile(parts[-1], path, member))


def _number(file: ImageFile) -> tuple[int, str]:
    stem = file.name.partition(".")[0]
    return int(stem) if stem.isascii() and stem.isdigit() and len(stem) < 10 else 10**9, file.name


def _zip_source(files: Sequence[ImageFile]) -> ZipImages:
    zips = list(dict.fromkeys(file.path for file in files))
    numbers = {path: number for number, path in enumerate(zips)}
    return ZipImages(zips, [(numbers[file.path], file.member) for file in files if file.member is not None])
