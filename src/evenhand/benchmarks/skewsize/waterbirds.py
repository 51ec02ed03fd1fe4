"""The benchmark ``skewsize/waterbirds``: birds of land and water before land and water, in WILDS' layout."""

from __future__ import annotations

from pathlib import Path

from evenhand.benchmarks.attributes import RECORDED
from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.labelling.elicitation import Labels
from evenhand.benchmarks.labelling.task import Task
from evenhand.benchmarks.skewsize.classify import Classify
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples, files_below, in_turn, require_folder
from evenhand.benchmarks.skewsize.data.wilds_tables import (
    CHOICES,
    find_table,
    in_split,
    read_rows,
    split_codes,
)
from evenhand.metrics.suites.families import AUDIT

LAYOUT = "metadata.csv (img_id,img_filename,y,split,place,place_filename) and the images beside it"
TABLE = "metadata.csv"
BIRDS, PLACES = {"0": "landbird", "1": "waterbird"}, {"0": "land", "1": "water"}


def read_waterbirds(folder: Path, split: str = "test") -> LabelledSamples:
    """The birds of a split, by the place before which they were put."""
    file = find_table(folder, TABLE, LAYOUT)
    rows = read_rows(file, "img_filename", {"y": BIRDS, "place": PLACES, "split": split_codes()})
    table = in_split(rows, split, file).rename({"img_filename": "sample", "y": "truth"})
    table = in_turn(table, ["place"])
    return LabelledSamples(
        annotations=table.select("sample", "truth", "place", "split"),
        images=files_below(file.parent, table["sample"].to_list()),
        attribute="place",
        labels=Labels(tuple(BIRDS.values()), tuple(BIRDS.values())),
        question="Is this bird a landbird or a waterbird?",
        two_way=True,
        about={"layout": "waterbirds", "annotated_by": {"place": RECORDED}},
        dropped=rows.dropped,
    )


def _read(setting: Setting) -> LabelledSamples:
    return read_waterbirds(require_folder(setting.data, LAYOUT), setting.text("split"))


WATERBIRDS = Task(
    name="skewsize/waterbirds",
    samples=_read,
    ask=Classify(synonyms="birds"),
    own={"split": Parameter("test", CHOICES, "which split of the table")},
    primaries=AUDIT,
)
