"""The benchmark ``skewsize/celeba``: hair colour and perceived gender of celebrities, in WILDS' layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.benchmarks.attributes import ANNOTATORS
from evenhand.benchmarks.benchmark import Parameter, Setting
from evenhand.benchmarks.labelling.elicitation import Labels
from evenhand.benchmarks.labelling.measures import attributes_in, groupings_in
from evenhand.benchmarks.labelling.task import Task
from evenhand.benchmarks.skewsize.classify import Classify
from evenhand.benchmarks.skewsize.data.samples import LabelledSamples, files_below, in_turn, require_folder
from evenhand.benchmarks.skewsize.data.wilds_tables import (
    CHOICES,
    WildsTable,
    find_table,
    in_split,
    read_rows,
    split_codes,
)
from evenhand.benchmarks.skewsize.yes_no import NO, YES
from evenhand.benchmarks.tidy import occurring
from evenhand.core.errors import ParameterError
from evenhand.metrics.suites.families import AUDIT

LAYOUT = (
    "list_attr_celeba, list_eval_partition (each .csv, or .txt as the authors write them) and the folder "
    "img_align_celeba"
)
ATTRIBUTES, PARTITION, IMAGES = "list_attr_celeba.csv", "list_eval_partition.csv", "img_align_celeba"
GENDER, MALE, HAIR = "perceived_gender", "Male", "Blond_Hair"
UNPLACED = "image without a split"
_COLUMNS = f"-p truth= and -p by= take columns of CelebA, and -p by={GENDER} is {MALE}"
_LOOKED_FOR = 20  # images, to see in which folder they lie
_QUESTION = {
    HAIR: "Does this person have blond hair? Answer yes or no.",
    MALE: "Is this person male or female?",
}


def read_celeba(
    folder: Path, split: str = "test", *, truth: str = HAIR, attributes: Sequence[str] = (GENDER,)
) -> LabelledSamples:
    """The faces of a split.

    ``folder`` holds the two tables and the images, or one folder that does. ``truth`` is one of the table's
    40 attributes; its classes are that it is said of somebody, or not. ``attributes`` are others of the 40,
    or ``perceived_gender`` (of the column ``Male``).
    """
    columns = {name: MALE if name == GENDER else name for name in attributes}
    if truth in columns.values():
        raise ParameterError(f"-p truth={truth} is the attribute too; choose another -p truth= or -p by=")
    file = find_table(folder, ATTRIBUTES, LAYOUT)
    label, negated_label = words_of(truth)
    codes = {name: _codes(name) for name in (truth, *columns.values())}
    rows = read_rows(file, "image_id", codes, hint=_COLUMNS)
    fields = ("image_id", "partition")
    placed = read_rows(find_table(folder, PARTITION, LAYOUT), fields[0], {fields[1]: split_codes()}, fields)
    merged = rows.table.join(placed.table.rename({"partition": "split"}), on="image_id", how="inner")
    dropped = {**rows.dropped, UNPLACED: len(rows.table) - len(merged)}
    dropped = occurring(dropped)
    table = in_split(WildsTable(merged, dropped, rows.odd or placed.odd), split, file)
    table = table.rename({"image_id": "sample", truth: "truth", **{old: new for new, old in columns.items()}})
    table = in_turn(table, attributes)
    samples = table["sample"].to_list()
    return LabelledSamples(
        annotations=table.select("sample", "truth", *attributes, "split"),
        images=files_below(_images_folder((file.parent, folder), samples), samples),
        attribute=attributes[0],
        labels=Labels((label, negated_label), (label, negated_label)),
        question=_QUESTION.get(truth, f"Would you say of this person: {label}? Answer yes or no."),
        synonyms={} if truth == MALE else dict.fromkeys(YES, label) | dict.fromkeys(NO, negated_label),
        two_way=True,
        about={"layout": "celeba", "annotated_by": dict.fromkeys(attributes, ANNOTATORS)},
        dropped=dropped,
    )


def _images_folder(near: Sequence[Path], samples: Sequence[str]) -> Path:
    """Where the images lie: beside the tables, in a folder of the same name (Kaggle), or a folder further."""
    inner = [path for folder in near for depth in ("", "*/") for path in sorted(folder.glob(depth + IMAGES))]
    possible = dict.fromkeys(path for folder in inner for path in (folder, folder / IMAGES))
    first = samples[:_LOOKED_FOR]
    n_images = {folder: sum((folder / name).is_file() for name in first) for folder in possible}
    return max(n_images, key=n_images.__getitem__, default=near[0] / IMAGES)


def words_of(name: str) -> tuple[str, str]:
    """What an attribute such as ``Blond_Hair`` says where it is so, and where it is not."""
    if name == MALE:
        return "male", "female"
    label = name.replace("_", " ").lower()
    return label, f"not {label}"


def _codes(name: str) -> dict[str, str]:
    label, negated_label = words_of(name)
    return {"1": label, "-1": negated_label, "0": negated_label}


def _read(setting: Setting) -> LabelledSamples:
    params = {key: str(value) for key, value in setting.parameters.items()}
    attributes = attributes_in(groupings_in(params["by"])) or [GENDER]
    folder = require_folder(setting.data, LAYOUT)
    return read_celeba(folder, params["split"], truth=params["truth"], attributes=attributes)


CELEBA = Task(
    name="skewsize/celeba",
    samples=_read,
    ask=Classify("a photo of a person, {label}", synonyms="faces"),
    own={
        "split": Parameter("test", CHOICES, "which split of the table"),
        "truth": Parameter(HAIR, help="one of the table's attributes: what is to be said of a face"),
    },
    primaries=AUDIT,
)
