"""The benchmark ``skewsize/domainnet``: 345 classes in six domains, after the official lists."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from evenhand.benchmarks.attributes import RECORDED
from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.datasets.readers.lists import list_lines
from evenhand.benchmarks.labelling.elicitation import Labels
from evenhand.benchmarks.labelling.task import Task
from evenhand.benchmarks.skewsize.classify import Classify
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples, files_below, in_turn, require_folder
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import InputError
from evenhand.metrics.suites.families import AUDIT

DOMAINS: tuple[str, ...] = ("clipart", "infograph", "painting", "quickdraw", "real", "sketch")
"""In the order of the paper (Peng et al. 2019)."""

LAYOUT = "the lists DOMAIN_train.txt and DOMAIN_test.txt beside a folder for each domain"
CLASSES = 345
_SPLITS = ("test", "train", "all")


def read_domainnet(folder: Path, split: str = "test") -> LabelledSamples:
    """The images that the official lists name; whether they are there shows when they are read."""
    names = _SPLITS[:2] if split == "all" else (split,)
    folder = lists_folder(folder)
    lists = split_lists(folder, names)
    if not lists:
        others = [file.name for file in split_lists(folder, _SPLITS[:2])]
        do = f"there is {others[0]}, so choose another -p split=" if others else f"put there {LAYOUT}"
        raise InputError(f"there is no list such as {DOMAINS[0]}_{names[0]}.txt in {str(folder)!r}; {do}")
    listed = list_lines(lists)
    table = listed.table.rename({"path": "sample", "class": "truth", "folder": "domain", "list": "split"})
    table = in_turn(table.select("sample", "truth", "domain", "split"), ["domain"])
    classes = sorted(set(table["truth"].to_list()))
    numbers = listed.table.group_by("class").agg(different=pl.col("label").n_unique())["different"]
    notes = {
        "domains without a list": len(set(DOMAINS) - set(table["domain"].to_list())),
        "classes with several numbers; the folder's name counts": int((numbers > 1).sum()),
    }
    return LabelledSamples(
        annotations=table,
        images=files_below(folder, table["sample"].to_list()),
        attribute="domain",
        labels=Labels(tuple(classes), tuple(name.replace("_", " ") for name in classes)),
        question="What object is in this picture?",
        synonyms={name.replace("_", " "): name for name in classes if "_" in name},
        about={"layout": "domainnet", "annotated_by": {"domain": RECORDED}},
        dropped=listed.dropped,
        notes=occurring(notes),
    )


def lists_folder(folder: Path) -> Path:
    """The folder itself, or the one folder below it that has the lists, as archives may unpack to."""
    if split_lists(folder, _SPLITS[:2]) or not folder.is_dir():
        return folder
    below = [
        subfolder
        for subfolder in sorted(folder.iterdir())
        if subfolder.is_dir() and split_lists(subfolder, _SPLITS[:2])
    ]
    return below[0] if len(below) == 1 else folder


def split_lists(folder: Path, splits: tuple[str, ...]) -> list[Path]:
    """The lists that are there, domain by domain."""
    paths = [folder / f"{domain}_{split}.txt" for split in splits for domain in DOMAINS]
    return [file for file in paths if file.is_file()]


def _read(setting: Setting) -> LabelledSamples:
    return read_domainnet(require_folder(setting.data, LAYOUT), setting.text("split"))


DOMAINNET = Task(
    name="skewsize/domainnet",
    samples=_read,
    ask=Classify("an image of a {label}", synonyms="objects"),
    own={"split": Parameter("test", _SPLITS, "which official lists")},
    primaries=AUDIT,
)
