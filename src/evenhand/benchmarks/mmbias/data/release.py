"""MMBias as it lies on disk: what is in the user's folder, and for the rest what was fetched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from evenhand.benchmarks.datasets.download_source import default_folder
from evenhand.benchmarks.mmbias.data.collected import CollectedSets
from evenhand.benchmarks.mmbias.data.groups import ATTRIBUTES, TARGETS
from evenhand.benchmarks.mmbias.data.images import (
    DIFFERENT,
    NESTED,
    UNNAMED,
    FolderLayout,
    ImageFile,
    groups_of,
    read_layout,
)
from evenhand.benchmarks.mmbias.data.phrases import Phrases, read_phrases
from evenhand.benchmarks.mmbias.data.urls import read_urls
from evenhand.core.errors import InputError

FURTHER = "further phrase file or URL list, not read"
FETCHED = "taken from the fetched data"


def gather_release(path: Path, phrases: Phrases | None = None) -> CollectedSets:
    """Sets of MMBias; what a user's folder lacks is taken from where ``evenhand data fetch`` puts it.

    ``phrases`` is what ``path`` holds if it is the phrase file itself; then nothing else is read.
    """
    layouts = [] if phrases is not None else [read_layout(path)]
    fetched = default_folder("mmbias")
    if phrases is None and fetched.is_dir() and fetched.resolve() != path.resolve():
        layouts.append(read_layout(fetched))
    collected = CollectedSets(layout=layouts[0] if layouts else None)
    if phrases is None:
        phrases = _first_phrases(layouts, collected)
    if phrases is not None:
        collected.target_phrases = dict(phrases.targets)
        collected.attribute_phrases = dict(phrases.attributes)
        collected.traps += phrases.traps
    _add_urls(layouts, collected)
    _add_images(layouts, collected)
    if not collected.targets and not collected.attributes:
        raise InputError(
            f"{str(path)!r} holds nothing of MMBias: no textual_phrases.txt, and {_seen(layouts)}; type: "
            "evenhand data fetch mmbias, or give --data FOLDER with its files"
        )
    return collected


def _first_phrases(layouts: Sequence[FolderLayout], collected: CollectedSets) -> Phrases | None:
    for number, layout in enumerate(layouts):
        if layout.phrases:
            collected.files.append(layout.phrases[0])
            collected.notes[f"phrase file {FETCHED}"] += number > 0
            collected.notes[FURTHER] += len(layout.phrases) - 1
            return read_phrases(layout.phrases[0])
    return None


def _add_urls(layouts: Sequence[FolderLayout], collected: CollectedSets) -> None:
    for layout in layouts:
        if layout.urls:
            collected.files.append(layout.urls[0])
            collected.photos = read_urls(layout.urls[0])
            collected.traps += collected.photos.traps
            collected.notes[FURTHER] += len(layout.urls) - 1
            return


def _add_images(layouts: Sequence[FolderLayout], collected: CollectedSets) -> None:
    """Images of each group, from the first place that has some."""
    extra = [name for name in collected.target_phrases if name not in {group.name for group in TARGETS}]
    attributes = [group.name for group in ATTRIBUTES]
    files_by_group: dict[str, Sequence[ImageFile]] = {}
    for number, layout in enumerate(layouts):
        groups, left = groups_of(layout, extra)
        new = {name: files for name, files in groups.items() if name not in files_by_group}
        files_by_group |= new
        if number == 0:
            for reason in (UNNAMED, DIFFERENT):
                collected.dropped[reason] += left.pop(reason, 0)
            collected.notes += Counter(layout.notes) + left
        else:
            collected.notes[f"images {FETCHED}"] += sum(map(len, new.values()))
    order = [*(group.name for group in TARGETS), *extra]
    collected.target_images = {name: files_by_group[name] for name in order if name in files_by_group}
    collected.attribute_images = {name: files_by_group[name] for name in attributes if name in files_by_group}
    collected.dropped, collected.notes = +collected.dropped, +collected.notes


def _seen(layouts: Sequence[FolderLayout]) -> str:
    folders = [repr(Path(folder).name) for layout in layouts for folder in layout.images][:6]
    if any(layout.notes.get(NESTED) for layout in layouts):
        return "zips inside of zips, which are not opened: unpack them once"
    if not folders:
        return "no images"
    return f"images only in folders that name no group ({', '.join(folders)})"
